"""The content of a saved graph: its JSON follows a schema, and its tensors have the expected types."""

from collections.abc import Mapping
from typing import Annotated

import torch
from pydantic import Field
from pydantic.types import JsonValue
from torch import Tensor

from heterophily.core.errors import HeterophilyError
from heterophily.core.schema import RETAIN_OTHERS, Text, TypedDict, parse_json
from heterophily.core.sparse import Pattern
from heterophily.core.split import PARTS

FORMAT = "heterophily-graph-1"
INTEGERS = (torch.int32, torch.int64)
FREE_FEATURES = 2**20  # columns that a sparse matrix may have, however few entries it has
Size = Annotated[int, Field(ge=0, lt=2**40)]


class Required(TypedDict):
    """The JSON part of a saved graph that every version has."""

    format: Text
    name: Text
    n_classes: Size
    n_features: Size
    class_names: list[str] | None
    origins: dict[str, Text]
    symmetric: bool


class Facts(Required, total=False):
    """The JSON part of a saved graph. Graphs that were saved by earlier versions do not have these keys."""

    __pydantic_config__ = RETAIN_OTHERS  # type: ignore[misc]
    class_values: list[str] | list[int] | list[bool] | None
    feature_names: list[str] | None
    encoder: dict[str, JsonValue] | None


def parse_facts(text: str) -> Facts:
    """Return the JSON part of a saved graph, or raise an error that describes the damage."""
    return parse_json(Facts, text)


def parse_ids(tensor: Tensor) -> tuple[str, ...]:
    """Return the names of the nodes."""
    _expect("node_ids", tensor, (torch.uint8,), 1)
    return tuple(parse_json(list[str], tensor.numpy().tobytes()))


def check_tensors(tensors: Mapping[str, Tensor], facts: Facts) -> None:
    """Raise an error unless all tensors have the right type and number of dimensions."""
    for name in ("adjacency.indptr", "adjacency.indices"):
        _expect(name, tensors[name], INTEGERS, 1)
    _expect("labels", tensors["labels"], (torch.int64,), 1)
    if "weights" in tensors:
        _expect("weights", tensors["weights"], (torch.float32,), 1)
    if "features" in tensors:
        _expect("features", tensors["features"], (torch.float32,), 2)
    else:
        _check_sparse(tensors, facts["n_features"])
    for name in facts["origins"]:
        for part in PARTS:
            _expect(f"splits.{name}.{part}", tensors[f"splits.{name}.{part}"], (torch.int64,), 1)
    for what in ("adjacency", "features"):
        if f"{what}.indptr" in tensors and len(tensors[f"{what}.indptr"]) != len(tensors["labels"]) + 1:
            n_rows = len(tensors[f"{what}.indptr"]) - 1
            raise HeterophilyError(f"{what} must have one row per node ({len(tensors['labels'])}), got {n_rows} rows")


def _check_sparse(tensors: Mapping[str, Tensor], n_features: int) -> None:
    _expect("features.indptr", tensors["features.indptr"], INTEGERS, 1)
    _expect("features.indices", tensors["features.indices"], INTEGERS, 1)
    _expect("features.values", tensors["features.values"], (torch.float32,), 1)
    if n_features > max(FREE_FEATURES, 100 * len(tensors["features.indices"])):
        raise HeterophilyError(
            f"{n_features:,} features are too many for {len(tensors['features.indices'])} values; remove empty columns"
        )


def check_sorted(what: str, pattern: Pattern) -> None:
    """Raise an error unless the columns within each row are ascending and different."""
    rising = pattern.indices[1:] > pattern.indices[:-1]
    starts = pattern.indptr[1:-1].long()
    inner = starts[(starts > 0) & (starts < pattern.n_entries)]
    rising[inner - 1] = True  # a new row starts
    if not bool(rising.all()):
        raise HeterophilyError(f"{what}.indices must be ascending and without duplicates within each row")


def _expect(name: str, tensor: Tensor, dtypes: tuple[torch.dtype, ...], n_dimensions: int) -> None:
    if tensor.dtype not in dtypes or tensor.dim() != n_dimensions:
        expected = " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
        raise HeterophilyError(
            f"{name} must have {n_dimensions} dimension(s) of {expected}, got {tuple(tensor.shape)} of {tensor.dtype}"
        )
