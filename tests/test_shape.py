"""The source stays small: short functions, short files, few of them.

Run `python tests/test_shape.py` to print the numbers. The length of a function does not include decorators
and docstrings, so that documentation never makes a function too long.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

SOURCE = Path(__file__).parents[1] / "src" / "heterophily"
# Upper limits. Lower the last two when the code shrinks; the goals are 18,000 lines in 160 files.
LIMITS = {
    "median lines per function": 6,
    "90th percentile of lines per function": 18,
    "lines of the longest function": 45,
    "lines of the longest file": 350,
    "lines": 42_000,
    "files": 280,
}


def functions(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the length and the place of every function of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node) is not None
            docstring = first.end_lineno - first.lineno + 1 if documented else 0
            yield node.end_lineno - node.lineno + 1 - docstring, f"{path}:{node.lineno} {node.name}"


def measure() -> tuple[dict[str, float], list[tuple[int, str]], list[tuple[int, str]]]:
    """Return all measures, and functions and files with their lengths, longest first."""
    paths = sorted(SOURCE.rglob("*.py"))
    files = sorted(((len(path.read_text(encoding="utf-8").splitlines()), str(path)) for path in paths), reverse=True)
    all_functions = sorted((f for path in paths for f in functions(path)), reverse=True)
    values = (
        median(length for length, _ in all_functions),
        all_functions[len(all_functions) // 10][0],
        all_functions[0][0],
        files[0][0],
        sum(length for length, _ in files),
        len(files),
    )
    return dict(zip(LIMITS, values, strict=True)), all_functions, files


def test_functions_and_files_are_short():
    measures, all_functions, files = measure()
    exceeded = {name: value for name, value in measures.items() if value > LIMITS[name]}
    assert not exceeded, f"longest: {all_functions[:3]}, {files[:3]}"


if __name__ == "__main__":
    measures, all_functions, files = measure()
    for name, value in measures.items():
        print(f"{name:40} {value:8,} (limit {LIMITS[name]:,})")
    for length, place in [*all_functions[:10], *files[:10]]:
        print(f"{length:5} {place}")
