"""Print the lowest supported version of each dependency of users, as a constraints file for `make lowest`."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEVELOPMENT = ("dev", "docs")


def lowest_versions() -> list[str]:
    """Return `name==version` for every lower bound of the library and of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: group for name, group in project["optional-dependencies"].items() if name not in DEVELOPMENT}
    groups = [project["dependencies"], *extras.values()]
    found = [re.match(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", line) for group in groups for line in group]
    return sorted({f"{match[1]}=={match[2]}" for match in found if match})


if __name__ == "__main__":
    print("\n".join(lowest_versions()))
