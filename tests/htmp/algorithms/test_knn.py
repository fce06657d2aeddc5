"""Nearest features equal a comparison of all pairs, node by node."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from heterophily.core.errors import HeterophilyError
from heterophily.core.progress import track
from heterophily.core.sparse import Matrix
from heterophily.htmp.algorithms import approximate, knn
from heterophily.htmp.algorithms.knn import most_and_least_similar, nearest_features


@pytest.fixture(params=["counts", "real", "few"])
def x(request):
    """Features with equal rows, rows of zeros and many ties, with negative values, or sparse."""
    rng = np.random.default_rng(0)
    if request.param == "real":
        values = rng.normal(size=(30, 4))
    else:
        values = rng.poisson(0.5 if request.param == "counts" else 0.03, size=(30, 12)).astype(float)
    values[[5, 6, 20]] = values[3]
    values[[0, 11]] = 0
    return values.astype(np.float32)


@pytest.fixture(params=["dense", "sparse"])
def features(request, x):
    return torch.from_numpy(x) if request.param == "dense" else Matrix.from_scipy(sp.csr_array(x))


@pytest.fixture(params=[100, 2**22])
def _blocks(request, monkeypatch):
    monkeypatch.setattr(knn, "MAX_BLOCK_ENTRIES", request.param)


def cosines(x, *, binary):
    x = (x != 0).astype(float) if binary else x.astype(float)
    lengths = np.linalg.norm(x, axis=1)
    unit = x / np.where(lengths > 0, lengths, 1)[:, None]
    return unit @ unit.T


def ranked(cosine, i, sign=-1):
    others = [j for j in range(len(cosine)) if j != i]
    return sorted(others, key=lambda j: (sign * round(cosine[i, j], 10), j))


def naive(x, k, *, binary=False, symmetric=False, pairs="all"):
    cosine = cosines(x, binary=binary)
    found = np.zeros_like(cosine)
    for i in range(len(x)):
        for j in ranked(cosine, i)[:k]:
            if cosine[i, j] > 1e-9 and (pairs == "all" or i < j):
                found[i, j] = cosine[i, j]
    return np.maximum(found, found.T) if symmetric else found


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("options", [{}, {"symmetric": True}, {"symmetric": True, "pairs": "ascending"}])
def test_the_nearest_are_the_nearest(x, features, binary, options):
    for k in (1, 3, 7, 100):
        found = nearest_features(features, k, binary=binary, **options)
        expected = naive(x, k, binary=binary, **options)
        np.testing.assert_allclose(found.to_dense(), expected, atol=1e-6)
        assert found.values.dtype == torch.float32
        assert (found.values > 0).all()
        assert not (found.pattern.rows == found.pattern.indices).any()


@pytest.mark.usefixtures("_blocks")
def test_pairs_of_most_and_least_similar_nodes(x, features):
    pairs, targets = most_and_least_similar(features, count=3)
    cosine = cosines(x, binary=True)
    expected = {
        (min(i, j), max(i, j)) for i in range(len(x)) for j in [*ranked(cosine, i)[:3], *ranked(cosine, i, sign=1)[:3]]
    }
    assert {tuple(pair) for pair in pairs.tolist()} == expected
    assert len(pairs) == len(expected)
    np.testing.assert_allclose(targets, cosine[tuple(pairs.T.numpy())], atol=1e-6)


def test_features_stay_as_they_are(features):
    values = features.values if isinstance(features, Matrix) else features
    before = values.clone()
    nearest_features(features, 2, binary=True)
    most_and_least_similar(features)
    assert values.equal(before)


def test_small_and_empty_features():
    assert nearest_features(torch.ones(1, 3), 5).pattern.n_entries == 0
    assert nearest_features(torch.zeros(4, 0), 2).pattern.n_entries == 0
    assert most_and_least_similar(torch.ones(1, 3))[0].shape == (0, 2)
    pairs, targets = most_and_least_similar(torch.zeros(3, 2))
    assert pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert targets.tolist() == [0, 0, 0]


def test_in_a_large_graph_some_nodes_choose_pairs(features, monkeypatch):
    monkeypatch.setattr(knn, "MIN_APPROXIMATE_NODES", 10)
    monkeypatch.setattr(knn, "N_ANCHORS", 4)
    pairs, _ = most_and_least_similar(features, count=2, seed=1)
    assert 0 < len(pairs) <= 16
    assert pairs.equal(most_and_least_similar(features, count=2, seed=1)[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("width", [512, 3])
def test_the_approximation_is_exact_if_it_sees_everything(x, features, width, monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(approximate, "MAX_WIDTH", width)
    monkeypatch.setattr(approximate, "CANDIDATES_PER_NEIGHBOR", 100)
    found = nearest_features(features, 3, exact=False)
    exact = nearest_features(features, 3)
    sums = [m.to_dense().sum(dim=1) for m in (found, exact)]  # faiss decides which of equal rows is first
    torch.testing.assert_close(*sums)


def test_without_faiss_a_large_graph_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.setattr(knn, "MIN_APPROXIMATE_NODES", 3)
    with pytest.raises(HeterophilyError, match=r"of 4 nodes .* requires faiss, .*; pip install 'heterophily\[knn\]'"):
        nearest_features(torch.ones(4, 2), 1)
    assert nearest_features(torch.ones(4, 2), 1, exact=True).pattern.indices.tolist() == [1, 0, 0, 0]


def test_what_cannot_be_is_refused():
    with pytest.raises(HeterophilyError, match="k must be a positive integer, got -1"):
        nearest_features(torch.ones(4, 2), -1)
    with pytest.raises(HeterophilyError, match='unknown choice of pairs "al"'):
        nearest_features(torch.ones(4, 2), 1, pairs="al")


def test_progress_shows_at_a_terminal_only(monkeypatch, capsys):
    assert list(track(range(3), "counting")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(track(range(3), "counting", total=3)) == [0, 1, 2]
    out, err = capsys.readouterr()
    assert not out
    assert "counting" in err


@pytest.mark.real
def test_a_real_graph_equals_a_dense_comparison(real_graph):
    features = real_graph("chameleon-f").features
    found = nearest_features(features, 20, binary=True)
    expected = naive(features.to_dense().numpy(), 20, binary=True)
    np.testing.assert_allclose(found.to_dense(), expected, atol=1e-6)
