"""The interface of a study: a question that is answered by training runs.

Settings of a run come from the method, then from the table of the dataset, then from the options. The run on
the i-th split has the seed i.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Generic, Literal, TypeVar

from heterophily.core.chart import Chart, Table
from heterophily.core.errors import HeterophilyError
from heterophily.core.frames import Roles
from heterophily.core.graph import Graph
from heterophily.core.leftovers import temporary_folder
from heterophily.core.structure import with_features
from heterophily.core.types import Settings, Value
from heterophily.data.loading import open_graph
from heterophily.data.splits import N_SPLITS, random_splits
from heterophily.htmp.identity import digest
from heterophily.htmp.method import Method
from heterophily.models import Model, find_method
from heterophily.models.settings import merge_settings
from heterophily.runs.execute import OpenDisplay, no_display, run_jobs
from heterophily.runs.job import Job, make_job
from heterophily.runs.record import Record
from heterophily.studies.tidy import Row, StudyData, Tables


@dataclass(frozen=True)
class Option:
    """The form in which a command accepts a field of the options, and its help text."""

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
    roles: Roles | None = None  # of the columns of tables


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(GraphOptions):
    """Options of a study that trains models on the splits of graphs."""

    splits: Annotated[int, Option("Number of splits of each graph.", min=1)] = N_SPLITS
    seed: Annotated[int, Option("Seed of split 0; split i uses this seed plus i.")] = 0
    workers: Annotated[int, Option("Number of runs at the same time.", min=1)] = 1
    threads: Annotated[int, Option("Number of PyTorch threads per run.", min=1)] = 1
    device: Annotated[str, Option("`auto`, `cpu`, `cuda`, or `mps`.")] = "auto"
    settings: Annotated[Settings, Option("Setting such as `width=128`; can be repeated.", "settings")] = field(
        default_factory=dict
    )


@dataclass(frozen=True)
class StudyJob:
    """A training run of a study."""

    job: Job
    table: str  # name of the main table of its rows
    columns: Mapping[str, Value]  # dataset, model, and others
    first: bool = False  # whether it is on the first split, for which a study may store more

    @property
    def group(self) -> str:
        """The same text for runs that differ only in split and seed."""
        record = self.job.empty_record
        return digest([record.recipe, record.checksum, record.version])[:8]

    @property
    def labels(self) -> Row:
        """The columns that identify the rows of this run."""
        job = self.job
        run = f"{self.group}-{digest([job.nodes, job.seed])[:8]}"
        return {**self.columns, "split": job.split, "seed": job.seed, "run": run}


def make_jobs(
    graph: Graph,
    model: Model,
    options: TrainingOptions,
    *,
    table: str,
    measures: tuple[str, ...] = (),
    settings: Settings | None = None,
    tuned_as: tuple[str, str] | None = None,
    columns: Mapping[str, Value] | None = None,
) -> list[StudyJob]:
    """Return one job per split. `tuned_as` is the model and the dataset whose settings are used."""
    method = find_method(model)
    overrides = {**(settings or {}), **options.settings}
    values, origin = merge_settings(*(tuned_as or (method.name, graph.name)), overrides=overrides)
    if isinstance(method, Method):  # it has all of its settings
        values = overrides
    shared = with_splits(graph, options.splits)
    labels = {"dataset": graph.name, "model": method.name, **(columns or {})}
    jobs = []
    for number, split in enumerate(shared.splits):
        job = make_job(
            model,
            shared,
            split,
            seed=options.seed + number,
            settings=values,
            origin=origin,
            measures=measures,
            device=options.device,
        )
        jobs.append(StudyJob(job, table, labels, first=number == 0))
    return jobs


def model_jobs(options: TrainingOptions, graph: Graph, models: Models, *, table: str, measure: str) -> list[StudyJob]:
    """Return the jobs of several methods with one measure."""
    return [job for model in models for job in make_jobs(graph, model, options, table=table, measures=(measure,))]


def with_splits(graph: Graph, count: int) -> Graph:
    """Return the graph with its first splits, or random ones if its own have no labeled test nodes."""
    if count < 1:
        raise HeterophilyError(f"a study needs at least one split, got {count}")
    usable = {name: s for name, s in graph.splits.items() if bool((graph.labels[s.test] >= 0).any())}
    splits = usable or random_splits(graph, count=count)
    chosen = dict(list(splits.items())[:count])
    return graph if chosen == dict(graph.splits) else graph.replace(splits=chosen)


CLASSES = "How classes connect"
ACCURACY = "Where accuracy comes from"
COST = "How accurate, and at what cost"
RECORDS = "runs"  # folder of the records in the folder of a study
CELL = ("dataset", "model", "variant")  # columns that runs of one table cell share
RUN = (*CELL, "split", "seed")
OptionsT = TypeVar("OptionsT", bound=GraphOptions)
T = TypeVar("T")
# Exceptions from missing rows, columns, and values.
DAMAGES = (ArithmeticError, AssertionError, AttributeError, LookupError, StopIteration, TypeError, ValueError)


def open_graphs(options: GraphOptions) -> Iterable[Graph]:
    """Return the graphs of a study one after another."""
    for source in options.graphs:
        if isinstance(source, Graph):
            yield with_features(source)
        else:
            yield open_graph(source, nodes=options.nodes, roles=options.roles, for_training=True)


@dataclass(frozen=True, kw_only=True)
class Study(Generic[OptionsT]):
    """A question that is answered by training runs.

    A study creates jobs, makes rows from their records, and describes everything else as a function of these
    rows. Its tables are the files `<name>.json` and `<name>-<table>.json`.
    """

    name: str
    title: str
    description: str  # one sentence for the command, the report, and the documentation
    details: str = ""  # further sentences for the documentation
    usage: str  # an example of the arguments of the command
    topic: str  # heading of its charts in a report
    options: type[OptionsT]
    graphs: Callable[[OptionsT], Iterable[Graph]] = open_graphs
    jobs: Callable[[OptionsT, Graph], Sequence[StudyJob]] = lambda *_: ()
    rows: Callable[[StudyJob, Record], Tables] = lambda *_: {}
    measure: Callable[[OptionsT, Graph], Tables] = lambda *_: {}  # tables that need no training
    paper: Callable[[Row], float | None] | None = None  # the paper's number for a row
    charts: Callable[[Tables], Sequence[Chart]]
    tables: Callable[[Tables], Sequence[Table]]
    findings: Callable[[Tables], Sequence[str]] = lambda _: ()  # sentences below the tables
    summary: Callable[[Tables], Sequence[str]] = lambda _: ()  # lines that the command prints
    files: tuple[str, ...]  # names of its main tables
    separate_processes: bool = False  # whether every run needs its own process

    def __post_init__(self) -> None:
        """Report damaged and incomplete data, from which a view cannot be computed, as an error of the user."""
        for view in ("charts", "tables", "findings", "summary"):
            object.__setattr__(self, view, partial(_view_of, self.name, getattr(self, view)))


def _view_of(name: str, view: Callable[[Tables], Sequence[T]], tables: Tables) -> Sequence[T]:
    try:
        return view(tables)
    except HeterophilyError:
        raise
    except DAMAGES as error:
        raise HeterophilyError(
            f"the data of the study {name} is damaged or incomplete ({error!r}); run `heterophily study {name}` again, "
            "or remove its files"
        ) from error


def run_study(study: Study[OptionsT], options: OptionsT, *, display: OpenDisplay = no_display) -> Tables:
    """Run the jobs of a study that have no record yet, and return all of its tables."""
    stored = {name: StudyData.opened(name, options.out) for name in study.files}
    for graph in study.graphs(options):
        for table, rows in study.measure(options, graph).items():
            stored[study.name].replace_rows(table, rows, same=("dataset",))
        jobs = study.jobs(options, graph)
        records = _run(study, jobs, options, display)
        for name, data in stored.items():
            pairs = [(j, r) for j, r in zip(jobs, records, strict=True) if j.table == name]
            _update(data, study, pairs)
            data.write()
        _check(study, jobs, records)
    return {file: rows for data in stored.values() for file, rows in data.by_file.items() if rows}


def _run(study: Study[OptionsT], jobs: Sequence[StudyJob], options: OptionsT, display: OpenDisplay) -> list[Record]:
    if not jobs:
        return []
    workers = options.workers if isinstance(options, TrainingOptions) else 1
    threads = getattr(options, "threads", 1)
    here = workers == 1 and not study.separate_processes
    with temporary_folder() as temporary:
        folder = (Path(temporary) if options.out is None else options.out) / RECORDS
        if study.separate_processes:  # times with different numbers of threads differ
            folder /= f"threads-{threads}"
        return run_jobs(
            [each.job for each in jobs],
            folder,
            workers=workers,
            threads=threads,
            engine="inline" if here else "local",
            retry=True,
            display=display,
        )


def _update(data: StudyData, study: Study[OptionsT], pairs: Sequence[tuple[StudyJob, Record]]) -> None:
    """Replace the rows of these runs, and drop those of runs with other settings or another graph."""
    groups = {tuple(job.columns.get(name) for name in CELL): job.group for job, _ in pairs}

    def is_current(row: Row) -> bool:
        group = groups.get(tuple(row.get(name) for name in CELL))
        return group is None or str(row["run"]).startswith(group)

    data.drop_rows_unless(is_current)
    for job, record in pairs:
        for table, rows in study.rows(job, record).items() if _is_usable(study, record) else ():
            labeled = [{**job.labels, **row} for row in rows]
            if not table and study.paper is not None:
                labeled = [{**row, "paper": study.paper(row)} for row in labeled]
            data.replace_rows(table, labeled, same=RUN)


def _is_usable(study: Study[OptionsT], record: Record) -> bool:
    return record.done or study.separate_processes


def _check(study: Study[OptionsT], jobs: Sequence[StudyJob], records: Sequence[Record]) -> None:
    """Raise an error if runs failed. A study of run time reports failures in its rows."""
    failed = [(j.job, r) for j, r in zip(jobs, records, strict=True) if not _is_usable(study, r)]
    if failed:
        job, record = failed[0]
        reason = (record.reason.strip().splitlines() or [record.status])[-1]
        raise HeterophilyError(
            f"{len(failed)} of {len(jobs)} runs failed, for example {job}: {reason}; fix the problem "
            "and run the same command again to continue"
        )
