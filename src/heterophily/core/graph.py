"""A graph for node classification: features X, edges A, labels y, and named splits. Graphs are immutable.

Edges are directed as stored: A_ij = 1 if there is an edge i → j. Repeated edges are stored once. Self-loops
are stored, but removed from the symmetrized graph A ∪ Aᵀ, on which message passing works unless a method uses
the direction. Edges may have weights; see `weights.py`. Label -1 means unknown.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar, cast

import torch
from torch import Tensor

from heterophily.core.arguments import TEXT, check_argument, check_integer, check_sequence, short_text
from heterophily.core.constructors import Constructors
from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.sparse import Matrix, Pattern
from heterophily.core.split import PARTS, Split, as_splits
from heterophily.core.types import PathLike
from heterophily.core.validation import (
    ArrayInput,
    FeatureInput,
    LabelInput,
    check_edges,
    check_graph,
    count_classes,
    count_nodes,
    edge_array,
    feature_matrix,
    label_vector,
    weight_vector,
)
from heterophily.core.weights import sum_repeated, symmetrized_weights

if TYPE_CHECKING:
    import networkx as nx
    import scipy.sparse as sp
    from torch_geometric.data import Data

    from heterophily.core.encoder import FeatureEncoder

__all__ = ["PARTS", "ClassValues", "Features", "Graph", "Split"]

Features = Tensor | Matrix
ClassValues = tuple[str, ...] | tuple[int, ...] | tuple[bool, ...]
T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Constructors):
    """Immutable attributed graph. Create one with `from_edges`, a converter, or `from_files`.

    Parameters
    ----------
    adjacency, features
        Edges as stored, (N, N), and a dense or sparse float32 matrix, (N, F).
    labels, n_classes
        Class numbers, (N,) int64, with -1 for unknown labels, and the number of classes K.
    splits, name
        Splits by name, and the name of the graph in reports and error messages.
    node_ids, class_names, class_values
        Names of the nodes and of the classes, if they have any, and the classes as in the user's table.
    feature_names, encoder
        Names of the features, and the encoder that computed them from the columns of a table.
    weights
        Positive weights of the edges as stored, (m,) float32, or None.

    Examples
    --------
    >>> graph = Graph.from_edges([(0, 1), (1, 2)], labels=[0, 1, 0])
    >>> graph
    Graph(3 nodes, 2 edges as stored, 0 features, 2 classes)
    >>> graph.symmetric.n_entries
    4
    """

    adjacency: Pattern  # (N, N) as stored
    features: Features  # (N, F), float32, dense or sparse
    labels: Tensor  # (N,) int64, -1 unknown
    n_classes: int
    splits: Mapping[str, Split] = field(default_factory=dict)
    name: str = "graph"
    node_ids: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    class_values: ClassValues | None = None
    feature_names: tuple[str, ...] | None = None
    encoder: "FeatureEncoder | None" = None
    weights: Tensor | None = None  # (m,) float32, in the order of the entries of `adjacency`

    def __post_init__(self) -> None:
        object.__setattr__(self, "splits", MappingProxyType(dict(self.splits)))
        check_graph(self)

    @property
    def _fields(self) -> dict[str, object]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def __getstate__(self) -> dict[str, object]:
        return {**self._fields, "splits": dict(self.splits)}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "splits", MappingProxyType(dict(self.splits)))

    @classmethod
    def from_edges(
        cls,
        edges: ArrayInput,
        features: FeatureInput = None,
        *,
        weights: ArrayInput | None = None,
        labels: LabelInput = None,
        splits: Mapping[str, Split | Sequence[ArrayInput]] | None = None,
        n_nodes: int | None = None,
        n_classes: int | None = None,
        name: str = "graph",
        node_ids: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
    ) -> "Graph":
        """Create a graph from pairs of node numbers.

        Parameters
        ----------
        edges
            Pairs of node numbers, (E, 2). Transpose a PyG-style ``edge_index`` of shape (2, E) first.
        weights
            Positive weights of the edges, (E,). Weights of repeated edges are added.
        features, labels
            Numbers, (N, F), dense or sparse, and class numbers, (N,), with -1 for unknown labels.
        splits
            Splits by name, each a `Split` or a sequence of nodes for train, val, and test.
        n_nodes, n_classes
            Sizes, if they do not follow from the arrays. The remaining parameters are those of `Graph`.

        Examples
        --------
        >>> graph = Graph.from_edges([(0, 1)], [[1.0], [0.5]], labels=[0, 1], splits={"mine": ([0], [1])})
        >>> graph.n_features, graph.split("mine").val
        (1, tensor([1]))
        """
        check_integer("n_nodes", n_nodes, low=0, optional=True)
        check_integer("n_classes", n_classes, low=0, optional=True)
        check_argument("name", name, TEXT)
        pairs = edge_array(edges)
        x = None if features is None else feature_matrix(features)
        y = None if labels is None else label_vector(labels)
        n = count_nodes(pairs, x, y, n_nodes)
        y = torch.full((n,), -1) if y is None else y
        check_edges(pairs, n)
        adjacency = Pattern.from_edges(pairs[:, 0], pairs[:, 1], shape=(n, n))
        return cls(
            adjacency=adjacency,
            weights=None if weights is None else sum_repeated(adjacency, pairs, weight_vector(weights, len(pairs))),
            features=torch.zeros(n, 0) if x is None else x,
            labels=y,
            n_classes=count_classes(y) if n_classes is None else n_classes,
            splits=as_splits(splits),
            name=name,
            node_ids=_as_names("node_ids", node_ids),
            class_names=_as_names("class_names", class_names),
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return self.adjacency.shape[0]

    @property
    def n_edges(self) -> int:
        """Number of distinct directed edges as stored, including self-loops."""
        return self.adjacency.n_entries

    @cached_property
    def n_features(self) -> int:
        """Number of features F."""
        return self.features.shape[1]

    @property
    def is_sparse(self) -> bool:
        """Whether the features are stored as a sparse matrix."""
        return isinstance(self.features, Matrix)

    @cached_property
    def symmetric(self) -> Pattern:
        """A ∪ Aᵀ without self-loops: each edge in both directions."""
        return self.adjacency.without_diagonal().symmetrized()

    @cached_property
    def symmetric_weights(self) -> Tensor | None:
        """Weights of `symmetric`: the mean of both directions, or the weight of the only one; None without weights."""
        if self.weights is None:
            return None
        return symmetrized_weights(self.adjacency, self.weights, self.symmetric)

    @cached_property
    def is_directed(self) -> bool:
        """Whether some edge is stored in one direction only, or has different weights in both directions."""
        n_loops = int((self.adjacency.rows == self.adjacency.indices).sum())
        if self.symmetric.n_entries != self.n_edges - n_loops:
            return True
        return self.weights is not None and not torch.equal(
            self.weights, self.weights[self.adjacency.transposing_order]
        )

    @property
    def degrees(self) -> Tensor:
        """Number of neighbors of each node in the symmetrized graph, (N,)."""
        return self.symmetric.degrees

    @property
    def labeled(self) -> Tensor:
        """Mask of the nodes with a known label, (N,)."""
        return self.labels >= 0

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of edges, weights, features, and labels. Equal graphs have equal checksums."""
        return _sha256(self.structure_checksum, [self.labels])

    @cached_property
    def structure_checksum(self) -> str:
        """SHA-256 of edges, weights, and features, independent of the labels."""
        patterns, values = [self.adjacency], self.features
        if isinstance(values, Matrix):
            patterns, values = [self.adjacency, values.pattern], values.values
        arrays = [array.long() for p in patterns for array in (p.indptr, p.indices)]
        header = f"{self.n_nodes} {self.n_features} {len(patterns)}"
        if self.weights is None:
            return _sha256(header, [*arrays, values])
        return _sha256(f"{header} weighted", [*arrays, values, self.weights])

    def with_labels_only(self, nodes: Tensor) -> "Graph":
        """Return a copy with the labels of these nodes only. It shares all other results."""
        labels = torch.full_like(self.labels, -1)
        labels[nodes] = self.labels[nodes]
        result = self.replace(labels=labels, splits={})
        _ = self._cache
        shared = ("symmetric", "symmetric_weights", "is_directed", "_cache", "structure_checksum")
        result.__dict__.update({key: self.__dict__[key] for key in shared if key in self.__dict__})
        return result

    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of `compute`, which is computed once per key and default dtype of PyTorch."""
        place = key, torch.get_default_dtype()
        if place not in self._cache:
            self._cache[place] = compute()
        return cast("T", self._cache[place])

    @cached_property
    def _cache(self) -> dict[Hashable, object]:
        return {}

    def split(self, name: str) -> Split:
        """Return the split of this name."""
        if not isinstance(name, str) or name not in self.splits:
            raise unknown_name(f"split of {self.name}", name, self.splits)
        return self.splits[name]

    def replace(self, **changes: object) -> "Graph":
        """Return a copy with some fields changed. Only the changed fields are validated."""
        if unknown := changes.keys() - self._fields.keys():
            raise TypeError(f"a graph has no field {', '.join(sorted(unknown))}")
        if "adjacency" in changes and "weights" not in changes and self.weights is not None:
            raise TypeError("the weights belong to the edges; pass weights, too, or weights=None to drop them")
        if "features" in changes and cast("Tensor", changes["features"]).shape[1] != self.n_features:
            changes = {"feature_names": None, "encoder": None, **changes}
        return Graph._from_validated({**self._fields, **changes}, check=changes)

    @classmethod
    def _from_validated(cls, fields: Mapping[str, object], check: Collection[str] = ()) -> "Graph":
        """Create a graph from fields of which only those in `check` are validated."""
        graph = object.__new__(cls)
        graph.__setstate__(fields)
        check_graph(graph, changed=check)
        return graph

    def to(self, device: torch.device | str) -> "Graph":
        """Return a copy on another device. Splits stay on the CPU."""
        parts = {name: getattr(self, name) for name in ("adjacency", "features", "labels", "weights")}
        return self.replace(**{name: None if part is None else part.to(device) for name, part in parts.items()})

    def __repr__(self) -> str:
        kind = "edges" if self.weights is None else "weighted edges"
        sizes = f"{self.n_nodes} nodes, {self.n_edges} {kind} as stored"
        return f"Graph({sizes}, {self.n_features} features, {self.n_classes} classes)"

    def to_pyg(self, *, sparse: bool | None = None) -> "Data":
        """Convert to a PyTorch Geometric `Data`. Splits become masks of shape (N, S).

        The features `x` are a sparse tensor (COO) or a dense one: by default as the graph stores them, see `is_sparse`.
        """
        from heterophily.core.interop import to_pyg

        return to_pyg(self, sparse=sparse)

    def to_networkx(self) -> "nx.DiGraph[Hashable]":
        """Convert to a NetworkX graph with node attributes `x` and `label` and edge attribute `weight`."""
        from heterophily.core.interop import to_networkx

        return to_networkx(self)

    def to_scipy(self) -> "sp.csr_array":
        """Return the edges as stored, as a SciPy array of their weights, or of ones."""
        weights = torch.ones(self.n_edges) if self.weights is None else self.weights
        return Matrix(self.adjacency, weights).to_scipy().copy()

    def save(self, path: PathLike) -> Path:
        """Write the graph atomically to a safetensors file and return its path."""
        from heterophily.core.files import save_graph

        return save_graph(self, path)


def check_graph_type(graph: object) -> None:
    """Raise an error unless an argument is a graph of this library."""
    if not isinstance(graph, Graph):
        raise HeterophilyError(f"expected a Graph, got {short_text(graph)}; create one with Graph.from_edges")


def _as_names(name: str, values: Sequence[str] | None) -> tuple[str, ...] | None:
    if values is None:
        return None
    return tuple(map(str, check_sequence(name, values)))


def _sha256(header: str, arrays: Sequence[Tensor]) -> str:
    digest = hashlib.sha256(header.encode())
    for array in arrays:
        digest.update(array.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()
