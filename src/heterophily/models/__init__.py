"""The registry: one method per name, in the order of the paper's table.

A model is given by the name of a registered method, by a method class, by a method, or by the path of a
Python file that defines exactly one method. Installed packages add methods by entry points.
"""

import runpy
import traceback
import warnings
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeVar

from heterophily.core.arguments import short_text
from heterophily.core.errors import HeterophilyError, HeterophilyWarning, unknown_name
from heterophily.htmp.method import CustomMethod, Method, MethodLike
from heterophily.models.acm_gcn import ACMGCN
from heterophily.models.appnp import APPNP
from heterophily.models.boosting import Boosting
from heterophily.models.c_ignn import CIGNN
from heterophily.models.classics import LINKX, GATPlus, GCNPlus, SAGEPlus
from heterophily.models.clp import CLP
from heterophily.models.cmgnn import CMGNN
from heterophily.models.cpgnn import CPGNN
from heterophily.models.dir_gnn import DirGAT, DirGCN, DirSAGE
from heterophily.models.fagcn import FAGCN
from heterophily.models.gat import GAT
from heterophily.models.gbk_gnn import GBKGNN
from heterophily.models.gcn import GCN
from heterophily.models.gcnii import GCNII
from heterophily.models.geom_gcn import GeomGCN
from heterophily.models.ggcn import GGCN
from heterophily.models.glognn import GloGNN
from heterophily.models.gpr_gnn import GPRGNN
from heterophily.models.h2gcn import H2GCN
from heterophily.models.hog_gcn import HOGGCN
from heterophily.models.mixhop import MixHop
from heterophily.models.mlp import MLP
from heterophily.models.ordered_gnn import OrderedGNN
from heterophily.models.polynormer import Polynormer
from heterophily.models.sgformer import SGFormer
from heterophily.models.sign import SIGN
from heterophily.models.simp_gcn import SimPGCN
from heterophily.models.trio import Trio
from heterophily.models.ugcn import UGCN
from heterophily.models.wrgnn import WRGNN

PUBLISHED: tuple[type[Method], ...] = (
    MLP,
    GCN,
    APPNP,
    GCNII,
    GAT,
    GPRGNN,
    OrderedGNN,
    ACMGCN,
    FAGCN,
    GBKGNN,
    SimPGCN,
    H2GCN,
    GeomGCN,
    MixHop,
    UGCN,
    WRGNN,
    HOGGCN,
    GloGNN,
    GGCN,
    CMGNN,
)
CLASSICS: tuple[type[Method], ...] = (GCNPlus, SAGEPlus, GATPlus, LINKX)
# Methods that are not in the paper's table.
OTHERS: tuple[type[Method], ...] = (
    Trio,
    Boosting,
    DirGCN,
    DirSAGE,
    DirGAT,
    CIGNN,
    SIGN,
    Polynormer,
    SGFormer,
    CPGNN,
    CLP,
)

Registered = type[Method] | CustomMethod
Model = str | Path | MethodLike
ENTRY_POINTS = "heterophily.methods"  # group of the entry points of other packages
R = TypeVar("R", bound=type[Method] | CustomMethod)

BUILT_IN = {method.name: method for method in (*PUBLISHED, *CLASSICS, *OTHERS)}
REGISTRY: dict[str, Registered] = dict(BUILT_IN)
NETWORKS = {name: method for name, method in BUILT_IN.items() if method.is_network}


def register(method: R) -> R:
    """Add a method to the registry, so that it can be used by its name.

    Raises
    ------
    HeterophilyError
        If another method has the same name.

    Examples
    --------
    >>> from heterophily.models.gcn import GCN
    >>> register(GCN).name
    'gcn'
    """
    if REGISTRY.get(method.name, method) != method:
        raise HeterophilyError(f'a model "{method.name}" already exists; choose another name')
    REGISTRY[method.name] = method
    return method


def find_method(model: Model) -> MethodLike:
    """Return the method of a name, of a file, or the given method itself.

    Raises
    ------
    HeterophilyError
        If there is no such method, or the file does not define exactly one.

    Examples
    --------
    >>> find_method("gcn").title
    'GCN'
    """
    if not isinstance(model, str | Path):
        if not _is_method(model) and not isinstance(model, Method):
            raise HeterophilyError(f"model must be the name of a method, a file, or a method, got {short_text(model)}")
        return model
    if str(model).endswith(".py"):
        return _method_in_file(Path(model))
    if str(model) not in REGISTRY:
        load_installed_methods()
    if str(model) not in REGISTRY:
        raise unknown_name("model", str(model), REGISTRY)
    return REGISTRY[str(model)]


def load_installed_methods() -> None:
    """Register the methods of installed packages: entry points of the group `heterophily.methods`.

    A package that cannot be loaded, or whose method has the name of another one, is skipped with a warning.
    """
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name in REGISTRY:
            continue
        try:
            method = entry.load()
            if not _is_method(method) or method.name != entry.name:
                raise HeterophilyError(f"{entry.value} must be a method with the name {entry.name!r}")
            register(method)
        except Exception as error:  # any error of a third-party package
            reason = f"{type(error).__name__}: {error}"
            warnings.warn(f"the installed model {entry.name!r} cannot be loaded: {reason}", HeterophilyWarning, 2)


def _method_in_file(path: Path) -> Registered:
    if not path.exists():
        raise HeterophilyError(f"no file {path}; pass the path of a file that defines a method")
    method = _load_method(path.resolve(), path.stat().st_mtime_ns)
    if method.name in BUILT_IN:
        raise HeterophilyError(f'{path}: a model "{method.name}" already exists; choose a new name')
    REGISTRY[method.name] = method
    return method


@cache
def _load_method(path: Path, _modified: int) -> Registered:
    names = _run(path)
    methods = [value for value in names.values() if _is_defined_in(value, names)]
    if len(methods) != 1:
        raise HeterophilyError(f"{path} must define exactly one method, but defines {len(methods)}")
    return methods[0]  # type: ignore[return-value]


def _is_method(value: object) -> bool:
    return isinstance(value, CustomMethod) or (isinstance(value, type) and issubclass(value, Method))


def _is_defined_in(value: object, names: dict[str, object]) -> bool:
    return _is_method(value) and (not isinstance(value, type) or value.__module__ == names["__name__"])


def _run(path: Path) -> dict[str, object]:
    try:
        return runpy.run_path(str(path))
    except (MemoryError, OSError):  # not a problem of the file
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path)]
        line = getattr(error, "lineno", lines[-1] if lines else 1)
        raise HeterophilyError(
            f"cannot load {path}: {type(error).__name__} on line {line}: {error}; the file must define "
            "exactly one method"
        ) from error
