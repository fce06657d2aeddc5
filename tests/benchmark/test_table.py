"""From made-up records to the table, and its spellings."""

import csv
import io
import json
import random
import re
import sys
from html.parser import HTMLParser
from statistics import mean, stdev

import pytest
from rich.console import Console

from heterophily.benchmark.significance import TEST_TO_TRAIN, against_best
from heterophily.benchmark.table import Entry, build_table
from heterophily.commands.main import main
from heterophily.core.errors import HeterophilyError
from heterophily.data.published import Published
from heterophily.runs.record import Record, pack_records, write_record
from heterophily.views.tables import format_of, number, p_text, render_table, signed, text_view

PART = {"train": 48, "val": 32, "test": 20}


def record(model="gcn", dataset="actor", split=0, value=0.3, **fields):
    facts = {
        "key": f"{model}-{dataset}-{split}-{fields.get('seed', split)}-{fields.get('recipe', '')}",
        "model": model,
        "dataset": dataset,
        "split": str(split),
        "seed": split,
        "settings": {},
        "preset": "reference",
        "source": "reference",
        "recipe": f"row of {model}",
        "checksum": f"sum of {dataset}",
        "run": {"scores": {"test": {"accuracy": value, "f1_macro": value / 2}}},
        "details": {"split": PART},
        "finished": "2030-01-01",
    }
    return Record(**{**facts, **fields})


def failure(kind, model="gcn", dataset="actor", split=0, **fields):
    return record(model, dataset, split, status=kind, run={}, details={}, **fields)


def cell(model, dataset, *values):
    return [record(model, dataset, i, value / 100) for i, value in enumerate(values)]


@pytest.fixture(autouse=True)
def _three_runs(monkeypatch):
    """The paper's ten runs are three here."""
    monkeypatch.setattr("heterophily.benchmark.table.PAPER_RUNS", 3)


@pytest.fixture
def small():
    """Three methods on three datasets; gcn runs out of memory on flickr, mlp was not run there."""
    return [
        *cell("cmgnn", "actor", 37.0, 36.0, 38.0),
        *cell("gcn", "actor", 30.0, 29.5, 30.25),
        *cell("mlp", "actor", 36.9, 36.2, 37.8),
        *cell("cmgnn", "pubmed", 89.0, 90.0, 89.5),
        *cell("gcn", "pubmed", 89.25, 90.0, 89.75),
        *cell("mlp", "pubmed", 87.0, 87.5, 86.0),
        *cell("cmgnn", "flickr", 92.0, 92.5, 93.0),
        *[failure("memory", dataset="flickr", split=i) for i in range(3)],
    ]


def test_means_are_in_percent_with_the_sample_standard_deviation(small):
    entry = build_table(small).entries["cmgnn", "actor"]
    assert entry.mean == pytest.approx(37.0)
    assert entry.std == pytest.approx(1.0)  # sqrt(2 / (3 - 1)), not sqrt(2 / 3)
    assert entry.n == 3


def test_one_run_has_no_spread():
    entry = build_table([record(value=0.5)]).entries["gcn", "actor"]
    assert (entry.mean, entry.std, entry.n) == (50.0, None, 1)
    assert number(entry) == "50.00"


def test_models_and_datasets_come_in_the_papers_order_then_the_others():
    names = [("zeta", "zoo"), ("cmgnn", "photo"), ("alpha", "cora"), ("mlp", "roman-empire")]
    table = build_table([record(m, d) for m, d in names])
    assert table.models == ("mlp", "cmgnn", "alpha", "zeta")
    assert table.datasets == ("roman-empire", "photo", "cora", "zoo")
    assert len(list(table)) == 16


def test_chosen_models_and_datasets_keep_the_callers_order(small):
    table = build_table(small, models=["gcn", "cmgnn", "gcn"], datasets=["pubmed", "actor"])
    assert table.models == ("gcn", "cmgnn")
    assert table.datasets == ("pubmed", "actor")
    assert {entry.model for entry in table} == {"gcn", "cmgnn"}
    assert table.entries["cmgnn", "actor"].position == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"models": ["gnc"]}, 'unknown model in these results "gnc"; did you mean "gcn"'),
        ({"datasets": ["actr"]}, 'unknown dataset in these results "actr"; did you mean "actor"'),
        ({"models": []}, "expected at least one model; name one"),
        ({"scoring": "f1"}, 'unknown scoring of mlp on actor "f1"; available: accuracy, f1_macro'),
        ({"scoring": "f1_macro", "against": True}, "the paper reports only accuracy, not f1_macro"),
    ],
)
def test_unknown_names_are_told(small, options, words):
    with pytest.raises(HeterophilyError, match=words):
        build_table(small, **options)


