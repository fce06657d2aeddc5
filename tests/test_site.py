"""The documentation site builds without warnings, its links lead somewhere, and it loads nothing from other servers."""

import importlib.util
import re
import runpy
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "tools" / "docs.py"))
HAS_TOOLS = all(importlib.util.find_spec(name) for name in ("zensical", "mkdocstrings"))
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
needs_tools = pytest.mark.skipif(not HAS_TOOLS, reason="the site needs the extra docs: pip install -e '.[docs]'")


class Page(HTMLParser):
    """Ids, links, and loaded files of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.ids.add(value)
            if (tag, name) in LOADED and value:
                self.loaded.append(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return TOOL["build"](tmp_path_factory.mktemp("docs"))


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def is_external(link):
    return bool(urlsplit(link).scheme or urlsplit(link).netloc)


def problem(path, link, pages):
    """Return a broken link with its page, or an empty string."""
    parts = urlsplit(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return f"{path.name}: {link} does not exist"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        return f"{path.name}: {link} has no such anchor"
    return ""


@needs_tools
def test_all_links_lead_to_files_and_anchors(pages):
    # The page 404 has absolute links, because a server shows it at any address.
    links = [(path, link) for path, page in pages.items() for link in page.links if path.name != "404.html"]
    assert len(links) > 1000
    found = [problem(path, link, pages) for path, link in links if not is_external(link)]
    assert not list(filter(None, found)), "\n".join(filter(None, found))


@needs_tools
def test_the_site_loads_nothing_from_other_servers(site, pages):
    assert [(path.name, link) for path, page in pages.items() for link in page.loaded if is_external(link)] == []
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:@import|url\()\s*[\"']?https?:[^)]*", styles) == []
    assert not [path.name for path, page in pages.items() if 'class="mermaid"' in path.read_text(encoding="utf-8")]


@needs_tools
def test_all_pages_are_in_the_navigation(pages):
    listed = set(names(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]))
    written = {TOOL["place_of"](path) for path in (ROOT / "docs").rglob("*") if path.suffix in (".md", ".ipynb")}
    assert written - listed == {"studies/summary.md"}  # a part of the page of the studies
    assert listed - written == set(TOOL["ROOT_PAGES"].values()) - {"index.md"}


def names(entry):
    """Yield the pages of a navigation."""
    if isinstance(entry, str):
        yield entry
    for child in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from names(child)


def test_links_and_figures_of_pages_become_those_of_the_site(tmp_path, monkeypatch):
    docs = tmp_path / "docs" / "how-to"
    docs.mkdir(parents=True)
    page = docs / "page.md"
    (docs / "other.ipynb").write_text("{}")
    (docs / "a.svg").write_text("<svg>\n  <style>x</style>\n  <g/>\n</svg>\n")
    (tmp_path / "CONTRIBUTING.md").write_text("")
    (tmp_path / "script.py").write_text("1")
    text = (
        "[a](other.ipynb#b) [c](../../CONTRIBUTING.md) [d](../../script.py)\n\n"
        "![e](a.svg)\n\n```\n[f](other.ipynb)\n```\n"
    )
    page.write_text(text)
    monkeypatch.setitem(TOOL["convert"].__globals__, "ROOT", tmp_path)
    monkeypatch.setitem(TOOL["convert"].__globals__, "DOCS", tmp_path / "docs")
    converted = TOOL["convert"](page, tmp_path / "pages")
    assert "[a](other.md#b) [c](../project/contributing.md) [d](../script.py)" in converted
    assert '<figure class="vector"><svg><g/></svg></figure>' in converted
    assert "```\n[f](other.ipynb)\n```" in converted
    assert (tmp_path / "pages" / "script.py").read_text() == "1"
