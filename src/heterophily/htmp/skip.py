"""What stands between two layers: nothing, or a state that is not the layer's output (GGCN)."""

import math
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.htmp.part import Dense, Scene, Setting, Size, drop


@dataclass(frozen=True)
class DecayedSkip:
    """P ← P + c_l drop_p(elu(q)), c_2 = 1, c_l = ln(η / l^e + 1): layer l hears P, not q (GGCN).

    P starts as elu(x W_0 + b_0) and the first layer hears x itself. Without decay all c_l are 1.
    """

    rate: float | Setting = 1.0  # η
    exponent: float = 3.0  # e
    dropout: float | Setting = 0.0
    decay: bool | Setting = True

    def weights(self, size: Size) -> dict[str, nn.Module]:
        """W_0 (F, d) and b_0."""
        return {"first": Dense(size.d_in, size.d_out)}

    def __call__(self, state: Any, w: Any, scene: Scene) -> Tensor:
        """What layer l hears instead of the output q of the layer before."""
        memory, layer = scene.memory, scene.layer
        if layer == 1:
            memory["carried"] = F.elu(w.first(state))
            return state  # type: ignore[no-any-return]
        rate: Any = self.dropout
        memory["carried"] = memory["carried"] + self.coefficient(layer) * drop(
            F.elu(state), rate, training=scene.training
        )
        return memory["carried"]  # type: ignore[no-any-return]

    def coefficient(self, layer: int) -> float:
        """c_l."""
        eta: Any = self.rate
        return math.log(eta / layer**self.exponent + 1) if self.decay and layer > 2 else 1.0
