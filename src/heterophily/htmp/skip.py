"""Skip: the input of a layer, if it is not simply the output of the layer before."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from heterophily.htmp.part import Context, Sizes


@dataclass(frozen=True)
class Skip:
    """Connection between layers. Subclasses implement `__call__`."""

    min_layers: ClassVar[int] = 1
    carried_keys: ClassVar[tuple[str, ...]] = ()  # values per node in `Context.carry`

    def weights(self, size: Sizes) -> Mapping[str, nn.Module | nn.Parameter]:
        """Return the weights, which all layers share."""
        return {}

    def __call__(self, state: Any, w: Any, context: Context) -> Tensor:
        """Return the input of layer l from the output of the layer before."""
        raise NotImplementedError
