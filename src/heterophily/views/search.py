"""The files of a search: summary, table of trials, winner, and figures, all written atomically."""

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from heterophily.core.files import safe_name, write_atomically
from heterophily.search import components
from heterophily.search.charts import history_chart, importance_chart
from heterophily.search.result import SearchResult, TrialResult
from heterophily.search.settings_file import write_settings
from heterophily.search.source import write_recipe
from heterophily.views.matplotlib import save_charts


def write_found(found: SearchResult, folder: Path, *, write: Path | None = None) -> SearchResult:
    """Write winner, figures and summary into a folder, and the winner into `write` too."""
    files = {"trials": folder / "trials.csv"}
    files["history"] = save_charts([history_chart(found.attempts)], folder / "history.png")
    if found.importances:
        chart = importance_chart(found.importances)
        files["importances"] = save_charts([chart], folder / "importances.png")
    for key, path in (("winner", winner_path(found, folder)), ("written", write)):
        if path is not None:
            files[key] = write_winner(found, path)
    told = replace(found, files=files)
    for kind, text in (("json", summary_json(told)), ("md", summary_markdown(told))):
        files[f"summary.{kind}"] = _write_text(folder / f"summary.{kind}", text)
    return replace(found, files=files)


def _write_text(path: Path, text: str) -> Path:
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return path


def winner_path(found: SearchResult, folder: Path) -> Path:
    """Where the winner goes: `recipe.py` of a component search, else `<model>.toml`."""
    name = "recipe.py" if found.model == components.NAME else f"{safe_name(found.model)}.toml"
    return folder / name


def write_winner(found: SearchResult, path: Path) -> Path:
    """The winner as a recipe in Python, or as a table of settings."""
    if found.model == components.NAME:
        words = (
            f"The mechanism that a search of {len(found.attempts)} trials found on {found.dataset}."
        )
        return write_recipe(found.recipe, path, words=words)
    return write_settings(path, found.dataset, table_of(found), model=found.model)


def table_of(found: SearchResult) -> dict[str, Any]:
    """The winner as a table of a file of settings."""
    return {"source": "search", **preset_of(found), **found.settings}


def preset_of(found: SearchResult) -> dict[str, str]:
    """The preset, where it is not the usual one."""
    return {} if found.preset == "published" else {"preset": found.preset}


def write_trials(attempts: Sequence[TrialResult], splits: Sequence[str], path: Path) -> None:
    """One row per trial: state, accuracies, what was tried, and the reason of a failure."""
    names = sorted({name for attempt in attempts for name in attempt.answers})

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            heads = (f"split {name}" for name in splits)
            writer.writerow(["trial", "state", "value", "seconds", *heads, *names, "reason"])
            for a in attempts:
                each = [*a.accuracies, *[""] * (len(splits) - len(a.accuracies))]
                value = "" if a.value is None else a.value
                tried = (a.answers.get(name, "") for name in names)
                start = [a.number, a.state, value, f"{a.seconds:.2f}"]
                writer.writerow([*start, *each, *tried, a.reason])

    write_atomically(path, write)


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
        "start": {"trial": found.start.number, "value": found.start.value},
        "preset": found.preset,
        "settings": dict(found.settings),
        "row": found.recipe.with_settings(preset=found.preset, **found.settings).row,
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
        f"Best of {len(found.attempts)} trials ({counts}): trial {found.best.number} with a mean "
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
            for name, value in {**preset_of(found), **found.settings}.items()
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
    start = found.start
    if start.state != "done" or start.value is None:
        return f"The starting point, trial {start.number}, {start.state}."
    return f"The starting point, trial {start.number}, had {start.value:.2%}."
