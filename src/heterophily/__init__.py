"""Graph neural networks where connected nodes differ.

The public names load on first use, so that `import heterophily` and the command line start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heterophily.analysis.diagnosis import Diagnosis as Diagnosis
    from heterophily.analysis.diagnosis import diagnose as diagnose
    from heterophily.data.audit import Audit as Audit
    from heterophily.data.audit import examine as examine
    from heterophily.data.catalog import CATALOG as CATALOG
    from heterophily.data.loading import load as load
    from heterophily.data.splits import random_splits as random_splits
    from heterophily.data.synthetic import synthetic_graph as synthetic_graph
    from heterophily.data.synthetic import twelve_graphs as twelve_graphs
    from heterophily.errors import HeterophilyError as HeterophilyError
    from heterophily.estimator import NodeClassifier as NodeClassifier
    from heterophily.graph import Graph as Graph
    from heterophily.graph import Split as Split
    from heterophily.htmp.building import EdgeIndexAdapter as EdgeIndexAdapter
    from heterophily.htmp.building import build as build
    from heterophily.htmp.recipe import Recipe as Recipe
    from heterophily.models import REGISTRY as REGISTRY
    from heterophily.models import register as register

__version__ = "0.1.0"

_HOMES = {
    "Audit": "data.audit",
    "CATALOG": "data.catalog",
    "Diagnosis": "analysis.diagnosis",
    "EdgeIndexAdapter": "htmp.building",
    "Graph": "graph",
    "HeterophilyError": "errors",
    "NodeClassifier": "estimator",
    "REGISTRY": "models",
    "Recipe": "htmp.recipe",
    "Split": "graph",
    "build": "htmp.building",
    "diagnose": "analysis.diagnosis",
    "examine": "data.audit",
    "load": "data.loading",
    "random_splits": "data.splits",
    "register": "models",
    "synthetic_graph": "data.synthetic",
    "twelve_graphs": "data.synthetic",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'heterophily' has no attribute {name!r}")
    return getattr(import_module(f"heterophily.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