def test_no_records_no_table():
    with pytest.raises(HeterophilyError, match="heterophily bench"):
        build_table([])


def test_another_scoring(small):
    assert build_table(small, scoring="f1_macro").entries["cmgnn", "actor"].mean == pytest.approx(18.5)


def test_failed_and_missing_cells(small):
    table = build_table(small)
    failed, missing = table.entries["gcn", "flickr"], table.entries["mlp", "flickr"]
    assert (failed.mean, failed.n, failed.failed, failed.failure_label) == (None, 0, {"memory": 3}, "OOM")
    assert (missing.mean, missing.n, missing.failed, missing.failure_label) == (None, 0, {}, "–")
    assert (failed.rank, failed.position, failed.not_significantly_worse) == (None, 0, None)


@pytest.mark.parametrize(
    ("kinds", "mark"),
    [
        (["memory"], "OOM"),
        (["time"], "time"),
        (["error"], "error"),
        (["error", "memory"], "OOM"),
        (["killed"], "–"),
        (["interrupted"], "–"),
    ],
)
def test_what_stands_for_a_failure(kinds, mark):
    table = build_table([failure(kind, split=i) for i, kind in enumerate(kinds)])
    assert number(table.entries["gcn", "actor"]) == mark


def test_a_partly_finished_cell_says_so(small):
    records = [*small, failure("time", "gcn", "actor", 3), record("cmgnn", "actor", 3, 0.37)]
    table = build_table(records)
    assert number(table.entries["gcn", "actor"]) == "29.92 ± 0.38 (3/4)"
    assert number(table.entries["cmgnn", "actor"]) == "37.00 ± 0.82"
    assert not table.entries["gcn", "flickr"].partial


def test_runs_that_failed_everywhere_were_planned_too():
    entry = build_table([record(), failure("time", split=1)]).entries["gcn", "actor"]
    assert entry.partial


def test_only_the_newest_kind_of_settings_counts():
    old = [record(split=i, value=0.9, settings={"width": 3}, finished="2029-01-01") for i in range(5)]
    new = [record(split=i, value=0.3, settings={"width": 5}) for i in range(2)]
    entry = build_table([*new, *old]).entries["gcn", "actor"]
    assert (entry.n, entry.mean) == (2, pytest.approx(30.0))


def test_a_run_counts_once_a_finished_one_before_a_failed_one():
    records = [
        record(value=0.2, finished="2030-01-01"),
        record(value=0.4, finished="2030-01-02"),
        failure("error", finished="2030-01-03"),
    ]
    for order in (records, records[::-1]):
        entry = build_table(order).entries["gcn", "actor"]
        assert (entry.n, entry.mean, entry.failed) == (1, pytest.approx(40.0), {})


def test_places_and_ranks_of_a_dataset(small):
    table = build_table(small)
    assert [(e.model, e.position, e.rank) for e in table.column("pubmed")] == [
        ("mlp", 0, 3.0),
        ("gcn", 1, 1.0),
        ("cmgnn", 2, 2.0),
    ]
    assert [e.position for e in table.column("actor")] == [2, 0, 1]


def test_scores_that_look_alike_share_a_place():
    records = [
        *cell("mlp", "actor", 36.0),
        *cell("gcn", "actor", 36.001),
        *cell("gat", "actor", 35.0),
        *cell("gcnii", "actor", 34.0),
    ]
    table = build_table(records)
    assert [e.position for e in table.column("actor")] == [1, 1, 2, 0]
    assert [e.rank for e in table.column("actor")] == [2.0, 1.0, 3.0, 4.0]
    equal = build_table([*cell("mlp", "actor", 36.0), *cell("gcn", "actor", 36.0)])
    assert [e.rank for e in equal.column("actor")] == [1.5, 1.5]


def test_the_average_rank_is_over_datasets_that_all_methods_have(small):
    table = build_table(small)
    assert table.ranked == ("actor", "pubmed")
    assert table.average_ranks == {"mlp": 2.5, "gcn": 2.0, "cmgnn": 1.5}
    narrow = build_table(small, models=["cmgnn"])
    assert narrow.ranked == ("actor", "flickr", "pubmed")
    none = build_table(small, datasets=["flickr"])
    assert (none.ranked, none.average_ranks) == ((), {})
    assert "No average rank" in render_table(none, "md")


