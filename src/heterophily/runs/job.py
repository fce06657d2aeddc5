"""Jobs: what to run, the key of its result, and the options with which jobs are executed.

A key is a digest of everything that determines a result: the method with its settings, the graph, the nodes
of the split, the seed, and the version of the results.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split
from heterophily.core.sparse import Matrix
from heterophily.core.types import Json, Settings
from heterophily.data.catalog import CATALOG
from heterophily.data.synthetic import EMBEDDED
from heterophily.htmp.channel import Channel
from heterophily.htmp.identity import digest, identity_of
from heterophily.htmp.method import Method, make_method, settings_of
from heterophily.htmp.neighborhoods import Ego, Hop
from heterophily.htmp.transform import Linear
from heterophily.models import BUILT_IN, Model, find_method
from heterophily.models.hog_gcn import PathCounts
from heterophily.models.ugcn import CommonNeighbors
from heterophily.runs.record import RESULTS_VERSION, Record, optional_facts
from heterophily.training.scoring import DEFAULT_SCORING
from heterophily.training.splits import with_validation


@dataclass(frozen=True)
class Job:
    """A training run to execute, and what to measure on it. Use `make_job` to create one."""

    model: Model  # name of a method, path of a file that defines one, or the method itself
    source: str | Graph  # name of a dataset, path of a graph, or the graph itself
    split: str
    settings: Settings  # settings that differ from the defaults, including `preset`
    empty_record: Record  # the record without its result
    nodes: str  # digest of the nodes of the split
    measures: tuple[str, ...] = ()  # measurements beyond the scores, see `measures.py`
    hide_test_labels: bool = False  # whether the run must not have access to test labels
    device: str = "auto"
    cost: float = field(default=0.0, compare=False)

    @property
    def key(self) -> str:
        """The digest of everything that determines the result."""
        return self.empty_record.key

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.empty_record.seed

    @property
    def scoring(self) -> str:
        """The scoring that decides when training stops and which epoch is retained."""
        return self.empty_record.scoring

    @property
    def is_built_in(self) -> bool:
        """Whether the method is part of the library and identified by its name."""
        name = self.empty_record.model
        if name not in BUILT_IN:
            return False
        method = find_method(self.model)
        return BUILT_IN[name] is (method if isinstance(method, type) else type(method))

    def has_result(self, record: Record) -> bool:
        """Whether a stored record is the result of this job.

        A record does not contain the nodes of its split, but its key proves them. Keys of built-in methods
        change when parts are renamed, so their records are recognized by what the current code computes.
        """
        keys = [name.partition(":")[2] for name in self.measures]
        if record.done and not set(keys) <= set(record.details):
            return False
        if not self.is_built_in:
            return record.key == self.key
        empty = self.empty_record
        facts: list[Json] = [record.recipe, empty.checksum, self.nodes, empty.seed, empty.version]
        is_same = record.identity == empty.recipe and record.scoring == empty.scoring
        return is_same and record.trials == empty.trials and record.key == key_of(facts, empty.scoring, empty.trials)

    def __str__(self) -> str:
        return f"{self.empty_record.model} on {self.empty_record.dataset}, split {self.split}"


def make_job(
    model: Model,
    graph: Graph,
    split: str,
    *,
    seed: int,
    settings: Settings | None = None,
    source: str | None = None,
    origin: str = "command line",
    measures: tuple[str, ...] = (),
    hide_test_labels: bool = False,
    device: str = "auto",
    scoring: str = DEFAULT_SCORING.name,
    trials: int = 0,
) -> Job:
    """Create a job. Workers load the graph from `source`; without one, the job contains the graph.

    `origin` is the place from which the settings were read, such as `search`, and `trials` is the number of trials
    of `tune` that selected them.
    """
    method = make_method(find_method(model), values := dict(settings or {}))
    nodes = _node_digest(graph, split, seed=seed, hide_test_labels=hide_test_labels)
    facts: list[Json] = [identity_of(method), graph.checksum, nodes, seed, RESULTS_VERSION]
    record = Record(
        key=key_of(facts, scoring, trials),
        model=method.name,
        dataset=graph.name,
        split=split,
        seed=seed,
        settings=settings_of(method),
        preset=str(values.get("preset", "published")),
        source=origin,
        recipe=str(facts[0]),
        checksum=graph.checksum,
        version=RESULTS_VERSION,
        scoring=scoring,
        trials=trials,
    )
    return Job(
        absolute_path(model) if isinstance(model, str) else model,
        graph if source is None else _absolute_source(source),
        split,
        values,
        record,
        nodes,
        measures,
        hide_test_labels,
        device,
        cost_of(method, graph),
    )


def key_of(facts: list[Json], scoring: str, trials: int = 0) -> str:
    """Return the key of a job."""
    return digest([*facts, *optional_facts(scoring, trials)])


def resolve_nodes(graph: Graph, name: str, *, seed: int, hide_test_labels: bool) -> Split:
    """Return the nodes of a split, with validation nodes, and without test nodes if these are hidden."""
    split = with_validation(graph, graph.split(name), seed=seed)
    if not hide_test_labels:
        return split
    return Split.from_nodes(split.train, split.val, origin=split.origin)


def _node_digest(graph: Graph, name: str, *, seed: int, hide_test_labels: bool) -> str:
    """Return the digest of the nodes of a split, computed once per graph."""
    resolved = partial(resolve_nodes, graph, name, seed=seed, hide_test_labels=hide_test_labels)
    return graph.cached(("split digest", name, seed, hide_test_labels), lambda: split_digest(resolved()))


def split_digest(split: Split) -> str:
    """Return a digest of the nodes of a split."""
    return digest([nodes.tolist() for nodes in split.parts.values()])


def absolute_path(model: str) -> str:
    """Return the absolute path of a file with a method, because workers may have another folder."""
    return str(Path(model).resolve()) if model.endswith(".py") else model


def _absolute_source(source: str) -> str:
    is_name = source in CATALOG or source == EMBEDDED or not Path(source).exists()
    return source if is_name else str(Path(source).resolve())


def parse_splits(graph: Graph, text: str) -> list[str]:
    """Return the names of the splits that `all`, `0-9`, or `0,3,5` selects, in the graph's order."""
    if not graph.splits:
        raise HeterophilyError(f"{graph.name} has no splits; save it with splits, or use a dataset that has them")
    if text == "all":
        return list(graph.splits)
    names = {name for item in text.split(",") for name in _parse_range(graph, item.strip())}
    return [name for name in graph.splits if name in names]


