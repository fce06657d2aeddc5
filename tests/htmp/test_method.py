"""Methods: typed settings with defaults, options, bounds, and presets."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from typing import Annotated, Literal

import pytest

from heterophily import Architecture, CustomMethod, HeterophilyError, Method, define_method
from heterophily.core.spaces import Bounds, Choice, Range, setting_infos
from heterophily.htmp.guidance import RowMean
from heterophily.htmp.identity import identity_of, identity_text
from heterophily.htmp.method import (
    Deviation,
    equation_of,
    make_method,
    reference_settings,
    replace_architecture,
    search_space,
    settings_of,
    summary_of,
    translate_settings,
)
from heterophily.htmp.neighborhoods import Hop
from heterophily.models.gcn import GCN
from heterophily.models.gcnii import GCNII
from heterophily.models.h2gcn import H2GCN


@define_method
class Mine(Method):
    """The mean over some hops.

    Z = R(A_hk) Z W,
    and more
    """

    name, title, paper = "mine", "Mine", "unpublished"
    k: Annotated[int, Bounds(ge=1, le=3), Choice(1, 2), "The hop."] = 1
    rule: Literal["strict", "thresholded"] = "strict"
    dropout: Annotated[float, Range(0.1, 0.9)] = 0.25

    def architecture(self):
        return Architecture(channels=(Hop(self.k, self.rule) * RowMean(),))

    deviations = (
        Deviation("It uses the second hop.", {"k": 2}),
        Deviation("It uses a threshold.", {"rule": "thresholded"}),
        Deviation("It is slow."),
    )


def test_settings_have_defaults_and_are_inherited():
    assert (Mine().k, Mine().dropout, Mine().width) == (1, 0.25, 64)
    assert Mine(width=3) == Mine(width=3) != Mine()
    assert replace(Mine(), k=2).architecture().channels[0].neighborhood.k == 2
    assert settings_of(Mine(k=3))["k"] == 3
    assert list(settings_of(Mine()))[:3] == ["width", "n_layers", "dropout"]


def test_methods_are_frozen():
    with pytest.raises(FrozenInstanceError):
        Mine().k = 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 4}, "k must be at least 1 and at most 3, got 4"),
        ({"k": 1.0}, "k must be an integer, got 1.0"),
        ({"rule": "loose"}, "rule must be one of strict, thresholded, got 'loose'"),
        ({"dropout": "much"}, "dropout must be a number, got 'much'"),
        ({"feature_norm": "l3"}, "feature_norm must be one of none, l1, l2, sum or empty, got 'l3'"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0, got 0.0"),
        ({"residual": "yes"}, "residual must be true or false, got 'yes'"),
        ({"weight_decay": -1}, "weight_decay must be at least 0, got -1"),
    ],
)
def test_invalid_values_are_rejected_at_construction(settings, message):
    with pytest.raises(HeterophilyError, match=message):
        Mine(**settings)
    with pytest.raises(HeterophilyError, match=message):
        make_method(Mine, settings)
    with pytest.raises(HeterophilyError, match=message):
        replace(Mine(), **settings)


def test_invalid_combinations_are_rejected_at_construction():
    @define_method
    class Broken(Mine):
        def architecture(self):
            return Architecture(channels=(Hop(1) * RowMean(),) * self.k)

    assert Broken(k=1)
    with pytest.raises(HeterophilyError, match="SingleChannel combines exactly 1 message"):
        Broken(k=2)


def test_unknown_names_get_a_suggestion():
    with pytest.raises(HeterophilyError, match='setting of mine "widht"; did you mean "width"'):
        make_method(Mine, {"widht": 3})
    with pytest.raises(HeterophilyError, match='preset "refrence"; did you mean "reference"'):
        make_method(Mine, preset="refrence")
    with pytest.raises(HeterophilyError, match='setting of mine "template"'):
        make_method(CustomMethod("mine", Mine().architecture()), {"template": 3})


def test_the_preset_is_the_union_of_the_deviations():
    assert reference_settings(Mine) == {"k": 2, "rule": "thresholded"}
    assert make_method(Mine, preset="reference") == Mine(k=2, rule="thresholded")
    assert make_method(Mine, {"preset": "reference", "k": 3}) == Mine(k=3, rule="thresholded")
    assert make_method(Mine(width=5), {"k": 2}) == Mine(width=5, k=2)


def test_a_definition_is_checked():
    with pytest.raises(HeterophilyError, match='setting of Wrong "hops"'):

        @define_method
        class Wrong(Mine):
            deviations = (Deviation("Wrong.", {"hops": 2}),)

    with pytest.raises(HeterophilyError, match="k must be at least 1"):

        @define_method
        class OutOfBounds(Mine):
            deviations = (Deviation("Wrong.", {"k": 9}),)

    with pytest.raises(HeterophilyError, match=r"Untyped\.k needs a type"):

        @define_method
        class Untyped(Mine):
            k = 2  # would be ignored


def test_ranges_and_help_come_from_the_annotations():
    assert search_space(Mine) == {"dropout": Range(0.1, 0.9), "k": Choice(1, 2)}
    assert setting_infos(Mine)["k"].help == "The hop."
    assert setting_infos(Mine) is setting_infos(Mine)  # read once
    custom = CustomMethod("c", Mine().architecture(), {"width": Choice(1, 2)})
    assert search_space(custom) == {"width": Choice(1, 2)}


def test_the_docstring_is_the_card():
    assert summary_of(Mine) == "The mean over some hops."
    assert equation_of(Mine) == "Z = R(A_hk) Z W, and more"
    assert equation_of(CustomMethod("c", Mine().architecture())) == ""


def test_settings_of_earlier_versions_are_translated():
    old = {"hidden_share": 0.5, "normalisation": "row", "hetero_message": "neighbour", "k": [1]}
    assert translate_settings(old) == {
        "masked_fraction": 0.5, "normalization": "row", "hetero_message": "neighbor", "k": [1],
    }  # fmt: skip


def test_a_variant_has_the_same_common_settings():
    method = H2GCN(width=5, second_hop="thresholded")
    first = method.architecture().channels[:1]
    variant = replace_architecture(method, "without A_h2", channels=first)
    assert (variant.name, variant.width) == ("h2gcn without A_h2", 5)
    assert variant.architecture() == replace(method.architecture(), channels=first)


def test_the_identity_contains_only_what_differs_from_the_defaults():
    assert identity_text(GCN()) == (
        '("gcn", {}, Architecture((WithSelf() * SymmetricMean(),), dropout=Dropout(0.5, layer=0.5), '
        'activation="relu", widths=(64,), feature_norm="none"))'
    )
    assert '"n_layers": 8' in identity_text(GCNII())
    assert identity_of(GCNII(layer_decay=5e-4)) == identity_of(GCNII())
    assert identity_of(GCNII(layer_decay=5e-3)) != identity_of(GCNII())
    assert identity_of(GCN(dropout=0)) == identity_of(GCN(dropout=0.0))


CODE = """
from heterophily.models.h2gcn import H2GCN
H2GCN(width=128, second_hop="strict")
H2GCN(widht=128)
H2GCN(second_hop="loose")
H2GCN(width="wide")
H2GCN().width = 3
"""


def test_type_checkers_find_wrong_settings(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "code.py").write_text(CODE)
    words = [sys.executable, "-m", "mypy", "--follow-imports=silent", str(tmp_path / "code.py")]
    out = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    lines = {int(line.split(":")[1]) for line in out.splitlines() if "error:" in line}
    assert lines == {4, 5, 6, 7}, out
