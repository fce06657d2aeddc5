"""Homophily degrees of HOG-GCN equal their equation on full matrices."""

import pytest
import torch

from heterophily.core.sparse import Pattern
from heterophily.htmp.algorithms import homophily_degrees as module

N, M = 7, 6
ROWS = [0, 0, 0, 1, 3, 3, 3, 3, 4, 4, 6, 6]  # rows 2 and 5 are empty
COLUMNS = [0, 2, 5, 1, 0, 1, 3, 4, 2, 4, 0, 5]


@pytest.fixture
def parts():
    pattern = Pattern.from_edges(ROWS, COLUMNS, shape=(N, M))
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(3, len(ROWS), dtype=torch.double, generator=generator)
    counts, mask, similarity = drawn[0].abs() + 1, drawn[1], drawn[2].abs()
    mask[ROWS.index(4) : ROWS.index(6)] = 0.0  # a row without length
    return pattern, counts, mask.requires_grad_(), similarity.requires_grad_()


def chain(pattern, counts, mask, similarity):
    """The equation on full matrices; B is zero outside of the entries."""
    at = pattern.rows.long(), pattern.indices.long()
    b, theta, s = (torch.zeros(N, M, dtype=torch.double).index_put(at, values) for values in (counts, mask, similarity))
    topology = b * theta / (b * theta).abs().sum(1, keepdim=True).clamp_min(1e-12)
    relation = b * (0.4 * s + 0.7 * topology)
    sums = relation.detach().sum(1, keepdim=True)
    return torch.where(sums != 0, relation / sums, 0.0)[at], topology[at]


def fused(*parts):
    return module.homophily_degrees(*parts, attribute_weight=0.4, topology_weight=0.7)


@pytest.mark.parametrize("piece", [1, 4, 100])
@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)], ids=["G", "T", "both"])
def test_pieces_give_the_values_and_gradients_of_the_chain(parts, used, piece, monkeypatch):
    monkeypatch.setattr(module, "MAX_BLOCK_ENTRIES", piece)
    weight = torch.linspace(-1, 2, len(ROWS), dtype=torch.double)
    results = []
    for function in (chain, fused):
        pair = function(*parts)
        total = sum((pair[k] * weight).sum() for k in used)
        grads = torch.autograd.grad(total, parts[2:], allow_unused=True, materialize_grads=True)
        results.append((*pair, *grads))
    torch.testing.assert_close(results[1], results[0])


def test_no_entries_are_no_pieces():
    nothing = torch.zeros(0, dtype=torch.double)
    pattern = Pattern.from_edges([], [], shape=(N, M))
    assert [len(part) for part in fused(pattern, nothing, nothing, nothing)] == [0, 0]
