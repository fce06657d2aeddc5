"""The commands `bench`, `pack` and `unpack`, run in this process."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from heterophily.benchmark import plan
from heterophily.commands.main import main
from heterophily.data.loading import load
from heterophily.runs.record import read_records, write_record


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run a command in `tmp_path`; its exit code and what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["heterophily", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        return end.value.code or 0, *(re.sub(r"\x1b\[[\d;]*m", "", text) for text in printed)

    return call


@pytest.fixture
def go(run, source):
    """Run `bench` on the small graph."""

    def call(*words, models="gcn", datasets="small.safetensors"):
        sets = ("--set", "max_epochs=3", "--set", "width=4", "--out", "results")
        return run("bench", "--models", models, "--datasets", datasets, *sets, *words)

    return call


def test_bench_says_what_it_does_in_plain_lines(go):
    code, out, err = go("--splits", "0-1")
    assert (code, out) == (0, "2 of 2 runs finished, 0 failed: results\n")
    first, *lines = err.splitlines()
    assert first == "0 of 2 runs are already finished"
    line = r"\[{}/2\] gcn on small, split [01]: test \d+\.\d\d%, validation \d+\.\d\d%, 3 epochs in \d+\.\d s"
    assert [bool(re.fullmatch(line.format(i), text)) for i, text in enumerate(lines, 1)] == [True] * 2
    code, out, err = go()
    assert (code, out) == (0, "3 of 3 runs finished, 0 failed: results\n")
    assert err.splitlines()[0] == "2 of 3 runs are already finished"
    assert len(err.splitlines()) == 2


def test_failures_end_with_code_one_and_may_be_retried(go, method_file, starts):
    method_file("bad", "raise ArithmeticError('odd')")
    code, out, err = go("--splits", 0, models="bad.py,gcn")
    assert (code, out) == (1, "1 of 2 runs finished, 1 failed: results\n")
    assert re.search(r"bad on small, split 0: failed \(error\), .*bad.py: ArithmeticError on line \d+: odd", err)
    code, out, err = go("--splits", 0, models="bad.py,gcn")
    assert (code, err) == (1, "1 of 2 runs are already finished, 1 failed earlier\n")
    assert starts() == {"bad": 1}
    assert go("--splits", 0, "--retry", models="bad.py,gcn")[0] == 1
    assert starts() == {"bad": 2}


@pytest.mark.parametrize(
    ("option", "value", "status"), [("--time-limit", 0.02, "time"), ("--memory-limit", 0.01, "memory")]
)
def test_limits_are_given_on_the_command_line(go, method_file, tmp_path, option, value, status):
    method_file("slow", "time.sleep(600)")
    code, _, err = go("--splits", 0, option, value, models="slow.py")
    assert code == 1
    assert f"failed ({status})" in err
    assert [record.status for record in read_records(tmp_path / "results")] == [status]


def test_the_number_of_threads_is_given_on_the_command_line(go, tmp_path):
    assert go("--splits", 0, "--threads", 2)[0] == 0
    (record,) = read_records(tmp_path / "results")
    assert record.environment["threads"] == 2


def test_seed_and_settings_are_given_on_the_command_line(go, tmp_path):
    go("--splits", "1", "--seed", 7, "--set", "dropout=0.25", "--workers", 1)
    (record,) = read_records(tmp_path / "results")
    assert (record.seed, record.settings["dropout"], record.source) == (8, 0.25, "command line")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--models gnc", 'unknown model "gnc"; did you mean "gcn"?'),
        ("--datasets corra", 'unknown dataset or file "corra"; did you mean "cora"?'),
        ("--datasets nowhere.npz", "no file or folder at nowhere.npz"),
        ("--models nowhere.py", "no file nowhere.py"),
        ("--splits 2-7", 'unknown split of small "2-7"'),
        ("--splits 2-1", 'unknown split of small "2-1"'),
        ("--set widht=3", 'unknown setting of gcn "widht"; did you mean "width"?'),
        ("--set width", "--set must have the form name=value, got 'width'"),
        ("--engine dusk", 'unknown engine "dusk"; did you mean "dask"?'),
        ("--engine ray --address here", "no Ray cluster at here (an address is host:port"),
        ("--engine dask", "--engine dask needs the --address of a cluster; on one machine, use --workers"),
        ("--set width=abc", "width must be an integer, got 'abc'"),
        ("--settings gnc.toml", "gnc.toml has settings for cora, but not for small"),
        ("--settings gnc.toml --models gcn,mlp", "settings file must be one of gcn, mlp, got gnc.toml"),
        ("--settings bad.toml", "bad.toml is not readable TOML"),
        ("--address tcp://here:1", "--address tcp://here:1 needs --engine dask or --engine ray"),
    ],
)
def test_a_problem_is_one_sentence_and_exit_code_two(go, tmp_path, words, sentence):
    (tmp_path / "gnc.toml").write_text("[cora]\nwidth = 8")
    (tmp_path / "bad.toml").write_text("[cora")
    code, out, err = go("--splits", 0, *words.split())
    assert (code, out) == (2, "")
    assert sentence in err
    assert list(tmp_path.rglob("*.json")) == []


def test_settings_of_a_file_stand_before_the_committed_ones(go, tmp_path):
    table = '[small]\nsource = "search"\npreset = "reference"\nlearning_rate = 0.25\nwidth = 9\n'
    (tmp_path / "gcn.toml").write_text(table)
    (tmp_path / "found.toml").write_text(table.replace('source = "search"\n', ""))
    words = ("--splits", 0, "--settings")
    assert go(*words, "gcn.toml", models="gcn,mlp")[0] == 0
    assert go(*words, "found.toml", "--splits", 1)[0] == 0
    found = {(r.model, r.split): r for r in read_records(tmp_path / "results")}
    for place in (("gcn", "0"), ("gcn", "1")):
        assert found[place].settings["learning_rate"] == 0.25
        assert found[place].settings["width"] == 4  # of --set
        assert found[place].preset == "reference"
    assert found["mlp", "0"].settings["learning_rate"] != 0.25


def test_a_dataset_that_cannot_be_had_is_left_out(go, monkeypatch, tmp_path):
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("HETEROPHILY_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("pooch.HTTPDownloader.__call__", _no_network)
    code, out, err = go("--splits", 0, datasets="cora,small.safetensors")
    assert (code, out) == (1, "1 of 1 runs finished, 0 failed: results\n")
    assert "skipped cora: cannot download" in err
    code, out, err = go("--splits", 0, datasets="cora")
    assert code == 2
    assert "cannot download" in err


def _no_network(*_, **__):
    raise OSError("no network")


def test_all_stands_for_the_paper(run, monkeypatch):
    seen = []
    monkeypatch.setattr(plan, "DATASETS", ("digits",))
    monkeypatch.setattr(
        "heterophily.benchmark.bench.run_jobs",
        lambda cells, out, **options: seen.extend(cells) or [cell.empty_record for cell in cells],
    )
    code, out, _ = run("bench", "--splits", "0-1", "--out", "results")
    assert (code, out) == (0, "28 of 28 runs finished, 0 failed: results\n")
    assert {cell.empty_record.model for cell in seen} == set(plan.MODELS)
    assert {cell.empty_record.checksum for cell in seen} == {load("digits").checksum}


def test_pack_puts_all_records_into_one_file(go, run, tmp_path):
    go("--splits", "0-1")
    code, out, err = run("pack", "results", "all.jsonl")
    assert (code, out, err) == (0, "wrote all.jsonl: 2 runs\n", "")
    records = read_records(tmp_path / "all.jsonl")
    assert [r.key for r in records] == [r.key for r in read_records(tmp_path / "results")]
    assert all("curve" not in r.run for r in records)
    run("pack", "results", "long.jsonl", "--curves")
    assert read_records(tmp_path / "long.jsonl") == read_records(tmp_path / "results")
    assert run("pack", "all.jsonl", "again.jsonl")[0] == 0
    assert (tmp_path / "again.jsonl").read_text() == (tmp_path / "all.jsonl").read_text()


def test_unpack_lays_records_where_bench_looks_for_them(go, run, tmp_path):
    go()
    run("pack", "results", "all.jsonl")
    code, out, _ = run("unpack", "all.jsonl", "again")
    before = {p: p.stat().st_mtime_ns for p in Path("again").rglob("*.json")}
    assert code == 0
    assert {p.name for p in before} == {p.name for p in Path("results").rglob("*.json")}
    assert out.startswith(f"wrote {len(before)} of {len(before)} runs to again")
    assert run("unpack", "all.jsonl", "again")[1].startswith(f"wrote 0 of {len(before)}")
    assert {p: p.stat().st_mtime_ns for p in Path("again").rglob("*.json")} == before


def test_unpack_puts_a_finished_run_in_place_of_a_failed_one(go, run, tmp_path):
    go()
    run("pack", "results", "all.jsonl")
    record, *_ = read_records(tmp_path / "results")
    write_record(tmp_path / "again", replace(record, status="killed"))
    run("unpack", "all.jsonl", "again")
    assert all(found.done for found in read_records(tmp_path / "again"))


def test_pack_of_nothing_is_refused(run, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "all.jsonl").write_text("precious")
    code, out, err = run("pack", "empty", "all.jsonl")
    assert (code, out) == (2, "")
    assert "empty contains no records, so all.jsonl is not written" in err
    assert (tmp_path / "all.jsonl").read_text() == "precious"
    code, out, err = run("pack", "nowhere", "all.jsonl")
    assert (code, out) == (2, "")
    assert "nowhere does not contain results" in err
