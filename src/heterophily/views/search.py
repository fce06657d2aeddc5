"""The summary of a search and its figures, written atomically."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from heterophily.core.files import write_atomically
from heterophily.search.charts import history_chart, importance_chart
from heterophily.search.files import changed_preset
from heterophily.search.result import SearchResult
from heterophily.views.matplotlib import save_charts
from heterophily.views.models import row_of
from heterophily.views.templates import render_markdown


def write_summary(result: SearchResult, folder: Path) -> SearchResult:
    """Write the figures and the summary of a search to a folder."""
    files = dict(result.files)
    files["history"] = save_charts([history_chart(result.trials)], folder / "history.png")
    if result.importances:
        chart = importance_chart(result.importances)
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
        "objective": "mean validation accuracy",
        "trials": {s: result.count(s) for s in ("done", "pruned", "failed", "running")},
        "best": {"trial": result.best.number, "value": result.value, "accuracies": list(result.best.accuracies)},
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
    return f"The starting point, trial {start.number}, has {start.value:.2%}."
