"""Terminal output of a fit: alarms, the scoring with its reason, scores, and the leaderboard of `auto`."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from heterophily.core.graph import Graph
from heterophily.training.auto.display import leaderboard_table
from heterophily.training.decision import RULES
from heterophily.training.estimator import NodeClassifier
from heterophily.training.objective import explain_choice
from heterophily.training.scoring import SCORINGS, score_text, title_of
from heterophily.views.fit import positive_class


def fit_view(fitted: NodeClassifier, graph: Graph, paths: Mapping[str, Path]) -> RenderableType:
    """Return a summary of a fit: scores, leaderboard, and written files."""
    return Group(
        Text(f"{fit_title(fitted)} on {graph.name}", style="bold"),
        Padding(score_table(fitted), (0, 0, 0, 1)),
        Padding(_facts(fitted, graph), (0, 0, 1, 1)),
        *_leaderboard(fitted),
        *(Text(f"wrote {path}") for path in paths.values()),
    )


def alarm_view(fitted: NodeClassifier) -> Group:
    """Return one red line per alarm, and an empty line at the end if there are any."""
    lines = [Text(f"Alarm: {alarm.text}", style="bold red") for alarm in fitted.alarms_]
    return Group(*lines, Text("")) if lines else Group()


def fit_title(fitted: NodeClassifier) -> str:
    """Return the name of a fitted model, for `auto` with the number of its members."""
    board = fitted.leaderboard_
    if board is None:
        return fitted.method.title or fitted.method.name
    members = board.members
    return f"Ensemble of {len(members)} models" if len(members) > 1 else f"Best model ({members[0].name})"


def score_columns(fitted: NodeClassifier) -> list[str]:
    """Return the names of the scorings of a fit, that of the run first."""
    names = dict.fromkeys(name for found in fitted.run_.scores.values() for name in found)
    first = [name for name in (fitted.scoring_.name,) if name in names]
    return list(dict.fromkeys([*first, *names]))


def score_table(fitted: NodeClassifier) -> Table:
    """Return all scores by part, with the scoring of the run first and bold."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    table.add_column("nodes", justify="right")
    names = score_columns(fitted)
    for name in names:
        table.add_column(title_of(name), justify="right", style="bold" if name == fitted.scoring_.name else "")
    for part, nodes in fitted.split_.parts.items():
        found = fitted.run_.scores.get(part) or {}
        cells = (score_text(name, found[name]) if name in found else "–" for name in names)
        table.add_row(part, f"{len(nodes):,}", *cells)
    return table


def scoring_sentence(fitted: NodeClassifier, graph: Graph) -> str:
    """Return the scoring of a fit with its positive class and its reason."""
    return f"{scoring_title(fitted)}, {explain_choice(fitted.scoring, graph, fitted.split_)}"


def scoring_title(fitted: NodeClassifier) -> str:
    """Return the title of the scoring of a fit, with its positive class if the score depends on it."""
    name, positive = title_of(fitted.scoring_.name), positive_class(fitted)
    depends = SCORINGS[fitted.scoring_.name].has_positive if fitted.scoring_.name in SCORINGS else False
    return f"{name} of class {positive!r}" if positive is not None and depends else name


def calibration_sentence(fitted: NodeClassifier) -> str:
    """Return the expected calibration error before and after calibration, or "" if it is unknown."""
    calibration = fitted.calibration_
    if calibration is None:
        return ""
    errors = " → ".join(f"{each.error:.1%}" for each in (calibration.before, calibration.after) if each is not None)
    note = "" if calibration.after else ", not calibrated"
    return f"{errors} on {calibration.n_nodes:,} {calibration.part} nodes{note}"


def _rows(fitted: NodeClassifier, graph: Graph) -> Iterator[tuple[str, str]]:
    run, split = fitted.run_, fitted.split_
    yield "scoring", scoring_sentence(fitted, graph)
    if fitted.threshold_ is not None:
        rule = f" (best {fitted.threshold} on validation nodes)" if fitted.threshold in RULES else ""
        yield "threshold", f"{fitted.threshold_:.3g} for class {positive_class(fitted)!r}{rule}"
    if sentence := calibration_sentence(fitted):
        yield "calibration error", sentence
    yield "split", split.origin
    yield (
        "training",
        training_sentence(fitted)
        if fitted.leaderboard_
        else (
            f"stopped by {run.stopped} after {run.n_epochs} epochs of {run.milliseconds_per_epoch:.0f} ms, "
            f"best epoch {run.best_epoch}"
        ),
    )


def training_sentence(fitted: NodeClassifier) -> str:
    """Return how the race of `auto` ended."""
    board = fitted.leaderboard_
    assert board is not None
    n_scored = sum(entry.has_score for entry in board.entries)
    ends = {"finished": "all rounds finished", "budget": "the budget was used up", "interrupted": "interrupted"}
    reason = ends.get(board.stopped, board.stopped)
    return f"{n_scored} of {len(board.entries)} candidates in {board.seconds:.0f} seconds, {reason}"


def _facts(fitted: NodeClassifier, graph: Graph) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, text in _rows(fitted, graph):
        table.add_row(Text(name, style="dim"), Text(text))
    return table


def _leaderboard(fitted: NodeClassifier) -> list[RenderableType]:
    if fitted.leaderboard_ is None:
        return []
    return [Text("Leaderboard", style="bold"), Padding(leaderboard_table(fitted.leaderboard_), (0, 0, 0, 1))]
