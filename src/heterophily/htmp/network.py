"""One network for all architectures; with `layer.py` it is all that runs message passing.

Z⁰ = encoder(X);  Z_r = (A_r ⊙ B_r) Z^(l-1) W_r;  Z^l = COMBINE(Z_1, .., Z_R);  Z = FUSE(Z⁰, .., Z^L)
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from heterophily.core.errors import HeterophilyError
from heterophily.core.features import normalize_rows
from heterophily.core.graph import Features, Graph
from heterophily.htmp.belief import CompatibilityState
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import SingleChannel
from heterophily.htmp.encoder import RawFeatures
from heterophily.htmp.execution.batch import Batch, global_node_ids
from heterophily.htmp.execution.fold_head import can_fold_head, forward_with_folded_head
from heterophily.htmp.layer import Layer
from heterophily.htmp.losses import classification
from heterophily.htmp.method import Method, complete_architecture
from heterophily.htmp.part import Context, Dense, Sizes, Weights, apply_dropout


@dataclasses.dataclass(frozen=True)
class Start:
    """The first layers of a pass, from which passes with the same weights may go on."""

    context: Context
    states: tuple[Any, ...]  # Z⁰, .., Z^l

    def go_on(self, *, training: bool) -> tuple[Context, list[Any]]:
        """What a pass goes on with; what it leaves behind reaches no other pass."""
        aux_outputs = {key: list(values) for key, values in self.context.aux_outputs.items()}
        context = dataclasses.replace(
            self.context, aux_outputs=aux_outputs, carry=dict(self.context.carry)
        )
        context.training = training
        return context, list(self.states)


class Network(nn.Module):
    """A method with its weights: `network(graph)` returns logits (N, K)."""

    def __init__(self, method: Method, graph: Graph) -> None:
        super().__init__()
        self.method, self.architecture = method, complete_architecture(method)
        architecture = self.architecture
        self.n_features, self.n_classes = graph.n_features, graph.n_classes
        self.n_nodes = graph.n_nodes
        self.encoder_part = architecture.encoder
        self.n_layers = method.n_layers
        if architecture.skip is not None:
            self.n_layers = max(self.n_layers, architecture.skip.min_layers)
        size = Sizes(graph, graph.n_features, method.width, len(architecture.channels))
        self.encoder = Weights(self.encoder_part.weights(size))
        first = self.encoder_part.width(size)
        entry = dataclasses.replace(size, d_in=first)
        self.skip = Weights(architecture.skip.weights(entry)) if architecture.skip else None
        groups = (
            [(c,) for c in architecture.channels]
            if architecture.separate_networks
            else [architecture.channels]
        )
        stacks = [self._stack(size, first, group) for group in groups]
        self.stacks = nn.ModuleList(nn.ModuleList(layers) for layers in stacks)
        widths = [first, *(layer.width for layer in stacks[0])]
        end = dataclasses.replace(size, d_in=widths[-1], d_out=widths[-1])
        self.combine = (
            Weights(architecture.combine.weights(end)) if architecture.separate_networks else None
        )
        self.common = Weights(self._shared_weights(size, first))
        self.fuse = Weights(architecture.fuse.weights(self.n_layers))
        self.head = self._head(architecture.fuse.width(widths))
        self.head_inside = can_fold_head(architecture, stacks[0][-1])
        inner = dataclasses.replace(size, d_in=widths[-2], d_out=widths[-2])
        self.terms = nn.ModuleList(Weights(term.weights(inner)) for term in architecture.losses)
        states = [CompatibilityState(state, graph) for state in architecture.states]
        self.mind = states[0] if states else None
        self.context: Context | None = None
        self.class_weights: Tensor | None = None  # of the classification loss, for unequal classes

    def _stack(self, size: Sizes, first: int, channels: Sequence[Channel]) -> list[Layer]:
        architecture, layers, d_in = self.architecture, [], first
        combine = SingleChannel() if architecture.separate_networks else architecture.combine
        for layer in range(1, self.n_layers + 1):
            widths = architecture.widths or (self.method.width,)
            d_out = widths[min(layer, len(widths)) - 1]
            if layer == self.n_layers and architecture.head is None:
                d_out = size.n_classes
            place = {"layer": layer, "n_layers": self.n_layers, "n_channels": len(channels)}
            sized = dataclasses.replace(size, d_in=d_in, d_out=d_out, **place)
            layers.append(Layer(self.method, architecture, sized, channels, combine))
            d_in = layers[-1].width
        return layers

    def _shared_weights(self, size: Sizes, first: int) -> dict[str, Any]:
        sized = dataclasses.replace(size, d_in=first, d_out=first)
        found = dict(self.architecture.combine.shared_weights(sized))
        for channel in self.architecture.channels:
            found |= channel.guidance.shared_weights(sized)
        return found

    def _head(self, width: int) -> Dense | None:
        head = self.architecture.head
        if head is not None and head.kind == "none" and width < self.n_classes:
            raise HeterophilyError(
                f"{self.method.name} without a head reads its first {self.n_classes} columns as "
                f"classes, but has {width}; raise its width or take head = linear"
            )
        if head is None or head.kind == "none":
            return None
        inits = {"init": head.init, "bias_init": head.bias_init}
        return Dense(width, self.n_classes, bias=head.bias, gain=head.gain, **inits)

    def forward(self, graph: Graph, start: Start | None = None) -> Tensor:
        """Logits (N, K), from the beginning or from where a `start` ends."""
        z = self._states(graph, start, head_inside=self.head_inside)
        if self.head_inside:
            return cast("Tensor", z)
        z = apply_dropout(z, self.architecture.dropout.head, training=self.training)
        logits = self.classify(z)
        if self.mind is None:
            return logits
        assert self.context is not None
        self.context.carry |= {"representation": z, "logits": logits}
        return logits[: graph.n_nodes]

    def classify(self, z: Tensor) -> Tensor:
        """Logits from the fused representation."""
        logits: Tensor = z[:, : self.n_classes] if self.head is None else self.head(z)
        return logits

    def predict(self, graph: Graph) -> Tensor:
        """Logits of any graph; soft labels of nodes that training never saw are found on the way."""
        if self.mind is None or graph.n_nodes == self.n_nodes:
            return cast("Tensor", self(graph))
        soft = torch.full((graph.n_nodes, self.n_classes), 1 / self.n_classes)
        for _ in range(2):
            with self.mind.visiting(soft.to(graph.labels.device)):
                logits: Tensor = self(graph)
            soft = logits.softmax(dim=1)
        return logits

    @property
    def transductive_reason(self) -> str:
        """Why the network fits no other set of nodes, or nothing."""
        architecture = self.architecture
        if self.encoder_part.uses_structure or any(
            c.input == "nodes" for c in architecture.channels
        ):
            return "takes structure as input, with a weight for every node"
        if any(c.guidance.weight_per_entry for c in architecture.channels):
            return "has a weight for every pair of nodes within reach"
        return ""

    def embed(self, graph: Graph) -> Any:
        """Z, the fused representation before the head, one row per node."""
        return self._states(graph)[: graph.n_nodes]

    def open(self, graph: Graph, *, reads: bool = True) -> Context:
        """What parts see in a forward pass; without `reads` none of them looks at X."""
        if self.mind is None:
            return Context(graph, self.input(graph) if reads else None, self.training, self.common)
        working = self.mind.extended(graph, lambda: self.input(graph))
        x = working.features if reads else None
        context = Context(working, x, self.training, self.common)
        context.n_virtual = self.n_classes
        nodes = global_node_ids(graph)
        hidden = self.mind.hide(nodes) if self.training else None
        context.carry |= {"desired": self.mind.desired(hidden, nodes), "hidden": hidden}
        return context

    def start(self, graph: Graph, n_layers: int) -> Start:
        """The first layers of a pass; only of a network whose channels share their layers."""
        self.check(graph)
        self.context = None
        context = self.open(graph)
        states = self._encoded(context)
        self._run(self.stacks[0], states, context, n_layers, head_inside=self.head_inside)
        return Start(context, tuple(states))

    def _states(
        self, graph: Graph, start: Start | None = None, *, head_inside: bool = False
    ) -> Any:
        self.check(graph)
        self.context = None  # what the last pass left behind would else live through this one
        architecture, outputs = self.architecture, []
        context, begun = start.go_on(training=self.training) if start else (self.open(graph), None)
        for layers in self.stacks:
            states = begun or self._encoded(context)
            self._run(layers, states, context, self.n_layers, head_inside=head_inside)
            outputs.append(architecture.fuse(states, self.fuse))
        self.context = context
        if self.combine is None:
            return outputs[0]
        return architecture.combine(outputs, None, self.combine, context)

    def _encoded(self, context: Context) -> list[Any]:
        """Z⁰, which every pass begins with."""
        dropped = apply_dropout(context.x, self.architecture.dropout.input, training=self.training)
        context.initial = self.encoder_part(dropped, self.encoder, context)
        return [context.initial]

    def _run(
        self, layers: Any, states: list[Any], context: Context, last: int, *, head_inside: bool
    ) -> None:
        """Add the states of the layers up to `last` to those that are there."""
        head = self.head if head_inside else None
        for layer in range(len(states), last + 1):
            context.layer = layer
            module, heard = layers[layer - 1], self.hear(states, context)
            ends = head is not None and layer == self.n_layers
            states.append(
                forward_with_folded_head(module, head, heard, context)
                if ends
                else module(heard, context)
            )

    def hear(self, states: list[Any], context: Context) -> dict[str, Any]:
        """The states that channels may listen to, after those of the layers so far."""
        previous, architecture = states[-1], self.architecture
        if architecture.skip is not None:
            previous = architecture.skip(previous, self.skip, context)
        elif context.layer > 1 or not isinstance(self.encoder_part, RawFeatures):
            previous = apply_dropout(
                previous, architecture.dropout.layer, training=context.training
            )
        context.carry["heard"] = previous
        heard = {"previous": previous, "initial": context.initial, "nodes": None}
        return {**heard, "prototypes": previous[-context.n_virtual :]} if self.mind else heard

    def input(self, graph: Graph) -> Features:
        """X, each row divided as `feature_norm` says, once per graph."""
        norm = str(self.architecture.feature_norm)
        x: Features = graph.cached(("features", norm), lambda: normalize_rows(graph.features, norm))
        return x

    def initialize_states(self, graph: Graph, nodes: Tensor) -> None:
        """What the belief and the losses of the architecture must do before training begins."""
        if self.mind is not None:
            self.mind.begin(graph, self.input(graph), nodes)
        for term, w in zip(self.architecture.losses, self.terms, strict=True):
            term.initialize(self, graph, nodes, w)

    def loss(
        self, logits: Tensor, graph: Graph, nodes: Tensor, *, n_represented: float | None = None
    ) -> Tensor:
        """The classification loss on `nodes` plus the terms of the architecture, after a forward pass.

        In a batch the nodes are `standing_for` all training nodes, beside whose weight that of the
        prototypes, which are in every batch, must not grow.
        """
        form, labels, asked = self.method.loss, graph.labels, nodes
        options: dict[str, Any] = {"form": form, "weights": self.class_weights}
        if self.mind is not None:
            logits, labels, asked = self._asked(nodes)
            options["rest"] = (self.n_classes, n_represented) if n_represented else None
        total = classification(logits[asked], labels[asked], **options)
        assert self.context is not None, "call the network before its loss"
        for term, w in zip(self.architecture.losses, self.terms, strict=True):
            total = total + term(self, self.context, nodes, w)
        return total

    def _asked(self, nodes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits and labels of nodes and prototypes, and which of them the loss asks for."""
        assert self.context is not None
        carry, labels = self.context.carry, self.context.graph.labels
        hidden = carry["hidden"]
        kept = nodes if hidden is None else nodes[hidden[nodes]]
        prototypes = torch.arange(len(labels) - self.n_classes, len(labels), device=nodes.device)
        return carry["logits"], labels, torch.cat([kept, prototypes])

    @property
    def learns_from_training(self) -> bool:
        """Whether the belief takes up predictions of the training pass, as one program does."""
        return self.mind is not None and self.mind.belief.pseudo_labels == "training"

    def update_states(self, graph: Graph, logits: Tensor) -> None:
        """Let the belief take up new predictions, after validation improved."""
        if self.mind is not None:
            self.mind.believe(graph, logits.detach().softmax(dim=1))

    def check(self, graph: Graph) -> None:
        """Refuse a graph that the weights do not fit."""
        if graph.n_features != self.n_features:
            raise HeterophilyError(
                f"{self.method.name} was built for {self.n_features} features, "
                f"{graph.name} has {graph.n_features}"
            )
        whole = graph.full_graph if isinstance(graph, Batch) else graph
        if whole.n_nodes != self.n_nodes and self.transductive_reason:
            raise HeterophilyError(
                f"{self.method.name} {self.bound}: it was built for {self.n_nodes} nodes and cannot "
                f"take the {whole.n_nodes} of {graph.name}; fit it anew, or choose another model"
            )
