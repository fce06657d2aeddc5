"""From a name to a graph: a dataset of the catalog, the embedded graph, or the user's files."""

from pathlib import Path

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.graph import Graph
from heterophily.data.catalog import CATALOG, Dataset, lookup
from heterophily.data.formats import read_format
from heterophily.data.splits import official_splits, random_splits
from heterophily.data.store import fetch, find
from heterophily.data.synthetic import EMBEDDED, embedded


def load(name: str, *, seed: int | None = None) -> Graph:
    """Load a dataset by name with its ten official splits, or random ones drawn from `seed`.

    Without a seed the official splits are taken where their file is found, else those of seed 0;
    each split's `origin` says which.
    """
    if name == EMBEDDED:
        graph = embedded()
        return graph.replace(splits=random_splits(graph, seed=seed or 0))
    dataset = lookup(name)
    graph = read_format(dataset.format, fetch(dataset)).replace(name=name)
    check_sizes(graph, dataset)
    path = find(dataset, "splits.npz") if seed is None else None
    splits = official_splits(path, graph.n_nodes) if path else random_splits(graph, seed=seed or 0)
    return graph.replace(splits=splits)


def check_sizes(graph: Graph, dataset: Dataset) -> None:
    """Raise an error unless the graph has exactly the sizes that its row declares."""
    found = {
        "nodes": (graph.n_nodes, dataset.n_nodes),
        "stored edges": (graph.n_edges, dataset.n_stored or graph.n_edges),
        "symmetric edges": (graph.symmetric.n_entries, dataset.n_symmetric),
        "features": (graph.n_features, dataset.n_features),
        "classes": (graph.n_classes, dataset.n_classes),
    }
    for what, (came, wanted) in found.items():
        if came != wanted:
            raise HeterophilyError(
                f"{dataset.name} must have {wanted} {what}, the file has {came}; fetch it again "
                f"from {dataset.files[0].url}"
            )


def open_graph(source: str, *, nodes: Path | None = None, mmap: bool = False) -> Graph:
    """Load whatever the user names: a dataset, or the path of a file or folder.

    `mmap` leaves the arrays of a saved graph on disk until they are used.
    """
    if source in CATALOG or source == EMBEDDED:
        return load(source)
    if mmap and Path(source).suffix == ".safetensors":
        return Graph.load(source, mmap=True)
    if Path(source).exists() or Path(source).suffix or "/" in source:
        return Graph.from_files(source, nodes=nodes)
    raise unknown_name("dataset or file", source, (*CATALOG, EMBEDDED))
