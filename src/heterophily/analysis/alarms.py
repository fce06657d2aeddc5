"""Properties of a graph that leave a diagnosis without the information it requires."""

from heterophily.analysis.verdict import MIN_LABELED
from heterophily.core.graph import Graph

MANY_ISOLATED = 0.5  # fraction of the nodes


def diagnosis_alarms(graph: Graph) -> tuple[str, ...]:
    """Return one sentence for each problem; empty for most graphs."""
    adjacency, labeled = graph.symmetric, graph.labeled
    isolated, n_labeled = float((graph.degrees == 0).double().mean()), int(labeled.sum())
    connects = bool((labeled[adjacency.rows.long()] & labeled[adjacency.indices.long()]).any())
    found = {
        f"Only {n_labeled} nodes are labeled; label at least {MIN_LABELED}": n_labeled < MIN_LABELED,
        "The graph has no edges, so every method with edges equals one without": not adjacency.n_entries,
        "No edge connects two labeled nodes, so homophily and the compatibility matrix are unknown": (
            bool(adjacency.n_entries) and not connects
        ),
        f"{isolated:.0%} of the nodes have no neighbors, so edges cannot help to classify them": (
            bool(adjacency.n_entries) and isolated > MANY_ISOLATED
        ),
        "The nodes have no features, so edges are compared with chance": not graph.n_features,
    }
    return tuple(f"{sentence}." for sentence, holds in found.items() if holds)