def _parse_range(graph: Graph, text: str) -> list[str]:
    """Return the splits that `3` or `0-9` selects, all of which must exist."""
    first, _, last = text.partition("-")
    if text in graph.splits:
        return [text]
    if first.isdigit() and last.isdigit():
        numbers = range(int(first), int(last) + 1)
        names = [name for name in graph.splits if name.isdigit() and int(name) in numbers]
        if names and len(names) == len(numbers):
            return names
    known = ", ".join(graph.splits)
    raise HeterophilyError(f'unknown split of {graph.name} "{text}"; available: {known}')


@dataclass(frozen=True)
class Limits:
    """Limits of one run; 0 for no limit."""

    memory: float = 0.0  # GB
    minutes: float = 0.0
    patience: float = 60.0  # seconds to wait for space on a full disk


@dataclass(frozen=True)
class RunOptions:
    """The options with which one command executes its jobs."""

    since: str  # time at which the command started
    threads: int = 1  # per run
    limits: Limits = Limits()
    retry: bool = False  # whether to run jobs again that failed before
    attempts: int = 1  # how often a job starts if its process is killed


def now() -> str:
    """Return the time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


LEARNED = 3  # times that a message costs more if its weights have gradients
DENSE = 3  # times that a full product is faster than a sparse one
TABLE = 100  # columns of a table of neighborhoods
PASSES = 20  # over the states of a layer: dropout, activations, gates, their gradients


def cost_of(method: Method, graph: Graph) -> float:
    """Return a rough number of operations per epoch, in units of a sparse product.

    It counts X W_r, (A_r ⊙ B_r) U_r, and Z W_r over all layers and channels. Over the committed runs, its rank
    correlation with the milliseconds per epoch is 0.8. An ensemble costs as much as all of its members.
    """
    x, n = graph.features, graph.n_nodes
    if not method.is_network:
        return float(graph.symmetric.n_entries + TABLE * n)
    architecture = method.architecture()
    stored = x.pattern.n_entries if isinstance(x, Matrix) else x.numel()
    transform, n_channels = architecture.transform, len(architecture.channels)
    linear = isinstance(transform, Linear)
    heads = transform.heads.n if isinstance(transform, Linear) and transform.heads else 1
    sent = sum(_entries(channel, graph) for channel in architecture.channels)
    layer = sent + n_channels * n * (method.width / DENSE + PASSES)
    inputs = stored * (n_channels if linear else 1)
    return float(method.n_members * heads * method.width * (inputs + method.n_layers * layer))


def _entries(channel: Channel, graph: Graph) -> float:
    """Entries of a neighborhood, bounded by the paths that lead there, times what they cost."""
    hood, guidance, n = channel.neighborhood, channel.guidance, graph.n_nodes
    if isinstance(hood, Ego):
        return 0.0
    entries = float(graph.symmetric.n_entries * max(hood.power, 1))
    if isinstance(hood, CommonNeighbors) or (isinstance(hood, Hop | PathCounts) and hood.k > 1):
        entries = min(float(graph.symmetric.degrees.double().square().sum()), float(n * n))
    return entries * (LEARNED if guidance.depends_on != "graph" else 1)
