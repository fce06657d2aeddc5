"""Z⁰: the first state, from features, from structure, or from both.

An encoder that `predicts` ends in K columns: the classifier comes before propagation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.core.graph import Features
from heterophily.core.sparse import Matrix, segment_sum
from heterophily.htmp.neighborhoods import Neighborhood
from heterophily.htmp.part import ACTIVATIONS, Context, Dense, Sizes, apply_dropout


@dataclass(frozen=True)
class Encoder:
    """The base of all encoders: calling it with the dropped input is the verb."""

    structure: ClassVar[Neighborhood | None] = None  # the neighborhood that is an input, if any
    outputs_classes: ClassVar[bool] = False  # whether Z⁰ has one column per class
    accepts_prototypes: ClassVar[bool] = False  # whether rows that are not nodes can be encoded

    @property
    def uses_structure(self) -> bool:
        """Whether a weight belongs to each node, so that no other graph fits."""
        return self.structure is not None

    def weights(self, size: Sizes) -> Mapping[str, nn.Module | nn.Parameter]:
        """Weights; d_in is F and d_out the width."""
        return {}

    def width(self, size: Sizes) -> int:
        """Width of Z⁰."""
        return size.d_out

    def __call__(self, x: Any, w: Any, context: Context) -> Any:
        """Z⁰ from X, dropped while training."""
        raise NotImplementedError


@dataclass(frozen=True)
class RawFeatures(Encoder):
    """The features.

    Z⁰ = X

    Examples
    --------
    >>> RawFeatures().uses_structure
    False
    """

    def width(self, size: Sizes) -> int:
        """F."""
        return size.d_in

    def __call__(self, x: Any, w: Any, context: Context) -> Any:
        """X."""
        return x


@dataclass(frozen=True)
class Embed(Encoder):
    """Dense layers from F features to d columns.

    Z⁰ = LN( f( drop(X) W + b ) ), repeated n times

    Parameters
    ----------
    n_layers
        Number n of layers.
    activation
        Activation f.
    bias
        Whether the layers have biases.
    init
        Initialization of W.
    bias_init
        Initialization of b; by default that of W.
    gain
        Factor for the initialization.
    norm
        Whether to apply layer norms.
    dropout
        Dropout rate between the layers.
    drop_output
        Whether to apply dropout after the last layer, too.

    Examples
    --------
    >>> Embed().uses_structure
    False
    """

    n_layers: int = 1
    activation: str = "relu"
    bias: bool = True
    init: str = "linear"
    bias_init: str = ""
    gain: float = 1.0
    norm: bool = False
    dropout: float | None = 0.0  # None: the method's dropout
    drop_output: bool = False
    accepts_prototypes = True

    def weights(self, size: Sizes) -> dict[str, nn.Module]:
        """Dense layers F → d → .. → d, and norms."""
        sizes = [size.d_in] + [size.d_out] * self.n_layers
        dense = [self._dense(i, o) for i, o in pairwise(sizes)]
        found: dict[str, nn.Module] = {"dense": nn.ModuleList(dense)}
        if self.norm:
            found["norms"] = nn.ModuleList(nn.LayerNorm(size.d_out) for _ in dense)
        return found

    def _dense(self, i: int, o: int) -> Dense:
        inits = {"init": self.init, "bias_init": self.bias_init}
        return Dense(i, o, bias=self.bias, gain=self.gain, **inits)

    def __call__(self, x: Any, w: Any, context: Context) -> Tensor:
        """f(X W + b)."""
        for i, dense in enumerate(w.dense):
            x = apply_dropout(x, self.dropout, training=context.training) if i else x
            x = ACTIVATIONS[self.activation](dense(x))
            x = w.norms[i](x) if self.norm else x
        return apply_dropout(x, self.dropout, training=context.training) if self.drop_output else x


@dataclass(frozen=True)
class Predict(Encoder):
    """Classifier before propagation.

    Z⁰ = drop_q( drop_p( relu(X W_1 + b_1) ) W_2 + b_2 ) (N, K)

    Parameters
    ----------
    bias
        Whether the layers have biases.
    dropout
        Dropout rate p.
    output_dropout
        Dropout rate q.

    Examples
    --------
    >>> Predict().uses_structure
    False
    """

    bias: bool = True
    dropout: float | None = 0.0  # p; None: the method's dropout
    output_dropout: float = 0.0  # q
    outputs_classes = True

    def width(self, size: Sizes) -> int:
        """K."""
        return size.n_classes

    def weights(self, size: Sizes) -> dict[str, nn.Module]:
        """W_1 (F, d) and W_2 (d, K)."""
        inner = Dense(size.d_in, size.d_out, bias=self.bias)
        return {"inner": inner, "outer": Dense(size.d_out, size.n_classes, bias=self.bias)}

    def __call__(self, x: Any, w: Any, context: Context) -> Tensor:
        """The classifier before propagation."""
        hidden = apply_dropout(F.relu(w.inner(x)), self.dropout, training=context.training)
        return apply_dropout(w.outer(hidden), self.output_dropout, training=context.training)


def normalize_rows(features: Features, norm: str) -> Features:
    """Return X with each row divided by its L1 norm, L2 norm, or sum. Rows of zeros stay zero."""
    if norm == "none":
        return features
    if isinstance(features, Matrix):
        totals = segment_sum(features.pattern, _powers(features.values, norm))
        scale = _norms(totals, norm).index_select(0, features.pattern.rows)
        return features.pattern * (features.values / scale)
    return features / _norms(_powers(features, norm).sum(dim=1), norm).unsqueeze(1)


def _powers(values: Tensor, norm: str) -> Tensor:
    return {"l1": values.abs(), "l2": values.square(), "sum": values}[norm]


def _norms(totals: Tensor, norm: str) -> Tensor:
    norms = totals.sqrt() if norm == "l2" else totals
    return torch.where(norms == 0, 1.0, norms)
