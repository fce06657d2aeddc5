"""The options of studies.

Each field is a parameter of the study's command: its annotation contains the type, and an `Option` with the
help text.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from heterophily.core.graph import Graph
from heterophily.core.types import Settings
from heterophily.data.splits import N_SPLITS
from heterophily.models import Model


@dataclass(frozen=True)
class Option:
    """The form in which a command accepts a field, and its help text."""

    help: str
    form: Literal["value", "path", "graphs", "names", "numbers", "settings"] = "value"
    min: int | None = None


Graphs = tuple[str | Graph, ...]
Models = tuple[Model, ...]
MODELS = Option("Comma-separated list of methods and Python files.", "names")


@dataclass(frozen=True, kw_only=True)
class GraphOptions:
    """Options of a study that measures graphs."""

    graphs: Annotated[Graphs, Option("Names of datasets, `digits`, or files and folders with graphs.", "graphs")]
    nodes: Annotated[Path | None, Option("Table of the nodes, if GRAPH is a table of edges.")] = None
    out: Annotated[
        Path | None, Option("Folder for the data and figures. A rerun continues from the existing data.", "path")
    ] = None


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(GraphOptions):
    """Options of a study that trains models on the splits of graphs."""

    splits: Annotated[int, Option("Number of splits of each graph.", min=1)] = N_SPLITS
    seed: Annotated[int, Option("Seed of split 0; split i uses this seed plus i.")] = 0
    workers: Annotated[int, Option("Number of runs at the same time.", min=1)] = 1
    threads: Annotated[int, Option("Number of PyTorch threads per run; 0 for an equal share of the cores.", min=0)] = 0
    device: Annotated[str, Option("`auto`, `cpu`, `cuda`, or `mps`.")] = "auto"
    settings: Annotated[Settings, Option("Setting such as `width=128`; can be repeated.", "settings")] = field(
        default_factory=dict
    )
