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


def write_summary(result: SearchResult, folder: Path) -> SearchResult:
    """Write the figures and the summary of a search to a folder."""
    files = dict(result.files)
    files["history"] = save_charts([history_chart(result.trials)], folder / "history.png")
    if result.importances:
        chart = importance_chart(result.importances)
        files["importances"] = save_charts([chart], folder / "importances.png")
    told = replace(result, files=files)
    for kind, text in (("json", summary_json(told)), ("md", summary_markdown(told))):
        files[f"summary.{kind}"] = _write_text(folder / f"summary.{kind}", text)
    return replace(result, files=files)


def _write_text(path: Path, text: str) -> Path:
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return path


def summary_of(found: SearchResult) -> dict[str, Any]:
    """The search as plain data."""
    return {
        **found.facts,
        "objective": "mean validation accuracy",
        "trials": {s: found.count(s) for s in ("done", "pruned", "failed", "running")},
        "best": {
            "trial": found.best.number,
            "value": found.value,
            "accuracies": list(found.best.accuracies),
        },
        "start": {"trial": found.baseline.number, "value": found.baseline.value},
        "preset": found.preset,
        "settings": dict(found.settings),
        "row": row_of(found.method),
        "importances": dict(found.importances),
        "files": {key: path.name for key, path in found.files.items()},
    }


def summary_json(found: SearchResult) -> str:
    """The summary in JSON."""
    return json.dumps(summary_of(found), indent=2, ensure_ascii=False) + "\n"


def summary_markdown(found: SearchResult) -> str:
    """The summary as a page."""
    facts = summary_of(found)
    counts = ", ".join(f"{n} {state}" for state, n in facts["trials"].items() if n)
    row = facts["row"]
    lines = [
        f"# {found.model} on {found.dataset}",
        "",
        f"Best of {len(found.trials)} trials ({counts}): trial {found.best.number} with a mean "
        f"validation accuracy of {found.value:.2%} over the splits {', '.join(facts['splits'])}.",
        f"{_start_sentence(found)} Test labels were never seen.",
        "",
        f"Neighborhoods [{', '.join(row['neighborhoods'])}], guidance "
        f"[{', '.join(row['guidance'])}], COMBINE {row['combine']}, FUSE {row['fuse']}.",
        "",
        "| setting | found |",
        "|---|---|",
        *(
            f"| {name} | {value} |"
            for name, value in {**changed_preset(found), **found.settings}.items()
        ),
        "",
        f"![Validation accuracy over the trials]({found.files['history'].name})",
    ]
    if found.importances:
        shares = (f"| {name} | {share:.1%} |" for name, share in found.importances.items())
        lines += ["", "| setting | importance |", "|---|---|", *shares, ""]
        lines += [f"![Importances]({found.files['importances'].name})"]
    return "\n".join(lines) + "\n"


def _start_sentence(found: SearchResult) -> str:
    start = found.baseline
    if start.state != "done" or start.value is None:
        return f"The starting point, trial {start.number}, {start.state}."
    return f"The starting point, trial {start.number}, had {start.value:.2%}."
