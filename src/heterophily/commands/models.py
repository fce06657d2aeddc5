"""Commands for models: list and show methods, fit a model, and predict with it."""

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from heterophily.commands.options import (
    Device,
    Nodes,
    Report,
    RoleOptions,
    Settings,
    Source,
    TableOptions,
    check_report,
    parse_class_weight,
    parse_neighbors,
    parse_settings,
    with_options,
)
from heterophily.commands.output import OutputOptions
from heterophily.core.arguments import MAX_SEED
from heterophily.core.errors import HeterophilyError
from heterophily.training.scoring import SCORINGS

if TYPE_CHECKING:
    from heterophily.core.graph import Graph
    from heterophily.core.types import Value
    from heterophily.training.estimator import NodeClassifier

app = typer.Typer()
PANEL = "Models"


@dataclass(frozen=True, kw_only=True)
class ModelsOptions(OutputOptions):
    """Options of `models`."""

    files: Annotated[list[str] | None, Argument(metavar="FILE"), "Python files that define your own methods."] = None


@app.command(rich_help_panel=PANEL)
@with_options(ModelsOptions)
def models(options: ModelsOptions) -> None:
    """List all methods with their neighborhoods, guidance, COMBINE, and FUSE."""
    from heterophily.models import REGISTRY, find_method, load_installed_methods
    from heterophily.views.console import model_table, row_of

    load_installed_methods()
    for file in options.files or ():
        find_method(file)
    methods = list(REGISTRY.values())
    options.show(lambda: model_table(methods), lambda: [row_of(method) for method in methods])


@dataclass(frozen=True, kw_only=True)
class ShowOptions(OutputOptions):
    """Options of `show`."""

    model: Annotated[str, Argument(metavar="MODEL"), "Name of a method, or a Python file."]


@app.command(rich_help_panel=PANEL)
@with_options(ShowOptions)
def show(options: ShowOptions) -> None:
    """Show the architecture, equation, citation, settings, and deviations of a method."""
    from heterophily.models import find_method
    from heterophily.views.console import model_facts, model_view

    method = find_method(options.model)
    options.show(lambda: model_view(method), lambda: model_facts(method))


@dataclass(frozen=True, kw_only=True)
class FitOptions(TableOptions):
    """Options of `fit`."""

    source: Source
    out: Annotated[Path, "Folder for the model, predictions, and figures."]
    model: Annotated[
        str | None,
        "Name of a method, a Python file, or `auto` for the best of several or an ensemble of them. By default "
        "`auto`, and `cmgnn` on benchmark datasets and under `torchrun`.",
    ] = None
    budget: Annotated[str | None, "Time limit of `auto`, such as 30s, 5m, or 1h; 5m by default."] = None
    ensemble: Annotated[
        bool, Option("--ensemble/--no-ensemble"), "Whether the result of `auto` can be an ensemble."
    ] = True
    workers: Annotated[
        int | None, Option(min=1), "Number of processes of `auto`; one per core by default if the graph is large."
    ] = None
    scoring: Annotated[
        str | None, f"Objective: one of {', '.join(SCORINGS)}. By default, it is chosen from the sizes of the classes."
    ] = None
    positive: Annotated[str | None, "Positive one of two classes; the rarer one by default."] = None
    threshold: Annotated[
        str | None,
        "Probability from which the positive one of two classes is predicted: a number, or `f1` or `youden` for the "
        "best one on validation nodes.",
    ] = None
    calibrate: Annotated[
        bool, Option("--calibrate"), "Calibrate the probabilities on validation nodes; `auto` always does."
    ] = False
    nodes: Nodes = None
    split: Annotated[str | None, "Name of a split of the graph; the first by default."] = None
    seed: Annotated[int, Option(min=0, max=MAX_SEED), "Seed of the weights, dropout, and validation nodes."] = 0
    device: Device = "auto"
    threads: Annotated[int, Option(min=0), "Number of PyTorch threads; 0 for the PyTorch default."] = 0
    settings: Settings = field(default_factory=list)
    settings_file: Annotated[Path | None, Option("--settings"), "TOML file with settings, as `search` writes."] = None
    class_weight: Annotated[
        str,
        "Weights of the classes in the loss: `none`, `balanced` so that all classes count equally, JSON, or pairs "
        "such as `fraud=5,honest=1`.",
    ] = "none"
    batch_size: Annotated[int | None, Option(min=1), "Number of training nodes per step; all of them by default."] = (
        None
    )
    neighbors: Annotated[
        str,
        Option("--neighbors", "--num-neighbors"),
        "Comma-separated numbers of neighbors to sample per hop in a batch, or `all`.",
    ] = "10,5,2,1"
    positions: Annotated[
        int,
        Option(min=0, rich_help_panel="Tables"),
        "Number of positions if the nodes have no features; 0 to predict on other graphs.",
    ] = 16
    report: Report = None


