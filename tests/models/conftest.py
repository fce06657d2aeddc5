"""What the exactness tests share: float64, small graphs, dense matrices and a marked dropout.

Each `test_<model>.py` transcribes the equations of one method with dense (N, N) matrices, takes the
network's own parameters, and asks `agree` for equal values and equal gradients of all parameters.
Everything is a fixture, since test folders are no packages.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from heterophily.core.graph import Graph
from heterophily.core.sparse import Matrix

N, F, K = 20, 7, 3


@pytest.fixture(autouse=True)
def _float64():
    """Networks built here have float64 weights and filters."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(before)


def make_graph(*, edges=True, sparse=False, n_nodes=N, n_features=F, seed=0):
    """A small graph with directed edges, a self-loop, an isolated node 0 and a node without features.

    Features are positive and of about half density, in float64; `sparse` stores them sparse.
    """
    rng = np.random.default_rng(seed)
    adjacency = rng.random((n_nodes, n_nodes)) < (0.12 if edges else 0)
    adjacency[0] = adjacency[:, 0] = False
    adjacency[1, 1] = edges
    x = rng.random((n_nodes, n_features)) * (rng.random((n_nodes, n_features)) < 0.6)
    x[2] = 0
    labels = rng.permutation(np.arange(n_nodes) % K)
    order = rng.permutation(n_nodes)
    third = n_nodes // 3
    split = (order[:-third], order[-third:-2], order[-2:])
    graph = Graph.from_edges(
        np.argwhere(adjacency), sp.csr_array(x) if sparse else x, labels=labels, splits={"0": split}
    )
    if sparse:
        stored = graph.features.pattern
        rows, columns = stored.rows.numpy(), stored.indices.numpy()
        exact = Matrix(stored, torch.tensor(x[rows, columns]))
    return graph.replace(features=exact if sparse else torch.tensor(x))


@pytest.fixture
def small_graph():
    """The maker of small graphs: `small_graph(edges=True, sparse=False, n_nodes=20, seed=0)`."""
    return make_graph


@pytest.fixture(params=["random", "edgeless"])
def graph(request):
    """A random graph with an isolated node, and a graph without edges; 7 features, 3 classes."""
    return make_graph(edges=request.param == "random")


@pytest.fixture
def train(graph):
    """The training nodes of `graph`."""
    return graph.split("0").train


def adjacency(graph):
    """A as a dense matrix: symmetric, 0/1, no self-loops."""
    a = torch.zeros(graph.n_nodes, graph.n_nodes)
    a[graph.adjacency.rows.long(), graph.adjacency.indices.long()] = 1
    return ((a + a.T) > 0).to(a.dtype).fill_diagonal_(0)


def symmetric(m):
    """S(M) = D^(-1/2) M D^(-1/2) with 0^(-1/2) := 0."""
    degrees = m.sum(dim=1)
    root = torch.where(degrees > 0, degrees.clamp_min(1e-300).rsqrt(), 0.0)
    return root[:, None] * m * root[None, :]


def row(m):
    """R(M) = D^(-1) M; empty rows stay zero."""
    degrees = m.sum(dim=1, keepdim=True)
    return torch.where(degrees > 0, m / degrees.clamp_min(1e-300), 0.0)


def norm1(x):
    """Each row divided by its L1 length, floored at 1e-12."""
    return x / x.abs().sum(dim=1, keepdim=True).clamp_min(1e-12)


def features(graph):
    """X as a dense matrix."""
    return graph.features.to_dense() if graph.is_sparse else graph.features


def mark(x, rate):
    """What stands in for drop_rate(x): no two entries are scaled alike, so that its place shows.

    The factor of entry e, counted row by row, is 1 + rate cos(e).
    """
    return x * (1 + rate * torch.arange(x.numel(), dtype=x.dtype).cos().view(x.shape))


def mark_entries(m, pattern, rate):
    """What stands in for drop_rate(M) on the entries of a 0/1 matrix, counted row by row.

    `m` is (N, N), or (N, N, H) with H heads; `pattern` (N, N) says which entries are stored.
    """
    at = pattern.nonzero(as_tuple=True)
    return torch.zeros_like(m).index_put(at, mark(m[at], rate))


def edge_softmax(scores, pattern):
    """Softmax over the entries of each row of a 0/1 matrix; `scores` (N, N) or (N, N, H)."""
    mask = pattern.bool() if scores.dim() == 2 else pattern.bool()[..., None]
    raised = torch.where(mask, scores.exp(), 0.0)
    total = raised.sum(dim=1, keepdim=True)
    return torch.where(total > 0, raised / total.clamp_min(1e-300), 0.0)


