"""Splits of the nodes: the paper's official ten, or fresh random ones of the same proportions."""

from pathlib import Path

import numpy as np

from heterophily.errors import HeterophilyError
from heterophily.files import npz_splits
from heterophily.graph import Graph, Split

TRAIN, VAL = 0.48, 0.32  # the remaining fifth is the test set
N_SPLITS = 10


def official_splits(path: Path) -> dict[str, Split]:
    """Read the ten official splits, boolean arrays `train`, `val`, `test` of shape (10, N)."""
    with np.load(path, allow_pickle=False) as file:
        splits = npz_splits({key: file[key] for key in file.files}, origin="official")
    if not splits:
        raise HeterophilyError(f"{path} has no masks train, val, test; fetch the file anew")
    return splits


def draw_split(graph: Graph, seed: int) -> Split:
    """Draw 48/32/20 percent of the labelled nodes, uniformly at random, not stratified."""
    nodes = graph.labelled.nonzero().squeeze(1).cpu().numpy()
    if len(nodes) < 5:
        raise HeterophilyError(
            f"a 48/32/20 split needs at least 5 labelled nodes, {graph.name} has {len(nodes)}"
        )
    shuffled = np.random.default_rng(seed).permutation(nodes)
    cuts = [int(TRAIN * len(nodes)), int(TRAIN * len(nodes)) + int(VAL * len(nodes))]
    return Split.of(*np.split(shuffled, cuts), origin=f"random, seed {seed}")


def random_splits(graph: Graph, *, seed: int = 0, count: int = N_SPLITS) -> dict[str, Split]:
    """Draw `count` splits with the seeds `seed`, `seed + 1`, and so on."""
    return {str(i): draw_split(graph, seed + i) for i in range(count)}
