"""The desired compatibility matrix: the one that a trained method effectively aggregates with (Appendix D).

Methods that mix channels of a fixed filter rebuild an adjacency T = Σ_r diag(α_r) (A_r ⊙ B_r) with learned
weights α; then C_nb = T C takes the place of R C, and M_des = norm1(Cᵀ C_nb). Two kinds of methods allow it:

* propagation without weights in between (GPR-GNN, APPNP): T C is what the layers and FUSE of the network
  make of C in place of Z⁰, so T = Σ_k γ_k S°^k for GPR-GNN;
* COMBINE with one weight per node and channel (ACM-GCN): T C of the last layer,
  C_nb = α_L ⊙ P C + α_H ⊙ (C - P C).

The conjecture of the paper: message passing works by making M more discriminable.
"""

from dataclasses import dataclass
from typing import Annotated, Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from heterophily.core.chart import Chart, MatrixOptions, Table, file_name, matrix_chart, number_text
from heterophily.core.compatibility import discriminability, norm1, observed_compatibility
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split
from heterophily.core.types import FloatArray
from heterophily.htmp.architecture import Architecture
from heterophily.htmp.channel import Channel, Operator
from heterophily.htmp.combine import AdaptiveSum, Add, SingleChannel, WeightedAdd
from heterophily.htmp.fuse import ConcatLayers, LastLayer
from heterophily.htmp.guidance import ChannelInput, Complement, FixedGuidance, Ones
from heterophily.htmp.method import Method, complete_architecture, make_method
from heterophily.htmp.neighborhoods import Ego, adjacency_of
from heterophily.htmp.network import Network
from heterophily.htmp.parts import Context
from heterophily.htmp.transform import NoTransform
from heterophily.models import find_method
from heterophily.models.cmgnn.parts import DegreeGatedSum
from heterophily.models.gpr_gnn import WeightedLayerSum
from heterophily.models.settings import merge_settings
from heterophily.runs.job import Job
from heterophily.runs.measures import FinalMeasure, Trained
from heterophily.runs.record import Record
from heterophily.studies.compatibility import (
    MATRICES,
    class_names,
    matrix_of,
    matrix_rows,
    observed_chart,
    split_tables,
)
from heterophily.studies.study import CLASSES, MODELS, Models, Study, StudyJob, TrainingOptions, model_jobs
from heterophily.studies.tidy import Row, Rows, Tables, describe_splits, filter_rows, group_rows, mean_of, unique_values

NAME = "desired"
METHODS = ("acm-gcn", "gpr-gnn")  # those of the paper
FIXED = (FixedGuidance, Complement, Ones)  # guidance that does not look at the state


@dataclass(frozen=True, kw_only=True)
class DesiredOptions(TrainingOptions):
    models: Annotated[Models, MODELS] = METHODS


def jobs(options: DesiredOptions, graph: Graph) -> list[StudyJob]:
    for model in options.models:
        method = find_method(model)
        values, _ = merge_settings(method.name, graph.name, overrides=options.settings)
        aggregation_kind(make_method(method, values))  # raises an error if the method has no desired matrix
    return model_jobs(options, graph, options.models, table=NAME, measure=f"{__name__}:desired_rows")


def desired_rows(job: Job, graph: Graph, split: Split) -> FinalMeasure:
    """Measure the discriminability of the observed and of the desired matrix."""

    def measure(trained: Trained) -> Rows:
        observed = observed_compatibility(graph.symmetric, graph.labels, graph.n_classes)
        desired = desired_compatibility(trained.network, graph)
        main: Row = {
            "discriminability_observed": discriminability(observed),
            "discriminability_desired": discriminability(desired),
            "test_accuracy": trained.test_accuracy,
        }
        names = class_names(graph)
        matrices = matrix_rows(observed, names, kind="observed")
        matrices += matrix_rows(desired, names, kind="desired")
        return [{"table": "", **main}, *({"table": MATRICES, **row} for row in matrices)]

    return FinalMeasure(measure)


def rows(job: StudyJob, record: Record) -> Tables:
    return split_tables(record.rows("desired_rows"), matrices=job.first)


def desired_compatibility(network: Network, graph: Graph, *, ego: bool = False) -> Tensor:
    """M_des = norm1(Cᵀ T C), (K, K), with the T of a trained network; `ego` counts the ego channel too."""
    labels = graph.labels
    one_hot = F.one_hot(labels.clamp_min(0), graph.n_classes).double() * (labels >= 0).unsqueeze(1)
    place = next(network.parameters()).device
    moved = graph if graph.labels.device == place else graph.to(place)
    way = aggregation_kind(network.method)
    with torch.no_grad():
        network.eval()(moved)
        c = one_hot.to(place, torch.get_default_dtype())
        spread = propagated(network, c) if way == "propagation" else apply_mixing(network, c, ego=ego)
    return norm1(one_hot.T @ spread.cpu().double()[: graph.n_nodes])


def aggregation_kind(method: Method) -> str:
    """`propagation` or `mixing`: how T follows from the weights; an error if it does not."""
    architecture = complete_architecture(method)
    inputs = [c for c in architecture.channels if c.input in ("previous", "initial")]
    fixed = all(isinstance(c.guidance, FIXED) for c in inputs)
    if fixed and not architecture.separate_networks and architecture.skip is None:
        known = isinstance(architecture.combine, SingleChannel | Add | WeightedAdd)
        summed = type(architecture.fuse) in (LastLayer, WeightedLayerSum)
        if type(architecture.transform) is NoTransform and known and summed and _is_linear(method, architecture):
            return "propagation"
        mixed = isinstance(architecture.combine, SingleChannel | Add | WeightedAdd | AdaptiveSum | DegreeGatedSum)
        if mixed and (summed or isinstance(architecture.fuse, ConcatLayers)):
            return "mixing"
    raise HeterophilyError(
        f"{method.name} does not mix fixed filters with known weights, so it has no desired "
        f"compatibility matrix; use a method such as {' or '.join(METHODS)}"
    )