@pytest.fixture
def dense():
    """Dense counterparts: `dense.adjacency(graph)`, `dense.symmetric(m)`, `dense.row(m)`, ..

    Also `norm1`, `features(graph)`, `edge_softmax(scores, pattern)`, `drop(x, rate)`,
    `drop_entries(m, pattern, rate)`, `ce_of_probabilities(logits, y)`, and `filters(graph)` with A,
    A1 = A + I, I, S1, R1, S, R and X.
    """
    functions = (adjacency, symmetric, row, norm1, features, edge_softmax, ce_of_probabilities)
    found = SimpleNamespace(**{function.__name__: function for function in functions})
    found.drop, found.drop_entries = mark, mark_entries
    found.filters = filters
    return found


def filters(graph):
    """A, A1 = A° = A + I, I, S1 = S°, R1 = R°, S = S(A), R = R(A) and X, all dense."""
    a, i = adjacency(graph), torch.eye(graph.n_nodes)
    return SimpleNamespace(
        A=a, A1=a + i, I=i, S1=symmetric(a + i), R1=row(a + i), S=symmetric(a), R=row(a),
        X=features(graph),
    )  # fmt: skip


@pytest.fixture
def marked_dropout(monkeypatch):
    """Replace dropout by `mark`, a scaling that differs from entry to entry; gives the rates used.

    A transcription writes `dense.drop(x, p)` where the card says drop_p(x), and
    `dense.drop_entries(m, pattern, p)` where it drops stored entries of a sparse matrix.
    """
    rates = []

    def dropout(x, p):
        if not p:
            return x
        rates.append(p)
        return mark(x, p)

    for module in ("core.sparse", "htmp.parts", "htmp.guidance"):
        monkeypatch.setattr(f"heterophily.{module}.dropout", dropout)
    return rates


@pytest.fixture
def agree():
    """Compare two computations in values and in the gradients of all parameters of a network."""
    return check_agreement


def check_agreement(network, graph, expected, *, actual=None, tolerance=1e-9):
    """`expected()` equals `network(graph)`, or `actual()`, with equal gradients everywhere.

    The gradients are those of Σ G ⊙ output for one random G; a parameter without a gradient has a
    zero one. All weights are shaken first, so that zero and one are no special values.
    """
    shake(network)
    ours = network(graph) if actual is None else actual()
    theirs = expected()
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)
    direction = torch.randn_like(ours)
    named = dict(network.named_parameters())
    gradients = [_gradients(output, direction, named) for output in (ours, theirs)]
    for name in named:
        torch.testing.assert_close(
            gradients[0][name], gradients[1][name], rtol=tolerance, atol=tolerance,
            msg=lambda text, name=name: f"gradient of {name}: {text}",
        )  # fmt: skip


def shake(network, scale=0.1):
    """Add noise to every parameter that is one number for all, such as zero biases and norms."""
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.numel() and bool((parameter == parameter.flatten()[0]).all()):
                parameter.add_(scale * torch.randn_like(parameter))


def _gradients(output, direction, named):
    found = torch.autograd.grad((output * direction).sum(), list(named.values()), allow_unused=True, retain_graph=True)
    return {
        name: torch.zeros_like(parameter) if gradient is None else gradient
        for (name, parameter), gradient in zip(named.items(), found, strict=True)
    }


def ce_of_probabilities(logits, targets):
    """Mean of -p_c + log Σ_k exp(p_k): what a cross-entropy makes of probabilities."""
    p = logits.softmax(dim=1)
    return (p.exp().sum(dim=1).log() - p[torch.arange(len(targets)), targets]).mean()


def uniform_within(weight, bound):
    """All entries of a wide weight lie within ±bound, reach near it, and spread as uniform ones."""
    w = weight.detach()
    assert w.abs().max() <= bound
    assert w.abs().max() > bound * (1 - 10 / w.numel())
    _check_spread(w, bound / 3**0.5)


def normal_with(weight, deviation):
    """A wide weight has this standard deviation, mean 0, and the tails of a normal law."""
    w = weight.detach()
    _check_spread(w, deviation)
    beyond = (w.abs() > 2 * deviation).to(w.dtype).mean()
    assert abs(beyond - 0.0455) < 5 * (0.0455 / w.numel()) ** 0.5


def _check_spread(w, deviation):
    root = w.numel() ** 0.5
    assert abs(w.mean()) < 5 * deviation / root
    assert abs(w.square().mean().sqrt() / deviation - 1) < 5 / root


@pytest.fixture
def law():
    """Statistical checks of initial weights: `law.uniform(w, bound)`, `law.normal(w, deviation)`."""
    return SimpleNamespace(uniform=uniform_within, normal=normal_with)
