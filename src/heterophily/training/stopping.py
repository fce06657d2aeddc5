"""Early stopping on a validation score: only strict improvements count, and the best state is copied."""

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

    def update(self, score: float, epoch: int, network: Module) -> bool:
        """Record an epoch. Return True if it is strictly better than all previous ones."""
        if self.epoch >= 0 and not score > self.score:
            self.epochs_without_improvement += 1
            return False
        self.score, self.epoch, self.epochs_without_improvement = score, epoch, 0
        self._copy(network)
        return True

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
