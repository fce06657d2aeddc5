"""The head folded into the last layer, so that messages have K columns instead of the full width.

If nothing nonlinear is between the messages of the last layer and the head,

(Σ_r ω_r (A_r ⊙ B_r) Z W_r + b) W_h = Σ_r ω_r (A_r ⊙ B_r) Z (W_r W_h) + b W_h

is the same number with the same gradients.
"""

from fnmatch import fnmatch

import torch
from torch import Tensor, nn
from torch.func import functional_call
from typing_extensions import override

from heterophily.htmp.architecture import Head
from heterophily.htmp.fuse import LastLayer
from heterophily.htmp.method import Method, complete_architecture
from heterophily.htmp.network import Network
from heterophily.htmp.parts import Context, GraphLike
from heterophily.htmp.transform import Linear

FOLDED_WEIGHTS = ("transform.*", "combine.b")  # weights of a linear layer whose columns the head reads


class FoldedNetwork(Network):
    """A network whose forward pass folds the head into the last layer."""

    @override
    def run(self, graph: GraphLike | Context) -> Tensor:
        weights = {f"network.{name}": weight for name, weight in folded_weights(self).items()}
        logits: Tensor = functional_call(_Unfolded(self), weights, (graph,))
        return logits


class _Unfolded(nn.Module):
    """The forward pass of the engine."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    @override
    def forward(self, graph: GraphLike | Context) -> Tensor:
        return Network.run(self.network, graph)


def folded_weights(network: Network) -> dict[str, Tensor]:
    """Return the weights of the last layer times the head, and I in place of the head."""
    head, last = network.head, f"stacks.0.{network.n_layers - 1}"
    assert head is not None
    folded = {
        name: weight @ head.weight
        for name, weight in network.named_parameters()
        if any(fnmatch(name, f"{last}.{pattern}") for pattern in FOLDED_WEIGHTS)
    }
    weight = head.weight
    return {**folded, "head.weight": torch.eye(weight.shape[1], dtype=weight.dtype, device=weight.device)}


def can_fold_head(method: Method) -> bool:
    """Return whether the last layer is linear in its messages and only the head reads its output."""
    architecture = complete_architecture(method)
    dropout, transform = architecture.dropout, architecture.transform
    nonlinear = (
        architecture.activate_last,
        method.residual,
        architecture.separate_networks,
        any(state.adds_virtual_nodes for state in architecture.states),
    )
    relu = not architecture.linear_last_layer and (
        architecture.message_activation != "none" or any(c.activation for c in architecture.channels)
    )
    return (
        type(architecture.head) is Head
        and type(architecture.fuse) is LastLayer
        and type(transform) is Linear
        and transform.heads is None
        and vars(type(architecture.combine)).get("is_linear", False)
        and not any((*nonlinear, relu, dropout.head, dropout.message))
        and all(c.guidance.depends_on in ("graph", "network") for c in architecture.channels)
    )
