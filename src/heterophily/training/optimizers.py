"""Adam with the parameter groups of an architecture."""

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatch

import torch
from torch.nn import Parameter
from torch.optim import Adam
from typing_extensions import override

from heterophily.htmp.network import Network


class DirectAdam(Adam):
    """Adam that calls its fused kernel directly.

    The steps are those of `Adam(fused=True)`, without its hooks and checks, which take longer than the kernel for
    small networks. All parameters must have the same device and data type.
    """

    def __init__(self, groups: Iterable[Mapping[str, object]], *, lr: float) -> None:
        super().__init__([dict(group) for group in groups], lr=lr, fused=True)

    @override
    def zero_grad(self, set_to_none: bool = True) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    @override
    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        used = [
            [parameter for parameter in group["params"] if parameter.grad is not None] for group in self.param_groups
        ]
        if not all(parameter in self.state for parameters in used for parameter in parameters):
            super().step()  # creates the averages
            return
        for group, parameters in zip(self.param_groups, used, strict=True):
            if parameters:
                states = [self.state[parameter] for parameter in parameters]
                steps, averages, squares = ([s[key] for s in states] for key in ("step", "exp_avg", "exp_avg_sq"))
                torch._foreach_add_(steps, 1)
                beta1, beta2 = group["betas"]
                torch._fused_adam_(
                    *(parameters, [parameter.grad for parameter in parameters], averages, squares, [], steps),
                    lr=group["lr"],
                    beta1=beta1,
                    beta2=beta2,
                    weight_decay=group["weight_decay"],
                    eps=group["eps"],
                    amsgrad=False,
                    maximize=False,
                )


def make_optimizers(network: Network) -> list[Adam]:
    """Return one Adam for all parameters, and a second one if parameters are updated twice.

    Weight decay is the L2 gradient inside Adam. A parameter has the weight decay of the first group of the
    architecture that matches its name, or that of the method.
    """
    method, groups = network.method, network.architecture.param_groups
    decays: dict[float, list[Parameter]] = {}
    twice: dict[float, list[Parameter]] = {}
    for name, parameter in network.named_parameters():
        group = next((each for each in groups if fnmatch(name, each.names)), None)
        if group is not None and group.step_twice:
            twice.setdefault(group.weight_decay, []).append(parameter)
            group = None
        decay = method.weight_decay if group is None else group.weight_decay
        decays.setdefault(decay, []).append(parameter)
    return [_adam(each, method.learning_rate) for each in (decays, twice) if each]


def _adam(decays: dict[float, list[Parameter]], learning_rate: float) -> Adam:
    groups = [{"params": params, "weight_decay": decay} for decay, params in decays.items()]
    return DirectAdam(groups, lr=learning_rate)
