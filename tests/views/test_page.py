"""The report: its data, its charts, that every name is escaped, and that the file stands alone."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from heterophily import Graph, diagnose, load
from heterophily.benchmark.plan import plan
from heterophily.commands.main import app
from heterophily.core.errors import HeterophilyError
from heterophily.runs.record import pack_records, read_records, write_record
from heterophily.views.page import build, data, graph_report, panels
from heterophily.views.page.commands import bench_command, bench_note, changed_settings


class Elements(HTMLParser):
    """The tags of a page with their attributes, and its text outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.inside = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if not self.inside:
            self.text.append(data)


@pytest.fixture(scope="module")
def page(report_file):
    return report_file.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def results(results_folder):
    return data.load_results(results_folder)


@pytest.fixture(scope="module")
def small(wild):
    """A graph with wild names, two of its nodes without a label."""
    rng = np.random.default_rng(0)
    labels = np.arange(80) % 3
    x = rng.normal(2 * np.eye(3)[labels], 1.0)
    names = ("plain", wild, "</script><script>alert(1)</script>")
    labels[:2] = -1
    edges = np.argwhere(rng.random((80, 80)) < 0.06)
    graph = Graph.from_edges(edges, x, labels=labels, name=wild)
    return graph.replace(class_names=names)


def assert_harmless(text, wild):
    """Every script and image of the page is ours, and the wild name stands in its text."""
    elements = Elements(text)
    tags = [tag for tag, _ in elements.tags]
    assert "img" not in tags
    assert not any(name.startswith("on") for _, found in elements.tags for name in found)
    assert tags.count("script") == 1
    assert wild in " ".join(elements.text)
    assert "<script>alert" not in text


def test_every_name_of_a_report_is_escaped(page, wild):
    assert_harmless(page, wild)


def test_the_file_stands_alone_and_is_small(page, report_file):
    assert report_file.stat().st_size < 2_000_000
    own = page.split("<script>")[0]
    assert "default-src 'none'" in own
    for tag, found in Elements(page).tags:
        for name in ("src", "href", "data", "srcset", "poster"):
            assert not found.get(name, "").lower().startswith(("http", "//", "ftp")), (tag, found)
    assert "@import" not in own
    assert "url(" not in own


def test_all_charts_are_in_the_file_before_any_script_runs(page):
    charts = [found for tag, found in Elements(page).tags if tag == "svg" and found["class"] == "chart"]
    assert len(charts) > 20
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)


def test_every_id_is_there_once_and_every_link_leads_somewhere(page):
    found = Elements(page).tags
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {a["href"][1:] for tag, a in found if tag == "a" and a["href"].startswith("#")}
    assert links <= set(ids)


def test_each_part_of_the_issue_is_on_the_page(page):
    headings = re.findall(r"<h[2-4][^>]*>(.*?)</h[2-4]>", page)
    text = " ".join(headings)
    for part in (
        "Leaderboard",
        "Accuracy",
        "Run time against accuracy",
        "Observed",
        "Estimated by cmgnn",
        "Desired by cmgnn",
        "How the estimate moves",
        "Overlap of neighborhoods",
        "Validation accuracy",
        "Accuracy by degree",
        "Ablation",
        "Every number, and how to reproduce it",
        "Synthetic graphs",
        "Scaling",
        "Reproduce",
    ):
        assert part in text, part


def test_what_has_no_content_is_left_out(results_folder, tmp_path):
    one = [each for each in read_records(results_folder) if each.dataset == "chameleon-f"]
    page = build.report_page(data.load_results(pack_records(one, tmp_path / "runs.jsonl")))
    for part in ("Ablation", "Accuracy by degree", "Training loss", "Synthetic", "Critical", "Studies over"):
        assert part not in page, part
    assert "Leaderboard" in page


def test_ranks_and_their_diagram_come_with_two_whole_datasets(page, results):
    assert results.table.ranking is not None
    assert "Critical-difference diagram" in page


def test_the_leaderboard_has_the_papers_numbers_beside_ours(results):
    row = next(row for row in panels.leaderboard(results.table) if row["model"] == "cmgnn")
    cell = next(cell for cell in row["cells"] if cell["dataset"] == "chameleon-f")
    assert (cell["mean"], cell["paper"], cell["difference"]) == ("46.00", "45.70", "+0.30")
    assert cell["verdict"] is None  # not before all ten runs of the paper
    assert cell["runs"].endswith("/10")


def test_times_come_from_the_study_or_from_the_runs(results, results_folder, tmp_path):
    points, said = data.times_of(results, "chameleon-f")
    assert points["cmgnn"] == (20.0, pytest.approx(46.0))
    assert "study" in said
    packed = pack_records(read_records(results_folder), tmp_path / "runs.jsonl")
    points, said = data.times_of(data.load_results(packed), "chameleon-f")
    assert points["cmgnn"] == (15.0, pytest.approx(46.0))
    assert "runs" in said


