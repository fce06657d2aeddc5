"""The code in the README and in the documentation runs, and all links are valid."""

import re
import runpy
import sys
from pathlib import Path

import pytest
import torch

from heterophily import build, load

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^):]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in BLOCK.findall(page.read_text()):
        if "import lightning" not in block:
            exec(block, names)


@pytest.mark.filterwarnings("ignore")  # Lightning uses deprecated functions of other packages
def test_the_lightning_example_trains_the_network(tmp_path, monkeypatch):
    pytest.importorskip("lightning")
    monkeypatch.chdir(tmp_path)  # the trainer chooses its default folder
    graph = load("digits")
    torch.manual_seed(0)
    split, data, network = graph.split("0"), graph.to_pyg(), build("gcn", graph, width=64)
    loss = network.loss(network(data), data, split.train).item()
    (block,) = (b for b in BLOCK.findall((ROOT / "docs" / "how-to" / "pytorch.md").read_text()) if "lightning" in b)
    exec(block, {"torch": torch, "network": network, "split": split, "data": data})
    assert network.loss(network(data), data, split.train).item() < 0.9 * loss


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_to_files(page):
    links = [page.parent / link for link, _ in LINK.findall(page.read_text()) if link]
    assert [link for link in links if not link.exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_anchors_lead_to_headings(page):
    links = [(page.parent / link if link else page, a) for link, a in LINK.findall(page.read_text())]
    assert [anchor for target, anchor in links if anchor and anchor not in anchors(target)] == []


def anchors(page):
    """Return the anchors that GitHub creates for the headings of a page."""
    titles = HEADING.findall(page.read_text())
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_an_example_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
