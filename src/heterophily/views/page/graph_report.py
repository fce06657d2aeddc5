"""The report of one graph: its diagnosis, and what a model fitted to it gave."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from heterophily.analysis.diagnosis import Diagnosis, diagnose
from heterophily.analysis.verdict import NOT_ENOUGH, Kind
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.types import IntArray, Value
from heterophily.htmp.method import settings_of
from heterophily.models.settings import tuned
from heterophily.studies.study import CLASSES
from heterophily.training.alarms import class_share_score
from heterophily.training.auto.display import entry_cells
from heterophily.training.estimator import NodeClassifier
from heterophily.training.scoring import find_scoring, score_text, title_of
from heterophily.views import fit
from heterophily.views.columns import column_rows
from heterophily.views.direction import direction_facts
from heterophily.views.example_nodes import Predictions, example_charts, uncertain_nodes
from heterophily.views.explain import importance_charts, importance_note
from heterophily.views.fit_console import (
    calibration_sentence,
    fit_title,
    score_columns,
    scoring_sentence,
    scoring_title,
    training_sentence,
)
from heterophily.views.flow import flow_charts
from heterophily.views.node_map import node_map
from heterophily.views.page import panels
from heterophily.views.page.build import render, write_page
from heterophily.views.page.commands import settings_words
from heterophily.views.page.panels import Section

CLASSES_TEXT = panels.TOPICS[CLASSES]
EXAMPLES_TEXT = (
    "The node in the center has a ring. The color and shape of a node are its label, or its prediction if it has none. "
    "Dotted lines connect neighbors."
)
FINDINGS: Mapping[Kind, str] = {
    "homophily": "Neighbors are similar, and edges help to predict the class",
    "helpful heterophily": "Neighbors differ, and edges help to predict the class",
    "edges mislead plain averaging": "Edges help to predict the class, but averages over neighbors mislead",
    "edges add nothing measurable": "Edges add nothing measurable",
    NOT_ENOUGH: "Not enough labels to tell whether edges help",
}
FLOW = "Flow between classes"
DEPENDENCE = "What the predictions depend on"
TITLES = {"train": "training", "val": "validation", "test": "test"}
N_LEADING, WEIGHT = 10, 2  # best candidates that are always shown, and the column with their weights
N_REPEATS, MAX_ITEMS = 3, 40  # of the importances, which would otherwise take most of the time of a report


def write_diagnosis(
    diagnosis: Diagnosis,
    out: Path | str,
    *,
    source: str,
    nodes: Path | str | None = None,
    table_words: Sequence[str] = (),
    columns: Sequence[Sequence[str]] = (),
    graph: Graph | None = None,
) -> Path:
    """Write the report of a diagnosis of the graph at `source`, with its table of `nodes`; its path.

    `table_words` are the options for tables, and `columns` is the report of their columns. With the `graph`, the report
    shows the neighborhoods of two nodes.
    """
    sections = [Section(CLASSES, diagnosis.charts if diagnosis.compatibility.any() else [], CLASSES_TEXT)]
    if graph is not None:
        known = Predictions(diagnosis.class_names, graph.labels.numpy())
        sections.append(example_section(graph, known, np.flatnonzero(graph.labeled.numpy())))
    words = ["heterophily", "diagnose", source, *_table(nodes), *table_words, "--report", "report.html"]
    commands = [shlex.join(words)]
    page = GraphPage(
        diagnosis=diagnosis,
        title=FINDINGS[diagnosis.decision.kind],
        sections=sections,
        commands=commands,
        kicker=f"Diagnosis of {diagnosis.name}",
        alarms=diagnosis.alarms,
        columns=columns,
    )
    return write_page(page.html(), out)


def _table(nodes: Path | str | None) -> list[str]:
    return [] if nodes is None else ["--nodes", str(nodes)]


def write_fit(
    fitted: NodeClassifier, graph: Graph, out: Path | str, *, command: str, folder: Path | str | None = None
) -> Path:
    """Write the report of a fit, with the command that gave it and the folder of its results; its path."""
    try:
        diagnosis = diagnose(graph)
    except HeterophilyError:  # too few labels or edges for one
        diagnosis = None
    page = GraphPage(
        diagnosis=diagnosis,
        title=headline(fitted, graph),
        sections=fit_sections(fitted, graph),
        commands=[command],
        kicker=f"{fit_title(fitted)} on {graph.name}",
        lead=comparison(fitted, graph),
        alarms=[alarm.text for alarm in fitted.alarms_],
        scores=score_rows(fitted),
        scoring=scoring_sentence(fitted, graph),
        leaderboard=leaderboard_rows(fitted),
        classes=class_rows(fitted, graph),
        settings={name: str(value) for name, value in settings_of(fitted.method).items()},
        facts=_run_facts(fitted),
        columns=column_rows(graph),
        uncertain=uncertain_nodes(graph, Predictions.of(fitted, graph), fit.scored_nodes(fitted, graph)),
        explain=shlex.join(["heterophily", "explain", str(folder or "FOLDER"), "NODE"]),
    )
    return write_page(page.html(), out)


@dataclass(frozen=True, kw_only=True)
class GraphPage:
    """The contents of the page of one graph. Tables have a head; empty parts are omitted."""

    diagnosis: Diagnosis | None
    title: str
    sections: Sequence[Section]
    commands: Sequence[str]
    kicker: str = ""
    lead: str = ""
    alarms: Sequence[str] = ()
    scores: Sequence[Sequence[str]] = ()
    scoring: str = ""
    leaderboard: Sequence[Sequence[str]] = ()
    classes: Sequence[Sequence[str]] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    columns: Sequence[Sequence[str]] = ()
    uncertain: tuple[str, Sequence[Sequence[str]]] = ("", ())
    explain: str = ""

    def html(self) -> str:
        """Return the page."""
        d, kept = self.diagnosis, [section for section in self.sections if section.charts]
        charts = [chart for section in kept for chart in section.charts]
        flow = flow_charts(d.compatibility, d.class_names, caption=closest(d)) if d else []
        if flow and flow[0].wide:  # too wide for the place next to the verdict
            kept, flow = [Section(FLOW, flow), *kept], []
        context = {
            **vars(self),
            "alarms": [f"{text[:1].upper()}{text[1:].rstrip('.')}." for text in self.alarms],
            "sections": kept,
            "flow": flow,
            "leading": [row for i, row in enumerate(self.leaderboard[1:]) if _leads(i, row)],
            "others": [row for i, row in enumerate(self.leaderboard[1:]) if not _leads(i, row)],
            "sizes": panels.graph_facts(d) if d else {},
            "meters": panels.meters(d) if d else [],
            "direction": direction_facts(d.direction) if d and d.direction else {},
        }
        return render("graph.html", list(dict.fromkeys(m.method for c in charts for m in c.marks if m.method)), context)


def _leads(place: int, row: Sequence[str]) -> bool:
    """Return whether a candidate is one of the best, or has a weight in the model."""
    return place < N_LEADING or bool(row[WEIGHT])


def closest(diagnosis: Diagnosis) -> str:
    """Return which two of more than two classes have the most similar neighbors."""
    if diagnosis.n_classes < 3:
        return ""
    return "The neighbors of {} and {} are the most similar.".format(*diagnosis.closest_classes)


def headline(fitted: NodeClassifier, graph: Graph) -> str:
    """Return the score on held-out nodes, as the title of a report."""
    nodes, name = fit.scored_nodes(fitted, graph), fitted.scoring_.name
    part = fit.part_of(fitted, nodes)
    value = (fitted.run_.scores.get("val" if part == "validation" else part) or {}).get(name)
    if value is None:
        return f"{fit_title(fitted)} on {graph.name}"
    return f"{minus(score_text(name, value))} {scoring_title(fitted)} on {len(nodes):,} {part} nodes"


def comparison(fitted: NodeClassifier, graph: Graph) -> str:
    """Return the score without a model, which knows only how frequent the classes are."""
    nodes, scoring = torch.from_numpy(fit.scored_nodes(fitted, graph)), fitted.scoring_
    k = len(fitted.class_names_)
    if not len(nodes) or scoring.requires(graph.labels[nodes], k):
        return ""
    score = class_share_score(scoring, graph.labels, fitted.split_.train, nodes, n_classes=k)
    selected = " These nodes also selected the model, so new nodes can score lower."
    return (
        f"Predictions from the shares of the classes alone reach {minus(score_text(scoring.name, score))}."
        f"{selected if fit.part_of(fitted, nodes.numpy()) == 'validation' else ''}"
    )


def fit_sections(fitted: NodeClassifier, graph: Graph) -> list[Section]:
    """Return compatibility, a map of nodes, examples, confusion, accuracy by degree, training, and confidence."""
    known, nodes = Predictions.of(fitted, graph), fit.scored_nodes(fitted, graph)
    maps = [node_map(fitted, graph, nodes)] if len(nodes) > 2 else []
    return [
        Section("What the model learned", [*maps, *fit.compatibility_charts(fitted, graph)], CLASSES_TEXT),
        example_section(graph, known, nodes),
        Section("Held-out nodes", fit.scored_charts(fitted, graph)),
        Section("How training went", fit.learning_curves(fitted)),
        Section("Can the probabilities be trusted?", [*fit.reliability_charts(fitted), fit.confidence_chart(fitted)]),
        importance_section(fitted, graph),
    ]


def example_section(graph: Graph, known: Predictions, nodes: IntArray) -> Section:
    """Return the neighborhoods of single nodes."""
    return Section("Single nodes and their neighbors", example_charts(graph, known, nodes), EXAMPLES_TEXT)


def importance_section(fitted: NodeClassifier, graph: Graph) -> Section:
    """Return the importance of columns and edges, from few repetitions; without charts if no node is labeled."""
    if not len(fit.scored_nodes(fitted, graph)):
        return Section(DEPENDENCE, [])
    explanation = fitted.explain_model(n_repeats=N_REPEATS, max_items=MAX_ITEMS)
    return Section(DEPENDENCE, importance_charts(explanation), importance_note(explanation))


def score_rows(fitted: NodeClassifier) -> list[list[str]]:
    """Return the number of nodes and the scores of each part, that of the run first, with a head."""
    parts = {part: nodes for part, nodes in fitted.split_.parts.items() if len(nodes)}
    rows = [["", *(TITLES[part] for part in parts)], ["nodes", *(f"{len(nodes):,}" for nodes in parts.values())]]
    for name in score_columns(fitted):
        found = [(fitted.run_.scores.get(part) or {}).get(name) for part in parts]
        rows.append([title_of(name), *("–" if v is None else minus(score_text(name, v)) for v in found)])
    return rows


def minus(number: str) -> str:
    """Return a number with a minus sign instead of a hyphen."""
    return number.replace("-", "−")


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
        mean = f"{100 * float(sure[own].mean()):.1f}%" if own.any() else "–"
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
    seed = fitted.random_state if isinstance(fitted.random_state, int) else fitted.run_.seed  # not of a candidate
    words += ["--model", model, "--seed", str(seed)]
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
