"""Graphs from and to files: a folder or pair of tables, `.npz`, `.graphml`, and our own format.

Our own format is one safetensors file: tensors for edges, features, labels and splits, JSON for
names. No format here is unpickled.
"""

import errno
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import PARTS, Graph, Split
from heterophily.core.sparse import Matrix, Pattern
from heterophily.core.tables import SUFFIXES, read_tables

FORMAT = "heterophily-graph-1"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)  # of a disk that takes no more
NPZ_KEYS = {
    "edges": ("edges", "edge_index"),
    "features": ("node_features", "features", "x"),
    "labels": ("node_labels", "labels", "y"),
}


def read_graph(path: Path | str, *, nodes: Path | str | None = None) -> Graph:
    """Read a graph by the kind of its file: a folder of tables, tables, npz, GraphML or saved."""
    source = Path(path)
    if not source.exists():
        raise HeterophilyError(f"no file or folder at {source}; check the path")
    if source.is_dir():
        return read_tables(_table_in(source, "edges"), _table_in(source, "nodes"))
    if source.suffix in SUFFIXES:
        return read_tables(source, None if nodes is None else Path(nodes))
    readers = {".npz": read_npz, ".graphml": read_graphml, ".safetensors": load_graph}
    if source.suffix not in readers:
        raise HeterophilyError(
            f"cannot read {source.name}: expected a folder with edges.csv and nodes.csv, or one of "
            f"{', '.join((*SUFFIXES, *readers))}"
        )
    return readers[source.suffix](source)


def _table_in(folder: Path, stem: str) -> Path:
    found = [folder / f"{stem}{suffix}" for suffix in SUFFIXES]
    for path in found:
        if path.exists():
            return path
    raise HeterophilyError(f"{folder} has no {' or '.join(path.name for path in found)}")


def read_npz(path: Path) -> Graph:
    """Read arrays `edges` (E, 2) or `edge_index` (2, E), `node_features`, `node_labels`, masks.

    The names are those of the heterophilous-graphs collection; `train_masks`, `val_masks` and
    `test_masks` of shape (S, N) or (N,) become splits.
    """
    try:
        # NumPy leaves a path open that is not a zip file, and returns the array of a npy file.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
            arrays = dict(content)
    except (OSError, EOFError, TypeError, ValueError, BadZipFile) as error:
        raise HeterophilyError(
            f"{path} is not an npz file of plain arrays ({error}); save it without pickled objects"
        ) from error
    found = {what: [k for k in keys if k in arrays] for what, keys in NPZ_KEYS.items()}
    if not found["edges"]:
        raise HeterophilyError(
            f"{path} needs an array 'edges' (E, 2) or 'edge_index' (2, E), has "
            f"{', '.join(sorted(arrays)) or 'nothing'}"
        )
    key = found["edges"][0]
    edges = arrays[key].T if key == "edge_index" else arrays[key]
    features, labels = (
        arrays[found[what][0]] if found[what] else None for what in ("features", "labels")
    )
    splits = npz_splits(arrays)
    return Graph.from_edges(edges, features, labels=labels, splits=splits, name=path.stem)


def npz_splits(arrays: dict[str, Any], *, origin: str = "given") -> dict[str, Split]:
    """Splits from mask arrays `train`, `train_mask` or `train_masks` of shape (S, N) or (N,)."""
    masks = {
        part: next(
            (arrays[k] for k in (part, f"{part}_mask", f"{part}_masks") if k in arrays), None
        )
        for part in PARTS
    }
    rows = {part: np.atleast_2d(mask) for part, mask in masks.items() if mask is not None}
    if "train" not in rows:
        return {}
    # One mask for all splits, as for a fixed test set, is repeated.
    count = len(rows["train"])
    wide = {part: np.broadcast_to(row, (count, row.shape[1])) for part, row in rows.items()}
    return {
        str(s): Split.from_nodes(
            *(wide[p][s].astype(bool) if p in wide else () for p in PARTS), origin=origin
        )
        for s in range(count)
    }


def read_graphml(path: Path) -> Graph:
    """Read GraphML: node attribute `label` is the class, numeric attributes are features."""
    from xml.etree.ElementTree import ParseError

    import networkx as nx

    try:
        graph = nx.read_graphml(path)
    except (ParseError, ValueError, nx.NetworkXError) as error:
        raise HeterophilyError(f"{path} is not readable GraphML: {error}") from error
    return Graph.from_networkx(graph).replace(name=path.stem)


