"""`Any` is rare: it turns type checking off for everything that it touches.

Run `python tests/test_types.py` to print the number of uses per file.
"""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "heterophily"
# The present number of uses per package, which must not grow. The goal is at most 40 in total.
LIMITS = {"commands": 2, "core": 1, "data": 1, "htmp": 10, "runs": 2, "search": 28, "studies": 10, "views": 1}


def count_any(path: Path) -> int:
    """Count the uses of `Any` in annotations, including annotations in quotes."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes)
    quoted = (node.value for node in nodes if isinstance(node, ast.Constant))
    return names + sum(_count_quoted(text) for text in quoted if isinstance(text, str))


def _count_quoted(text: str) -> int:
    if "Any" not in text or "\n" in text:
        return 0
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return 0
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))


@cache
def uses() -> dict[str, Counter[str]]:
    """Return the number of uses by package and file."""
    packages: dict[str, Counter[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).parts
        if count := count_any(path):
            packages.setdefault(parts[0], Counter())["/".join(parts)] = count
    return packages


@pytest.mark.parametrize("package", sorted(path.name for path in SOURCE.iterdir()))
def test_any_does_not_spread(package):
    counts = uses().get(package, Counter())
    assert counts.total() <= LIMITS.get(package, 0), dict(counts)


if __name__ == "__main__":
    total = 0
    for package, counts in uses().items():
        total += counts.total()
        print(f"{counts.total():5} {package} (limit {LIMITS.get(package, 0)})")
        for path, count in counts.most_common():
            print(f"{count:11} {path}")
    print(f"{total:5} in total")
