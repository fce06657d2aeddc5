"""The command `heterophily`: every command is one short function that calls the public API.

Heavy imports stand inside the commands, so that `--help` answers at once. A problem of the input
ends with exit code 2 and one sentence.
"""

import json
import sys
import warnings
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from heterophily import __version__
from heterophily.commands.bench import bench_app
from heterophily.commands.options import Nodes, Source, chosen, neighbor_counts
from heterophily.commands.search import search_app
from heterophily.commands.study import study_app
from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.machine import retain_freed_memory

app = typer.Typer(
    name="heterophily",
    help="Graph neural networks where connected nodes differ.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(search_app)
app.add_typer(bench_app)
app.add_typer(study_app)

Report = Annotated[
    Path | None, typer.Option("--report", help="Write a page with everything, ending in .html.")
]
INTERRUPTED = 130  # exit code after Ctrl-C
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


class Pattern(StrEnum):
    """Which other classes a class likes."""

    easy = "easy"
    hard = "hard"


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"heterophily {__version__}")
        raise typer.Exit


@app.command()
def datasets(as_json: Json = False) -> None:
    """List the datasets, measured on the files that are here."""
    from heterophily.data.catalog import CATALOG
    from heterophily.data.statistics import measure_statistics
    from heterophily.views.console import console, dataset_table

    rows = [measure_statistics(dataset) for dataset in CATALOG.values()]
    if as_json:
        _print_json([row.to_dict() for row in rows])
    else:
        console().print(dataset_table(rows))


@app.command()
def download(
    names: Annotated[list[str], typer.Argument(help="Names of datasets, or `all`.")],
) -> None:
    """Fetch and verify the files of datasets, so that later runs need no network."""
    from heterophily.data.catalog import CATALOG, lookup
    from heterophily.data.store import fetch

    wanted = list(CATALOG.values()) if names == ["all"] else [lookup(name) for name in names]
    for dataset in wanted:
        paths = fetch(dataset)
        typer.echo(f"{dataset.name}: {len(paths)} files in {next(iter(paths.values())).parent}")


@app.command()
def diagnose(
    source: Source,
    nodes: Nodes = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the compatibility matrix to a .png, .pdf or .svg.")
    ] = None,
    report: Report = None,
    as_json: Json = False,
) -> None:
    """Tell whether a graph is homophilous or heterophilous, and what that suggests."""
    from heterophily.analysis.diagnosis import diagnose
    from heterophily.data.loading import open_graph
    from heterophily.views.console import console, diagnosis_view
    from heterophily.views.matplotlib import check_extension, save_charts

    if plot is not None:
        check_extension(plot)
    _check_report(report)
    diagnosis = diagnose(open_graph(source, nodes=nodes))
    if as_json:
        _print_json(diagnosis.to_dict())
    else:
        console().print(diagnosis_view(diagnosis))
    if plot is not None:
        typer.echo(f"wrote {save_charts(diagnosis.charts[:1], plot)}", err=True)
    if report is not None:
        from heterophily.views.page.graph_report import write_diagnosis

        typer.echo(
            f"wrote {write_diagnosis(diagnosis, report, source=source, nodes=nodes)}", err=True
        )


def _check_report(path: Path | None) -> None:
    """Refuse a wrong ending before the work, not after it."""
    if path is not None:
        from heterophily.views.page.build import check_name

        check_name(path)


@app.command()
def audit(source: Source, nodes: Nodes = None, as_json: Json = False) -> None:
    """Look for duplicate nodes, leakage between splits, tiny classes and other flaws."""
    from heterophily.analysis.audit import audit_graph
    from heterophily.data.loading import open_graph
    from heterophily.views.console import audit_view, console

    found = audit_graph(open_graph(source, nodes=nodes))
    if as_json:
        _print_json(found.to_dict())
    else:
        console().print(audit_view(found))


@app.command()
def synthesize(
    out: Annotated[Path, typer.Argument(help="File to write, ending in .safetensors.")],
    base: Annotated[
        str, typer.Option(help="Graph whose nodes, features and labels are kept.")
    ] = "digits",
    homophily: Annotated[float, typer.Option(min=0, max=1, help="Diagonal of M.")] = 0.2,
    pattern: Annotated[
        Pattern,
        typer.Option(help="easy: a class likes its two neighbors on a ring; hard: all alike."),
    ] = Pattern.easy,
    degree: Annotated[float, typer.Option(min=0, help="Average number of neighbors.")] = 18,
    seed: Annotated[int, typer.Option(help="Seed of the random edges.")] = 0,
) -> None:
    """Draw new edges between the nodes of a graph, with a chosen compatibility matrix M."""
    from heterophily.data.loading import open_graph
    from heterophily.data.synthetic import synthetic_graph

    if out.suffix != ".safetensors":
        raise HeterophilyError(f"a graph is saved as .safetensors, got {out.name!r}")
    graph = synthetic_graph(
        open_graph(base), homophily=homophily, pattern=pattern.value, degree=degree, seed=seed
    )
    typer.echo(f"wrote {graph.save(out)}: {graph.name}, {graph.n_edges:,} edges")


