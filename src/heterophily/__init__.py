"""Graph neural networks for graphs whose connected nodes differ.

The public names are imported on first use, so that `import heterophily` and the command line start quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heterophily.analysis.audit import Audit as Audit
    from heterophily.analysis.audit import audit_graph as audit_graph
    from heterophily.analysis.diagnosis import Diagnosis as Diagnosis
    from heterophily.analysis.diagnosis import diagnose as diagnose
    from heterophily.benchmark.bench import bench as bench
    from heterophily.benchmark.columns import table as table
    from heterophily.core.encoder import FeatureEncoder as FeatureEncoder
    from heterophily.core.errors import HeterophilyError as HeterophilyError
    from heterophily.core.graph import Graph as Graph
    from heterophily.core.graph import Split as Split
    from heterophily.core.structure import add_structural_features as add_structural_features
    from heterophily.data.catalog import CATALOG as CATALOG
    from heterophily.data.loading import load as load
    from heterophily.data.splits import random_splits as random_splits
    from heterophily.data.synthetic import synthetic_benchmark as synthetic_benchmark
    from heterophily.data.synthetic import synthetic_graph as synthetic_graph
    from heterophily.htmp.architecture import Architecture as Architecture
    from heterophily.htmp.conv import HTMPConv as HTMPConv
    from heterophily.htmp.method import CustomMethod as CustomMethod
    from heterophily.htmp.method import Method as Method
    from heterophily.htmp.method import define_method as define_method
    from heterophily.models import REGISTRY as REGISTRY
    from heterophily.models import register as register
    from heterophily.models.building import build as build
    from heterophily.studies.run import study as study
    from heterophily.training.cross_validation import NodeIndexClassifier as NodeIndexClassifier
    from heterophily.training.cross_validation import cross_validate as cross_validate
    from heterophily.training.estimator import NodeClassifier as NodeClassifier
    from heterophily.training.results_folder import explain as explain
    from heterophily.training.selection import fit as fit
    from heterophily.tuning.equal_budget import tune as tune
    from heterophily.tuning.optimize import search as search
    from heterophily.views.page.build import report as report

__version__ = "0.2.0"

_LAZY_IMPORTS = {
    "bench": "benchmark.bench",
    "explain": "training.results_folder",
    "fit": "training.selection",
    "report": "views.page.build",
    "search": "tuning.optimize",
    "study": "studies.run",
    "table": "benchmark.columns",
    "tune": "tuning.equal_budget",
    "Audit": "analysis.audit",
    "CATALOG": "data.catalog",
    "Diagnosis": "analysis.diagnosis",
    "FeatureEncoder": "core.encoder",
    "Graph": "core.graph",
    "HTMPConv": "htmp.conv",
    "HeterophilyError": "core.errors",
    "NodeClassifier": "training.estimator",
    "NodeIndexClassifier": "training.cross_validation",
    "REGISTRY": "models",
    "Architecture": "htmp.architecture",
    "CustomMethod": "htmp.method",
    "Method": "htmp.method",
    "define_method": "htmp.method",
    "Split": "core.graph",
    "build": "models.building",
    "cross_validate": "training.cross_validation",
    "diagnose": "analysis.diagnosis",
    "add_structural_features": "core.structure",
    "audit_graph": "analysis.audit",
    "load": "data.loading",
    "random_splits": "data.splits",
    "register": "models",
    "synthetic_graph": "data.synthetic",
    "synthetic_benchmark": "data.synthetic",
}

__all__ = ["__version__", *_LAZY_IMPORTS]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name not in _LAZY_IMPORTS:
        raise AttributeError(f"module 'heterophily' has no attribute {name!r}")
    return getattr(import_module(f"heterophily.{_LAZY_IMPORTS[name]}"), name)


def __dir__() -> list[str]:
    return __all__
