"""Dynamic time warping of compact degree lists, exact and for many pairs at once (WRGNN).

A list has entries (a, m): degree a, ascending, occurs m times. D_ij is the least cost of matching
the first i entries of one list with the first j of another:

D_ij = cost(i, j) + min(D_(i-1)j, D_i(j-1), D_(i-1)(j-1))
cost of (a, m) and (b, n) = ((max(a, b) + ½) / (min(a, b) + ½) - 1) · max(m, n)

The cells with i + j = s do not need each other, so one step fills them for a batch of pairs. Only
a band of offsets i - j is filled at first: a matching that leaves the band costs at least D at the
cell where it leaves, so if no edge of the band is below the result, the result is exact; else the
band is widened. Lists are rows of a sparse matrix: column = class of degree, value = m.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from heterophily.core.progress import track

BAND = 24  # offsets on each side at first
WIDER = 4
BATCH = 2**15  # cells that one step fills


def warping_distances(lists: Any, degrees: Any, pairs: Any) -> Any:
    """DTW of the lists of each pair of rows, (P, 2) to (P,); no list may be empty."""
    lengths = np.diff(lists.indptr)[pairs]
    longer_first = np.argsort(-lengths, axis=1, kind="stable")
    pairs, lengths = (np.take_along_axis(x, longer_first, axis=1) for x in (pairs, lengths))
    found, bound = np.zeros(len(pairs)), np.full(len(pairs), -1.0)
    band, left = BAND, np.arange(len(pairs))
    while len(left):
        batches = [left[part] for part in _batches(lengths[left], band)]
        for batch in track(batches, "similar structure"):
            long, short = (_gathered(lists, degrees, rows) for rows in pairs[batch].T)
            found[batch], bound[batch] = _warp(long, short, lengths[batch], band)
        band, left = WIDER * band, left[bound[left] < found[left]]
    return found


def _batches(lengths: Any, band: int) -> Iterator[Any]:
    """Pairs of similar lengths, as many as one step can fill."""
    order = np.lexsort((lengths[:, 0] - lengths[:, 1], lengths[:, 0] // 8))
    start = 0
    while start < len(order):
        width = min(lengths[order[start], 0], band)
        yield order[start : start + max(BATCH // width, 1)]
        start += max(BATCH // width, 1)


def _gathered(lists: Any, degrees: Any, rows: Any) -> Any:
    """Entries as a + ½, its inverse and m, (3, L, P); short lists repeat their end, never read."""
    lengths = np.diff(lists.indptr)[rows]
    at = lists.indptr[rows] + np.minimum(np.arange(lengths.max())[:, None], lengths - 1)
    degree = degrees[lists.indices[at]] + 0.5
    return np.stack([degree, 1 / degree, lists.data[at]]).astype(np.float32)


def _warp(long: Any, short: Any, lengths: Any, band: int) -> tuple[Any, Any]:
    """D at the last entries of both lists, and the least D at the edges of the band, (P,) each."""
    n, m, turned = long.shape[1], short.shape[1], short[:, ::-1]
    before, last, cost, spare = np.full((4, n + 2, len(lengths)), np.inf, dtype=np.float32)
    before[0] = 0  # row i + 1 is entry i; row 0 stands before the first, where matching starts
    ends, excess = lengths.sum(axis=1) - 2, int((lengths[:, 0] - lengths[:, 1]).max())
    found, bound = np.empty(len(lengths)), np.full(len(lengths), np.inf)
    for s in range(ends.max() + 1):
        first, stop = max(0, s - m + 1), min(n, s + 1)  # entries of the long list with i + j = s
        low, high = max(first, (s - band + 1) // 2), min(stop, (s + band + excess) // 2 + 1)
        work = cost[low:high], spare[low:high]
        _cost(long[:, low:high], turned[:, m - 1 - s + low : m - 1 - s + high], *work)
        np.minimum(before[low:high], last[low:high], out=work[1])
        np.minimum(work[1], last[low + 1 : high + 1], out=work[1])
        before, last = last, before
        np.add(*work, out=last[low + 1 : high + 1])
        last[low] = last[high + 1] = np.inf  # nothing beside the band
        if low > first:
            np.minimum(bound, last[low + 1], out=bound)
        if high < stop:
            np.minimum(bound, last[high], out=bound)
        done = np.flatnonzero(ends == s)
        found[done] = last[lengths[done, 0], done]
    return found, bound


def _cost(left: Any, right: Any, out: Any, spare: Any) -> None:
    (a, inverse_a, m), (b, inverse_b, n) = left, right
    np.multiply(a, inverse_b, out=out)
    np.multiply(inverse_a, b, out=spare)
    np.maximum(out, spare, out=out)
    np.subtract(out, 1, out=out)
    np.maximum(m, n, out=spare)
    np.multiply(out, spare, out=out)
