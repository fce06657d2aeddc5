"""Build the documentation site: `python tools/docs.py [FOLDER]`, by default in build/docs.

The pages in docs/ can be read in the repository, too: they link to files. This script copies them to FOLDER/pages and

* adds the changelog and the pages for contributors of the root folder,
* converts notebooks to pages, from which they can be downloaded,
* rewrites links to files that are elsewhere on the site, and copies linked files that are not pages,
* inserts vector figures into pages, in which they follow the color scheme.

Then, Zensical builds FOLDER/site in strict mode. It needs no network, and neither does the site.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from os.path import relpath
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from notebooks import to_markdown

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
COPIED = {".md", ".ipynb", ".svg", ".png", ".css"}
ROOT_PAGES = {  # pages of the root folder, and where they are on the site
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
    "SECURITY.md": "project/security.md",
    "README.md": "index.md",  # replaced by the home page of the site
}
TEMPLATE = "summary.md"  # a part of the page of the studies
HOME = "---\nhide: [navigation, toc]\n---\n\n"  # the home page has no sidebars
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
FIGURE = re.compile(r"^!\[([^]]*)\]\(([^)]+\.svg)\)$", re.MULTILINE)


def build(folder: Path) -> Path:
    """Write the site and return its folder."""
    pages = folder / "pages"
    shutil.rmtree(folder, ignore_errors=True)
    write_pages(pages)
    config = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    for name in ("src", "tools/split_names.py"):
        config = config.replace(f'"{name}"', f'"{(ROOT / name).as_posix()}"')
    (folder / "zensical.toml").write_text(config, encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "site"


def write_pages(pages: Path) -> None:
    """Write all pages of the site and their figures as files in the layout of the site."""
    for source in sorted(path for path in DOCS.rglob("*") if path.suffix in COPIED and path.name != TEMPLATE):
        target = pages / place_of(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix in (".md", ".ipynb"):
            target.write_text(convert(source, pages), encoding="utf-8")
        if source.suffix != ".md":
            shutil.copyfile(source, target.with_suffix(source.suffix))
    for name, place in ROOT_PAGES.items():
        if name != "README.md":
            (pages / place).parent.mkdir(parents=True, exist_ok=True)
            (pages / place).write_text(convert(ROOT / name, pages), encoding="utf-8")


def place_of(source: Path) -> str:
    """Return where a file of the repository is on the site, relative to its root."""
    name = source.relative_to(ROOT).as_posix()
    place = ROOT_PAGES.get(name, name.removeprefix("docs/"))
    return place.removesuffix(".ipynb") + ".md" if place.endswith(".ipynb") else place


def convert(source: Path, pages: Path) -> str:
    """Return a page with the links and figures of the site."""
    here = Path(place_of(source)).parent
    is_notebook = source.suffix == ".ipynb"
    text = to_markdown(source, pages / here) if is_notebook else source.read_text(encoding="utf-8")
    text = outside_code(text, lambda prose: FIGURE.sub(lambda match: inserted(source, match), prose))
    text = (HOME if source == DOCS / "index.md" else "") + text
    return outside_code(text, lambda prose: LINK.sub(lambda match: linked(source, here, pages, match), prose))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change the parts of a page between its blocks of code."""
    parts, end = [], 0
    for block in FENCE.finditer(text):
        parts += [change(text[end : block.start()]), block.group()]
        end = block.end()
    return "".join([*parts, change(text[end:])])


def linked(source: Path, here: Path, pages: Path, match: re.Match[str]) -> str:
    """Return a link that leads to the same file on the site."""
    target = (source.parent / match[2]).resolve()
    if not target.is_file() or target == source:
        return match.group()  # if the file is missing, the strict build reports it
    place = place_of(target)
    if target.suffix not in COPIED:
        (pages / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(target, pages / place)
    return f"{match[1]}{Path(relpath(place, here)).as_posix()}{match[3]}"


def inserted(source: Path, match: re.Match[str]) -> str:
    """Return a vector figure as an element of the page, without its style sheet."""
    path = source.parent / match[2]
    if not path.is_file():
        return match.group()
    figure = re.sub(r"<style>.*?</style>|<\?xml.*?\?>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    figure = re.sub(r"\n\s*", "", figure.strip())
    return f'<figure class="vector">{figure}</figure>'


if __name__ == "__main__":
    try:
        print(f"wrote {build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / 'build' / 'docs'))}")
    except subprocess.CalledProcessError:
        sys.exit("the site has warnings; correct the pages that are listed above")
