"""The commands `search` and `tune`, which choose settings on validation nodes."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from heterophily.commands.config import RunOptions, settings_option
from heterophily.commands.options import Nodes, Source, parse_names, parse_settings, with_options
from heterophily.commands.output import print_colored
from heterophily.core.arguments import MAX_SEED
from heterophily.training.scoring import DEFAULT_SCORING, SCORINGS, find_scoring

app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class SearchOptions(RunOptions):
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
    settings: Annotated[list[str], settings_option(), "Setting that is not searched; can be repeated."] = field(
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
    from heterophily.views.progress import TrialProgress
    from heterophily.views.search import result_view, summary_of, write_summary

    find_scoring(options.scoring)  # before the graph is loaded
    graph = open_graph(options.source, nodes=options.nodes, roles=options.roles, for_training=True)
    with TrialProgress(options.trials, scoring=options.scoring, quiet=options.quiet) as display:
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
    complete = write_summary(result, options.out)
    options.show(lambda: result_view(complete), lambda: summary_of(complete))


@dataclass(frozen=True, kw_only=True)
class TuneOptions(RunOptions):
    """Options of `tune`."""

    models: Annotated[str, "Comma-separated list of methods and Python files, or `all` for the paper's 14."]
    datasets: Annotated[str, "Comma-separated list of datasets and graph files, or `all` for the paper's 10."]
    out: Annotated[Path, "Folder for the trials and the settings. A rerun continues from the existing trials."]
    trials: Annotated[int | None, Option(min=1), "Number of trials per method and dataset."] = None
    budget: Annotated[
        str | None,
        "Training time per method and dataset, such as 30s, 5m, or 1h. With --trials, the limit that is reached first "
        "applies.",
    ] = None
    splits: Annotated[str | None, "Splits such as `0-2` or `0,3`, or `all`; the first three by default."] = None
    workers: Annotated[int, Option(min=1), "Number of trials at the same time, over all methods and datasets."] = 1
    threads: Annotated[
        int, Option(min=1), "Number of PyTorch threads per trial. Another number changes the last digits of results."
    ] = 1
    scoring: Annotated[str, f"Objective of training and of the search, one of {', '.join(SCORINGS)}."] = (
        DEFAULT_SCORING.name
    )
    seed: Annotated[int, Option(min=0, max=MAX_SEED), "Seed of the sampler and of training."] = 0
    settings: Annotated[list[str], settings_option(), "Setting that is not searched; can be repeated."] = field(
        default_factory=list
    )


@app.command(rich_help_panel="Experiments")
@with_options(TuneOptions)
def tune(options: TuneOptions) -> None:
    """Search the settings of several methods with the same budget, on validation nodes.

    Every search starts with the defaults of its method. The command neither computes nor stores test scores. It prints
    the `bench` commands that train the tuned and the default settings on all splits. If it is interrupted, run the same
    command again to resume it. Several commands with the same folder share the work.
    """
    from heterophily.benchmark.plan import DATASETS, MODELS
    from heterophily.data.loading import open_available
    from heterophily.tuning.equal_budget import tune
    from heterophily.views.progress import TuneProgress
    from heterophily.views.tune import next_commands, tune_view

    find_scoring(options.scoring)  # before the graphs are loaded
    models = parse_names(options.models, MODELS)
    graphs, skipped = open_available(parse_names(options.datasets, DATASETS), options.roles)
    n_searches = len(models) * len(graphs)
    with TuneProgress(options.trials, n_searches, scoring=options.scoring, quiet=options.quiet) as display:
        result = tune(
            models,
            list(graphs.values()),
            out=options.out,
            trials=options.trials,
            budget=options.budget,
            splits=options.splits,
            workers=options.workers,
            threads=options.threads,
            seed=options.seed,
            scoring=options.scoring,
            settings=parse_settings(options.settings),
            display=display,
        )
    for name, reason in skipped.items():
        print_colored(f"skipped {name}: {reason}", "yellow")
    commands = next_commands(result, models=options.models, datasets=options.datasets)
    options.show(lambda: tune_view(result), lambda: {**result.to_dict(), "skipped": skipped, "next": [*commands]})
    if not options.as_json:  # as text, because a console would break the lines
        head = "Next, train on all splits and compare test scores:"
        options.show(lambda: "\n  ".join([head, *commands]), dict)
    if result.failed or skipped:
        raise typer.Exit(1)
