"""Boosted trees as tensors, which are saved without pickle and predict like scikit-learn.

A leaf is a node whose two children are the leaf itself, so a step of the traversal leaves it where it is.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.errors import HeterophilyError
from heterophily.core.types import Array, FloatArray, IntArray

# Arrays of all nodes of all trees, concatenated, and their types.
NODES = {
    "feature": np.int64,
    "threshold": np.float64,
    "left": np.int64,
    "right": np.int64,
    "missing_left": np.bool_,  # whether a missing value goes to the left
    "value": np.float64,
}


class _Tree(Protocol):
    """A tree of scikit-learn: a structured array with one row per node."""

    nodes: NDArray[np.void]


class Forest(nn.Module):
    """The sum of the trees of each class: F_k(x) = b_k + Σ_t f_tk(x), as log-probabilities.

    A class without training nodes gets the probability 1 / (2 n), for n training nodes.
    """

    feature: Tensor
    value: Tensor
    roots: Tensor  # (T, C) for T iterations and C trees per iteration
    baseline: Tensor  # (C,)
    classes: Tensor  # numbers of the classes that have training nodes
    n_samples: Tensor  # number of training nodes
    has_any_size = True  # the sizes of the tensors do not follow from the graph

    def __init__(self, n_classes: int) -> None:
        super().__init__()
        self.n_classes = n_classes
        for name, kind in NODES.items():
            self.register_buffer(name, torch.from_numpy(np.zeros(0, dtype=kind)))
        self.register_buffer("roots", torch.zeros(0, 1, dtype=torch.long))
        self.register_buffer("baseline", torch.zeros(1, dtype=torch.double))
        self.register_buffer("classes", torch.zeros(1, dtype=torch.long))
        self.register_buffer("n_samples", torch.ones((), dtype=torch.long))

    @property
    def n_iterations(self) -> int:
        """The number of boosting iterations."""
        return len(self.roots)

    def set_classes(self, labels: IntArray) -> None:
        """Remove all trees, and start with the classes of training nodes."""
        self.set_nodes({name: np.zeros(0, dtype=kind) for name, kind in NODES.items()})
        self.classes = torch.from_numpy(np.unique(labels))
        self.roots = torch.zeros(0, 1, dtype=torch.long)
        self.baseline = torch.zeros(1, dtype=torch.double)
        self.n_samples.fill_(len(labels))

    def set_nodes(self, arrays: dict[str, Array]) -> None:
        """Set the arrays of all nodes."""
        for name, array in arrays.items():
            setattr(self, name, torch.from_numpy(array))

    def append(self, fitted: HistGradientBoostingClassifier) -> None:
        """Append the trees that a classifier of scikit-learn has in addition to those that are already here."""
        self.baseline = torch.from_numpy(fitted._baseline_prediction.ravel().astype(np.float64))
        trees: Sequence[Sequence[_Tree]] = fitted._predictors[self.n_iterations :]
        blocks, roots, n_nodes = [{name: getattr(self, name).numpy() for name in NODES}], [], len(self.value)
        for iteration in trees:
            for tree in iteration:
                roots.append(n_nodes)
                blocks.append(_arrays(tree.nodes, first=n_nodes))
                n_nodes += len(tree.nodes)
        new = torch.tensor(roots, dtype=torch.long).reshape(-1, len(self.baseline))
        self.roots = torch.cat([self.roots.reshape(-1, len(self.baseline)), new])
        self.set_nodes({name: np.concatenate([block[name] for block in blocks]) for name in NODES})

    def truncate(self, n_iterations: int) -> None:
        """Retain only the first iterations."""
        n_nodes = int(self.roots[n_iterations, 0]) if n_iterations < self.n_iterations else len(self.value)
        self.roots = self.roots[:n_iterations].clone()
        self.set_nodes({name: getattr(self, name)[:n_nodes].numpy().copy() for name in NODES})

    def forward(self, table: Tensor) -> Tensor:
        """Return log-probabilities, (n, K), for the rows of a table, (n, d)."""
        x = np.ascontiguousarray(table.detach().cpu().numpy())
        if len(self.feature) and int(self.feature.max()) >= x.shape[1]:
            raise HeterophilyError(
                f"the trees are damaged: they use more than {x.shape[1]} columns; fit the model again"
            )
        raw = np.zeros((len(x), len(self.baseline)))
        for step in self.steps(x):
            raw += step
        return self.log_probabilities(raw)

    def steps(self, x: FloatArray, first: int = 0) -> Iterator[FloatArray]:
        """Yield what each iteration from `first` on adds to the scores, (n, C)."""
        arrays = {name: getattr(self, name).cpu().numpy() for name in NODES}
        for roots in self.roots[first:].tolist():
            yield np.stack([arrays["value"][_leaves(arrays, root, x)] for root in roots], axis=1)

    def log_probabilities(self, raw: FloatArray) -> Tensor:
        """Return log-probabilities, (n, K), given the scores without baseline, (n, C)."""
        scores = torch.from_numpy(raw) + self.baseline.cpu()
        if len(self.classes) == 1:
            scores = torch.zeros(len(raw), 1, dtype=torch.double)
        elif scores.shape[1] == 1:  # two classes: the log odds of the second one
            scores = torch.cat([torch.zeros_like(scores), scores], dim=1)
        rare = -float(np.log(2.0 * max(int(self.n_samples), 1)))
        result = torch.full((len(raw), self.n_classes), rare, dtype=torch.double)
        result[:, self.classes.cpu()] = scores.log_softmax(dim=1)
        return result.to(self.baseline.device, torch.get_default_dtype())

    @override
    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *rest: object) -> None:
        """Load buffers of any size."""
        for name, buffer in self._buffers.items():
            if buffer is not None and (saved := state_dict.get(prefix + name)) is not None:
                if saved.dtype != buffer.dtype:
                    raise RuntimeError(f"{prefix}{name} must be of type {buffer.dtype}, got {saved.dtype}")
                setattr(self, name, torch.empty_like(saved, device=buffer.device))
        super()._load_from_state_dict(state_dict, prefix, *rest)
        self._check()

    def _check(self) -> None:
        """Raise an error unless every path through the trees ends at a leaf, and the classes are those of the trees."""
        n, own = len(self.value), torch.arange(len(self.value), device=self.value.device)
        columns = [cast("Tensor", getattr(self, name)) for name in NODES]
        children = [cast("Tensor", getattr(self, name)) for name in ("left", "right")]
        is_valid = all(each.shape == (n,) for each in columns) and self.roots.shape[1:] == self.baseline.shape
        is_valid = is_valid and all(bool(((own <= each) & (each < n)).all()) for each in children)
        is_valid = is_valid and self.n_samples.dim() == 0 and bool((self.feature >= 0).all())
        known = self.classes.unique()
        is_valid = is_valid and known.tolist() == self.classes.tolist() and len(known) > 0
        is_valid = is_valid and 0 <= int(known[0]) <= int(known[-1]) < self.n_classes
        is_valid = is_valid and self.baseline.shape == (1 if len(known) < 3 else len(known),)
        if not is_valid or bool(((self.roots < 0) | (self.roots >= max(n, 1))).any()):
            raise RuntimeError("the arrays of the trees are damaged")


def _arrays(nodes: NDArray[np.void], *, first: int) -> dict[str, Array]:
    """Return the arrays of one tree, whose first node has the given number."""
    own = np.arange(len(nodes))
    is_leaf = nodes["is_leaf"].astype(bool)
    return {
        "feature": np.where(is_leaf, 0, nodes["feature_idx"]).astype(np.int64),
        "threshold": np.where(is_leaf, 0.0, nodes["num_threshold"]),
        "left": first + np.where(is_leaf, own, nodes["left"]),
        "right": first + np.where(is_leaf, own, nodes["right"]),
        "missing_left": nodes["missing_go_to_left"].astype(bool),
        "value": np.where(is_leaf, nodes["value"], 0.0),
    }


def _leaves(arrays: dict[str, Array], root: int, x: FloatArray) -> IntArray:
    """Return the leaf of each row of x in one tree, (n,)."""
    rows, leaves = np.arange(len(x)), np.full(len(x), root)
    node = leaves.copy()
    while len(rows):
        values = x[rows, arrays["feature"][node]]
        goes_left = np.where(np.isnan(values), arrays["missing_left"][node], values <= arrays["threshold"][node])
        following = np.where(goes_left, arrays["left"][node], arrays["right"][node])
        moved = following != node
        rows, node = rows[moved], following[moved]
        leaves[rows] = node
    return leaves
