"""What stands between two layers: nothing, or a state that is not the layer's output (GGCN)."""

import math
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.htmp.part import Context, Dense, Sizes, apply_dropout


@dataclass(frozen=True)
class DecayedResidual:
    """P ← P + c_l drop_p(elu(q)), c_2 = 1, c_l = ln(η / l^e + 1): layer l hears P, not q (GGCN).

    P starts as elu(x W_0 + b_0) and the first layer hears x itself. Without decay all c_l are 1.
    P is first heard by layer 2, so a network has at least two.
    """

    rate: float = 1.0  # η
    exponent: float = 3.0  # e
    dropout: float = 0.0
    decay: bool = True
    min_layers = 2
    carried_keys = ("carried",)  # kept in the memory of a scene from layer to layer, per node

    def weights(self, size: Sizes) -> dict[str, nn.Module]:
        """W_0 (F, d) and b_0."""
        return {"first": Dense(size.d_in, size.d_out)}

    def __call__(self, state: Any, w: Any, context: Context) -> Tensor:
        """What layer l hears instead of the output q of the layer before."""
        carry, layer = context.carry, context.layer
        if layer == 1:
            carry["carried"] = F.elu(w.first(state))
            return state
        opened = apply_dropout(F.elu(state), self.dropout, training=context.training)
        carry["carried"] = carry["carried"] + self.coefficient(layer) * opened
        return carry["carried"]

    def coefficient(self, layer: int) -> float:
        """c_l."""
        decays = self.decay and layer > 2
        return math.log(self.rate / layer**self.exponent + 1) if decays else 1.0
