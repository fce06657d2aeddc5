"""Valid inputs that tests damage: a small graph and the content of a record."""

import numpy as np

from heterophily import Graph


def small_graph(n=30, **changes):
    """Nodes in three classes with two splits."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(n) % 3
    x = np.abs(rng.normal(2 * np.eye(3, 6)[labels], 1.0)).astype(np.float32)
    orders = [rng.permutation(n) for _ in range(2)]
    splits = {str(i): (o[: n // 2], o[n // 2 : 3 * n // 4], o[3 * n // 4 :]) for i, o in enumerate(orders)}
    facts = {"features": x, "labels": labels, "splits": splits, "name": "small", **changes}
    return Graph.from_edges(np.argwhere(rng.random((n, n)) < 0.1), **facts)


def record_facts(**changes):
    """The content of a valid record; arguments replace fields."""
    return {
        "key": "ab" * 32,
        "model": "gcn",
        "dataset": "small",
        "split": "0",
        "seed": 3,
        "settings": {"width": 4},
        "preset": "published",
        "source": "defaults",
        "recipe": "r" * 64,
        "checksum": "c" * 64,
        "run": {"scores": {"test": {"accuracy": 0.5}, "val": {"accuracy": 0.75}}, "n_epochs": 2},
        "details": {"split": {"train": 5, "val": 2, "test": 3}},
        "finished": "2024-01-01T00:00:00.000+00:00",
        **changes,
    }
