"""The command `heterophily study NAME`: each study writes its data and its figures into one folder."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heterophily.commands.options import parse_names, parse_settings

if TYPE_CHECKING:
    from heterophily.core.chart import Chart
    from heterophily.core.graph import Graph
    from heterophily.studies.tidy import StudyData, Tables


class Ending(StrEnum):
    """Formats of figures."""

    png = "png"
    pdf = "pdf"
    svg = "svg"
    none = "none"


app = typer.Typer(
    name="study",
    help="Repeat the studies of the paper on any graph, with any method.",
    no_args_is_help=True,
    rich_help_panel="Experiments",
)

Graphs = Annotated[
    list[str],
    typer.Argument(metavar="GRAPH...", help="Datasets, `digits`, or paths of graphs of your own."),
]
Base = Annotated[str, typer.Argument(metavar="GRAPH", help="Graph whose nodes get new edges.")]
Models = Annotated[str, typer.Option(help="Comma-separated methods or files with methods.")]
Splits = Annotated[int, typer.Option(min=1, help="How many splits of each graph, from the first.")]
Seed = Annotated[int, typer.Option(help="Split i runs with this seed plus i.")]
Workers = Annotated[int, typer.Option(min=1, help="Runs at the same time, one thread each.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
Nodes = Annotated[
    Path | None, typer.Option("--nodes", help="Table of the nodes of a table of edges.")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="A setting of all runs, such as width=128.")
]
Out = Annotated[Path, typer.Option(help="Folder of data and figures; a rerun continues there.")]
Figures = Annotated[Ending, typer.Option(help="Format of the figures.")]
NoTransform = Annotated[
    Path | None, typer.Option(help="Folder of trained weights, to train once for several studies.")
]
Epochs = Annotated[int, typer.Option(min=1, help="Epochs that are timed.")]
Threads = Annotated[int, typer.Option(min=0, help="Threads of PyTorch; 0: its own choice.")]
HERE = Path("studies")


@app.command()
def ablation(
    graphs: Graphs,
    model: Annotated[str, typer.Option(help="A method, or a file with one.")] = "cmgnn",
    splits: Splits = 10,
    seed: Seed = 0,
    workers: Workers = 1,
    device: Device = "auto",
    settings: Settings = None,
    keep: NoTransform = None,
    nodes: Nodes = None,
    out: Out = HERE,
    figures: Figures = Ending.png,
) -> None:
    """What a method loses without one of its parts."""
    from heterophily.studies import ablation as module

    options = _options(splits, seed, workers, device, settings, keep)
    found = _each(graphs, nodes, lambda g: module.study_ablation(g, model, out=out, **options))
    for row in module.changes(found.rows):
        beside = "" if row["paper"] is None else f", the paper's {row['paper']:+.2f}"
        name = f"{row['dataset']}, {row['model']} {row['variant']}"
        typer.echo(f"{name}: {row['change']:+.2f} points{beside}")
    _finish(found, module.charts, figures)


@app.command()
def degrees(
    graphs: Graphs,
    models: Models = "cmgnn,acm-gcn,ordered-gnn,gcnii",
    splits: Splits = 10,
    seed: Seed = 0,
    workers: Workers = 1,
    device: Device = "auto",
    settings: Settings = None,
    keep: NoTransform = None,
    nodes: Nodes = None,
    out: Out = HERE,
    figures: Figures = Ending.png,
) -> None:
    """Accuracy in five groups of test nodes by degree."""
    from heterophily.studies import degrees as module

    options = _options(splits, seed, workers, device, settings, keep)
    names = parse_names(models)
    found = _each(graphs, nodes, lambda g: module.study_degrees(g, names, out=out, **options))
    _finish(found, module.charts, figures)


@app.command()
def compatibility(
    graphs: Graphs,
    models: Models = "cmgnn",
    splits: Splits = 10,
    seed: Seed = 0,
    workers: Workers = 1,
    device: Device = "auto",
    settings: Settings = None,
    keep: NoTransform = None,
    nodes: Nodes = None,
    out: Out = HERE,
    figures: Figures = Ending.png,
) -> None:
    """Observed and estimated compatibility, and how the estimate moves while training."""
    from heterophily.studies import compatibility as module

    options = _options(splits, seed, workers, device, settings, keep)
    names = parse_names(models)
    found = _each(graphs, nodes, lambda g: module.study_compatibility(g, names, out=out, **options))
    for row in module.summary(found):
        moved = f"from {row['start']:.3f} before training to {row['end']:.3f}"
        typer.echo(f"{row['dataset']}, {row['model']}: mean |M̂ − M| goes {moved}")
    _finish(found, module.charts, figures)


@app.command()
def desired(
    graphs: Graphs,
    models: Models = "acm-gcn,gpr-gnn",
    splits: Splits = 10,
    seed: Seed = 0,
    workers: Workers = 1,
    device: Device = "auto",
    settings: Settings = None,
    keep: NoTransform = None,
    nodes: Nodes = None,
    out: Out = HERE,
    figures: Figures = Ending.png,
) -> None:
    """The compatibility matrix that a trained method effectively aggregates with."""
    from heterophily.studies import desired as module
    from heterophily.studies.tidy import filter_rows, mean_of, unique_values

    options = _options(splits, seed, workers, device, settings, keep)
    names = parse_names(models)
    found = _each(graphs, nodes, lambda g: module.study_desired(g, names, out=out, **options))
    for dataset in unique_values(found.rows, "dataset"):
        for model in unique_values(filter_rows(found.rows, dataset=dataset), "model"):
            rows = filter_rows(found.rows, dataset=dataset, model=model)
            kinds = ("observed", "desired")
            before, after = (mean_of(rows, f"discriminability_{kind}") for kind in kinds)
            typer.echo(f"{dataset}, {model}: discriminability {before:.3f} → {after:.3f}")
    _finish(found, module.charts, figures)


@app.command()
def synthetic(
    base: Base = "cora",
    models: Models = "gcn,mlp",
    sweep: Annotated[
        bool, typer.Option("--sweep", help="A grid of homophily × preferences × degree instead.")
    ] = False,
    homophilies: Annotated[str, typer.Option(help="Of the sweep.")] = "0,0.2,0.4,0.6,0.8",
    rests: Annotated[
        str, typer.Option(help="Of the sweep: preference for classes off the ring, 1 is hard.")
    ] = "0.02,0.1,0.3,1",
    degree: Annotated[str, typer.Option("--degrees", help="Of the sweep.")] = "4,18",
    splits: Splits = 10,
    seed: Seed = 0,
    workers: Workers = 1,
    device: Device = "auto",
    settings: Settings = None,
    keep: NoTransform = None,
    nodes: Nodes = None,
    out: Out = HERE,
    figures: Figures = Ending.png,
) -> None:
    """Accuracy on the twelve synthetic graphs, or over a sweep between them."""
    from heterophily.data.loading import open_graph
    from heterophily.studies import synthetic as module

    options: Any = {**_options(splits, seed, workers, device, settings, keep), "out": out}
    graph, names = open_graph(base, nodes=nodes), parse_names(models)
    if not sweep:
        _finish(module.study_synthetic(graph, names, **options), module.charts, figures)
        return
    grid = {"homophilies": homophilies, "rests": rests, "degrees": degree}
    numbers: Any = {name: _numbers(text) for name, text in grid.items()}
    found = module.study_sweep(graph, names, **numbers, **options)
    _finish(found, module.charts, figures)


@app.command()
def overlap(
    graphs: Graphs,
    classes: Annotated[
        str | None, typer.Option(help="Two classes to draw, a comma between; the largest two.")
    ] = None,
    nodes: Nodes = None,
    out: Out = HERE,
    figures: Figures = Ending.png,
) -> None:
    """How far the neighborhoods of two classes are the same, by degree."""
    from heterophily.core.errors import HeterophilyError
    from heterophily.studies import overlap as module
    from heterophily.studies.tidy import filter_rows, mean_of, unique_values

    pair: Any = None if classes is None else tuple(parse_names(classes))
    if pair is not None and len(pair) != 2:
        raise HeterophilyError(f"--classes takes two names with a comma between, got {classes!r}")
    found = _each(graphs, nodes, lambda g: module.study_overlap(g, pair, out=out))
    for dataset in unique_values(found.rows, "dataset"):
        rows = filter_rows(found.rows, dataset=dataset)
        every = [
            mean_of(filter_rows(rows, group=g), "overlap") for g in unique_values(rows, "group")
        ]
        shown = ", ".join("–" if v is None else f"{v:.2f}" for v in every[1:])
        typer.echo(f"{dataset}: mean overlap {every[0]:.2f}; by degree, lowest first: {shown}")
    _finish(found, module.charts, figures)


@app.command()
def runtime(
    graphs: Annotated[
        list[str] | None, typer.Argument(metavar="[GRAPH]...", help="Datasets or paths of graphs.")
    ] = None,
    models: Models = "mlp,gcn,gcnii,acm-gcn,cmgnn",
    sizes: Annotated[
        str | None, typer.Option(help="Numbers of nodes for the scaling law, such as 1000,10000.")
    ] = None,
    epochs: Epochs = 20,
    threads: Threads = 0,
    settings: Settings = None,
    nodes: Nodes = None,
    out: Out = HERE,
    figures: Figures = Ending.png,
) -> None:
    """Time per epoch, peak memory and number of weights, and how they grow with edges."""
    from heterophily.core.errors import HeterophilyError
    from heterophily.studies import runtime as module

    if not graphs and not sizes:
        raise HeterophilyError(
            "name a graph to measure on, or --sizes 1000,10000 for the scaling law"
        )
    names = parse_names(models)
    options: Any = {
        "n_epochs": epochs,
        "threads": threads,
        "settings": parse_settings(settings or ()),
        "out": out,
    }
    if graphs:
        found = _each(graphs, nodes, lambda g: module.study_runtime(g, names, **options))
        _finish(found, module.charts, figures)
    if sizes:
        grown = module.study_scaling([int(n) for n in _numbers(sizes)], names, **options)
        for row in module.exponents(grown.rows):
            laws = [
                f"{key} ~ E^{row[key]:.2f}" for key in ("time", "memory") if row[key] is not None
            ]
            typer.echo(f"{row['model']}: {', '.join(laws) or 'too few sizes to fit an exponent'}")
        _finish(grown, module.charts, figures)


def _options(
    splits: int, seed: int, workers: int, device: str, settings: Any, keep: Path | None
) -> dict[str, Any]:
    return {
        "keep": keep,
        "n_splits": splits,
        "seed": seed,
        "workers": workers,
        "device": device,
        "settings": parse_settings(settings or ()),
    }


def _numbers(text: str) -> list[float]:
    from heterophily.core.errors import HeterophilyError

    try:
        return [float(piece) for piece in parse_names(text)]
    except ValueError as error:
        raise HeterophilyError(f"numbers with commas between are wanted, got {text!r}") from error


def _each(
    graphs: list[str], nodes: Path | None, run: "Callable[[Graph], StudyData]"
) -> "StudyData":
    """Run a study on each graph; they share one folder, so the last one has all rows."""
    from heterophily.data.loading import open_graph

    return [run(open_graph(source, nodes=nodes)) for source in graphs][-1]


def _finish(study: "StudyData", charts: "Callable[[Tables], list[Chart]]", figures: Ending) -> None:
    from heterophily.views.matplotlib import save_figures

    assert study.folder is not None
    paths = study.paths()
    if figures is not Ending.none:
        paths += save_figures(charts(study.by_file), study.folder, extension=figures.value)
    for path in paths:
        typer.echo(f"wrote {path}", err=True)
