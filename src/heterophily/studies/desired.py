"""The desired compatibility matrix: the one that a trained method effectively aggregates with (Appendix D).

Methods that mix channels of a fixed filter rebuild an adjacency T = Σ_r diag(α_r) (A_r ⊙ B_r) with learned
weights α; then C_nb = T C takes the place of R C, and M_des = norm1(Cᵀ C_nb). Two kinds of methods allow it:

* propagation without weights in between (GPR-GNN, APPNP): T C is what the layers and FUSE of the network
  make of C in place of Z⁰, so T = Σ_k γ_k S°^k for GPR-GNN;
* COMBINE with one weight per node and channel (ACM-GCN): T C of the last layer,
  C_nb = α_L ⊙ P C + α_H ⊙ (C - P C).

The conjecture of the paper: message passing works by making M more discriminable.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from heterophily.core.chart import Chart, file_name, matrix_chart
from heterophily.core.compatibility import discriminability, norm1, observed_compatibility
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.htmp.adaptive import AdaptiveSum, DegreeGatedSum
from heterophily.htmp.architecture import Architecture
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import Add, SingleChannel, WeightedAdd
from heterophily.htmp.fuse import LastLayer, WeightedLayerSum
from heterophily.htmp.guidance import ChannelInput, Complement, FixedGuidance, Ones
from heterophily.htmp.method import Method, complete_architecture, make_method
from heterophily.htmp.neighborhoods import Ego
from heterophily.htmp.network import Network
from heterophily.htmp.part import Context
from heterophily.htmp.transform import NoTransform
from heterophily.models import Model, find_method
from heterophily.models.settings import tuned
from heterophily.studies.matrices import (
    MATRICES,
    class_names,
    matrix_of,
    matrix_rows,
    observed_chart,
)
from heterophily.studies.study import CLASSES, Study
from heterophily.studies.tidy import Row, Rows, StudyData, Tables, filter_rows, unique_values
from heterophily.studies.trials import Trial, run_trials, trials_of

NAME = "desired"
METHODS = ("acm-gcn", "gpr-gnn")  # those of the paper
FIXED = (FixedGuidance, Complement, Ones)  # guidance that does not look at the state


def study_desired(
    graph: Graph,
    models: Sequence[Model] = METHODS,
    *,
    workers: int = 1,
    out: Path | str | None = None,
    **options: Any,
) -> StudyData:
    """Discriminability of the observed and of the desired matrix per split; matrices of the first one.

    Options are those of `trials_of`.
    """
    for model in models:
        cls = find_method(model)
        given = options.get("settings") or {}
        way_of(make_method(cls, {**tuned(cls.name, graph.name), **given}))
    trials = [trial for model in models for trial in trials_of(graph, model, **options)]
    study = StudyData.opened(NAME, out)
    run_trials(trials, measure, study, workers=workers)
    return study


def measure(trial: Trial) -> Tables:
    """Discriminability and, on the first split, the matrices of one run."""
    trained, graph = trial.train(), trial.graph
    observed = observed_compatibility(graph.symmetric, graph.labels, graph.n_classes)
    desired = desired_compatibility(trained.network, graph)
    row: Row = {
        "discriminability_observed": discriminability(observed),
        "discriminability_desired": discriminability(desired),
        "test_accuracy": trained.test_accuracy,
    }
    if not trial.first:
        return {"": [row]}
    names = class_names(graph)
    shown = matrix_rows(observed, names, kind="observed")
    return {"": [row], MATRICES: shown + matrix_rows(desired, names, kind="desired")}


def desired_compatibility(network: Network, graph: Graph, *, ego: bool = False) -> Tensor:
    """M_des = norm1(Cᵀ T C), (K, K), with the T of a trained network; `ego` counts the ego channel too."""
    labels = graph.labels
    one_hot = F.one_hot(labels.clamp_min(0), graph.n_classes).double() * (labels >= 0).unsqueeze(1)
    place = next(network.parameters()).device
    moved = graph if graph.labels.device == place else graph.to(place)
    way = way_of(network.method)
    with torch.no_grad():
        network.eval()(moved)
        c = one_hot.to(place, torch.get_default_dtype())
        spread = propagated(network, c) if way == "propagation" else mixed(network, c, ego=ego)
    return norm1(one_hot.T @ spread.cpu().double()[: graph.n_nodes])


def way_of(method: Method) -> str:
    """`propagation` or `mixing`: how T follows from the weights; an error if it does not."""
    architecture = complete_architecture(method)
    heard = [c for c in architecture.channels if c.input in ("previous", "initial")]
    fixed = all(isinstance(c.guidance, FIXED) for c in heard)
    if fixed and not architecture.separate_networks and architecture.skip is None:
        known = isinstance(architecture.combine, SingleChannel | Add | WeightedAdd)
        summed = type(architecture.fuse) in (LastLayer, WeightedLayerSum)
        if (
            type(architecture.transform) is NoTransform
            and known
            and summed
            and _is_linear(method, architecture)
        ):
            return "propagation"
        if isinstance(
            architecture.combine, SingleChannel | Add | WeightedAdd | AdaptiveSum | DegreeGatedSum
        ):
            return "mixing"
    raise HeterophilyError(
        f"{method.name} does not mix fixed filters with known weights, so it has no desired "
        f"compatibility matrix; take one like {' or '.join(METHODS)}"
    )


def _is_linear(method: Method, architecture: Architecture) -> bool:
    plain = not method.residual and method.norm == "none"
    return plain and architecture.activation == "none" and architecture.message_activation == "none"


def propagated(network: Network, c: Tensor) -> Tensor:
    """T C = FUSE(C, Z¹, .., Z^L), the layers of the network run on C in place of Z⁰."""
    context = _scene(network)
    states = [c]
    for number, layer in enumerate(cast("Any", network.stacks[0]), start=1):
        context.layer = number
        states.append(layer({"previous": states[-1], "initial": c}, context))
    fused: Tensor = network.architecture.fuse(states, network.fuse)
    return fused


def mixed(network: Network, c: Tensor, *, ego: bool) -> Tensor:
    """T C = Σ_r α_r ⊙ (A_r ⊙ B_r) C over the channels of the last layer, the structure channel left out.

    Prototypes have their class as label, so the supplementary channel of CMGNN contributes α ⊙ B_sup.
    """
    context, architecture = _scene(network), network.architecture
    own = torch.eye(c.shape[1], dtype=c.dtype, device=c.device)
    every = torch.cat([c, own]) if context.n_virtual else c
    total = torch.zeros_like(every)
    for weight, channel in zip(mixing_weights(network), architecture.channels, strict=True):
        alone = isinstance(channel.neighborhood, Ego) and len(architecture.channels) > 1
        if channel.input == "nodes" or (alone and not ego):
            continue
        heard = own if channel.input == "prototypes" else every
        total = total + weight * (_operator(channel, context) @ heard)
    return total


def mixing_weights(network: Network) -> list[Any]:
    """α_r per channel of the last layer, (N, 1) each or one number, after an evaluation."""
    combine, count = network.architecture.combine, len(network.architecture.channels)
    if isinstance(combine, AdaptiveSum | DegreeGatedSum):
        return list(_scene(network).aux_outputs["alpha"][-1].split(1, dim=1))
    if isinstance(combine, WeightedAdd):
        return [combine.first, 1 - combine.first if combine.second is None else combine.second]
    return [1.0] * count


def _operator(channel: Channel, context: Context) -> Any:
    graph, hood = context.graph, channel.neighborhood
    adjacency = graph.cached(hood, lambda: hood.adjacency(graph))
    nothing: Any = None  # fixed guidance does not look at states
    return channel.guidance.operator(
        ChannelInput(channel, adjacency, nothing, nothing, context), None
    )


def _scene(network: Network) -> Context:
    assert network.context is not None
    return network.context


def charts(tables: Tables) -> list[Chart]:
    """Return per dataset the observed matrix and the one that each method desires."""
    rows = tables.get(f"{NAME}-{MATRICES}", [])
    return [
        chart
        for dataset in unique_values(rows, "dataset")
        for chart in _charts(filter_rows(rows, dataset=dataset))
    ]


def _charts(rows: Rows) -> list[Chart]:
    dataset, models = rows[0]["dataset"], unique_values(rows, "model")
    observed, names = matrix_of(filter_rows(rows, model=models[0], kind="observed"))
    matrices = {m: matrix_of(filter_rows(rows, model=m, kind="desired"))[0] for m in models}
    every = (observed, *matrices.values())
    place: Any = {
        "peak": max(float(abs(matrix).max()) for matrix in every),
        "signed": any(bool((matrix < -0.005).any()) for matrix in every),
        "file": f"{NAME}-{file_name(dataset)}",
        "dataset": dataset,
        "scale": "share",
    }
    first = observed_chart(observed, names, **place, panel=_panel(f"{dataset}: observed", observed))
    return [
        first,
        *(
            matrix_chart(
                matrix.tolist(),
                names,
                f"Desired by {model}",
                caption="The matrix that the trained method effectively aggregates with.",
                method=model,
                panel=_panel(f"desired by {model}", matrix),
                **place,
            )
            for model, matrix in matrices.items()
        ),
    ]


def _panel(title: str, matrix: Any) -> str:
    return f"{title}\ndiscriminability {discriminability(torch.from_numpy(matrix)):.2f}"


STUDY = Study(
    NAME,
    "Desired compatibility",
    "The compatibility matrix that a trained method effectively aggregates with.",
    topic=CLASSES,
    charts=charts,
    files=(NAME,),
)
