"""Trio: the node itself, the mean of its neighbors, and a sum that keeps their number, averaged over members."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.graph import Features
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.core.sparse import Matrix
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import Concat
from heterophily.htmp.direction import Both
from heterophily.htmp.encoder import Embed, Encoder
from heterophily.htmp.fuse import ConcatLayers, LastLayer
from heterophily.htmp.guidance import Ones, RowMean, SymmetricMean
from heterophily.htmp.method import (
    MONITOR,
    N_MEMBERS,
    Activation,
    Deviation,
    FeatureNorm,
    Method,
    Monitor,
    define_method,
)
from heterophily.htmp.neighborhoods import Ego, Raw, WithSelf
from heterophily.htmp.parts import ACTIVATIONS, Context, Dense, Init, Sizes, Weights
from heterophily.htmp.transform import JointLinear

Aggregation = Literal["both", "mean", "sum"]
SelfLoops = Literal["sum", "mean", "both", "none"]


@define_method
class Trio(Method):
    """The node itself, the mean of its neighbors, and a sum that keeps their number, averaged over members.

    Z^l = f( drop([Z ‖ S° Z ‖ R Z]) W_l + b_l ), Z⁰ = f( drop(X) W_x + δ w_d + b ), δ the scaled log degree

    The probabilities are the mean over members, which differ in their seeds. Each member has the weights of its lowest
    validation loss.
    """

    name, title = "trio", "Trio"
    paper = "The heterophily developers, unpublished, 2026"

    aggregation: Annotated[Aggregation, Choice("both", "mean", "sum"), "Channels in addition to the node itself."] = (
        "both"
    )
    self_loops: Annotated[SelfLoops, "Channels in which the node itself is a neighbor, too."] = "sum"
    directed: Annotated[
        bool, Choice(False, True), "Whether to add the means over incoming and over outgoing edges."
    ] = False
    degree: Annotated[bool, Choice(False, True), "Use the logarithm of the degree as an additional feature."] = True
    concat_layers: Annotated[bool, Choice(False, True), "Classify all layers instead of the last one."] = True
    input_dropout: Annotated[DropoutRate, Choice(0.2, 0.5, 0.8)] = 0.5
    activation: Annotated[Activation, Choice("relu", "none")] = "relu"
    n_layers: Annotated[PositiveInt, Choice(1, 2, 3, 5)] = 2
    dropout: Annotated[DropoutRate, Choice(0.2, 0.3, 0.5, 0.7)] = 0.5
    feature_norm: Annotated[FeatureNorm, Choice("none", "l2")] = "l2"
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.002, 0.005, 0.01)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 5e-5, 5e-4)] = 5e-5
    patience: PositiveInt = 30
    monitor: Annotated[Monitor, MONITOR] = "loss"
    n_members: Annotated[PositiveInt, N_MEMBERS] = 3

    @override
    def architecture(self) -> Architecture:
        encoder = EmbedWithDegree(activation=self.activation) if self.degree else Embed(activation=self.activation)
        return Architecture(
            encoder=encoder,
            channels=(Ego() * Ones(), *self._aggregations()),
            transform=JointLinear(dropout=self.dropout),
            combine=Concat(),
            fuse=ConcatLayers() if self.concat_layers else LastLayer(),
            head=Head(),
            dropout=Dropout(input=self.input_dropout, head=self.dropout),
            activate_last=True,
        )

    def _aggregations(self) -> tuple[Channel, ...]:
        guidance = {"sum": SymmetricMean(), "mean": RowMean()}
        used = [name for name in guidance if self.aggregation in (name, "both")]
        looped = {name: WithSelf() if self.self_loops in (name, "both") else Raw() for name in used}
        added = Both() * RowMean() if self.directed else ()
        return (*(looped[name] * guidance[name] for name in used), *added)

    deviations = (Deviation("The method has no publication and no reference implementation."),)


def ablation_variants(method: Trio) -> dict[str, Method]:
    """Return the method without one of its ideas each."""
    return {
        "without the sum": replace(method, aggregation="mean"),
        "without the mean": replace(method, aggregation="sum"),
        "without self-loops": replace(method, self_loops="none"),
        "without the degree": replace(method, degree=False),
        "stopped by accuracy": replace(method, monitor="score"),
        "one member": replace(method, n_members=1),
    }


class EmbedWithDegreeWeights(Weights):
    """Weights of `EmbedWithDegree`."""

    dense: Dense  # W (F, d)
    degree: nn.Parameter  # w_d (d,)
    mean: Tensor  # of the log degrees of the training graph
    scale: Tensor  # their standard deviation


@dataclass(frozen=True)
class EmbedWithDegree(Encoder[EmbedWithDegreeWeights]):
    """Dense layer of the features and the logarithm of the degree.

    Z⁰ = f( drop(X) W + δ w_d + b ), δ = (log(1 + d) - μ) / σ

    Parameters
    ----------
    activation
        Activation f.

    Notes
    -----
    μ and σ are the mean and the standard deviation in the graph for which the network is built.

    Examples
    --------
    >>> EmbedWithDegree().uses_structure
    False
    """

    activation: str = "relu"

    @override
    def weights(self, size: Sizes) -> EmbedWithDegreeWeights:
        w = EmbedWithDegreeWeights(
            dense=Dense(size.d_in, size.d_out), degree=Init("linear").new_bias(size.d_in, size.d_out)
        )
        logs = _log_degrees(size)
        w.register_buffer("mean", logs.mean().to(torch.get_default_dtype()))
        w.register_buffer("scale", logs.std(correction=0).clamp_min(1e-6).to(torch.get_default_dtype()))
        return w

    @override
    def __call__(self, x: Features, w: EmbedWithDegreeWeights, context: Context) -> Tensor:
        delta = (context.graph.degrees.to(w.mean.dtype).log1p() - w.mean) / w.scale
        return ACTIVATIONS[self.activation](torch.addcmul(w.dense(x), delta.unsqueeze(1), w.degree))


def _log_degrees(size: Sizes) -> Tensor:
    """Return log(1 + d) of the nodes of the graph for which a network is built, (N,), or a zero without a graph."""
    if size.adjacency_of is None:
        return torch.zeros(1, dtype=torch.double)
    adjacency = size.adjacency_of(Raw())
    pattern = adjacency.pattern if isinstance(adjacency, Matrix) else adjacency
    return pattern.degrees.double().log1p()
