"""A rough number of operations per epoch: cheap jobs run first, and the remaining time is estimated from it.

It counts X W_r, (A_r ⊙ B_r) U_r, and Z W_r over all layers and channels. Over the committed runs, its rank
correlation with the milliseconds per epoch is 0.8.
"""

from heterophily.core.graph import Graph
from heterophily.core.sparse import Matrix
from heterophily.htmp.channel import Channel
from heterophily.htmp.method import Method
from heterophily.htmp.neighborhoods import Ego, Hop
from heterophily.htmp.transform import Linear
from heterophily.models.hog_gcn import PathCounts
from heterophily.models.ugcn import CommonNeighbors

LEARNED = 3  # times that a message costs more if its weights have gradients
DENSE = 3  # times that a full product is faster than a sparse one
PASSES = 20  # over the states of a layer: dropout, activations, gates, their gradients


def cost_of(method: Method, graph: Graph) -> float:
    """Operations of an epoch, in units of a sparse product."""
    architecture, x, n = method.architecture(), graph.features, graph.n_nodes
    stored = x.pattern.n_entries if isinstance(x, Matrix) else x.numel()
    transform, n_channels = architecture.transform, len(architecture.channels)
    linear = isinstance(transform, Linear)
    heads = transform.heads.n if isinstance(transform, Linear) and transform.heads else 1
    sent = sum(_entries(channel, graph) for channel in architecture.channels)
    layer = sent + n_channels * n * (method.width / DENSE + PASSES)
    inputs = stored * (n_channels if linear else 1)
    return float(heads * method.width * (inputs + method.n_layers * layer))


def _entries(channel: Channel, graph: Graph) -> float:
    """Entries of a neighborhood, bounded by the paths that lead there, times what they cost."""
    hood, guidance, n = channel.neighborhood, channel.guidance, graph.n_nodes
    if isinstance(hood, Ego):
        return 0.0
    entries = float(graph.symmetric.n_entries * max(hood.power, 1))
    if isinstance(hood, CommonNeighbors) or (isinstance(hood, Hop | PathCounts) and hood.k > 1):
        entries = min(float(graph.symmetric.degrees.double().square().sum()), float(n * n))
    return entries * (LEARNED if guidance.depends_on != "graph" else 1)
