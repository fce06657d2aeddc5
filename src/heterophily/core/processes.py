"""Several processes that train one model, on one machine or many, as `torchrun` starts them.

Every process has all weights and the same seeds. It takes its part of each batch, and of each block of an
evaluation; sums of gradients and states make them agree. Gloo carries tensors of the CPU, NCCL those of GPUs.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, distributed, nn


@contextmanager
def joined() -> Iterator[None]:
    """Within it, this process works together with the others that were started with it, if there are any."""
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


def count() -> int:
    """How many processes there are."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def number() -> int:
    """The number of this process; 0 writes and prints."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def part_of(nodes: Tensor) -> Tensor:
    """The part of a batch that falls to this process."""
    return nodes.tensor_split(count())[number()]


def add_up(tensors: Iterable[Tensor]) -> None:
    """Replace each tensor by its sum over all processes."""
    if count() > 1:
        for tensor in tensors:
            distributed.all_reduce(tensor)


def add_gradients(network: nn.Module) -> None:
    """Replace the gradients by their sums over all processes; who has none adds nothing."""
    if count() < 2:
        return
    parameters = list(network.parameters())
    # One message: what each process has, and then the gradients, zeros for those it has not.
    has = torch.tensor([float(p.grad is not None) for p in parameters], device=parameters[0].device)
    flat = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    message = torch.cat([has.to(flat[0].dtype), *(gradient.flatten() for gradient in flat)])
    distributed.all_reduce(message)
    sums = message.split([len(has), *(p.numel() for p in parameters)])
    for parameter, some, total in zip(parameters, sums[0], sums[1:], strict=True):
        parameter.grad = total.view_as(parameter) if some else None
