"""One loader per public file format; each takes the paths of its files and returns a graph.

Node numbers are those of the raw files, so that published splits fit. Features stay sparse where
at most a tenth of them is nonzero.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.data.pickles import read_pickle, read_pickled_npz

SPARSE_BELOW = 0.1


def heterophilous_npz(paths: dict[str, Path]) -> Graph:
    """The npz of heterophilous-graphs: `edges` (E, 2), `node_features`, `node_labels`."""
    (path,) = paths.values()
    arrays = _arrays(path)
    edges, features, labels = (arrays[k] for k in ("edges", "node_features", "node_labels"))
    return Graph.from_edges(edges, sparse_if_worth(features), labels=labels)


def geom_gcn_text(paths: dict[str, Path]) -> Graph:
    """The text files of Geom-GCN's film graph: tab-separated pairs; id, word numbers, label."""
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
    """The MATLAB files of CoLA: sparse `Network` and `Attributes`, `Label` counted from 1."""
    (path,) = paths.values()
    content = scipy.io.loadmat(path)
    labels = content["Label"].reshape(-1).astype(np.int64) - 1
    return Graph.from_scipy(content["Network"], content["Attributes"], labels=labels)


def planetoid(paths: dict[str, Path]) -> Graph:
    """Planetoid's pickles: `allx`/`tx` are features, `ally`/`ty` one-hot labels, `graph` lists.

    Row i of `tx` belongs to node `test.index[i]`. Test nodes that the index omits (Citeseer's
    isolated ones) have no features and an unknown label.
    """
    part = {path.name.split(".", 2)[2]: path for path in paths.values()}
    allx, tx, ally, ty, graph = (
        read_pickle(part[p]) for p in ("allx", "tx", "ally", "ty", "graph")
    )
    order = np.loadtxt(part["test.index"], dtype=np.int64)
    n_nodes = max(int(order.max()) + 1, len(graph))
    known, test = allx.tocoo(), tx.tocoo()
    rows = np.concatenate([known.row, order[test.row]])
    columns, values = (
        np.concatenate([getattr(known, part), getattr(test, part)]) for part in ("col", "data")
    )
    features = sp.coo_array((values, (rows, columns)), shape=(n_nodes, allx.shape[1]))
    one_hot = np.zeros((n_nodes, ally.shape[1]))
    one_hot[: len(ally)] = ally
    one_hot[order] = ty
    labels = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)
    edges = [(node, other) for node, others in graph.items() for other in others]
    return Graph.from_edges(edges, features, labels=labels)


def gnn_benchmark_npz(paths: dict[str, Path]) -> Graph:
    """The npz of gnn-benchmark: `adj_*` and `attr_*` are the parts of compressed matrices."""
    (path,) = paths.values()
    arrays = _arrays(path)
    adjacency, attributes = (_compressed(arrays, kind) for kind in ("adj", "attr"))
    return Graph.from_scipy(adjacency, attributes, labels=arrays["labels"])


def _arrays(path: Path) -> dict[str, Any]:
    # NumPy does not close a broken archive that it opened itself.
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        return dict(file)


def _compressed(arrays: dict[str, Any], kind: str) -> sp.csr_array:
    data, indices, indptr, shape = (
        arrays[f"{kind}_{part}"] for part in ("data", "indices", "indptr", "shape")
    )
    return sp.csr_array((data, indices, indptr), shape=tuple(shape))


def pickled_npz(paths: dict[str, Path]) -> Graph:
    """The re-encoding of gnn-benchmark: pickled matrices `adj_matrix`, `node_attr` in an npz."""
    (path,) = paths.values()
    content = read_pickled_npz(path)
    names = (content.get("metadata") or {}).get("class_names")
    graph = Graph.from_scipy(
        content["adj_matrix"], content["node_attr"], labels=content["node_label"]
    )
    return graph if names is None else graph.replace(class_names=tuple(map(str, names)))


def wikics_json(paths: dict[str, Path]) -> Graph:
    """Wiki-CS's JSON: `features`, `labels` and, per node, the list `links` of its neighbors."""
    (path,) = paths.values()
    content = json.loads(path.read_text())
    edges = [(node, other) for node, others in enumerate(content["links"]) for other in others]
    features = np.array(content["features"], dtype=np.float32)
    return Graph.from_edges(edges, sparse_if_worth(features), labels=content["labels"])


def sparse_if_worth(features: Any) -> Any:
    """Compress a dense matrix of which at most a tenth is nonzero."""
    dense = np.count_nonzero(features) > SPARSE_BELOW * features.size
    return features if dense else sp.csr_array(features)


FORMATS: dict[str, Callable[[dict[str, Path]], Graph]] = {
    loader.__name__: loader
    for loader in (
        heterophilous_npz,
        geom_gcn_text,
        matlab,
        planetoid,
        gnn_benchmark_npz,
        pickled_npz,
        wikics_json,
    )
}


def read_format(name: str, paths: dict[str, Path]) -> Graph:
    """Read files of a named format; a file that does not follow it is one clear error."""
    try:
        return FORMATS[name](paths)
    except HeterophilyError:
        raise
    except Exception as error:  # NumPy, SciPy, zip and JSON each fail in their own ways
        files = ", ".join(str(path) for path in paths.values())
        raise HeterophilyError(f"{files} is not in the format {name}: {error!r}") from error
