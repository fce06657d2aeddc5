"""The training runs of a study, with the columns that identify their rows.

Settings come from the method, then from the table of the dataset, then from the options. The run on the i-th
split has the seed i.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.types import Settings, Value
from heterophily.data.splits import random_splits
from heterophily.htmp.identity import digest
from heterophily.htmp.method import Method
from heterophily.models import Model, find_method
from heterophily.models.settings import merge_settings
from heterophily.runs.job import Job, make_job
from heterophily.studies.options import TrainingOptions
from heterophily.studies.tidy import Row


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


def with_splits(graph: Graph, count: int) -> Graph:
    """Return the graph with its first splits, or random ones if its own have no labeled test nodes."""
    if count < 1:
        raise HeterophilyError(f"a study needs at least one split, got {count}")
    usable = {name: s for name, s in graph.splits.items() if bool((graph.labels[s.test] >= 0).any())}
    splits = usable or random_splits(graph, count=count)
    chosen = dict(list(splits.items())[:count])
    return graph if chosen == dict(graph.splits) else graph.replace(splits=chosen)
