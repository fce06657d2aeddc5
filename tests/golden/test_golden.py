"""Compare three training steps of every method with stored results.

`golden.json` contains one entry per method and preset, in two variants: `dense` (dense features, float64)
and `sparse` (sparse features, float32). An entry has the three losses, projections of the final logits, and
the norm of each gradient in the third step. They are compared with a tolerance. Entries of `dense` also
have a SHA-256 digest of the exact logits, losses, and gradients. Digests are compared only on a machine with
the stored fingerprint, because the last bits depend on the processor and on the versions of libraries.

Run from the root of the repository:

    python tests/golden/test_golden.py --check   # print how many digests and entries are equal
    python tests/golden/test_golden.py --write   # replace golden.json by the results of this code

All calls of the library are in the first section. If its API changes, adapt them and keep `golden.json`.
"""

import argparse
import hashlib
import json
import os
import platform
import sys
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy
import scipy.sparse as sp
import sklearn
import torch

from heterophily.core.graph import Graph
from heterophily.models import NETWORKS, REGISTRY
from heterophily.models.building import build
from heterophily.training.optimizers import make_optimizers


def graph_of(edges, features, labels, splits, *, sparse):
    """Return a graph with float64 features, or with sparse float32 features."""
    graph = Graph.from_edges(edges, sp.csr_array(features) if sparse else features, labels=labels, splits=splits)
    return graph if sparse else graph.replace(features=torch.tensor(features))


def visible(graph, split):
    """Return the graph without test labels, and the training nodes."""
    parts = graph.split(split)
    return graph.with_labels_only(torch.cat([parts.train, parts.val])), parts.train


def begin(method, graph, nodes, preset, settings):
    """Return a network that is ready for training, and its optimizers."""
    network = build(method, graph, preset=preset, **settings)
    network.initialize_states(graph, nodes)
    return network, make_optimizers(network)


def step(network, optimizers, graph, nodes):
    """Take one training step, evaluate, and update the state of the network. Return loss and logits."""
    network.train()
    for optimizer in optimizers:
        optimizer.zero_grad()
    trained = network(graph)
    loss = network.loss(trained, graph, nodes)
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    network.eval()
    with torch.no_grad():
        logits = network(graph)
        network.update_states(graph, logits, training_logits=trained)
    return loss.detach(), logits


FILE = Path(__file__).with_name("golden.json")
PRESETS = {"published": ("0", 0), "reference": ("1", 1)}  # split and seed of each preset
TYPES = {"dense": torch.float64, "sparse": torch.float32}
TOLERANCES = {"dense": (1e-6, 1e-9), "sparse": (1e-3, 1e-5)}  # relative and absolute
SMALL = {"hog-gcn": {"second_width": 8, "attribute_width": 8}, "ordered-gnn": {"n_chunks": 4}}
N, F, K, STEPS, DIRECTIONS = 72, 16, 4, 3, 4


def make_graph(*, sparse):
    """Return a heterophilous graph with directed edges, a self-loop, and the isolated node 0."""
    rng = np.random.default_rng(20)
    labels = rng.permutation(np.arange(N) % K)
    likely = labels[None, :] == (labels[:, None] + 1) % K
    edges = rng.random((N, N)) < np.where(likely, 0.12, 0.02)
    edges[0] = edges[:, 0] = False
    edges[1, 1] = True
    typical = rng.random((K, F)) < 0.4
    features = rng.random((N, F)) * (rng.random((N, F)) < np.where(typical[labels], 0.8, 0.3))
    features[:, 0] += 0.1  # no node without features
    orders = [rng.permutation(N) for _ in PRESETS]
    splits = {str(i): (o[:36], o[36:54], o[54:]) for i, o in enumerate(orders)}
    return graph_of(np.argwhere(edges), features, labels, splits, sparse=sparse)


@contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def observe(variant, method, preset):
    """Return the entry of `golden.json` for one method and preset."""
    split, seed = PRESETS[preset]
    with default_dtype(TYPES[variant]):
        graph, nodes = visible(make_graph(sparse=variant == "sparse"), split)
        torch.manual_seed(seed)
        settings = {"width": 8, **SMALL.get(method, {})}
        network, optimizers = begin(method, graph, nodes, preset, settings)
        results = [step(network, optimizers, graph, nodes) for _ in range(STEPS)]
    losses, logits = torch.stack([loss for loss, _ in results]), results[-1][1]
    named = sorted(network.named_parameters())
    gradients = {n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in named}
    directions = np.random.default_rng(0).standard_normal((DIRECTIONS, N * K))
    entry = {
        "losses": shortened(losses),
        "logits": shortened(directions @ logits.double().numpy().ravel()),
        "gradients": {n: shortened(g.double().norm()) for n, g in gradients.items()},
    }
    if variant == "dense":
        entry["digest"] = digest_of([logits, losses, *gradients.values()])
    return entry


