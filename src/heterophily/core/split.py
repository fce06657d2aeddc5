"""Which nodes to train on, to validate on, and to test on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heterophily.core.arguments import short_text
from heterophily.core.errors import HeterophilyError
from heterophily.core.types import Array
from heterophily.core.validation import ArrayInput, node_numbers

PARTS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint sets of nodes for training, validation, and testing.

    Parameters
    ----------
    train, val, test
        Node numbers in ascending order, int64. Use `from_nodes` for unsorted numbers and masks.
    origin
        Where the split comes from, for reports.

    Examples
    --------
    >>> split = Split.from_nodes([2, 0], val=[1], test=[3])
    >>> split.train
    tensor([0, 2])
    >>> split.mask("test", n_nodes=4)
    tensor([False, False, False,  True])
    """

    train: Tensor
    val: Tensor
    test: Tensor
    origin: str = "given"

    @classmethod
    def from_nodes(
        cls, train: ArrayInput, val: ArrayInput = (), test: ArrayInput = (), *, origin: str = "given"
    ) -> "Split":
        """Create a split from node numbers in any order or from boolean masks over all nodes."""
        return cls(node_numbers(train), node_numbers(val), node_numbers(test), origin)

    @property
    def parts(self) -> dict[str, Tensor]:
        """The three sets of nodes by name."""
        return {"train": self.train, "val": self.val, "test": self.test}

    def mask(self, part: str, n_nodes: int) -> Tensor:
        """Return one part as a boolean mask over all nodes, (N,)."""
        mask = torch.zeros(n_nodes, dtype=torch.bool)
        mask[self.parts[part]] = True
        return mask


def as_split(value: Split | Sequence[ArrayInput]) -> Split:
    """Return a split, given one or its nodes for train, val, and test."""
    if isinstance(value, Split):
        return value
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or not 1 <= len(value) <= len(PARTS):
        raise HeterophilyError(
            f"a split must be a Split, or a list of nodes for each of {', '.join(PARTS)}, got {short_text(value)}"
        )
    return Split.from_nodes(*value)


def as_splits(values: Mapping[str, Split | Sequence[ArrayInput]] | None) -> dict[str, Split]:
    """Return splits by name, given a dictionary of them."""
    if not isinstance(values, Mapping | None):
        raise HeterophilyError(f"splits must be a dictionary of splits by name, got {short_text(values)}")
    return {str(name): as_split(value) for name, value in (values or {}).items()}


def splits_from_masks(arrays: Mapping[str, Array], *, origin: str = "given") -> dict[str, Split]:
    """Return the splits of mask arrays `train`, `train_mask`, or `train_masks`, (S, N) or (N,)."""
    names = {f"{part}{suffix}": part for part in PARTS for suffix in ("_masks", "_mask", "")}
    masks = {names[k]: np.atleast_2d(arrays[k]).astype(bool) for k in names if k in arrays}
    if "train" not in masks:
        return {}
    # A single mask, for example of a fixed test set, applies to all splits.
    count = len(masks["train"])
    for part, mask in masks.items():
        if mask.ndim > 2 or len(mask) not in (1, count):
            raise HeterophilyError(
                f"masks must be (S, N) or (N,) with the same number of splits S, got {part} with shape {mask.shape} "
                f"and train with {count} splits"
            )
    wide = {part: np.broadcast_to(mask, (count, mask.shape[1])) for part, mask in masks.items()}
    return {
        str(s): Split.from_nodes(*(wide[p][s] if p in wide else () for p in PARTS), origin=origin) for s in range(count)
    }
