"""The weighted compatibility matrix M̃ of a trained network: which classes its messages come from.

M̃ = (CᵀC)⁻¹ Cᵀ (A_r ⊙ B_r) C for every channel r of every layer (Zheng et al., NeurIPS 2025, Definition 3.3). The
weights are those that the guidance B_r applies after training, without dropout. Entries may be negative.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.core.compatibility import weighted_compatibility
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.sparse import Matrix
from heterophily.htmp.channel import Operator
from heterophily.htmp.layer import Layer
from heterophily.htmp.network import Network
from heterophily.htmp.parts import Context


def weighted_compatibilities(network: Network, graph: Graph, labels: Tensor | None = None) -> dict[str, Tensor]:
    """Return M̃ of every channel of every layer, (K, K) each, by a name such as `layer 1, B^d`.

    Parameters
    ----------
    network
        Trained network.
    graph
        Graph to which the network is applied.
    labels
        Classes of the nodes, (N,), for example predicted ones. By default those of the graph; unlabeled nodes
        are ignored.
    """
    labels = graph.labels if labels is None else labels
    matrices: dict[str, Tensor] = {}
    training = network.training
    try:
        with torch.no_grad():
            context = network.eval().encode(graph)
            for number, layers in enumerate(network.stacks):
                for layer in range(1, network.n_layers + 1):
                    context.layer = layer
                    if len(context.outputs) == number:
                        context.outputs.append([context.outputs[0][0]])
                    network.set_inputs(context.outputs[number][-1], context)
                    matrices |= _of_layer(layers[layer - 1], context, labels, graph.n_classes, matrices)
                    context.outputs[number].append(layers[layer - 1](context))
    finally:
        network.train(training)
    return matrices


def predicted_compatibilities(network: nn.Module, graph: Graph) -> dict[str, Tensor]:
    """Return M̃ of every channel and layer, with the predicted classes of unlabeled nodes."""
    if not isinstance(network, Network):
        raise HeterophilyError("only a single network sends messages, not trees and ensembles; fit one method")
    with torch.no_grad():
        predicted = network.eval()(graph).argmax(dim=1)
    return weighted_compatibilities(network, graph, torch.where(graph.labels >= 0, graph.labels, predicted))


def _of_layer(
    layer: Layer, context: Context, labels: Tensor, n_classes: int, known: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Return the matrices of one layer. Virtual nodes, which represent the classes, send but do not receive."""
    inputs = layer.channel_inputs(context)
    operators = layer.operators(inputs, layer.transform_inputs(inputs, context), context)
    everyone = torch.cat([labels, context.graph.labels[len(labels) :]])
    matrices: dict[str, Tensor] = {}
    for channel, operator in zip(layer.channels, operators, strict=True):
        senders = everyone[len(labels) :] if channel.input == "prototypes" else everyone
        sums = _aggregate(operator, _one_hot(senders, n_classes))[: len(labels)]
        name = _unused(f"layer {context.layer}, {channel.symbol}", {*known, *matrices})
        matrices[name] = weighted_compatibility(sums, labels)
    return matrices


def _one_hot(labels: Tensor, n_classes: int) -> Tensor:
    hot = F.one_hot(labels.clamp_min(0), n_classes).to(torch.get_default_dtype())
    return hot * (labels >= 0).unsqueeze(1)


def _aggregate(operator: Operator, classes: Tensor) -> Tensor:
    """Return (A ⊙ B) C, the mean over the heads if there are several."""
    operator = getattr(operator, "heads", operator)  # of an operator that concatenates its heads
    if isinstance(operator, Matrix) and operator.values.dim() == 2:
        heads = operator.values.shape[1]
        return (operator @ classes.unsqueeze(1).expand(-1, heads, -1).contiguous()).mean(dim=1)
    return operator @ classes


def _unused(name: str, taken: set[str]) -> str:
    candidates = [name, *(f"{name} ({i})" for i in range(2, 100))]
    return next(each for each in candidates if each not in taken)
