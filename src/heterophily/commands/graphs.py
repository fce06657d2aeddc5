"""Commands for datasets and graphs: list, download, diagnose, audit, and synthesize."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from heterophily.commands.options import (
    Json,
    Nodes,
    Report,
    Source,
    TableOptions,
    check_report,
    print_json,
    with_options,
)
from heterophily.core.errors import HeterophilyError

if TYPE_CHECKING:
    from heterophily.analysis.diagnosis import Diagnosis
    from heterophily.core.graph import Graph

app = typer.Typer()
PANEL = "Graphs"


@app.command(rich_help_panel=PANEL)
def datasets(as_json: Json = False) -> None:
    """List the datasets with their sizes, homophily, and splits."""
    from heterophily.data.catalog import CATALOG
    from heterophily.data.loading import measure_statistics
    from heterophily.views.console import console, dataset_table

    rows = [measure_statistics(dataset) for dataset in CATALOG.values()]
    if as_json:
        print_json([row.to_dict() for row in rows])
    else:
        console().print(dataset_table(rows))


@app.command(rich_help_panel=PANEL)
def download(names: Annotated[list[str], Argument(metavar="NAME", help="Names of datasets, or `all`.")]) -> None:
    """Download datasets and verify their checksums."""
    from heterophily.data.catalog import CATALOG, lookup
    from heterophily.data.store import fetch

    for dataset in CATALOG.values() if names == ["all"] else map(lookup, names):
        paths = list(fetch(dataset).values())
        files = "1 file is" if len(paths) == 1 else f"{len(paths)} files are"
        typer.echo(f"{dataset.name}: {files} in {paths[0].parent}")


@dataclass(frozen=True, kw_only=True)
class DiagnoseOptions(TableOptions):
    """Options of `diagnose`."""

    source: Source
    nodes: Nodes = None
    plot: Annotated[Path | None, "Image file for the compatibility matrix: .png, .pdf, or .svg."] = None
    report: Report = None
    as_json: Json = False


@app.command(rich_help_panel=PANEL)
@with_options(DiagnoseOptions)
def diagnose(options: DiagnoseOptions) -> None:
    """Diagnose a graph: measure whether its edges help, and recommend methods."""
    from heterophily.analysis.diagnosis import diagnose
    from heterophily.data.loading import open_graph
    from heterophily.views.columns import column_report, with_columns
    from heterophily.views.console import console, diagnosis_view
    from heterophily.views.matplotlib import check_extension, save_charts

    if options.plot is not None:
        check_extension(options.plot)
    check_report(options.report)
    graph = open_graph(options.source, nodes=options.nodes, roles=options.roles)
    diagnosis = diagnose(graph)
    if options.as_json:
        print_json({**diagnosis.to_dict(), **column_report(graph)})
    else:
        console().print(with_columns(graph, diagnosis_view(diagnosis)))
    if options.plot is not None:
        typer.echo(f"wrote {save_charts(diagnosis.charts[:1], options.plot)}", err=True)
    if options.report is not None:
        _write_report(options, diagnosis, graph)


def _write_report(options: DiagnoseOptions, diagnosis: "Diagnosis", graph: "Graph") -> None:
    from heterophily.views.columns import column_rows
    from heterophily.views.page.graph_report import write_diagnosis

    assert options.report is not None
    path = write_diagnosis(
        diagnosis,
        options.report,
        source=options.source,
        nodes=options.nodes,
        table_words=options.table_words,
        columns=column_rows(graph),
        graph=graph,
    )
    typer.echo(f"wrote {path}", err=True)


@dataclass(frozen=True, kw_only=True)
class AuditOptions(TableOptions):
    """Options of `audit`."""

    source: Source
    nodes: Nodes = None
    as_json: Json = False


@app.command(rich_help_panel=PANEL)
@with_options(AuditOptions)
def audit(options: AuditOptions) -> None:
    """Check a graph for duplicate nodes, leakage between splits, and other problems."""
    from heterophily.analysis.audit import audit_graph
    from heterophily.data.loading import open_graph
    from heterophily.views.console import audit_view, console

    result = audit_graph(open_graph(options.source, nodes=options.nodes, roles=options.roles))
    if options.as_json:
        print_json(result.to_dict())
    else:
        console().print(audit_view(result))


@app.command(rich_help_panel=PANEL)
def synthesize(
    out: Annotated[Path, Argument(metavar="FILE", help="File for the graph: .safetensors.")],
    base: Annotated[str, Option(help="Graph that provides the nodes, features, and labels.")] = "digits",
    homophily: Annotated[float, Option(min=0, max=1, help="Fraction of neighbors of the same class.")] = 0.2,
    pattern: Annotated[
        Literal["easy", "hard"],
        Option(help="Preferences for other classes: mostly two of them (`easy`), or all equally (`hard`)."),
    ] = "easy",
    degree: Annotated[float, Option(min=0, help="Mean number of neighbors.")] = 18,
    seed: Annotated[int, Option(help="Seed of the random edges.")] = 0,
) -> None:
    """Connect the nodes of a graph with random edges of a given homophily."""
    from heterophily.data.loading import open_graph
    from heterophily.data.synthetic import synthetic_graph

    if out.suffix != ".safetensors":
        raise HeterophilyError(f"the file must have the extension .safetensors, got {out.name!r}")
    graph = synthetic_graph(open_graph(base), homophily=homophily, pattern=pattern, degree=degree, seed=seed)
    typer.echo(f"wrote {graph.save(out)}: {graph.name}, {graph.n_edges:,} edges")
