"""Computed neighborhoods, stored in the user's cache folder.

A safetensors file contains named patterns, matrices, and tensors. Its name is the SHA-256 of the graph's
checksum, the key, and `VERSION`, which changes when a neighborhood is computed differently. Set
HETEROPHILY_CACHE=off to neither read nor write files.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias, TypeVar, cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from heterophily.core.files import cache_folder, write_atomically
from heterophily.core.sparse import Matrix, Pattern

VERSION = 1
VARIABLE = "HETEROPHILY_CACHE"
Item: TypeAlias = Tensor | Pattern | Matrix
Stored = TypeVar("Stored", bound=Item)


def cached(checksum: str, key: str, compute: Callable[[], Mapping[str, Stored]]) -> dict[str, Stored]:
    """Return the stored result for a graph and a key, or compute and store it. Results are on the CPU.

    If the file cannot be read, the result is computed again. If it cannot be written, the result is not
    stored.
    """
    if os.environ.get(VARIABLE, "").lower() in {"off", "0", "no"}:
        return dict(compute())
    path = stored_at(checksum, key)
    stored = _read(path)
    if stored is not None:
        return cast("dict[str, Stored]", stored)
    computed = dict(compute())
    _write(path, computed)
    return computed


def stored_at(checksum: str, key: str) -> Path:
    """Return the path of the result for a graph and a key."""
    digest = hashlib.sha256(json.dumps([VERSION, checksum, key]).encode()).hexdigest()
    return cache_folder() / "neighborhoods" / f"{digest}.safetensors"


def _write(path: Path, items: Mapping[str, Item]) -> None:
    tensors = {f"{name}.{part}": _copy(tensor) for name, item in items.items() for part, tensor in _parts(item).items()}
    widths = {name: None if isinstance(x, Tensor) else x.shape[1] for name, x in items.items()}
    facts = {"widths": json.dumps(widths)}
    with contextlib.suppress(OSError, SafetensorError):
        write_atomically(path, lambda target: save_file(tensors, target, metadata=facts))


def _copy(tensor: Tensor) -> Tensor:
    """Copy a tensor, because safetensors rejects memory that is shared or not contiguous."""
    return tensor.detach().cpu().clone(memory_format=torch.contiguous_format)


def _parts(item: Item) -> dict[str, Tensor]:
    if isinstance(item, Tensor):
        return {"values": item}
    pattern = item.pattern if isinstance(item, Matrix) else item
    values = {"values": item.values} if isinstance(item, Matrix) else {}
    return {"indptr": pattern.indptr, "indices": pattern.indices, **values}


def _read(path: Path) -> dict[str, Item] | None:
    try:
        with safe_open(path, framework="pt") as file:
            widths = json.loads(file.metadata()["widths"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return {name: _item(tensors, name, width) for name, width in widths.items()}
    except (OSError, SafetensorError, AttributeError, KeyError, TypeError, ValueError):
        return None


def _item(tensors: dict[str, Tensor], name: str, width: int | None) -> Item:
    if width is None:
        return tensors[f"{name}.values"]
    pattern = Pattern(tensors[f"{name}.indptr"], tensors[f"{name}.indices"], width)
    values = tensors.get(f"{name}.values")
    return pattern if values is None else Matrix(pattern, values)
