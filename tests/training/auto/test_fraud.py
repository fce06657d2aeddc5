"""A graph on which edges are random, one column is informative, and one class is rare: `auto` finds that class."""

import numpy as np
import torch

from heterophily import Graph, Split
from heterophily.training.auto.fit import fit_auto
from heterophily.training.auto.portfolio import read_portfolio
from heterophily.training.auto.task import TrainingOptions
from heterophily.training.scoring import SCORINGS

NAMES = ("linear", "linear balanced", "mlp", "boosting", "boosting features", "linkx", "gcn+", "sage+ without norm")


def test_a_rare_class_is_found_although_the_edges_are_random():
    rng = np.random.default_rng(7)
    n, n_labeled = 1600, 600
    labels = (rng.random(n) < 0.05).astype(int)
    features = rng.normal(size=(n, 8))
    features[:, 0] += 2.0 * labels
    graph = Graph.from_edges(rng.integers(n, size=(3 * n, 2)), features, labels=labels, name="accounts")
    nodes = torch.arange(n)
    split = Split.from_nodes(nodes[: n_labeled * 3 // 4], nodes[n_labeled * 3 // 4 : n_labeled], nodes[n_labeled:])
    options = TrainingOptions(scoring=SCORINGS["roc_auc"], device="cpu")
    portfolio = [candidate for candidate in read_portfolio() if candidate.name in NAMES]
    found = fit_auto(graph, split, options, budget="10m", portfolio=portfolio, workers=1)
    assert found.run.score("test", "roc_auc") >= 0.86
