"""Search for better settings of a method, or for a better architecture."""

from importlib import import_module
from typing import TYPE_CHECKING

from heterophily.core.extras import require

if TYPE_CHECKING:
    from heterophily.tuning.equal_budget import TuneResult as TuneResult
    from heterophily.tuning.equal_budget import tune as tune
    from heterophily.tuning.optimize import search as search
    from heterophily.tuning.result import SearchResult as SearchResult
    from heterophily.tuning.result import TrialResult as TrialResult

require("a search", "optuna", "tomlkit")

_LAZY_IMPORTS = {
    "SearchResult": "result",
    "TrialResult": "result",
    "TuneResult": "equal_budget",
    "search": "optimize",
    "tune": "equal_budget",
}

__all__ = list(_LAZY_IMPORTS)


def __getattr__(name: str) -> object:
    if name not in _LAZY_IMPORTS:
        raise AttributeError(f"module 'heterophily.tuning' has no attribute {name!r}")
    return getattr(import_module(f"heterophily.tuning.{_LAZY_IMPORTS[name]}"), name)
