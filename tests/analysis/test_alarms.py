"""Missing information raises an alarm in the diagnosis, its text, its JSON, and its report."""

import json
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from heterophily import Graph, diagnose
from heterophily.views.console import diagnosis_view
from heterophily.views.page.graph_report import write_diagnosis

N = 60
FEW = np.where(np.arange(N) < 30, np.arange(N) % 2, -1)
CIRCLE = [(i, (i + 1) % N) for i in range(N)]


def graph_of(edges, *, labels=None, features=True):
    x = np.random.default_rng(0).standard_normal((N, 3)) if features else None
    return Graph.from_edges(np.reshape(edges, (-1, 2)), x, labels=np.arange(N) % 2 if labels is None else labels)


@pytest.mark.parametrize(
    ("graph", "alarms"),
    [
        (graph_of(CIRCLE), []),
        (graph_of([], labels=None), ["The graph has no edges"]),
        (graph_of(CIRCLE, labels=[0, 1] + [-1] * (N - 2)), ["Only 2 nodes are labeled; label at least 20"]),
        (graph_of([(30 + i, 31 + i) for i in range(29)], labels=FEW), ["No edge connects two labeled nodes"]),
        (graph_of(CIRCLE[:20]), ["65% of the nodes have no neighbors"]),
        (graph_of(CIRCLE, features=False), ["The nodes have no features"]),
    ],
    ids=["none", "no edges", "few labels", "no labeled edge", "isolated", "no features"],
)
def test_missing_information_raises_an_alarm(graph, alarms):
    diagnosis = diagnose(graph)
    assert len(diagnosis.alarms) == len(alarms)
    for sentence, start in zip(diagnosis.alarms, alarms, strict=True):
        assert sentence.startswith(start)
        assert sentence.endswith(".")
    assert json.loads(json.dumps(diagnosis.to_dict(), allow_nan=False))["alarms"] == list(diagnosis.alarms)


def test_alarms_are_shown(tmp_path):
    diagnosis = diagnose(graph_of([]))
    console = Console(width=140, file=StringIO(), record=True)
    console.print(diagnosis_view(diagnosis))
    assert f"Alarm: {diagnosis.alarms[0]}" in console.export_text()
    page = write_diagnosis(diagnosis, tmp_path / "report.html", source="graph").read_text()
    assert diagnosis.alarms[0] in page
