"""The results page from made-up runs, the diagram beside it, and the remarks on single cells."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.image import imread

from heterophily.benchmark.significance import Ranking
from heterophily.core.errors import HeterophilyError
from heterophily.runs.record import Record, pack_records, read_records
from heterophily.views.charts import bar_rows, rank_chart
from heterophily.views.matplotlib import ROLES, draw_charts, save_charts
from heterophily.views.reproduction import read_program
from heterophily.views.results import main, page, read_remarks, write_page

DOCS = Path(__file__).parents[2] / "docs"
ENVIRONMENT = {"processor": "Abacus 9", "gpu": "", "python": "3.12.1", "torch": "2.13", "threads": 1}
# Means of the splits 0, 1 and 2 are these; the spread is the same everywhere.
MEANS = {
    ("cmgnn", "actor"): 37.0,
    ("cmgnn", "pubmed"): 89.0,  # published 89.99 ± 0.32
    ("gcn", "actor"): 30.0,
    ("gcn", "pubmed"): 87.0,  # published 87.70 ± 0.32
    ("hog-gcn", "actor"): 36.0,
    ("hog-gcn", "pubmed"): 85.0,  # out of memory in the paper
}


@pytest.fixture(autouse=True)
def _three_runs(monkeypatch):
    """The paper's ten runs are three here."""
    monkeypatch.setattr("heterophily.benchmark.table.PAPER_RUNS", 3)


def record(model, dataset, split, value, **fields):
    facts = {
        "key": f"{model}-{dataset}-{split}",
        "model": model,
        "dataset": dataset,
        "split": str(split),
        "seed": split,
        "settings": {},
        "preset": "published" if model == "cmgnn" else "reference",
        "source": "paper" if model == "cmgnn" else "reference",
        "recipe": model,
        "checksum": dataset,
        "run": {"scores": {"test": {"accuracy": value / 100}}, "seconds": 1800.0},
        "details": {"split": {"train": 48, "val": 32, "test": 20}},
        "environment": ENVIRONMENT,
        "finished": "2030-01-01",
    }
    if model == "cmgnn":
        facts["details"] = {**facts["details"], "compatibility_error": 0.02 + split / 100}
    return Record(**{**facts, **fields})


@pytest.fixture
def runs():
    wobble = {"cmgnn": (-0.5, 0.0, 0.5), "gcn": (-0.5, 0.1, 0.4), "hog-gcn": (-0.3, -0.1, 0.4)}
    return [record(m, d, i, value + wobble[m][i]) for (m, d), value in MEANS.items() for i in range(3)]


