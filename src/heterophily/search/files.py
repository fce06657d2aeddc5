"""The files of a search: the table of trials and the best settings, written atomically."""

import csv
from collections.abc import Sequence
from pathlib import Path

from heterophily.core.files import safe_name, write_atomically
from heterophily.core.types import Value
from heterophily.htmp.method import CustomMethod
from heterophily.search import components
from heterophily.search.result import SearchResult, TrialResult
from heterophily.search.settings_file import write_settings
from heterophily.search.source import write_method


def write_winner(result: SearchResult, path: Path) -> Path:
    """Write the best method as Python code, or the best settings as a table of a settings file."""
    if result.model == components.NAME:
        words = f"Best architecture of a search with {len(result.trials)} trials on {result.dataset}."
        assert isinstance(result.method, CustomMethod)
        return write_method(result.method, path, description=words)
    return write_settings(path, result.dataset, settings_table(result), model=result.model)


def winner_path(result: SearchResult, folder: Path) -> Path:
    """Return the path of the best settings: `method.py` of an architecture search, or `<model>.toml`."""
    name = "method.py" if result.model == components.NAME else f"{safe_name(result.model)}.toml"
    return folder / name


def settings_table(result: SearchResult) -> dict[str, Value]:
    """Return the best settings as a table of a settings file."""
    return {"source": "search", **changed_preset(result), **result.settings}


def changed_preset(result: SearchResult) -> dict[str, str]:
    """Return the preset if it is not the default one."""
    return {} if result.preset == "published" else {"preset": result.preset}


def write_trials(trials: Sequence[TrialResult], splits: Sequence[str], path: Path) -> None:
    """Write one row per trial: state, accuracies, settings, and the reason of a failure."""
    names = sorted({name for trial in trials for name in trial.answers})

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            columns = (f"split {name}" for name in splits)
            writer.writerow(["trial", "state", "value", "seconds", *columns, *names, "reason"])
            for trial in trials:
                accuracies = [*trial.accuracies, *[""] * (len(splits) - len(trial.accuracies))]
                value = "" if trial.value is None else trial.value
                settings = (trial.answers.get(name, "") for name in names)
                start = [trial.number, trial.state, value, f"{trial.seconds:.2f}"]
                writer.writerow([*start, *accuracies, *settings, trial.reason])

    write_atomically(path, write)
