"""Every kernel equals its dense definition, in values and in gradients."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.autograd import gradcheck

from heterophily.core import kernels
from heterophily.core.sparse import Matrix, Pattern, edge_softmax, edge_sum, sddmm, segment_sum, spmm

N, M, D, H = 13, 9, 5, 3


def random_pattern(density=0.3, shape=(N, M), seed=0):
    """A pattern with an empty row and an empty column."""
    dense = np.random.default_rng(seed).random(shape) < density
    dense[2] = False
    dense[:, 4] = False
    return Pattern.from_edges(*dense.nonzero(), shape=shape)


def mask(pattern):
    return (pattern * torch.ones(pattern.n_entries, dtype=torch.double)).to_dense() > 0


@pytest.fixture(params=[0.3, 1.0, 0.0], ids=["sparse", "dense", "empty"])
def pattern(request):
    return random_pattern(request.param)


@pytest.fixture(params=["fast", "sliced", "full", "plain"])
def _path(request, monkeypatch):
    """All implementations of a product: at once, in slices of columns, in blocks of rows, by gathering."""
    ways = {
        "sliced": {"MAX_CACHED_NUMBERS": 0, "MIN_READS_PER_ROW": 0, "SLICE_COLUMNS": 2},
        "full": {"MIN_WIDE_COLUMNS": 1, "DENSE_FRACTION": 0, "MAX_BLOCK_ENTRIES": 2 * M},
        "plain": {"_on_cpu": lambda *_: False},
    }
    for name, value in ways.get(request.param, {}).items():
        monkeypatch.setattr(kernels, name, value)


pytestmark = pytest.mark.usefixtures("_path")


def doubles(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.double, generator=generator, requires_grad=True)


def test_repeated_pairs_count_once_and_rows_are_sorted():
    pattern = Pattern.from_edges([1, 0, 1, 1], [2, 1, 0, 2], shape=(2, 3))
    assert pattern.indptr.tolist() == [0, 1, 3]
    assert pattern.indices.tolist() == [1, 0, 2]
    assert pattern.rows.tolist() == [0, 1, 1]
    assert pattern.degrees.tolist() == [1, 2]


def test_indices_are_int32_where_they_fit():
    assert random_pattern().indices.dtype == random_pattern().indptr.dtype == torch.int32
    assert random_pattern().T.indices.dtype == torch.int32


def test_the_transpose_is_right_and_computed_once(pattern):
    values = doubles(pattern.n_entries)
    assert torch.equal((pattern * values).T.to_dense(), (pattern * values).to_dense().T)
    assert pattern.T is pattern.T


def test_symmetrised_and_without_diagonal():
    pattern = Pattern.from_edges([0, 1, 2, 2], [1, 0, 2, 0], shape=(3, 3))
    loop_free = pattern.without_diagonal()
    assert loop_free.without_diagonal() is loop_free
    symmetric = mask(loop_free.symmetrized())
    assert torch.equal(symmetric, symmetric.T)
    assert symmetric.sum() == 4


def test_spmm_equals_dense(pattern):
    values, dense = doubles(pattern.n_entries), doubles(M, D, seed=2)
    torch.testing.assert_close((pattern * values) @ dense, (pattern * values).to_dense() @ dense)
    torch.testing.assert_close(pattern @ dense, mask(pattern).double() @ dense)


def test_spmm_has_the_gradients_of_its_factor_and_of_its_values(pattern):
    values, dense = doubles(pattern.n_entries), doubles(M, D, seed=2)
    assert gradcheck(lambda v, x: spmm(pattern * v, x), (values, dense))
    assert gradcheck(lambda x: spmm(pattern, x), (dense,))
    assert gradcheck(lambda x: spmm(pattern * values.detach(), x), (dense,))


def test_spmm_with_heads_is_one_product_per_head(pattern):
    values, dense = doubles(pattern.n_entries, H), doubles(M, H, D, seed=2)
    result = (pattern * values) @ dense
    for h in range(H):
        torch.testing.assert_close(result[:, h], (pattern * values[:, h]) @ dense[:, h])
    assert gradcheck(lambda v, x: spmm(pattern * v, x), (values, dense))


def test_sddmm_equals_the_entries_of_the_dense_product(pattern):
    left, right = doubles(N, D), doubles(M, D, seed=2)
    torch.testing.assert_close(sddmm(pattern, left, right), (left @ right.T)[mask(pattern)])
    assert gradcheck(lambda a, b: sddmm(pattern, a, b), (left, right))


def test_sddmm_with_heads(pattern):
    left, right = doubles(N, H, D), doubles(M, H, D, seed=2)
    for h in range(H):
        one = sddmm(pattern, left[:, h], right[:, h])
        torch.testing.assert_close(sddmm(pattern, left, right)[:, h], one)
    assert gradcheck(lambda a, b: sddmm(pattern, a, b), (left, right))


@pytest.mark.parametrize("heads", [(), (H,)])
def test_segment_sum_equals_dense_row_sums(pattern, heads):
    values = doubles(pattern.n_entries, *heads)
    expected = torch.zeros(N, *heads, dtype=torch.double).index_add(0, pattern.rows, values)
    torch.testing.assert_close(segment_sum(pattern, values), expected)
    assert gradcheck(lambda v: segment_sum(pattern, v), (values,))


@pytest.mark.parametrize("heads", [(), (H,)])
def test_edge_sum_equals_a_broadcast_sum(pattern, heads):
    left, right = doubles(N, *heads), doubles(M, *heads, seed=2)
    expected = (left[:, None] + right[None, :])[mask(pattern)]
    torch.testing.assert_close(edge_sum(pattern, left, right), expected)
    assert gradcheck(lambda a, b: edge_sum(pattern, a, b), (left, right))


@pytest.mark.parametrize("scale", [1.0, 500.0], ids=["small scores", "scores that overflow exp"])
@pytest.mark.parametrize("shift", [0.0, -2000.0])
def test_edge_softmax_equals_a_masked_dense_softmax(pattern, scale, shift):
    scores = doubles(pattern.n_entries).detach() * scale + shift
    dense = torch.full((N, M), -torch.inf, dtype=torch.double)
    dense[mask(pattern)] = scores
    expected = dense.softmax(dim=1)[mask(pattern)]
    torch.testing.assert_close(edge_softmax(pattern, scores), expected)


@pytest.mark.parametrize("heads", [(), (H,)])
def test_edge_softmax_has_its_gradient(pattern, heads):
    scores = doubles(pattern.n_entries, *heads)
    assert gradcheck(lambda s: edge_softmax(pattern, s), (scores,))


def test_float32_agrees_with_dense_to_1e_5():
    pattern = random_pattern(0.2, shape=(300, 200))
    values, dense = torch.randn(pattern.n_entries), torch.randn(200, 64)
    left = torch.randn(300, 64)
    product = (pattern * values).to_dense() @ dense
    torch.testing.assert_close((pattern * values) @ dense, product, rtol=1e-5, atol=1e-5)
    dots = (left @ dense.T)[mask(pattern)]
    torch.testing.assert_close(sddmm(pattern, left, dense), dots, rtol=1e-5, atol=1e-5)


def test_dropout_keeps_the_pattern_and_the_mean():
    matrix = random_pattern(1.0, shape=(400, 400)) * torch.ones(399 * 399)
    dropped = matrix.dropout(0.8)
    assert dropped.pattern is matrix.pattern
    kept = dropped.values[dropped.values > 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 5.0), rtol=2**-14, atol=0.0)
    share, error = len(kept) / len(matrix.values), (0.16 / len(matrix.values)) ** 0.5
    assert abs(share - 0.2) < 5 * error
    assert matrix.dropout(0.8, training=False).values is matrix.values


def test_scipy_round_trip_adds_repeats_and_drops_zeros():
    source = sp.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 3))
    matrix = Matrix.from_scipy(source)
    assert matrix.pattern.n_entries == 1
    np.testing.assert_array_equal(matrix.to_scipy().toarray(), source.toarray())


def test_a_factor_of_the_wrong_height_is_an_error_not_a_crash():
    with pytest.raises(ValueError, match="needs a factor with 9 rows"):
        random_pattern() @ torch.ones(N, D)


def test_slices_of_a_factor_give_the_same_bits(monkeypatch):
    pattern, values = random_pattern(0.8, shape=(40, 60)), torch.rand(40 * 60)
    dense = torch.randn(60, 70)
    whole = kernels.product(pattern, values[: pattern.n_entries], dense)
    monkeypatch.setattr(kernels, "MAX_CACHED_NUMBERS", 0)
    monkeypatch.setattr(kernels, "MIN_READS_PER_ROW", 0)
    assert torch.equal(kernels.product(pattern, values[: pattern.n_entries], dense), whole)


@pytest.mark.parametrize("width", [3, kernels.MIN_WIDE_COLUMNS])
def test_a_crowded_pattern_goes_through_full_blocks(width):
    pattern, generator = random_pattern(0.6, shape=(300, 200)), torch.Generator().manual_seed(0)
    left, right = (torch.randn(n, width, generator=generator) for n in (300, 200))
    matrix = pattern * torch.rand(pattern.n_entries, generator=generator)
    assert kernels.is_nearly_dense(pattern, right) == kernels._on_cpu(pattern, right)
    right.requires_grad_()
    product = spmm(matrix, right)
    torch.testing.assert_close(product, matrix.to_dense() @ right, rtol=1e-4, atol=1e-4)
    (grad,) = torch.autograd.grad(product, right, left)
    torch.testing.assert_close(grad, matrix.to_dense().T @ left, rtol=1e-4, atol=1e-4)
    found = sddmm(pattern, left, right)
    torch.testing.assert_close(found, (left @ right.T)[mask(pattern)], rtol=1e-4, atol=1e-4)
