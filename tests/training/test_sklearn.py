"""NodeClassifier follows the scikit-learn API, apart from fitting a graph instead of X and y."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

from heterophily import HeterophilyError, NodeClassifier
from heterophily.core.spaces import setting_infos
from heterophily.htmp.method import Method
from heterophily.models import REGISTRY
from heterophily.models.gcn import GCN
from heterophily.training.scoring import SCORINGS

# The checks that do not fit arrays. Not applicable: check_do_not_raise_errors_in_init_or_set_param, because
# settings are validated at construction.
CHECKS = [
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


@pytest.mark.filterwarnings("ignore:.*It is recommended to delay parameter validation")
@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("settings", [{}, {"width": 8}], ids=str)
def test_a_check_of_scikit_learn_passes(name, settings):
    if settings and name == "check_no_attributes_set_in_init":
        pytest.skip("settings are attributes in addition to the named parameters")
    getattr(estimator_checks, name)("NodeClassifier", NodeClassifier("gcn", **settings))


def test_parameters_contain_the_settings():
    model = NodeClassifier("gcn", width=8, seed=3)
    assert model.get_params()["width"] == model.width == 8
    assert model.settings == {"width": 8}
    assert repr(model) == "NodeClassifier(model='gcn', seed=3, width=8)"
    model.set_params(width=16, dropout=0.1, seed=4, model="mlp")
    assert (model.method.name, model.method.width, model.method.dropout) == ("mlp", 16, 0.1)
    with pytest.raises(HeterophilyError, match='unknown setting of mlp "widht"'):
        model.set_params(widht=3)
    assert model.settings == {"width": 16, "dropout": 0.1}


@pytest.mark.parametrize("model", ["gcn", GCN, GCN(width=8)], ids=str)
def test_a_clone_has_the_same_parameters_and_is_not_fitted(graph, split, model):
    options = {"max_epochs": 2, "preset": "reference", "device": "cpu", "scoring": "f1_macro"}
    fitted = NodeClassifier(model, **options).fit(graph, split=split, progress=False)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "network_")
    again = copy.fit(graph, split=split, progress=False)
    np.testing.assert_array_equal(again.predict_proba(), fitted.predict_proba())


@pytest.mark.parametrize("name", REGISTRY)
def test_no_setting_has_the_name_of_a_method_of_the_classifier(name):
    kind = REGISTRY[name]
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
    check_is_fitted(model.fit(graph, split=split, progress=False))


def test_predictions_are_class_names_if_the_graph_has_them(graph, split, tmp_path):
    options = {"max_epochs": 3, "width": 8, "seed": 1}
    numbers = NodeClassifier("gcn", **options).fit(graph, split=split, progress=False)
    assert numbers.classes_.tolist() == [0, 1, 2]
    assert numbers.predict().dtype.kind == "i"
    named = graph.replace(class_names=("red", "green", "blue"))
    model = NodeClassifier("gcn", **options).fit(named, split=split, progress=False)
    assert model.classes_.tolist() == ["red", "green", "blue"]
    np.testing.assert_array_equal(model.predict(), model.classes_[numbers.predict()])
    assert model.score() == numbers.score()
    for fitted in (numbers, model):
        loaded = NodeClassifier.load(fitted.save(tmp_path), graph=graph)
        assert loaded.classes_.dtype == fitted.classes_.dtype
        np.testing.assert_array_equal(loaded.predict(), fitted.predict())


def test_all_parameters_are_saved(graph, split, tmp_path):
    options = {
        "preset": "reference", "seed": 5, "device": "cpu", "class_weight": "balanced", "batch_size": 8,
        "neighbors": "all", "scoring": "f1_macro", "max_epochs": 1, "width": 4,
    }  # fmt: skip
    fitted = NodeClassifier("gcn", **options).fit(graph, split=split, progress=False)
    loaded = NodeClassifier.load(fitted.save(tmp_path))
    assert loaded.get_params() == fitted.get_params() == {"model": "gcn", **options}


@pytest.mark.parametrize("name", [name for name in SCORINGS if name != "roc_auc"])
def test_the_score_is_the_scoring(graph, split, name):
    model = NodeClassifier("gcn", max_epochs=5, scoring=name).fit(graph, split=split, progress=False)
    assert model.score() == pytest.approx(model.run_.score("test", name))
