"""From models × datasets × splits to cells: what exactly is to be run, and under which key."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heterophily.bench.records import RESULTS_VERSION, Record, digest
from heterophily.data.catalog import CATALOG
from heterophily.errors import HeterophilyError, unknown_name
from heterophily.graph import Graph, Split
from heterophily.htmp.recipe import Recipe
from heterophily.models import find_recipe
from heterophily.settings import source_of, tuned
from heterophily.sparse import Matrix

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
WORDS = ("title", "paper", "equation", "deviations", "space", "reference")  # do not change results


@dataclass(frozen=True)
class Cell:
    """One run to be: a model with its settings on a split of a dataset."""

    model: str  # a name, or the path of a file with a recipe
    source: str  # a dataset's name, or the path of a graph
    split: str
    values: dict[str, Any]  # what differs from the recipe's defaults, `preset` among them
    blank: Record  # everything but the outcome
    cost: float = field(default=0.0, compare=False)

    def __str__(self) -> str:
        return f"{self.blank.model} on {self.blank.dataset}, split {self.split}"


def plan(
    models: Iterable[str],
    graphs: Mapping[str, Graph],
    *,
    splits: str = "all",
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
) -> list[Cell]:
    """All cells, cheapest first. The run on the i-th split of a graph has the seed `seed` + i.

    A setting comes from the recipe, then from the committed table of the dataset, then from `settings`.
    """
    cells = []
    for model in models:
        recipe = find_recipe(model)
        for source, graph in graphs.items():
            values = {**tuned(recipe.name, graph.name), **(settings or {})}
            decided = recipe.with_settings(**values)
            preset = str(values.get("preset", "published"))
            origin = "command line" if settings else source_of(recipe.name, graph.name)
            for name in chosen_splits(graph, splits):
                number = seed + list(graph.splits).index(name)
                blank = _blank(decided, graph, name, number, preset, origin)
                cells.append(Cell(model, source, name, values, blank, cost_of(decided, graph)))
    return sorted(cells, key=lambda cell: cell.cost)


def _blank(recipe: Recipe, graph: Graph, split: str, seed: int, preset: str, source: str) -> Record:
    identity = identity_of(recipe)
    return Record(
        key=digest([identity, graph.checksum, nodes_of(graph.split(split)), seed, RESULTS_VERSION]),
        model=recipe.name,
        dataset=graph.name,
        split=split,
        seed=seed,
        settings=dict(recipe.settings),
        preset=preset,
        source=source,
        recipe=identity,
        checksum=graph.checksum,
    )


def identity_of(recipe: Recipe) -> str:
    """A digest of everything in a decided recipe that changes results."""
    silent = {name: type(getattr(recipe, name))() for name in WORDS}
    return digest(repr(dataclasses.replace(recipe, **silent)))


def nodes_of(split: Split) -> str:
    """A digest of the nodes of a split."""
    return digest([nodes.tolist() for nodes in split.parts.values()])


def cost_of(recipe: Recipe, graph: Graph) -> float:
    """A rough number of operations per epoch, to run what is cheap first."""
    settings, x = recipe.settings, graph.features
    stored = x.pattern.n_entries if isinstance(x, Matrix) else x.numel()
    width, layers = int(settings["width"]), int(settings["n_layers"])
    per_layer = len(recipe.channels) * (graph.symmetric.n_entries + graph.n_nodes * width)
    return float(width * (stored + layers * per_layer))


def chosen_splits(graph: Graph, text: str) -> list[str]:
    """Names of splits from `all`, `0-9` or `0,3,5`, in the graph's order."""
    if not graph.splits:
        raise HeterophilyError(
            f"{graph.name} has no splits; save it with some, or use a dataset that has"
        )
    if text == "all":
        return list(graph.splits)
    wanted: set[str] = set()
    for piece in text.split(","):
        first, dash, last = piece.strip().partition("-")
        ranged = dash and first.isdigit() and last.isdigit()
        wanted |= {str(i) for i in range(int(first), int(last) + 1)} if ranged else {piece.strip()}
    for name in sorted(wanted - set(graph.splits)):
        raise unknown_name(f"split of {graph.name}", name, graph.splits)
    return [name for name in graph.splits if name in wanted]


def chosen_names(text: str, everything: Iterable[str]) -> list[str]:
    """Names from `all` or a list with commas, without repetition."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    chosen = [n for name in names for n in (everything if name == "all" else (name,))]
    if not chosen:
        raise HeterophilyError(f"no names in {text!r}; give some with commas between, or all")
    return list(dict.fromkeys(chosen))
