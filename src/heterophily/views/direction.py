"""Direction on the terminal: whether it carries information, and whether a method ignores it."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from heterophily.analysis.direction import DirectionReport
from heterophily.core.graph import Graph
from heterophily.htmp.checks import direction_use
from heterophily.htmp.method import Method

USES = {  # text of a setting of `direction`
    "symmetric": "without direction",
    "in": "from incoming edges",
    "out": "from outgoing edges",
    "both": "from both separately",
}


def direction_facts(report: DirectionReport) -> dict[str, str]:
    """Return the measurements of a direction report as text, by name."""
    accuracy = ", ".join(f"{value:.1%} {USES[name]}" for name, value in report.accuracy.items())
    return {
        "one direction only": f"{report.one_sided:.0%} of the connected pairs of nodes",
        "CMD": f"{report.cmd_incoming:.3f} of incoming edges, {report.cmd_outgoing:.3f} of outgoing edges",
        "accuracy from neighbors": accuracy,
    }


def direction_view(report: DirectionReport) -> RenderableType:
    """Return the measurements of a direction report, and the result in plain language."""
    table = Table.grid(padding=(0, 2))
    for name, value in direction_facts(report).items():
        table.add_row(Text(name, style="dim"), Text(value))
    return Group(Text("Direction", style="bold"), Padding(table, (0, 0, 0, 1)), Padding(Text(report.sentence), (1, 1)))


def direction_notice(method: Method, graph: Graph) -> str:
    """Return a sentence if a method ignores the direction of the edges of a directed graph; empty otherwise."""
    if not method.is_network or not graph.is_directed or direction_use(method.architecture()) != "ignored":
        return ""
    return (
        f"{graph.name} is directed, and {method.name} uses each edge in both directions; "
        "`heterophily diagnose` reports whether the direction carries information"
    )
