"""Networks inside of `torch.compile`. Only compiled programs import this module, because it imports the compiler."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from heterophily.htmp.module import GraphModule


def _evaluate(module: "GraphModule", *args: object) -> Tensor:
    """Return the output of a module without compiling it."""
    return module.evaluate(*args)  # type: ignore[arg-type]


# The sparse kernels are compiled already, and have gradients of their own.
run_eagerly: Callable[..., Tensor] = torch.compiler.disable(_evaluate)
