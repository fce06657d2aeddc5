"""Graphs from and to files: a folder or pair of tables, `.npz`, `.graphml`, and `.safetensors`.

The safetensors file has tensors for edges, features, labels, and splits, and JSON for names. No format is
unpickled.
"""

import errno
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import cast

import numpy as np
import torch
from pydantic.types import JsonValue
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from heterophily.core.arguments import PATH, check_argument
from heterophily.core.encoder import FeatureEncoder
from heterophily.core.errors import HeterophilyError
from heterophily.core.extras import require
from heterophily.core.frames import Roles
from heterophily.core.graph import PARTS, Graph, Split
from heterophily.core.leftovers import owned_name, remove_leftovers
from heterophily.core.npz import NPZ_ERRORS, load_npz
from heterophily.core.saved_graph import FORMAT, Facts, check_sorted, check_tensors, parse_facts, parse_ids
from heterophily.core.schema import parse_json
from heterophily.core.sparse import Matrix, Pattern
from heterophily.core.split import splits_from_masks
from heterophily.core.tables import SUFFIXES, read_tables
from heterophily.core.types import Array, JsonObject, PathLike
from heterophily.core.validation import ARRAYS

MAX_NAME = 120  # bytes of a name in a path; file systems allow 255 with all additions
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
NPZ_KEYS = {
    "edges": ("edges", "edge_index"),
    "features": ("node_features", "features", "x"),
    "labels": ("node_labels", "labels", "y"),
    "weights": ("edge_weights", "edge_weight", "weights"),
}


def read_graph(
    path: PathLike, *, nodes: PathLike | None = None, roles: Roles | None = None, encoder: FeatureEncoder | None = None
) -> Graph:
    """Read a graph from a folder of tables, from tables, or from an npz, GraphML, or safetensors file."""
    check_argument("path", path, PATH)
    source = Path(path)
    if not source.exists():
        raise HeterophilyError(f"there is no file or folder at {source}; check the path")
    if source.is_dir():
        if nodes is not None:
            raise HeterophilyError(f"{source} is a folder with its own table of nodes; pass its edge table instead")
        tables = _table_in(source, "edges"), _table_in(source, "nodes")
        return read_tables(*tables, roles=roles, encoder=encoder)
    if source.suffix in SUFFIXES and source.is_file():
        return read_tables(source, None if nodes is None else Path(nodes), roles=roles, encoder=encoder)
    if not source.is_file():
        raise HeterophilyError(f"{source} is neither a file nor a folder; save the graph to a file")
    readers = {".npz": read_npz, ".graphml": read_graphml, ".safetensors": load_graph}
    if source.suffix not in readers:
        raise HeterophilyError(
            f"cannot read {source.name}: expected a folder with edges.csv and nodes.csv, or one of "
            f"{', '.join((*SUFFIXES, *readers))}"
        )
    if nodes is not None or roles is not None:
        given = "a table of nodes" if nodes is not None else "names of columns"
        raise HeterophilyError(f"{source} is not a table, so it does not accept {given}; omit them")
    return readers[source.suffix](source)


def _table_in(folder: Path, stem: str) -> Path:
    paths = [folder / f"{stem}{suffix}" for suffix in SUFFIXES]
    for path in paths:
        if path.exists():
            return path
    raise HeterophilyError(f"{folder} has no {' or '.join(path.name for path in paths)}; add one")


def read_npz(path: Path) -> Graph:
    """Read arrays `edges` (E, 2) or `edge_index` (2, E), `edge_weights`, `node_features`, `node_labels`, and masks.

    The names are those of the heterophilous-graphs collection. `train_masks`, `val_masks`, and `test_masks`
    of shape (S, N) or (N,) become splits.
    """
    try:
        arrays = load_npz(path)
    except HeterophilyError:
        raise
    except NPZ_ERRORS as error:
        raise HeterophilyError(
            f"{path} is not an npz file of plain arrays ({error}); save it without pickled objects"
        ) from error
    edges, features, labels, weights = (_first(arrays, keys) for keys in NPZ_KEYS.values())
    if edges is None:
        raise HeterophilyError(
            f"{path} must have an array 'edges' (E, 2) or 'edge_index' (2, E), got "
            f"{', '.join(sorted(arrays)) or 'nothing'}"
        )
    edges = edges if "edges" in arrays else edges.T
    splits = splits_from_masks(arrays)
    return Graph.from_edges(edges, features, weights=weights, labels=labels, splits=splits, name=path.stem)


