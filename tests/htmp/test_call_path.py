"""The number of transitions between modules in one forward pass, a measure of what a reader has to follow."""

import sys
from collections import Counter

import torch

from heterophily import build, load

MAX_TRANSITIONS = 45  # 98 before operators were bound and sizes stored as fields


def library_module(frame):
    """Return the module of the library in which the code of a frame or of its nearest caller is."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("heterophily."):
            return name
        frame = frame.f_back
    return None


def transitions(call):
    """Return the calls from one module of the library to another, by caller and callee."""
    counts = Counter()

    def record(frame, event, _):
        callee = frame.f_globals.get("__name__", "")
        is_generated = frame.f_code.co_filename == "<string>"  # methods of dataclasses
        if event != "call" or is_generated or not callee.startswith("heterophily."):
            return
        caller = library_module(frame.f_back)
        if caller not in (None, callee):
            counts[caller, callee] += 1

    sys.setprofile(record)
    try:
        call()
    finally:
        sys.setprofile(None)
    return counts


def test_a_warm_pass_of_cmgnn_has_few_transitions_between_modules():
    graph = load("digits")
    network = build("cmgnn", graph)
    network.initialize_states(graph, graph.split("0").train)
    network.eval()
    with torch.no_grad():
        network(graph)
        counts = transitions(lambda: network(graph))
    assert 0 < counts.total() <= MAX_TRANSITIONS, counts.most_common()
