"""Findings 5 and 9: a file of a graph takes about as much memory as it holds, and damage is one sentence."""

import io
import json
import os
import struct
import sys
import zipfile
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet
from safetensors.torch import load_file, save_file

from heterophily import Graph, HeterophilyError
from tests.robustness.inputs import small_graph
from tests.robustness.limits import run_limited


def refused(message):
    return pytest.raises(HeterophilyError, match=message)


def write_npz(path, **arrays):
    np.savez_compressed(path, **arrays)
    return path


def read(path):
    """Read a graph in a process with little memory: it must fail with a sentence."""
    return run_limited([sys.executable, "-m", "heterophily", "diagnose", str(path)], gigabytes=2, seconds=120)


def test_finding_05_an_npz_bomb_is_refused(tmp_path):
    path = write_npz(tmp_path / "bomb.npz", edges=np.array([[0, 1]]), node_features=np.zeros((2**14, 2**16), "u1"))
    assert path.stat().st_size < 2**21
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("more.npy", bytes(2**28))
    end = read(path)
    assert end.code == 2, end.text
    assert "but its arrays take" in end.text
    assert end.gigabytes < 1


@pytest.mark.parametrize("edges", [[[0, 10**9]], [[0, 2**62]], [[0, -(2**63)]], [[10**7, 3]]])
def test_finding_05_a_huge_node_number_is_refused(tmp_path, edges):
    with refused("number the nodes from 0|renumber the nodes"):
        Graph.from_files(write_npz(tmp_path / "g.npz", edges=np.array(edges)))
    with refused("number the nodes from 0|renumber the nodes"):
        Graph.from_edges(edges)


def test_finding_05_explicit_sizes_are_trusted():
    assert Graph.from_edges([[0, 2 * 10**6]], n_nodes=2 * 10**6 + 1).n_nodes == 2 * 10**6 + 1


def with_header(path, shape):
    """Write an npz file whose member claims another shape than it has."""
    file = io.BytesIO()
    np.save(file, np.zeros((3, 2), dtype=np.int64))
    content = file.getvalue()
    header = repr({"descr": "<i8", "fortran_order": False, "shape": shape}).encode()
    header += b" " * (128 - 10 - 1 - len(header) % 64) + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("edges.npy", content[:8] + struct.pack("<H", len(header)) + header + content[-48:])
    return path


@pytest.mark.parametrize("shape", [(2**40, 2), (2**62, 2**62), (-3, 2), (3, 1), (0, 2), (3.5, 2), "x"])
def test_finding_05_a_header_that_claims_terabytes_is_refused(tmp_path, shape):
    with refused("is not an npz file of plain arrays"):
        Graph.from_files(with_header(tmp_path / "g.npz", shape))


@pytest.mark.parametrize("label", [300_000, 2**40, 2**62, 1e300, -5, float("inf")])
def test_finding_05_a_huge_label_is_refused(tmp_path, label):
    path = write_npz(tmp_path / "g.npz", edges=np.array([[0, 1]]), node_labels=np.array([0, label]))
    with refused("labels must be"):
        Graph.from_files(path)


def test_finding_05_more_classes_than_any_matrix_can_hold_are_refused():
    with refused("up to 10,000 classes, got 20,000; use another column"):
        Graph.from_edges([[0, 1]], labels=np.arange(20_000))


def test_finding_05_a_parquet_file_of_constant_columns_is_refused(tmp_path):
    table = pa.table({"source": pa.array(np.zeros(10**7, dtype=np.int64)), "target": np.ones(10**7, dtype=np.int64)})
    parquet.write_table(table, tmp_path / "edges.parquet")
    with refused("cells; save it without compression"):
        Graph.from_files(tmp_path / "edges.parquet")


def test_finding_05_a_pipe_is_refused(tmp_path):
    for suffix in ("npz", "csv", "graphml", "safetensors", "parquet"):
        os.mkfifo(tmp_path / f"g.{suffix}")
        with refused("neither a file nor a folder"):
            Graph.from_files(tmp_path / f"g.{suffix}")


GRAPHML = (
    '<?xml version="1.0" encoding="{encoding}"?><graphml><key id="a" for="node" attr.name="a" attr.type="{type}"/>'
)
GRAPHML += '<graph edgedefault="directed"><node id="x"><data key="{key}">1</data></node></graph></graphml>'


@pytest.mark.parametrize(
    "change", [{"encoding": "klingon"}, {"encoding": "utf-16"}, {"type": "quaternion"}, {"key": "b"}, {"type": ""}]
)
def test_finding_09_graphml_with_unknown_encodings_types_and_keys_is_refused(tmp_path, change):
    path = tmp_path / "g.graphml"
    path.write_text(GRAPHML.format(**{"encoding": "utf-8", "type": "double", "key": "a", **change}))
    with refused("is not a valid GraphML file"):
        Graph.from_files(path)


def test_finding_09_an_xml_bomb_is_refused(tmp_path):
    names = "abcdefghijkl"
    entities = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise(names))
    bomb = f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a "aaaaaaaaaa">{entities}]><graphml>&l;</graphml>'
    (tmp_path / "g.graphml").write_text(bomb)
    end = read(tmp_path / "g.graphml")
    assert end.code == 2, end.text
    assert "is not a valid GraphML file" in end.text


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64())),
        pa.array([b"\xff", b"\xfe"]),
        pa.array([None, None]),
    ],
    ids=lambda ids: str(ids.type),
)
@pytest.mark.parametrize("column", ["source", "id"])
def test_finding_09_ids_that_are_not_text_or_numbers_are_refused(tmp_path, ids, column):
    edges = {"source": pa.array(["1", "2"]), "target": pa.array(["1", "2"])}
    nodes = {"id": pa.array(["1", "2"]), "x": pa.array([0.5, 1.5])}
    (edges if column == "source" else nodes)[column] = ids
    (tmp_path / "g").mkdir()
    parquet.write_table(pa.table(edges), tmp_path / "g" / "edges.parquet")
    parquet.write_table(pa.table(nodes), tmp_path / "g" / "nodes.parquet")
    with refused("ids|nodes that are not in the node table"):
        Graph.from_files(tmp_path / "g")