@app.command(rich_help_panel=PANEL)
@with_options(FitOptions)
def fit(options: FitOptions) -> None:
    """Train a model on a graph and predict all of its nodes.

    `--model auto`, the default for your own graphs, trains many candidates within a time budget. It returns the
    best one, or an ensemble if that is better on validation nodes, with calibrated probabilities. Ctrl-C ends the
    search with the best result so far.

    The output starts with alarms if the model should not be trusted, for example because it predicts a single
    class or is not better than the shares of the classes.

    Under `torchrun`, several processes share each batch, and the first one writes the results.
    """
    from heterophily.core.machine import prepare_process
    from heterophily.core.processes import process_group, rank
    from heterophily.data.loading import open_graph
    from heterophily.training.selection import default_model

    check_report(options.report)
    prepare_process(options.threads)
    mmap = options.batch_size is not None
    graph = open_graph(
        options.source,
        nodes=options.nodes,
        roles=options.roles,
        mmap=mmap,
        for_training=True,
        positions=options.positions,
    )
    with process_group():
        model = options.model or default_model(graph)
        fitted = _fit(options, graph, model)
        is_first = rank() == 0
    if is_first:
        _write_fit(options, fitted, graph, model)


def _fit(options: FitOptions, graph: "Graph", model: str) -> "NodeClassifier":
    from heterophily.training.alarms import AlarmWarning
    from heterophily.training.decision import parse_threshold
    from heterophily.training.selection import fit

    with warnings.catch_warnings():
        if not options.quiet:
            warnings.simplefilter("ignore", AlarmWarning)  # the summary shows them
        return fit(
            graph,
            model,
            split=options.split,
            settings_file=options.settings_file,
            scoring=options.scoring,
            class_weight=parse_class_weight(options.class_weight),
            neighbors=parse_neighbors(options.neighbors),
            random_state=options.seed,
            verbose=not options.quiet,
            device=options.device,
            batch_size=options.batch_size,
            positive=options.positive,
            threshold=parse_threshold(options.threshold),
            calibrate=options.calibrate,
            **_race_options(options, model),
            **parse_settings(options.settings),
        )


def _race_options(options: FitOptions, model: str) -> "dict[str, Value]":
    """Return the options of `auto`, and reject them for other models."""
    given = {"budget": options.budget, "workers": options.workers}
    race: dict[str, Value] = {name: value for name, value in given.items() if value is not None}
    if not options.ensemble:
        race["ensemble"] = False
    if race and model != "auto":
        name = "--no-ensemble" if "ensemble" in race else f"--{next(iter(race))}"
        raise HeterophilyError(f"{name} is an option of --model auto, but the model is {model}; omit it")
    return race


def _write_fit(options: FitOptions, fitted: "NodeClassifier", graph: "Graph", model: str) -> None:
    from rich.console import Group
    from rich.text import Text

    from heterophily.data.source import GraphSource
    from heterophily.views.columns import with_columns
    from heterophily.views.direction import direction_notice
    from heterophily.views.fit import metrics_of, write_results
    from heterophily.views.fit_console import alarm_view, fit_view

    paths = write_results(fitted, graph, options.out)
    GraphSource.of(graph, options.source, options.nodes).write(options.out)
    if options.report is not None:
        from heterophily.views.page.graph_report import fit_command, write_fit

        command = fit_command(
            fitted,
            source=options.source,
            model=model,
            split=options.split,
            folder=options.out,
            nodes=options.nodes,
            table_words=options.table_words,
        )
        paths["report"] = write_fit(fitted, graph, options.report, command=command, folder=options.out)
    notice = direction_notice(fitted.method, graph)
    options.show(
        lambda: Group(
            alarm_view(fitted), with_columns(graph, fit_view(fitted, graph, paths)), *([Text(notice)] if notice else [])
        ),
        lambda: {**metrics_of(fitted, graph), "files": {name: str(path) for name, path in paths.items()}},
    )


@dataclass(frozen=True, kw_only=True)
class PredictOptions(RoleOptions):
    """Options of `predict`. By default, the columns have the roles that they had in `fit`."""

    folder: Annotated[Path, Argument(metavar="DIR"), "Folder written by `fit`."]
    source: Source
    out: Annotated[Path, "File for the predictions: .csv, .json, or .parquet."]
    nodes: Nodes = None
    model: Annotated[str | None, "Python file that defines the method, if it is your own."] = None


@app.command(rich_help_panel=PANEL)
@with_options(PredictOptions)
def predict(options: PredictOptions) -> None:
    """Predict the nodes of a graph with a model trained by `fit`."""
    from heterophily.data.loading import open_graph
    from heterophily.training.estimator import NodeClassifier
    from heterophily.views.predictions import check_predictions_path, write_predictions

    check_predictions_path(options.out)
    inner = options.folder / "model"
    fitted = NodeClassifier.load(inner if inner.is_dir() else options.folder, model=options.model)
    graph = open_graph(options.source, nodes=options.nodes, roles=options.roles, encoder=fitted.encoder_)
    write_predictions(fitted, graph, options.out)
    options.show(
        lambda: f"wrote {options.out}: {graph.n_nodes:,} nodes",
        lambda: {"file": str(options.out), "n_nodes": graph.n_nodes},
    )
