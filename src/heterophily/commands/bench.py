"""The commands of the benchmark: run it, print its table and its page, share its records."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from heterophily.commands.options import chosen, pieces
from heterophily.core.errors import HeterophilyError
from heterophily.training.metrics import DEFAULT_METRIC, METRICS

bench_app = typer.Typer()

Results = Annotated[
    Path, typer.Argument(metavar="RESULTS", help="Folder of records, or a .jsonl file of them.")
]


class Format(StrEnum):
    """How a table is written."""

    text = "text"
    md = "md"
    latex = "latex"
    csv = "csv"
    json = "json"
    html = "html"


class Against(StrEnum):
    """Whose numbers stand beside ours."""

    paper = "paper"


@bench_app.command()
def bench(
    out: Annotated[Path, typer.Option(help="Folder of the records; a rerun continues there.")],
    models: Annotated[
        str, typer.Option(help="Names or files with recipes, commas between; all: the paper's 14.")
    ] = "all",
    datasets: Annotated[
        str, typer.Option(help="Names or paths of graphs, commas between; all: the paper's 10.")
    ] = "all",
    splits: Annotated[str, typer.Option(help="Splits such as 0-9 or 0,3, or all.")] = "all",
    seed: Annotated[int, typer.Option(min=0, help="Split i runs with this seed plus i.")] = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs at the same time; one per core by default.")
    ] = None,
    memory: Annotated[float, typer.Option(min=0, help="GB that a run may take; 0: any.")] = 0,
    minutes: Annotated[
        float, typer.Option("--time", min=0, help="Minutes that a run may take; 0: any.")
    ] = 0,
    retry: Annotated[bool, typer.Option("--retry", help="Run failed cells again.")] = False,
    engine: Annotated[str, typer.Option(help="local, dask or ray.")] = "local",
    address: Annotated[str | None, typer.Option(help="Address of the Dask or Ray cluster.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting for all runs, such as width=128.")
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option("--settings", help="A file of settings that `search` wrote, <model>.toml."),
    ] = None,
) -> None:
    """Run models × datasets × splits, each once; what is there already is not run again."""
    from heterophily.bench.plan import DATASETS, MODELS, parse_names, plan
    from heterophily.runs.execute import run_jobs
    from heterophily.runs.options import Limits
    from heterophily.views.progress import Display

    graphs, absent = _graphs(parse_names(datasets, DATASETS))
    names = parse_names(models, MODELS)
    own = _own(files or [], names, [graph.name for graph in graphs.values()])
    cells = plan(
        names, graphs, splits=splits, seed=seed, settings=chosen(settings), user_tables=own
    )
    limits = Limits(memory=memory, minutes=minutes)
    records = run_jobs(
        cells,
        out,
        workers=workers,
        limits=limits,
        retry=retry,
        engine=engine,
        address=address,
        display=Display,
    )
    bad = [record for record in records if not record.done]
    typer.echo(f"{len(records) - len(bad)} of {len(cells)} runs are done, {len(bad)} failed: {out}")
    for name, reason in absent.items():
        typer.secho(f"{name} was left out: {reason}", fg="yellow", err=True)
    if bad or absent:
        raise typer.Exit(1)


def _graphs(names: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Graphs by name or path, and why others of the catalog could not be had."""
    from heterophily.data.catalog import CATALOG
    from heterophily.data.loading import open_graph

    graphs, absent = {}, {}
    for name in names:
        try:
            graphs[name] = open_graph(name)
        except HeterophilyError as error:
            if name not in CATALOG or len(names) == 1:
                raise
            absent[name] = str(error)
    return graphs, absent


