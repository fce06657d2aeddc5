"""Splits of the nodes: the ten official splits of the paper, or random ones of the same proportions."""

from pathlib import Path

import numpy as np

from heterophily.core.errors import HeterophilyError
from heterophily.core.files import NPZ_ERRORS, load_npz
from heterophily.core.graph import PARTS, Graph, Split
from heterophily.core.split import splits_from_masks

TRAIN, VAL = 0.48, 0.32  # fractions of the labeled nodes; the remaining fifth is the test set
N_SPLITS = 10


def official_splits(path: Path, n_nodes: int) -> dict[str, Split]:
    """Read the ten official splits, boolean arrays `train`, `val`, `test` of shape (10, N)."""
    try:
        arrays = load_npz(path)
        masks = {part: arrays[part] for part in PARTS}
    except NPZ_ERRORS as error:
        raise HeterophilyError(
            f"{path} must contain the masks train, val, and test ({error!r}); download it again"
        ) from error
    if any(mask.dtype != bool or mask.shape != (N_SPLITS, n_nodes) for mask in masks.values()):
        shapes = ", ".join(f"{mask.dtype} {mask.shape}" for mask in masks.values())
        raise HeterophilyError(
            f"{path} must have boolean masks of shape {(N_SPLITS, n_nodes)}, got {shapes}; download it again"
        )
    return splits_from_masks(masks, origin="official")


def draw_split(graph: Graph, seed: int) -> Split:
    """Draw a random 48/32/20 split of the labeled nodes, without stratification."""
    nodes = graph.labeled.nonzero().squeeze(1).cpu().numpy()
    if len(nodes) < 5:
        raise HeterophilyError(f"a 48/32/20 split requires at least 5 labeled nodes, but {graph.name} has {len(nodes)}")
    shuffled = np.random.default_rng(seed).permutation(nodes)
    cuts = [int(TRAIN * len(nodes)), int(TRAIN * len(nodes)) + int(VAL * len(nodes))]
    return Split.from_nodes(*np.split(shuffled, cuts), origin=f"random, seed {seed}")


def random_splits(graph: Graph, *, seed: int = 0, count: int = N_SPLITS) -> dict[str, Split]:
    """Draw random 48/32/20 splits of the labeled nodes.

    Parameters
    ----------
    graph
        Graph with at least five labeled nodes.
    seed
        Seed of the first split; split i uses ``seed + i``.

    Returns
    -------
    Splits by name: ``"0"``, ``"1"``, and so on.

    Examples
    --------
    >>> from heterophily import load, random_splits
    >>> splits = random_splits(load("digits"), count=2)
    >>> {name: len(split.train) for name, split in splits.items()}
    {'0': 862, '1': 862}
    """
    return {str(i): draw_split(graph, seed + i) for i in range(count)}
