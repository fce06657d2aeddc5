"""Adam as the settings and the recipe say: which parameters decay, and which stand apart."""

from fnmatch import fnmatch

from torch.nn import Parameter
from torch.optim import Adam

from heterophily.htmp.network import Network


def make_optimizers(network: Network) -> list[Adam]:
    """One Adam for all parameters, and a second one for those that stand apart.

    Weight decay is the L2 gradient inside Adam, on the parameters that the recipe names.
    """
    recipe = network.recipe
    rate, decay = (recipe.settings[key] for key in ("learning_rate", "weight_decay"))
    apart = recipe.apart
    aside = _matching(network, (apart.names,)) if apart else {}
    main = {n: p for n, p in network.named_parameters() if n not in aside or (apart and apart.both)}
    decayed = {n: p for n, p in _matching(network, recipe.decayed).items() if n in main}
    rest = [p for n, p in main.items() if n not in decayed]
    groups = [
        {"params": list(decayed.values()), "weight_decay": decay},
        {"params": rest, "weight_decay": 0.0},
    ]
    found = [Adam([group for group in groups if group["params"]], lr=rate, fused=True)]
    if apart and aside:
        others = list(aside.values())
        found.append(Adam(others, lr=rate, weight_decay=apart.weight_decay, fused=True))
    return found


def _matching(network: Network, patterns: tuple[str, ...]) -> dict[str, Parameter]:
    named = network.named_parameters()
    return {n: p for n, p in named if any(fnmatch(n, pattern) for pattern in patterns)}
