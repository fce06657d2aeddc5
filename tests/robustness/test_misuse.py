"""Finding 11: wrong arguments in Python raise a `HeterophilyError` with a sentence."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import heterophily
from heterophily import Graph, HeterophilyError, NodeClassifier, cross_validate, diagnose
from tests.robustness.inputs import small_graph

GRAPH = small_graph()
QUICK = {"max_epochs": 2, "width": 4}


def quick(**changes):
    return NodeClassifier("gcn", **{**QUICK, **changes})


FITTED = quick().fit(GRAPH, split="0")
EDGES = torch.rand(5, 2, requires_grad=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda here: Graph.from_edges(EDGES),
        lambda here: quick().fit(GRAPH, split=0),
        lambda here: quick().fit(GRAPH, split=[]),
        lambda here: quick().fit("x"),
        lambda here: quick().fit(None),
        lambda here: quick().fit(np.zeros((3, 3))),
        lambda here: quick(threshold=np.zeros((3, 2))).fit(GRAPH, split="0"),
        lambda here: quick(threshold=sp.eye_array(3)).fit(GRAPH, split="0"),
        lambda here: Graph.from_frames({"id": 3}, {"source": [1], "target": [2]}),
        lambda here: Graph.from_edges([(0, 1)], node_ids=sp.eye_array(3, 5)),
        lambda here: quick(batch_size=2**70).fit(GRAPH, split="0"),
        lambda here: quick(batch_size=GRAPH).fit(GRAPH, split="0"),
        lambda here: FITTED.score(nodes=[]),
        lambda here: FITTED.score(GRAPH, nodes=[]),
        lambda here: FITTED.score(small_graph(labels=None, splits=None)),
        lambda here: FITTED.predict("x"),
        lambda here: FITTED.save(3),
        lambda here: FITTED.explain("x"),
        lambda here: NodeClassifier("gcn").predict(GRAPH),
        lambda here: NodeClassifier.load(3),
        lambda here: cross_validate("gcn", GRAPH),
        lambda here: cross_validate(quick(), "x"),
        lambda here: diagnose(3),
        GRAPH.save,
        lambda here: GRAPH.save(3),
        lambda here: heterophily.bench(3, GRAPH, out=here),
        lambda here: heterophily.bench("gcn", 3, out=here),
        lambda here: heterophily.bench("gcn", GRAPH, out=None),
        lambda here: heterophily.bench("gcn", GRAPH, out=here, splits=0),
        lambda here: heterophily.bench("gcn", GRAPH, out=here, seed=-1),
        lambda here: heterophily.bench("gcn", GRAPH, out=here, workers=0),
        lambda here: heterophily.bench("gcn", GRAPH, out=here, settings=[1]),
        lambda here: heterophily.table(3),
        lambda here: heterophily.table(here, models="gcn"),
        lambda here: heterophily.search(3, GRAPH, trials=1, out=here),
        lambda here: heterophily.search("gcn", GRAPH, trials="x", out=here),
        lambda here: heterophily.search("gcn", GRAPH, trials=1, out=None),
        lambda here: heterophily.search("gcn", GRAPH, trials=1, out=here, splits=0),
        lambda here: heterophily.tune("gcn", 3, trials=1, out=here),
        lambda here: heterophily.tune(3, GRAPH, trials=1, out=here),
        lambda here: heterophily.tune("gcn", GRAPH, trials=1.5, out=here),
        lambda here: heterophily.study("overlap", 3),
        lambda here: heterophily.study("overlap", GRAPH, out=3),
        lambda here: heterophily.report(3, here / "r.html"),
        lambda here: heterophily.report(here, 3),
        lambda here: heterophily.explain(3),
        lambda here: heterophily.fit(3),
    ],
)
def test_finding_11_misuse_is_a_sentence(call, tmp_path):
    with pytest.raises(HeterophilyError) as caught:
        call(tmp_path)
    assert str(caught.value)
    assert "\n" not in str(caught.value)
