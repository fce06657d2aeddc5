"""Check the distributions of a release, and write its notes: `python tools/release.py dist notes.md`.

The wheel must contain every file of the package, the version must be that of the changelog and of the citation, and
the notes are the section of the version in the changelog.
"""

import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import heterophily

ROOT = Path(__file__).parents[1]
SECTION = r"^## {} - (\d{{4}}-\d{{2}}-\d{{2}})\n(.*?)(?=^## |\Z)"


def missing_files(wheel: Path) -> list[str]:
    """Return the files of the package in the repository that are not in a wheel."""
    command = ["git", "ls-files", "src"]
    tracked = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return sorted({name.removeprefix("src/") for name in tracked} - set(ZipFile(wheel).namelist()))


def release_notes(version: str) -> str:
    """Return the section of a version in the changelog, or "" if there is none."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(SECTION.format(re.escape(version)), text, re.DOTALL | re.MULTILINE)
    return found[2].strip() + "\n" if found else ""


def problems(dist: Path) -> list[str]:
    """Return what is wrong with the distributions in a folder."""
    version = heterophily.__version__
    wheel, source = dist / f"heterophily-{version}-py3-none-any.whl", dist / f"heterophily-{version}.tar.gz"
    found = [f"{path} does not exist" for path in (wheel, source) if not path.exists()]
    if wheel.exists():
        found += [f"{wheel} does not contain {name}" for name in missing_files(wheel)]
    if not release_notes(version):
        found.append(f"CHANGELOG.md has no section '## {version} - DATE'")
    if f"\nversion: {version}\n" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        found.append(f"CITATION.cff does not have the version {version}")
    return found


if __name__ == "__main__":
    if found := problems(Path(sys.argv[1])):
        sys.exit("\n".join(found))
    notes = Path(sys.argv[2])
    notes.parent.mkdir(parents=True, exist_ok=True)
    notes.write_text(release_notes(heterophily.__version__), encoding="utf-8")
