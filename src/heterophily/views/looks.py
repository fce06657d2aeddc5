"""How marks look: a method has the same color, symbol, and line in all images and on all pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from heterophily.core.chart import Mark
from heterophily.data import published as paper
from heterophily.models import REGISTRY

# Okabe and Ito's palette, which color-blind readers can distinguish, without its pale yellow.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999")
# Methods that are often in one figure have different colors and solid lines.
FIRST = ("cmgnn", "gcn", "mlp", "acm-gcn", "gcnii", "ordered-gnn", "trio", "boosting")
SYMBOLS = ("circle", "square", "triangle", "wedge", "plus")
LINES = ("solid", "dotted", "dash-dot", "dash-dot-dot", "sparse")  # dashes are for the paper's numbers


@dataclass(frozen=True)
class Look:
    """Color, symbol, and line of a mark. `color` is a number of the palette or a role."""

    color: int | str
    symbol: str = "circle"
    line: str = "solid"


def look_of(mark: Mark, methods: Sequence[str] = ()) -> Look:
    """Return how a mark looks. `methods` are those of the page or image, in which custom methods are counted."""
    number = number_of(mark.method, methods) if mark.method else mark.color
    if isinstance(number, str):
        return Look(number)
    turn = number // len(PALETTE)
    return Look(number % len(PALETTE), SYMBOLS[(number + turn) % len(SYMBOLS)], LINES[turn % len(LINES)])


def number_of(method: str, methods: Sequence[str] = ()) -> int:
    """Return the number of a method, which is the same everywhere. Custom methods follow the built-in ones."""
    known = _known()
    custom = [name for name in methods if name not in known]
    return known[method] if method in known else len(known) + (custom.index(method) if method in custom else 0)


@cache
def _known() -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys([*FIRST, *paper.methods(), *REGISTRY]))}
