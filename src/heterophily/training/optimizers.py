"""Adam with the parameter groups of an architecture."""

from fnmatch import fnmatch

from torch.nn import Parameter
from torch.optim import Adam

from heterophily.htmp.network import Network


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
    return Adam(groups, lr=learning_rate, fused=True)
