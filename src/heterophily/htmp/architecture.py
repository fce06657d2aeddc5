"""Architecture: one row of the paper's table, as frozen data.

Neighborhoods with their guidance, COMBINE, and FUSE, together with encoder, transform, head, and losses.
Invalid combinations are rejected when an architecture is constructed. A variant is
`dataclasses.replace(architecture, ...)`.
"""

import copy
from dataclasses import dataclass
from typing import Literal

from heterophily.core.errors import HeterophilyError
from heterophily.htmp.channel import Channel
from heterophily.htmp.checks import find_problem
from heterophily.htmp.combine import Combine, SingleChannel
from heterophily.htmp.encoder import Encoder, RawFeatures
from heterophily.htmp.fuse import Fuse, LastLayer, Skip
from heterophily.htmp.losses import AuxiliaryLoss
from heterophily.htmp.parts import Dense, Init
from heterophily.htmp.state import StatePart
from heterophily.htmp.transform import Linear, Transform

MessageActivation = Literal["none", "before", "after"]


@dataclass(frozen=True)
class Dropout:
    """Dropout rates at five places; None uses the method's setting `dropout`.

    Examples
    --------
    >>> Dropout(input=0.5, head=None)
    Dropout(input=0.5, layer=0.0, head=None, edge=0.0, message=0.0)
    """

    input: float | None = 0.0  # of the features X
    layer: float | None = 0.0  # of the input of a layer
    head: float | None = 0.0  # before the head
    edge: float | None = 0.0  # of the entries of A_r ⊙ B_r
    message: float | None = 0.0  # after the transform, before aggregation


@dataclass(frozen=True)
class Head:
    """Linear output layer.

    logits = drop_p(Z) W + b

    Examples
    --------
    >>> Head(bias=False).weights(16, 3).weight.shape
    torch.Size([16, 3])
    """

    bias: bool = True
    init: str | Init = "linear"

    def weights(self, width: int, n_classes: int) -> Dense | None:
        """Return the output layer, or None if the first K columns of Z are the logits."""
        return Dense(width, n_classes, bias=self.bias, init=self.init)


@dataclass(frozen=True)
class ParamGroup:
    """Parameters with their own weight decay, selected by a pattern of names such as `encoder.*`.

    The first group that matches a parameter applies. With `step_twice`, the optimizer of the other parameters
    updates these parameters as well, with the weight decay of the method.

    Examples
    --------
    >>> ParamGroup("encoder.*", weight_decay=0.01).step_twice
    False
    """

    names: str
    weight_decay: float
    step_twice: bool = False


@dataclass(frozen=True)
class Architecture:
    """The complete description of a network, without its weights.

    Z_r = (A_r ⊙ B_r) Z^(l-1) W_r,  Z^l = COMBINE(Z_1, .., Z_R),  Z = FUSE(Z⁰, .., Z^L)

    Fields that are None are filled in from the common settings of the method.

    Raises
    ------
    HeterophilyError
        If the parts do not form a valid network. The message explains how to fix it.

    Examples
    --------
    >>> from heterophily.htmp.guidance import SymmetricMean
    >>> from heterophily.htmp.neighborhoods import WithSelf
    >>> Architecture(channels=(WithSelf() * SymmetricMean(),)).symbols["neighborhoods"]
    ['Ã']
    """

    channels: tuple[Channel, ...]
    combine: Combine = SingleChannel()
    fuse: Fuse = LastLayer()
    encoder: Encoder = RawFeatures()
    transform: Transform = Linear()
    head: Head | None = None  # without a head, the last layer has K columns
    skip: Skip | None = None
    dropout: Dropout = Dropout(input=None, layer=None)
    activation: str | None = None  # after each layer
    activate_last: bool = False  # also after the last layer
    message_activation: MessageActivation = "none"  # ReLU before or after aggregation
    linear_last_layer: bool = False  # no ReLU of messages in the last layer
    separate_networks: bool = False  # one network per channel, COMBINE once at the end
    widths: tuple[int, ...] | None = None  # per layer; the last one repeats
    feature_norm: str | None = None
    losses: tuple[AuxiliaryLoss, ...] = ()
    states: tuple[StatePart, ...] = ()
    param_groups: tuple[ParamGroup, ...] = ()

    def __post_init__(self) -> None:
        problem = find_problem(self)
        if problem:
            raise HeterophilyError(f"invalid architecture: {problem}")

    @property
    def full_graph_reason(self) -> str:
        """Why the network needs the full graph; empty if mini-batches work."""
        reasons = [self.mixing_reason]
        reasons += [part.full_graph_reason for part in (self.encoder, self.transform, self.combine)]
        reasons += [loss.full_graph_reason for loss in self.losses]
        reasons += [state.full_graph_reason for state in self.states]
        return next((reason for reason in reasons if reason), "")

    @property
    def mixing_reason(self) -> str:
        """Why the prediction for a node depends on more nodes than its neighbors; empty if it does not."""
        reasons = [channel.guidance.full_graph_reason for channel in self.channels]
        return next((reason for reason in (*reasons, self.fuse.full_graph_reason) if reason), "")

    @property
    def carried_keys(self) -> tuple[str, ...]:
        """Keys of the values per node that parts carry from layer to layer."""
        return (*self.combine.carried_keys, *(self.skip.carried_keys if self.skip else ()))

    @property
    def symbols(self) -> dict[str, str | list[str]]:
        """The row of the paper's table."""
        return {
            "neighborhoods": [channel.neighborhood.symbol for channel in self.channels],
            "guidance": [channel.symbol for channel in self.channels],
            "combine": self.combine.symbol,
            "fuse": self.fuse.symbol,
        }


def find_problem_after(architecture: Architecture, **changes: object) -> str:
    """Return why an architecture would be invalid with other fields; empty if it would be valid."""
    changed = copy.copy(architecture)
    vars(changed).update(changes)
    return find_problem(changed)
