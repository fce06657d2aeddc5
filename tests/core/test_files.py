"""Graphs in files: safetensors, npz, and GraphML, and clear errors for everything else."""

import errno
import json

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from safetensors.torch import load_file, save_file

from heterophily.core import files
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split

EDGES = np.array([(0, 1), (1, 0), (2, 2), (3, 0)])
X = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0], [4, 0, 0]], dtype=np.float32)
Y = np.array([1, 0, -1, 1])


def build(features=X, **fields):
    return Graph.from_edges(EDGES, features, labels=Y, **fields)


def parts(split):
    return [part.tolist() for part in split.parts.values()]


def refused(words):
    return pytest.raises(HeterophilyError, match=words)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("read", [Graph.load, Graph.from_files])
def test_a_saved_graph_comes_back_whole(tmp_path, kind, read):
    split = Split.from_nodes([0, 1], [3], [2], origin="drawn")
    graph = build(
        kind(X),
        n_classes=3,
        splits={"a": split, "b.train": split},  # two splits share a part
        name="näme",
        node_ids=["007", "ü", "x", "y"],
        class_names=["cat", "dog", "eel"],
    )
    again = read(graph.save(tmp_path / "new" / "graph.safetensors"))
    assert again.checksum == graph.checksum
    assert again.is_sparse == graph.is_sparse
    assert again.adjacency.indices.dtype == torch.int32
    for field in ("name", "n_classes", "node_ids", "class_names"):
        assert getattr(again, field) == getattr(graph, field)
    assert {name: parts(s) for name, s in again.splits.items()} == {name: parts(s) for name, s in graph.splits.items()}
    assert again.split("a").origin == "drawn"


def test_a_graph_without_features_names_or_splits_comes_back_so(tmp_path):
    again = Graph.load(Graph.from_edges(EDGES).save(tmp_path / "g.safetensors"))
    assert (again.n_features, again.node_ids, again.class_names) == (0, None, None)
    assert dict(again.splits) == {}


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".graphml"])
def test_a_graph_is_not_saved_under_the_extension_of_another_format(tmp_path, suffix):
    path = tmp_path / f"graph{suffix}"
    with pytest.raises(HeterophilyError, match=rf"saved as \.safetensors, got \{suffix}; change the extension"):
        Graph.from_edges([(0, 1)]).save(path)
    assert not path.exists()


def test_saving_replaces_a_file_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "g.safetensors"
    build(name="old").save(path)
    assert build(name="new").save(str(path)) == path
    assert Graph.load(path).name == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failing_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    def full_disk(tensors, path, metadata):
        path.write_bytes(b"half of a graph")
        raise OSError(errno.ENOSPC, "no space left on device")

    path = build(name="old").save(tmp_path / "g.safetensors")
    monkeypatch.setattr(files, "save_file", full_disk)
    with refused(r"cannot write .*no space left.*; free space on the disk"):
        build(name="new").save(path)
    assert Graph.load(path).name == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04N."], ids=["empty", "text", "pickle"])
def test_a_file_that_is_no_safetensors_is_refused(tmp_path, content):
    path = tmp_path / "g.safetensors"
    path.write_bytes(content)
    with refused("g.safetensors is not a saved graph"):
        Graph.load(path)


@pytest.mark.parametrize("name", ["absent.safetensors", "."])
def test_a_path_without_a_file_is_refused(tmp_path, name):
    with refused("is not a saved graph"):
        Graph.load(tmp_path / name)


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        (None, "must be a graph of format heterophily-graph-1, got another .*; write it with Graph.save"),
        ({"graph": '{"format": "other"}'}, "must be a graph of format heterophily-graph-1"),
        ({"graph": "{"}, "is not a saved graph"),
    ],
)
def test_safetensors_that_are_no_graph_are_refused(tmp_path, metadata, words):
    save_file({"weight": torch.ones(2)}, tmp_path / "model.safetensors", metadata)
    with refused(words):
        Graph.load(tmp_path / "model.safetensors")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("adjacency.indices", torch.tensor([1, 0, 2, 4]), "adjacency is not a valid"),
        ("adjacency.indices", torch.tensor([1, 0, 2, -1]), "adjacency is not a valid"),
        ("adjacency.indptr", torch.tensor([0, 1, 2, 3, 9]), "adjacency is not a valid"),
        ("features.indices", torch.tensor([0, 2, 1, 3]), "features is not a valid"),
        ("features.values", torch.ones(2), "one value per stored entry"),
        ("features.values", torch.tensor([1, torch.nan, 1, 1]), "must be finite, but node 0"),
        ("labels", torch.tensor([0, 1, 2, 3]), "below n_classes = 2, got 3"),
        ("labels", torch.tensor([0, 1]), "must have one row per node"),
        ("splits.s.test", torch.tensor([4]), "test has node 4"),
        ("labels", None, "has no tensor 'labels'; write it again"),
        ("splits.s.val", None, "has no tensor 'splits.s.val'"),
    ],
)
def test_a_tampered_file_is_refused(tmp_path, key, value, words):
    path = build(sp.csr_array(X), splits={"s": ([0], [1], [2])}).save(tmp_path / "g.safetensors")
    with files.safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    tensors = load_file(path) | {key: value}
    save_file({k: t for k, t in tensors.items() if t is not None}, path, metadata)
    with refused(words):
        Graph.load(path)


