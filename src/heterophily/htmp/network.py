"""One network for all architectures: together with `layer.py`, the engine of message passing.

Z⁰ = encoder(X);  Z_r = (A_r ⊙ B_r) Z^(l-1) W_r;  Z^l = COMBINE(Z_1, .., Z_R);  Z = FUSE(Z⁰, .., Z^L)
"""

import dataclasses
import hashlib
from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Features, Graph
from heterophily.htmp.architecture import Architecture
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import SingleChannel
from heterophily.htmp.encoder import RawFeatures, normalize_rows
from heterophily.htmp.execution.batch import Batch, full_graph_of
from heterophily.htmp.execution.inputs import graph_of_data, labels_of_data, without_gradients
from heterophily.htmp.layer import Layer
from heterophily.htmp.losses import classification
from heterophily.htmp.method import Method, complete_architecture
from heterophily.htmp.module import GraphModule, in_own_dtype
from heterophily.htmp.neighborhoods import adjacency_of, to_default_dtype
from heterophily.htmp.parts import Context, GraphLike, Sizes, Weights, X, apply_dropout
from heterophily.htmp.state import State

if TYPE_CHECKING:
    from torch_geometric.data import Data


WEIGHT_PER_PAIR = "has one weight per pair of nodes"  # why a network fits only one graph


