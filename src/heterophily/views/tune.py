"""The result of `tune` on a terminal: validation scores before and after, and the commands that come next."""

import shlex
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from heterophily.training.scoring import score_text, title_of
from heterophily.tuning.equal_budget import TuneResult
from heterophily.tuning.result import SearchResult, TrialResult


def tune_view(result: TuneResult) -> RenderableType:
    """Return the validation scores of the default and the tuned settings."""
    grid = Table.grid(padding=(0, 2))
    names = ("dataset", "method", "default", "tuned", "trials", "training")
    grid.add_row(*(Text(name, style="dim") for name in names))
    for (model, dataset), search in result.searches.items():
        grid.add_row(dataset, model, *_row(search))
    scorings = dict.fromkeys(title_of(search.scoring) for search in result.searches.values())
    head = f"validation {', '.join(scorings) or 'scores'}, {result.budget} per method and dataset"
    failed = [Text(f"{model} on {name}: {why}", "red") for (model, name), why in result.failed.items()]
    return Group(Text(head, "bold"), Padding(grid, (1, 0, 1, 1)), *failed)


def _row(search: SearchResult) -> list[str]:
    seconds = sum(trial.seconds for trial in search.trials)
    return [
        _score(search, search.baseline),
        score_text(search.scoring, search.value, digits=2),
        str(search.n_finished),
        f"{seconds:,.0f} s",
    ]


def _score(search: SearchResult, trial: TrialResult) -> str:
    if trial.state != "done" or trial.value is None:
        return trial.state
    return score_text(search.scoring, trial.value, digits=2)


def next_commands(result: TuneResult, *, models: str, datasets: str) -> Sequence[str]:
    """Return the commands that train with the tuned and the default settings, and that print the table."""
    out = shlex.quote(str(result.folder))
    words = f"heterophily bench --models {shlex.quote(models)} --datasets {shlex.quote(datasets)} --out {out}"
    tuned = f"--settings {shlex.quote(str(result.folder / 'settings'))}"
    return f"{words} {tuned}", f"{words} --defaults", f"heterophily table {out}"
