"""The split that a run uses: by name, given, or all labeled nodes, and always with validation nodes."""

import numpy as np

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split
from heterophily.data.splits import hold_out

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
    """Return a split with validation nodes: if there are none, a quarter of the training nodes of each class."""
    if len(split.val):
        return split
    nodes = split.train.cpu().numpy()
    if len(nodes) < 2:
        raise HeterophilyError(
            f"{graph.name} has {len(nodes)} labeled node for training; training requires at least two, "
            "one of them for validation"
        )
    count = max(1, int(VALIDATION_FRACTION * len(nodes)))
    train, val = hold_out(nodes, graph.labels.cpu().numpy(), count, np.random.default_rng(seed))
    origin = f"{split.origin}, {len(val)} held out for validation"
    return Split.from_nodes(train, val, split.test, origin=origin)
