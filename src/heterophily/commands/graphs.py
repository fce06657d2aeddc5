"""Commands for datasets and graphs: list, download, diagnose, audit, and synthesize."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from heterophily.commands.options import Nodes, Report, Source, TableOptions, check_report, with_options
from heterophily.commands.output import OutputOptions
from heterophily.core.errors import HeterophilyError

if TYPE_CHECKING:
    from heterophily.analysis.diagnosis import Diagnosis
    from heterophily.core.graph import Graph

app = typer.Typer()
PANEL = "Graphs"


@app.command(rich_help_panel=PANEL)
@with_options(OutputOptions)
def datasets(options: OutputOptions) -> None:
    """List the datasets with their sizes, homophily, and splits."""
    from heterophily.data.catalog import CATALOG
    from heterophily.data.loading import measure_statistics
    from heterophily.views.console import dataset_table

    rows = [measure_statistics(dataset) for dataset in CATALOG.values()]
    options.show(lambda: dataset_table(rows), lambda: [row.to_dict() for row in rows])


@dataclass(frozen=True, kw_only=True)
class DownloadOptions(OutputOptions):
    """Options of `download`."""

    names: Annotated[list[str], Argument(metavar="NAME"), "Names of datasets, or `all`."]


@app.command(rich_help_panel=PANEL)
@with_options(DownloadOptions)
def download(options: DownloadOptions) -> None:
    """Download datasets and verify their checksums."""
    from heterophily.data.catalog import CATALOG, lookup
    from heterophily.data.store import fetch

    rows, lines = [], []
    for dataset in CATALOG.values() if options.names == ["all"] else map(lookup, options.names):
        paths = list(fetch(dataset, show_progress=not options.quiet).values())
        rows.append({"name": dataset.name, "files": [str(path) for path in paths]})
        files = "1 file is" if len(paths) == 1 else f"{len(paths)} files are"
        lines.append(f"{dataset.name}: {files} in {paths[0].parent}")
    options.show(lambda: "\n".join(lines), lambda: rows)


@dataclass(frozen=True, kw_only=True)
class DiagnoseOptions(TableOptions):
    """Options of `diagnose`."""

    source: Source
    nodes: Nodes = None
    plot: Annotated[Path | None, "Image file for the compatibility matrix: .png, .pdf, or .svg."] = None
    report: Report = None


@app.command(rich_help_panel=PANEL)
@with_options(DiagnoseOptions)
def diagnose(options: DiagnoseOptions) -> None:
    """Diagnose a graph: measure whether its edges help, and recommend methods."""
    from heterophily.analysis.diagnosis import diagnose
    from heterophily.data.loading import open_graph
    from heterophily.views.columns import column_report, with_columns
    from heterophily.views.console import diagnosis_view
    from heterophily.views.matplotlib import check_extension, save_charts

    if options.plot is not None:
        check_extension(options.plot)
    check_report(options.report)
    graph = open_graph(options.source, nodes=options.nodes, roles=options.roles)
    diagnosis = diagnose(graph)
    options.show(
        lambda: with_columns(graph, diagnosis_view(diagnosis)), lambda: {**diagnosis.to_dict(), **column_report(graph)}
    )
    if options.plot is not None:
        options.note(f"wrote {save_charts(diagnosis.charts[:1], options.plot)}")
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
    options.note(f"wrote {path}")


@dataclass(frozen=True, kw_only=True)
class AuditOptions(TableOptions):
    """Options of `audit`."""

    source: Source
    nodes: Nodes = None


@app.command(rich_help_panel=PANEL)
@with_options(AuditOptions)
def audit(options: AuditOptions) -> None:
    """Check a graph for duplicate nodes, leakage between splits, and other problems."""
    from heterophily.analysis.audit import audit_graph
    from heterophily.data.loading import open_graph
    from heterophily.views.console import audit_view

    result = audit_graph(open_graph(options.source, nodes=options.nodes, roles=options.roles))
    options.show(lambda: audit_view(result), result.to_dict)


@dataclass(frozen=True, kw_only=True)
class SynthesizeOptions(OutputOptions):
    """Options of `synthesize`."""

    out: Annotated[Path, Argument(metavar="FILE"), "File for the graph: .safetensors."]
    base: Annotated[str, "Graph that provides the nodes, features, and labels."] = "digits"
    homophily: Annotated[float, Option(min=0, max=1), "Fraction of neighbors of the same class."] = 0.2
    pattern: Annotated[
        Literal["easy", "hard"], "Preferences for other classes: mostly two of them (`easy`), or all equally (`hard`)."
    ] = "easy"
    degree: Annotated[float, Option(min=0), "Mean number of neighbors."] = 18
    seed: Annotated[int, "Seed of the random edges."] = 0


@app.command(rich_help_panel=PANEL)
@with_options(SynthesizeOptions)
def synthesize(options: SynthesizeOptions) -> None:
    """Connect the nodes of a graph with random edges of a given homophily."""
    from heterophily.data.loading import open_graph
    from heterophily.data.synthetic import synthetic_graph

    if options.out.suffix != ".safetensors":
        raise HeterophilyError(f"the file must have the extension .safetensors, got {options.out.name!r}")
    graph = synthetic_graph(
        open_graph(options.base),
        homophily=options.homophily,
        pattern=options.pattern,
        degree=options.degree,
        seed=options.seed,
    )
    path = graph.save(options.out)
    options.show(
        lambda: f"wrote {path}: {graph.name}, {graph.n_edges:,} edges",
        lambda: {"file": str(path), "name": graph.name, "n_nodes": graph.n_nodes, "n_edges": graph.n_edges},
    )
