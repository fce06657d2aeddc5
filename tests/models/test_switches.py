"""Switches between the published method and its program: what the library and the preset choose."""

import pytest

from heterophily.core.errors import HeterophilyError
from heterophily.htmp.method import make_method, reference_settings, settings_of
from heterophily.models import REGISTRY

# method: switch: library default, reference preset
SWITCHES = {
    "gbk-gnn": {
        "hetero_message": ("neighbor", "ego"),
        "kernel_merge": ("add", "parity"),
        "gate_target": ("same_label", "both_nonzero"),
        "gate_loss": ("binary", "probabilities_as_logits"),
        "gate_self_loops": (False, True),
    },
    "simp-gcn": {},
    "h2gcn": {"second_hop": ("strict", "thresholded"), "loss": ("nll", "negative_probability")},
    "geom-gcn": {"overlap": ("both", "latent"), "degree": ("union", "union")},
    "mixhop": {"extra_self_loop": (False, True)},
    "ugcn": {"head": ("linear", "none"), "knn_pairs": ("all", "ascending")},
    "wrgnn": {"aggregate": ("mean", "mean"), "duplicates": (False, True), "depth": (2, 10)},
    "hog-gcn": {
        "double_update": (False, True),
        "propagated_labels": ("predicted", "predicted"),
        "hop_weights": ("counts", "counts"),
    },
    "glognn": {"feature_dropout": (True, False)},
    "ggcn": {"normalization": ("symmetric", "row")},
}
WORDS = [
    (name, switch)
    for name, switches in SWITCHES.items()
    for switch, (default, _) in switches.items()
    if isinstance(default, str)
]


@pytest.mark.parametrize("name", SWITCHES)
def test_presets_set_every_switch(name):
    published, reference = (
        settings_of(make_method(REGISTRY[name], preset=preset)) for preset in ("published", "reference")
    )
    declared = reference_settings(REGISTRY[name])
    assert declared.items() <= reference.items()
    found = {switch: (published[switch], reference[switch]) for switch in SWITCHES[name]}
    assert found == SWITCHES[name]
    changed = {key for key in published if published[key] != reference[key]}
    assert changed == {key for key, (ours, theirs) in SWITCHES[name].items() if ours != theirs}


@pytest.mark.parametrize(("name", "switch"), WORDS)
def test_a_wrong_word_is_refused(name, switch):
    with pytest.raises(HeterophilyError, match="must be one of"):
        make_method(REGISTRY[name], {switch: "sideways"})
