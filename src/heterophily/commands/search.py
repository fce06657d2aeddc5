"""The command `heterophily search`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from heterophily.commands.options import MAX_SEED, Nodes, Source, TableOptions, parse_settings, with_options
from heterophily.training.scoring import DEFAULT_SCORING, SCORINGS, find_scoring

app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class SearchOptions(TableOptions):
    """Options of `search`."""

    model: Annotated[
        str, Argument(metavar="MODEL"), "Name of a method, a Python file, or `htmp` to search for an architecture."
    ]
    source: Source
    trials: Annotated[int, Option(min=1), "Total number of trials, including those of earlier runs."]
    out: Annotated[Path, "Folder for the trials, summary, result, and figures."]
    nodes: Nodes = None
    splits: Annotated[str | None, "Splits such as `0-2` or `0,3`, or `all`; the first three by default."] = None
    workers: Annotated[int, Option(min=1), "Number of trials at the same time."] = 1
    threads: Annotated[
        int, Option(min=1), "Number of PyTorch threads per trial. Another number changes the last digits of results."
    ] = 1
    storage: Annotated[str | None, "URL of an Optuna storage that several machines share."] = None
    scoring: Annotated[str, f"Objective of training and of the search, one of {', '.join(SCORINGS)}."] = (
        DEFAULT_SCORING.name
    )
    seed: Annotated[int, Option(min=0, max=MAX_SEED), "Seed of the sampler and of training."] = 0
    settings_out: Annotated[Path | None, "TOML file to update with the best settings, or .py file for `htmp`."] = None
    settings: Annotated[list[str], Option("--set"), "Setting that is not searched; can be repeated."] = field(
        default_factory=list
    )


@app.command(rich_help_panel="Experiments")
@with_options(SearchOptions)
def search(options: SearchOptions) -> None:
    """Search for the settings or the architecture with the best validation score.

    If the search is interrupted, run the same command again to resume it.
    """
    from heterophily.data.loading import open_graph
    from heterophily.tuning import search
    from heterophily.views.console import console
    from heterophily.views.progress import TrialProgress
    from heterophily.views.search import result_view, write_summary

    find_scoring(options.scoring)  # before the graph is loaded
    graph = open_graph(options.source, nodes=options.nodes, roles=options.roles, for_training=True)
    with TrialProgress(options.trials, scoring=options.scoring) as display:
        result = search(
            options.model,
            graph,
            trials=options.trials,
            out=options.out,
            splits=options.splits,
            workers=options.workers,
            threads=options.threads,
            storage=options.storage,
            seed=options.seed,
            scoring=options.scoring,
            settings=parse_settings(options.settings),
            write=options.settings_out,
            display=display,
        )
    console().print(result_view(write_summary(result, options.out)))
