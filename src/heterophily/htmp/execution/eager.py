"""Networks inside of `torch.compile`. Only compiled programs import this module, because it imports the compiler."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from heterophily.htmp.module import GraphModule


@torch.compiler.disable(
    reason="the sparse kernels of heterophily are compiled already, and have gradients of their own"
)
def run_eagerly(module: "GraphModule", *args: object) -> Tensor:
    """Return the output of a module without compiling it."""
    return module.evaluate(*args)  # type: ignore[arg-type]
