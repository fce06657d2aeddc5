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
    assert {"mlp", "sage+", "gcn+", "linkx", "cmgnn", "boosting", "trio"} <= {
        candidate.method for candidate in candidates
    }
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


def test_directed_candidates_need_edges_with_a_direction():
    everything = (Candidate("a", "sage+", {"direction": "both"}, directed=True), Candidate("b", "gcn"))
    labels = [0, 1, 0, 1]
    cycle, path, both = ([(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2), (2, 3)], [(0, 1), (1, 0)])
    for edges, expected in ((cycle, ["a", "b"]), (path, ["b"]), (both, ["b"])):  # a path is sorted by node number
        graph = Graph.from_edges(edges, np.eye(4), labels=labels)
        assert [each.name for each in choose_candidates(graph, everything)] == expected


def test_given_settings_apply_to_all_methods_that_have_them(graph):
    everything = (Candidate("a", "mlp", {"width": 4}), Candidate("b", "gpr-gnn"))
    first, second = choose_candidates(graph, everything, {"width": 8, "teleport": 0.5})
    assert (first.settings, second.settings) == ({"width": 8}, {"width": 8, "teleport": 0.5})
    with pytest.raises(HeterophilyError, match="no candidate of auto has a setting widht"):
        choose_candidates(graph, everything, {"widht": 8})