def _first(arrays: Mapping[str, Array], keys: Sequence[str]) -> Array | None:
    return next((arrays[key] for key in keys if key in arrays), None)


def read_graphml(path: Path) -> Graph:
    """Read a GraphML file. Attribute `label` is the class, and numeric attributes are features."""
    require("reading GraphML", "networkx")
    import networkx as nx

    try:
        graph = nx.read_graphml(path)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # NetworkX raises many kinds of errors for unknown types, keys, and encodings
        reason = f"unknown {error}" if isinstance(error, KeyError) else str(error)
        raise HeterophilyError(f"{path} is not a valid GraphML file: {reason}") from error
    return Graph.from_networkx(graph).replace(name=path.stem)


def save_graph(graph: Graph, path: PathLike) -> Path:
    """Write the graph atomically to a safetensors file."""
    check_argument("path", path, PATH)
    if (suffix := Path(path).suffix) in (*SUFFIXES, ".npz", ".graphml"):
        raise HeterophilyError(f"a graph is saved as .safetensors, got {suffix}; change the extension")
    facts: JsonObject = {
        "format": FORMAT,
        "name": graph.name,
        "n_classes": graph.n_classes,
        "n_features": graph.n_features,
        "class_names": graph.class_names,
        "class_values": graph.class_values,
        "feature_names": graph.feature_names,
        "encoder": None if graph.encoder is None else graph.encoder.to_dict(),
        "origins": {name: split.origin for name, split in graph.splits.items()},
        "symmetric": graph.symmetric is graph.adjacency,
    }
    tensors = _tensors_of(graph)
    with unwritten_as_error(path):
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
    if graph.weights is not None:
        tensors["weights"] = graph.weights
    if graph.node_ids is not None:
        encoded = json.dumps(graph.node_ids).encode()
        tensors["node_ids"] = torch.from_numpy(np.frombuffer(encoded, dtype=np.uint8).copy())
    for name, split in graph.splits.items():
        # Splits may share a part, but safetensors rejects tensors that share memory.
        tensors |= {f"splits.{name}.{part}": nodes.clone() for part, nodes in split.parts.items()}
    return {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}


def load_graph(path: PathLike, *, mmap: bool = False) -> Graph:
    """Read a graph that `save_graph` wrote.

    The file is mapped into memory in either case. With `mmap`, features are not validated, so a page
    of them is read only when a batch needs it, and the graph may be larger than memory.
    """
    check_argument("path", path, PATH)
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {}).get("graph", "{}")
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise HeterophilyError(f"{path} is not a saved graph: {error}") from error
    try:
        if parse_json(dict[str, JsonValue], text).get("format") != FORMAT:
            raise HeterophilyError(
                f"it must be a graph of format {FORMAT}, got another safetensors file; write it with Graph.save"
            )
        facts = parse_facts(text)
        check_tensors(tensors, facts)
        return _graph_of(tensors, facts, mmap=mmap)
    except KeyError as error:
        raise HeterophilyError(f"{path} has no tensor {error}; write it again with Graph.save") from error
    except HeterophilyError as error:
        raise HeterophilyError(f"{path} is not a saved graph: {error}") from error


