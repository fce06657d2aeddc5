"""The candidates of a race: methods with robust settings, as data in `portfolio.toml`."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypedDict

import torch

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.spaces import setting_infos
from heterophily.core.types import Value
from heterophily.htmp.method import Method, make_method
from heterophily.models import find_method

FILE = Path(__file__).with_name("portfolio.toml")
LARGE = 50_000  # nodes from which only candidates that are `large` run, in mini-batches if they are networks
BATCH_SIZE = 2048  # of a large graph


class _Row(TypedDict, total=False):
    name: str
    method: str
    cost: int
    class_weight: str
    large: bool
    max_paths: float
    directed: bool
    settings: dict[str, Value]


@dataclass(frozen=True)
class Candidate:
    """A method with settings, and when it is worth a try."""

    name: str  # unique in the portfolio
    method: str
    settings: Mapping[str, Value] = field(default_factory=dict)
    cost: int = 1  # rank: candidates with a low cost run first
    class_weight: str | None = None  # `balanced`, if the candidate always weights its loss
    large: bool = False  # whether it also runs on graphs with many nodes
    max_paths: float = float("inf")  # upper limit of Σ degree², for methods with two-hop neighborhoods
    directed: bool = False  # whether it only runs on graphs whose edges have a direction
    seed: int = 0  # number of the seed, if the candidate is trained with several

    def with_seed(self, seed: int) -> "Candidate":
        """Return the same candidate with another seed."""
        return replace(self, name=f"{self.name}, seed {seed + 1}", seed=seed)

    def make(self) -> Method:
        """Return the method with its settings."""
        return make_method(find_method(self.method), self.settings)

    def fits(self, graph: Graph) -> bool:
        """Return whether the candidate is affordable on a graph of this size and uses what the graph has."""
        n_paths = float(graph.degrees.to(torch.double).square().sum())
        is_affordable = (self.large or graph.n_nodes < LARGE) and n_paths <= self.max_paths
        return is_affordable and (not self.directed or has_direction(graph))


def has_direction(graph: Graph) -> bool:
    """Return whether edges have a direction.

    If all edges are sorted by node number, an undirected graph was probably stored with one entry per edge.
    """
    edges = graph.adjacency.without_diagonal()
    is_sorted = bool((edges.rows < edges.indices).all() or (edges.rows > edges.indices).all())
    return graph.is_directed and not is_sorted


def read_portfolio(path: Path = FILE) -> tuple[Candidate, ...]:
    """Read candidates from a TOML file and validate their settings. Cheap ones come first."""
    try:
        rows: list[_Row] = tomllib.loads(path.read_text(encoding="utf-8"))["candidate"]
        candidates = [Candidate(**row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HeterophilyError(f"{path} is not a portfolio of [[candidate]] tables: {error!r}") from error
    for candidate in candidates:
        candidate.make()
    if len({candidate.name for candidate in candidates}) < len(candidates):
        raise HeterophilyError(f"{path} has several candidates of the same name; choose unique names")
    return tuple(sorted(candidates, key=lambda each: each.cost))


def choose_candidates(
    graph: Graph, candidates: Sequence[Candidate], settings: Mapping[str, Value] | None = None
) -> tuple[Candidate, ...]:
    """Return the candidates that fit a graph. Given settings replace those of all methods that have them."""
    given = dict(settings or {})
    chosen = [_with_settings(each, given) for each in candidates if each.fits(graph)]
    known = {name for each in chosen for name in setting_infos(type(each.make()))}
    if unknown := sorted(given.keys() - known):
        raise HeterophilyError(f"no candidate of auto has a setting {', '.join(unknown)}; omit it or choose a model")
    return tuple(chosen)


def _with_settings(candidate: Candidate, given: Mapping[str, Value]) -> Candidate:
    infos = setting_infos(type(candidate.make()))
    return replace(candidate, settings={**candidate.settings, **{k: v for k, v in given.items() if k in infos}})
