"""Ablation: what a method loses without one of its parts (paper, Table 3).

CMGNN loses its supplementary messages, its discrimination loss, or both. Any other recipe loses each channel,
each loss and its structure input in turn, as far as what remains is still a network; where there is but one
channel, the node itself takes its place.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from heterophily.core.chart import Axis, Chart, Mark, file_name
from heterophily.core.graph import Graph
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import SingleChannel
from heterophily.htmp.encoder import Embed, Predict
from heterophily.htmp.guidance import Ones
from heterophily.htmp.neighborhoods import Ego
from heterophily.htmp.part import resolve
from heterophily.htmp.recipe import Recipe
from heterophily.models import find_recipe
from heterophily.models.building import build
from heterophily.models.cmgnn import CMGNN, WITHOUT_BOTH, WITHOUT_DISCRIMINATION, WITHOUT_SUPPLEMENT
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
PAPER = {
    FULL: CMGNN,
    "without supplementary messages": WITHOUT_SUPPLEMENT,
    "without discrimination loss": WITHOUT_DISCRIMINATION,
    "without both": WITHOUT_BOTH,
}
# What a network raises when a part is gone that another one relies on.
BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


def study_ablation(
    graph: Graph,
    model: str | Recipe = "cmgnn",
    *,
    variants: Mapping[str, Recipe] | None = None,
    settings: Mapping[str, Any] | None = None,
    workers: int = 1,
    out: Path | str | None = None,
    **options: Any,
) -> StudyData:
    """Train a method whole and without its parts: test accuracy per variant and split, in percent.

    Options are those of `trials_of`.
    """
    recipe = find_recipe(model)
    values = {**tuned(recipe.name, graph.name), **(settings or {})}
    chosen = variants or variants_of(recipe, graph, values)
    trials: list[Trial] = []
    for variant, changed in chosen.items():
        trials += trials_of(
            graph,
            changed,
            settings=settings,
            tuned_as=(recipe.name, graph.name),
            model=recipe.name,
            variant=variant,
            **options,
        )
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


def variants_of(recipe: Recipe, graph: Graph, settings: Mapping[str, Any]) -> dict[str, Recipe]:
    """The method itself and every way to leave out one of its parts that gives a network."""
    if recipe == CMGNN:
        return dict(PAPER)
    decided = recipe.with_settings(**settings)
    found = {FULL: recipe}
    candidates = {
        **_without_channels(recipe, decided),
        **_without_losses(recipe),
        **_without_structure(recipe, decided),
    }
    for variant, changed in candidates.items():
        if works(changed, graph, settings):
            found[variant] = changed
    return found


def works(recipe: Recipe, graph: Graph, settings: Mapping[str, Any]) -> bool:
    """Whether a recipe builds and gives finite logits and a loss."""
    nodes = graph.labeled.nonzero().squeeze(1)
    try:
        network = build(recipe, graph, **settings)
        network.initialize_states(graph, nodes)
        logits = network(graph)
        loss = network.loss(logits, graph, nodes)
    except BROKEN:
        return False
    return logits.shape == (graph.n_nodes, graph.n_classes) and bool(torch.isfinite(loss))


def _without_channels(recipe: Recipe, decided: Recipe) -> dict[str, Recipe]:
    # Channels that the settings switch off are gone already.
    live = [channel for channel in recipe.channels if _is_live(channel, decided)]
    names = _names_of(decided.channels)
    return {
        f"without {name}": replace(
            recipe,
            name=f"{recipe.name} without {name}",
            channels=tuple(live[:number] + live[number + 1 :]) or (Ego() * Ones(),),
            combine=SingleChannel() if len(live) <= 2 and not recipe.separate else recipe.combine,
        )
        for number, name in enumerate(names)
        if len(live) > 1 or name != "I"
    }


def _is_live(channel: Channel, decided: Recipe) -> bool:
    return bool(resolve(channel.when, decided.settings))


def _names_of(channels: Sequence[Channel]) -> list[str]:
    """The neighborhood, then with the guidance, then with a number, until no two are alike."""
    hoods = [c.neighborhood.symbol if c.input != "nodes" else "structure channel" for c in channels]
    pairs = [f"{hood} ⊙ {c.symbol}" for hood, c in zip(hoods, channels, strict=True)]
    names = [h if hoods.count(h) == 1 else p for h, p in zip(hoods, pairs, strict=True)]
    return [
        name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}"
        for i, name in enumerate(names)
    ]


def _without_losses(recipe: Recipe) -> dict[str, Recipe]:
    return {
        f"without {_words(loss)}": replace(
            recipe,
            name=f"{recipe.name} without {_words(loss)}",
            losses=tuple(other for other in recipe.losses if other is not loss),
        )
        for loss in recipe.losses
    }


def _words(loss: Any) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(loss).__name__).lower()
    return words if words.endswith(("loss", "lasso")) else f"{words} loss"


def _without_structure(recipe: Recipe, decided: Recipe) -> dict[str, Recipe]:
    encoder = decided.encoder
    if not encoder.uses_structure:
        return {}
    plain = Predict(dropout=encoder.dropout) if isinstance(encoder, Predict) else Embed()
    name = f"{recipe.name} without structure input"
    return {"without structure input": replace(recipe, name=name, encoder=plain)}


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
