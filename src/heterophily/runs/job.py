"""From models × datasets × splits to cells: what exactly is to be run, and under which key."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split
from heterophily.data.catalog import CATALOG
from heterophily.data.synthetic import EMBEDDED
from heterophily.htmp.identity import digest, identity_of
from heterophily.htmp.recipe import Recipe
from heterophily.models import find_recipe
from heterophily.models.settings import Tables, source_of, tuned
from heterophily.runs.cost import cost_of
from heterophily.runs.record import BUILT_IN, RESULTS_VERSION, Record

# The columns and rows of the paper's table, in its order.
MODELS = (
    "mlp",
    "gcn",
    "gat",
    "gcnii",
    "h2gcn",
    "mixhop",
    "gbk-gnn",
    "ggcn",
    "glognn",
    "hog-gcn",
    "gpr-gnn",
    "acm-gcn",
    "ordered-gnn",
    "cmgnn",
)
DATASETS = tuple(name for name, dataset in CATALOG.items() if dataset.in_paper)


@dataclass(frozen=True)
class Job:
    """One run to be: a model with its settings on a split of a dataset."""

    model: str  # a name, or the path of a file with a recipe
    source: str  # a dataset's name, or the path of a graph
    split: str
    values: dict[str, Any]  # what differs from the recipe's defaults, `preset` among them
    blank: Record  # everything but the outcome
    nodes: str  # digest of the nodes of the split
    cost: float = field(default=0.0, compare=False)

    @property
    def key(self) -> str:
        """What tells this run from every other."""
        return self.blank.key

    def has_result(self, record: Record) -> bool:
        """Whether a stored record is the result of this job.

        A record does not contain the nodes of its split, but its key proves them. Keys of built-in methods
        change when parts are renamed, so records of these are recognized by what the current code computes.
        """
        if record.model not in BUILT_IN:
            return record.key == self.key
        blank = self.blank
        facts = [record.recipe, blank.checksum, self.nodes, blank.seed, blank.version]
        return record.identity == blank.recipe and record.key == digest(facts)

    def __str__(self) -> str:
        return f"{self.blank.model} on {self.blank.dataset}, split {self.split}"


def plan(
    models: Iterable[str],
    graphs: Mapping[str, Graph],
    *,
    splits: str = "all",
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    own: Mapping[str, Tables] | None = None,
) -> list[Job]:
    """All cells, cheapest first. The run on the i-th split of a graph has the seed `seed` + i.

    A setting comes from the recipe, then from the table of the dataset, then from `settings`. The table is
    the committed one, unless `own` has one for the name of the recipe.
    """
    recipes = {absolute_path(model): find_recipe(model) for model in models}
    _distinct("models", {model: recipe.name for model, recipe in recipes.items()})
    _distinct("graphs", {source: graph.name for source, graph in graphs.items()})
    cells = []
    for model, recipe in recipes.items():
        for source, graph in graphs.items():
            place = (recipe.name, graph.name, (own or {}).get(recipe.name))
            values = {**tuned(*place), **(settings or {})}
            decided = recipe.with_settings(**values)
            preset = str(values.get("preset", "published"))
            origin = "command line" if settings else source_of(*place)
            for name in parse_splits(graph, splits):
                _check_scored(graph, name)
                number = seed + list(graph.splits).index(name)
                blank = _blank(decided, graph, name, number, preset, origin)
                cost = cost_of(decided, graph)
                nodes = split_digest(graph.split(name))
                cells.append(Job(model, _whole_source(source), name, values, blank, nodes, cost))
    return sorted(cells, key=lambda cell: cell.cost)


def _check_scored(graph: Graph, name: str) -> None:
    """Refuse a split on which no model could be chosen or scored."""
    parts = graph.split(name).parts
    for part, why in (("val", "to know when to stop"), ("test", "to compare models on")):
        if not bool(graph.labeled[parts[part]].any()):
            raise HeterophilyError(
                f"split {name} of {graph.name} has no labelled {part} nodes {why}; give it some "
                "(random_splits draws splits), or use `fit`, which needs none"
            )


def absolute_path(model: str) -> str:
    """A file with a recipe from the root, for workers that stand elsewhere; a name as it is."""
    return str(Path(model).resolve()) if model.endswith(".py") else model


def _whole_source(source: str) -> str:
    known = source in CATALOG or source == EMBEDDED or not Path(source).exists()
    return source if known else str(Path(source).resolve())


def _distinct(kind: str, names: Mapping[str, str]) -> None:
    """Refuse two of a kind under one name, which no table could tell apart."""
    owners: dict[str, str] = {}
    for path, name in names.items():
        if owners.setdefault(name, path) != path:
            raise HeterophilyError(
                f'two {kind} have the name "{name}": {owners[name]} and {path}; rename one of them'
            )


def _blank(recipe: Recipe, graph: Graph, split: str, seed: int, preset: str, source: str) -> Record:
    return Record(
        key=job_key(recipe, graph, split, seed),
        model=recipe.name,
        dataset=graph.name,
        split=split,
        seed=seed,
        settings=dict(recipe.settings),
        preset=preset,
        source=source,
        recipe=identity_of(recipe),
        checksum=graph.checksum,
        version=RESULTS_VERSION,
    )


def decide(model: str, values: Mapping[str, Any]) -> Recipe:
    """The recipe of a cell with all of its settings."""
    return find_recipe(model).with_settings(**values)


def job_key(recipe: Recipe, graph: Graph, split: str, seed: int) -> str:
    """A digest of all that decides the result of a run."""
    nodes = split_digest(graph.split(split))
    return digest([identity_of(recipe), graph.checksum, nodes, seed, RESULTS_VERSION])


def split_digest(split: Split) -> str:
    """A digest of the nodes of a split."""
    return digest([nodes.tolist() for nodes in split.parts.values()])


def parse_splits(graph: Graph, text: str) -> list[str]:
    """Names of splits from `all`, `0-9` or `0,3,5`, in the graph's order."""
    if not graph.splits:
        raise HeterophilyError(
            f"{graph.name} has no splits; save it with some, or use a dataset that has"
        )
    if text == "all":
        return list(graph.splits)
    wanted = {name for piece in text.split(",") for name in _named(graph, piece.strip())}
    return [name for name in graph.splits if name in wanted]


def _named(graph: Graph, piece: str) -> list[str]:
    """The splits that `3` or `0-9` names, all of which must exist."""
    first, _, last = piece.partition("-")
    if piece in graph.splits:
        return [piece]
    if first.isdigit() and last.isdigit():
        numbers = range(int(first), int(last) + 1)
        found = [name for name in graph.splits if name.isdigit() and int(name) in numbers]
        if found and len(found) == len(numbers):
            return found
    known = ", ".join(graph.splits)
    raise HeterophilyError(f'unknown split of {graph.name} "{piece}"; available: {known}')


def parse_names(text: str, everything: Iterable[str]) -> list[str]:
    """Names from `all` or a list with commas, without repetition."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    chosen = [n for name in names for n in (everything if name == "all" else (name,))]
    if not chosen:
        raise HeterophilyError(f"no names in {text!r}; give some with commas between, or all")
    return list(dict.fromkeys(chosen))
