"""The report of one graph: its diagnosis, and what a model fitted to it gave."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from heterophily.analysis.diagnosis import Diagnosis, diagnose
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.types import Value
from heterophily.htmp.method import settings_of
from heterophily.models.settings import tuned
from heterophily.studies.study import CLASSES
from heterophily.training.auto.display import entry_cells
from heterophily.training.estimator import NodeClassifier
from heterophily.training.scoring import find_scoring, score_text, title_of
from heterophily.views import fit
from heterophily.views.columns import column_rows
from heterophily.views.direction import direction_facts
from heterophily.views.explain import importance_charts, importance_note
from heterophily.views.fit_console import (
    calibration_sentence,
    fit_title,
    score_columns,
    scoring_sentence,
    training_sentence,
)
from heterophily.views.page import panels
from heterophily.views.page.build import render, write_page
from heterophily.views.page.commands import settings_words
from heterophily.views.page.panels import Section

DEPENDENCE = "What the predictions depend on"
N_REPEATS, MAX_ITEMS = 3, 40  # of the importances, which would otherwise take most of the time of a report


def write_diagnosis(
    diagnosis: Diagnosis,
    out: Path | str,
    *,
    source: str,
    nodes: Path | str | None = None,
    table_words: Sequence[str] = (),
    columns: Sequence[Sequence[str]] = (),
) -> Path:
    """Write the report of a diagnosis of the graph at `source`, with its table of `nodes`; its path.

    `table_words` are the options for tables, and `columns` is the report of their columns.
    """
    sections = [Section(CLASSES, diagnosis.charts)]
    words = ["heterophily", "diagnose", source, *_table(nodes), *table_words, "--report", "report.html"]
    commands = [shlex.join(words)]
    page = graph_page(diagnosis, diagnosis.name, sections, commands, alarms=diagnosis.alarms, columns=columns)
    return write_page(page, out)


def _table(nodes: Path | str | None) -> list[str]:
    return [] if nodes is None else ["--nodes", str(nodes)]


def write_fit(fitted: NodeClassifier, graph: Graph, out: Path | str, *, command: str) -> Path:
    """Write the report of a fit, with the command that gave it; its path."""
    try:
        diagnosis = diagnose(graph)
    except HeterophilyError:  # too few labels or edges for one
        diagnosis = None
    page = graph_page(
        diagnosis,
        f"{fit_title(fitted)} on {graph.name}",
        fit_sections(fitted, graph),
        [command],
        alarms=[alarm.text for alarm in fitted.alarms_],
        scores=score_rows(fitted),
        scoring=scoring_sentence(fitted, graph),
        leaderboard=leaderboard_rows(fitted),
        classes=class_rows(fitted, graph),
        settings={name: str(value) for name, value in settings_of(fitted.method).items()},
        facts=_run_facts(fitted),
        columns=column_rows(graph),
    )
    return write_page(page, out)


def graph_page(
    diagnosis: Diagnosis | None,
    title: str,
    sections: Sequence[Section],
    commands: Sequence[str],
    *,
    alarms: Sequence[str] = (),
    scores: Sequence[Sequence[str]] = (),
    scoring: str = "",
    leaderboard: Sequence[Sequence[str]] = (),
    classes: Sequence[Sequence[str]] = (),
    settings: Mapping[str, str] | None = None,
    facts: Mapping[str, str] | None = None,
    columns: Sequence[Sequence[str]] = (),
) -> str:
    """The page of one graph."""
    kept = [section for section in sections if section.charts]
    charts = [chart for section in kept for chart in section.charts]
    methods = list(dict.fromkeys(m.method for chart in charts for m in chart.marks if m.method))
    context = {
        "title": title,
        "diagnosis": diagnosis,
        "sizes": panels.graph_facts(diagnosis) if diagnosis else {},
        "meters": panels.meters(diagnosis) if diagnosis else [],
        "direction": direction_facts(diagnosis.direction) if diagnosis and diagnosis.direction else {},
        "sections": kept,
        "commands": commands,
        "alarms": alarms,
        "scores": scores,
        "scoring": scoring,
        "leaderboard": leaderboard,
        "classes": classes,
        "settings": settings or {},
        "facts": facts or {},
        "columns": columns,
    }
    return render("graph.html", methods, context)


def fit_sections(fitted: NodeClassifier, graph: Graph) -> list[Section]:
    """Return confusion, accuracy by degree, compatibility, learning curve, and confidence."""
    return [
        Section("Held-out nodes", fit.scored_charts(fitted, graph)),
        Section(CLASSES, fit.compatibility_charts(fitted, graph)),
        Section("How training went", fit.learning_curves(fitted)),
        Section("Can the probabilities be trusted?", [*fit.reliability_charts(fitted), fit.confidence_chart(fitted)]),
        importance_section(fitted, graph),
    ]


def importance_section(fitted: NodeClassifier, graph: Graph) -> Section:
    """Return the importance of columns and edges, from few repetitions; without charts if no node is labeled."""
    if not len(fit.scored_nodes(fitted, graph)):
        return Section(DEPENDENCE, [])
    explanation = fitted.explain_model(n_repeats=N_REPEATS, max_items=MAX_ITEMS)
    return Section(DEPENDENCE, importance_charts(explanation), importance_note(explanation))


def score_rows(fitted: NodeClassifier) -> list[list[str]]:
    """Part, number of nodes and scores, that of the run first; the first row is the head."""
    scores, names = fitted.run_.scores, score_columns(fitted)
    rows = [["nodes", "count", *map(title_of, names)]]
    for part, nodes in fitted.split_.parts.items():
        found = scores.get(part) or {}
        shown = [score_text(name, found[name]) if name in found else "–" for name in names]
        rows.append([part, f"{len(nodes):,}", *shown])
    return rows


def leaderboard_rows(fitted: NodeClassifier) -> list[list[str]]:
    """Return the candidates of `auto`, best first, with a head; empty for other models."""
    board = fitted.leaderboard_
    if board is None:
        return []
    head = ["candidate", f"validation {title_of(board.scoring)}", "weight", "epochs", "seconds", "status"]
    return [head, *(entry_cells(entry, board.scoring) for entry in board.ranked)]


def class_rows(fitted: NodeClassifier, graph: Graph) -> list[list[str]]:
    """Return the labeled and predicted nodes of each class and their mean probability, with a head."""
    probabilities = fitted.predict_proba()
    predicted, labels = fitted.decide(probabilities), graph.labels.numpy()
    sure = probabilities[np.arange(len(predicted)), predicted]
    rows = [["class", "labeled", "predicted", "of them unlabeled", "mean probability"]]
    for k, name in enumerate(fitted.class_names_):
        own = predicted == k
        mean = f"{100 * float(sure[own].mean()):.1f} %" if own.any() else "–"
        counts = [(labels == k).sum(), own.sum(), (own & (labels < 0)).sum()]
        rows.append([name, *(f"{int(count):,}" for count in counts), mean])
    if (labels >= 0).all():
        return [[*row[:3], *row[4:]] for row in rows]
    return rows


def fit_command(
    fitted: NodeClassifier,
    *,
    source: str,
    model: str,
    split: str | None,
    folder: Path | str,
    nodes: Path | str | None = None,
    table_words: Sequence[str] = (),
) -> str:
    """The command that fits the same model again. The result of `auto` also depends on the speed of the machine."""
    words = ["heterophily", "fit", source, *_table(nodes), *table_words]
    words += ["--model", model, "--seed", str(fitted.run_.seed)]
    words += ["--split", split] if split else []
    words += _objective(fitted)
    words += _race(fitted) if fitted.leaderboard_ else []
    words += _batches(fitted)
    words += settings_words(fitted.settings if fitted.leaderboard_ else _changed_settings(fitted))
    return shlex.join([*words, "--out", str(folder)])


def _objective(fitted: NodeClassifier) -> list[str]:
    """The options that say what to optimize and how to decide."""
    weight = fitted.class_weight
    given = {
        "--scoring": None if fitted.scoring is None else find_scoring(fitted.scoring).name,
        "--positive": fitted.positive,
        "--class-weight": json.dumps(dict(weight)) if isinstance(weight, Mapping) else weight,
        "--threshold": fitted.threshold,
    }
    words = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    return [*words, "--calibrate"] if fitted.calibrate else words


def _race(fitted: NodeClassifier) -> list[str]:
    words = ["--budget", str(fitted.budget)]
    words += [] if fitted.ensemble else ["--no-ensemble"]
    return words if fitted.workers is None else [*words, "--workers", str(fitted.workers)]


def _changed_settings(fitted: NodeClassifier) -> dict[str, Value]:
    """The preset and the settings that differ from the bundled ones."""
    committed = tuned(fitted.method.name, fitted.graph_.name) if fitted.graph_ else {}
    usual = {"preset": "published", **committed}
    decided = {"preset": fitted.preset, **settings_of(fitted.method)}
    given = {**{name: decided[name] for name in usual}, **fitted.settings}
    return {name: v for name, v in given.items() if name not in usual or usual[name] != v}


def _batches(fitted: NodeClassifier) -> list[str]:
    if fitted.batch_size is None:
        return []
    drawn = fitted.neighbors if isinstance(fitted.neighbors, str) else ",".join(map(str, fitted.neighbors))
    return ["--batch-size", str(fitted.batch_size), "--neighbors", drawn]


def _run_facts(fitted: NodeClassifier) -> dict[str, str]:
    run = fitted.run_
    if fitted.leaderboard_ is not None:
        return {"split": fitted.split_.origin, "search": training_sentence(fitted), **_calibration_facts(fitted)}
    return {
        **_calibration_facts(fitted),
        "split": fitted.split_.origin,
        "epochs": str(run.n_epochs),
        "kept epoch": str(run.best_epoch),
        "ms per epoch": f"{run.milliseconds_per_epoch:.1f}",
        "peak memory, MB": f"{run.peak_memory:,.0f}",
        "weights": f"{sum(p.numel() for p in fitted.predictor_.parameters()):,}",
    }


def _calibration_facts(fitted: NodeClassifier) -> dict[str, str]:
    facts = {} if fitted.threshold_ is None else {"threshold": f"{fitted.threshold_:.3g}"}
    sentence = calibration_sentence(fitted)
    return {**facts, "calibration error": sentence} if sentence else facts