def test_finding_09_corrupt_parquet_is_refused(tmp_path):
    path = tmp_path / "edges.parquet"
    parquet.write_table(pa.table({"source": list(range(1000)), "target": list(range(1000))}), path)
    content = path.read_bytes()
    for position in range(4, len(content), max(len(content) // 60, 1)):
        path.write_bytes(content[:position] + bytes(16) + content[position + 16 :])
        try:
            Graph.from_files(path)
        except HeterophilyError:
            continue
    path.write_bytes(content[:-100])
    with refused("is not a readable table"):
        Graph.from_files(path)


def test_finding_09_encrypted_and_inconsistent_npz_are_refused(tmp_path):
    path = write_npz(tmp_path / "g.npz", edges=np.array([[0, 1]]), node_labels=np.array([0, 1]))
    content = bytearray(path.read_bytes())
    entry = content.find(b"PK\x01\x02")
    for place, value in ((6, 1), (entry + 8, 1), (entry + 10, 99), (entry + 16, 255), (entry + 24, 255), (30, 120)):
        damaged = content.copy()
        damaged[place] |= value
        path.write_bytes(damaged)
        try:
            Graph.from_files(path)
        except HeterophilyError as error:
            assert "is not an npz file" in str(error) or "must" in str(error)  # noqa: PT017


def damage_graph(path, facts=None, tensors=None):
    """Save the small graph with other metadata or tensors."""
    small_graph().save(path)
    content = load_file(path)
    metadata = json.loads(header_of(path)["__metadata__"]["graph"])
    metadata.update(facts or {})
    content.update(tensors or {})
    save_file({k: v for k, v in content.items() if v is not None}, path, {"graph": json.dumps(metadata)})
    return path


def header_of(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length])


@pytest.mark.parametrize(
    "facts",
    [
        {"n_classes": "3"},
        {"n_classes": 10**9},
        {"n_classes": -1},
        {"n_features": 10**12},
        {"name": None},
        {"class_names": "abc"},
        {"class_names": ["a"]},
        {"class_values": {"a": 1}},
        {"feature_names": [1]},
        {"encoder": {}},
        {"encoder": {"format": 3}},
        {"origins": ["0"]},
        {"origins": {"none": "given"}},
        {"origins": {"0": 3}},
        {"symmetric": "yes"},
        {"format": [1]},
    ],
    ids=str,
)
@pytest.mark.parametrize("mmap", [False, True])
def test_finding_09_damaged_metadata_of_a_saved_graph_is_refused(tmp_path, facts, mmap):
    path = damage_graph(tmp_path / "g.safetensors", facts)
    if facts == {"n_features": 10**12}:  # dense features have their own size
        return
    with refused("."):
        Graph.load(path, mmap=mmap)


@pytest.mark.parametrize("text", ["[" * 10**5, "null", "3", "{", '{"format": "heterophily-graph-1"}'])
def test_finding_09_other_metadata_of_a_saved_graph_is_refused(tmp_path, text):
    save_file({"labels": torch.zeros(3)}, tmp_path / "g.safetensors", {"graph": text})
    with refused("is not a saved graph"):
        Graph.load(tmp_path / "g.safetensors")


@pytest.mark.parametrize(
    "tensors",
    [
        {"labels": torch.zeros(30)},
        {"labels": torch.zeros(30, 1, dtype=torch.int64)},
        {"labels": torch.zeros(7, dtype=torch.int64)},
        {"labels": torch.full((30,), 2**40)},
        {"labels": None},
        {"adjacency.indptr": torch.zeros(0, dtype=torch.int32)},
        {"adjacency.indptr": torch.full((31,), 2**30, dtype=torch.int32)},
        {"adjacency.indices": torch.zeros(3, dtype=torch.int32)},
        {"adjacency.indices": torch.zeros(3)},
        {"features": torch.zeros(30)},
        {"features": torch.zeros(30, 6, dtype=torch.int64)},
        {"features": torch.full((30, 6), float("nan"))},
        {"node_ids": torch.zeros(5, dtype=torch.uint8)},
        {"node_ids": torch.zeros(5)},
        {"splits.0.train": torch.zeros(5)},
        {"splits.0.train": torch.tensor([10**6])},
        {"weights": torch.zeros(3)},
    ],
    ids=lambda tensors: next(f"{k} {None if v is None else tuple(v.shape)}" for k, v in tensors.items()),
)
def test_finding_09_damaged_tensors_of_a_saved_graph_are_refused(tmp_path, tensors):
    path = damage_graph(tmp_path / "g.safetensors", tensors=tensors)
    with refused("."):
        Graph.load(path)
    if "features" not in tensors:  # with mmap, values of features are not read
        with refused("."):
            Graph.load(path, mmap=True)


def test_finding_09_columns_that_repeat_or_are_not_ascending_are_refused(tmp_path):
    indices = small_graph().adjacency.indices.clone()
    for damaged in (indices.flip(0), torch.zeros_like(indices)):
        with refused("ascending|compressed"):
            Graph.load(damage_graph(tmp_path / "g.safetensors", tensors={"adjacency.indices": damaged}))
