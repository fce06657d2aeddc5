"""Z⁰: the first state, from features, from structure, or from both.

An encoder that `predicts` ends in K columns: the classifier comes before propagation.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Generic, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.graph import Features
from heterophily.core.sparse import Matrix, segment_sum
from heterophily.htmp.neighborhoods import Neighborhood
from heterophily.htmp.parts import (
    ACTIVATIONS,
    Context,
    Dense,
    DenseBlock,
    Init,
    Sizes,
    W,
    Weights,
    apply_dropout,
    norm_reason,
)


@dataclass(frozen=True)
class Encoder(Generic[W]):
    """Base class of all encoders. Subclasses compute Z⁰ from X, after dropout, in `__call__`."""

    structure: ClassVar[Neighborhood | None] = None  # the neighborhood that is an input, if any
    outputs_classes: ClassVar[bool] = False  # whether Z⁰ has one column per class
    accepts_prototypes: ClassVar[bool] = False  # whether rows that are not nodes can be encoded
    full_graph_reason = ""  # why it needs the full graph; empty if mini-batches work

    @property
    def uses_structure(self) -> bool:
        """Whether a weight belongs to each node, so that no other graph fits."""
        return self.structure is not None

    def weights(self, size: Sizes) -> W:
        """Weights; d_in is F and d_out the width."""
        return cast("W", Weights())

    def width(self, size: Sizes) -> int:
        """Width of Z⁰."""
        return size.d_out

    def __call__(self, x: Features, w: W, context: Context) -> Features:
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

    @override
    def width(self, size: Sizes) -> int:
        return size.d_in

    @override
    def __call__(self, x: Features, w: Weights, context: Context) -> Features:
        return x


class EmbedWeights(Weights):
    """Weights of `Embed`."""

    dense: nn.ModuleList
    norms: nn.ModuleList


@dataclass(frozen=True)
class Embed(Encoder[EmbedWeights]):
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
        Initialization of W and b, an `Init` or the name of one for W.
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
    init: str | Init = "linear"
    norm: bool = False
    dropout: float | None = 0.0  # None: the method's dropout
    drop_output: bool = False
    accepts_prototypes = True

    @override
    def weights(self, size: Sizes) -> EmbedWeights:
        sizes = [size.d_in] + [size.d_out] * self.n_layers
        dense = [Dense(i, o, bias=self.bias, init=self.init) for i, o in pairwise(sizes)]
        w = EmbedWeights(dense=nn.ModuleList(dense))
        if self.norm:
            w.norms = nn.ModuleList(nn.LayerNorm(size.d_out) for _ in dense)
        return w

    @override
    def __call__(self, x: Features, w: EmbedWeights, context: Context) -> Tensor:
        for i, dense in enumerate(w.dense):
            x = apply_dropout(x, self.dropout, training=context.training) if i else x
            x = ACTIVATIONS[self.activation](dense(x))
            x = w.norms[i](x) if self.norm else x
        z = cast("Tensor", x)
        return apply_dropout(z, self.dropout, training=context.training) if self.drop_output else z


@dataclass(frozen=True)
class EmbedBlock(Encoder[DenseBlock]):
    """Dense layer from F features to d columns, with a norm before the activation.

    Z⁰ = drop_q( f( norm( drop_p(X) W + b ) ) )

    Parameters
    ----------
    norm
        `layer`, `batch`, or `none`.
    activation
        Activation f.
    output_dropout
        Dropout rate q. The rate p is that of `Dropout(input=...)`.

    Examples
    --------
    >>> EmbedBlock(norm="layer").uses_structure
    False
    """

    norm: str = "none"
    activation: str = "relu"
    output_dropout: float = 0.0
    accepts_prototypes = True

    @property
    def full_graph_reason(self) -> str:  # type: ignore[override]
        """Why it needs the full graph; empty if mini-batches work."""
        return norm_reason(self.norm)

    @override
    def weights(self, size: Sizes) -> DenseBlock:
        return DenseBlock(size.d_in, size.d_out, norm=self.norm, activation=self.activation)

    @override
    def __call__(self, x: Features, w: DenseBlock, context: Context) -> Tensor:
        return apply_dropout(w(x), self.output_dropout, training=context.training)


class PredictWeights(Weights):
    """Weights of `Predict`."""

    inner: Dense  # W_1 (F, d)
    outer: Dense  # W_2 (d, K)


@dataclass(frozen=True)
class Predict(Encoder[PredictWeights]):
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

    @override
    def width(self, size: Sizes) -> int:
        return size.n_classes

    @override
    def weights(self, size: Sizes) -> PredictWeights:
        inner = Dense(size.d_in, size.d_out, bias=self.bias)
        return PredictWeights(inner=inner, outer=Dense(size.d_out, size.n_classes, bias=self.bias))

    @override
    def __call__(self, x: Features, w: PredictWeights, context: Context) -> Tensor:
        hidden = apply_dropout(F.relu(w.inner(x)), self.dropout, training=context.training)
        return apply_dropout(w.outer(hidden), self.output_dropout, training=context.training)


def normalize_rows(features: Features, norm: str) -> Features:
    """Return X with each row divided by its L1 norm, L2 norm, or sum. Rows of zeros stay zero.

    The sum is that of absolute values, because the sum of signed features can be near zero or negative.
    """
    if norm == "none":
        return features
    if isinstance(features, Matrix):
        totals = segment_sum(features.pattern, _powers(features.values, norm))
        scale = _norms(totals, norm).index_select(0, features.pattern.rows)
        return features.pattern * (features.values / scale)
    return features / _norms(_powers(features, norm).sum(dim=1), norm).unsqueeze(1)


def _powers(values: Tensor, norm: str) -> Tensor:
    return values.square() if norm == "l2" else values.abs()


def _norms(totals: Tensor, norm: str) -> Tensor:
    norms = totals.sqrt() if norm == "l2" else totals
    return torch.where(norms == 0, 1.0, norms)