def _graph_of(tensors: dict[str, Tensor], facts: Facts, *, mmap: bool) -> Graph:
    ids, class_names = tensors.get("node_ids"), facts["class_names"]
    graph = Graph._from_validated(
        {
            "adjacency": _pattern(tensors, "adjacency", len(tensors["labels"])),
            "features": _features(tensors, facts["n_features"]),
            "labels": tensors["labels"],
            "weights": tensors.get("weights"),
            "n_classes": facts["n_classes"],
            "splits": {
                name: Split.from_nodes(*(tensors[f"splits.{name}.{part}"] for part in PARTS), origin=origin)
                for name, origin in facts["origins"].items()
            },
            "name": facts["name"],
            "node_ids": None if ids is None else parse_ids(ids),
            "class_names": None if class_names is None else tuple(class_names),
            **_column_facts(facts),
        },
        check=("adjacency", "weights") if mmap else ARRAYS,
    )
    check_sorted("adjacency", graph.adjacency)
    if not mmap and isinstance(graph.features, Matrix):
        check_sorted("features", graph.features.pattern)
    if mmap and facts.get("symmetric"):
        graph.__dict__["symmetric"] = graph.adjacency
    return graph


def _column_facts(facts: Facts) -> dict[str, object]:
    """Return the facts about tables. Graphs that were saved by earlier versions have none."""
    values, names, encoder = facts.get("class_values"), facts.get("feature_names"), facts.get("encoder")
    return {
        "class_values": None if values is None else tuple(values),
        "feature_names": None if names is None else tuple(names),
        "encoder": None if encoder is None else FeatureEncoder.from_dict(cast("JsonObject", encoder)),
    }


def _pattern(tensors: dict[str, Tensor], key: str, n_columns: int) -> Pattern:
    return Pattern(tensors[f"{key}.indptr"], tensors[f"{key}.indices"], n_columns)


def _features(tensors: dict[str, Tensor], n_features: int) -> Tensor | Matrix:
    if "features" in tensors:
        return tensors["features"]
    return Matrix(_pattern(tensors, "features", n_features), tensors["features.values"])


def write_atomically(path: PathLike, write: Callable[[Path], object]) -> None:
    """Call `write` with a temporary path next to `path`, then rename it: no reader sees a partial file."""
    check_argument("path", path, PATH)
    write_together({Path(path): write})


def write_together(files: Mapping[Path, Callable[[Path], object]]) -> None:
    """Write several files. After an interruption, all are old, all are new, or the last one is missing."""
    written: dict[Path, Path] = {}
    try:
        for target, write in files.items():
            written[target] = _new_temporary(target)
            _write(written[target], write)
        if len(files) > 1:
            list(files)[-1].unlink(missing_ok=True)
        for target, temporary in written.items():
            os.replace(temporary, target)
    finally:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)


def _new_temporary(target: Path) -> Path:
    if target.is_dir():
        raise HeterophilyError(f"expected the path of a file, got the folder {target}; add a file name")
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(target.parent, f".{target.name}.")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=owned_name(f".{target.name}."))
    os.close(handle)
    return Path(name)


def _write(path: Path, write: Callable[[Path], object]) -> None:
    try:
        write(path)
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
    with open(path, "rb") as file:
        os.fsync(file.fileno())
    os.chmod(path, 0o644)


@contextmanager
def unwritten_as_error(path: PathLike) -> Iterator[None]:
    """Report a file that cannot be written, for example because the disk is full, in one sentence."""
    try:
        yield
    except OSError as error:
        raise HeterophilyError(f"cannot write {path} {explain_unwritten(error)}") from error


def explain_unwritten(error: OSError) -> str:
    """Return the reason why a file could not be written, and what to do next."""
    if error.errno in FULL:
        return f"({error}); free space on the disk"
    return f"({error}); choose {'a folder in which you can write' if error.errno in READ_ONLY else 'another path'}"


def safe_name(name: str) -> str:
    """Return a name as part of a path. It is never hidden, because hidden files are incomplete ones."""
    plain = "".join(c if c.isalnum() or c in "-+._" else "_" for c in name)
    short = plain if len(plain.encode()) <= MAX_NAME else f"{plain[:20]}-{sha256(name.encode()).hexdigest()[:20]}"
    return f"_{short}" if short.startswith(".") or not short else short


def cache_folder() -> Path:
    """Return the user's cache folder for downloaded files and computed neighborhoods."""
    import pooch

    return Path(pooch.os_cache("heterophily"))
