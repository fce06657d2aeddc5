"""The result of a search: its charts, its summary in files, and its summary on a terminal."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from heterophily.core.chart import Axis, Chart, Mark
from heterophily.core.files import write_atomically
from heterophily.training.scoring import DEFAULT_SCORING, is_share, score_text, title_of
from heterophily.tuning.components import NAME
from heterophily.tuning.files import changed_preset
from heterophily.tuning.result import SearchResult, TrialResult
from heterophily.views.console import model_table, row_of
from heterophily.views.matplotlib import save_charts
from heterophily.views.templates import render_markdown

MAX_BARS = 15


def history_chart(trials: Sequence[TrialResult], scoring: str = DEFAULT_SCORING.name) -> Chart:
    """Return the value of every trial and the best value so far."""
    title, factor, unit = f"validation {title_of(scoring)}", *((100, ", %") if is_share(scoring) else (1, ""))
    marks = []
    for state in ("pruned", "done"):
        values = [(t.number, factor * t.value) for t in trials if t.state == state and t.value is not None]
        if values:
            x, y = zip(*values, strict=True)
            marks.append(Mark("point", x, y, name=state, color="quiet" if state == "pruned" else "accent"))
    best = best_so_far(trials)
    line = [number for number, _ in best], [factor * value for _, value in best]
    marks.append(Mark("line", *line, name="best so far", color=1, points=False, steps=True))
    return Chart(title[0].upper() + title[1:], marks, Axis("trial"), Axis(f"{title}{unit}"))


def best_so_far(trials: Sequence[TrialResult]) -> list[tuple[int, float]]:
    """Return the best value after each finished trial."""
    line: list[tuple[int, float]] = []
    for trial in trials:
        if trial.state == "done" and trial.value is not None:
            line.append((trial.number, max([trial.value, *(value for _, value in line[-1:])])))
    return line


def importance_chart(importances: Mapping[str, float], scoring: str = DEFAULT_SCORING.name) -> Chart:
    """Return the most important settings as bars, the most important one on top."""
    names = list(importances)[:MAX_BARS]
    shares = [100 * importances[name] for name in names]
    return Chart(
        "Importance of settings",
        [Mark("bar", shares, names, labels=[f"{share:.0f}%" for share in shares], anchor="left")],
        Axis(f"share of the variance of validation {title_of(scoring)}, %"),
        Axis("", names, reverse=True),
        digits=1,
    )


def write_summary(result: SearchResult, folder: Path) -> SearchResult:
    """Write the figures and the summary of a search to a folder."""
    files = dict(result.files)
    files["history"] = save_charts([history_chart(result.trials, result.scoring)], folder / "history.png")
    if result.importances:
        chart = importance_chart(result.importances, result.scoring)
        files["importances"] = save_charts([chart], folder / "importances.png")
    complete = replace(result, files=files)
    for kind, text in (("json", summary_json(complete)), ("md", summary_markdown(complete))):
        files[f"summary.{kind}"] = _write_text(folder / f"summary.{kind}", text)
    return replace(result, files=files)


def _write_text(path: Path, text: str) -> Path:
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return path


def summary_of(result: SearchResult) -> dict[str, Any]:
    """Return the search as plain data."""
    return {
        **result.facts,
        "objective": f"mean validation {title_of(result.scoring)}",
        "trials": {s: result.count(s) for s in ("done", "pruned", "failed", "running")},
        "best": {"trial": result.best.number, "value": result.value, "scores": list(result.best.scores)},
        "start": {"trial": result.baseline.number, "value": result.baseline.value},
        "preset": result.preset,
        "settings": dict(result.settings),
        "row": row_of(result.method),
        "importances": dict(result.importances),
        "files": {key: path.name for key, path in result.files.items()},
    }


def summary_json(result: SearchResult) -> str:
    """Return the summary as JSON."""
    return json.dumps(summary_of(result), indent=2, ensure_ascii=False) + "\n"


def summary_markdown(result: SearchResult) -> str:
    """Return the summary as a page."""
    facts = summary_of(result)
    return render_markdown(
        "search.md.j2",
        result=result,
        title=title_of(result.scoring),
        value=score_text(result.scoring, result.value, digits=2),
        counts=", ".join(f"{n} {state}" for state, n in facts["trials"].items() if n),
        splits=facts["splits"],
        start=_start_sentence(result),
        row=facts["row"],
        settings={**changed_preset(result), **result.settings},
    )


def _start_sentence(result: SearchResult) -> str:
    start = result.baseline
    if start.state != "done" or start.value is None:
        return f"The starting point, trial {start.number}, is {start.state}."
    return f"The starting point, trial {start.number}, has {score_text(result.scoring, start.value, digits=2)}."


STATES = ("done", "pruned", "failed", "running")
FILES = ("summary.md", "winner", "written")


def result_view(result: SearchResult) -> RenderableType:
    """Return the best trial, its settings with their importance, and the written files."""
    counts = ", ".join(f"{result.count(s)} {s}" for s in STATES if result.count(s))
    start = result.baseline
    has_start = start.state == "done" and start.value is not None
    baseline = f", started at {score_text(result.scoring, start.value or 0.0, digits=2)}" if has_start else ""
    value = f"{score_text(result.scoring, result.value, digits=2)} validation {title_of(result.scoring)}"
    parts: list[RenderableType] = [
        Text(f"{result.model} on {result.dataset}: {value}", "bold"),
        Text(f"trial {result.best.number}{baseline}; {len(result.trials)} trials: {counts}"),
        Padding(_settings_table(result), (1, 0, 1, 1)),
    ]
    if result.model == NAME:
        parts.append(model_table([result.method]))
    paths = [result.files[name] for name in FILES if name in result.files]
    return Group(*parts, *(Text(f"wrote {path}") for path in paths))


def _settings_table(result: SearchResult) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_row(*(Text(name, style="dim") for name in ("setting", "best", "importance")))
    if result.preset != "published":
        table.add_row("preset", result.preset, "")
    searched = result.best.answers if result.model == NAME else result.settings
    for name, value in searched.items():
        importance = result.importances.get(name)
        best = result.settings.get(name, value)
        table.add_row(name, str(best), "" if importance is None else f"{importance:.0%}")
    return table
