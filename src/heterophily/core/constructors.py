"""The constructors of `Graph` for files and for graphs of other libraries."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from heterophily.core.types import PathLike
from heterophily.core.validation import FeatureInput, LabelInput, SparseInput

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data

    from heterophily.core.columns import Frame
    from heterophily.core.encoder import FeatureEncoder
    from heterophily.core.frames import Roles
    from heterophily.core.graph import Graph


class Constructors:
    """Base class of `Graph` with the constructors that read files and convert other graphs."""

    @classmethod
    def from_pyg(cls, data: "Data", *, name: str = "graph") -> "Graph":
        """Convert a PyTorch Geometric `Data`. Masks of shape (N, S) become S splits."""
        from heterophily.core.interop import from_pyg

        return from_pyg(data, name=name)

    @classmethod
    def from_networkx(
        cls, graph: "nx.Graph[Hashable]", *, label: str = "label", weight: str | None = "weight"
    ) -> "Graph":
        """Convert a NetworkX graph. An undirected edge is stored in both directions.

        Attribute `label` is the class. The vectors in attribute ``x``, or else all numeric attributes, are
        the features. The edge attribute `weight`, which is 1 if it is missing, contains the weights. With None,
        edges have no weights.

        Examples
        --------
        >>> import networkx as nx
        >>> from heterophily import Graph
        >>> Graph.from_networkx(nx.karate_club_graph(), label="club")
        Graph(34 nodes, 156 weighted edges as stored, 0 features, 2 classes)
        """
        from heterophily.core.interop import from_networkx

        return from_networkx(graph, label=label, weight=weight)

    @classmethod
    def from_scipy(cls, adjacency: SparseInput, features: FeatureInput = None, *, labels: LabelInput = None) -> "Graph":
        """Convert a square SciPy sparse matrix. Its nonzero entries become edges with these weights.

        If all entries are 1, the graph has no weights.

        Examples
        --------
        >>> import scipy.sparse as sp
        >>> from heterophily import Graph
        >>> Graph.from_scipy(sp.eye_array(3, k=1), labels=[0, 1, 0])
        Graph(3 nodes, 2 edges as stored, 0 features, 2 classes)
        """
        from heterophily.core.interop import from_scipy

        return from_scipy(adjacency, features, labels=labels)

    @classmethod
    def from_frames(
        cls,
        nodes: "Frame | None",
        edges: "Frame",
        *,
        id: str | None = None,
        label: str | None = None,
        split: str | None = None,
        source: str | None = None,
        target: str | None = None,
        weight: str | None = None,
        ignore: Sequence[str] = (),
        categorical: Sequence[str] = (),
        numeric: Sequence[str] = (),
        label_bins: int | None = None,
        encoder: "FeatureEncoder | None" = None,
        name: str = "graph",
    ) -> "Graph":
        """Create a graph from a table of nodes and a table of edges: pandas, polars, pyarrow, or dicts of columns.

        Every column of the node table without another role is a feature. A `FeatureEncoder` infers its type and
        encodes it: numbers, booleans, categories, dates, and free text, with missing values.

        Parameters
        ----------
        nodes, edges
            Tables with one row per node and per directed edge. Without nodes, the edges define them.
        id, label, split
            Columns of the node table. By default, columns named `id`, `label`, and `split`, or similar names.
        source, target, weight
            Columns of the edge table. By default, columns named `source`, `target`, and `weight`, or similar names.
        ignore, categorical, numeric
            Columns to drop, and columns whose type is not inferred.
        label_bins
            Number of classes of equal size into which a column of numbers is divided.
        encoder
            Encoder of the graph on which a model was fitted, if the graph is for predictions.
        name
            Name of the graph in reports.

        Examples
        --------
        >>> from heterophily import Graph
        >>> nodes = {"name": ["ann", "bob", "eve"], "role": ["user", "user", "bot"], "posts": [3, None, 250]}
        >>> edges = {"source": ["ann", "eve"], "target": ["eve", "bob"]}
        >>> graph = Graph.from_frames(nodes, edges, id="name", label="role")
        >>> graph.feature_names, graph.class_names
        (('posts', 'posts: missing'), ('bot', 'user'))
        """
        from heterophily.core.frames import Roles, graph_from_frames

        roles = Roles(
            id=id,
            label=label,
            split=split,
            source=source,
            target=target,
            weight=weight,
            ignore=ignore,
            categorical=categorical,
            numeric=numeric,
            label_bins=label_bins,
        )
        return graph_from_frames(nodes, edges, roles, encoder=encoder, name=name)

    @classmethod
    def from_files(
        cls,
        path: PathLike,
        *,
        nodes: PathLike | None = None,
        roles: "Roles | None" = None,
        encoder: "FeatureEncoder | None" = None,
    ) -> "Graph":
        r"""Read a graph from files.

        The path is a folder with ``edges.csv`` and ``nodes.csv``, an edge table, to which a table of `nodes`
        may belong, or an ``.npz``, ``.graphml``, or ``.safetensors`` file. Tables can also be ``.tsv`` or
        ``.parquet`` files. `roles` and `encoder` apply to tables, as in `from_frames`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from heterophily import Graph
        >>> path = pathlib.Path(tempfile.mkdtemp(), "edges.csv")
        >>> _ = path.write_text("source,target\na,b\nb,c\n")
        >>> Graph.from_files(path).node_ids
        ('a', 'b', 'c')
        """
        from heterophily.core.files import read_graph

        return read_graph(path, nodes=nodes, roles=roles, encoder=encoder)

    @classmethod
    def load(cls, path: PathLike, *, mmap: bool = False) -> "Graph":
        """Read a graph that `save` wrote.

        With `mmap`, features and edges stay on disk until they are used and are not validated, so the
        graph may be larger than memory.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from heterophily import Graph
        >>> path = pathlib.Path(tempfile.mkdtemp(), "pair.safetensors")
        >>> Graph.load(Graph.from_edges([(0, 1)]).save(path))
        Graph(2 nodes, 1 edges as stored, 0 features, 0 classes)
        """
        from heterophily.core.files import load_graph

        return load_graph(path, mmap=mmap)