def save_graph(graph: Graph, path: Path | str) -> Path:
    """Write the graph to one safetensors file, atomically."""
    facts = {
        "format": FORMAT,
        "name": graph.name,
        "n_classes": graph.n_classes,
        "n_features": graph.n_features,
        "class_names": graph.class_names,
        "origins": {name: split.origin for name, split in graph.splits.items()},
        "symmetric": graph.symmetric is graph.adjacency,
    }
    tensors = _tensors_of(graph)
    write_atomically(path, lambda p: save_file(tensors, p, {"graph": json.dumps(facts)}))
    return Path(path)


def _tensors_of(graph: Graph) -> dict[str, Tensor]:
    tensors = {
        "adjacency.indptr": graph.adjacency.indptr,
        "adjacency.indices": graph.adjacency.indices,
        "labels": graph.labels,
    }
    if isinstance(graph.features, Matrix):
        pattern = graph.features.pattern
        tensors |= {"features.indptr": pattern.indptr, "features.indices": pattern.indices}
        tensors["features.values"] = graph.features.values
    else:
        tensors["features"] = graph.features
    if graph.node_ids is not None:
        encoded = json.dumps(graph.node_ids).encode()
        tensors["node_ids"] = torch.from_numpy(np.frombuffer(encoded, dtype=np.uint8).copy())
    for name, split in graph.splits.items():
        # Splits may share a part; safetensors wants each tensor to own its memory.
        tensors |= {f"splits.{name}.{part}": nodes.clone() for part, nodes in split.parts.items()}
    return {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}


def load_graph(path: Path | str, *, mmap: bool = False) -> Graph:
    """Read a graph that `save_graph` wrote.

    The arrays are maps of the file either way. With `mmap` they are believed to be as they were written and
    not validated, so that a page is read when a batch asks for it, and a graph may be larger than memory.
    """
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {}).get("graph", "{}"))
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, json.JSONDecodeError) as error:
        raise HeterophilyError(f"{path} is not a saved graph: {error}") from error
    if facts.get("format") != FORMAT:
        raise HeterophilyError(
            f"{path} is a safetensors file, but not a graph of format {FORMAT}; "
            "write it with Graph.save"
        )
    try:
        return _graph_of(tensors, facts, mmap=mmap)
    except KeyError as error:
        raise HeterophilyError(f"{path} lacks {error}; write it again with Graph.save") from error


def _graph_of(tensors: dict[str, Tensor], facts: dict[str, Any], *, mmap: bool) -> Graph:
    ids = tensors.get("node_ids")
    fields = {
        "adjacency": _pattern(tensors, "adjacency", len(tensors["labels"])),
        "features": _features(tensors, facts["n_features"]),
        "labels": tensors["labels"],
        "n_classes": facts["n_classes"],
        "splits": {
            name: Split.from_nodes(
                *(tensors[f"splits.{name}.{part}"] for part in PARTS), origin=origin
            )
            for name, origin in facts["origins"].items()
        },
        "name": facts["name"],
        "node_ids": None if ids is None else tuple(json.loads(ids.numpy().tobytes())),
        "class_names": None if facts["class_names"] is None else tuple(facts["class_names"]),
    }
    if not mmap:
        return Graph(**fields)
    graph = Graph._from_validated(fields)
    if facts.get("symmetric"):
        graph.__dict__["symmetric"] = graph.adjacency
    return graph


def _pattern(tensors: dict[str, Tensor], key: str, n_columns: int) -> Pattern:
    return Pattern(tensors[f"{key}.indptr"], tensors[f"{key}.indices"], n_columns)


def _features(tensors: dict[str, Tensor], n_features: int) -> Tensor | Matrix:
    if "features" in tensors:
        return tensors["features"]
    return Matrix(_pattern(tensors, "features", n_features), tensors["features.values"])


def write_atomically(path: Path | str, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a file beside `path`, then move it there: readers see all or nothing."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        write(Path(name))
        with open(name, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, target)
    finally:
        Path(name).unlink(missing_ok=True)


def safe_name(name: str) -> str:
    """A name as part of a path; hidden files are those that were not written to the end."""
    plain = "".join(c if c.isalnum() or c in "-+._" else "_" for c in name)
    return f"_{plain}" if plain.startswith(".") or not plain else plain


def cache_folder() -> Path:
    """Return the user's cache folder for downloaded files and computed neighborhoods."""
    import pooch

    return Path(pooch.os_cache("heterophily"))
