"""Architectures: frozen, comparable, and completed from the settings of a method."""

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from heterophily import Architecture, CustomMethod, HeterophilyError
from heterophily.htmp.architecture import Dropout, Head, find_problem_after
from heterophily.htmp.combine import Add
from heterophily.htmp.encoder import Embed, Predict, RawFeatures
from heterophily.htmp.guidance import Ones, RowMean
from heterophily.htmp.method import complete_architecture
from heterophily.htmp.neighborhoods import Ego, Raw
from heterophily.htmp.transform import NoTransform
from heterophily.models.cmgnn.parts import FeaturesAndStructure

CHANNELS = (Ego() * Ones(), Raw() * RowMean())
PLAIN = Architecture(channels=CHANNELS, combine=Add())


def completed(architecture, **settings):
    return complete_architecture(CustomMethod("mine", architecture, **settings))


def test_it_has_at_most_18_fields():
    assert len(fields(Architecture)) <= 18


def test_it_is_frozen_and_compared_by_value():
    assert replace(PLAIN, head=Head()) == replace(PLAIN, head=Head()) != PLAIN
    assert hash(replace(PLAIN, head=None)) == hash(PLAIN)
    with pytest.raises(FrozenInstanceError):
        PLAIN.head = Head()


def test_open_fields_are_filled_in_from_the_settings():
    found = completed(PLAIN, width=7, dropout=0.3, activation="elu", feature_norm="l1")
    assert found.widths == (7,)
    assert found.dropout == Dropout(input=0.3, layer=0.3)
    assert (found.activation, found.feature_norm) == ("elu", "l1")
    assert completed(PLAIN).feature_norm == "none"


def test_given_fields_are_kept():
    given = replace(PLAIN, widths=(4, 3), activation="tanh", feature_norm="sum")
    found = completed(replace(given, dropout=Dropout(head=0.1, edge=None)), dropout=0.3)
    assert (found.widths, found.activation, found.feature_norm) == ((4, 3), "tanh", "sum")
    assert found.dropout == Dropout(head=0.1, edge=0.3)
    assert completed(given, feature_norm="none").feature_norm == "none"


def test_an_input_layer_precedes_raw_features_only():
    assert completed(PLAIN).encoder == RawFeatures()
    assert completed(PLAIN, input_layer=True).encoder == Embed()
    both = replace(PLAIN, encoder=FeaturesAndStructure(None))
    assert completed(both, input_layer=True, dropout=0.2).encoder == FeaturesAndStructure(0.2)
    predicts = Architecture(channels=(Raw() * RowMean(),), encoder=Predict(dropout=None), transform=NoTransform())
    assert completed(predicts, dropout=0.4).encoder == Predict(dropout=0.4)


def test_symbols_are_the_row_of_the_papers_table():
    assert PLAIN.symbols == {
        "neighborhoods": ["I", "A"], "guidance": ["I", "B^d"], "combine": "Add", "fuse": "Z^L"
    }  # fmt: skip


def test_a_change_is_checked_without_an_error():
    assert find_problem_after(PLAIN, channels=CHANNELS[:1]) == ""
    assert "Discrimination" not in find_problem_after(PLAIN, head=Head())
    assert "no column per class" in find_problem_after(PLAIN, transform=NoTransform())
    with pytest.raises(HeterophilyError, match=r"invalid architecture: .* no column per class"):
        replace(PLAIN, transform=NoTransform())
