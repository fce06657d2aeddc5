"""The charts of a search: how the best value improved, and which settings mattered."""

from collections.abc import Mapping, Sequence

from heterophily.core.chart import Axis, Chart, Mark
from heterophily.search.result import TrialResult

MAX_BARS = 15


def history_chart(trials: Sequence[TrialResult]) -> Chart:
    """Return the value of every trial and the best value so far."""
    marks = []
    for state in ("pruned", "done"):
        values = [(t.number, 100 * t.value) for t in trials if t.state == state and t.value]
        if values:
            x, y = zip(*values, strict=True)
            marks.append(Mark("point", x, y, name=state, color="quiet" if state == "pruned" else "accent"))
    best = best_so_far(trials)
    line = [number for number, _ in best], [100 * value for _, value in best]
    marks.append(Mark("line", *line, name="best so far", color=1, points=False, steps=True))
    return Chart("Validation accuracy", marks, Axis("trial"), Axis("validation accuracy, %"))


def best_so_far(trials: Sequence[TrialResult]) -> list[tuple[int, float]]:
    """Return the best value after each finished trial."""
    line: list[tuple[int, float]] = []
    for trial in trials:
        if trial.state == "done" and trial.value is not None:
            line.append((trial.number, max([trial.value, *(value for _, value in line[-1:])])))
    return line


def importance_chart(importances: Mapping[str, float]) -> Chart:
    """Return the most important settings as bars, the most important one on top."""
    names = list(importances)[:MAX_BARS]
    shares = [100 * importances[name] for name in names]
    return Chart(
        "Importance of settings",
        [Mark("bar", shares, names, labels=[f"{share:.0f} %" for share in shares], anchor="left")],
        Axis("share of the variance of validation accuracy, %"),
        Axis("", names, reverse=True),
        digits=1,
    )
