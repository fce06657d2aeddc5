"""Dynamic time warping of compact degree lists, exact and for many pairs at the same time (WRGNN).

A list has entries (a, m): degree a, in ascending order, occurs m times. D_ij is the minimal cost of
matching the first i entries of one list with the first j entries of another:

D_ij = cost(i, j) + min(D_(i-1)j, D_i(j-1), D_(i-1)(j-1))
cost of (a, m) and (b, n) = ((max(a, b) + ½) / (min(a, b) + ½) - 1) · max(m, n)

The cells with i + j = s are independent, so one step fills them for a batch of pairs. At first, only a band
of offsets i - j is filled. A matching that leaves the band costs at least D at the cell where it leaves, so
the result is exact if no D at the edge of the band is smaller. Otherwise, the band is widened. Lists are
rows of a sparse matrix: the column is the class of the degree, and the value is m.
"""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from heterophily.core.progress import track
from heterophily.core.types import FloatArray, IntArray

INITIAL_BAND = 24  # offsets on each side
BAND_GROWTH = 4  # factor by which the band is widened
MAX_BATCH_CELLS = 2**15  # cells that one step fills


def warping_distances(lists: sp.csr_array, degrees: IntArray, pairs: IntArray) -> FloatArray:
    """Return the DTW of the lists of each pair of rows, (P, 2) to (P,). No list may be empty."""
    lengths = np.diff(lists.indptr)[pairs]
    longer_first = np.argsort(-lengths, axis=1, kind="stable")
    pairs, lengths = (np.take_along_axis(x, longer_first, axis=1) for x in (pairs, lengths))
    result, bound = np.zeros(len(pairs)), np.full(len(pairs), -1.0)
    band, pending = INITIAL_BAND, np.arange(len(pairs))
    while len(pending):
        batches = [pending[part] for part in _batches(lengths[pending], band)]
        for batch in track(batches, "similar structure"):
            long, short = (_gathered(lists, degrees, rows) for rows in pairs[batch].T)
            result[batch], bound[batch] = _warp(long, short, lengths[batch], band)
        band, pending = BAND_GROWTH * band, pending[bound[pending] < result[pending]]
    return result


def _batches(lengths: IntArray, band: int) -> Iterator[IntArray]:
    """Yield pairs of similar lengths, as many as one step can fill."""
    order = np.lexsort((lengths[:, 0] - lengths[:, 1], lengths[:, 0] // 8))
    start = 0
    while start < len(order):
        width = min(lengths[order[start], 0], band)
        yield order[start : start + max(MAX_BATCH_CELLS // width, 1)]
        start += max(MAX_BATCH_CELLS // width, 1)


def _gathered(lists: sp.csr_array, degrees: IntArray, rows: IntArray) -> FloatArray:
    """Return a + ½, its inverse, and m, (3, L, P). Short lists are padded with values that are not used."""
    lengths = np.diff(lists.indptr)[rows]
    at = lists.indptr[rows] + np.minimum(np.arange(lengths.max())[:, None], lengths - 1)
    degree = degrees[lists.indices[at]] + 0.5
    return np.stack([degree, 1 / degree, lists.data[at]]).astype(np.float32)


def _warp(long: FloatArray, short: FloatArray, lengths: IntArray, band: int) -> tuple[FloatArray, FloatArray]:
    """Return D at the last entries of both lists, and the minimum of D at the edges of the band, (P,)."""
    n, m, reversed_short = long.shape[1], short.shape[1], short[:, ::-1]
    before, last, cost, spare = np.full((4, n + 2, len(lengths)), np.inf, dtype=np.float32)
    before[0] = 0  # row i + 1 is entry i; row 0 is the start
    ends, excess = lengths.sum(axis=1) - 2, int((lengths[:, 0] - lengths[:, 1]).max())
    result, bound = np.empty(len(lengths)), np.full(len(lengths), np.inf)
    for s in range(ends.max() + 1):
        first, stop = max(0, s - m + 1), min(n, s + 1)  # entries of the long list with i + j = s
        low, high = max(first, (s - band + 1) // 2), min(stop, (s + band + excess) // 2 + 1)
        work = cost[low:high], spare[low:high]
        _cost(long[:, low:high], reversed_short[:, m - 1 - s + low : m - 1 - s + high], *work)
        np.minimum(before[low:high], last[low:high], out=work[1])
        np.minimum(work[1], last[low + 1 : high + 1], out=work[1])
        before, last = last, before
        np.add(*work, out=last[low + 1 : high + 1])
        last[low] = last[high + 1] = np.inf  # outside of the band
        if low > first:
            np.minimum(bound, last[low + 1], out=bound)
        if high < stop:
            np.minimum(bound, last[high], out=bound)
        done = np.flatnonzero(ends == s)
        result[done] = last[lengths[done, 0], done]
    return result, bound


def _cost(left: FloatArray, right: FloatArray, out: FloatArray, spare: FloatArray) -> None:
    (a, inverse_a, m), (b, inverse_b, n) = left, right
    np.multiply(a, inverse_b, out=out)
    np.multiply(inverse_a, b, out=spare)
    np.maximum(out, spare, out=out)
    np.subtract(out, 1, out=out)
    np.maximum(m, n, out=spare)
    np.multiply(out, spare, out=out)