class Network(GraphModule):
    """A method with its weights: `network(graph)` returns logits (N, K).

    `network(x, edge_index, edge_weight)` and `network(data)` accept the tensors and the `Data` of PyTorch Geometric.
    """

    states: Sequence[State]
    stacks: Sequence[Sequence[Layer]]

    def __init__(self, method: Method, graph: Graph) -> None:
        super().__init__()
        self.method, self.architecture = method, complete_architecture(method)
        architecture = self.architecture
        self.n_features, self.n_classes = graph.n_features, graph.n_classes
        self.n_nodes = graph.n_nodes
        self.encoder_part = architecture.encoder
        self.transductive_reason = transductive_reason(architecture)
        self.own_edges = edges_checksum(graph) if self.transductive_reason == WEIGHT_PER_PAIR else b""
        self.n_layers = method.n_layers
        if architecture.skip is not None:
            self.n_layers = max(self.n_layers, architecture.skip.min_layers)
        size = Sizes(
            *(graph.n_nodes, graph.n_features, graph.n_classes),
            *(graph.n_features, method.width, len(architecture.channels)),
            adjacency_of=partial(adjacency_of, graph=graph),
        )
        self.encoder = self.encoder_part.weights(size)
        first = self.encoder_part.width(size)
        entry = dataclasses.replace(size, d_in=first)
        self.skip = architecture.skip.weights(entry) if architecture.skip else None
        groups = [(c,) for c in architecture.channels] if architecture.separate_networks else [architecture.channels]
        stacks = [self._stack(size, first, group) for group in groups]
        modules = nn.ModuleList(nn.ModuleList(layers) for layers in stacks)
        self.stacks = cast("Sequence[Sequence[Layer]]", modules)
        widths = [first, *(layer.width for layer in stacks[0])]
        end = dataclasses.replace(size, d_in=widths[-1], d_out=widths[-1])
        self.combine = architecture.combine.weights(end) if architecture.separate_networks else None
        self.common = Weights(**self._shared_weights(size, first))
        self.fuse = architecture.fuse.weights(dataclasses.replace(end, n_layers=self.n_layers))
        head = architecture.head
        self.head = None if head is None else head.weights(architecture.fuse.width(widths), self.n_classes)
        inner = dataclasses.replace(size, d_in=widths[-2], d_out=widths[-2])
        self.terms = nn.ModuleList(term.weights(inner) for term in architecture.losses)
        states = nn.ModuleList(state.create(graph) for state in architecture.states)
        self.states = cast("Sequence[State]", states)
        self.class_weights: Tensor | None = None  # of the classification loss, for unequal classes

    def _stack(self, size: Sizes, first: int, channels: Sequence[Channel]) -> list[Layer]:
        architecture, layers, d_in = self.architecture, [], first
        combine = SingleChannel() if architecture.separate_networks else architecture.combine
        for layer in range(1, self.n_layers + 1):
            widths = architecture.widths or (self.method.width,)
            d_out = widths[min(layer, len(widths)) - 1]
            if layer == self.n_layers and architecture.head is None:
                d_out = size.n_classes
            sized = dataclasses.replace(
                size, d_in=d_in, d_out=d_out, layer=layer, n_layers=self.n_layers, n_channels=len(channels)
            )
            layers.append(Layer(self.method, architecture, sized, channels, combine))
            d_in = layers[-1].width
        return layers

    def _shared_weights(self, size: Sizes, first: int) -> dict[str, nn.Module | nn.Parameter]:
        sized = dataclasses.replace(size, d_in=first, d_out=first)
        weights = dict(self.architecture.combine.shared_weights(sized))
        for channel in self.architecture.channels:
            weights |= channel.guidance.shared_weights(sized)
        return weights

    @override
    def run(self, graph: GraphLike | Context) -> Tensor:
        """Return logits (N, K) of a graph, or of a pass that continues from a `Context`."""
        self.context = None  # frees what the last pass retained
        context = graph if isinstance(graph, Context) else self.encode(graph)
        logits = self.classify(self.propagate(context, self.n_layers))
        context.outputs, self.context = [], context  # losses read the context
        return logits

    def encode(self, graph: GraphLike) -> Context:
        """Prepare the states and compute Z⁰."""
        self.check(graph)
        unknown = [s for s in self.states if s.recognized is not graph or s.recognition != "checksum"]
        adapted = [state for state in unknown if state.needs_adaptation(graph)]
        try:
            for state in adapted:
                state.adapt(graph, lambda: self._evaluate(without_gradients(graph)))
            context = self.open(graph)
        finally:
            for state in adapted:
                state.end_adaptation()
        context.outputs.append([self._initial(context)])
        return context

    def propagate(self, context: Context, until_layer: int) -> Context:
        """Run the layers up to `until_layer`."""
        for number, layers in enumerate(self.stacks):
            if number == len(context.outputs):
                context.outputs.append([self._initial(context)])
            outputs = context.outputs[number]
            for layer in range(len(outputs), until_layer + 1):
                context.layer = layer
                self.set_inputs(outputs[-1], context)
                outputs.append(layers[layer - 1](context))
        return context

    def classify(self, context: Context) -> Tensor:
        """Apply FUSE and the head; return the logits of all real nodes."""
        z = _drop(self.fused(context), self.architecture.dropout.head, context)
        logits = self.logits(z)
        if not context.n_virtual:
            return logits
        context.representation, context.logits = z, logits
        return logits[: -context.n_virtual]

    def fused(self, context: Context) -> Tensor:
        """Return FUSE(Z⁰, .., Z^L); separate networks are combined afterwards."""
        fused = [self.architecture.fuse(cast("list[Tensor]", outputs), self.fuse) for outputs in context.outputs]
        if self.combine is None:
            return fused[0]
        return self.architecture.combine(fused, None, self.combine, context)

    def logits(self, z: Tensor) -> Tensor:
        """Apply the head to fused representations."""
        logits: Tensor = z[:, : self.n_classes] if self.head is None else self.head(z)
        return logits

    @in_own_dtype
    def embed(self, graph: "GraphLike | Data") -> Tensor:
        """Return Z, the fused representation before the head, one row per node."""
        graph = self.as_graph(graph)
        context = self.propagate(self.encode(graph), self.n_layers)
        return self.fused(context)[: graph.n_nodes]

    def open(self, graph: GraphLike, *, with_features: bool = True) -> Context:
        """Return the context of a pass, in which the states have prepared their values."""
        working, n_virtual = graph, 0
        for state in self.states:
            working = state.add_virtual_nodes(working, lambda: self.input(graph))
            n_virtual += state.n_virtual
        x = (working.features if n_virtual else self.input(graph)) if with_features else None
        bound: dict[Hashable, Any] = working.cached("bound operators", dict)
        context = Context(working, cast("Features", x), self.training, self.common, n_virtual=n_virtual, bound=bound)
        context.labels = working.labels
        context.states = self.states
        for state in self.states:
            state.prepare(context)
        return context

    def _initial(self, context: Context) -> Features:
        x = _drop(context.x, self.architecture.dropout.input, context)
        context.initial = self.encoder_part(x, self.encoder, context)
        return context.initial

    def set_inputs(self, previous: Features, context: Context) -> None:
        """Set the inputs of the channels of a layer from the output of the previous layer."""
        architecture = self.architecture
        if architecture.skip is not None:
            previous = architecture.skip(previous, self.skip, context)
        elif context.layer > 1 or not isinstance(self.encoder_part, RawFeatures):
            previous = _drop(previous, architecture.dropout.layer, context)
        context.inputs = {"previous": previous, "initial": context.initial, "nodes": None}
        if context.n_virtual:
            context.inputs["prototypes"] = cast("Tensor", previous)[-context.n_virtual :]

    def _evaluate(self, graph: GraphLike) -> Tensor:
        """Return logits without dropout and gradients."""
        training = self.training
        try:
            with torch.no_grad():
                logits: Tensor = self.eval()(graph)
        finally:
            self.train(training)
        return logits

    def input(self, graph: GraphLike) -> Features:
        """Return X, normalized by the setting `feature_norm`, in the default dtype of PyTorch, once per graph."""
        norm = str(self.architecture.feature_norm)
        x: Features = graph.cached(("features", norm), lambda: normalize_rows(to_default_dtype(graph.features), norm))
        return x

    @in_own_dtype
    def initialize_states(self, graph: "Graph | Data", nodes: Tensor, *, block: int | None = None) -> None:
        """Initialize the states of the network. Call this before the first forward pass.

        Parameters
        ----------
        graph
            The training graph, without the labels that training must not use.
        nodes
            The training nodes.
        block
            Number of rows of X to process at a time; None for all.
        """
        graph = graph_of_data(graph)
        for state in self.states:
            state.initialize(self, graph, nodes, block=block)

    @in_own_dtype
    def update_states(self, graph: "Graph | Data", logits: Tensor, *, training_logits: Tensor | None = None) -> None:
        """Update the states of the network. Call this whenever validation improves.

        Parameters
        ----------
        graph
            The training graph, without the labels that training must not use.
        logits
            Logits of an evaluation pass.
        training_logits
            Logits of the last training pass, for states that use them instead.
        """
        graph = graph_of_data(graph)
        for state in self.states:
            replaces = training_logits is not None and state.update_from == "training"
            state.update(graph, cast("Tensor", training_logits) if replaces else logits)

    def state_summary(self) -> dict[str, Tensor]:
        """Return values of the states for reports, such as `compatibility`."""
        return {name: value for state in self.states for name, value in state.summary().items()}

    @in_own_dtype
    def loss(
        self, logits: Tensor, graph: "GraphLike | Data", nodes: Tensor, *, n_represented: float | None = None
    ) -> Tensor:
        """Return the classification loss on `nodes` plus the auxiliary losses, after a forward pass.

        Parameters
        ----------
        logits
            Logits of all nodes, (N, K). Logits of virtual nodes come from the forward pass.
        graph
            The graph, batch, or `Data` of the forward pass, with labels.
        nodes
            Training nodes.
        n_represented
            Total weight of the training nodes that a batch represents; None for a full graph.
        """
        self._require_initialized(self.states)
        context, used = self.context, nodes
        assert context is not None
        labels = graph.labels if isinstance(graph, Graph | Batch) else labels_of_data(graph)
        if context.n_virtual:
            labels = torch.cat([labels, context.graph.labels[-context.n_virtual :]])
            logits = torch.cat([logits, cast("Tensor", context.logits)[-context.n_virtual :]])
        context.labels = labels
        for state in self.states:
            used = state.loss_nodes(context, used)
        virtual = (context.n_virtual, n_represented) if n_represented and context.n_virtual else None
        total = classification(
            logits[used], labels[used], form=self.method.loss, weights=self.class_weights, virtual=virtual
        )
        for term, w in zip(self.architecture.losses, self.terms, strict=True):
            total = total + term(self, context, nodes, w)
        return total

    def check(self, graph: GraphLike) -> None:
        """Raise an error for a graph that does not fit, or if the states are not initialized."""
        name = self.method.name
        if graph.n_features != self.n_features:
            raise HeterophilyError(
                f"{name} was built for {self.n_features} features, but graph {graph.name!r} has "
                f"{graph.n_features}; build it for this graph"
            )
        reason = self.transductive_reason
        if reason and getattr(graph, "n_id", None) is not None:
            raise HeterophilyError(f"{name} {reason} and accepts no subgraphs of loaders; pass the full graph")
        if reason and (n_nodes := full_graph_of(graph).n_nodes) != self.n_nodes:
            raise HeterophilyError(
                f"{name} {reason} and was built for {self.n_nodes} nodes, but graph "
                f"{graph.name!r} has {n_nodes}; refit it on this graph or use an inductive model such as gcn"
            )
        if self.own_edges and edges_checksum(full_graph_of(graph)) != self.own_edges:
            raise HeterophilyError(
                f"{name} {reason} and was built for other edges than those of graph {graph.name!r}; refit it on this "
                "graph or use an inductive model such as gcn"
            )
        self._require_initialized([state for state in self.states if state.used_in_forward])

    def _require_initialized(self, states: Sequence[State]) -> None:
        if not all(state.initialized for state in states):
            raise HeterophilyError(
                f"{self.method.name} has not been initialized; call network.initialize_states(graph, "
                "split.train) before the first forward pass, and network.update_states(graph, logits) "
                "whenever validation improves"
            )


def _drop(x: X, rate: float | None, context: Context) -> X:
    return apply_dropout(x, rate, training=True) if context.training and rate else x


def edges_checksum(graph: Graph) -> bytes:
    """Return the SHA-256 of the symmetrized edges."""
    pattern = graph.symmetric

    def compute() -> bytes:
        arrays = [each.long().cpu().numpy().tobytes() for each in (pattern.indptr, pattern.indices)]
        return hashlib.sha256(b"".join(arrays)).digest()

    return graph.cached("checksum of edges", compute)


def transductive_reason(architecture: Architecture) -> str:
    """Return why a network fits no other set of nodes; empty if it is inductive."""
    channels = architecture.channels
    if architecture.encoder.uses_structure or any(c.input == "nodes" for c in channels):
        return "has one weight per node"
    if any(c.guidance.weight_per_entry for c in channels):
        return WEIGHT_PER_PAIR
    return ""
