"""The head inside the last layer: messages as wide as there are classes, in place of the whole width.

Where nothing stands between a last layer that is linear in its messages and the head,

(Σ_r ω_r (A_r ⊙ B_r) Z W_r + b) W_h = Σ_r ω_r (A_r ⊙ B_r) Z (W_r W_h) + b W_h

is the same number with the same gradients, and the right side sends K columns around.
"""

from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.func import functional_call

from heterophily.htmp.combine import Add, LearnedAdd, SingleChannel, WeightedAdd
from heterophily.htmp.fuse import LastLayer
from heterophily.htmp.part import Context
from heterophily.htmp.transform import Linear

if TYPE_CHECKING:
    from heterophily.htmp.architecture import Architecture
    from heterophily.htmp.layer import Layer

LINEAR = (
    SingleChannel,
    Add,
    WeightedAdd,
    LearnedAdd,
)  # themselves: what is derived from them may not be
ENDS = ("transform.*", "combine.b")  # weights of a linear layer whose columns the head reads


def can_fold_head(architecture: "Architecture", last: "Layer") -> bool:
    """Whether the last layer is linear in its messages and only the head reads what comes out."""
    drop, transform = architecture.dropout, architecture.transform
    between = (
        last.active,
        last.norm,
        last.residual,
        architecture.separate_networks,
        drop.head,
        drop.message,
    )
    return (
        architecture.head is not None
        and architecture.head.kind == "linear"
        and type(architecture.fuse) is LastLayer
        and type(transform) is Linear
        and not transform.heads(last.size)
        and transform.kernel_merge == "add"
        and type(architecture.combine) in LINEAR
        and not architecture.states
        and not any(between)
        and all(c.guidance.depends_on in ("graph", "network") for c in last.channels)
        and not any(last.has_message_relu(channel) for channel in last.channels)
    )


def forward_with_folded_head(
    layer: "Layer", head: Any, heard: dict[str, Any], context: Context
) -> Tensor:
    """Logits (N, K) from the states that the last layer hears."""
    ends = {
        name: weight @ head.weight
        for name, weight in layer.named_parameters()
        if any(fnmatch(name, pattern) for pattern in ENDS)
    }
    logits: Tensor = functional_call(layer, ends, (heard, context))
    return logits if head.bias is None else logits + head.bias
