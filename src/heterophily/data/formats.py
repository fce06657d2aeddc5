"""Readers of public file formats: each takes the paths of its files by name and returns a graph.

Nodes keep the numbers of the raw files, because published splits refer to them. Features are stored
as a sparse matrix if at most a tenth of them is nonzero.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.npz import load_npz
from heterophily.core.split import splits_from_masks
from heterophily.core.types import Array
from heterophily.data.pickles import read_pickle, read_pickled_npz

MAX_SPARSE_DENSITY = 0.1  # fraction of nonzero features up to which a matrix is stored as sparse


def heterophilous_npz(paths: dict[str, Path]) -> Graph:
    """Read the npz file of heterophilous-graphs: `edges` (E, 2), `node_features`, `node_labels`, and masks."""
    (path,) = paths.values()
    arrays = load_npz(path)
    edges, features, labels = (arrays[k] for k in ("edges", "node_features", "node_labels"))
    splits = splits_from_masks(arrays, origin="official")
    return Graph.from_edges(edges, sparse_if_worth(features), labels=labels, splits=splits)


def geom_gcn_text(paths: dict[str, Path]) -> Graph:
    """Read the text files of Geom-GCN's film graph: tab-separated edges; id, word numbers, label."""
    edges = np.loadtxt(paths["out1_graph_edges.txt"], dtype=np.int64, skiprows=1, ndmin=2)
    lines = paths["out1_node_feature_label.txt"].read_text().splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    ids = np.array([int(row[0]) for row in rows])
    words = [[int(word) for word in row[1].split(",")] for row in rows]
    labels = np.empty(len(rows), dtype=np.int64)
    labels[ids] = [int(row[2]) for row in rows]
    node = np.repeat(ids, [len(w) for w in words])
    word = np.concatenate([np.array(w) for w in words])
    present = sp.coo_array((np.ones(len(word)), (node, word)), shape=(len(rows), word.max() + 1))
    binary = (present.tocsr() > 0).astype(np.float32)
    return Graph.from_edges(edges, binary, labels=labels)


def matlab(paths: dict[str, Path]) -> Graph:
    """Read a MATLAB file of CoLA: sparse `Network` and `Attributes`, `Label` counted from 1."""
    (path,) = paths.values()
    content = scipy.io.loadmat(path)
    labels = content["Label"].reshape(-1).astype(np.int64) - 1
    return Graph.from_scipy(content["Network"], content["Attributes"], labels=labels)


def planetoid(paths: dict[str, Path]) -> Graph:
    """Read Planetoid's pickles: features `allx`/`tx`, one-hot labels `ally`/`ty`, lists `graph`.

    Row i of `tx` belongs to node `test.index[i]`. Test nodes that the index omits (isolated nodes
    of Citeseer) have no features and no label.
    """
    part = {path.name.split(".", 2)[2]: path for path in paths.values()}
    allx, tx, ally, ty, graph = (read_pickle(part[p]) for p in ("allx", "tx", "ally", "ty", "graph"))
    order = np.loadtxt(part["test.index"], dtype=np.int64)
    n_nodes = max(int(order.max()) + 1, len(graph))
    known, test = allx.tocoo(), tx.tocoo()
    rows = np.concatenate([known.row, order[test.row]])
    columns, values = (np.concatenate([getattr(known, part), getattr(test, part)]) for part in ("col", "data"))
    features = sp.coo_array((values, (rows, columns)), shape=(n_nodes, allx.shape[1]))
    one_hot = np.zeros((n_nodes, ally.shape[1]))
    one_hot[: len(ally)], one_hot[order] = ally, ty
    labels = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)
    edges = [(node, other) for node, others in graph.items() for other in others]
    return Graph.from_edges(edges, features, labels=labels)


def gnn_benchmark_npz(paths: dict[str, Path]) -> Graph:
    """Read the npz file of gnn-benchmark: `adj_*` and `attr_*` are parts of CSR matrices."""
    (path,) = paths.values()
    arrays = load_npz(path)
    adjacency, attributes = (_compressed(arrays, kind) for kind in ("adj", "attr"))
    return Graph.from_scipy(adjacency, attributes, labels=arrays["labels"])


def _compressed(arrays: dict[str, Array], kind: str) -> sp.csr_array:
    data, indices, indptr, shape = (arrays[f"{kind}_{part}"] for part in ("data", "indices", "indptr", "shape"))
    return sp.csr_array((data, indices, indptr), shape=tuple(shape))


def pickled_npz(paths: dict[str, Path]) -> Graph:
    """Read an npz file of GraphData: pickled matrices `adj_matrix` and `node_attr`, `node_label`."""
    (path,) = paths.values()
    content = read_pickled_npz(path)
    names = (content.get("metadata") or {}).get("class_names")
    graph = Graph.from_scipy(content["adj_matrix"], content["node_attr"], labels=content["node_label"])
    return graph if names is None else graph.replace(class_names=tuple(map(str, names)))


def wikics_json(paths: dict[str, Path]) -> Graph:
    """Read the JSON file of Wiki-CS: `features`, `labels`, and `links`, the neighbors of each node."""
    (path,) = paths.values()
    content = json.loads(path.read_text())
    edges = [(node, other) for node, others in enumerate(content["links"]) for other in others]
    features = np.array(content["features"], dtype=np.float32)
    return Graph.from_edges(edges, sparse_if_worth(features), labels=content["labels"])


def sparse_if_worth(features: Array) -> Array | sp.csr_array:
    """Convert a matrix with few nonzero entries to a sparse one."""
    dense = np.count_nonzero(features) > MAX_SPARSE_DENSITY * features.size
    return features if dense else sp.csr_array(features)


FORMATS: dict[str, Callable[[dict[str, Path]], Graph]] = {
    loader.__name__: loader
    for loader in (heterophilous_npz, geom_gcn_text, matlab, planetoid, gnn_benchmark_npz, pickled_npz, wikics_json)
}


def read_format(name: str, paths: dict[str, Path]) -> Graph:
    """Read files of a named format; raise HeterophilyError if they do not follow it."""
    try:
        return FORMATS[name](paths)
    except HeterophilyError:
        raise
    except Exception as error:  # NumPy, SciPy, zipfile, and json raise many different errors
        files = ", ".join(str(path) for path in paths.values())
        raise HeterophilyError(f"cannot read {files} as {name}: {error!r}") from error
