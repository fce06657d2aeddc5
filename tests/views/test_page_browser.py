"""The report in a real browser, headless: it loads, sorts, filters, switches and fits its window.

Where Chromium is missing these tests are skipped; `make browser` installs it where that can be done.
"""

import os
import shutil
from contextlib import contextmanager

import numpy as np
import pytest

from heterophily import Graph, diagnose
from heterophily.views.page.graph_report import write_diagnosis

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium found: the report was not tested in a browser")
VISIBLE = "[data-panel]:not([hidden])"


@pytest.fixture(scope="module")
def chromium():
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def opened(chromium, report_file):
    """Open a report in a window; at the end there must be no error and no request beyond the file."""

    @contextmanager
    def window(width=1440, scheme="light", file=report_file, **options):
        size = {"width": width, "height": 900}
        options |= {"color_scheme": scheme, "reduced_motion": "reduce"}
        page = chromium.new_page(viewport=size, **options)
        page.told, page.asked = [], []
        page.on("console", lambda message: page.told.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: page.told.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(file.as_uri())
        yield page
        assert_quiet(page)
        page.close()

    return window


@pytest.fixture(scope="module")
def once(opened):
    """The report on a desk, opened once: the tests do not change it."""
    with opened() as page:
        yield page


@pytest.fixture
def page(once):
    """The report on a desk as it is in the beginning, but for the order of its table."""
    once.set_viewport_size({"width": 1440, "height": 900})
    once.emulate_media(color_scheme="light")
    once.fill("#filter", "")
    once.evaluate("one('[data-choose=all]').click()")
    once.select_option("#dataset", index=0)
    yield once
    assert_quiet(once)


def assert_quiet(page):
    assert page.told == []
    assert [u for u in page.asked if not u.startswith(("file:", "data:", "blob:"))] == []


def column(page, number):
    cells = page.locator(f"#board tbody tr > :nth-child({number})")
    return cells.evaluate_all("cells => cells.map(cell => cell.dataset.value)")


def methods_shown(page):
    rows = page.locator("#board tbody tr:not([hidden])")
    return rows.evaluate_all("rows => rows.map(row => row.dataset.method)")


def drawn(page):
    """The number of visible charts, all of which contain axes or marks."""
    charts = page.locator("svg.chart:visible")
    assert charts.evaluate_all("charts => charts.every((chart) => chart.querySelector('g[style], g.heat, g.ticks'))")
    return charts.count()


def overflow(page):
    return page.evaluate(
        """() => [...document.querySelectorAll("main *, header *")].filter((each) =>
            !each.closest(".scroll, .apart, .sheet, svg") && each.getBoundingClientRect().width > 0
            && each.getBoundingClientRect().right > document.documentElement.clientWidth + 1
        ).map((each) => each.outerHTML.slice(0, 80))"""
    )


def cut(page):
    """The texts of visible charts that reach beyond their chart."""
    return page.evaluate(
        """() => [...document.querySelectorAll("svg.chart text")].filter((each) => {
            const [a, b] = [each, each.ownerSVGElement].map((element) => element.getBoundingClientRect());
            const beyond = [b.left - a.left, a.right - b.right, b.top - a.top, a.bottom - b.bottom];
            return a.width > 0 && Math.max(...beyond) > 1;
        }).map((each) => each.textContent)"""
    )


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_it_loads_draws_all_charts_and_fits_the_window(opened, width, scheme):
    with opened(width, scheme) as page:
        assert drawn(page) > 10
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert overflow(page) == []
        assert cut(page) == []
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(21, 23, 26)") == (scheme == "dark")


def test_the_table_sorts_on_click_and_by_keyboard(page):
    button = page.locator("#board thead button", has_text="chameleon-f")
    heading = page.locator("#board thead th:nth-child(3)")
    button.click()
    values = [float(value) for value in column(page, 3)]
    assert values == sorted(values, reverse=True)
    assert heading.get_attribute("aria-sort") == "descending"
    button.focus()
    page.keyboard.press("Enter")
    assert [float(value) for value in column(page, 3)] == sorted(values)
    assert heading.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    assert column(page, 1) == sorted(column(page, 1), key=str.lower)
    assert "Sorted by method" in page.locator("#said").text_content()


def test_the_table_is_filtered_by_text_and_by_chosen_methods(page, wild):
    page.fill("#filter", "CMG")
    assert methods_shown(page) == ["cmgnn"]
    page.fill("#filter", "")
    page.click("#chooser summary")
    page.locator("#chooser label", has_text="cmgnn").click()
    assert sorted(methods_shown(page)) == sorted(["gcn", wild])
    assert page.locator("#chosen").text_content() == "2 of 3"
    page.keyboard.press("Escape")
    assert not page.locator("#chooser").evaluate("each => each.open")
    chart = page.locator(f"{VISIBLE} figure", has_text="Run time against accuracy").locator(".chart")
    names = chart.locator("[data-method]:visible").evaluate_all("marks => marks.map((m) => m.dataset.method)")
    assert names == [wild]  # the study has cmgnn and this one


def test_the_dataset_switch_changes_the_figures(page, wild):
    first = page.locator(VISIBLE)
    assert first.locator("h2").first.text_content().startswith("Chameleon-F")
    before = first.locator(".chart").first.inner_html()
    page.select_option("#dataset", label=wild)
    second = page.locator(VISIBLE)
    assert second.count() == 1
    assert second.locator("h2").first.text_content() == wild
    assert second.locator(".chart").first.inner_html() != before
    assert page.locator("#said").text_content() == f"Dataset {wild}"


def test_a_number_leads_to_its_settings_and_command(page):
    page.locator("#board tr[data-method=cmgnn] a").last.click()
    cell = page.locator(f"{VISIBLE} details.cell[data-method=cmgnn]")
    api.expect(cell).to_have_attribute("open", "")  # the page follows a moment after the click
    assert "--models cmgnn" in cell.locator("code").text_content()
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_wild_names_are_text_in_charts_too(page, wild):
    page.select_option("#dataset", label=wild)
    assert page.locator("img").count() == 0
    ticks = page.locator(f"{VISIBLE} .chart .ticks text").all_text_contents()
    assert any(tick.startswith(wild[:20]) for tick in ticks)
    assert page.title() != "1"


def test_colors_follow_the_scheme_and_paper_is_light(page):
    text = page.locator(f"{VISIBLE} .chart .ticks text").first
    dark, light = "rgb(160, 166, 174)", "rgb(95, 100, 107)"
    for scheme, media, color in [("dark", "screen", dark), ("light", "screen", light), ("dark", "print", light)]:
        page.emulate_media(color_scheme=scheme, media=media)
        api.expect(text).to_have_css("fill", color)
    page.emulate_media(media="screen")


def test_print_contains_all_datasets_and_their_charts(page):
    page.emulate_media(media="print")
    assert page.locator("[data-panel]:visible").count() == 2
    on_paper = drawn(page)
    page.emulate_media(media="screen")
    assert on_paper > drawn(page) > 10


def test_the_pointer_shows_values(page):
    mark = page.locator(f"{VISIBLE} .chart [data-tip]").first
    mark.hover()
    assert page.locator("#tip").text_content() == mark.get_attribute("data-tip")
    page.mouse.move(2, 2)
    api.expect(page.locator("#tip")).to_be_hidden()


def test_without_scripts_all_text_is_there(opened):
    with opened(java_script_enabled=False) as page:
        assert page.locator("[data-panel]:visible").count() == 2
        assert page.locator("#board tbody tr:visible").count() == 3
        assert page.locator(".copy:visible").count() == 0
        assert drawn(page) > 20


@pytest.mark.parametrize("k", [2, 30])
def test_the_page_of_one_graph_fits_a_phone(opened, tmp_path, wild, k):
    file = write_diagnosis(diagnose(circle(k, wild)), tmp_path / "d.html", source="circle")
    with opened(390, file=file) as page:
        assert drawn(page) == 3
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert overflow(page) == []
        assert cut(page) == []
        names = page.locator("svg.chart").first.locator("text").all_text_contents()
        assert len(set(names)) == len(names) == 2 * k + 2  # shortened names still differ; two titles


def circle(k, name):
    """A graph whose k classes have long names with the same beginning, each connected with the next one."""
    classes = np.arange(20 * k) % k
    edges = [(i, (i + 1) % len(classes)) for i in range(len(classes))]
    graph = Graph.from_edges(edges, features=np.eye(k)[classes], labels=classes)
    return graph.replace(class_names=tuple(f"{name} of group {i}" for i in range(k)))