def test_estimates_of_runs_stand_in_where_there_is_no_study(results_folder, tmp_path):
    packed = pack_records(read_records(results_folder), tmp_path / "runs.jsonl")
    (chart,) = data.matrix_charts(data.load_results(packed), "chameleon-f")
    (mark,) = chart.marks
    assert (chart.title, mark.method) == ("Estimated by cmgnn", "cmgnn")
    assert mark.values[0] == pytest.approx([1 / 3] * 3)


def test_negative_entries_of_a_desired_matrix_get_two_hues(results):
    found = data.matrix_charts(results, "chameleon-f")
    kinds = [chart.title.split()[0] for chart in found]
    assert kinds == ["Observed", "Estimated", "Estimated", "Desired", "Desired"]
    limits = [chart.marks[0].limits for chart in found]
    peak = limits[0][1]
    assert limits == [(0, peak)] * 3 + [(-peak, peak)] * 2


def test_the_command_of_a_cell_gives_exactly_its_runs(made):
    runs = [made("cmgnn", "chameleon-f", split) for split in range(3)]
    changed = changed_settings(runs[0])
    assert changed["max_epochs"] == 9
    command = bench_command(runs)
    assert command.startswith("heterophily bench --models cmgnn --datasets chameleon-f --splits 0-2 ")
    assert "--set max_epochs=9" in command
    assert bench_note(runs[0]) == ""


def test_the_command_repeats_the_key_of_a_real_plan(tmp_path):
    graph = load("digits")
    (cell,) = plan(["gcn"], {"digits": graph}, splits="2", seed=5, settings={"width": 7})
    command = bench_command([cell.empty_record])
    assert command == (
        "heterophily bench --models gcn --datasets digits --splits 2 --seed 5 --set width=7 --out results"
    )
    (again,) = plan(["gcn"], {"digits": graph}, splits="2", seed=5, settings=changed_settings(cell.empty_record))
    assert again.key == cell.key


def test_a_recipe_of_ones_own_is_said_to_need_its_file(made, wild):
    mine = made(wild, "chameleon-f", 0)
    assert "path of its file" in bench_note(mine)
    assert "'\"'\"'" in bench_command([mine])  # quoted for the shell


def test_a_changed_recipe_is_said_to_have_changed(made):
    assert "changed" in bench_note(made("gcn", "chameleon-f", 0, settings={"gone": 1}))


def test_only_the_graph_that_was_run_is_measured():
    digits = load("digits")
    assert data.measure_graph("digits", [digits.checksum]).name == "digits"
    assert data.measure_graph("digits", ["another"]) is None
    assert data.measure_graph("nowhere", ["another"]) is None


def test_failed_runs_stand_with_their_reason(made, tmp_path, wild):
    bad = made("gcn", "chameleon-f", 0, status="error", reason=f"Traceback\n{wild}", run={})
    write_record(tmp_path, bad)
    write_record(tmp_path, made("cmgnn", "chameleon-f", 0))
    page = build.report_page(data.load_results(tmp_path))
    assert_harmless(page, wild)
    assert "failed run" in page


def test_the_report_of_a_diagnosis(small, tmp_path, wild):
    path = graph_report.write_diagnosis(diagnose(small), tmp_path / "d.html", source=wild)
    page = path.read_text(encoding="utf-8")
    assert_harmless(page, wild)
    assert "Edge homophily" in page
    assert "What edges add" in page
    assert "Recommended methods" in page


def test_the_report_of_a_fit_by_its_command(small, tmp_path, wild):
    source, out = small.save(tmp_path / "g.safetensors"), tmp_path / "fit.html"
    words = ["fit", str(source), "--model", "cmgnn", "--set", "max_epochs=3", "--out", str(tmp_path / "fit")]
    result = CliRunner().invoke(app, [*words, "--report", str(out)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    page = out.read_text(encoding="utf-8")
    assert_harmless(page, wild)
    for part in ("Scores", "Confusion matrix", "Accuracy by degree", "Estimated by cmgnn", "Predicted classes"):
        assert part in page, part
    assert "--set max_epochs=3" in page
    assert "of them unlabeled" in page


def test_the_commands_write_pages(results_folder, tmp_path):
    out = tmp_path / "deep" / "report.html"
    words = ["report", str(results_folder), "--out", str(out), "--no-diagnose"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert str(out) in result.output
    assert "</svg>" in out.read_text(encoding="utf-8")
    words = ["diagnose", "digits", "--report", str(tmp_path / "d.html"), "--json"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0
    assert (tmp_path / "d.html").exists()


def test_wrong_names_and_missing_folders_are_told(results_folder, tmp_path):
    with pytest.raises(HeterophilyError, match=r"ends in \.html"):
        build.write_report(results_folder, tmp_path / "report.pdf")
    with pytest.raises(HeterophilyError, match="no folder of studies"):
        build.write_report(results_folder, tmp_path / "r.html", studies=tmp_path / "no")
    with pytest.raises(HeterophilyError, match="MB"):
        build.write_page("x" * 10_000_001, tmp_path / "r.html")
