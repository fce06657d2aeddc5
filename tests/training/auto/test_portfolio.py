"""The bundled portfolio, and which candidates fit a graph."""

import numpy as np
import pytest

from heterophily import Graph, HeterophilyError
from heterophily.training.auto import portfolio
from heterophily.training.auto.portfolio import Candidate, choose_candidates, read_portfolio


def test_the_bundled_portfolio_is_valid_and_starts_with_cheap_candidates():
    candidates = read_portfolio()
    costs = [candidate.cost for candidate in candidates]
    assert costs == sorted(costs)
    assert {"mlp", "sage+", "gcn+", "linkx", "cmgnn"} <= {candidate.method for candidate in candidates}
    assert any(candidate.large for candidate in candidates)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is not a portfolio"),
        ("[[candidate]]\nname = 'a'\nmethod = 'mlp'\nspeed = 1", "is not a portfolio"),
        ("[[candidate]]\nname = 'a'\nmethod = 'mlp'\nsettings = {widht = 3}", 'unknown setting of mlp "widht"'),
        ("[[candidate]]\nname = 'a'\nmethod = 'mlp'\n[[candidate]]\nname = 'a'\nmethod = 'gcn'", "of the same name"),
    ],
)
def test_an_invalid_portfolio_is_rejected(tmp_path, text, sentence):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(HeterophilyError, match=sentence):
        read_portfolio(tmp_path / "mine.toml")


def test_large_and_dense_graphs_have_fewer_candidates(monkeypatch):
    everything = (Candidate("a", "mlp", large=True), Candidate("b", "gcn"), Candidate("c", "h2gcn", max_paths=50))
    star = Graph.from_edges([(0, i) for i in range(1, 9)], np.eye(9), labels=[0, 1] * 4 + [0])
    assert [each.name for each in choose_candidates(star, everything)] == ["a", "b"]  # 8² + 8 paths
    monkeypatch.setattr(portfolio, "LARGE", 9)
    assert [each.name for each in choose_candidates(star, everything)] == ["a"]


def test_features_with_negative_values_exclude_candidates_that_normalize_them(graph):
    everything = (Candidate("a", "acm-gcn", nonnegative=True), Candidate("b", "gcn"))
    positive = graph.replace(features=graph.features.abs())
    assert [len(choose_candidates(each, everything)) for each in (graph, positive)] == [1, 2]


def test_given_settings_apply_to_all_methods_that_have_them(graph):
    everything = (Candidate("a", "mlp", {"width": 4}), Candidate("b", "gpr-gnn"))
    first, second = choose_candidates(graph, everything, {"width": 8, "teleport": 0.5})
    assert (first.settings, second.settings) == ({"width": 8}, {"width": 8, "teleport": 0.5})
    with pytest.raises(HeterophilyError, match="no candidate of auto has a setting widht"):
        choose_candidates(graph, everything, {"widht": 8})
