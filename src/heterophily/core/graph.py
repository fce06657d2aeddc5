"""A graph for node classification: features X, edges A, labels y and named splits, immutable.

Policy. Edges are directed as stored: A_ij = 1 if there is an edge i → j. An edge given twice
counts once; self-loops are kept as stored and absent from the symmetrised form A ∪ Aᵀ, on which
message passing works. Edge weights do not exist here: A_r is an indicator. Label -1 is unknown.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from heterophily.core.errors import unknown_name
from heterophily.core.sparse import Matrix, Pattern
from heterophily.core.validation import (
    check_edges,
    check_graph,
    count_nodes,
    edge_array,
    feature_matrix,
    label_vector,
    node_numbers,
)

if TYPE_CHECKING:
    import networkx as nx
    import scipy.sparse as sp
    from torch_geometric.data import Data

Features = Tensor | Matrix
PARTS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint node sets for training, validation and testing, and where they come from."""

    train: Tensor  # node numbers, ascending
    val: Tensor
    test: Tensor
    origin: str = "given"

    @classmethod
    def from_nodes(
        cls, train: Any, val: Any = (), test: Any = (), *, origin: str = "given"
    ) -> "Split":
        """Build a split from node numbers or boolean masks."""
        return cls(node_numbers(train), node_numbers(val), node_numbers(test), origin)

    @property
    def parts(self) -> dict[str, Tensor]:
        """The three node sets by name."""
        return {part: getattr(self, part) for part in PARTS}

    def mask(self, part: str, n_nodes: int) -> Tensor:
        """One part as a boolean mask over all nodes."""
        mask = torch.zeros(n_nodes, dtype=torch.bool)
        mask[self.parts[part]] = True
        return mask


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An immutable attributed graph; build one with `from_edges`, a converter or a file.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "splits", MappingProxyType(dict(self.splits)))
        check_graph(self)

    def __getstate__(self) -> dict[str, Any]:
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {**fields, "splits": dict(self.splits)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "splits", MappingProxyType(state["splits"]))

    @classmethod
    def from_edges(
        cls,
        edges: Any,
        features: Any = None,
        *,
        labels: Any = None,
        splits: Mapping[str, Split | Sequence[Any]] | None = None,
        n_nodes: int | None = None,
        n_classes: int | None = None,
        name: str = "graph",
        node_ids: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
    ) -> "Graph":
        """Build a graph from (E, 2) node pairs and, per node, features and labels."""
        pairs = edge_array(edges)
        x = None if features is None else feature_matrix(features)
        y = None if labels is None else label_vector(labels)
        n = count_nodes(pairs, x, y, n_nodes)
        y = torch.full((n,), -1) if y is None else y
        check_edges(pairs, n)
        return cls(
            adjacency=Pattern.from_edges(pairs[:, 0], pairs[:, 1], shape=(n, n)),
            features=torch.zeros(n, 0) if x is None else x,
            labels=y,
            n_classes=(int(y.max()) + 1 if n else 0) if n_classes is None else n_classes,
            splits={key: _as_split(value) for key, value in (splits or {}).items()},
            name=name,
            node_ids=None if node_ids is None else tuple(map(str, node_ids)),
            class_names=None if class_names is None else tuple(map(str, class_names)),
        )

    @property
    def n_nodes(self) -> int:
        """Number N of nodes."""
        return self.adjacency.shape[0]

    @property
    def n_edges(self) -> int:
        """Number of distinct directed edges as stored, self-loops included."""
        return self.adjacency.n_entries

    @property
    def n_features(self) -> int:
        """Number F of features."""
        return self.features.shape[1]

    @property
    def is_sparse(self) -> bool:
        """Whether the features are stored sparse."""
        return isinstance(self.features, Matrix)

    @cached_property
    def symmetric(self) -> Pattern:
        """A ∪ Aᵀ without self-loops, each edge in both directions."""
        return self.adjacency.without_diagonal().symmetrized()

    @property
    def degrees(self) -> Tensor:
        """Number of neighbors of each node in the symmetrised graph, (N,)."""
        return self.symmetric.degrees

    @property
    def labeled(self) -> Tensor:
        """Mask of the nodes with a known label, (N,)."""
        return self.labels >= 0

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of edges, features and labels; equal graphs have equal checksums."""
        digest = hashlib.sha256(self.structure_checksum.encode())
        digest.update(_bytes(self.labels))
        return digest.hexdigest()

    @cached_property
    def structure_checksum(self) -> str:
        """SHA-256 of edges and features, whatever the labels."""
        matrix = self.features if isinstance(self.features, Matrix) else None
        values = self.features.values if isinstance(self.features, Matrix) else self.features
        patterns = [self.adjacency] if matrix is None else [self.adjacency, matrix.pattern]
        digest = hashlib.sha256(f"{self.n_nodes} {self.n_features} {len(patterns)}".encode())
        for pattern in patterns:
            digest.update(_bytes(pattern.indptr.long()))
            digest.update(_bytes(pattern.indices.long()))
        digest.update(_bytes(values))
        return digest.hexdigest()

    def with_labels_only(self, nodes: Tensor) -> "Graph":
        """The same graph with the labels of these nodes only, so that no other label can be read.

        What was computed from edges and features is shared, not computed anew.
        """
        labels = torch.full_like(self.labels, -1)
        labels[nodes] = self.labels[nodes]
        shown = self.replace(labels=labels, splits={})
        shared = ("symmetric", "_cache", "structure_checksum")
        _ = self._cache
        shown.__dict__.update({key: self.__dict__[key] for key in shared if key in self.__dict__})
        return shown

    def cached(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Compute something that depends on this graph alone, once, and keep it with the graph."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    @cached_property
    def _cache(self) -> dict[Hashable, Any]:
        return {}

    def split(self, name: str) -> Split:
        """Look up a split by name."""
        if name not in self.splits:
            raise unknown_name(f"split of {self.name}", name, self.splits)
        return self.splits[name]

    def replace(self, **changes: Any) -> "Graph":
        """Copy with some fields changed; what did not change is not validated again."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        if unknown := changes.keys() - fields.keys():
            raise TypeError(f"a graph has no {', '.join(sorted(unknown))}")
        return Graph._from_validated({**fields, **changes}, check=changes)

    @classmethod
    def _from_validated(cls, fields: Mapping[str, Any], *, check: Collection[str] = ()) -> "Graph":
        """A graph from fields of which only those to `check` are validated, large arrays in particular."""
        made = object.__new__(cls)
        made.__setstate__({**fields, "splits": dict(fields["splits"])})
        check_graph(made, changed=check)
        return made

    def to(self, device: torch.device | str) -> "Graph":
        """Copy on another device; splits stay with the labels' numbering."""
        moved = {key: getattr(self, key).to(device) for key in ("adjacency", "features", "labels")}
        return self.replace(**moved)

    def __repr__(self) -> str:
        sizes = f"{self.n_nodes} nodes, {self.n_edges} edges as stored, "
        return f"Graph({sizes}{self.n_features} features, {self.n_classes} classes)"

    @classmethod
    def from_pyg(cls, data: "Data", *, name: str = "graph") -> "Graph":
        """Convert a PyTorch Geometric `Data`; masks of shape (N, S) become S splits."""
        from heterophily.core.interop import from_pyg

        return from_pyg(data, name=name)

    def to_pyg(self) -> "Data":
        """Convert to a PyTorch Geometric `Data`; splits become masks of shape (N, S)."""
        from heterophily.core.interop import to_pyg

        return to_pyg(self)

    @classmethod
    def from_networkx(cls, graph: "nx.Graph[Any]", *, label: str = "label") -> "Graph":
        """Convert a NetworkX graph: attribute `label` is the class, numeric ones are features."""
        from heterophily.core.interop import from_networkx

        return from_networkx(graph, label=label)

    def to_networkx(self) -> "nx.DiGraph[Any]":
        """Convert to a NetworkX graph with node attributes `x` and `label`."""
        from heterophily.core.interop import to_networkx

        return to_networkx(self)

    @classmethod
    def from_scipy(cls, adjacency: Any, features: Any = None, *, labels: Any = None) -> "Graph":
        """Convert a SciPy adjacency matrix, whose nonzero entries are the edges."""
        from heterophily.core.interop import from_scipy

        return from_scipy(adjacency, features, labels=labels)

    def to_scipy(self) -> "sp.csr_array":
        """The adjacency as stored, as a SciPy array of ones."""
        ones = torch.ones(self.n_edges)
        return Matrix(self.adjacency, ones).to_scipy().copy()

    @classmethod
    def from_files(cls, path: Path | str, *, nodes: Path | str | None = None) -> "Graph":
        """Read a folder of tables, a pair of tables, `.npz`, `.graphml` or a saved graph."""
        from heterophily.core.files import read_graph

        return read_graph(path, nodes=nodes)

    def save(self, path: Path | str) -> Path:
        """Write the graph to one safetensors file, atomically."""
        from heterophily.core.files import save_graph

        return save_graph(self, path)

    @classmethod
    def load(cls, path: Path | str, *, mmap: bool = False) -> "Graph":
        """Read a graph that `save` wrote; `mmap` leaves features and edges on disk until they are used."""
        from heterophily.core.files import load_graph

        return load_graph(path, mmap=mmap)


def _as_split(value: Split | Sequence[Any]) -> Split:
    return value if isinstance(value, Split) else Split.from_nodes(*value)


def _bytes(tensor: Tensor) -> memoryview:
    return tensor.detach().cpu().contiguous().numpy().data
