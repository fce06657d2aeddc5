"""What is searched: committed settings stay reachable, fixed ones stay fixed."""

from dataclasses import replace

import pytest

from heterophily import CustomMethod, HeterophilyError, define_method
from heterophily.core.spaces import Choice, Range
from heterophily.htmp.method import make_method, search_space, settings_of
from heterophily.models import REGISTRY
from heterophily.models.gcn import GCN
from heterophily.tuning.problem import SettingsSearch, round_value, widen_space


@pytest.mark.parametrize("model", REGISTRY)
def test_every_method_starts_with_its_defaults_inside_its_space(model):
    subject = SettingsSearch(model)
    (start,) = subject.initial_points
    found = subject.candidate(start.__getitem__)
    assert found.method == make_method(REGISTRY[model])
    assert start.keys() == subject.space.keys() == search_space(REGISTRY[model]).keys()
    for name, space in subject.space.items():
        inside = getattr(space, "values", None) or (start[name],)
        assert start[name] in inside


def test_committed_settings_and_preset_are_the_start_and_the_rest_of_a_candidate():
    subject = SettingsSearch("gcn", {"preset": "reference", "width": 48, "patience": 7})
    (start,) = subject.initial_points
    assert start["width"] == 48
    assert subject.space["width"] == Choice(32, 64, 128, 256, 48)
    found = subject.candidate({**start, "width": 32}.__getitem__)
    assert found.preset == "reference"
    assert found.settings == {"patience": 7, **start, "width": 32}
    assert found.method == GCN(activation="none", loss="ce_of_probabilities", **found.settings)


def test_fixed_settings_are_not_searched():
    subject = SettingsSearch("gcn", {"width": 48}, {"width": 16, "max_epochs": 3})
    assert "width" not in subject.space
    assert "width" not in subject.initial_points[0]
    found = subject.candidate(subject.initial_points[0].__getitem__)
    assert found.settings["width"] == 16
    assert found.settings["max_epochs"] == 3


def test_the_identity_is_that_of_the_method_and_its_space_not_of_its_words():
    @define_method
    class Other(GCN):
        """Other."""

        title, paper, deviations = "Other", "Other", ()

    assert SettingsSearch(Other).identity == SettingsSearch("gcn").identity
    custom = CustomMethod("gcn", GCN().architecture(), search_space(GCN))
    assert SettingsSearch(custom).identity == SettingsSearch("gcn").identity
    template = replace(custom.template, activation="none")
    for other in ({"space": {"width": Choice(1, 2)}}, {"template": template}, {"width": 3}):
        assert SettingsSearch(replace(custom, **other)).identity != SettingsSearch("gcn").identity


def test_unknown_settings_and_empty_spaces_are_refused():
    with pytest.raises(HeterophilyError, match='unknown setting of gcn "widht"; did you mean "width"'):
        SettingsSearch("gcn", {}, {"widht": 3})
    everything = {name: settings_of(GCN())[name] for name in search_space(GCN)}
    with pytest.raises(HeterophilyError, match=r"nothing to search for gcn: all .* is fixed"):
        SettingsSearch("gcn", {}, everything)


@pytest.mark.parametrize(
    ("space", "value", "wide"),
    [
        (Choice(1, 2), 2, Choice(1, 2)),
        (Choice(1, 2), 3, Choice(1, 2, 3)),
        (Range(0.2, 0.5), 0.3, Range(0.2, 0.5)),
        (Range(0.2, 0.5), 0.9, Range(0.2, 0.9)),
        (Range(0.2, 0.5, log=True), 0.1, Range(0.1, 0.5, log=True)),
        (Range(0.2, 0.5, log=True), 0.0, Range(0.0, 0.5)),
    ],
)
def test_a_space_is_widened_by_a_value_outside(space, value, wide):
    widened = widen_space(space, value)
    assert (type(widened), widened) == (type(wide), wide)


def test_numbers_of_a_range_have_three_digits_and_choices_all():
    assert round_value(Range(1e-5, 1, log=True), 0.000123456) == 0.000123
    assert round_value(Choice(0.123456), 0.123456) == 0.123456
