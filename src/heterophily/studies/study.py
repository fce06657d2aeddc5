"""The interface of a study: a question that is answered by training runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heterophily.core.chart import Chart
from heterophily.studies.tidy import Tables

CLASSES = "How classes connect"
ACCURACY = "Where accuracy comes from"
COST = "How accurate, and at what cost"


@dataclass(frozen=True)
class Study:
    """A question that is answered by training runs.

    Its tables are files `<name>.json` and `<name>-<table>.json`. Everything else follows from them.
    """

    name: str
    title: str
    description: str  # shared by the command, the report, and the documentation
    topic: str  # heading of its charts in a report
    charts: Callable[[Tables], Sequence[Chart]]
    files: tuple[str, ...]  # what the names of its files start with
