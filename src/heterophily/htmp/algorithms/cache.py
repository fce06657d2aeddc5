"""Neighborhoods that were computed once, kept on disk in the user's cache.

A file holds named patterns, matrices and tensors as safetensors. Its name is the SHA-256 of the
graph's checksum, the key and `VERSION`, which changes when a neighborhood is computed in another
way. Set HETEROPHILY_CACHE=off to neither read nor write.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from heterophily.core.files import cache_folder, write_atomically
from heterophily.core.sparse import Matrix, Pattern

VERSION = 1
VARIABLE = "HETEROPHILY_CACHE"
Stored = TypeVar("Stored", bound=Tensor | Pattern | Matrix)


def cached(
    checksum: str, key: str, compute: Callable[[], Mapping[str, Stored]]
) -> dict[str, Stored]:
    """Read what was stored for a graph and a key, or compute and store it; results are on the CPU.

    A file that cannot be read is computed anew, and one that cannot be written is done without.
    """
    if os.environ.get(VARIABLE, "").lower() in {"off", "0", "no"}:
        return dict(compute())
    path = stored_at(checksum, key)
    found = _read(path)
    if found is None:
        found = dict(compute())
        _write(path, found)
    return cast("dict[str, Stored]", found)


def stored_at(checksum: str, key: str) -> Path:
    """Where the result for a graph and a key is kept."""
    digest = hashlib.sha256(json.dumps([VERSION, checksum, key]).encode()).hexdigest()
    return cache_folder() / "neighborhoods" / f"{digest}.safetensors"


def _write(path: Path, items: Mapping[str, Any]) -> None:
    tensors = {
        f"{name}.{part}": _own(tensor)
        for name, item in items.items()
        for part, tensor in _parts(item).items()
    }
    widths = {name: None if isinstance(x, Tensor) else x.shape[1] for name, x in items.items()}
    facts = {"widths": json.dumps(widths)}
    with contextlib.suppress(OSError, SafetensorError):
        write_atomically(path, lambda target: save_file(tensors, target, metadata=facts))


def _own(tensor: Tensor) -> Tensor:
    """A copy, because safetensors refuses memory that is shared or not contiguous."""
    return tensor.detach().cpu().clone(memory_format=torch.contiguous_format)


def _parts(item: Any) -> dict[str, Tensor]:
    if isinstance(item, Tensor):
        return {"values": item}
    pattern = item.pattern if isinstance(item, Matrix) else item
    values = {"values": item.values} if isinstance(item, Matrix) else {}
    return {"indptr": pattern.indptr, "indices": pattern.indices, **values}


def _read(path: Path) -> dict[str, Any] | None:
    try:
        with safe_open(path, framework="pt") as file:
            widths = json.loads(file.metadata()["widths"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return {name: _item(tensors, name, width) for name, width in widths.items()}
    except (OSError, SafetensorError, AttributeError, KeyError, TypeError, ValueError):
        return None


def _item(tensors: dict[str, Tensor], name: str, width: int | None) -> Any:
    if width is None:
        return tensors[f"{name}.values"]
    pattern = Pattern(tensors[f"{name}.indptr"], tensors[f"{name}.indices"], width)
    values = tensors.get(f"{name}.values")
    return pattern if values is None else Matrix(pattern, values)
