"""Training one model in several processes, on one or more machines, as started by `torchrun`.

Every process has all weights and the same seeds. It processes its share of each batch, and of each block of
an evaluation. Gradients and outputs are summed over the processes, with Gloo on the CPU and NCCL on GPUs.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, distributed, nn


@contextmanager
def process_group() -> Iterator[None]:
    """Connect this process with the others that `torchrun` started, if there are any."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2 or distributed.is_initialized():
        yield
        return
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    distributed.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo")
    try:
        yield
    finally:
        distributed.destroy_process_group()


def world_size() -> int:
    """Return the number of processes."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    """Return the number of this process. Process 0 writes files and prints."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def is_distributed() -> bool:
    """Return whether there is more than one process."""
    return world_size() > 1


def local_share(nodes: Tensor) -> Tensor:
    """Return the nodes of a batch that this process handles."""
    return nodes.tensor_split(world_size())[rank()]


def all_reduce_sum(tensors: Iterable[Tensor]) -> None:
    """Replace each tensor with its sum over all processes."""
    if is_distributed():
        for tensor in tensors:
            distributed.all_reduce(tensor)


def all_reduce_gradients(network: nn.Module) -> None:
    """Replace the gradients with their sums over all processes; a missing gradient adds nothing."""
    if not is_distributed():
        return
    parameters = list(network.parameters())
    # One message: which gradients this process has, followed by the gradients, with zeros for missing ones.
    has = torch.tensor([float(p.grad is not None) for p in parameters], device=parameters[0].device)
    flat = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    message = torch.cat([has.to(flat[0].dtype), *(gradient.flatten() for gradient in flat)])
    distributed.all_reduce(message)
    sums = message.split([len(has), *(p.numel() for p in parameters)])
    for parameter, count, total in zip(parameters, sums[0], sums[1:], strict=True):
        parameter.grad = total.view_as(parameter) if count else None
