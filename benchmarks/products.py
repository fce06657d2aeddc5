"""Compare the forward and backward time of dense products with `@`.

Run `python benchmarks/products.py [--rows N ...] [--width D ...] [--columns K ...]`. Each ratio is the
median time of `Z @ W` divided by that of `heterophily.core.dense.product`, measured alternately with one
thread.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median

import torch

from heterophily.core.dense import onednn_is_faster, product


def main() -> None:
    """Print one row per size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="*", type=int, default=[890, 7_600, 19_717])
    parser.add_argument("--width", nargs="*", type=int, default=[64, 512])
    parser.add_argument("--columns", nargs="*", type=int, default=[2, 3, 5, 9, 15, 64, 256])
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"single precision uses {'oneDNN' if onednn_is_faster() else 'MKL'}\n")
    print("| rows | width | " + " | ".join(f"{k} columns" for k in args.columns) + " |")
    print("|---" * (len(args.columns) + 2) + "|")
    for n in args.rows:
        for d in args.width:
            cells = [f"{ratio(n, d, k, args.rounds):.1f}" for k in args.columns]
            print(f"| {n:,} | {d} | " + " | ".join(cells) + " |", flush=True)


def ratio(n: int, d: int, k: int, rounds: int) -> float:
    """Return the time of the plain product with its gradients divided by ours."""
    state, weight = torch.randn(n, d, requires_grad=True), torch.randn(d, k, requires_grad=True)
    flow = torch.randn(n, k)
    products: tuple[Callable[[], torch.Tensor], ...] = (lambda: state @ weight, lambda: product(state, weight))
    times: list[list[float]] = [[], []]
    for _ in range(rounds + 2):
        for seconds, compute in zip(times, products, strict=True):
            start = time.perf_counter()
            torch.autograd.grad(compute(), (state, weight), flow)
            seconds.append(time.perf_counter() - start)
    plain, ours = (median(seconds[2:]) for seconds in times)
    return plain / ours


if __name__ == "__main__":
    main()