def test_a_saved_graph_is_readable_without_this_library(tmp_path):
    path = build().save(tmp_path / "g.safetensors")
    size = int.from_bytes(path.read_bytes()[:8], "little")
    facts = json.loads(json.loads(path.read_bytes()[8 : 8 + size])["__metadata__"]["graph"])
    assert facts["format"] == "heterophily-graph-1"
    assert np.array_equal(load_file(path)["features"], X)


def test_npz_in_the_layout_of_the_heterophilous_graphs(tmp_path):
    path = tmp_path / "minesweeper.npz"
    train = np.array([[True, False, False, False], [False, True, False, False]])
    masks = {"train_masks": train, "val_masks": train[::-1], "test_masks": [[False, False, True, True]]}
    np.savez(path, node_features=X, node_labels=Y, edges=EDGES, **masks)
    graph = Graph.from_files(path)
    assert graph.checksum == build().checksum
    assert graph.name == "minesweeper"
    assert {name: parts(s) for name, s in graph.splits.items()} == {"0": [[0], [1], [2, 3]], "1": [[1], [0], [2, 3]]}


def test_npz_with_an_edge_index_and_flat_masks(tmp_path):
    path = tmp_path / "graph.npz"
    np.savez_compressed(path, edge_index=EDGES.T, x=X, y=Y, train_mask=np.array([1, 1, 0, 0]))
    graph = Graph.from_files(str(path))
    assert graph.checksum == build().checksum
    assert parts(graph.split("0")) == [[0, 1], [], []]


def test_npz_may_hold_edges_alone(tmp_path):
    np.savez(tmp_path / "g.npz", edges=EDGES)
    graph = Graph.from_files(tmp_path / "g.npz")
    assert (graph.n_nodes, graph.n_edges, graph.n_features, len(graph.splits)) == (4, 4, 0, 0)


def test_npz_needs_edges(tmp_path):
    np.savez(tmp_path / "g.npz", x=X)
    with refused(r"must have an array 'edges' \(E, 2\) or 'edge_index' \(2, E\), got x"):
        Graph.from_files(tmp_path / "g.npz")


def test_pickled_objects_in_npz_are_refused(tmp_path):
    np.savez(tmp_path / "g.npz", edges=np.array([{"a": 1}], dtype=object))
    with refused("not an npz file of plain arrays .* save it without pickled objects"):
        Graph.from_files(tmp_path / "g.npz")


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "npy"])
def test_broken_npz_is_refused(tmp_path, damage):
    np.savez(tmp_path / "whole.npz", edges=EDGES)
    np.save(tmp_path / "array.npy", EDGES)
    whole, array = ((tmp_path / name).read_bytes() for name in ("whole.npz", "array.npy"))
    contents = {"empty": b"", "text": b"hello", "cut": whole[:99], "npy": array}
    path = tmp_path / "g.npz"
    path.write_bytes(contents[damage])
    with refused("g.npz is not an npz file of plain arrays"):
        Graph.from_files(path)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_graphml(tmp_path, kind):
    source = kind([("b", "a")])
    source.nodes["b"].update(label="dog", height=1.5, age=3, title="text")
    source.nodes["a"].update(height=2.5, age=4)
    nx.write_graphml(source, tmp_path / "pets.graphml")
    graph = Graph.from_files(tmp_path / "pets.graphml")
    assert graph.node_ids == ("b", "a")
    assert graph.features.tolist() == [[3, 1.5], [4, 2.5]]
    assert (graph.labels.tolist(), graph.class_names) == ([0, -1], ("dog",))
    assert graph.to_scipy().toarray().tolist() == [[0, 1], [int(kind is nx.Graph), 0]]
    assert graph.name == "pets"


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "other", "value"])
def test_broken_graphml_is_refused(tmp_path, damage):
    source = nx.Graph([("a", "b")])
    nx.set_node_attributes(source, 7, "age")
    whole = "".join(nx.generate_graphml(source))
    contents = {"empty": "", "text": "hello", "cut": whole[:-9], "other": "<html></html>"}
    path = tmp_path / "g.graphml"
    path.write_text(contents.get(damage, whole.replace(">7<", ">seven<")))
    with refused("g.graphml is not a valid GraphML"):
        Graph.from_files(path)


def test_a_missing_path_is_refused(tmp_path):
    with refused("no file or folder at .*absent.csv; check the path"):
        Graph.from_files(tmp_path / "absent.csv")


def test_an_unknown_kind_of_file_is_refused(tmp_path):
    (tmp_path / "graph.docx").touch()
    with refused("cannot read graph.docx: expected a folder with edges.csv and nodes.csv, or one of"):
        Graph.from_files(tmp_path / "graph.docx")


@pytest.mark.parametrize("missing", ["edges", "nodes"])
def test_a_folder_needs_both_tables(tmp_path, missing):
    for name in {"edges", "nodes"} - {missing}:
        (tmp_path / f"{name}.csv").touch()
    with refused(f"has no {missing}.csv or {missing}.tsv or {missing}.parquet"):
        Graph.from_files(tmp_path)
