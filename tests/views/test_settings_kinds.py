"""Default and tuned settings side by side, and paired differences between methods of the same kind of settings."""

from statistics import fmean

import pytest

from heterophily.benchmark.significance import corrected_t_test, holm
from heterophily.runs.record import Record
from heterophily.views.settings_kinds import by_kind_of_settings, dataset_table

NOISE = (-0.4, 0.1, 0.3)
OTHER = (0.2, -0.3, 0.1)


def record(model, split, value, *, source="search", dataset="actor", **fields):
    facts = {
        "key": f"{model}-{dataset}-{split}-{source}",
        "model": model,
        "dataset": dataset,
        "split": str(split),
        "seed": split,
        "settings": {},
        "preset": "published",
        "source": source,
        "recipe": f"{model} {source}",
        "checksum": dataset,
        "run": {"scores": {"test": {"accuracy": value / 100}}, "seconds": 1.0},
        "details": {"split": {"train": 50, "val": 25, "test": 25}},
        "finished": "2030-01-01",
    }
    return Record(**{**facts, **fields})


def runs(model, mean, noise=NOISE, **fields):
    return [record(model, i, mean + each, **fields) for i, each in enumerate(noise)]


@pytest.fixture
def records():
    return [
        *runs("trio", 38.0),
        *runs("trio", 37.0, OTHER, source="defaults"),
        *runs("cmgnn", 36.0, OTHER, source="reference"),
        *runs("gcn", 30.0, source="reference"),
        *runs("linkx", 37.5, source="defaults"),
    ]


def test_methods_without_tuned_settings_are_not_in_the_tuned_table(records):
    kinds = by_kind_of_settings(records)
    assert kinds.tuned.models == ("gcn", "cmgnn", "trio")
    assert kinds.untuned == ["linkx"]
    assert kinds.entry("trio", "actor").mean == pytest.approx(38.0)
    assert kinds.entry("trio", "actor", default=True).mean == pytest.approx(37.0)
    assert kinds.entry("linkx", "actor") is None
    assert kinds.entry("gcn", "actor", default=True) is None


def test_defaults_count_as_tuned_where_a_tuned_method_has_no_other_settings(records):
    more = runs("trio", 95.0, source="defaults", dataset="photo")
    kinds = by_kind_of_settings([*records, *more])
    assert kinds.entry("trio", "photo").mean == kinds.entry("trio", "photo", default=True).mean
    assert kinds.entry("trio", "actor").mean == pytest.approx(38.0)


def test_differences_compare_the_same_kind_of_settings_with_holms_correction(records):
    found = by_kind_of_settings(records).differences("trio", "actor")
    assert {model: round(pair.mean, 6) for model, pair in found.items()} == {"gcn": -8.0, "cmgnn": -2.0, "linkx": 0.5}
    gaps = {
        "gcn": [-8.0 + a - a for a in NOISE],
        "cmgnn": [-2.0 + b - a for a, b in zip(NOISE, OTHER, strict=True)],
        "linkx": [0.5 + a - b for a, b in zip(NOISE, OTHER, strict=True)],  # minus the defaults of trio
    }
    assert all(fmean(gaps[model]) == pytest.approx(pair.mean) for model, pair in found.items())
    expected = holm([corrected_t_test(gaps[model], test_to_train=0.5)[1] for model in found])
    assert [pair.p for pair in found.values()] == pytest.approx(expected)


def test_untuned_methods_are_not_compared_with_tuned_ones(records):
    assert "linkx" not in by_kind_of_settings(records).differences("cmgnn", "actor")


def test_the_table_of_a_dataset(records):
    table = dataset_table(by_kind_of_settings(records), "actor")
    assert table.head == ["method", "default", "tuned", "published", "minus trio", "minus cmgnn"]
    assert [row[:4] for row in table.rows] == [
        ["trio", "37.00 ± 0.26", "38.00 ± 0.36", "–"],
        ["cmgnn", "–", "36.00 ± 0.26 (3/10)", "36.82 ± 0.78"],
        ["gcn", "–", "30.00 ± 0.36 (3/10)", "30.11 ± 0.74"],
        ["linkx", "37.50 ± 0.36", "–", "–"],
    ]
    assert table.rows[2][4] == "**−8.00** (0.000)"
    assert [row[5] for row in table.rows][1] == table.rows[3][5] == "–"
    assert table.rows[0][4] == "–"
    assert table.rows[0][5].startswith("+2.00 (")
