"""One layer of message passing as a module in the style of PyTorch Geometric."""

from collections.abc import Hashable, Sequence

from torch import Tensor
from typing_extensions import override

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Features
from heterophily.core.sparse import Matrix
from heterophily.htmp.architecture import Architecture, Dropout, Head, MessageActivation
from heterophily.htmp.channel import Channel, Operator
from heterophily.htmp.combine import AdaptiveSum, Combine
from heterophily.htmp.encoder import Embed
from heterophily.htmp.guidance import Ones, RowMean
from heterophily.htmp.layer import Layer
from heterophily.htmp.method import CustomMethod
from heterophily.htmp.module import GraphModule
from heterophily.htmp.neighborhoods import Ego, Raw, to_default_dtype
from heterophily.htmp.parts import Context, GraphLike, Sizes, Weights
from heterophily.htmp.transform import Linear, Transform

DEFAULT_CHANNELS = (Ego() * Ones(), Raw() * RowMean())


class HTMPConv(GraphModule):
    """One layer of heterophilous message passing for your own networks.

    Z_r = (A_r ⊙ B_r) X W_r,  Z = COMBINE(Z_1, .., Z_R)

    Call it with `(x, edge_index, edge_weight=None)`, with a `Data` of PyTorch Geometric, or with a graph. It computes
    the same as the layer of a network with these parts, without activation, norm, and dropout of its input.

    Parameters
    ----------
    in_channels, out_channels
        Number of columns of the input, and width of the layer. The attribute `out_channels` is the number of columns
        of the output, which is larger if the transform concatenates heads.
    channels
        Neighborhoods with their guidance.
    combine, transform
        COMBINE, and the weights W_r.
    message_activation
        `before` or `after` aggregation for a ReLU of the messages, or `none`.
    edge_dropout
        Dropout rate of the entries of A_r ⊙ B_r in training.

    Raises
    ------
    HeterophilyError
        If the parts do not form a valid layer, or need more than one layer, such as states or weights per node.

    Examples
    --------
    >>> import torch
    >>> conv = HTMPConv(3, 8)
    >>> conv(torch.eye(3), torch.tensor([[0, 1], [1, 2]])).shape
    torch.Size([3, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        channels: Sequence[Channel] = DEFAULT_CHANNELS,
        combine: Combine = AdaptiveSum(),
        transform: Transform = Linear(),
        message_activation: MessageActivation = "none",
        edge_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        channels = tuple(channels)
        # The encoder and the head are not used. With them, every transform and every COMBINE is valid.
        architecture = Architecture(
            channels,
            combine,
            encoder=Embed(),
            head=Head(),
            transform=transform,
            dropout=Dropout(edge=edge_dropout),
            activation="none",
            message_activation=message_activation,
        )
        _check(architecture, in_channels, out_channels)
        size = Sizes(0, in_channels, 0, in_channels, out_channels, len(channels), layer=1, n_layers=2)
        self.layer = Layer(CustomMethod("htmp-conv", architecture), architecture, size, channels, combine)
        self.in_channels, self.out_channels = in_channels, self.layer.width

    @override
    def run(self, graph: GraphLike | Context) -> Tensor:
        self.context = None  # frees what the last pass retained
        context = graph if isinstance(graph, Context) else self._open(graph)
        z: Tensor = self.layer(context)
        self.context = context
        return z

    def _open(self, graph: GraphLike) -> Context:
        x = to_default_dtype(graph.features)
        if x.shape[1] != self.in_channels:
            raise HeterophilyError(f"HTMPConv has in_channels={self.in_channels}, but x has {x.shape[1]} columns")
        architecture = self.layer.architecture
        sparse_inputs = all(c.guidance.accepts_sparse_inputs for c in architecture.channels)
        if isinstance(x, Matrix) and (architecture.transform.keeps_width or not sparse_inputs):
            raise HeterophilyError("these parts cannot use a sparse x; pass x.to_dense()")
        bound: dict[Hashable, Operator] = graph.cached("bound operators", dict)
        inputs: dict[str, Features | None] = {"previous": x}
        return Context(graph, x, self.training, Weights(), initial=x, inputs=inputs, layer=1, bound=bound)

    @override
    def extra_repr(self) -> str:
        parts = [f"{type(c.neighborhood).__name__} * {type(c.guidance).__name__}" for c in self.layer.channels]
        return f"{self.in_channels}, {self.out_channels}, channels=({', '.join(parts)})"


def _check(architecture: Architecture, in_channels: int, out_channels: int) -> None:
    """Raise an error for sizes that do not fit, and for parts that need an entire network."""
    if in_channels < 1 or out_channels < 1:
        raise HeterophilyError(f"in_channels and out_channels must be positive, got {in_channels} and {out_channels}")
    if architecture.transform.keeps_width and in_channels != out_channels:
        name = type(architecture.transform).__name__
        raise HeterophilyError(f"{name} keeps the width; use transform=Linear(), or out_channels={in_channels}")
    guidance = [channel.guidance for channel in architecture.channels]
    reasons = {
        "an input other than the features": any(c.input != "previous" for c in architecture.channels),
        "one weight per entry of a graph": any(each.weight_per_entry for each in guidance),
        "the output of an encoder": any(each.covers_all_pairs for each in guidance),
        "values of earlier layers": bool(architecture.carried_keys),
    }
    for reason, applies in reasons.items():
        if applies:
            raise HeterophilyError(
                f"HTMPConv is one layer, but its parts need {reason}; use build() with a CustomMethod"
            )