def shortened(values):
    """Round to ten significant digits, which is far more exact than the tolerances."""
    round_each = np.vectorize(lambda value: float(f"{value:.10g}"), otypes=[float])
    return round_each(np.asarray(values)).tolist()


def digest_of(tensors):
    """SHA-256 of the values of all tensors; the sign of zeros does not count."""
    found = hashlib.sha256()
    for tensor in tensors:
        assert tensor.dtype == torch.float64
        found.update((tensor.detach() + 0.0).contiguous().numpy().tobytes())
    return found.hexdigest()


def differences(variant, expected, found):
    """List the numbers of an entry that differ by more than the tolerance, as text."""
    if expected["gradients"].keys() != found["gradients"].keys():
        changed = sorted(expected["gradients"].keys() ^ found["gradients"].keys())
        return [f"names of parameters changed: {', '.join(changed)}"]
    relative, absolute = TOLERANCES[variant]
    pairs = {name: (expected[name], found[name]) for name in ("losses", "logits")}
    pairs |= {f"gradient of {name}": (value, found["gradients"][name]) for name, value in expected["gradients"].items()}
    return [
        f"{name}: expected {old}, got {new}"
        for name, (old, new) in pairs.items()
        if not np.allclose(new, old, rtol=relative, atol=absolute)
    ]


@cache
def describe_environment():
    """Return the facts about the machine that decide the last bits of results."""
    wanted = ("model name", "cpu family", "model", "stepping")
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    facts = {key.strip(): value.strip() for key, _, value in (li.partition(":") for li in lines)}
    backends = torch.backends
    return {
        "processor": [facts.get(key, "") for key in wanted] if facts else platform.processor(),
        "capability": backends.cpu.get_cpu_capability(),
        "mkl": backends.mkl.is_available(),
        "onednn": backends.mkldnn.is_available(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


@cache
def golden():
    return json.loads(FILE.read_text(encoding="utf-8"))


CELLS = [tuple(key.split()) for key in golden()["entries"]]


def test_golden_results_cover_the_methods_of_the_first_version():
    methods = {method for _, method, _ in CELLS}
    assert len(methods) == 24
    assert methods <= set(REGISTRY)


@pytest.mark.parametrize(("variant", "method", "preset"), CELLS)
def test_training_steps_reproduce_golden_results(variant, method, preset):
    expected = golden()["entries"][f"{variant} {method} {preset}"]
    found = observe(variant, method, preset)
    assert not differences(variant, expected, found)
    if golden()["fingerprint"] == describe_environment():
        assert found.get("digest") == expected.get("digest")


def write():
    """Replace `golden.json`, with one entry per line."""
    cells = [(v, m, p) for v in TYPES for m in NETWORKS for p in PRESETS]
    entries = {" ".join(cell): observe(*cell) for cell in cells}
    lines = [f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in entries.items()]
    head = f'{{\n "fingerprint": {json.dumps(describe_environment())},\n "entries": {{\n'
    FILE.write_text(head + ",\n".join(lines) + "\n }\n}\n", encoding="utf-8")
    print(f"wrote {len(entries)} entries to {FILE}")


def check():
    """Print how many results are equal to the stored ones. Return 0 if all that must be equal are."""
    agreed, equal, total = 0, 0, 0
    for cell in CELLS:
        expected, found = golden()["entries"][" ".join(cell)], observe(*cell)
        for difference in (different := differences(cell[0], expected, found)):
            print(f"{' '.join(cell)}: {difference}")
        agreed += not different
        if "digest" in expected:
            total += 1
            equal += found["digest"] == expected["digest"]
            if found["digest"] != expected["digest"]:
                print(f"{' '.join(cell)}: another digest")
    same = describe_environment() == golden()["fingerprint"]
    print(f"{equal} of {total} digests equal" + ("" if same else " (on another machine)"))
    print(f"{agreed} of {len(CELLS)} entries equal within the tolerance")
    return int(agreed < len(CELLS) or (same and equal < total))


def main():
    parser = argparse.ArgumentParser(description="Compare or write the golden results.")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true", help="Compare with golden.json.")
    mode.add_argument("--write", action="store_true", help="Replace golden.json.")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder  # no results of earlier code from the user's cache
        return write() if chosen.write else check()


if __name__ == "__main__":
    sys.exit(main())
