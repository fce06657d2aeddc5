"""Splits of the nodes: the ten official splits of the paper, or random ones of the same proportions."""

from pathlib import Path

import numpy as np

from heterophily.core.arguments import BOOLEAN, MAX_SEED, check_argument, check_integer
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import PARTS, Graph, Split, check_graph_type
from heterophily.core.npz import NPZ_ERRORS, load_npz
from heterophily.core.split import splits_from_masks
from heterophily.core.types import IntArray

TRAIN, VAL = 0.48, 0.32  # fractions of the labeled nodes; the remaining fifth is the test set
N_SPLITS = 10
N_FOLDS = 5  # of cross-validation
MAX_SPLITS = 10_000  # of random splits at a time


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


def draw_split(graph: Graph, seed: int, *, stratify: bool = False) -> Split:
    """Draw a random 48/32/20 split of the labeled nodes, by default without stratification."""
    nodes = graph.labeled.nonzero().squeeze(1).cpu().numpy()
    if len(nodes) < 5:
        raise HeterophilyError(f"a 48/32/20 split requires at least 5 labeled nodes, but {graph.name} has {len(nodes)}")
    generator, n_train, n_val = np.random.default_rng(seed), int(TRAIN * len(nodes)), int(VAL * len(nodes))
    if stratify:
        labels = graph.labels.cpu().numpy()
        rest, val = hold_out(nodes, labels, n_val, generator)
        train, test = hold_out(rest, labels, len(nodes) - n_train - n_val, generator)
        return Split.from_nodes(train, val, test, origin=f"random and stratified, seed {seed}")
    shuffled = generator.permutation(nodes)
    cuts = [n_train, n_train + n_val]
    return Split.from_nodes(*np.split(shuffled, cuts), origin=f"random, seed {seed}")


def hold_out(
    nodes: IntArray, labels: IntArray, count: int, generator: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Hold out about `count` nodes at random, from each class in proportion. Return the rest and these nodes.

    At least one node of each class with several nodes is held out, and at least one is not.
    """
    shuffled = generator.permutation(nodes)
    classes, sizes = np.unique(labels[shuffled], return_counts=True)
    quotas = count * sizes / sizes.sum()
    counts = np.maximum(quotas.astype(int), np.minimum(1, sizes - 1))
    if not counts.any():  # one node per class
        return shuffled[count:], shuffled[:count]
    by_remainder = np.argsort(counts - quotas, kind="stable")
    has_room = by_remainder[(counts < sizes - 1)[by_remainder]]
    counts[has_room[: max(0, count - int(counts.sum()))]] += 1
    held = np.concatenate([shuffled[labels[shuffled] == k][:n] for k, n in zip(classes, counts, strict=True)])
    return np.setdiff1d(nodes, held), held


def cross_validation_splits(graph: Graph, *, seed: int = 0, count: int = N_FOLDS) -> dict[str, Split]:
    """Divide the labeled nodes into folds, stratified by class. Split i tests on fold i.

    A quarter of the other nodes of each class are the validation nodes, so the shares are 60/20/20 with five folds.

    Examples
    --------
    >>> from heterophily import load
    >>> splits = cross_validation_splits(load("digits"))
    >>> {name: [len(nodes) for nodes in split.parts.values()] for name, split in list(splits.items())[:2]}
    {'0': [1078, 359, 360], '1': [1078, 359, 360]}
    """
    nodes = graph.labeled.nonzero().squeeze(1).cpu().numpy()
    if len(nodes) < 2 * count:
        raise HeterophilyError(
            f"{count} cross-validation splits require at least {2 * count} labeled nodes, but {graph.name} has "
            f"{len(nodes)}; label more nodes, or save the graph with a split"
        )
    labels, generator = graph.labels.cpu().numpy(), np.random.default_rng(seed)
    shuffled = generator.permutation(nodes)
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    splits = {}
    for i in range(count):
        test = by_class[i::count]  # every count-th node, so each class has the same share in each fold
        rest = np.setdiff1d(nodes, test)
        train, val = hold_out(rest, labels, len(rest) // 4, np.random.default_rng(seed + i))
        origin = f"fold {i} of {count}, stratified, seed {seed}"
        splits[str(i)] = Split.from_nodes(train, val, test, origin=origin)
    return splits


def random_splits(graph: Graph, *, seed: int = 0, count: int = N_SPLITS, stratify: bool = False) -> dict[str, Split]:
    """Draw random 48/32/20 splits of the labeled nodes.

    Parameters
    ----------
    graph
        Graph with at least five labeled nodes.
    seed
        Seed of the first split; split i uses ``seed + i``.
    count
        Number of splits.
    stratify
        Whether all classes have the same shares in each part. The datasets of the paper are split without.

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
    check_graph_type(graph)
    check_integer("seed", seed, low=0, high=MAX_SEED)
    check_integer("count", count, low=1, high=MAX_SPLITS)
    check_argument("stratify", stratify, BOOLEAN)
    return {str(i): draw_split(graph, seed + i, stratify=stratify) for i in range(count)}
