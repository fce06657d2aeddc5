"""Graphs from tables in memory: pandas, polars, pyarrow, and dicts of columns."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from heterophily.core.encoder import FeatureEncoder
from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.graph import Graph

NODES = {
    "account": [10, 11, 12, 13],
    "fraud": [0, 1, None, 0],
    "country": ["de", None, "us", "de"],
    "fold": ["train", "val", None, "test"],
}
EDGES = {"payer": [10, 11, 13], "payee": [11, 12, 10]}
ROLES = {"id": "account", "label": "fraud", "split": "fold", "source": "payer", "target": "payee"}
KINDS = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


def graph_of(nodes=NODES, edges=EDGES, **options):
    return Graph.from_frames(nodes, edges, **(ROLES | options))


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_all_kinds_of_tables_give_the_same_graph(make):
    graph = graph_of(make(NODES), make(EDGES))
    assert graph.node_ids == ("10", "11", "12", "13")
    assert graph.labels.tolist() == [0, 1, -1, 0]
    assert graph.class_names == ("0", "1")
    assert graph.class_values == (0, 1)
    assert graph.feature_names == ("country=de", "country=us", "country: missing")
    assert graph.features.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert [part.tolist() for part in graph.split("fold").parts.values()] == [[0], [1], [3]]
    assert sorted(map(tuple, np.argwhere(graph.to_scipy().toarray()).tolist())) == [(0, 1), (1, 2), (3, 0)]


@pytest.mark.parametrize(
    ("labels", "values"),
    [
        ([True, False, None, True], (False, True)),
        (["b", "a", "", "b"], ("a", "b")),
        ([10, 2, None, 10], (2, 10)),
        ([2.0, 1.0, float("nan"), 2.0], (1, 2)),
        ([0.5, 1.5, None, 0.5], ("0.5", "1.5")),
    ],
)
def test_classes_keep_the_values_of_the_table(labels, values):
    graph = graph_of(pd.DataFrame(NODES | {"fraud": labels, "fold": ""}))
    assert graph.class_values == values
    assert [None if k < 0 else values[k] for k in graph.labels.tolist()][2] is None
    assert graph.splits == {}


def test_edges_alone_define_the_nodes():
    graph = Graph.from_frames(None, {"source": ["b", "a"], "target": ["c", "b"]})
    assert graph.node_ids == ("a", "b", "c")


def numeric_labels(n=100):
    nodes = {"id": list(range(n)), "label": [i / 7 for i in range(n)], "x": [i % 7 for i in range(n)]}
    return nodes, {"source": [0], "target": [1]}


def test_many_fractions_are_not_classes():
    with pytest.raises(HeterophilyError, match=r"has 100 different fractions.*regression.*--label-bins 3"):
        Graph.from_frames(*numeric_labels())


def test_numbers_can_be_divided_into_classes():
    graph = Graph.from_frames(*numeric_labels(), label_bins=4)
    assert graph.labels.bincount().tolist() == [25, 25, 25, 25]
    assert graph.class_names[0] == "up to 3.53571"
    with pytest.raises(HeterophilyError, match=r"label_bins must be between 2 and .* .100., got 1"):
        Graph.from_frames(*numeric_labels(), label_bins=1)


def test_bins_depend_only_on_training_nodes():
    nodes, edges = numeric_labels()
    nodes["split"] = ["train"] * 20 + ["test"] * 80
    assert Graph.from_frames(nodes, edges, label_bins=2).class_names == ("up to 1.35714", "above 1.35714")


def test_many_integers_are_classes():
    nodes, edges = numeric_labels()
    assert Graph.from_frames(nodes | {"label": [float(i % 40) for i in range(100)]}, edges).n_classes == 40


def test_unused_columns_of_edges_are_reported_once():
    with pytest.warns(HeterophilyWarning, match="'since', 'until' will not be used, because edges") as caught:
        graph_of(edges=EDGES | {"amount": [1, 2, 3], "since": [1, 2, 3], "until": [1, 2, 3]}, weight="amount")
    assert len(caught) == 1
    with pytest.raises(HeterophilyError, match='unknown column of the edge table "amount"'):
        graph_of(weight="amount")


def test_dropped_identifiers_are_reported():
    n = 30
    nodes = {"id": list(range(n)), "email": [f"u{i}@example.org" for i in range(n)], "x": [i % 4 for i in range(n)]}
    edges = {"source": [0], "target": [1]}
    with pytest.warns(HeterophilyWarning, match="'email' will not be used, like identifiers"):
        graph = Graph.from_frames(nodes, edges)
    assert graph.feature_names == ("x",)
    assert Graph.from_frames(nodes, edges, ignore=["email"]).feature_names == ("x",)


def test_an_encoder_is_applied_to_other_tables():
    train = graph_of()
    new = {"country": ["us", "xx"], "account": [1, 2]}
    graph = graph_of(new, {"payer": [1], "payee": [2]}, label=None, split=None, encoder=train.encoder)
    assert graph.encoder == train.encoder
    assert graph.features.tolist() == [[0, 1, 0], [0, 0, 0]]
    with pytest.raises(HeterophilyError, match="requires column 'country', but the table has only"):
        graph_of({"account": [1, 2]}, {"payer": [1], "payee": [2]}, label=None, split=None, encoder=train.encoder)
    with pytest.warns(HeterophilyWarning, match="'new' will not be used: the encoder was fitted without"):
        graph_of(NODES | {"new": [1, 2, 3, 4]}, encoder=train.encoder)


def test_an_encoder_remembers_the_roles_of_columns():
    encoder = FeatureEncoder.from_dict(graph_of().encoder.to_dict())
    graph = Graph.from_frames(NODES, EDGES, encoder=encoder)
    assert graph.node_ids == ("10", "11", "12", "13")
    assert graph.class_values == (0, 1)


def test_a_graph_saves_its_encoder(tmp_path):
    graph = graph_of()
    loaded = Graph.load(graph.save(tmp_path / "g.safetensors"))
    assert loaded.encoder == graph.encoder
    assert (loaded.feature_names, loaded.class_values) == (graph.feature_names, graph.class_values)
    assert loaded.replace(features=graph.features[:, :2]).encoder is None
    assert loaded.replace(features=2 * graph.features).encoder == graph.encoder


@pytest.mark.parametrize(
    ("nodes", "options", "words"),
    [
        (NODES, {"id": None}, "the node table must have a column 'id' or .* with id=... in Python or --id on"),
        (NODES, {"label": "froud"}, 'unknown column of the node table "froud"; did you mean "fraud"?'),
        (NODES, {"categorical": ["cuntry"]}, "an option names column 'cuntry'"),
        (NODES | {"account": [1, 1, 2, 3]}, {}, "the node table has node '1' twice"),
        (NODES | {"account": [1, None, 2, 3]}, {}, "column 'account' has 1 empty ids"),
        (NODES | {"fold": ["dev"] * 4}, {}, "column 'fold' must contain train, val, test, or nothing, got 'dev'"),
    ],
)
def test_wrong_tables_are_refused(nodes, options, words):
    with pytest.raises(HeterophilyError, match=words):
        graph_of(nodes, **options)


def test_pandas_columns_with_equal_names_are_refused():
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["id", "id"])
    with pytest.raises(HeterophilyError, match="column 'id' twice"):
        Graph.from_frames(frame, EDGES, source="payer", target="payee")
