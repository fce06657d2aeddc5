"""Two pictures of a search: how the best value grew, and which settings mattered."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from heterophily.search.result import TrialResult
from heterophily.views.figures import SMALL, TEXT, save_figure

BLUE, RED, GREY = "#2166ac", "#b2182b", "#bbbbbb"
MOST_BARS = 15


def best_so_far(attempts: Sequence[TrialResult]) -> list[tuple[int, float]]:
    """The best value after each finished trial."""
    line: list[tuple[int, float]] = []
    for attempt in attempts:
        if attempt.state == "done" and attempt.value is not None:
            line.append((attempt.number, max([attempt.value, *(v for _, v in line[-1:])])))
    return line


def save_history(attempts: Sequence[TrialResult], path: Path) -> Path:
    """Save the value of every trial, pruned ones in grey, and the best so far."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(6.0, 3.2), layout="constrained")
    axes = figure.subplots()
    for state, color in (("pruned", GREY), ("done", BLUE)):
        shown = [(a.number, 100 * a.value) for a in attempts if a.state == state and a.value]
        if shown:
            axes.plot(*zip(*shown, strict=True), "o", color=color, markersize=4, label=state)
    line = [(number, 100 * value) for number, value in best_so_far(attempts)]
    axes.step(*zip(*line, strict=True), where="post", color=RED, linewidth=1.4, label="best so far")
    axes.set_xlabel("trial", fontsize=TEXT)
    axes.set_ylabel("validation accuracy, %", fontsize=TEXT)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.tick_params(labelsize=SMALL)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.legend(fontsize=SMALL, frameon=False)
    return save_figure(figure, path)


def save_importances(importances: Mapping[str, float], path: Path) -> Path:
    """Save the importances as bars, largest on top."""
    from matplotlib.figure import Figure

    shown = list(importances.items())[:MOST_BARS][::-1]
    figure = Figure(figsize=(6.0, 0.9 + 0.28 * max(len(shown), 1)), layout="constrained")
    axes = figure.subplots()
    axes.barh([name for name, _ in shown], [share for _, share in shown], color=BLUE, height=0.6)
    for row, (_, share) in enumerate(shown):
        axes.text(share + 0.01, row, f"{share:.0%}", va="center", fontsize=SMALL)
    axes.set_xlim(0, 1.15 * max(share for _, share in shown))
    axes.set_xlabel("share of the variance of validation accuracy", fontsize=TEXT)
    axes.tick_params(labelsize=SMALL, length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return save_figure(figure, path)
