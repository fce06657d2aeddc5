"""Ablation: what a method loses without one of its parts (paper, Table 3).

CMGNN loses its supplementary messages, its discrimination loss, or both. Trio loses a channel, its self-loops, the
degree, early stopping by loss, or all members but one. Any other method loses each channel, each loss, and its
structure input in turn, if the rest is a valid architecture. A single channel is replaced by the node itself.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from heterophily.core.chart import Axis, Chart, Mark, Table, file_name
from heterophily.core.graph import Graph
from heterophily.htmp.architecture import Architecture, find_problem_after
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import SingleChannel
from heterophily.htmp.encoder import Embed, Predict
from heterophily.htmp.guidance import Ones
from heterophily.htmp.identity import identity_of
from heterophily.htmp.losses import AuxiliaryLoss
from heterophily.htmp.method import Method, make_method, replace_architecture
from heterophily.htmp.neighborhoods import Ego
from heterophily.models import Model, find_method, trio
from heterophily.models.cmgnn import method as cmgnn
from heterophily.models.cmgnn.method import CMGNN
from heterophily.models.settings import merge_settings
from heterophily.models.trio import Trio
from heterophily.runs.record import Record
from heterophily.studies.study import ACCURACY, Option, Study, StudyJob, TrainingOptions, make_jobs
from heterophily.studies.tidy import (
    Row,
    Rows,
    Tables,
    comparison_with_spread,
    describe_splits,
    filter_rows,
    group_rows,
    mean_of,
    pivot_table,
    unique_values,
)

NAME = "ablation"
FULL = "full"
Change = dict[str, object]  # fields of an architecture


@dataclass(frozen=True, kw_only=True)
class AblationOptions(TrainingOptions):
    model: Annotated[Model, Option("Name of a method, or a Python file.")] = "cmgnn"
    variants: Mapping[str, Method] | None = None  # by default, those that the method has


def jobs(options: AblationOptions, graph: Graph) -> list[StudyJob]:
    # Variants with equal results share their runs.
    base = find_method(options.model)
    values, _ = merge_settings(base.name, graph.name, overrides=options.settings)
    method = make_method(base, options.settings if isinstance(base, Method) else values)
    shared: dict[str, Method] = {}
    every: list[StudyJob] = []
    for variant, changed in (options.variants or variants_of(method)).items():
        every += make_jobs(
            graph,
            shared.setdefault(_effective_identity(changed), changed),
            replace(options, settings={}),  # the variants have their settings
            table=NAME,
            columns={"model": method.name, "variant": variant},
        )
    return every


def _effective_identity(method: Method) -> str:
    """The identity of a method without its name and without losses that have no effect."""
    losses = tuple(x for x in method.architecture().losses if not _has_no_effect(x))
    return identity_of(replace(replace_architecture(method, "", losses=losses), name=""))


def _has_no_effect(loss: AuxiliaryLoss) -> bool:
    """Whether a loss has weight 0 and draws no weights, which would change later random numbers."""
    return type(loss).weights is AuxiliaryLoss.weights and not getattr(loss, "weight", 1)


def rows(job: StudyJob, record: Record) -> Tables:
    row: Row = {
        "test_accuracy": 100 * record.score(),
        "val_accuracy": 100 * record.score("val"),
        "best_epoch": record.run["best_epoch"],
        "n_epochs": record.run["n_epochs"],
        "parameters": record.parameters,
    }
    return {"": [row]}


def in_paper(row: Row) -> float | None:
    """The mean accuracy that the paper prints for the model, variant and dataset of a row, if any."""
    from heterophily.core.errors import HeterophilyError
    from heterophily.data import published as paper

    if row["model"] != "cmgnn":
        return None
    try:
        return paper.ablation(str(row["variant"]).replace(" ", "_"), row["dataset"]).mean
    except HeterophilyError:
        return None


def variants_of(method: Method) -> dict[str, Method]:
    """Return the method, and every valid way to omit one of its parts."""
    if isinstance(method, CMGNN):
        return {FULL: method, **cmgnn.ablation_variants(method)}
    if isinstance(method, Trio):
        return {FULL: method, **trio.ablation_variants(method)}
    full = method.architecture()
    changes = {**_without_channels(full), **_without_losses(full), **_without_structure(full)}
    return {FULL: method} | {
        variant: replace_architecture(method, variant, **change)
        for variant, change in changes.items()
        if not find_problem_after(full, **change)
    }


def _without_channels(full: Architecture) -> dict[str, Change]:
    channels = full.channels
    single = len(channels) <= 2 and not full.separate_networks
    return {
        f"without {name}": {
            "channels": (channels[:number] + channels[number + 1 :]) or (Ego() * Ones(),),
            "combine": SingleChannel() if single else full.combine,
        }
        for number, name in enumerate(_names_of(channels))
        if len(channels) > 1 or name != "I"
    }


def _names_of(channels: Sequence[Channel]) -> list[str]:
    """The neighborhood, then with the guidance, then with a number, until no two are alike."""
    hoods = [c.neighborhood.symbol if c.input != "nodes" else "structure channel" for c in channels]
    pairs = [f"{hood} ⊙ {c.symbol}" for hood, c in zip(hoods, channels, strict=True)]
    names = [h if hoods.count(h) == 1 else p for h, p in zip(hoods, pairs, strict=True)]
    return [name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}" for i, name in enumerate(names)]


def _without_losses(full: Architecture) -> dict[str, Change]:
    return {
        f"without {_loss_name(loss)}": {"losses": tuple(each for each in full.losses if each is not loss)}
        for loss in full.losses
    }


def _loss_name(loss: AuxiliaryLoss) -> str:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(loss).__name__).lower()
    return name if name.endswith(("loss", "lasso")) else f"{name} loss"


def _without_structure(full: Architecture) -> dict[str, Change]:
    encoder = full.encoder
    if not encoder.uses_structure:
        return {}
    plain = Predict(dropout=encoder.dropout) if isinstance(encoder, Predict) else Embed()
    return {"without structure input": {"encoder": plain}}


def changes(rows: Rows) -> Rows:
    """Mean accuracy of each variant minus that of the full method, ours and the paper's."""
    results: Rows = []
    for (dataset, model, variant), group in group_rows(rows, "dataset", "model", "variant").items():
        full = filter_rows(rows, dataset=dataset, model=model, variant=FULL)
        change, paper = (_difference(group, full, column) for column in ("test_accuracy", "paper"))
        if variant != FULL and change is not None:
            results.append({"dataset": dataset, "model": model, "variant": variant, "change": change, "paper": paper})
    return results


