"""Search for better settings of a recipe, or for a better recipe.

The names load on first use: recipes import their spaces from here, and a search imports recipes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heterophily.search.optimize import search as search
    from heterophily.search.result import Attempt as Attempt
    from heterophily.search.result import Found as Found

_HOMES = {"Attempt": "result", "Found": "result", "search": "optimize"}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'heterophily.search' has no attribute {name!r}")
    return getattr(import_module(f"heterophily.search.{_HOMES[name]}"), name)
