"""Saved graphs whose arrays stay on disk until they are used."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from heterophily import Graph, Split
from heterophily.core.sparse import Pattern

MEGABYTES = 96
LOAD = """
import sys
import torch
from heterophily import Graph
from heterophily.htmp.execution.batch import Batch

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20

Graph.load(sys.argv[2])  # everything is imported now
for mapped in (True, False):
    before = resident()
    graph = Graph.load(sys.argv[1], mmap=mapped)
    shown = graph.replace(name="other").with_labels_only(torch.arange(9))
    few = Batch(shown, torch.arange(9), {}).features.sum()
    print(resident() - before)
"""


@pytest.fixture
def saved(tmp_path):
    n = MEGABYTES * 2**20 // (4 * 256)
    ring = np.arange(n)
    edges = np.stack([ring, (ring + 1) % n], axis=1)
    x = torch.ones(n, 256)
    graph = Graph.from_edges(np.concatenate([edges, edges[:, ::-1]]), x, labels=ring % 2)
    Graph.from_edges([(0, 1)], torch.ones(2, 1)).save(tmp_path / "small.safetensors")
    return graph.save(tmp_path / "large.safetensors")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_mapped_graph_is_not_read_into_memory(saved):
    command = [sys.executable, "-c", LOAD, saved, saved.with_name("small.safetensors")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    mapped, read = map(float, done.stdout.split())
    assert mapped < 0.3 * MEGABYTES
    assert read > 0.6 * MEGABYTES  # otherwise, the first number would not be meaningful


def test_a_mapped_graph_is_the_same_graph(random_graph, tmp_path):
    graph = random_graph.replace(splits={"0": Split.from_nodes(random_graph.labeled)})
    path = graph.save(tmp_path / "graph.safetensors")
    mapped = Graph.load(path, mmap=True)
    assert mapped.checksum == graph.checksum
    assert torch.equal(mapped.split("0").train, graph.split("0").train)
    assert torch.equal(mapped.symmetric.indices, graph.symmetric.indices)
    assert mapped.symmetric is not mapped.adjacency


def test_a_symmetric_adjacency_is_used_as_it_is_stored(tmp_path):
    graph = Graph.from_edges([(0, 1), (1, 0), (2, 1), (1, 2)], torch.ones(3, 2))
    assert graph.symmetric is graph.adjacency
    mapped = Graph.load(graph.save(tmp_path / "graph.safetensors"), mmap=True)
    assert mapped.symmetric is mapped.adjacency
    directed = Graph.from_edges([(0, 1), (1, 0), (2, 1)], torch.ones(3, 2))
    looped = Graph.from_edges([(0, 1), (1, 0), (1, 1)], torch.ones(3, 2))
    for other in (directed, looped):
        assert other.symmetric is not other.adjacency
    assert Pattern.from_edges([0], [1], shape=(1, 2))._is_symmetric() is False


def test_replacing_validates_what_changed(random_graph):
    with pytest.raises(TypeError, match="no field colour"):
        random_graph.replace(colour="red")
    with pytest.raises(Exception, match="finite"):
        random_graph.replace(features=torch.full((40, 1), torch.nan))
