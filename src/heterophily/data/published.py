"""The paper's numbers: accuracy, ablation, accuracy by degree, synthetic graphs, and run time.

They are the numbers of its printed tables, from paper.json, in percent over ten splits unless stated
otherwise. A `Published` without numbers represents OOM in the paper; `None` means that the paper has
no such cell.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypeAlias, TypedDict

from heterophily.core.errors import unknown_name

Pair: TypeAlias = Sequence[float] | None  # mean and standard deviation; None: out of memory


class Tables(TypedDict):
    """The contents of paper.json; the keys of inner tables are datasets."""

    title: str
    methods: dict[str, str]
    datasets: dict[str, str]
    accuracy: dict[str, dict[str, Pair]]
    average_rank: dict[str, float]
    ablation: dict[str, dict[str, Pair]]
    degree_accuracy: dict[str, dict[str, list[float]]]
    synthetic_gcn: dict[str, dict[str, Pair]]
    synthetic_mlp: Pair
    run_time: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Published:
    """A printed mean and standard deviation in percent, or None for both if the paper prints OOM."""

    mean: float | None
    std: float | None

    @property
    def out_of_memory(self) -> bool:
        """Whether the paper prints OOM."""
        return self.mean is None

    @classmethod
    def from_pair(cls, pair: Pair) -> "Published":
        """Convert a cell of paper.json."""
        return cls(None, None) if pair is None else cls(*pair)


def title() -> str:
    """Return the citation of the paper."""
    return _tables()["title"]


def methods() -> dict[str, str]:
    """Return the methods in the order of the paper's table, with their printed names."""
    return dict(_tables()["methods"])


def datasets() -> dict[str, str]:
    """Return the datasets in the order of the paper's table, with their printed names."""
    return dict(_tables()["datasets"])


def accuracy(model: str, dataset: str) -> Published | None:
    """Return the test accuracy of a method on a dataset.

    >>> accuracy("cmgnn", "actor")
    Published(mean=36.82, std=0.78)
    >>> accuracy("hog-gcn", "pubmed").out_of_memory
    True
    """
    row = _tables()["accuracy"].get(model, {})
    return Published.from_pair(row[dataset]) if dataset in row else None


def average_rank(model: str) -> float | None:
    """Return the printed average rank, over the datasets on which the method finished."""
    return _tables()["average_rank"].get(model)


def ablation(variant: str, dataset: str) -> Published:
    """Return the accuracy of CMGNN, complete or without a component."""
    rows = _tables()["ablation"]
    if variant not in rows:
        raise unknown_name("variant of the paper's ablation", variant, rows)
    if dataset not in rows[variant]:
        raise unknown_name("dataset of the paper's ablation", dataset, rows[variant])
    return Published.from_pair(rows[variant][dataset])


def degree_accuracy(model: str, dataset: str) -> tuple[float, ...] | None:
    """Return the accuracy on fifths of the test nodes by degree, lowest degree first."""
    row = _tables()["degree_accuracy"].get(model, {})
    return tuple(row[dataset]) if dataset in row else None


def synthetic_gcn(homophily: float, pattern: str, *, degree: int) -> Published:
    """Return the accuracy of GCN on Cora with random edges: homophily 0.8, 0.5, 0.2; degree 18, 4."""
    rows = {f"{key} {n}": pair for n, row in _tables()["synthetic_gcn"].items() for key, pair in row.items()}
    name = f"{homophily} {pattern} {degree}"
    if name not in rows:
        raise unknown_name("synthetic graph of the paper", name, rows)
    return Published.from_pair(rows[name])


def synthetic_mlp() -> Published:
    """Return the accuracy of an MLP on all of these graphs, which differ only in their edges."""
    return Published.from_pair(_tables()["synthetic_mlp"])


def run_time(model: str, dataset: str) -> float | None:
    """Return milliseconds per epoch on a GeForce RTX 3090, or None if the paper ran out of memory."""
    return _tables()["run_time"].get(model, {}).get(dataset)


@cache
def _tables() -> Tables:
    path = files("heterophily.data") / "paper.json"
    return json.loads(path.read_text(encoding="utf-8"))
