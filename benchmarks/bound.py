"""A lower bound of an epoch: just its matrix products and sparse products, measured in the same run.

One epoch is watched, and the products in it, of the forward pass, of the gradients and of the evaluation,
are kept with what they multiply: dense ones, those with a sparse matrix and those sampled on a pattern.
Nothing else counts: no dropout, activation, softmax, normalisation, sum over a row, optimiser or Python.
Running only these calls again takes the time below which no implementation with the same products can get.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
BAGS = (aten._embedding_bag, aten._embedding_bag_forward_only)
DENSE = (aten.mm, aten.addmm, aten.bmm, aten.baddbmm)
# What `heterophily.core.dense` calls on some processors; not every build of PyTorch has it.
ONEDNN = getattr(torch.ops.mkldnn, "_linear_pointwise", aten.mm)
PRODUCTS = (*DENSE, ONEDNN, aten.sparse_sampled_addmm, *BAGS)


class Products(TorchDispatchMode):
    """Keeps every product that is computed while it is active."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note a product, and do what was asked."""
        kwargs = kwargs or {}
        if func.overloadpacket in PRODUCTS and not is_row_sum(func, args):
            self.calls.append((func, args, kwargs))
        return func(*args, **kwargs)

    def run(self) -> None:
        """All products once more."""
        with torch.no_grad():
            for func, args, kwargs in self.calls:
                func(*args, **kwargs)


def is_row_sum(func: Any, args: Any) -> bool:
    """Whether a bag adds up entries in their own order, which multiplies nothing."""
    return func.overloadpacket in BAGS and len(args[0]) == len(args[1])


def products_of(epoch: Callable[[], None]) -> Products:
    """The products of one epoch."""
    with Products() as products:
        epoch()
    return products
