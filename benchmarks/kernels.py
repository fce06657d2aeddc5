"""Compare the forward and backward time of sparse products with alternative implementations.

Run `python benchmarks/kernels.py [--nodes N] [--entries M] [--width D] [--threads T]`. Timings vary
between machines and runs, so compare the ratios: each is the median time of an alternative divided by
our median time, measured alternately in the same run.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor
from torch_geometric import EdgeIndex

from heterophily.core.sparse import Pattern

Product = Callable[[], Tensor]


def main() -> None:
    """Print one table for fixed and one for learned values."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=24_492)
    parser.add_argument("--entries", type=int, default=186_100)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    # PyTorch warns for each new CSR tensor that the layout is in beta state.
    warnings.filterwarnings("ignore", message="Sparse")
    ends = torch.randint(args.nodes, (2, args.entries))
    pattern = Pattern.from_edges(*ends, shape=(args.nodes, args.nodes))
    values, dense = torch.rand(pattern.n_entries), torch.randn(args.nodes, args.width)
    print(
        f"{args.nodes:,} nodes, {pattern.n_entries:,} entries, width {args.width}, "
        f"{args.threads} threads, float32, forward and backward\n"
    )
    report("fixed values", competitors(pattern, values, dense, learned=False), args.rounds)
    report("learned values", competitors(pattern, values, dense, learned=True), args.rounds)


def competitors(
    pattern: Pattern, values: Tensor, dense: Tensor, *, learned: bool
) -> dict[str, tuple[Product, tuple[Tensor, ...]]]:
    """Return all implementations of B @ X, and the leaf tensors that receive gradients."""
    n, rows, columns = pattern.shape[0], pattern.rows.long(), pattern.indices.long()
    v = values.clone().requires_grad_(learned)
    x = dense.clone().requires_grad_()
    index = torch.stack([rows, columns])
    edges = EdgeIndex(index, sparse_size=(n, n), sort_order="row").fill_cache_()
    fixed = pattern * v
    coo = torch.sparse_coo_tensor(index, values, (n, n), is_coalesced=True)
    csr = torch.sparse_csr_tensor(pattern.indptr.long(), columns, values, (n, n))

    def ours() -> Tensor:
        return (pattern * v if learned else fixed) @ x

    def pyg() -> Tensor:
        product: Tensor = edges.matmul(x, v)
        return product

    def sparse_coo() -> Tensor:
        matrix = torch.sparse_coo_tensor(index, v, (n, n), is_coalesced=True) if learned else coo
        return torch.sparse.mm(matrix, x)

    def sparse_csr() -> Tensor:
        indptr = pattern.indptr.long()
        return (torch.sparse_csr_tensor(indptr, columns, v, (n, n)) if learned else csr) @ x

    def gather_scatter() -> Tensor:
        return x.new_zeros(n, x.shape[1]).index_add(0, rows, v[:, None] * x[columns])

    runs: dict[str, Product] = {
        "heterophily": ours,
        "PyG EdgeIndex": pyg,
        "torch COO": sparse_coo,
        "torch CSR": sparse_csr,
        "gather, scatter": gather_scatter,
    }
    leaves = (x, v) if learned else (x,)
    return {name: (run, leaves) for name, run in runs.items()}


def report(title: str, ways: dict[str, tuple[Product, tuple[Tensor, ...]]], rounds: int) -> None:
    """Measure all implementations alternately, check that they agree, and print the times."""
    results = {name: step(*way)[1] for name, way in ways.items()}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            times[name].append(step(*way)[0])
    ours = median(times["heterophily"])
    print(f"{title:<18}{'ms':>10}{'ratio':>9}{'difference':>13}")
    for name in ways:
        pairs = zip(results[name], results["heterophily"], strict=True)
        gap = max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)
        time_ms = median(times[name])
        print(f"{name:<18}{1e3 * time_ms:>10.2f}{time_ms / ours:>8.1f}×{gap:>13.1e}")
    print()


def step(run: Product, leaves: tuple[Tensor, ...]) -> tuple[float, list[Tensor]]:
    """Run one forward and backward pass, and return the seconds, the result, and its gradients."""
    for leaf in leaves:
        leaf.grad = None
    start = time.perf_counter()
    result = run()
    result.backward(torch.ones_like(result))
    seconds = time.perf_counter() - start
    return seconds, [result.detach(), *(leaf.grad for leaf in leaves if leaf.grad is not None)]


if __name__ == "__main__":
    main()