def test_a_method_with_fewer_runs_has_no_place_and_is_ranked_on_shared_runs():
    """Its only split is the easiest one, on which it is worse than the others."""
    records = [
        *cell("mlp", "actor", 90.0, 50.0, 52.0),
        *cell("gcn", "actor", 89.0, 48.0, 49.0),
        *cell("cmgnn", "actor", 88.0),
    ]
    table = build_table(records)
    assert [e.position for e in table.column("actor")] == [1, 2, 0]
    assert [e.rank for e in table.column("actor")] == [1.0, 2.0, 3.0]
    assert [c.other for c in table.comparisons["actor"]] == ["gcn"]
    assert table.untested == {"actor": ["cmgnn"]}
    text = render_table(table, "md")
    assert "best and second are chosen among the methods with the most runs" in text
    assert "Not tested for want of shared splits: cmgnn on actor." in text


def test_methods_that_share_no_run_have_no_rank():
    table = build_table([*cell("mlp", "actor", 36.0), record("gcn", "actor", 5, 0.3)])
    assert [e.rank for e in table.column("actor")] == [None, None]
    assert table.average_ranks == {}


def test_what_is_left_out_is_counted():
    old = [record(split=i, settings={"width": 3}, finished="2029-01-01") for i in range(5)]
    table = build_table([*old, record(), record("mlp", "pubmed")])
    assert table.n_excluded == 5
    assert "5 records of other settings, graphs, or versions are excluded" in render_table(table, "text")
    assert build_table([*old, record(), record("mlp", "pubmed")], datasets=["pubmed"]).n_excluded == 0


def test_significance_is_that_of_the_paired_test(small):
    table = build_table(small)
    scores = {
        "mlp": {("0", 0): 36.9, ("1", 1): 36.2, ("2", 2): 37.8},
        "gcn": {("0", 0): 30.0, ("1", 1): 29.5, ("2", 2): 30.25},
        "cmgnn": {("0", 0): 37.0, ("1", 1): 36.0, ("2", 2): 38.0},
    }
    expected = against_best(scores, test_to_train=20 / 48)
    for one, other in zip(table.comparisons["actor"], expected, strict=True):
        assert (one.best, one.other) == ("cmgnn", other.other)
        assert one.p_holm == pytest.approx(other.p_holm)
    assert [e.not_significantly_worse for e in table.column("actor")] == [True, False, None]
    assert "flickr" not in table.comparisons
    strict = build_table(small, alpha=1e-9)
    assert [e.not_significantly_worse for e in strict.column("actor")] == [True, True, None]


def test_sizes_of_the_splits_come_from_the_records_or_are_the_papers(small):
    half = [record(split=i, details={"split": {"train": 50, "val": 25, "test": 25}}) for i in (0, 1)]
    bare = [record("gcn", "pubmed", i, details={}) for i in (0, 1)]
    table = build_table([*half, *bare])
    assert table.test_to_train == {"actor": 0.5, "pubmed": TEST_TO_TRAIN}
    wide = [record("mlp", "actor", i, 0.2 + i / 10, details=half[0].details) for i in (0, 1)]
    found = build_table([*half, *wide]).comparisons["actor"][0]
    scores = {m: {("0", 0): 30.0, ("1", 1): 30.0} for m in ("gcn", "mlp")}
    scores["mlp"]["0", 0] = 20.0
    assert found.p == pytest.approx(against_best(scores, test_to_train=0.5)[0].p)


def test_friedman_stands_in_the_table_or_why_not(small):
    table = build_table(small)
    assert table.ranking.datasets == ("actor", "pubmed")
    assert table.ranking.ranks == {"cmgnn": 1.5, "gcn": 2.0, "mlp": 2.5}
    two = build_table(small, models=["gcn", "mlp"])
    assert two.ranking is None
    assert "got 2 and 2" in two.unranked
    assert "No test over datasets: Friedman's test needs" in render_table(two, "md")


def compared(mean, published, std):
    return Entry("gcn", "actor", mean=mean, std=1.0, n=10, published=Published(published, std))


@pytest.mark.parametrize(
    ("mean", "std", "verdict"),
    [
        (50.0, 0.1, True),
        (60.0, 0.1, True),
        (49.7, 0.1, True),
        (49.69, 0.1, False),
        (49.69, 1.2, False),
        (49.01, 4.0, True),
        (49.0, 4.0, True),
        (48.99, 4.0, False),
    ],
)
def test_the_verdict(mean, std, verdict):
    entry = compared(mean, 50.0, std)
    assert entry.verdict is verdict
    assert entry.difference == pytest.approx(mean - 50)


