"""Splits of the nodes: the paper's official ten, or fresh random ones of the same proportions."""

from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from heterophily.core.errors import HeterophilyError
from heterophily.core.files import npz_splits
from heterophily.core.graph import PARTS, Graph, Split

TRAIN, VAL = 0.48, 0.32  # the remaining fifth is the test set
N_SPLITS = 10


def official_splits(path: Path, n_nodes: int) -> dict[str, Split]:
    """Read the ten official splits, boolean arrays `train`, `val`, `test` of shape (10, N)."""
    try:
        # NumPy does not close a broken archive that it opened itself.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            masks = {part: file[part] for part in PARTS}
    except (OSError, EOFError, KeyError, TypeError, ValueError, BadZipFile) as error:
        raise HeterophilyError(
            f"{path} has no masks train, val, test ({error!r}); fetch the file anew"
        ) from error
    if any(mask.dtype != bool or mask.shape != (N_SPLITS, n_nodes) for mask in masks.values()):
        shapes = ", ".join(f"{mask.dtype} {mask.shape}" for mask in masks.values())
        raise HeterophilyError(
            f"{path} must have boolean masks of shape {(N_SPLITS, n_nodes)}, got {shapes}; fetch "
            "the file anew"
        )
    return npz_splits(masks, origin="official")


def draw_split(graph: Graph, seed: int) -> Split:
    """Draw 48/32/20 percent of the labelled nodes, uniformly at random, not stratified."""
    nodes = graph.labeled.nonzero().squeeze(1).cpu().numpy()
    if len(nodes) < 5:
        raise HeterophilyError(
            f"a 48/32/20 split needs at least 5 labelled nodes, {graph.name} has {len(nodes)}"
        )
    shuffled = np.random.default_rng(seed).permutation(nodes)
    cuts = [int(TRAIN * len(nodes)), int(TRAIN * len(nodes)) + int(VAL * len(nodes))]
    return Split.from_nodes(*np.split(shuffled, cuts), origin=f"random, seed {seed}")


def random_splits(graph: Graph, *, seed: int = 0, count: int = N_SPLITS) -> dict[str, Split]:
    """Draw `count` splits with the seeds `seed`, `seed + 1`, and so on."""
    return {str(i): draw_split(graph, seed + i) for i in range(count)}
