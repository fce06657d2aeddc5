import csv
import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from heterophily.core.errors import HeterophilyError
from heterophily.studies.tidy import (
    StudyData,
    deviation_of,
    filter_rows,
    mean_of,
    read_rows,
    tidy,
    unique_values,
    write_rows,
)

ROWS = [
    {"dataset": "a, b", "split": "0", "x": 1.5, "known": True, "paper": None},
    {"dataset": "ü\n", "split": "1", "x": -2.0, "more": 3},
]


def test_rows_come_back_from_json_as_they_were_written(tmp_path):
    write_rows(ROWS, tmp_path / "new" / "t.json")
    assert read_rows(tmp_path / "new" / "t.json") == ROWS
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["t.csv", "t.json"]
    assert len((tmp_path / "new" / "t.json").read_text().splitlines()) == len(ROWS) + 2


def test_the_csv_has_the_same_cells_and_all_columns(tmp_path):
    write_rows(ROWS, tmp_path / "t.json")
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert list(found[0]) == ["dataset", "split", "x", "known", "paper", "more"]
    assert [row["dataset"] for row in found] == ["a, b", "ü\n"]
    assert [row["more"] for row in found] == ["", "3"]
    assert [float(row["x"]) for row in found] == [1.5, -2.0]


@pytest.mark.parametrize("text", ["{", "{}", "[1]", "null"])
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(HeterophilyError, match="is not the data of a study"):
        read_rows(tmp_path / "t.json")


def test_cells_are_plain_and_short():
    row = tidy({"a": np.float64(1 / 3), "b": torch.tensor(2), "c": math.nan, "d": math.inf, "e": "x"})
    assert row == {"a": 0.333333, "b": 2, "c": None, "d": None, "e": "x"}
    assert json.loads(json.dumps(row)) == row
    with pytest.raises(TypeError, match="a tidy cell"):
        tidy({"a": [1, 2]})


def test_summaries_leave_out_missing_numbers():
    rows = [{"x": 1.0}, {"x": None}, {}, {"x": 4.0}]
    assert mean_of(rows, "x") == 2.5
    assert deviation_of(rows, "x") == pytest.approx(4.5**0.5)  # the sample's, with n - 1
    assert mean_of(rows, "y") is deviation_of(rows, "y") is deviation_of(rows[:1], "x") is None
    assert unique_values([{"x": 2}, {"x": 1}, {"x": 2}], "x") == [2, 1]
    assert filter_rows(rows, x=4.0) == [{"x": 4.0}]


def test_a_study_keeps_tables_apart_and_reads_them_again(tmp_path):
    study = StudyData.opened("degrees", tmp_path)
    study.replace_rows("", [{"dataset": "a", "x": 1}], same=["dataset"])
    study.replace_rows("more", [{"dataset": "a", "y": 2}], same=["dataset"])
    study.write()
    write_rows([{"z": 3}], tmp_path / "degreesque.json")
    again = StudyData.opened("degrees", tmp_path)
    assert again.tables == {"": [{"dataset": "a", "x": 1}], "more": [{"dataset": "a", "y": 2}]}
    assert [p.name for p in again.paths()] == ["degrees-more.json", "degrees.json"]


def test_given_tables_take_the_place_of_those_in_the_folder(tmp_path):
    for x in (1, 2):
        tables = {"": [{"x": x}], "more": [{"y": x}]}
        StudyData("s", tmp_path, tables).write()
        assert StudyData.opened("s", tmp_path).tables == tables


def test_new_rows_take_the_place_of_those_they_agree_with(tmp_path):
    study = StudyData.opened("s")
    study.replace_rows("", [{"a": 1, "b": 1, "x": 0}, {"a": 1, "b": 2, "x": 0}], same=["a", "b"])
    study.replace_rows("", [{"a": 1, "b": 2, "x": 5}, {"a": 1, "b": 2, "x": 6}], same=["a", "b"])
    assert [row["x"] for row in study.rows] == [0, 5, 6]
    study.write()
    assert study.paths() == []


def test_the_main_table_is_written_last(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr("heterophily.studies.tidy.write_rows", lambda rows, path: written.append(path.name))
    study = StudyData("s", tmp_path, {"": [], "trace": [], "matrices": []})
    study.write()
    assert written[-1] == "s.json"
    assert set(written[:2]) == {"s-trace.json", "s-matrices.json"}


def test_two_commands_on_one_folder_keep_the_rows_of_both(tmp_path):
    first, second = StudyData.opened("s", tmp_path), StudyData.opened("s", tmp_path)
    for study, model in ((first, "gcn"), (second, "mlp"), (first, "gat")):
        study.replace_rows("", [{"model": model, "x": 1}], same=["model"])
        study.replace_rows("more", [{"model": model, "y": 2}], same=["model"])
        study.write()
    for table in ("", "more"):
        kept = StudyData.opened("s", tmp_path).tables[table]
        assert [row["model"] for row in kept] == ["gcn", "mlp", "gat"]
    assert first.tables == StudyData.opened("s", tmp_path).tables
    second.replace_rows("", [{"model": "gat", "x": 5}], same=["model"])
    second.write()
    assert filter_rows(StudyData.opened("s", tmp_path).rows, model="gat") == [{"model": "gat", "x": 5}]


def test_rows_that_another_command_dropped_do_not_come_back(tmp_path):
    begun = StudyData.opened("s", tmp_path)
    begun.replace_rows("", [{"model": m, "x": 1} for m in ("gcn", "mlp")], same=["model"])
    begun.write()
    late, other = StudyData.opened("s", tmp_path), StudyData.opened("s", tmp_path)
    other.drop_rows_unless(lambda row: row["model"] != "mlp")
    other.write()
    late.replace_rows("", [{"model": "gat", "x": 1}], same=["model"])
    late.write()
    assert unique_values(StudyData.opened("s", tmp_path).rows, "model") == ["gcn", "gat"]


def test_many_at_once_lose_nothing(tmp_path):
    def command(name):
        study = StudyData.opened("s", tmp_path)
        for i in range(5):
            study.replace_rows("", [{"model": name, "split": i}], same=["model", "split"])
            study.write()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(command, "abcd"))
    rows = StudyData.opened("s", tmp_path).rows
    assert sorted((r["model"], r["split"]) for r in rows) == [(m, i) for m in "abcd" for i in range(5)]
    assert sorted(p.name for p in tmp_path.iterdir()) == [".s.lock", "s.csv", "s.json"]


def test_what_could_not_be_written_is_written_the_next_time(tmp_path, monkeypatch):
    study = StudyData.opened("s", tmp_path)
    study.replace_rows("", [{"x": 1}], same=["x"])

    def full(rows, path):
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr("heterophily.studies.tidy.write_rows", full)
        with pytest.raises(OSError, match="no room"):
            study.write()
    study.write()
    assert StudyData.opened("s", tmp_path).rows == [{"x": 1}]
