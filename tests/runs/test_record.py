"""One run, one record: written whole or not at all, merged by copying, packed into one file."""

import json
import os
import shutil
from dataclasses import replace

import pytest

from heterophily import HeterophilyError
from heterophily.core.errors import HeterophilyWarning
from heterophily.htmp.method import translate_settings
from heterophily.runs import record as module
from heterophily.runs.record import (
    Record,
    find_record,
    latest,
    pack_records,
    path_of,
    read_record,
    read_records,
    write_record,
)

FACTS = {
    "key": "ab" * 32,
    "model": "gcn",
    "dataset": "small",
    "split": "0",
    "seed": 3,
    "settings": {"width": 4, "activation": "relu", "residual": False},
    "preset": "published",
    "source": "defaults",
    "recipe": "r" * 64,
    "checksum": "c" * 64,
}


def record(**changes):
    run = {
        "scores": {"test": {"accuracy": 0.5, "f1_macro": 0.25}, "val": {"accuracy": 0.75}},
        "curve": {"loss": [1.0, 0.1 + 0.2]},
        "n_epochs": 2,
    }
    return Record(**{**FACTS, "run": run, "finished": "2024-01-01T00:00:00.000+00:00", **changes})


def refused(words):
    return pytest.raises(HeterophilyError, match=words)


def test_a_record_comes_back_as_it_was(tmp_path):
    one = record(reason="é\u2028\x85\n", parameters=7, environment={"gpu": ""}, details={"a": [[0.1]]})
    path = write_record(tmp_path, one)
    assert path == path_of(tmp_path, one)
    assert read_record(path) == one
    assert Record.from_dict(one.to_dict()) == one
    assert json.loads(path.read_text(encoding="utf-8"))["split"] == "0"


def test_a_score_has_a_part_and_a_scoring():
    one = record()
    assert (one.score(), one.score("val"), one.score(scoring="f1_macro")) == (0.5, 0.75, 0.25)


def test_only_done_is_done():
    assert record().done
    assert not any(record(status=status).done for status in module.FAILURES)


def test_a_record_is_replaced_whole_or_stays(tmp_path, monkeypatch):
    old = record(status="error", reason="x" * 100_000)
    path = write_record(tmp_path, old)
    seen, original = [], os.replace

    def check(source, target):
        seen.append((read_record(path), read_records(tmp_path)))
        original(source, target)

    monkeypatch.setattr(os, "replace", check)
    write_record(tmp_path, record())
    assert seen == [(old, [old])]
    assert read_records(tmp_path) == [record()]


def test_a_write_that_fails_leaves_the_old_record_and_no_other_file(tmp_path, monkeypatch):
    path = write_record(tmp_path, record(status="error"))
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space left"):
        write_record(tmp_path, record())
    assert read_record(path).status == "error"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("name", ["..", ".hidden", "", "a/b", "a b", "../../x", "ü+", "."])
def test_any_name_has_a_place_in_the_folder(tmp_path, name):
    folder = tmp_path / "results"
    ones = [record(**{field: name}) for field in ("model", "dataset", "split")]
    paths = [write_record(folder, one) for one in ones]
    assert all(path.resolve().parents[2] == folder for path in paths)
    assert sorted(map(repr, read_records(folder))) == sorted(map(repr, ones))


def test_records_that_differ_only_in_their_key_lie_side_by_side(tmp_path):
    ones = [record(), record(key="cd" * 32)]
    assert len({write_record(tmp_path, one) for one in ones}) == 2
    assert len(read_records(tmp_path)) == 2


def test_records_are_sorted(tmp_path):
    cells = [("b", "m", "0"), ("a", "z", "0"), ("a", "m", "1"), ("a", "m", "0")]
    for dataset, model, split in cells:
        write_record(tmp_path, record(dataset=dataset, model=model, split=split))
    assert [(r.dataset, r.model, r.split) for r in read_records(tmp_path)] == sorted(cells)


