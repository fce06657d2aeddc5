"""Records, journals of searches, and tables of studies."""

import json
import tempfile
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

from heterophily.benchmark.table import build_table
from heterophily.runs.record import read_records
from heterophily.runs.store import Store
from heterophily.studies import STUDIES
from heterophily.tuning import search
from heterophily.views.page.build import write_report
from heterophily.views.page.data import read_studies
from heterophily.views.svg import draw_chart
from heterophily.views.tables import render_table
from tests.robustness.inputs import record_facts, small_graph
from tests.robustness.kinds.kind import Kind
from tests.robustness.strategies import changes, damaged, edited, edits, text

FORMATS = ["text", "md", "latex", "csv", "json", "html"]
STUDY_ROWS = Path(__file__).parents[3] / "docs" / "studies"
record_cases = st.tuples(
    st.one_of(changes, edits, st.dictionaries(st.sampled_from(["model", "dataset", "split"]), text, min_size=1)),
    st.sampled_from([*FORMATS, "unpack", "folder", "report"]),
)


def good_records():
    curve = {"loss": [1.0, 0.5], "val_accuracy": [0.5, 0.75], "seconds": [0.1, 0.1]}
    scores = {"test": {"accuracy": 0.5}, "val": {"accuracy": 0.75}}
    run = {"scores": scores, "n_epochs": 2, "curve": curve, "milliseconds_per_epoch": 2.0, "seconds": 1.0}
    details = {"split": {"train": 5, "val": 2, "test": 3}, "compatibility": [[0.5, 0.5], [0.5, 0.5]]}
    return [record_facts(split=str(i), key=f"{i}" * 64, run=run, details=details) for i in range(3)]


def attempt_records(case, folder):
    steps, use = case
    good = good_records()
    base = {**good[0], "split": "9", "key": "9" * 64, "model": "mlp"}
    lines = [json.dumps(each).encode() for each in good]
    if isinstance(steps, dict):
        lines.append(json.dumps({**base, **steps}).encode())
    elif isinstance(steps[0][0], str):
        lines.append(edited(json.dumps(base).encode(), steps).replace(b"\n", b" "))
    else:
        lines.append(json.dumps(damaged(base, steps)).encode())
    packed = folder / "in" / "runs.jsonl"
    packed.parent.mkdir()
    packed.write_bytes(b"\n".join(lines) + b"\n")
    found = read_records(packed)
    assert [r.key[:1] for r in found if r.model == "gcn" and r.dataset == "small"][:3] == ["0", "1", "2"]
    assert len(found) in (3, 4)
    if use == "unpack":
        before = set(folder.rglob("*"))
        Store(folder / "a" / "b" / "out").add(found)
        new = [path for path in set(folder.rglob("*")) - before if path.is_file()]
        assert all(path.resolve().is_relative_to(folder / "a" / "b" / "out") for path in new)
        assert len(read_records(folder / "a" / "b" / "out")) == len({(r.dataset, r.model, r.key) for r in found})
        return
    if use == "folder":
        path = folder / "results" / "small" / "gcn"
        path.mkdir(parents=True)
        for i, line in enumerate(lines):
            (path / f"{i}.json").write_bytes(line)
        found = read_records(folder / "results")
        assert len(found) in (3, 4)
        return
    if use == "report":
        write_report(packed, folder / "r.html", measure=False)
        return
    table = build_table(found, against=True)
    for entry in table:
        assert entry.mean is None or 0 <= entry.mean <= 100
    assert render_table(table, use)


@cache
def journal():
    """The journal of a finished search."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-search-"))
    run_search(folder, 2)
    return (folder / "study.journal").read_bytes()


def run_search(folder, trials):
    settings = {"max_epochs": 2, "patience": 2, "width": 4}
    return search("mlp", small_graph(), trials=trials, out=folder, splits="0", settings=settings)


journal_cases = st.tuples(
    st.one_of(
        st.tuples(st.just("bytes"), edits),
        st.tuples(st.just("line"), st.tuples(st.integers(0, 99), changes)),
        st.tuples(st.just("line"), st.tuples(st.integers(0, 99), changes)),
        st.tuples(st.just("order"), st.permutations(range(12))),
    ),
    st.sampled_from([2, 2, 2, 3]),
)


def attempt_journal(case, folder):
    (form, steps), trials = case
    content = journal()
    lines = content.splitlines()
    if form == "bytes":
        content = edited(content, steps)
    elif form == "order":
        content = b"\n".join([lines[i % len(lines)] for i in steps] + lines[12:]) + b"\n"
    else:
        i = steps[0] % len(lines)
        lines[i] = json.dumps(damaged(json.loads(lines[i]), steps[1])).encode()
        content = b"\n".join(lines) + b"\n"
    (folder / "study.journal").write_bytes(content)
    result = run_search(folder, trials)
    assert 0 <= result.value <= 1
    assert result.best.state == "done"


@cache
def study_rows():
    return {path.stem: json.loads(path.read_text())[:30] for path in sorted(STUDY_ROWS.glob("*.json"))}


STUDY_FILES = sorted(path.stem for path in STUDY_ROWS.glob("*.json"))
study_cases = st.tuples(
    st.sampled_from(STUDY_FILES),
    st.one_of(
        st.tuples(st.just("json"), changes),
        st.tuples(st.just("bytes"), edits),
        st.tuples(st.just("cut"), st.sets(st.integers(0, 29))),
    ),
)


def attempt_study(case, folder):
    name, (form, steps) = case
    family = name.split("-")[0]
    for other, rows in study_rows().items():
        if other.split("-")[0] != family:
            continue
        content = json.dumps(rows).encode()
        if other == name and form == "bytes":
            content = edited(content, steps)
        elif other == name:
            kept = [row for i, row in enumerate(rows) if i not in steps] if form == "cut" else damaged(rows, steps)
            content = json.dumps(kept).encode()
        (folder / f"{other}.json").write_bytes(content)
    tables = read_studies(folder)
    for study in STUDIES.values():
        if family in study.files:
            assert all(draw_chart(chart) for chart in study.charts(tables))
            study.tables(tables), study.findings(tables), study.summary(tables)


KINDS = [
    Kind("records", record_cases, attempt_records),
    Kind("journals", journal_cases, attempt_journal),
    Kind("study tables", study_cases, attempt_study),
]
