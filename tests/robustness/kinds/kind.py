"""A kind of input: how to damage it, and the calls that must then work or end in one sentence."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heterophily import Graph
from heterophily.core.sparse import Matrix
from heterophily.core.validation import check_graph


@dataclass(frozen=True)
class Kind:
    """`attempt(case, folder)` raises `HeterophilyError` or succeeds; `AssertionError` means a wrong result."""

    name: str
    cases: Any  # a strategy of Hypothesis
    attempt: Callable[[Any, Path], object]


def check_result(graph: Graph, folder: Path | None = None) -> None:
    """Fail unless a graph that was read is valid and survives saving."""
    check_graph(graph)
    values = graph.features.values if isinstance(graph.features, Matrix) else graph.features
    assert graph.n_nodes > 0
    assert bool(torch.isfinite(values).all())
    assert -1 <= int(graph.labels.min()) <= int(graph.labels.max()) < max(graph.n_classes, 0) or not graph.n_classes
    assert graph.symmetric.n_entries <= 2 * graph.n_edges
    if folder is not None:
        assert Graph.load(graph.save(folder / "again.safetensors")).checksum == graph.checksum


def check_probabilities(values: np.ndarray, n: int, k: int) -> None:
    """Fail unless rows are probabilities."""
    assert values.shape == (n, k)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-4)
