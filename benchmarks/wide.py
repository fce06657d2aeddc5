"""Compare the time of sparse products with wide matrices in slices or dense blocks with one piece.

Run `python benchmarks/wide.py [--width D ...]`. Each ratio is the median time of the kernel in one piece
divided by that of `heterophily.core.kernels`, measured alternately with one thread. The patterns are
random and have the sizes of Xᵀ, which occurs in the gradient of the first layer's weights, and of the
neighbors within two hops.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
import torch

from heterophily.core import kernels
from heterophily.core.sparse import Pattern

SIZES = {  # rows, columns, entries
    "Xᵀ of photo": (745, 7_650, 1_979_909),
    "Xᵀ of pubmed": (500, 19_717, 988_031),
    "two hops of blogcatalog": (5_196, 5_196, 12_877_844),
    "two hops of flickr": (7_575, 7_575, 33_185_513),
}


def main() -> None:
    """Print one row per pattern and kernel."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", nargs="*", type=int, default=[64, 128, 256, 512])
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    print("| matrix | product | " + " | ".join(f"width {d}" for d in args.width) + " |")
    print("|---" * (len(args.width) + 2) + "|")
    for name, (n, m, entries) in SIZES.items():
        rng = np.random.default_rng(0)
        random = sp.csr_array(sp.random_array((n, m), density=entries / n / m, rng=rng))
        pattern = Pattern.from_arrays(random.indptr, random.indices, n_columns=m)
        values = torch.rand(pattern.n_entries)
        for kernel in ("B Z", "U_i · Z_j") if n == m else ("B Z",):
            cells = [f"{ratio(kernel, pattern, values, d, args.rounds):.1f}" for d in args.width]
            print(f"| {name} | {kernel} | " + " | ".join(cells) + " |", flush=True)


def ratio(kernel: str, pattern: Pattern, values: torch.Tensor, d: int, rounds: int) -> float:
    """Return the time in one piece divided by ours."""
    left, right = torch.randn(pattern.shape[0], d), torch.randn(pattern.n_columns, d)

    def ours() -> torch.Tensor:
        if kernel == "B Z":
            return kernels.product(pattern, values, right)
        return kernels.dots(pattern, left, right)

    def plain() -> torch.Tensor:
        with patch.multiple(kernels, MAX_CACHED_NUMBERS=float("inf"), DENSE_FRACTION=2.0):
            return ours()

    times: tuple[list[float], list[float]] = ([], [])
    kinds: tuple[Callable[[], torch.Tensor], ...] = (plain, ours)
    for _ in range(rounds + 1):
        for seconds, compute in zip(times, kinds, strict=True):
            start = time.perf_counter()
            compute()
            seconds.append(time.perf_counter() - start)
    slow, fast = (median(seconds[1:]) for seconds in times)
    return slow / fast


if __name__ == "__main__":
    main()
