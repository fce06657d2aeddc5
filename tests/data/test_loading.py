import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import PARTS
from heterophily.core.split import splits_from_masks
from heterophily.data.catalog import CATALOG, lookup
from heterophily.data.loading import check_sizes, load, open_graph
from heterophily.data.splits import draw_split
from heterophily.data.store import VARIABLE

ABSENT = ("roman-empire", "amazon-ratings", "wikics")  # no machine of ours has had these files


def origins(graph):
    return {split.origin for split in graph.splits.values()}


def save_official(folder, n_nodes=40):
    parts = np.tile(np.arange(n_nodes) % 3, (10, 1))
    masks = {name: parts == i for i, name in enumerate(PARTS)}
    np.savez(folder / "data" / "tiny" / "splits.npz", **masks)


def test_a_dataset_is_loaded_by_name(tiny):
    graph = load("tiny")
    assert graph.name == "tiny"
    assert graph.labels.tolist() == [0, 1, 2, 3] * 10
    assert graph.adjacency.indices.tolist() == [(i + 1) % 40 for i in range(40)]


def test_without_official_splits_those_of_seed_zero_are_drawn(tiny):
    graph = load("tiny")
    assert origins(graph) == {f"random, seed {i}" for i in range(10)}
    assert graph.split("2").train.tolist() == draw_split(graph, seed=2).train.tolist()


def test_official_splits_come_first_and_a_seed_overrules_them(tiny, tmp_path):
    save_official(tmp_path)
    assert origins(load("tiny")) == {"official"}
    assert load("tiny").split("0").train.tolist() == list(range(0, 40, 3))
    assert origins(load("tiny", seed=7)) == {f"random, seed {7 + i}" for i in range(10)}


def test_official_splits_of_another_graph_are_refused(tiny, tmp_path):
    save_official(tmp_path, n_nodes=39)
    with pytest.raises(HeterophilyError, match=r"must have boolean masks of shape \(10, 40\)"):
        load("tiny")


def test_official_splits_of_the_raw_file_are_those_of_datasets_outside_of_the_paper(tiny, monkeypatch):
    masks = np.tile(np.arange(40) % 3, (2, 1))
    splits = splits_from_masks({part: masks == i for i, part in enumerate(PARTS)}, origin="official")
    raw = load("tiny").replace(splits=splits)
    monkeypatch.setattr("heterophily.data.loading.read_format", lambda *_: raw)
    monkeypatch.setitem(CATALOG, "tiny", replace(tiny, paper_counts=None))
    assert origins(load("tiny")) == {"official"}
    monkeypatch.setitem(CATALOG, "tiny", replace(tiny, paper_counts="symmetric"))
    assert origins(load("tiny")) == {f"random, seed {i}" for i in range(10)}


@pytest.mark.parametrize(
    ("field", "what"),
    [
        ("n_nodes", "nodes"),
        ("n_stored", "stored edges"),
        ("n_symmetric", "symmetric edges"),
        ("n_features", "features"),
        ("n_classes", "classes"),
    ],
)
def test_a_size_that_differs_from_the_row_is_named(tiny, field, what):
    graph, came = load("tiny"), getattr(tiny, field)
    check_sizes(graph, tiny)
    with pytest.raises(HeterophilyError, match=f"must have 3 {what}, but the file has {came}; download"):
        check_sizes(graph, replace(tiny, **{field: 3}))


def write_absent(row, folder, n_pairs):
    """Write `n_pairs` pairs of nodes, each once, features of ones and labels in turn."""
    pair = np.arange(n_pairs)
    node, distance = pair % row.n_nodes, pair // row.n_nodes + 1
    edges = np.stack([node, (node + distance) % row.n_nodes], axis=1)
    labels = np.arange(row.n_nodes) % row.n_classes
    path = folder / row.files[0].name
    if row.format == "heterophilous_npz":
        features = np.ones((row.n_nodes, row.n_features), dtype=np.float32)
        np.savez(path, edges=edges, node_features=features, node_labels=labels)
    else:
        bounds = np.bincount(node, minlength=row.n_nodes).cumsum()[:-1]
        links = np.split(edges[node.argsort(kind="stable"), 1], bounds)
        features = [[1] * row.n_features] * row.n_nodes
        content = {"features": features, "labels": labels.tolist(), "links": [others.tolist() for others in links]}
        path.write_text(json.dumps(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Put a made-up file in place of an absent one, with as many pairs and its digest."""

    def put(name, n_pairs):
        row = lookup(name)
        (tmp_path / name).mkdir()
        digest = write_absent(row, tmp_path / name, n_pairs)
        file = replace(row.files[0], sha256=digest, git_blob="")
        monkeypatch.setenv(VARIABLE, str(tmp_path))
        monkeypatch.setitem(CATALOG, name, replace(row, files=(file,)))
        return row

    return put


@pytest.mark.parametrize("name", ABSENT)
def test_an_absent_dataset_loads_when_a_file_of_its_sizes_appears(place, name):
    row = place(name, lookup(name).n_symmetric // 2)
    graph = load(name)
    assert (graph.n_nodes, graph.n_features) == (row.n_nodes, row.n_features)
    assert graph.symmetric.n_entries == row.n_symmetric
    assert graph.n_classes == row.n_classes
    assert len(graph.splits) == 10


@pytest.mark.parametrize("name", ABSENT)
def test_an_absent_dataset_of_other_sizes_is_refused(place, name):
    row = place(name, lookup(name).n_symmetric // 2 - 1)
    with pytest.raises(HeterophilyError, match=f"{name} must have .* edges, .* download") as caught:
        load(name)
    assert row.files[0].url in str(caught.value)


def test_an_absent_dataset_with_other_bytes_is_refused(place, monkeypatch):
    monkeypatch.setitem(CATALOG, "roman-empire", place("roman-empire", 10))
    with pytest.raises(HeterophilyError, match="its checksum differs"):
        load("roman-empire")


def test_the_embedded_graph_needs_no_file():
    graph = load("digits", seed=3)
    assert (graph.n_nodes, graph.n_features, graph.n_classes) == (1_797, 64, 10)
    assert graph.degrees.double().mean() == pytest.approx(8, abs=0.05)
    assert origins(graph) == {f"random, seed {3 + i}" for i in range(10)}
    assert load("digits").checksum == graph.checksum


def test_a_name_or_a_path_opens_a_graph(tiny, tmp_path):
    graph = open_graph("tiny")
    path = graph.save(tmp_path / "saved.safetensors")
    assert open_graph(str(path)).checksum == graph.checksum
    assert open_graph("digits").name == "digits"


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("chamelon-f", 'unknown dataset or file "chamelon-f"; did you mean "chameleon-f"?'),
        ("digit", 'did you mean "digits"?'),
        ("nowhere.csv", "no file or folder at nowhere.csv"),
        ("no/where", "no file or folder at no/where"),
    ],
)
def test_what_is_not_there_is_said(source, answer):
    with pytest.raises(HeterophilyError) as caught:
        open_graph(source)
    assert answer in str(caught.value)
