"""Findings 1, 4, 7, and 9: records of other people change nothing outside the folder and no table silently."""

import json

import pytest

from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.runs.record import Record, read_records, write_record
from heterophily.studies import STUDIES
from heterophily.views.page.data import read_studies
from heterophily.views.svg import draw_chart
from tests.robustness.kinds.results import STUDY_ROWS

ESCAPES = ["../../../escaped", "/tmp/escaped", "..\\..\\escaped", "a/../../b", "..", "\0", "x" * 5000]


def pack(path, *contents):
    path.write_text("".join(json.dumps(content) + "\n" for content in contents))
    return path


@pytest.mark.parametrize("field", ["key", "seed", "split", "dataset", "model"])
@pytest.mark.parametrize("value", ESCAPES)
def test_finding_01_unpack_writes_only_inside_its_folder(run, facts, tmp_path, field, value):
    packed = pack(tmp_path / "runs.jsonl", facts(**{field: value}))
    before = {path for path in tmp_path.rglob("*") if path != packed}
    if field in ("key", "seed"):
        with pytest.warns(HeterophilyWarning, match=f"1 damaged record was skipped.*{field}"):
            code, _ = run("unpack", packed, tmp_path / "deep" / "er" / "results")
    else:
        code, _ = run("unpack", packed, tmp_path / "deep" / "er" / "results")
    assert code == 0
    new = {path for path in tmp_path.rglob("*") if path != packed} - before
    assert all(path.is_relative_to(tmp_path / "deep") for path in new)
    records = [path for path in new if path.is_file()]
    assert all(path.is_relative_to(tmp_path / "deep" / "er" / "results") for path in records)
    assert len(records) == (field not in ("key", "seed"))


def test_finding_01_a_record_from_python_is_written_inside_its_folder(facts, tmp_path):
    folder = tmp_path / "deep" / "results"
    path = write_record(folder, Record(**facts(key="../../../escaped", dataset="../..")))
    assert path.resolve().is_relative_to(folder)


MISTYPED = {
    "key": 5,
    "seed": "x",
    "seed ": -1,
    "seed  ": 1e400,
    "model": None,
    "dataset": ["a"],
    "settings": [1],
    "settings ": {"width": {"deep": 1}},
    "run": 3,
    "run ": {"scores": 1},
    "run  ": {"scores": {"test": {"accuracy": "0.9"}}},
    "run   ": {"scores": {"test": [0.5]}},
    "run    ": {},
    "run     ": {"scores": {"test": {"accuracy": 5.0}}},
    "run      ": {"scores": {"test": {"f1_macro": -0.1, "accuracy": 0.5}}},
    "run       ": {"scores": {"test": {"accuracy": float("nan")}}},
    "run        ": {"scores": {"test": {"macro_f1": 7}}},
    "details": [],
    "details ": {"split": {"train": "many"}},
    "status": "great",
    "finished": 7,
    "finished ": "tomorrow",
    "version": "1",
    "environment": "here",
}


@pytest.mark.parametrize("field", MISTYPED)
def test_finding_04_a_damaged_record_is_skipped_with_a_warning_and_counted(run, facts, tmp_path, field):
    good = [facts(split=str(i), key=f"{i}" * 64) for i in range(3)]
    damaged = {**facts(split="9", key="9" * 64), field.strip(): MISTYPED[field]}
    packed = pack(tmp_path / "runs.jsonl", *good, damaged)
    with pytest.warns(HeterophilyWarning, match="1 damaged record was skipped.*line 4.*" + field.strip()):
        assert len(read_records(packed)) == 3
    for words in (("table", packed, "--format", "csv"), ("report", packed, "--out", tmp_path / "r.html")):
        with pytest.warns(HeterophilyWarning, match="1 damaged record"):
            code, text = run(*words)
        assert code == 0, text
    assert "149" not in run_quietly(run, packed)


def run_quietly(run, packed):
    with pytest.warns(HeterophilyWarning):
        return run("table", packed, "--format", "csv")[1]


@pytest.mark.parametrize(
    "line", ["[" * 100_000, '{"key": ' * 5000, '{"key": "\\ud800"}', "1" * 5000, '{"seed": ' + "9" * 5000 + "}"]
)
def test_finding_09_deeply_nested_and_huge_json_is_a_damaged_record(run, facts, tmp_path, line):
    packed = tmp_path / "runs.jsonl"
    packed.write_text(json.dumps(facts()) + "\n" + line + "\n")
    with pytest.warns(HeterophilyWarning, match="1 damaged record"):
        assert run("table", packed)[0] == 0


def test_a_file_of_other_content_has_no_records(run, tmp_path):
    (tmp_path / "text.jsonl").write_text("hello\nworld\n")
    with pytest.warns(HeterophilyWarning, match="2 damaged records were skipped"):
        assert run("table", tmp_path / "text.jsonl")[0] == 2


def test_a_split_without_test_nodes_does_not_end_the_table(run, facts, tmp_path):
    contents = [facts(split=str(i), key=f"{i}" * 64, details={"split": {"train": 5}}) for i in range(3)]
    assert run("table", pack(tmp_path / "runs.jsonl", *contents))[0] == 0


def test_finding_07_a_killed_run_with_a_date_in_the_future_runs_again(run, source, tmp_path):
    words = ("bench", "--models", "mlp", "--datasets", source, "--splits", "0", "--set", "max_epochs=2")
    words += ("--out", tmp_path / "results")
    assert run(*words)[0] == 0
    (path,) = (tmp_path / "results").glob("*/*/*.json")
    content = json.loads(path.read_text())
    killed = {**content, "status": "killed", "run": {}, "finished": "2999-01-01T00:00:00.000+00:00"}
    path.write_text(json.dumps(killed))
    assert run(*words)[0] == 0
    assert json.loads(path.read_text())["status"] == "done"
    path.write_text(json.dumps({**killed, "status": "error"}))
    assert run(*words)[0] == 1
    assert run(*words, "--retry")[0] == 0


@pytest.mark.parametrize("keep", [0, 1, 7])
@pytest.mark.parametrize("family", sorted({path.stem.split("-")[0] for path in STUDY_ROWS.glob("*.json")}))
def test_finding_09_study_tables_with_missing_rows_are_drawn_or_refused(tmp_path, family, keep):
    for path in STUDY_ROWS.glob(f"{family}*.json"):
        (tmp_path / path.name).write_text(json.dumps(json.loads(path.read_text())[:keep]))
    tables = read_studies(tmp_path)
    for study in (study for study in STUDIES.values() if family in study.files):
        for view in (study.charts, study.tables, study.findings, study.summary):
            try:
                view(tables)
            except HeterophilyError as error:
                assert "damaged or incomplete" in str(error)  # noqa: PT017


def test_finding_09_a_study_table_without_a_name_is_refused(tmp_path):
    rows = json.loads((STUDY_ROWS / "runtime.json").read_text())
    names = [name for name, value in rows[0].items() if isinstance(value, str)]
    messages = []
    for name in names:
        (tmp_path / "runtime.json").write_text(json.dumps([{**rows[0], name: None}, *rows[1:]]))
        try:
            charts = STUDIES["runtime"].charts(read_studies(tmp_path))
        except HeterophilyError as error:
            messages.append(str(error))
        else:
            assert all(draw_chart(chart) for chart in charts)
    assert any("categories must be texts" in message for message in messages)
