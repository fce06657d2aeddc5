"""Early stopping on validation accuracy: strictly better counts, the best state is kept."""

from dataclasses import dataclass, field

from torch import Tensor
from torch.nn import Module


@dataclass
class EarlyStopping:
    """The best validation accuracy so far, its epoch, and a copy of the state that reached it."""

    patience: int
    accuracy: float = -1.0
    epoch: int = -1
    epochs_without_improvement: int = 0
    state: dict[str, Tensor] = field(default_factory=dict)

    def update(self, accuracy: float, epoch: int, network: Module) -> bool:
        """Take note of an epoch; True if it is strictly better than all before."""
        if accuracy <= self.accuracy:
            self.epochs_without_improvement += 1
            return False
        self.accuracy, self.epoch, self.epochs_without_improvement = accuracy, epoch, 0
        self._copy(network)
        return True

    def _copy(self, network: Module) -> None:
        # Into the tensors of the last copy: improvements come often at first.
        for name, value in network.state_dict().items():
            kept = self.state.get(name)
            if kept is not None and kept.shape == value.shape:
                kept.copy_(value)
            else:
                self.state[name] = value.detach().clone()

    @property
    def should_stop(self) -> bool:
        """Whether patience has run out."""
        return self.epochs_without_improvement >= self.patience