def _is_linear(method: Method, architecture: Architecture) -> bool:
    plain = not method.residual and method.norm == "none"
    return plain and architecture.activation == "none" and architecture.message_activation == "none"


def propagated(network: Network, c: Tensor) -> Tensor:
    """T C = FUSE(C, Z¹, .., Z^L), the layers of the network run on C in place of Z⁰."""
    context = _context(network)
    states = [c]
    for number, layer in enumerate(cast("Any", network.stacks[0]), start=1):
        context.layer = number
        context.inputs = {"previous": states[-1], "initial": c}
        states.append(layer(context))
    fused: Tensor = network.architecture.fuse(states, network.fuse)
    return fused


def apply_mixing(network: Network, c: Tensor, *, ego: bool) -> Tensor:
    """T C = Σ_r α_r ⊙ (A_r ⊙ B_r) C over the channels of the last layer, without the structure channel.

    Prototypes have their class as label, so the supplementary channel of CMGNN contributes α ⊙ B_sup.
    """
    context, architecture = _context(network), network.architecture
    own = torch.eye(c.shape[1], dtype=c.dtype, device=c.device)
    every = torch.cat([c, own]) if context.n_virtual else c
    total = torch.zeros_like(every)
    for weight, channel in zip(mixing_weights(network), architecture.channels, strict=True):
        alone = isinstance(channel.neighborhood, Ego) and len(architecture.channels) > 1
        if channel.input == "nodes" or (alone and not ego):
            continue
        received = own if channel.input == "prototypes" else every
        total = total + weight * (_operator(channel, context) @ received)
    return total


def mixing_weights(network: Network) -> list[Any]:
    """α_r per channel of the last layer, (N, 1) each or one number, after an evaluation."""
    combine, count = network.architecture.combine, len(network.architecture.channels)
    if isinstance(combine, AdaptiveSum | DegreeGatedSum):
        return list(_context(network).aux_outputs["alpha"][-1].split(1, dim=1))
    if isinstance(combine, WeightedAdd):
        return [combine.first, 1 - combine.first if combine.second is None else combine.second]
    return [1.0] * count


def _operator(channel: Channel, context: Context) -> Operator:
    adjacency = adjacency_of(channel.neighborhood, context.graph)
    nothing: Any = None  # fixed guidance does not look at states
    return channel.guidance.operator(ChannelInput(channel, adjacency, nothing, nothing, context), None)


def _context(network: Network) -> Context:
    assert network.context is not None
    return network.context


def charts(tables: Tables) -> list[Chart]:
    """Return per dataset the observed matrix and the one that each method desires."""
    datasets = group_rows(tables.get(f"{NAME}-{MATRICES}", []), "dataset")
    return [chart for group in datasets.values() for chart in _charts(group)]


def _charts(rows: Rows) -> list[Chart]:
    dataset, models = rows[0]["dataset"], unique_values(rows, "model")
    observed, names = matrix_of(filter_rows(rows, model=models[0], kind="observed"))
    matrices = {m: matrix_of(filter_rows(rows, model=m, kind="desired"))[0] for m in models}
    every = (observed, *matrices.values())
    place: MatrixOptions = {
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


def _panel(title: str, matrix: FloatArray) -> str:
    return f"{title}\ndiscriminability {discriminability(torch.from_numpy(matrix)):.2f}"


def discriminabilities(data: Tables) -> list[tuple[str, str, float, float]]:
    """Return dataset, method, and the mean discriminability of the observed and the desired matrix."""
    groups = group_rows(data.get(NAME, []), "dataset", "model")
    observed, desired = (
        [mean_of(group, f"discriminability_{kind}") or 0.0 for group in groups.values()]
        for kind in ("observed", "desired")
    )
    return [(dataset, model, o, d) for (dataset, model), o, d in zip(groups, observed, desired, strict=True)]


def tables(data: Tables) -> list[Table]:
    cells = [
        [dataset, model, number_text(before, 3), number_text(after, 3)]
        for dataset, model, before, after in discriminabilities(data)
    ]
    return [Table(["dataset", "method", "observed", "desired"], cells)] if cells else []


def findings(data: Tables) -> list[str]:
    """Return how often the desired matrix is more discriminable."""
    cells = discriminabilities(data)
    if not cells:
        return []
    raised = sum(after > before for *_, before, after in cells)
    count = f"in {raised} of {len(cells)} cells, {describe_splits(data[NAME])}"
    return [f"The desired matrix is more discriminable than the observed one {count}."]


def summary(data: Tables) -> list[str]:
    return [
        f"{dataset}, {model}: discriminability {before:.3f} → {after:.3f}"
        for dataset, model, before, after in discriminabilities(data)
    ]


STUDY = Study(
    name=NAME,
    title="Desired compatibility",
    description="Determine the compatibility matrix that a trained method effectively aggregates with.",
    details="""
The table shows the discriminability of the observed matrix and of the desired one. The paper
conjectures that message passing works by increasing it, and shows heat maps of one dataset.
""",
    usage="GRAPH... --models NAME,NAME",
    topic=CLASSES,
    options=DesiredOptions,
    jobs=jobs,
    rows=rows,
    charts=charts,
    tables=tables,
    findings=findings,
    summary=summary,
    files=(NAME,),
)
