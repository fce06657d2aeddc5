"""Values of a node in the columns of the user's table, from encoded features."""

import numpy as np
import pytest

from heterophily import FeatureEncoder, Graph
from heterophily.training.columns import row_values, table_columns

TABLE = {
    "age": [31, 45, 27, None, 52, 38],
    "income": [1000.0, 1100.0, 1200.0, 1300.0, 1e6, 900.0],
    "member": [True, False, True, False, None, True],
    "country": ["de", "us", None, "de", "us", "fr"],
    "since": ["2021-03-01", "2020-01-15", "2022-12-31", None, "2021-06-01", "2021-03-02"],
}


@pytest.fixture
def graph():
    nodes = {"id": list("abcdef"), **TABLE, "label": [0, 1, 0, 1, 0, 1]}
    return Graph.from_frames(nodes, {"source": ["a", "b"], "target": ["b", "c"]})


def test_the_values_are_those_of_the_table(graph):
    values = {c.name: [c.value_text(row_values(graph, i)[c.features]) for i in range(6)] for c in table_columns(graph)}
    assert values["age"] == ["31", "45", "27", "missing", "52", "38"]
    assert values["member"] == ["true", "false", "true", "false", "missing", "true"]
    assert values["country"] == ["de", "us", "missing", "de", "us", "fr"]
    assert values["since"] == ["2021-03-01", "2020-01-15", "2022-12-31", "missing", "2021-06-01", "2021-03-02"]
    assert values["income"][:2] == ["1,000", "1,100"]
    assert values["income"][4] == "1,000,000"


def test_every_feature_belongs_to_one_column(graph):
    columns = table_columns(graph)
    assert np.concatenate([c.features for c in columns]).tolist() == list(range(graph.n_features))
    names = [graph.feature_names[i].split("=")[0].split(":")[0] for i in range(graph.n_features)]
    for column in columns:
        assert {names[i] for i in column.features} == {column.name}


def test_unseen_categories_and_text_have_no_exact_value():
    encoder = FeatureEncoder(categorical=["country"]).fit({"country": ["de", "us", "de"]})
    features = encoder.transform({"country": ["fr", "us"]})
    graph = Graph.from_edges([(0, 1)], features).replace(encoder=encoder, feature_names=encoder.feature_names)
    (column,) = table_columns(graph)
    assert [column.value_text(features[i]) for i in range(2)] == ["another category", "us"]