def test_there_is_no_verdict_before_the_ten_runs_of_the_paper(small, monkeypatch):
    monkeypatch.setattr("heterophily.benchmark.table.PAPER_RUNS", 10)
    entries = build_table(small, against=True).entries
    assert entries["cmgnn", "actor"].planned == 10
    assert all(entry.verdict is None for entry in entries.values())
    assert build_table(small).entries["cmgnn", "actor"].planned < 10


def test_without_a_number_on_either_side_there_is_no_verdict():
    for entry in (compared(None, 50.0, 1.0), compared(50.0, None, None), Entry("a", "b", mean=1.0)):
        assert entry.difference is None
        assert entry.verdict is None


def test_against_the_paper(small):
    entries = build_table(small, against=True).entries
    assert entries["cmgnn", "actor"].published == Published(36.82, 0.78)
    assert entries["cmgnn", "actor"].difference == pytest.approx(0.18)
    assert build_table(small).entries["cmgnn", "actor"].published is None
    own = build_table([record("mine", "actor")], against=True)
    assert own.entries["mine", "actor"].published is None


@pytest.mark.parametrize(
    ("value", "text"), [(0.184, "+0.18"), (-0.5, "−0.50"), (0.0, "0.00"), (-0.004, "0.00"), (0.005001, "+0.01")]
)
def test_signs(value, text):
    assert signed(value) == text


def test_probabilities_are_spelt_as_exactly_as_they_are():
    assert [p_text(p) for p in (1.0, 0.04999, 0.00012, 0.0)] == ["1.000", "0.050", "1.2e-04", "0.000"]


def test_json_is_a_list_of_cells(small):
    cells = json.loads(render_table(build_table(small), "json"))
    assert len(cells) == 9
    first = next(c for c in cells if (c["model"], c["dataset"]) == ("cmgnn", "actor"))
    assert first["mean"] == pytest.approx(37.0)
    assert first["std"] == pytest.approx(1.0)
    assert (first["n"], first["rank"], first["average_rank"]) == (3, 1.0, 1.5)
    assert "published" not in first
    blank = next(c for c in cells if (c["model"], c["dataset"]) == ("gcn", "flickr"))
    assert (blank["mean"], blank["std"], blank["n"]) == (None, None, 0)
    assert blank["failed"] == {"memory": 3}


def test_json_against_the_paper(small):
    cells = json.loads(render_table(build_table(small, against=True), "json"))
    found = {(c["model"], c["dataset"]): c for c in cells}
    assert found["gcn", "pubmed"]["published"] == 87.7
    assert found["gcn", "pubmed"]["difference"] == pytest.approx(89.6667 - 87.7, abs=1e-3)
    assert found["gcn", "pubmed"]["reproduced"] is True
    assert found["mlp", "flickr"]["published"] == 89.82
    assert found["mlp", "flickr"]["difference"] is None


def test_csv_has_a_row_per_cell(small):
    rows = list(csv.DictReader(io.StringIO(render_table(build_table(small, against=True), "csv"))))
    assert len(rows) == 9
    found = {(row["model"], row["dataset"]): row for row in rows}
    assert float(found["cmgnn", "actor"]["mean"]) == pytest.approx(37.0)
    assert found["gcn", "flickr"]["mean"] == ""
    assert found["gcn", "flickr"]["failed"] == "memory:3"
    assert found["mlp", "actor"]["published"] == "36.7"


def test_csv_of_a_method_without_published_numbers_keeps_its_columns(small):
    table = build_table([*cell("mine", "actor", 30.0), *small], against=True)
    rows = list(csv.DictReader(io.StringIO(render_table(table, "csv"))))
    mine = next(r for r in rows if r["model"] == "mine")
    assert mine["published"] == ""


