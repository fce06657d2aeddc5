"""`Any` is rare: it turns type checking off for everything that it touches.

Run `python tests/test_types.py` to print the number of uses per file.
"""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "heterophily"
# Uses of `Any` by file. At most 40 in total: values that third-party libraries, users' parts, or pickles determine.
ALLOWED = {
    "commands/study.py": 2,
    "core/types.py": 1,
    "data/pickles.py": 1,
    "htmp/execution/batch.py": 1,
    "htmp/execution/sampling.py": 1,
    "htmp/network.py": 1,
    "htmp/parts.py": 5,
    "tuning/study.py": 1,
    "studies/__init__.py": 1,
    "studies/desired.py": 3,
    "studies/tidy.py": 5,
    "views/search.py": 1,
}


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
def uses() -> dict[str, int]:
    """Return the number of uses by file."""
    counts = {str(path.relative_to(SOURCE)): count_any(path) for path in sorted(SOURCE.rglob("*.py"))}
    return {path: count for path, count in counts.items() if count}


def test_any_is_used_only_where_it_is_allowed():
    exceeded = {path: count for path, count in uses().items() if count > ALLOWED.get(path, 0)}
    assert not exceeded
    assert sum(ALLOWED.values()) <= 40


if __name__ == "__main__":
    for path, count in uses().items():
        print(f"{count:5} {path} (allowed {ALLOWED.get(path, 0)})")
    print(f"{sum(uses().values()):5} in total")
