"""A rough number of operations against what runs took."""

from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest
from scipy.stats import spearmanr

from heterophily.data.loading import load
from heterophily.htmp.method import make_method
from heterophily.models import find_method
from heterophily.models.settings import tuned
from heterophily.runs.job import cost_of
from heterophily.runs.record import read_records

RUNS = Path(__file__).parents[2] / "docs" / "results" / "runs.jsonl"


def cost(model, graph, **settings):
    return cost_of(make_method(find_method(model), {"width": 64, "n_layers": 2, **settings}), graph)


@pytest.mark.parametrize("change", [{"width": 128}, {"n_layers": 3}])
def test_more_work_costs_more(graph, change):
    assert cost("gcn", graph, **change) > cost("gcn", graph)
    assert cost("gcn", load("digits")) > cost("gcn", graph)


def test_heads_hops_and_channels_count():
    graph = load("digits")
    assert cost("gat", graph, n_heads=8) > 4 * cost("gat", graph, n_heads=1)
    assert cost("hog-gcn", graph) > cost("gcn", graph)
    assert cost("mixhop", graph) > 2 * cost("gcn", graph)


@pytest.mark.real
def test_cells_of_the_benchmark_are_ordered_as_they_were_measured(real_graph):
    measured = defaultdict(list)
    for record in read_records(RUNS):
        if record.done:
            measured[record.model, record.dataset].append(record.run["milliseconds_per_epoch"])
    costs = [cost_of(make_method(find_method(model), tuned(model, name)), real_graph(name)) for model, name in measured]
    assert spearmanr(costs, [median(times) for times in measured.values()]).statistic > 0.75