def test_markdown_marks_best_second_and_level(small):
    lines = render_table(build_table(small, against=True), "md").splitlines()
    assert lines[0] == "| method | actor | flickr | pubmed | average rank |"
    assert lines[1] == "| --- | ---: | ---: | ---: | ---: |"
    rows = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in lines[2:5]}
    assert rows["cmgnn"][0].strip() == "**37.00 ± 1.00**<br><sub>36.82, +0.18</sub>"
    assert rows["mlp"][0].strip() == "<u>36.97 ± 0.80</u>†<br><sub>36.70, +0.27</sub>"
    assert rows["gcn"][0].strip() == "29.92 ± 0.38<br><sub>30.11, −0.19</sub>"
    assert rows["gcn"][1].strip() == "OOM<br><sub>68.25</sub>"
    assert rows["mlp"][1].strip() == "–<br><sub>89.82</sub>"
    assert [row[3].strip() for row in rows.values()] == ["2.5", "2.0", "1.5"]
    text = "\n".join(lines)
    assert "sample standard deviation (n − 1) of the test accuracy" in text
    assert "over the 2 of 3 datasets on which all 3 methods share runs, by the means of those" in text
    assert "Holm's correction, level 0.05" in text
    assert "Over 2 datasets, Friedman: χ² = 1.00, p = 0.607" in text


def test_what_the_paper_leaves_out_of_memory_is_told():
    table = build_table(cell("hog-gcn", "pubmed", 88.0, 88.5, 89.0), against=True)
    assert "88.50 ± 0.50**<br><sub>OOM</sub>" in render_table(table, "md")


def test_names_cannot_break_a_table():
    table = build_table(cell("a|b_<c>&%$#{}~^\\", "d_e", 50.0, 51.0))
    assert "| a\\|b\\_\\<c\\>&%$#{}~^\\\\ |" in render_table(table, "md")
    latex = render_table(table, "latex")
    assert r"a|b\_$<$c$>$\&\%\$\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{} &" in latex
    assert "Method & d\\_e & Rank" in latex
    assert "a|b_&lt;c&gt;&amp;%$#{}~^\\</th>" in render_table(table, "html")
    assert "[red]" in render_table(build_table(cell("[red]", "[b]", 50.0)), "text")


def test_latex_is_a_booktabs_table(small):
    text = render_table(build_table(small, against=True), "latex")
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    assert lines[0] == r"\begin{tabular}{lrrrr}"
    assert [lines[1], lines[3], *lines[-2:]] == [r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}"]
    rows = [lines[2], *lines[4:-2]]
    assert len(rows) == 4
    assert all(row.endswith(r" \\") and row.count(" & ") == 4 for row in rows)
    assert r"\textbf{37.00 $\pm$ 1.00} {\scriptsize (36.82, +0.18)}" in text
    assert r"\underline{36.97 $\pm$ 0.80}$^\dagger$" in text
    assert "& -- {" in text
    body = "\n".join(lines)
    assert body.isascii()
    assert body.count("{") == body.count("}")
    assert body.count("$") % 2 == 0


