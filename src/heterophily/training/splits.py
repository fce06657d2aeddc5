"""The split that a run uses: by name, given, or all labeled nodes, and always with validation nodes."""

import numpy as np

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split

VALIDATION_FRACTION = 0.25  # of the training nodes, if a split has no validation nodes


def resolve_split(graph: Graph, split: str | Split | None) -> Split:
    """Return a split by name, the given split, the only split of the graph, or all labeled nodes."""
    if isinstance(split, Split):
        return split
    if split is not None:
        return graph.split(split)
    if len(graph.splits) == 1:
        return next(iter(graph.splits.values()))
    labeled = graph.labeled.nonzero().squeeze(1)
    if not len(labeled):
        raise HeterophilyError(f"{graph.name} has no labeled nodes; training requires at least two")
    return Split.from_nodes(labeled, origin="all labeled nodes")


def with_validation(graph: Graph, split: Split, *, seed: int) -> Split:
    """Return a split with validation nodes: if there are none, a quarter of the training nodes."""
    if len(split.val):
        return split
    order = np.random.default_rng(seed).permutation(split.train.cpu().numpy())
    count = max(1, int(VALIDATION_FRACTION * len(order)))
    if len(order) < 2:
        raise HeterophilyError(
            f"{graph.name} has {len(order)} labeled node for training; training requires at least two, "
            "one of them for validation"
        )
    origin = f"{split.origin}, {count} held out for validation"
    return Split.from_nodes(order[count:], order[:count], split.test, origin=origin)
