"""The blend of a node and its neighborhood equals its definition, value and gradients."""

import pytest
import torch

from heterophily.core import fused as blending
from heterophily.core.fused import blend

N, CHUNKS, WIDTH = 11, 3, 12


@pytest.mark.parametrize("rows", [1, 4, 100])
def test_a_blend_equals_its_definition_in_pieces_of_any_size(rows, monkeypatch):
    monkeypatch.setattr(blending, "ROWS", rows)
    generator = torch.Generator().manual_seed(rows)
    gate, ego, mean = (
        torch.rand(N, width, dtype=torch.double, generator=generator, requires_grad=True)
        for width in (CHUNKS, WIDTH, WIDTH)
    )
    wide = gate.repeat_interleave(WIDTH // CHUNKS, dim=1)
    torch.testing.assert_close(blend(gate, ego, mean), wide * ego + (1 - wide) * mean)
    assert torch.autograd.gradcheck(blend, (gate, ego, mean))


def test_a_graph_without_nodes_gives_none():
    empty = torch.empty(0, WIDTH)
    assert blend(torch.empty(0, CHUNKS), empty, empty).shape == (0, WIDTH)
