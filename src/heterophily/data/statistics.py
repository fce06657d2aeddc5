"""The paper's table of datasets, measured on the files."""

from dataclasses import dataclass, replace

from heterophily.core.graph import PARTS
from heterophily.core.homophily import measure_homophily
from heterophily.data.catalog import Dataset
from heterophily.data.loading import load
from heterophily.data.store import is_present


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
