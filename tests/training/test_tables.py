"""Classifiers on tables: equal tables have equal predictions, and unequal ones are rejected."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from heterophily import Graph, HeterophilyError, NodeClassifier
from heterophily.core.errors import HeterophilyWarning

N = 120
QUICK = {"max_epochs": 4, "width": 8, "device": "cpu"}


def tables(seed=0):
    """Accounts with all types of columns, gaps, and text ids, and the transactions among them."""
    rng = np.random.default_rng(seed)
    fraud = rng.random(N) < 0.3
    days = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 600, N), unit="D")
    nodes = pd.DataFrame(
        {
            "id": [f"a-{i:03}" for i in range(N)],
            "label": np.where(fraud, "fraud", "honest"),
            "age": rng.integers(18, 80, N).astype(float),
            "country": rng.choice(["de", "us", "fr"], N, p=[0.6, 0.3, 0.1]),
            "opened": days.astype("datetime64[us]"),
            "turnover": rng.lognormal(3 + fraud, 2, N).round(2),
            "verified": rng.random(N) < 0.6 - 0.4 * fraud,
        }
    )
    nodes.loc[::7, "age"] = np.nan
    nodes.loc[::9, "country"] = None
    nodes.loc[::5, "label"] = None
    ends = rng.integers(N, size=(4 * N, 2))
    edges = pd.DataFrame({"source": nodes["id"].to_numpy()[ends[:, 0]], "target": nodes["id"].to_numpy()[ends[:, 1]]})
    return nodes, edges


def fit(nodes, edges, model="gcn"):
    return NodeClassifier(model, **QUICK).fit((nodes, edges))


@pytest.fixture(scope="module")
def fitted():
    return fit(*tables())


def as_text(nodes):
    """Write every cell as text in another format: decimal commas, yes and no, and German dates."""
    return nodes.assign(
        age=[None if np.isnan(v) else f"{v:.1f}".replace(".", ",") for v in nodes["age"]],
        opened=nodes["opened"].dt.strftime("%d.%m.%Y"),
        turnover=[f"{v:.2f}".replace(".", ",") for v in nodes["turnover"]],
        verified=np.where(nodes["verified"], "yes", "no"),
    )


CHANGES = {
    "columns in another order": lambda nodes: nodes[nodes.columns[::-1]],
    "another unit": lambda nodes: nodes.assign(turnover=nodes["turnover"] * 1000, age=nodes["age"] * 12),
    "categories with other names": lambda nodes: nodes.replace({"country": {"de": "Germany", "us": "A", "fr": "FRA"}}),
    "text cells": as_text,
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
    "categorical dtype": lambda nodes: nodes.assign(country=nodes["country"].astype("category")),
    "integers for booleans": lambda nodes: nodes.assign(verified=nodes["verified"].astype(int)),
    "an empty column": lambda nodes: nodes.assign(empty=None),
    "an empty split": lambda nodes: nodes.assign(split=""),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_equal_tables_have_equal_predictions(fitted, change):
    nodes, edges = tables()
    other = fit(change(nodes), edges)
    np.testing.assert_allclose(other.predict_proba(), fitted.predict_proba(), atol=1e-4)


@pytest.mark.parametrize("name", ["columns in another order", "polars", "pyarrow", "text cells"])
def test_a_fitted_classifier_reads_equal_tables(fitted, name):
    nodes, edges = tables()
    np.testing.assert_allclose(fitted.predict_proba((CHANGES[name](nodes), edges)), fitted.predict_proba(), atol=1e-6)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_files_and_frames_have_equal_predictions(fitted, tmp_path, suffix):
    nodes, edges = tables()
    for name, frame in (("nodes", nodes), ("edges", edges)):
        path = tmp_path / f"{name}{suffix}"
        if suffix == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ";")
    graph = Graph.from_files(tmp_path)
    np.testing.assert_allclose(
        NodeClassifier("gcn", **QUICK).fit(graph).predict_proba(), fitted.predict_proba(), atol=1e-4
    )
    read = Graph.from_files(tmp_path, encoder=fitted.encoder_)
    np.testing.assert_allclose(fitted.predict_proba(read), fitted.predict_proba(), atol=1e-6)


def test_classes_and_predictions_are_those_of_the_table(fitted):
    assert fitted.classes_.tolist() == ["fraud", "honest"]
    nodes, edges = tables()
    numbers = fit(nodes.assign(label=nodes["label"].map({"fraud": 7, "honest": 9})), edges)
    assert numbers.classes_.tolist() == [7, 9]
    flags = fit(nodes.assign(label=nodes["label"].map({"fraud": True, "honest": False})), edges)
    assert flags.predict().dtype == bool
    assert flags.score((nodes.assign(label=nodes["label"].map({"fraud": True, "honest": False})), edges)) > 0.3
    given = NodeClassifier("gcn", **QUICK).fit((nodes.drop(columns="label"), edges), nodes["label"])
    np.testing.assert_allclose(given.predict_proba(), fitted.predict_proba(), atol=1e-5)


def test_rows_in_another_order_have_the_same_predictions(fitted):
    nodes, edges = tables()
    order = np.random.default_rng(1).permutation(N)
    shuffled = fitted.predict_proba((nodes.iloc[order], edges.sample(frac=1, random_state=2)))
    np.testing.assert_allclose(shuffled, fitted.predict_proba()[order], atol=1e-5)


def test_new_tables_have_unseen_categories_and_missing_values(fitted):
    nodes, edges = tables(1)
    nodes = nodes.drop(columns="label").assign(country="zz", turnover=np.nan, verified=None)
    probabilities = fitted.predict_proba((nodes, edges))
    assert np.isfinite(probabilities).all()
    with pytest.raises(HeterophilyError, match="the model requires columns 'age', 'country', but the table has only"):
        fitted.predict((nodes.drop(columns=["age", "country"]), edges))


@pytest.mark.parametrize("model", ["gcn", "mlp"])
def test_a_saved_classifier_has_its_encoder(tmp_path, model):
    nodes, edges = tables()
    one = fit(nodes, edges, model)
    folder = one.save(tmp_path)
    content = json.loads((folder / "model.json").read_text())
    assert content["feature_names"][0] == "age"
    assert content["encoder"]["roles"] == {"source": "source", "target": "target", "id": "id", "label": "label"}
    two = NodeClassifier.load(folder)
    assert two.encoder_ == one.encoder_
    np.testing.assert_array_equal(two.predict_proba((nodes, edges)), one.predict_proba())
    np.testing.assert_array_equal(NodeClassifier.load(folder, graph=(nodes, edges)).predict(), one.predict())


def test_a_graph_of_another_encoder_is_rejected(fitted):
    nodes, edges = tables()
    other = Graph.from_frames(nodes.assign(age=nodes["age"] + 5), edges)
    assert other.n_features == fitted.n_features_in_
    with pytest.raises(HeterophilyError, match=r"not encoded by the encoder .* encoder=model.encoder_"):
        fitted.predict(other)
    with pytest.raises(HeterophilyError, match="not encoded by the encoder"):
        fitted.predict(Graph.from_edges([(0, 1)], np.zeros((2, fitted.n_features_in_))))
    assert fitted.predict(Graph.from_frames(nodes, edges)).tolist() == fitted.predict().tolist()


def test_a_classifier_without_an_encoder_rejects_tables(graph, split):
    plain = NodeClassifier("mlp", **QUICK).fit(graph, split=split)
    nodes = {"id": [1, 2], **{f"x{i:02}": [0.5, i] for i in range(graph.n_features)}}
    with pytest.raises(HeterophilyError, match="were encoded from tables, but the classifier was fitted on a graph"):
        plain.predict((nodes, {"source": [1], "target": [2]}))
    with pytest.raises(HeterophilyError, match="was fitted with 12 features, but graph has 3"):
        plain.predict(Graph.from_edges([(0, 1)], np.zeros((2, 3))))


@pytest.mark.parametrize("sparse", [False, True])
def test_named_features_are_aligned(graph, split, sparse):
    x = sp.csr_array(graph.features.numpy()) if sparse else graph.features.numpy()
    edges = np.argwhere(graph.to_scipy().toarray())
    names = tuple(f"f{i}" for i in range(12))

    def named(columns):
        plain = Graph.from_edges(edges, x[:, columns], labels=graph.labels)
        return plain.replace(feature_names=tuple(names[i] for i in columns))

    model = NodeClassifier("mlp", **QUICK).fit(named(list(range(12))), split=split)
    np.testing.assert_array_equal(model.predict_proba(named(list(range(12))[::-1])), model.predict_proba())
    other = named(list(range(12))).replace(feature_names=tuple(f"g{i}" for i in range(12)))
    for wrong in (other, other.replace(feature_names=None)):
        with pytest.raises(HeterophilyError, match=r"was fitted with f0, f1, .* set feature_names of both"):
            model.predict(wrong)


def test_a_graph_without_features_is_fitted_by_its_structure(tmp_path):
    nodes, edges = tables()
    nodes = nodes[["id", "label"]].rename(columns={"id": "account", "label": "kind"})
    graph = Graph.from_frames(nodes, edges, id="account", label="kind")
    with pytest.warns(HeterophilyWarning, match="degrees and 16 positions in the graph are used as features"):
        model = NodeClassifier("gcn", **QUICK).fit(graph)
    assert model.n_features_in_ == 21
    loaded = NodeClassifier.load(model.save(tmp_path))
    for same in (graph, (nodes, edges)):
        np.testing.assert_array_equal(loaded.predict_proba(same), model.predict_proba())
    with pytest.raises(HeterophilyError, match="has other nodes or edges"):
        loaded.predict((nodes, edges.iloc[:200]))


def test_bins_of_labels_are_saved(tmp_path):
    nodes, edges = tables()
    nodes = nodes.drop(columns="label")
    graph = Graph.from_frames(nodes, edges, label="turnover", label_bins=3)
    model = NodeClassifier("mlp", **QUICK).fit(graph)
    loaded = NodeClassifier.load(model.save(tmp_path))
    half = nodes.iloc[:60]
    inside = edges[edges["source"].isin(half["id"]) & edges["target"].isin(half["id"])]
    read = Graph.from_frames(half, inside, encoder=loaded.encoder_)
    assert read.class_names == graph.class_names
    assert read.labels.equal(graph.labels[:60])
    assert 0 <= loaded.score(read) <= 1