def _own(files: list[Path], models: list[str], datasets: list[str]) -> dict[str, Any]:
    """Tables of settings by the name of the recipe that they are for."""
    from heterophily.models import find_recipe
    from heterophily.models.settings import read_settings

    names = [find_recipe(model).name for model in models]
    found = {}
    for path in files:
        name = names[0] if len(names) == 1 else path.stem
        if name not in names:
            raise HeterophilyError(
                f"{path} is for a model {path.stem} by its name, which is none of {', '.join(names)}; "
                "call it <model>.toml, or give one model"
            )
        found[name] = read_settings(path, datasets=datasets)
    return found


@bench_app.command()
def table(
    source: Results,
    kind: Annotated[
        Format | None, typer.Option("--format", help="By default that of the ending of --out.")
    ] = None,
    against: Annotated[
        Against | None, typer.Option(help="Put published numbers and differences beside.")
    ] = None,
    metric: Annotated[
        str, typer.Option(help=f"One of {', '.join(METRICS)}.")
    ] = DEFAULT_METRIC.name,
    models: Annotated[str, typer.Option(help="Methods, commas between; all.")] = "all",
    datasets: Annotated[str, typer.Option(help="Datasets, commas between; all.")] = "all",
    out: Annotated[Path | None, typer.Option(help="Write to this file instead.")] = None,
    diagram: Annotated[
        Path | None,
        typer.Option(help="Draw the critical-difference diagram to a .png, .pdf or .svg."),
    ] = None,
) -> None:
    """Print means, ranks and significance of the runs in a folder of results."""
    from heterophily.bench.diagram import table_diagram
    from heterophily.bench.table import build_table
    from heterophily.runs.record import read_records
    from heterophily.views.matplotlib import check_extension, save_charts
    from heterophily.views.tables import format_of, print_table, write_table

    if diagram is not None:
        check_extension(diagram)
    found = build_table(
        read_records(source),
        metric=metric,
        models=_names(models),
        datasets=_names(datasets),
        against=against is not None,
    )
    drawn = None if diagram is None else save_charts([table_diagram(found)], diagram)
    if out is None:
        print_table(found, (kind or Format.text).value)
    else:
        write_table(found, out, kind.value if kind else format_of(out))
    for path in filter(None, (out, drawn)):
        typer.echo(f"wrote {path}", err=True)


def _names(text: str) -> list[str] | None:
    names = pieces(text)
    return None if names == ["all"] else names


@bench_app.command()
def report(
    source: Results,
    out: Annotated[Path, typer.Option(help="File to write, ending in .html.")],
    studies: Annotated[
        Path | None,
        typer.Option(help="Folder that `study` wrote; by default `studies` beside the records."),
    ] = None,
    measure: Annotated[
        bool,
        typer.Option("--measure/--no-measure", help="Diagnose the graphs whose files are here."),
    ] = True,
) -> None:
    """Write one page with the leaderboard, ranks, datasets, studies and how to get each number."""
    from heterophily.views.page.build import write_report

    path = write_report(source, out, studies=studies, measure=measure)
    typer.echo(f"wrote {path}: open it in a browser, it needs no network")


@bench_app.command()
def pack(
    source: Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder of records.")],
    out: Annotated[Path, typer.Argument(help="File to write, ending in .jsonl.")],
    curves: Annotated[bool, typer.Option("--curves", help="Keep the learning curves.")] = False,
) -> None:
    """Put the records of a folder into one file, small enough to share."""
    from heterophily.runs.record import pack_records, read_records

    records = read_records(source)
    if not records:
        raise HeterophilyError(f"no records of runs in {source}, so {out} is not written")
    typer.echo(f"wrote {pack_records(records, out, curves=curves)}: {len(records)} runs")


@bench_app.command()
def unpack(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="File that `pack` wrote.")],
    out: Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder for the records.")],
) -> None:
    """Lay the records of a file into a folder, so that `bench` continues from them."""
    from heterophily.runs.record import read_records
    from heterophily.runs.store import Store

    records = read_records(source)
    new = Store(out).add(records)
    typer.echo(f"wrote {new} of {len(records)} runs to {out}; the others are there already")
