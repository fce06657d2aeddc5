"""Commands for models: list and show methods, fit a model, and predict with it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from heterophily.commands.options import (
    MAX_SEED,
    Device,
    Json,
    Nodes,
    Report,
    RoleOptions,
    Settings,
    Source,
    TableOptions,
    check_report,
    parse_neighbors,
    parse_settings,
    print_json,
    with_options,
)

if TYPE_CHECKING:
    from heterophily.core.graph import Graph
    from heterophily.training.estimator import NodeClassifier

app = typer.Typer()
PANEL = "Models"


@app.command(rich_help_panel=PANEL)
def models(
    files: Annotated[
        list[str] | None, Argument(metavar="FILE", help="Python files that define your own methods.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List all methods with their neighborhoods, guidance, COMBINE, and FUSE."""
    from heterophily.models import REGISTRY, find_method
    from heterophily.views.console import console, model_table, row_of

    for file in files or ():
        find_method(file)
    if as_json:
        print_json([row_of(method) for method in REGISTRY.values()])
    else:
        console().print(model_table(list(REGISTRY.values())))


@app.command(rich_help_panel=PANEL)
def show(
    model: Annotated[str, Argument(metavar="MODEL", help="Name of a method, or a Python file.")], as_json: Json = False
) -> None:
    """Show the architecture, equation, citation, settings, and deviations of a method."""
    from heterophily.models import find_method
    from heterophily.views.console import console, model_facts, model_view

    method = find_method(model)
    if as_json:
        print_json(model_facts(method))
    else:
        console().print(model_view(method))


@dataclass(frozen=True, kw_only=True)
class FitOptions(TableOptions):
    """Options of `fit`."""

    source: Source
    out: Annotated[Path, "Folder for the model, predictions, and figures."]
    model: Annotated[str, "Name of a method, a Python file, or `auto` for the best of several."] = "cmgnn"
    nodes: Nodes = None
    split: Annotated[str | None, "Name of a split of the graph; the first by default."] = None
    seed: Annotated[int, Option(min=0, max=MAX_SEED), "Seed of the weights, dropout, and validation nodes."] = 0
    device: Device = "auto"
    threads: Annotated[int, Option(min=0), "Number of PyTorch threads; 0 for the PyTorch default."] = 0
    settings: Settings = field(default_factory=list)
    settings_file: Annotated[Path | None, Option("--settings"), "TOML file with settings, as `search` writes."] = None
    class_weight: Annotated[
        Literal["none", "balanced"], "`balanced` weights the loss so that all classes count equally."
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

    Under `torchrun`, several processes share each batch, and the first one writes the results.
    """
    from heterophily.core.machine import prepare_process
    from heterophily.core.processes import process_group, rank
    from heterophily.data.loading import open_graph

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
        fitted = _fit(options, graph)
        is_first = rank() == 0
    if is_first:
        _write_fit(options, fitted, graph)


def _fit(options: FitOptions, graph: "Graph") -> "NodeClassifier":
    from heterophily.models.settings import read_settings
    from heterophily.training.selection import fit_model

    file = options.settings_file
    return fit_model(
        graph,
        options.model,
        split=options.split or next(iter(graph.splits), None),
        user_tables=None if file is None else read_settings(file, datasets=[graph.name]),
        random_state=options.seed,
        verbose=True,
        device=options.device,
        class_weight=None if options.class_weight == "none" else options.class_weight,
        batch_size=options.batch_size,
        neighbors=parse_neighbors(options.neighbors),
        **parse_settings(options.settings),  # type: ignore[arg-type]
    )


def _write_fit(options: FitOptions, fitted: "NodeClassifier", graph: "Graph") -> None:
    from heterophily.data.source import GraphSource
    from heterophily.views.columns import with_columns
    from heterophily.views.console import console, fit_view
    from heterophily.views.direction import direction_notice
    from heterophily.views.fit import write_results

    paths = write_results(fitted, graph, options.out)
    GraphSource.of(graph, options.source, options.nodes).write(options.out)
    if options.report is not None:
        from heterophily.views.page.graph_report import fit_command, write_fit

        command = fit_command(
            fitted,
            source=options.source,
            model=options.model,
            split=options.split,
            folder=options.out,
            nodes=options.nodes,
            table_words=options.table_words,
        )
        paths["report"] = write_fit(fitted, graph, options.report, command=command)
    console().print(with_columns(graph, fit_view(fitted, graph, paths)))
    if notice := direction_notice(fitted.method, graph):
        typer.echo(notice)


@dataclass(frozen=True, kw_only=True)
class PredictOptions(RoleOptions):
    """Options of `predict`. By default, the columns have the roles that they had in `fit`."""

    folder: Annotated[Path, Argument(metavar="DIR"), "Folder written by `fit`."]
    source: Source
    out: Annotated[Path, "CSV file for the predictions."]
    nodes: Nodes = None
    model: Annotated[str | None, "Python file that defines the method, if it is your own."] = None


@app.command(rich_help_panel=PANEL)
@with_options(PredictOptions)
def predict(options: PredictOptions) -> None:
    """Predict the nodes of a graph with a model trained by `fit`."""
    from heterophily.data.loading import open_graph
    from heterophily.training.estimator import NodeClassifier
    from heterophily.views.fit import write_predictions

    inner = options.folder / "model"
    fitted = NodeClassifier.load(inner if inner.is_dir() else options.folder, model=options.model)
    graph = open_graph(options.source, nodes=options.nodes, roles=options.roles, encoder=fitted.encoder_)
    write_predictions(fitted, graph, options.out)
    typer.echo(f"wrote {options.out}: {graph.n_nodes:,} nodes")
