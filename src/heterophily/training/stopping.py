"""Early stopping on a validation score: only strict improvements count, and the best state is copied."""

import math
from dataclasses import dataclass, field

from torch import Tensor
from torch.nn import Module


@dataclass
class EarlyStopping:
    """The best validation score so far, its epoch, and a copy of the network's state in that epoch."""

    patience: int
    score: float = float("nan")
    epoch: int = -1
    epochs_without_improvement: int = 0
    state: dict[str, Tensor] = field(default_factory=dict)
    warm_up: int = 0  # epochs up to this one are better than those before them, whatever their score
    tie_break: float = float("-inf")  # decides between epochs of equal score, higher is better

    def update(self, score: float, epoch: int, network: Module, *, tie_break: float = float("-inf")) -> bool:
        """Record an epoch. Return True if it is strictly better than all previous ones.

        An epoch that is better only by `tie_break` does not extend the patience.
        """
        higher = score > self.score or epoch <= self.warm_up or (math.isnan(self.score) and not math.isnan(score))
        better = higher or (score == self.score and tie_break > self.tie_break)
        self.epochs_without_improvement = 0 if higher else self.epochs_without_improvement + 1
        if better:
            self.score, self.epoch, self.tie_break = score, epoch, tie_break
            self._copy(network)
        return better

    def _copy(self, network: Module) -> None:
        # Reuse the tensors of the last copy, because improvements are frequent at the start.
        for name, value in network.state_dict().items():
            copy = self.state.get(name)
            if copy is not None and copy.shape == value.shape:
                copy.copy_(value)
            else:
                self.state[name] = value.detach().clone()

    @property
    def should_stop(self) -> bool:
        """Whether patience has run out."""
        return self.epochs_without_improvement >= self.patience
