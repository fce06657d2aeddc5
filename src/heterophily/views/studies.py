"""The page of the studies: our numbers and the paper's.

`python -m heterophily.views.studies docs/studies > docs/evidence/studies.md` generates it from a folder that
`heterophily study NAME --out docs/studies` filled.
"""

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heterophily.core.chart import Table
from heterophily.studies import STUDIES, AnyStudy
from heterophily.studies.tidy import Tables, read_tables
from heterophily.views.templates import render_markdown

JUDGMENT = "summary.md"  # text by a person about the results, if there is any


@dataclass(frozen=True)
class Section:
    """One study on the page."""

    study: AnyStudy
    text: str
    tables: Sequence[Table]
    findings: Sequence[str]
    images: Sequence[Path]


def page(folder: Path) -> str:
    """Return the page as Markdown. The folder is next to that of the page."""
    judgment, tables = folder / JUDGMENT, read_tables(folder)
    text = judgment.read_text(encoding="utf-8").strip() if judgment.exists() else ""
    sections = [_section(study, folder, tables) for study in STUDIES.values()]
    return render_markdown("studies.md.j2", folder=folder.name, judgment=text, sections=sections)


def _section(study: AnyStudy, folder: Path, tables: Tables) -> Section:
    text = textwrap.fill(" ".join(f"{study.description} {study.details}".split()), 120)
    images = [path for name in study.files for path in sorted(folder.glob(f"{name}*.png"))]
    return Section(study, text, study.tables(tables), study.findings(tables), images)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m heterophily.views.studies FOLDER")
    print(page(Path(sys.argv[1])), end="")
