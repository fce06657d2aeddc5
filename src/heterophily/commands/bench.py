"""Commands for the benchmark: run it, print its table and report, and share its records."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from heterophily.commands.config import RunOptions, settings_option
from heterophily.commands.options import parse_names, parse_settings, with_options
from heterophily.commands.output import OutputOptions, print_colored
from heterophily.core.arguments import MAX_SEED
from heterophily.core.errors import HeterophilyError
from heterophily.training.scoring import DEFAULT_SCORING, SCORINGS

if TYPE_CHECKING:
    from heterophily.benchmark.table import Table
    from heterophily.core.types import JsonObject
    from heterophily.runs.record import Record

app = typer.Typer()
PANEL = "Experiments"

Results = Annotated[Path, Argument(metavar="RESULTS", help="Folder with records, or a packed .jsonl file.")]
Format = Literal["text", "md", "latex", "csv", "json", "html"]


@dataclass(frozen=True, kw_only=True)
class BenchOptions(RunOptions):
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
    settings: Annotated[list[str], settings_option()] = field(default_factory=list)
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
        display=partial(show_progress, quiet=options.quiet),
    )
    n_failed = sum(not record.done for record in records)
    for name, reason in skipped.items():
        print_colored(f"skipped {name}: {reason}", "yellow")
    n_done, runs = len(records) - n_failed, list(map(_run_facts, records))
    options.show(
        lambda: f"{n_done} of {len(records)} runs finished, {n_failed} failed: {options.out}",
        lambda: {"out": str(options.out), "finished": n_done, "failed": n_failed, "skipped": skipped, "runs": runs},
    )
    if n_failed or skipped:
        raise typer.Exit(1)


def _run_facts(record: "Record") -> "JsonObject":
    names = ("model", "dataset", "split", "seed", "status", "reason")
    return {**{name: getattr(record, name) for name in names}, "scores": record.run.get("scores", {})}


@dataclass(frozen=True, kw_only=True)
class TableCommandOptions(OutputOptions):
    """Options of `table`."""

    source: Results
    kind: Annotated[Format | None, Option("--format"), "Format; the file extension of --out by default."] = None
    against: Annotated[Literal["paper"] | None, "Compare with published results."] = None
    scoring: Annotated[str, f"One of {', '.join(SCORINGS)}."] = DEFAULT_SCORING.name
    models: Annotated[str, "Comma-separated list of methods, or `all`."] = "all"
    datasets: Annotated[str, "Comma-separated list of datasets, or `all`."] = "all"
    out: Annotated[Path | None, "File for the table; printed by default."] = None
    diagram: Annotated[Path | None, "Image file for a critical-difference diagram: .png, .pdf, or .svg."] = None
    pairs: Annotated[
        bool, Option("--pairs"), "Print the tests of all pairs of methods as CSV or JSON instead of the means."
    ] = False


@app.command(rich_help_panel=PANEL)
@with_options(TableCommandOptions)
def table(options: TableCommandOptions) -> None:
    """Print means, ranks, and significance of benchmark results.

    If `tune` selected some of the settings, each dataset has a column with the default and one with the tuned settings.
    """
    from heterophily.benchmark.columns import table
    from heterophily.views.charts import table_diagram
    from heterophily.views.matplotlib import check_extension, save_charts
    from heterophily.views.tables import format_of, write_text

    if options.diagram is not None:
        check_extension(options.diagram)
    result = table(
        options.source,
        scoring=options.scoring,
        models=_names_or_none(options.models),
        datasets=_names_or_none(options.datasets),
        against=options.against,
    )
    plotted = None if options.diagram is None else save_charts([table_diagram(result)], options.diagram)
    if options.out is not None:
        write_text(_render(options, result, options.kind or format_of(options.out)), options.out)
    _print_table(options, result)
    for path in filter(None, (options.out, plotted)):
        options.note(f"wrote {path}")


def _print_table(options: TableCommandOptions, result: "Table") -> None:
    from heterophily.views.console import console
    from heterophily.views.tables import text_view

    kind = options.kind or ("csv" if options.pairs else "text")
    if options.as_json:
        typer.echo(_render(options, result, "json"), nl=False)
    elif options.out is None and kind == "text":
        options.show(lambda: text_view(result, width=console().width), dict)
    elif options.out is None:
        typer.echo(_render(options, result, kind), nl=False)


def _render(options: TableCommandOptions, result: "Table", kind: str) -> str:
    from heterophily.views.tables import render_pairs, render_table

    return render_pairs(result, kind) if options.pairs else render_table(result, kind)


def _names_or_none(text: str) -> list[str] | None:
    names = parse_names(text)
    return None if names == ["all"] else names


@dataclass(frozen=True, kw_only=True)
class ReportOptions(OutputOptions):
    """Options of `report`."""

    source: Results
    out: Annotated[Path, "HTML file for the report."]
    studies: Annotated[Path | None, "Folder written by `study`; by default `studies` next to the records."] = None
    diagnose: Annotated[bool, Option("--diagnose/--no-diagnose"), "Diagnose the graphs that are available."] = True


@app.command(rich_help_panel=PANEL)
@with_options(ReportOptions)
def report(options: ReportOptions) -> None:
    """Write a single HTML file that summarizes benchmark results and studies."""
    from heterophily.views.page.build import report

    path = report(options.source, options.out, studies=options.studies, diagnose=options.diagnose)
    options.show(lambda: f"wrote {path}; open it in a browser, no network is required", lambda: {"file": str(path)})


@dataclass(frozen=True, kw_only=True)
class PackOptions(OutputOptions):
    """Options of `pack`."""

    source: Annotated[Path, Argument(metavar="RESULTS"), "Folder with records."]
    out: Annotated[Path, Argument(metavar="FILE"), "File for all records: .jsonl."]
    curves: Annotated[bool, Option("--curves"), "Include learning curves."] = False


@app.command(rich_help_panel=PANEL)
@with_options(PackOptions)
def pack(options: PackOptions) -> None:
    """Combine the records of a folder into one file that is easy to share."""
    from heterophily.runs.record import pack_records, read_records

    records = read_records(options.source)
    if not records:
        raise HeterophilyError(f"{options.source} contains no records, so {options.out} is not written")
    path = pack_records(records, options.out, curves=options.curves)
    options.show(lambda: f"wrote {path}: {len(records)} runs", lambda: {"file": str(path), "runs": len(records)})


@dataclass(frozen=True, kw_only=True)
class UnpackOptions(OutputOptions):
    """Options of `unpack`."""

    source: Annotated[Path, Argument(metavar="FILE"), "File written by `pack`."]
    out: Annotated[Path, Argument(metavar="RESULTS"), "Folder for the records."]


@app.command(rich_help_panel=PANEL)
@with_options(UnpackOptions)
def unpack(options: UnpackOptions) -> None:
    """Extract packed records into a folder, from which `bench` continues."""
    from heterophily.runs.record import read_records
    from heterophily.runs.store import Store

    records = read_records(options.source)
    n_new = Store(options.out).add(records)
    others = "; the others already exist" if n_new < len(records) else ""
    options.show(
        lambda: f"wrote {n_new} of {len(records)} runs to {options.out}{others}",
        lambda: {"folder": str(options.out), "new": n_new, "runs": len(records)},
    )