def _difference(rows: Rows, full: Rows, column: str) -> float | None:
    mean, base = mean_of(rows, column), mean_of(full, column)
    return None if mean is None or base is None else mean - base


def charts(tables: Tables) -> list[Chart]:
    """Return a chart per method: the change of accuracy without each part, and the paper's."""
    charts = (_chart(model, group) for (model,), group in group_rows(tables.get(NAME, []), "model").items())
    return [chart for chart in charts if chart.marks]


def _chart(model: str, rows: Rows) -> Chart:
    differences = changes(rows)
    datasets = unique_values(differences, "dataset")
    marks = []
    for number, variant in enumerate(unique_values(differences, "variant")):
        bars = filter_rows(differences, variant=variant)
        names = [row["dataset"] for row in bars]
        marks.append(Mark("bar", names, [row["change"] for row in bars], name=variant, color=number))
        if any(row["paper"] is not None for row in bars):
            printed = [row["paper"] for row in bars]
            marks.append(replace(marks[-1], kind="point", y=printed, paper=True))
    return Chart(
        f"Ablation of {model}",
        marks,
        Axis("", datasets),
        Axis("change of accuracy, points"),
        caption="Test accuracy without a part minus that of the full method.",
        panel=f"{model} without its parts",
        file=f"{NAME}-{file_name(model)}",
        wide=True,
    )


def tables(data: Tables) -> list[Table]:
    return [
        pivot_table(
            group,
            "dataset",
            "variant",
            comparison_with_spread,
            corner="dataset",
            caption=f"`{model}`, ours / the paper's, {describe_splits(group)}:",
        )
        for (model,), group in group_rows(data.get(NAME, []), "model").items()
    ]


def findings(data: Tables) -> list[str]:
    """Return how often the changes have the sign of the paper's, and how much they differ."""
    known = [row for row in changes(data.get(NAME, [])) if row["paper"] is not None]
    if not known:
        return []
    same = sum((row["change"] < 0) == (row["paper"] < 0) for row in known)
    off = sum(abs(row["change"] - row["paper"]) for row in known) / len(known)
    return [
        f"A variant loses or gains as in the paper in {same} of {len(known)} cells; the changes "
        f"differ by {off:.2f} points on average."
    ]


def summary(data: Tables) -> list[str]:
    lines = []
    for row in changes(data.get(NAME, [])):
        paper = "" if row["paper"] is None else f", in the paper {row['paper']:+.2f}"
        name = f"{row['dataset']}, {row['model']} {row['variant']}"
        lines.append(f"{name}: {row['change']:+.2f} points{paper}")
    return lines


STUDY = Study(
    name=NAME,
    title="Ablation",
    description="Measure how much accuracy a method loses without one of its parts.",
    details="""
This is Table 3 of the paper. CMGNN loses its supplementary messages, its discrimination loss, or both.
Trio loses a channel, its self-loops, the degree, early stopping by loss, or all members but one. Any other
method loses each channel, each loss, and its structure input in turn.
""",
    usage="GRAPH... --model NAME",
    topic=ACCURACY,
    options=AblationOptions,
    jobs=jobs,
    rows=rows,
    paper=in_paper,
    charts=charts,
    tables=tables,
    findings=findings,
    summary=summary,
    files=(NAME,),
)
