"""Ablation: what a method loses without one of its parts (paper, Table 3).

CMGNN loses its supplementary messages, its discrimination loss, or both. Any other method loses each
channel, each loss, and its structure input in turn, if the rest is a valid architecture. A single channel is
replaced by the node itself.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heterophily.core.chart import Axis, Chart, Mark, file_name
from heterophily.core.graph import Graph
from heterophily.htmp.architecture import Architecture, find_problem_after
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import SingleChannel
from heterophily.htmp.encoder import Embed, Predict
from heterophily.htmp.guidance import Ones
from heterophily.htmp.method import Method, make_method, replace_architecture
from heterophily.htmp.neighborhoods import Ego
from heterophily.models import Model, find_method
from heterophily.models.cmgnn import CMGNN, ablation_variants
from heterophily.models.settings import tuned
from heterophily.studies.study import ACCURACY, Study
from heterophily.studies.tidy import (
    Row,
    Rows,
    StudyData,
    Tables,
    filter_rows,
    mean_of,
    unique_values,
)
from heterophily.studies.trials import Trial, run_trials, trials_of

NAME = "ablation"
FULL = "full"
Change = dict[str, object]  # fields of an architecture


def study_ablation(
    graph: Graph,
    model: Model = "cmgnn",
    *,
    variants: Mapping[str, Method] | None = None,
    settings: Mapping[str, Any] | None = None,
    workers: int = 1,
    out: Path | str | None = None,
    **options: Any,
) -> StudyData:
    """Train a method whole and without its parts: test accuracy per variant and split, in percent.

    Options are those of `trials_of`.
    """
    cls = find_method(model)
    known = {} if isinstance(model, Method) else tuned(cls.name, graph.name)
    method = make_method(cls, {**known, **(settings or {})})
    trials: list[Trial] = []
    for variant, changed in (variants or variants_of(method)).items():
        trials += trials_of(graph, changed, model=method.name, variant=variant, **options)
    study = StudyData.opened(NAME, out)
    run_trials(trials, measure, study, workers=workers, paper=in_paper)
    return study


def measure(trial: Trial) -> Tables:
    """Accuracy of one run."""
    trained = trial.train()
    run, parameters = trained.run, sum(p.numel() for p in trained.network.parameters())
    row: Row = {
        "test_accuracy": trained.test_accuracy,
        "val_accuracy": 100 * run.score("val"),
        "best_epoch": run.best_epoch,
        "n_epochs": run.n_epochs,
        "parameters": parameters,
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
        return {FULL: method, **ablation_variants(method)}
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
    return [
        name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}"
        for i, name in enumerate(names)
    ]


def _without_losses(full: Architecture) -> dict[str, Change]:
    return {
        f"without {_words(loss)}": {
            "losses": tuple(each for each in full.losses if each is not loss)
        }
        for loss in full.losses
    }


def _words(loss: Any) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(loss).__name__).lower()
    return words if words.endswith(("loss", "lasso")) else f"{words} loss"


def _without_structure(full: Architecture) -> dict[str, Change]:
    encoder = full.encoder
    if not encoder.uses_structure:
        return {}
    plain = Predict(dropout=encoder.dropout) if isinstance(encoder, Predict) else Embed()
    return {"without structure input": {"encoder": plain}}


def changes(rows: Rows) -> Rows:
    """Mean accuracy of each variant minus that of the full method, ours and the paper's."""
    found: Rows = []
    for dataset in unique_values(rows, "dataset"):
        for model in unique_values(filter_rows(rows, dataset=dataset), "model"):
            cell = filter_rows(rows, dataset=dataset, model=model)
            full, theirs = _levels(filter_rows(cell, variant=FULL))
            for variant in unique_values(cell, "variant"):
                ours, printed = _levels(filter_rows(cell, variant=variant))
                if variant == FULL or ours is None or full is None:
                    continue
                known = theirs is not None and printed is not None
                found.append(
                    {
                        "dataset": dataset,
                        "model": model,
                        "variant": variant,
                        "change": ours - full,
                        "paper": printed - theirs if known else None,  # type: ignore[operator]
                    }
                )
    return found


def _levels(rows: Rows) -> tuple[float | None, float | None]:
    return mean_of(rows, "test_accuracy"), mean_of(rows, "paper")


def charts(tables: Tables) -> list[Chart]:
    """Return a chart per method: the change of accuracy without each part, and the paper's."""
    rows = tables.get(NAME, [])
    found = (
        _chart(model, filter_rows(rows, model=model)) for model in unique_values(rows, "model")
    )
    return [chart for chart in found if chart.marks]


def _chart(model: str, rows: Rows) -> Chart:
    differences = changes(rows)
    datasets = unique_values(differences, "dataset")
    marks = []
    for number, variant in enumerate(unique_values(differences, "variant")):
        bars = filter_rows(differences, variant=variant)
        names = [row["dataset"] for row in bars]
        look: Any = {"name": variant, "color": number}
        marks.append(Mark("bar", names, [row["change"] for row in bars], **look))
        if any(row["paper"] is not None for row in bars):
            printed = [row["paper"] for row in bars]
            marks.append(Mark("point", names, printed, paper=True, **look))
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


STUDY = Study(
    NAME,
    "Ablation",
    "What a method loses without one of its parts (Table 3 of the paper).",
    topic=ACCURACY,
    charts=charts,
    files=(NAME,),
)