def sections(text):
    """Texts of the page by heading."""
    found = re.split(r"^##? (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def rows(section):
    """Cells of the Markdown table in a section, without its rule."""
    lines = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len({len(row) for row in cells}) == 1
    return [cells[0], *cells[2:]]


def test_cmgnn_comes_first_with_the_error_of_its_matrix(runs):
    found = sections(page(runs))
    assert list(found)[:3] == ["Results", "CMGNN", "All methods"]
    assert rows(found["CMGNN"])[1:] == [
        ["actor", "37.00 ± 0.50", "36.82 ± 0.78", "+0.18", "yes", "–", "0.030", "3"],
        ["pubmed", "89.00 ± 0.50", "89.99 ± 0.32", "−0.99", "**no**", "–", "0.030", "3"],
    ]


def test_the_error_is_left_open_where_it_is_not_known(runs):
    bare = [replace(run, details={}) for run in runs]
    assert rows(sections(page(bare))["CMGNN"])[1][6] == "–"


def test_the_head_counts(runs):
    text = sections(page(runs))["Results"]
    assert "3 methods on 2 datasets, 18 finished runs, 9.0 hours" in text
    assert "Of 5 cells that the paper has too, 2 are reproduced" in text


def test_the_main_table_has_means_and_ranks(runs):
    section = sections(page(runs))["All methods"]
    body = rows(section)
    assert body[0] == ["method", "actor", "pubmed", "average rank"]
    assert [row[0] for row in body[1:]] == ["gcn", "hog-gcn", "cmgnn"]
    assert body[3][1] == "**37.00 ± 0.50**"
    assert "Friedman" not in section


def test_the_findings_come_first(runs):
    first = sections(page(runs))["Results"].strip().split("\n")[0]
    ties = "Of the 2 other methods of a dataset, 0 are not significantly worse than the best one on actor, 0 on pubmed."
    assert ties in first
    assert "The published mean of `cmgnn` is reached on 1 of 2 datasets; not reached on pubmed." in first


def test_ranks_stand_beside_the_printed_ones(runs):
    section = sections(page(runs))["Average ranks"]
    assert rows(section)[1:] == [["cmgnn", "1.0", "2.1"], ["gcn", "2.5", "10.8"], ["hog-gcn", "2.5", "7.3"]]
    assert "over actor and pubmed" in section


def test_significance_names_the_best_and_its_equals(runs):
    section = sections(page(runs, diagram="results/ranks.png"))["Significance"]
    body = {row[0]: row[1:] for row in rows(section)[1:]}
    assert body["actor"][0] == body["pubmed"][0] == "cmgnn"
    assert body["pubmed"][1] == "none"
    assert "test nodes per training node: 0.42." in section
    assert "on the runs that all methods share, Friedman's test gives χ² = 3.00, p = 0.223" in section
    assert "differ by 2.34 or more" in section
    assert "* cmgnn, gcn, hog-gcn\n" in section
    assert "![Critical-difference diagram](results/ranks.png)" in section
    assert "![" not in page(runs)


def test_too_few_datasets_for_ranks_are_told(runs):
    one = [run for run in runs if run.dataset == "actor"]
    assert "There is no test over datasets: Friedman's test needs" in page(one)


def test_cells_below_the_published_mean_are_explained(runs):
    remarks = {"gcn": {"pubmed": "The reference stops later."}}
    lines = sections(page(runs, remarks=remarks))["Below the published mean"].strip().splitlines()
    assert lines == [
        "* **gcn on pubmed**: 87.00 ± 0.46, published 87.70 ± 0.32 (−0.700, tolerance 0.300). "
        "The reference stops later.",
        "* **hog-gcn on actor**: 36.00 ± 0.36, published 36.47 ± 0.83 (−0.470, tolerance 0.300). Not explained yet.",
        "* **cmgnn on pubmed**: 89.00 ± 0.50, published 89.99 ± 0.32 (−0.990, tolerance 0.300). Not explained yet.",
    ]


def test_no_cell_below_is_told_too(runs):
    good = [run for run in runs if (run.model, run.dataset) == ("cmgnn", "actor")]
    assert sections(page(good))["Below the published mean"].strip() == "None."


def test_cells_out_of_memory_in_the_paper_get_their_numbers(runs):
    remarks = {"hog-gcn": {"pubmed": "In blocks of rows."}}
    section = sections(page(runs, remarks=remarks))["Out of memory in the paper"]
    assert section.strip() == "* hog-gcn on pubmed: 85.00 ± 0.36. In blocks of rows."
    without = page([run for run in runs if run.model != "hog-gcn"])
    assert "Out of memory in the paper" not in without


def test_what_is_not_finished_is_listed(runs):
    broken = {"status": "error", "run": {}, "reason": "Traceback\n  line 3\nValueError: no way"}
    kept = [run for run in runs if (run.model, run.dataset, run.split) != ("gcn", "actor", "2")]
    kept = [run for run in kept if run.model != "hog-gcn"]
    kept += [record("hog-gcn", d, i, 0, **broken) for d in ("actor", "pubmed") for i in range(3)]
    lines = sections(page(kept))["Not finished"].strip().splitlines()
    assert lines == [
        "* gcn on actor: 2 of 3 runs, the others were not run",
        "* hog-gcn on actor and pubmed: 0 of 3 runs, failed: 3 × error (ValueError: no way)",
    ]
    assert "Not finished" not in page(runs)


def test_settings_and_environment_are_told(runs):
    mixed = [record("gcn", "actor", i, 30.0 + i, source="search", preset="published") for i in range(3)]
    rest = [run for run in runs if (run.model, run.dataset) != ("gcn", "actor")]
    found = sections(page([*rest, *mixed]))
    assert rows(found["Settings"])[1:] == [
        ["gcn", "search", "published", "actor"],
        ["gcn", "reference", "reference", "pubmed"],
        ["hog-gcn", "reference", "reference", "all"],
        ["cmgnn", "paper", "published", "all"],
    ]
    other = record("gcn", "actor", 0, 30.0, environment={**ENVIRONMENT, "threads": 2})
    lines = sections(page([*rest, *mixed[1:], other]))["Environment"].strip().splitlines()
    assert lines == [
        "* 17 runs: Abacus 9, python 3.12.1, torch 2.13, threads 1",
        "* 1 run: Abacus 9, python 3.12.1, torch 2.13, threads 2",
    ]


@pytest.mark.parametrize(("splits", "told"), [((0, 1, 2), "0-2"), ((0, 2), "0,2"), ((4,), "4"), (("a", "b"), "all")])
def test_the_page_says_how_to_get_it_again(splits, told):
    runs = [replace(record("gcn", "actor", 0, 30.0), split=str(s)) for s in splits]
    section = sections(page(runs))["Reproduce"]
    command = f"bench --models gcn --datasets actor --splits {told} --out results/"
    assert command in section
    assert "python -m heterophily.views.results docs/results/runs.jsonl > docs/evidence/results.md" in section


def test_remarks_are_read_and_checked(tmp_path, runs):
    path = tmp_path / "remarks.toml"
    assert read_remarks(path) == {}
    path.write_text('[gcn]\nactor = "Why."\n')
    assert read_remarks(path) == {"gcn": {"actor": "Why."}}
    with pytest.raises(HeterophilyError, match='did you mean "gcn"'):
        page(runs, remarks={"gcm": {"actor": "Why."}})
    with pytest.raises(HeterophilyError, match='did you mean "actor"'):
        page(runs, remarks={"gcn": {"actr": "Why."}})


@pytest.mark.parametrize(
    ("text", "words"),
    [("[gcn", "is not TOML"), ('gcn = "a"', r"\[gcn\] must have a line"), ("[gcn]\na = 1", "must have")],
)
def test_broken_remarks_are_told(tmp_path, text, words):
    path = tmp_path / "remarks.toml"
    path.write_text(text)
    with pytest.raises(HeterophilyError, match=words):
        read_remarks(path)


def test_the_page_and_its_diagram_from_files(tmp_path, runs):
    packed = pack_records(runs, tmp_path / "results" / "runs.jsonl")
    (packed.parent / "remarks.toml").write_text('[gcn]\npubmed = "The reference stops later."\n')
    text = write_page(packed)
    assert "The reference stops later." in text
    link = re.search(r"!\[.*\]\((.*)\)", text)[1]
    assert imread(tmp_path / link.removeprefix("../")).size  # the folder of the page is next to that of the runs


def test_without_ranks_there_is_no_diagram(tmp_path, runs):
    packed = pack_records(runs[:3], tmp_path / "runs.jsonl")
    assert "![" not in write_page(packed)
    assert [path.name for path in tmp_path.glob("*.png")] == []


def test_the_module_is_a_command(monkeypatch, tmp_path, runs):
    monkeypatch.setattr("heterophily.benchmark.table.PAPER_RUNS", 10)  # as in another process
    packed = pack_records(runs[:3], tmp_path / "runs.jsonl")
    words = [sys.executable, "-m", "heterophily.views.results", packed]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert done.stdout == write_page(packed)


@pytest.mark.parametrize(("words", "said"), [([], "usage: "), (["nowhere"], "nowhere does not contain results")])
def test_the_command_ends_with_a_sentence(words, said):
    with pytest.raises(SystemExit, match=said):
        main(words)


def ranking(width, *ranks):
    names = {f"m{i}": rank for i, rank in enumerate(ranks)}
    return Ranking(names, ("x", "y"), 1.0, 0.5, width, 0.05)


def test_bars_of_one_row_keep_apart():
    chain = ranking(1.5, 1, 2, 3, 4)
    assert bar_rows(chain) == [0, 1, 0]
    apart = ranking(1.2, 1, 2, 5, 6)
    assert bar_rows(apart) == [0, 0]
    assert bar_rows(ranking(0.5, 1, 2)) == []


@pytest.fixture
def drawn():
    """The figure that would be saved, laid out."""

    def make(one):
        figure = draw_charts([rank_chart(one)])
        figure.draw_without_rendering()
        return figure

    return make


@pytest.mark.parametrize(
    "one",
    [
        ranking(1.0, 1.2, 1.9, 2.9),
        ranking(9.0, *range(1, 15)),
        ranking(30.0, 1.5, 1.5, 3.0),
        ranking(0.2, *(1.0 + 0.9 * i for i in range(24))),
    ],
)
def test_every_name_is_readable_and_inside_the_picture(drawn, one):
    figure = drawn(one)
    page = figure.bbox.padded(1)
    boxes = {t.get_text(): t.get_window_extent() for t in figure.axes[0].texts}
    for box in boxes.values():
        assert page.x0 <= box.x0 < box.x1 <= page.x1
        assert page.y0 <= box.y0 < box.y1 <= page.y1
    names = [box for text, box in boxes.items() if re.search(r"\bm\d+\b", text)]
    assert len(names) == len(one.ranks)
    assert not any(a.overlaps(b) for i, a in enumerate(names) for b in names[i + 1 :])
    assert all(any(f"{rank:.1f}" in text for text in boxes) for rank in one.ranks.values())


def test_names_line_up_beside_ranks_of_one_and_of_two_digits(drawn):
    texts = drawn(ranking(1.5, 1, 2, 9, 10)).axes[0].texts
    boxes = [t.get_window_extent() for t in texts if re.search(r"\bm[23]\b", t.get_text())]
    assert len(boxes) == 2
    assert boxes[0].intervalx == pytest.approx(boxes[1].intervalx)


def test_the_diagram_shows_ranks_bars_and_the_critical_difference(drawn):
    one = ranking(1.5, 1, 2, 3, 4)
    axes = drawn(one).axes[0]
    bars = [line for line in axes.lines if line.get_color() == ROLES["accent"]]
    ends = [tuple(line.get_xdata()) for line in bars]
    assert [pytest.approx(e, abs=0.1) for e in [(1, 2), (2, 3), (3, 4)]] == ends
    assert any(tuple(line.get_xdata()) == (1, 2.5) for line in axes.lines)
    assert "critical difference 1.50" in [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("name", ["d.png", "d.svg", "d.pdf"])
def test_the_diagram_is_saved(tmp_path, name):
    assert save_charts([rank_chart(ranking(1.5, 1, 2, 3))], tmp_path / name).stat().st_size > 1000


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(HeterophilyError, match="a figure file with extension"):
        save_charts([rank_chart(ranking(1.5, 1, 2, 3))], tmp_path / "d.jpg")


def test_trio_and_methods_with_default_settings_have_their_sections(runs):
    tuned = [record("trio", "actor", i, 38.0 + i / 10, source="search") for i in range(3)]
    defaults = [
        record(model, "actor", i, value + i / 10, source="defaults", recipe=f"plain {model}", key=f"{model} {i}")
        for model, value in (("trio", 37.0), ("linkx", 36.0))
        for i in range(3)
    ]
    found = sections(page([*runs, *tuned, *defaults]))
    assert "5 methods on 2 datasets, 27 finished runs" in found["Results"]
    assert "over 1 dataset; cmgnn has 2.0. It is better than `cmgnn` on 1 of 1 datasets" in found["Results"]
    assert [row[0] for row in rows(found["All methods"])[1:]] == ["gcn", "hog-gcn", "cmgnn", "trio"]
    assert "linkx have default settings only" in found["All methods"]
    each = re.split("^### ", found["Default, tuned, and published results"], flags=re.MULTILINE)
    assert [part.split("\n")[0] for part in each[1:]] == ["actor", "pubmed"]
    assert rows(each[1])[-1][:4] == ["linkx", "36.10 ± 0.10", "–", "–"]
    assert (
        "bench --models linkx,trio --datasets actor,pubmed --splits 0-2 --out results/ --defaults" in found["Reproduce"]
    )


def test_results_of_the_published_program_are_read_from_a_file(tmp_path, runs):
    packed = pack_records(runs, tmp_path / "runs.jsonl")
    (tmp_path / "program.toml").write_text("[pubmed]\nmean = 89.1\nstd = 0.2\n")
    section = sections(write_page(packed))["CMGNN"]
    assert rows(section)[2][5] == "89.10 ± 0.20"
    assert "On pubmed, the published program does not reach the published mean" in section


def test_the_committed_page_is_that_of_the_committed_runs(monkeypatch):
    monkeypatch.setattr("heterophily.benchmark.table.PAPER_RUNS", 10)
    folder = DOCS / "results"
    files = [folder / f"{name}.jsonl" for name in ("runs", "trio", "further")]
    records = [each for file in files if file.exists() for each in read_records(file)]
    program, remarks = read_program(folder / "program.toml"), read_remarks(folder / "remarks.toml")
    text = page(records, program=program, remarks=remarks, diagram="../results/ranks.png")
    assert (DOCS / "evidence" / "results.md").read_text() == text, "regenerate it: see heterophily/views/results.py"
