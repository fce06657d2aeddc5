"""The jobs of a benchmark: models × datasets × splits."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.types import Settings
from heterophily.data import published as paper
from heterophily.models import Model, find_method
from heterophily.models.settings import Tables, merge_settings, trials_of
from heterophily.runs.job import Job, absolute_path, make_job, parse_splits

MODELS = tuple(paper.methods())  # in the order of the paper's table
DATASETS = tuple(paper.datasets())


def plan(
    models: Iterable[Model],
    graphs: Mapping[str, Graph],
    *,
    splits: str = "all",
    seed: int = 0,
    settings: Settings | None = None,
    user_tables: Mapping[str, Tables] | None = None,
    unnamed: Collection[str] = (),
) -> list[Job]:
    """Return all jobs, cheapest first. The run on the i-th split of a graph has the seed `seed` + i.

    A setting comes from the method, then from the table of the dataset, then from `settings`. The table is
    the bundled one, unless `user_tables` has one for the name of the method. Workers load a graph by its key,
    unless it is `unnamed`.
    """
    methods = {each: find_method(each).name for each in dict.fromkeys(map(_located, models))}
    _check_distinct("models", [(str(each), name) for each, name in methods.items()])
    _check_distinct("graphs", [(source, graph.name) for source, graph in graphs.items()])
    jobs = []
    for model, name in methods.items():
        tables = (user_tables or {}).get(name)
        for source, graph in graphs.items():
            values, origin = merge_settings(name, graph.name, tables, settings)
            trials = 0 if settings else trials_of(name, graph.name, tables)
            for split in parse_splits(graph, splits):
                _check_scored(graph, split)
                number = seed + list(graph.splits).index(split)
                # A graph from tables contains more than its files, such as the roles of their columns.
                read_from = source if graph.encoder is None and source not in unnamed else None
                job = make_job(
                    model, graph, split, seed=number, settings=values, source=read_from, origin=origin, trials=trials
                )
                jobs.append(job)
    return sorted(jobs, key=lambda job: job.cost)


def _check_scored(graph: Graph, name: str) -> None:
    """Reject a split on which training cannot stop early or models cannot be compared."""
    parts = graph.split(name).parts
    for part, purpose in (("val", "for early stopping"), ("test", "to compare models")):
        if not bool(graph.labeled[parts[part]].any()):
            raise HeterophilyError(
                f"split {name} of {graph.name} has no labeled {part} nodes {purpose}; add some "
                "(random_splits creates splits), or use `fit`, which does not require them"
            )


def _located(model: Model) -> Model:
    """Return a model as other processes can load it."""
    return absolute_path(str(model)) if isinstance(model, str | Path) else model


def _check_distinct(kind: str, names: Iterable[tuple[str, str]]) -> None:
    """Reject two models or graphs with the same name, which a table could not distinguish."""
    owners: dict[str, str] = {}
    for path, name in names:
        if owners.setdefault(name, path) != path:
            raise HeterophilyError(f'two {kind} have the name "{name}": {owners[name]} and {path}; rename one of them')