@app.command()
def fit(
    source: Source,
    out: Annotated[Path, typer.Option(help="Folder for the model, predictions and figures.")],
    model: Annotated[
        str,
        typer.Option(help="Name of a method, a file with a recipe, or auto: try some, keep one."),
    ] = "cmgnn",
    nodes: Nodes = None,
    split: Annotated[str | None, typer.Option(help="Name of a split of the graph.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of weights, dropout and held-out nodes.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting, such as width=128; repeatable.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--settings", help="A file of settings that `search` wrote.")
    ] = None,
    class_weights: Annotated[
        bool, typer.Option("--class-weights", help="Let every class count the same in the loss.")
    ] = False,
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Training nodes per step; by default the whole graph at once."),
    ] = None,
    neighbors: Annotated[
        str, typer.Option(help="Neighbors drawn in a batch, one number per hop, or all.")
    ] = "10,5,2,1",
    report: Report = None,
) -> None:
    """Train a model on a graph and write predictions for all of its nodes.

    Under `torchrun` several processes share each batch; the first one writes and prints.
    """
    from heterophily.commands.fit import fit_model
    from heterophily.core import processes
    from heterophily.data.loading import open_graph
    from heterophily.models.settings import read_settings
    from heterophily.views.console import console, fit_view
    from heterophily.views.fit import write_results

    _check_report(report)
    options: dict[str, Any] = {"seed": seed, "device": device, "class_weights": class_weights}
    options |= chosen(settings)
    options |= {"batch_size": batch_size, "neighbors": neighbor_counts(neighbors)}
    graph = open_graph(source, nodes=nodes, mmap=batch_size is not None)
    own = None if file is None else read_settings(file, datasets=[graph.name])
    with processes.process_group():
        fitted = fit_model(graph, model, split=split or _first(graph.splits), own=own, **options)
        silent = processes.rank() > 0
    if not silent:
        paths = write_results(fitted, graph, out)
        if report is not None:
            from heterophily.views.page.graph_report import fit_command, write_fit

            command = fit_command(
                fitted, source=source, model=model, split=split, folder=out, nodes=nodes
            )
            paths["report"] = write_fit(fitted, graph, report, command=command)
        console().print(fit_view(fitted, graph, paths))


def _first(splits: Any) -> str | None:
    return next(iter(splits), None)


@app.command()
def predict(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that `fit` wrote.")],
    source: Source,
    out: Annotated[Path, typer.Option(help="File for the predictions, ending in .csv.")],
    nodes: Nodes = None,
    model: Annotated[
        str | None, typer.Option(help="File with the recipe, if it is one of your own.")
    ] = None,
) -> None:
    """Predict the nodes of a graph with a model that `fit` wrote."""
    from heterophily.data.loading import open_graph
    from heterophily.training.estimator import NodeClassifier
    from heterophily.views.fit import write_predictions

    inner = folder / "model"
    fitted = NodeClassifier.load(inner if inner.is_dir() else folder, model=model)
    graph = open_graph(source, nodes=nodes)
    write_predictions(fitted, graph, out)
    typer.echo(f"wrote {out}: {graph.n_nodes:,} nodes")


@app.command()
def models(
    files: Annotated[
        list[str] | None, typer.Argument(help="Python files with recipes of your own.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the table of methods: neighborhoods, guidance, COMBINE and FUSE of each."""
    from heterophily.models import REGISTRY, find_recipe
    from heterophily.views.console import console
    from heterophily.views.models import model_table, row_of

    for file in files or ():
        find_recipe(file)
    if as_json:
        _print_json([row_of(recipe) for recipe in REGISTRY.values()])
    else:
        console().print(model_table(list(REGISTRY.values())))


@app.command()
def show(
    model: Annotated[str, typer.Argument(help="Name of a method, or a file with a recipe.")],
    as_json: Json = False,
) -> None:
    """Print one method: its row, equation, citation, settings and deviations."""
    from heterophily.models import find_recipe
    from heterophily.views.console import console
    from heterophily.views.models import model_facts, model_view

    recipe = find_recipe(model)
    if as_json:
        _print_json(model_facts(recipe))
    else:
        console().print(model_view(recipe))


def _print_json(content: Any) -> None:
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False, default=str))


def main() -> None:
    """Run the command line; problems of the input become one sentence and exit code 2."""
    warnings.showwarning = partial(_warn, warnings.showwarning)
    retain_freed_memory()
    try:
        app()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _fail("interrupted; `bench` and `search` continue when the same command is given again")
        raise
    except HeterophilyError as error:
        sys.exit(_fail(str(error)))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            sys.exit(0)
        sys.exit(_fail(f"{error.strerror or error}: {error.filename or 'no file name'}"))


def _fail(sentence: str) -> int:
    typer.secho(f"heterophily: {sentence}", fg="red", err=True)
    return 2


def _warn(usual: Any, message: Warning | str, category: type[Warning], *place: Any) -> None:
    if issubclass(category, HeterophilyWarning):
        typer.secho(f"heterophily: {message}", fg="yellow", err=True)
    else:
        usual(message, category, *place)