class Cells(HTMLParser):
    """Texts of cells, and whether all tags are closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.rows = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def test_html_is_a_page_that_can_be_walked(small):
    text = render_table(build_table(small, against=True), "html")
    page = Cells()
    page.feed(text)
    assert not page.open
    assert text.startswith("<!doctype html>")
    assert ("html", {"lang": "en"}) in page.tags
    assert page.rows[0] == ["method", "actor", "flickr", "pubmed", "average rank"]
    assert page.rows[3] == [
        "cmgnn",
        "37.00 ± 1.00, best; paper 36.82, +0.18",
        "92.50 ± 0.50, best; paper 92.66, −0.16",
        "89.50 ± 0.50, second†; paper 89.99, −0.49",
        "1.5",
    ]
    scopes = [attrs["scope"] for tag, attrs in page.tags if tag == "th"]
    assert scopes == ["col"] * 5 + ["row"] * 3
    assert "<caption>Test accuracy in percent</caption>" in text
    assert "<strong>37.00 ± 1.00</strong>" in text
    assert '<span aria-label="missing">–</span>' in text
    assert not re.search(r"https?://|<script", text)


def test_text_shows_places_without_colors(small):
    lines = render_table(build_table(small, against=True), "text").splitlines()
    row = next(i for i, line in enumerate(lines) if line.strip().startswith("cmgnn"))
    assert "¹37.00 ± 1.00" in lines[row]
    assert "36.82, +0.18" in lines[row + 1]
    assert lines[row].endswith(" 1.5")
    assert any("†²36.97 ± 0.80" in line for line in lines)
    assert any("OOM" in line for line in lines)
    assert lines == [line.rstrip() for line in lines]


def test_the_terminal_shows_best_bold_and_second_underlined(small):
    screen = Console(force_terminal=True, width=140, color_system="standard", legacy_windows=False)
    with screen.capture() as capture:
        screen.print(text_view(build_table(small)))
    text = capture.get()
    assert "\x1b[1m37.00 ± 1.00\x1b[0m" in text
    assert "\x1b[4m36.97 ± 0.80\x1b[0m" in text


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_narrow_terminal_gets_blocks_of_datasets(width):
    names = ("actor", "flickr", "amazon-ratings", "wikics", "pubmed", "photo", "roman-empire")
    table = build_table([r for d in names for r in cell("ordered-gnn", d, 50.0, 51.0)])
    screen = Console(width=width)
    with screen.capture() as capture:
        screen.print(text_view(table, width=width))
    text = capture.get()
    assert "…" not in text
    assert text.count("¹50.50 ± 0.71") == 7
    assert all(name in text for name in names)
    assert text.count("rank ") >= 1
    assert sum(line.split()[:1] == ["ordered-gnn"] for line in text.splitlines()) == {60: 4, 80: 2, 140: 1}[width]


@pytest.mark.parametrize(
    ("name", "kind"), [("a.md", "md"), ("a.TEX", "latex"), ("a.csv", "csv"), ("a.json", "json"), ("a", "text")]
)
def test_the_ending_tells_the_format(tmp_path, name, kind):
    assert format_of(tmp_path / name) == kind


def test_unknown_formats_are_told(small):
    with pytest.raises(HeterophilyError, match='unknown format of a table "htm"; did you mean "html"'):
        render_table(build_table(small), "htm")


@pytest.fixture
def run(monkeypatch, capsys, small, tmp_path):
    """Run `heterophily table` on the small results; returns exit code, output and complaints."""
    results = pack_records(small, tmp_path / "runs.jsonl")

    def call(*words, source=results):
        monkeypatch.setattr(sys, "argv", ["heterophily", "table", str(source), *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return call


@pytest.mark.parametrize("kind", ["md", "latex", "csv", "json", "html"])
def test_the_command_prints_every_format(run, small, kind):
    expected = render_table(build_table(small, against=True), kind)
    assert run("--format", kind, "--against", "paper") == (0, expected, "")


def test_the_command_prints_text_by_default(run):
    code, out, err = run()
    assert (code, err) == (0, "")
    assert "¹37.00 ± 1.00" in out
    assert "36.82" not in out


def test_the_command_chooses(run):
    code, out, _ = run("--format", "json", "--models", "gcn, mlp", "--datasets", "actor")
    assert code == 0
    assert [(c["model"], c["dataset"]) for c in json.loads(out)] == [("gcn", "actor"), ("mlp", "actor")]
    _, out, _ = run("--format", "json", "--scoring", "f1_macro", "--models", "all")
    assert json.loads(out)[0]["mean"] == pytest.approx(mean([36.9, 36.2, 37.8]) / 2)
    assert json.loads(out)[0]["std"] == pytest.approx(stdev([36.9, 36.2, 37.8]) / 2)


def test_the_command_reads_a_folder(run, small, tmp_path):
    random.Random(0).shuffle(small)
    for one in small:
        write_record(tmp_path / "results", one)
    assert run("--format", "md", source=tmp_path / "results") == run("--format", "md")


def test_the_command_writes_files(run, small, tmp_path):
    code, out, err = run("--out", tmp_path / "new" / "t.tex", "--diagram", tmp_path / "d.svg")
    assert (code, out) == (0, "")
    assert err == f"wrote {tmp_path / 'new' / 't.tex'}\nwrote {tmp_path / 'd.svg'}\n"
    assert (tmp_path / "new" / "t.tex").read_text() == render_table(build_table(small), "latex")
    assert (tmp_path / "d.svg").read_bytes().startswith(b"<?xml")
    run("--out", tmp_path / "t.tex", "--format", "csv")
    assert (tmp_path / "t.tex").read_text() == render_table(build_table(small), "csv")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--diagram", "d.jpg"], "a figure file with extension .png"),
        (["--diagram", "d.png", "--models", "gcn"], "needs three methods"),
        (["--models", "gnc"], 'did you mean "gcn"'),
        (["--scoring", "accurcy"], 'did you mean "accuracy"'),
        (["--against", "paper", "--scoring", "f1_macro"], "only accuracy"),
    ],
)
def test_the_command_refuses_in_a_sentence(run, words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert not (tmp_path / "d.png").exists()


def test_the_command_says_where_results_come_from(run, tmp_path):
    code, _, err = run(source=tmp_path / "nothing")
    assert code == 2
    assert "heterophily bench" in err
