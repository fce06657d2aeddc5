"""Lower bound for the time of an epoch: only its matrix products and sparse products.

One epoch runs under a dispatch mode that records all products of the forward pass, the backward pass,
and the evaluation with their arguments: dense products, products with a sparse matrix, and products
sampled on a pattern. Dropout, activations, softmax, normalization, row sums, the optimizer, and Python
are not included. Running only the recorded calls again takes the minimum time of any implementation with
the same products.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
BAGS = (aten._embedding_bag, aten._embedding_bag_forward_only)
DENSE = (aten.mm, aten.addmm, aten.bmm, aten.baddbmm)
# `heterophily.core.dense` calls this on some processors. Not every build of PyTorch contains it.
ONEDNN = getattr(torch.ops.mkldnn, "_linear_pointwise", aten.mm)
PRODUCTS = (*DENSE, ONEDNN, aten.sparse_sampled_addmm, *BAGS)


class Products(TorchDispatchMode):
    """Records every product that is computed while it is active."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the call if it is a product, then run it."""
        kwargs = kwargs or {}
        if func.overloadpacket in PRODUCTS and not is_row_sum(func, args):
            self.calls.append((func, args, kwargs))
        return func(*args, **kwargs)

    def run(self) -> None:
        """Run all recorded products again."""
        with torch.no_grad():
            for func, args, kwargs in self.calls:
                func(*args, **kwargs)


def is_row_sum(func: Any, args: Any) -> bool:
    """Check whether an embedding bag only sums its entries in order, without a product."""
    return func.overloadpacket in BAGS and len(args[0]) == len(args[1])


def products_of(epoch: Callable[[], None]) -> Products:
    """Record the products of one epoch."""
    with Products() as products:
        epoch()
    return products
