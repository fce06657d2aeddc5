"""Skip: the input of a layer, if it is not simply the output of the layer before."""

from dataclasses import dataclass
from typing import ClassVar, Generic, cast

from torch import Tensor

from heterophily.core.graph import Features
from heterophily.htmp.parts import Context, Sizes, W, Weights


@dataclass(frozen=True)
class Skip(Generic[W]):
    """Connection between layers. Subclasses implement `__call__`."""

    min_layers: ClassVar[int] = 1
    carried_keys: ClassVar[tuple[str, ...]] = ()  # values per node in `Context.carry`

    def weights(self, size: Sizes) -> W:
        """Return the weights, which all layers share."""
        return cast("W", Weights())

    def __call__(self, state: Features, w: W, context: Context) -> Tensor:
        """Return the input of layer l from the output of the layer before."""
        raise NotImplementedError
