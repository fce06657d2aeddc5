"""The registry: one recipe per method, in the order of the paper's table.

Everything that takes a model takes a name of the registry, a `Recipe`, or the path of a Python file that
defines one. `register` adds a recipe of one's own under its name.
"""

import runpy
import traceback
from functools import cache
from pathlib import Path
from typing import Any

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.htmp.recipe import Recipe
from heterophily.models.acm_gcn import ACM_GCN
from heterophily.models.appnp import APPNP
from heterophily.models.classics import GAT_PLUS, GCN_PLUS, LINKX, SAGE_PLUS
from heterophily.models.cmgnn import CMGNN
from heterophily.models.fagcn import FAGCN
from heterophily.models.gat import GAT
from heterophily.models.gbk_gnn import GBK_GNN
from heterophily.models.gcn import GCN
from heterophily.models.gcnii import GCNII
from heterophily.models.geom_gcn import GEOM_GCN
from heterophily.models.ggcn import GGCN
from heterophily.models.glognn import GLOGNN
from heterophily.models.gpr_gnn import GPR_GNN
from heterophily.models.h2gcn import H2GCN
from heterophily.models.hog_gcn import HOG_GCN
from heterophily.models.mixhop import MIXHOP
from heterophily.models.mlp import MLP
from heterophily.models.ordered_gnn import ORDERED_GNN
from heterophily.models.simp_gcn import SIMP_GCN
from heterophily.models.ugcn import UGCN
from heterophily.models.wrgnn import WRGNN

PUBLISHED = (
    MLP,
    GCN,
    APPNP,
    GCNII,
    GAT,
    GPR_GNN,
    ORDERED_GNN,
    ACM_GCN,
    FAGCN,
    GBK_GNN,
    SIMP_GCN,
    H2GCN,
    GEOM_GCN,
    MIXHOP,
    UGCN,
    WRGNN,
    HOG_GCN,
    GLOGNN,
    GGCN,
    CMGNN,
)
CLASSICS = (GCN_PLUS, SAGE_PLUS, GAT_PLUS, LINKX)

_OURS = {recipe.name: recipe for recipe in (*PUBLISHED, *CLASSICS)}
REGISTRY: dict[str, Recipe] = dict(_OURS)


def register(recipe: Recipe) -> Recipe:
    """Add a recipe under its name, so that everything that takes a model name knows it."""
    known = REGISTRY.get(recipe.name)
    if known is not None and known != recipe:
        raise HeterophilyError(f'a model "{recipe.name}" exists already; give yours another name')
    REGISTRY[recipe.name] = recipe
    return recipe


def find_recipe(model: str | Recipe) -> Recipe:
    """A recipe, by itself, by its name, or by the path of a Python file that defines it."""
    if isinstance(model, Recipe):
        return model
    if model.endswith(".py"):
        return _recipe_in(Path(model))
    if model not in REGISTRY:
        raise unknown_name("model", model, REGISTRY)
    return REGISTRY[model]


def _recipe_in(path: Path) -> Recipe:
    if not path.exists():
        raise HeterophilyError(f"no file {path}; give the path of a file that defines a Recipe")
    recipe = _defined_in(path.resolve(), path.stat().st_mtime_ns)
    if recipe.name in _OURS:
        raise HeterophilyError(f'{path}: a model "{recipe.name}" exists already; choose a new name')
    REGISTRY[recipe.name] = recipe
    return recipe


@cache
def _defined_in(path: Path, _changed: int) -> Recipe:
    recipes = [v for v in _run(path).values() if isinstance(v, Recipe)]
    own = [recipe for recipe in recipes if all(recipe is not known for known in _OURS.values())]
    if len(own) != 1:
        raise HeterophilyError(f"{path} must define exactly one Recipe, has {len(own)}")
    return own[0]


def _run(path: Path) -> dict[str, Any]:
    try:
        return runpy.run_path(str(path))
    except (MemoryError, OSError):  # nothing that the file could mend
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path)]
        line = getattr(error, "lineno", lines[-1] if lines else 1)
        raise HeterophilyError(
            f"{path}, line {line}: {type(error).__name__}: {error}; mend the file, it has to define a Recipe"
        ) from error
