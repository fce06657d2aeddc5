"""NodeClassifier follows the scikit-learn API, apart from fitting a graph instead of X and y."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

from heterophily import Graph, HeterophilyError, NodeClassifier, NodeIndexClassifier, cross_validate
from heterophily.core.spaces import setting_infos
from heterophily.htmp.method import Method
from heterophily.models import NETWORKS
from heterophily.models.gcn import GCN
from heterophily.training.scoring import SCORINGS

# Checks that do not fit arrays.
CHECKS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]
# Checks that fit arrays, for graphs without edges whose nodes are the rows of X.
ARRAY_CHECKS = [
    "check_classifier_data_not_an_array",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_train",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimators_dtypes",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_estimators_unfitted",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1feature",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
]
NOT_APPLICABLE = {
    "check_array_api_input": "graphs contain tensors of PyTorch",
    "check_class_weight_classifiers": "early stopping selects the epoch by accuracy without weights",
    "check_classifiers_regression_target": "numbers are class labels",
    "check_complex_data": "Graph rejects complex numbers, with another message",
    "check_dtype_object": "Graph rejects objects, and Graph.from_frames encodes them",
    "check_estimator_sparse_array": "a graph contains sparse features, and SciPy matrices are converted by Graph",
    "check_estimator_sparse_matrix": "a graph contains sparse features, and SciPy matrices are converted by Graph",
    "check_estimator_sparse_tag": "a graph contains sparse features, and SciPy matrices are converted by Graph",
    "check_estimators_empty_data_messages": "Graph rejects empty data, with another message",
    "check_estimators_nan_inf": "Graph rejects values that are not finite, with another message",
    "check_fit1d": "Graph rejects vectors as features, with another message",
    "check_fit2d_1sample": "training requires two nodes, and the message counts nodes, not samples",
    "check_fit2d_predict1d": "Graph rejects vectors as features, with another message",
    "check_classifiers_one_label_sample_weights": "nodes have no weights",
    "check_decision_proba_consistency": "there is no decision_function",
    "check_estimators_partial_fit_n_features": "there is no partial_fit",
    "check_n_features_in_after_fitting": "the network rejects other numbers of features, with another message",
    "check_non_transformer_estimators_n_iter": "the setting is called max_epochs, and run_.n_epochs is the result",
    "check_requires_y_none": "labels are a part of the graph",
    "check_supervised_y_2d": "a node has one label",
    "check_supervised_y_no_nan": "NaN means an unknown label",
}


class RowClassifier(NodeClassifier):
    """NodeClassifier on graphs without edges, whose nodes are the rows of a matrix."""

    def fit(self, X, y):
        return super().fit(graph_of_rows(X), np.asarray(y, dtype=object))  # among integers, -1 means unknown

    def predict(self, X):
        return super().predict(graph_of_rows(X))

    def predict_proba(self, X):
        return super().predict_proba(graph_of_rows(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.target_tags.required, tags.no_validation = True, True, False
        return tags

    def score(self, X, y):
        return float(np.mean(self.predict(X) == np.asarray(y)))


def graph_of_rows(X):
    X = np.asarray(X)
    return Graph.from_edges([], X, n_nodes=len(X))


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("settings", [{}, {"width": 8}], ids=str)
def test_a_check_of_scikit_learn_passes(name, settings):
    if settings and name == "check_no_attributes_set_in_init":
        pytest.skip("settings are attributes in addition to the named parameters")
    getattr(estimator_checks, name)("NodeClassifier", NodeClassifier("gcn", **settings))


@pytest.mark.parametrize("name", ARRAY_CHECKS)
def test_a_check_of_scikit_learn_with_arrays_passes(name):
    getattr(estimator_checks, name)("RowClassifier", RowClassifier("mlp", max_epochs=40, width=16, learning_rate=0.05))


def test_every_check_of_scikit_learn_runs_or_has_a_reason_why_it_does_not():
    yielded = estimator_checks._yield_all_checks(RowClassifier(), legacy=True)
    names = {getattr(check, "func", check).__name__ for check in yielded}
    assert names <= {*CHECKS, *ARRAY_CHECKS, *NOT_APPLICABLE}
    assert not NOT_APPLICABLE.keys() & {*CHECKS, *ARRAY_CHECKS}


def test_parameters_contain_the_settings():
    model = NodeClassifier("gcn", width=8, random_state=3)
    assert model.get_params()["width"] == model.width == 8
    assert model.settings == {"width": 8}
    assert repr(model) == "NodeClassifier(model='gcn', random_state=3, width=8)"
    assert "width" in model._repr_html_()
    model.set_params(width=16, dropout=0.1, random_state=4, model="mlp")
    assert (model.method.name, model.method.width, model.method.dropout) == ("mlp", 16, 0.1)
    with pytest.raises(HeterophilyError, match='unknown parameter of NodeClassifier "widht"; did you mean "width"'):
        model.set_params(widht=3)
    assert model.settings == {"width": 16, "dropout": 0.1}


@pytest.mark.parametrize("model", ["gcn", GCN, GCN(width=8)], ids=str)
def test_a_clone_has_the_same_parameters_and_is_not_fitted(graph, split, model):
    options = {"max_epochs": 2, "preset": "reference", "device": "cpu", "scoring": "f1_macro"}
    fitted = NodeClassifier(model, **options).fit(graph, split=split)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "predictor_")
    again = copy.fit(graph, split=split)
    np.testing.assert_array_equal(again.predict_proba(), fitted.predict_proba())


@pytest.mark.parametrize("name", NETWORKS)
def test_no_setting_has_the_name_of_a_method_of_the_classifier(name):
    kind = NETWORKS[name]
    names = set(setting_infos(kind if isinstance(kind, type) else type(kind)))
    assert names >= set(setting_infos(Method))
    assert not {each for each in names if hasattr(NodeClassifier, each) or each.endswith("_")}
    assert not names & set(NodeClassifier().get_params())


def test_an_unfitted_classifier_raises_what_scikit_learn_expects(graph, split):
    model = NodeClassifier("mlp", max_epochs=1)
    assert is_classifier(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    for function in (model.predict, model.predict_proba, model.score, model.embed):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            function()
    check_is_fitted(model.fit(graph, split=split))


def test_predictions_are_class_names_if_the_graph_has_them(graph, split, tmp_path):
    options = {"max_epochs": 3, "width": 8, "random_state": 1}
    numbers = NodeClassifier("gcn", **options).fit(graph, split=split)
    assert numbers.classes_.tolist() == [0, 1, 2]
    assert numbers.predict().dtype.kind == "i"
    named = graph.replace(class_names=("red", "green", "blue"))
    model = NodeClassifier("gcn", **options).fit(named, split=split)
    assert model.classes_.tolist() == ["red", "green", "blue"]
    np.testing.assert_array_equal(model.predict(), model.classes_[numbers.predict()])
    assert model.score() == numbers.score()
    for fitted in (numbers, model):
        loaded = NodeClassifier.load(fitted.save(tmp_path), graph=graph)
        assert loaded.classes_.dtype == fitted.classes_.dtype
        np.testing.assert_array_equal(loaded.predict(), fitted.predict())


def test_all_parameters_are_saved(graph, split, tmp_path):
    options = {
        "preset": "reference", "random_state": 5, "device": "cpu", "class_weight": "balanced", "batch_size": 8,
        "neighbors": "all", "scoring": "f1_macro", "max_epochs": 1, "width": 4, "verbose": True,
        "positive": None, "threshold": None, "calibrate": True, "budget": "30s", "ensemble": False, "workers": 2,
    }  # fmt: skip
    fitted = NodeClassifier("gcn", **options).fit(graph, split=split)
    loaded = NodeClassifier.load(fitted.save(tmp_path))
    assert loaded.get_params() == fitted.get_params() == {"model": "gcn", **options}


@pytest.mark.parametrize("name", [name for name in SCORINGS if name != "roc_auc"])
def test_the_score_is_the_scoring(graph, split, name):
    model = NodeClassifier("gcn", max_epochs=5, scoring=name).fit(graph, split=split)
    assert model.score() == pytest.approx(model.run_.score("test", name))


@pytest.mark.parametrize("model", ["gcn", "boosting"])
@pytest.mark.parametrize("values", [(3, 7, 11), (True, False), ("a", "b", "c")], ids=str)
def test_predictions_and_saved_models_keep_the_type_of_the_labels(graph, values, model, tmp_path):
    y = np.array([values[k % len(values)] for k in graph.labels.tolist()])
    fitted = NodeClassifier(model, max_epochs=3).fit(graph, y)
    loaded = NodeClassifier.load(fitted.save(tmp_path), graph=graph)
    for each in (fitted, loaded):
        assert each.classes_.tolist() == sorted(values)
        assert each.predict().dtype == y.dtype
        assert set(each.predict().tolist()) <= set(values)
    np.testing.assert_array_equal(loaded.predict(), fitted.predict())


def test_tables_are_an_input_like_graphs():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    kinds = np.array(["shop", "bank"])[np.arange(60) % 2]
    nodes = pd.DataFrame({"id": range(60), "size": rng.normal(size=60), "kind": kinds, "label": np.arange(60) % 2 == 0})
    edges = pd.DataFrame(rng.integers(60, size=(150, 2)), columns=["source", "target"])
    model = NodeClassifier("gcn", max_epochs=20)
    fitted = clone(model).fit((nodes, edges))
    assert (fitted.n_features_in_, fitted.feature_names_in_.tolist()) == (3, ["kind=bank", "kind=shop", "size"])
    assert fitted.predict().dtype == bool
    reordered = nodes[["label", "kind", "size", "id"]]
    np.testing.assert_array_equal(fitted.predict((reordered, edges)), fitted.predict())
    assert cross_validate(model, (nodes, edges), cv=3)["test_score"].shape == (3,)
    search = GridSearchCV(NodeIndexClassifier(model, (nodes, edges)), {"estimator__width": [2, 16]}, cv=2)
    search.fit(np.arange(60), nodes["label"])
    assert search.classes_.dtype == bool
    assert fitted.explain(3).columns[0].name in ("kind", "size")
