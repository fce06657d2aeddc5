"""Packages that belong to an extra of this library and are therefore not always installed."""

from importlib import import_module
from types import ModuleType

from heterophily.core.errors import HeterophilyError

# The extra that installs each package. `pip install heterophily` installs none of them.
EXTRAS = {
    "distributed": "dask",
    "faiss": "knn",
    "jinja2": "report",
    "matplotlib": "report",
    "narwhals": "tables",
    "networkx": "tables",
    "optuna": "search",
    "pyarrow": "tables",
    "ray": "ray",
    "tomlkit": "search",
    "torch_geometric": "pyg",
}


class MissingExtraError(HeterophilyError, ImportError):
    """A package that is not installed, with the command that installs it."""


def require(purpose: str, *packages: str) -> ModuleType:
    """Import packages of an extra and return the last one. Raise an error with the pip command if one is missing.

    >>> require("reading tables", "pyarrow").__name__
    'pyarrow'
    """
    for package in packages:
        try:
            module = import_module(package)
        except ImportError as error:
            raise MissingExtraError(
                f"{purpose} requires {package}, which is not installed; pip install 'heterophily[{EXTRAS[package]}]'"
            ) from error
    return module
