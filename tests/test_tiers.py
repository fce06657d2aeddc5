"""A module imports only from tiers below its own, and modules of one tier have no import cycles."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "heterophily"
TIERS = (
    ("core",),
    ("data",),
    ("htmp",),
    ("models",),
    ("training",),
    ("runs",),
    ("analysis", "benchmark", "tuning", "studies"),
    ("views",),
    ("commands",),
)
TIER_OF = {package: number for number, tier in enumerate(TIERS) for package in tier}
FORBIDDEN = {("htmp", "data")}  # below, but no part needs a dataset
MODULES = sorted(SOURCE.glob("*/**/*.py"))
# Pairs of modules that still import upward; the list only gets shorter.
EXCEPTIONS: dict[str, set[str]] = {}


def imported_modules(path: Path, *, top_level: bool = False) -> set[str]:
    """Return the modules of this library that a module imports, anywhere or at the top only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level else list(ast.walk(tree))
    names = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: use absolute imports"
            names.add(node.module or "")
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name for name in names if name.startswith("heterophily.")}


def imported_packages(path: Path) -> set[str]:
    """Return the packages of this library that a module imports, including lazy imports."""
    return {name.split(".")[1] for name in imported_modules(path)} & set(TIER_OF)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_from_lower_tiers(path):
    own = path.relative_to(SOURCE).parts[0]
    others = imported_packages(path) - {own}
    above = {p for p in others if TIER_OF[p] >= TIER_OF[own] or (own, p) in FORBIDDEN}
    allowed = EXCEPTIONS.get(str(path.relative_to(SOURCE)), set())
    assert above == allowed, f"{own} must not import from {', '.join(sorted(above - allowed))}"


@pytest.mark.parametrize("package", sorted(TIER_OF))
def test_modules_of_a_package_have_no_import_cycle(package):
    modules = {_name(path): path for path in MODULES if path.relative_to(SOURCE).parts[0] == package}
    edges = {name: (imported_modules(path, top_level=True) & set(modules)) - {name} for name, path in modules.items()}
    while edges:
        leaves = {name for name, targets in edges.items() if not targets & set(edges)}
        assert leaves, f"import cycle among {', '.join(sorted(edges))}"
        edges = {name: targets for name, targets in edges.items() if name not in leaves}


def _name(path: Path) -> str:
    parts = ("heterophily", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")
