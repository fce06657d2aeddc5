"""Graphs by name: datasets of the catalog, the embedded graph, and the user's files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heterophily.core.arguments import MAX_SEED, TEXT, check_argument, check_integer
from heterophily.core.encoder import FeatureEncoder
from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.frames import Roles
from heterophily.core.graph import PARTS, Graph, Split
from heterophily.core.homophily import measure_homophily
from heterophily.core.structure import N_POSITIONS, with_features
from heterophily.data.catalog import CATALOG, Dataset, lookup
from heterophily.data.formats import read_format
from heterophily.data.splits import official_splits, random_splits
from heterophily.data.store import fetch, find, is_present
from heterophily.data.synthetic import EMBEDDED, embedded


def load(name: str, *, seed: int | None = None) -> Graph:
    """Load a dataset by name.

    Files are read from the folder ``HETEROPHILY_DATA`` or the user's cache, or downloaded to the
    cache. Their checksums and the sizes of the graph are verified.

    Parameters
    ----------
    name
        Name of a dataset in `CATALOG`, or ``"digits"`` for the embedded synthetic graph.
    seed
        Seed of ten random splits. By default, the graph has its ten official splits if they are
        available, and random splits with seed 0 otherwise; see `Split.origin`.

    Returns
    -------
    The graph with ten splits named ``"0"`` to ``"9"``.

    Raises
    ------
    HeterophilyError
        If the name is unknown, or the files are not available or not the published ones.

    Examples
    --------
    >>> from heterophily import load
    >>> graph = load("digits")
    >>> graph.n_nodes, graph.n_classes, len(graph.splits)
    (1797, 10, 10)
    """
    check_argument("name", name, TEXT)
    check_integer("seed", seed, low=0, high=MAX_SEED, optional=True)
    if name == EMBEDDED:
        graph = embedded()
        return graph.replace(splits=random_splits(graph, seed=seed or 0))
    dataset = lookup(name)
    graph = read_format(dataset.format, fetch(dataset)).replace(name=name)
    check_sizes(graph, dataset)
    splits = _official_splits(graph, dataset) if seed is None else {}
    return graph.replace(splits=splits or random_splits(graph, seed=seed or 0))


def _official_splits(graph: Graph, dataset: Dataset) -> Mapping[str, Split]:
    """Return the splits of `splits.npz`, or those of the raw file if the paper did not choose other ones."""
    path = find(dataset, "splits.npz")
    if path:
        return official_splits(path, graph.n_nodes)
    return {} if dataset.in_paper else graph.splits


def check_sizes(graph: Graph, dataset: Dataset) -> None:
    """Raise an error unless the graph has the sizes listed in the catalog."""
    sizes = {
        "nodes": (graph.n_nodes, dataset.n_nodes),
        "stored edges": (graph.n_edges, dataset.n_stored or graph.n_edges),
        "symmetric edges": (graph.symmetric.n_entries, dataset.n_symmetric),
        "features": (graph.n_features, dataset.n_features),
        "classes": (graph.n_classes, dataset.n_classes),
    }
    for what, (actual, expected) in sizes.items():
        if actual != expected:
            raise HeterophilyError(
                f"{dataset.name} must have {expected} {what}, but the file has {actual}; download it "
                f"again from {dataset.files[0].url}"
            )


def open_graph(
    source: str,
    *,
    nodes: Path | None = None,
    roles: Roles | None = None,
    encoder: FeatureEncoder | None = None,
    mmap: bool = False,
    for_training: bool = False,
    positions: int = N_POSITIONS,
) -> Graph:
    """Load a dataset by name, or a graph from a file or folder.

    `roles` and `encoder` apply to tables. With `mmap`, the arrays of a saved graph are memory-mapped. A graph
    `for_training` that is not a dataset has features: structural ones with `positions` if there are no other ones.
    """
    if source in CATALOG or source == EMBEDDED:
        _check_tables_only(source, nodes, roles)
        return load(source)
    if mmap and Path(source).suffix == ".safetensors":
        _check_tables_only(source, nodes, roles)
        graph = Graph.load(source, mmap=True)
    elif Path(source).exists() or Path(source).suffix or "/" in source:
        graph = Graph.from_files(source, nodes=nodes, roles=roles, encoder=encoder)
    else:
        raise unknown_name("dataset or file", source, (*CATALOG, EMBEDDED))
    return with_features(graph, positions=positions) if for_training else graph


def as_graph(source: str | Path | Graph) -> Graph:
    """Return a graph for training: the given one, or that of a dataset or file, with features."""
    if isinstance(source, Graph):
        return with_features(source)
    return open_graph(str(source), for_training=True)


def open_available(names: Sequence[str], roles: Roles | None = None) -> tuple[dict[str, Graph], dict[str, str]]:
    """Return graphs for training by name or path, and the reasons why datasets are not available.

    `roles` apply to all files. A single dataset that is not available is an error.
    """
    files = [name for name in names if name not in CATALOG and name != EMBEDDED]
    graphs, skipped = {}, {}
    for name in names:
        try:
            graphs[name] = open_graph(name, roles=roles if name in files or not files else None, for_training=True)
        except HeterophilyError as error:
            if name not in CATALOG or len(names) == 1:
                raise
            skipped[name] = str(error)
    return graphs, skipped


def _check_tables_only(source: str, nodes: Path | None, roles: Roles | None) -> None:
    """Raise an error if options for tables are given for another graph."""
    if nodes is not None or roles is not None:
        given = "a table of nodes" if nodes is not None else "names of columns"
        raise HeterophilyError(f"{source} has no tables, so it does not accept {given}; omit these options")


@dataclass(frozen=True)
class Statistics:
    """Sizes, degree, and homophily of a dataset, over the edges that the paper counts."""

    name: str
    present: bool  # whether the numbers are measured on the files or taken from the catalog
    n_nodes: int
    n_edges: int
    n_features: int
    n_classes: int
    average_degree: float
    undirected: bool
    edge_homophily: float
    train_val_test: tuple[int, ...] | None
    splits: str | None  # origin of the splits: official or random
    citation: str
    license: str

    def to_dict(self) -> dict[str, object]:
        """Return the row as plain data."""
        # The key stays `licence` until the next version of the format.
        return {"licence" if key == "license" else key: value for key, value in vars(self).items()}


def measure_statistics(dataset: Dataset) -> Statistics:
    """Measure a dataset if its files exist locally, and use the catalog's numbers otherwise."""
    n_edges = dataset.paper_edges or dataset.n_symmetric
    listed = Statistics(
        name=dataset.name,
        present=False,
        n_nodes=dataset.n_nodes,
        n_edges=n_edges,
        n_features=dataset.n_features,
        n_classes=dataset.n_classes,
        average_degree=n_edges / dataset.n_nodes,
        undirected=dataset.undirected,
        edge_homophily=dataset.edge_homophily,
        train_val_test=None,
        splits=None,
        citation=dataset.citation,
        license=dataset.license,
    )
    return _measured(listed, dataset) if is_present(dataset) else listed


def _measured(listed: Statistics, dataset: Dataset) -> Statistics:
    graph = load(dataset.name)  # checks that the sizes are those of the catalog
    adjacency = graph.adjacency if dataset.paper_counts == "stored" else graph.symmetric
    split = graph.split("0")
    return replace(
        listed,
        present=True,
        n_edges=adjacency.n_entries,
        average_degree=adjacency.n_entries / graph.n_nodes,
        edge_homophily=measure_homophily(adjacency, graph.labels, graph.n_classes).edge,
        train_val_test=tuple(len(split.parts[part]) for part in PARTS),
        splits=split.origin,
    )
