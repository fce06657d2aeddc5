"""Commands for the benchmark: run it, print its table and report, and share its records."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from heterophily.commands.options import (
    Settings,
    TableOptions,
    parse_names,
    parse_settings,
    print_colored,
    with_options,
)
from heterophily.core.arguments import MAX_SEED
from heterophily.core.errors import HeterophilyError
from heterophily.training.scoring import DEFAULT_SCORING, SCORINGS

app = typer.Typer()
PANEL = "Experiments"

Results = Annotated[Path, Argument(metavar="RESULTS", help="Folder with records, or a packed .jsonl file.")]
Format = Literal["text", "md", "latex", "csv", "json", "html"]


@dataclass(frozen=True, kw_only=True)
class BenchOptions(TableOptions):
    """Options of `bench`."""

    out: Annotated[Path, "Folder for the records. A rerun continues from the existing ones."]
    models: Annotated[str, "Comma-separated list of methods and Python files, or `all` for the paper's 14."] = "all"
    datasets: Annotated[str, "Comma-separated list of datasets and graph files, or `all` for the paper's 10."] = "all"
    splits: Annotated[str, "Splits such as `0-9` or `0,3`, or `all`."] = "all"
    seed: Annotated[int, Option(min=0, max=MAX_SEED), "Seed of split 0; split i uses this seed plus i."] = 0
    workers: Annotated[int | None, Option(min=1), "Number of runs at the same time; one per core by default."] = None
    threads: Annotated[
        int, Option(min=1), "Number of PyTorch threads per run. Another number changes the last digits of results."
    ] = 1
    memory_limit: Annotated[float, Option(min=0), "Memory limit per run in GB; 0 for no limit."] = 0
    time_limit: Annotated[float, Option(min=0), "Time limit per run in minutes; 0 for no limit."] = 0
    retry: Annotated[bool, Option("--retry"), "Repeat failed runs."] = False
    engine: Annotated[str, "`local`, `dask`, or `ray`."] = "local"
    address: Annotated[str | None, "Address of the Dask or Ray cluster."] = None
    settings: Settings = field(default_factory=list)
    settings_files: Annotated[
        list[Path],
        Option("--settings"),
        "TOML file with settings, as `search` writes, named <model>.toml, or a folder of such files, as `tune` writes; "
        "can be repeated.",
    ] = field(default_factory=list)
    defaults: Annotated[
        bool, Option("--defaults"), "Use the default settings of the methods, and ignore bundled settings."
    ] = False


@app.command(rich_help_panel=PANEL)
@with_options(BenchOptions)
def bench(options: BenchOptions) -> None:
    """Train models on datasets, and skip runs that already have a record."""
    from heterophily.benchmark.bench import bench
    from heterophily.benchmark.plan import DATASETS, MODELS
    from heterophily.data.loading import open_available
    from heterophily.runs.job import Limits
    from heterophily.views.progress import show_progress

    graphs, skipped = open_available(parse_names(options.datasets, DATASETS), options.roles)
    records = bench(
        parse_names(options.models, MODELS),
        graphs,
        out=options.out,
        splits=options.splits,
        seed=options.seed,
        settings=parse_settings(options.settings),
        settings_files=options.settings_files,
        defaults=options.defaults,
        workers=options.workers,
        threads=options.threads,
        limits=Limits(memory=options.memory_limit, minutes=options.time_limit),
        retry=options.retry,
        engine=options.engine,
        address=options.address,
        display=show_progress,
    )
    n_failed = sum(not record.done for record in records)
    for name, reason in skipped.items():
        print_colored(f"skipped {name}: {reason}", "yellow")
    n_done = len(records) - n_failed
    typer.echo(f"{n_done} of {len(records)} runs finished, {n_failed} failed: {options.out}")
    if n_failed or skipped:
        raise typer.Exit(1)


@app.command(rich_help_panel=PANEL)
def table(
    source: Results,
    kind: Annotated[Format | None, Option("--format", help="Format; the file extension of --out by default.")] = None,
    against: Annotated[Literal["paper"] | None, Option(help="Compare with published results.")] = None,
    scoring: Annotated[str, Option(help=f"One of {', '.join(SCORINGS)}.")] = DEFAULT_SCORING.name,
    models: Annotated[str, Option(help="Comma-separated list of methods, or `all`.")] = "all",
    datasets: Annotated[str, Option(help="Comma-separated list of datasets, or `all`.")] = "all",
    out: Annotated[Path | None, Option(help="File for the table; printed by default.")] = None,
    diagram: Annotated[
        Path | None, Option(help="Image file for a critical-difference diagram: .png, .pdf, or .svg.")
    ] = None,
    pairs: Annotated[
        bool, Option("--pairs", help="Print the tests of all pairs of methods as CSV or JSON instead of the means.")
    ] = False,
) -> None:
    """Print means, ranks, and significance of benchmark results.

    If `tune` selected some of the settings, each dataset has a column with the default and one with the tuned settings.
    """
    from heterophily.benchmark.columns import table
    from heterophily.views.charts import table_diagram
    from heterophily.views.matplotlib import check_extension, save_charts
    from heterophily.views.tables import format_of, print_table, render_pairs, write_table, write_text

    if diagram is not None:
        check_extension(diagram)
    result = table(
        source, scoring=scoring, models=_names_or_none(models), datasets=_names_or_none(datasets), against=against
    )
    plotted = None if diagram is None else save_charts([table_diagram(result)], diagram)
    if pairs:
        text = render_pairs(result, kind or ("csv" if out is None else format_of(out)))
        typer.echo(text, nl=False) if out is None else write_text(text, out)
    elif out is None:
        print_table(result, kind or "text")
    else:
        write_table(result, out, kind or format_of(out))
    for path in filter(None, (out, plotted)):
        typer.echo(f"wrote {path}", err=True)


def _names_or_none(text: str) -> list[str] | None:
    names = parse_names(text)
    return None if names == ["all"] else names


@app.command(rich_help_panel=PANEL)
def report(
    source: Results,
    out: Annotated[Path, Option(help="HTML file for the report.")],
    studies: Annotated[
        Path | None, Option(help="Folder written by `study`; by default `studies` next to the records.")
    ] = None,
    diagnose: Annotated[bool, Option(help="Diagnose the graphs that are available.")] = True,
) -> None:
    """Write a single HTML file that summarizes benchmark results and studies."""
    from heterophily.views.page.build import report

    path = report(source, out, studies=studies, diagnose=diagnose)
    typer.echo(f"wrote {path}; open it in a browser, no network is required")


@app.command(rich_help_panel=PANEL)
def pack(
    source: Annotated[Path, Argument(metavar="RESULTS", help="Folder with records.")],
    out: Annotated[Path, Argument(metavar="FILE", help="File for all records: .jsonl.")],
    curves: Annotated[bool, Option("--curves", help="Include learning curves.")] = False,
) -> None:
    """Combine the records of a folder into one file that is easy to share."""
    from heterophily.runs.record import pack_records, read_records

    records = read_records(source)
    if not records:
        raise HeterophilyError(f"{source} contains no records, so {out} is not written")
    typer.echo(f"wrote {pack_records(records, out, curves=curves)}: {len(records)} runs")


@app.command(rich_help_panel=PANEL)
def unpack(
    source: Annotated[Path, Argument(metavar="FILE", help="File written by `pack`.")],
    out: Annotated[Path, Argument(metavar="RESULTS", help="Folder for the records.")],
) -> None:
    """Extract packed records into a folder, from which `bench` continues."""
    from heterophily.runs.record import read_records
    from heterophily.runs.store import Store

    records = read_records(source)
    n_new = Store(out).add(records)
    others = "; the others already exist" if n_new < len(records) else ""
    typer.echo(f"wrote {n_new} of {len(records)} runs to {out}{others}")
