"""What the tests of the search share: a small graph with splits, and searches on it."""

from dataclasses import replace

import numpy as np
import pytest

from heterophily import Graph, Split
from heterophily.runs import worker
from heterophily.tuning import search
from heterophily.tuning import trials as driver
from heterophily.views import search as summary

N, F, K = 60, 12, 3


@pytest.fixture(autouse=True)
def _plain(request, monkeypatch):
    """Figures and importances take longer than small searches; tests of them ask for `pictures`."""
    if "pictures" not in request.fixturenames:
        monkeypatch.setattr(driver, "importances_of", lambda study: {})
        monkeypatch.setattr(summary, "save_charts", lambda charts, path: path)


@pytest.fixture
def pictures():
    """Let searches draw and weigh."""


@pytest.fixture
def graph():
    """A graph that can be learned, with four splits that share their twelve test nodes."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(N) % K
    x = np.abs(rng.normal(3 * np.eye(K, F)[labels], 1.6))
    meet = np.where(labels[:, None] == (labels[None] + 1) % K, 0.15, 0.02)
    adjacency = rng.random((N, N)) < meet
    splits = {}
    for s in range(4):
        order = np.random.default_rng(s).permutation(N - 12)
        splits[str(s)] = Split.from_nodes(order[:28], order[28:], np.arange(N - 12, N), origin=f"split {s}")
    return Graph.from_edges(np.argwhere(adjacency), x, labels=labels, splits=splits, name="ring")


@pytest.fixture
def find(graph, tmp_path):
    """Search on the graph: `find("gcn", trials=3)`, in one folder unless another is named."""

    def go(model="gcn", *, on=graph, folder="out", settings=None, **options):
        options = {"trials": 3, "splits": "0-1", "device": "cpu", **options}
        chosen = {"max_epochs": 4, **(settings or {})}
        found = search(model, on, out=tmp_path / folder, settings=chosen, **options)
        return summary.write_summary(found, tmp_path / folder)

    return go


@pytest.fixture
def scored(monkeypatch):
    """Replace training by a function of the settings and the split; lists what was asked."""

    def put(score):
        asked = []

        def train(job, checkpoint):
            asked.append((dict(job.settings), job.split))
            scores = {"val": {"accuracy": score(job.settings, job.split)}}
            return replace(job.empty_record, run={"scores": scores})

        monkeypatch.setattr(worker, "_train", train)
        return asked

    return put


@pytest.fixture
def told():
    """The trials of a search, in all but time."""

    def facts(found):
        return [(dict(a.answers), a.state, a.value, a.scores) for a in found.trials]

    return facts
