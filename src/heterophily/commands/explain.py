"""The command that explains a fitted model: the prediction of one node, or the model as a whole."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from heterophily.commands.options import Nodes, Report, RoleOptions, check_report, with_options
from heterophily.core.errors import HeterophilyError

if TYPE_CHECKING:
    from heterophily.core.chart import Chart
    from heterophily.core.graph import Graph
    from heterophily.training.estimator import NodeClassifier
    from heterophily.training.explanation import ModelExplanation, NodeExplanation

app = typer.Typer()
PANEL = "Models"


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(RoleOptions):
    """Options of `explain`. By default, the graph is that of `fit`, and columns have the roles that they had there."""

    folder: Annotated[Path, Argument(metavar="RESULTS"), "Folder written by `fit`."]
    node: Annotated[
        str | None, Argument(metavar="[NODE]"), "Id of a node, or its number; without it, the model is explained."
    ] = None
    graph: Annotated[str | None, "Dataset, file, or folder with the graph; that of `fit` by default."] = None
    nodes: Nodes = None
    target: Annotated[str | None, Option("--class"), "Class to explain; the predicted one by default."] = None
    max_items: Annotated[
        int, Option(min=20), "Number of neighbors, and of columns, up to which each one is measured."
    ] = 100
    repeats: Annotated[int, Option(min=2), "Number of random orders per column, to explain the model."] = 5
    model: Annotated[str | None, "Python file that defines the method, if it is your own."] = None
    plot: Annotated[Path | None, "Image file for the neighborhood or the importances: .png, .pdf, or .svg."] = None
    report: Report = None


@app.command(rich_help_panel=PANEL)
@with_options(ExplainOptions)
def explain(options: ExplainOptions) -> None:
    """Explain why a model predicts a class for a node, or what the model depends on.

    With NODE, the command shows the neighbors, the columns, and the kinds of messages that matter for its prediction.
    Without NODE, it measures the importance of all columns and of the edges for the score of the model.
    """
    from heterophily.training.results_folder import open_results
    from heterophily.views.matplotlib import check_extension

    if options.plot is not None:
        check_extension(options.plot)
    check_report(options.report)
    if options.target is not None and options.node is None:
        raise HeterophilyError("--class requires a node; add its id, or omit --class")
    fitted, graph = open_results(
        options.folder, source=options.graph, nodes=options.nodes, roles=options.roles, model=options.model
    )
    if options.node is None:
        _explain_model(options, fitted, graph)
    else:
        _explain_node(options, fitted, graph, options.node)


def _explain_node(options: ExplainOptions, fitted: "NodeClassifier", graph: "Graph", node: str) -> None:
    from heterophily.views.explain import effect_charts, node_view
    from heterophily.views.neighborhood import neighborhood_chart

    given = None if graph is fitted.graph_ else graph
    explanation = fitted.explain(node, given, target=options.target, max_items=options.max_items)
    picture = [neighborhood_chart(explanation, graph)]
    _show(options, explanation, node_view(explanation), picture, [*picture, *effect_charts(explanation)])


def _explain_model(options: ExplainOptions, fitted: "NodeClassifier", graph: "Graph") -> None:
    from heterophily.views.explain import importance_charts, model_view

    given = None if graph is fitted.graph_ else graph
    explanation = fitted.explain_model(given, n_repeats=options.repeats, max_items=options.max_items)
    charts = importance_charts(explanation)
    _show(options, explanation, model_view(explanation), charts, charts)


def _show(
    options: ExplainOptions,
    explanation: "NodeExplanation | ModelExplanation",
    view: object,
    picture: "list[Chart]",
    charts: "list[Chart]",
) -> None:
    """Print an explanation, and write its picture and its report."""
    from heterophily.views.matplotlib import save_charts

    options.show(lambda: view, explanation.to_dict)
    if options.plot is not None and picture:
        options.note(f"wrote {save_charts(picture, options.plot)}")
    if options.report is not None:
        from heterophily.views.page.explanation import write_explanation

        words = [str(options.folder), *([] if options.node is None else [options.node])]
        words += [] if options.target is None else ["--class", options.target]
        words += [] if options.graph is None else ["--graph", options.graph]
        path = write_explanation(explanation, charts, options.report, words=words)
        options.note(f"wrote {path}")
