"""The paper's numbers: accuracy, ablation, accuracy by degree, synthetic graphs and run time.

They are those of its printed tables, in percent over ten splits unless a function says otherwise, from
paper.json. Where the paper prints OOM there is a cell without numbers; where it has no cell there is `None`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from heterophily.core.errors import unknown_name


@dataclass(frozen=True)
class Published:
    """A printed mean and standard deviation in percent; neither where the paper ran out of memory."""

    mean: float | None
    std: float | None

    @property
    def out_of_memory(self) -> bool:
        """Whether the paper prints OOM."""
        return self.mean is None

    @classmethod
    def of(cls, pair: Sequence[float] | None) -> "Published":
        """A cell as it stands in paper.json."""
        return cls(None, None) if pair is None else cls(*pair)


def title() -> str:
    """The citation of the paper."""
    return str(_tables()["title"])


def methods() -> dict[str, str]:
    """The methods in the order of the paper's table, with the names that it prints."""
    return dict(_tables()["methods"])


def datasets() -> dict[str, str]:
    """The datasets in the order of the paper's table, with the names that it prints."""
    return dict(_tables()["datasets"])


def published(model: str, dataset: str) -> Published | None:
    """Test accuracy of a method on a dataset.

    >>> published("cmgnn", "actor")
    Published(mean=36.82, std=0.78)
    >>> published("hog-gcn", "pubmed").out_of_memory
    True
    """
    row = _tables()["accuracy"].get(model, {})
    return Published.of(row[dataset]) if dataset in row else None


def average_rank(model: str) -> float | None:
    """The average rank that the paper prints, over the datasets that a method finished there."""
    return _tables()["average_rank"].get(model)


def ablation(variant: str, dataset: str) -> Published:
    """Accuracy of CMGNN, full or without a component."""
    rows = _tables()["ablation"]
    if variant not in rows:
        raise unknown_name("variant of the paper's ablation", variant, rows)
    if dataset not in rows[variant]:
        raise unknown_name("dataset of the paper's ablation", dataset, rows[variant])
    return Published.of(rows[variant][dataset])


def degree_accuracy(model: str, dataset: str) -> tuple[float, ...] | None:
    """Accuracy on fifths of the test nodes by degree, lowest degree first."""
    row = _tables()["degree_accuracy"].get(model, {})
    return tuple(row[dataset]) if dataset in row else None


def synthetic_gcn(homophily: float, pattern: str, *, degree: int) -> Published:
    """Accuracy of GCN on edges drawn between the nodes of Cora: homophily 0.8, 0.5, 0.2; degree 18, 4."""
    rows = {
        f"{key} {n}": pair
        for n, row in _tables()["synthetic_gcn"].items()
        for key, pair in row.items()
    }
    name = f"{homophily} {pattern} {degree}"
    if name not in rows:
        raise unknown_name("synthetic graph of the paper", name, rows)
    return Published.of(rows[name])


def synthetic_mlp() -> Published:
    """Accuracy of an MLP on each of these graphs: they differ in edges only."""
    return Published.of(_tables()["synthetic_mlp"])


def run_time(model: str, dataset: str) -> float | None:
    """Milliseconds per epoch on a GeForce RTX 3090; `None` also where the paper ran out of memory."""
    return _tables()["run_time"].get(model, {}).get(dataset)


@cache
def _tables() -> dict[str, Any]:
    path = files("heterophily.data") / "paper.json"
    return json.loads(path.read_text(encoding="utf-8"))