def test_folders_are_merged_by_copying(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    both = record(split="both", key="1" * 64)
    mine, other = record(split="mine", key="2" * 64), record(split="other", key="3" * 64)
    for folder, ones in ((here, (both, mine)), (there, (both, other))):
        for one in ones:
            write_record(folder, one)
    shutil.copytree(there, here, dirs_exist_ok=True)
    assert read_records(here) == [both, mine, other]


def test_what_a_killed_writer_left_is_no_record(tmp_path):
    path = write_record(tmp_path, record())
    (path.parent / f".{path.name}.x7w_1k0q").write_text('{"key": "ab')
    (path.parent / f".{path.name}").write_text('{"key": "ab')
    (tmp_path / ".work").mkdir()
    (tmp_path / ".work" / "0.json").write_text("{")
    assert read_records(tmp_path) == [record()]


def test_records_pack_into_one_file_and_come_back(tmp_path):
    ones = [record(reason="a\u2028b\x85c\nd"), record(split="1", run={}, status="time")]
    path = pack_records(ones, tmp_path / "deep" / "all.jsonl", curves=True)
    assert read_records(path) == ones
    assert path.read_bytes().count(b"\n") == 2
    short = read_records(pack_records(ones, tmp_path / "short.jsonl"))
    assert "curve" not in short[0].run
    assert short[0].run["scores"] == ones[0].run["scores"]
    assert ones[0].run["curve"]
    assert [replace(r, run={}) for r in short] == [replace(r, run={}) for r in ones]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"3", b'{"model": "gcn"}', b'{"strange": 1}', b"\xff\xfe\x00", b"\x00" * 50]
)
def test_a_broken_record_is_left_out_and_named(tmp_path, content):
    kept, path = write_record(tmp_path, record(split="1")), write_record(tmp_path, record())
    path.write_bytes(content)
    words = f"{path} is not a valid record of a run: "
    with refused(words):
        read_record(path)
    assert find_record(path) is None
    with pytest.warns(HeterophilyWarning, match=f"1 damaged record was skipped, for example: {words}"):
        assert read_records(tmp_path) == [read_record(kept)]


def test_files_that_are_no_records_are_counted(tmp_path):
    for i in range(3):
        write_record(tmp_path, record(split=str(i))).write_text("{}")
    with pytest.warns(HeterophilyWarning, match="3 damaged records were skipped, for example: .*0-seed3.*"):
        assert read_records(tmp_path) == []


def test_fields_of_a_later_version_are_passed_over(tmp_path):
    path = write_record(tmp_path, record())
    path.write_text(json.dumps({**record().to_dict(), "gpu_hours": 3}))
    assert read_record(path) == record()


def test_no_file_is_no_record(tmp_path):
    assert find_record(tmp_path / "none.json") is None


def test_a_broken_line_is_named(tmp_path):
    path = pack_records([record(), record()], tmp_path / "all.jsonl")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.warns(
        HeterophilyWarning, match="all.jsonl, line 2 is not a valid record of a run: it is not valid JSON"
    ):
        assert [one.key for one in read_records(path)] == [record().key]


def test_no_folder_is_no_results(tmp_path):
    with refused(".*nowhere does not contain results; create them with `heterophily bench --out .*nowhere`"):
        read_records(tmp_path / "nowhere")


def test_the_latest_settings_count(tmp_path):
    old = [record(split=str(i), finished=f"2024-01-0{i + 1}") for i in range(3)]
    new = [
        record(split="0", settings={"width": 5}, finished="2024-01-04"),
        record(split="1", settings={"width": 5}, finished="2023"),
    ]
    other = [record(model="mlp", finished="2020"), record(model="mlp", dataset="x", finished="2020")]
    found = latest([*new, *old, *other])
    assert found == {("gcn", "small"): new, ("mlp", "small"): other[:1], ("mlp", "x"): other[1:]}
    assert latest(old)[("gcn", "small")] == old


@pytest.mark.parametrize("change", [{"checksum": "d"}, {"settings": {"width": 5}}, {"version": 2}])
def test_runs_of_other_data_settings_or_code_are_not_mixed(change):
    old, new = record(finished="2024"), record(finished="2025", split="1", **change)
    assert latest([old, new]) == {("gcn", "small"): [new]}


def test_name_and_settings_identify_a_built_in_method_and_the_stored_digest_any_other():
    assert record().identity == record(recipe="older").identity
    assert record().identity != record(settings={"width": 5}).identity
    assert record(model="mine").identity == record().recipe
    assert record(settings={"gone": 5}).identity == record().recipe


def test_renamed_settings_are_translated():
    stored = {"hidden_share": 0.5, "hetero_message": "neighbour", "width": 4}
    current = {"masked_fraction": 0.5, "hetero_message": "neighbor", "width": 4}
    assert translate_settings(stored) == translate_settings(current) == current


def test_methods_are_compared_on_one_graph():
    old = [record(finished="2024"), record(model="mlp", finished="2024")]
    new = record(model="mlp", finished="2025", checksum="new")
    assert latest([*old, new]) == {("mlp", "small"): [new]}


def test_what_failed_does_not_replace_what_is_finished():
    done = record(finished="2024")
    bad = record(finished="2025", settings={"width": 5}, status="memory", run={})
    assert latest([done, bad]) == {("gcn", "small"): [done]}
    assert latest([bad]) == {("gcn", "small"): [bad]}


def test_splits_and_seeds_are_runs_of_one_kind():
    ones = [record(), record(split="1"), record(seed=9)]
    assert latest(ones) == {("gcn", "small"): ones}


def test_a_record_of_the_first_version_says_nothing_of_it():
    facts = record().to_dict()
    del facts["version"]
    assert Record.from_dict(facts).version == 1
