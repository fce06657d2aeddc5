"""WRGNN, as WRGAT: the graph and relations of structural similarity, with attention in each."""

from heterophily.core.spaces import Choice
from heterophily.htmp.combine import Add
from heterophily.htmp.guidance import Attention, Ones
from heterophily.htmp.neighborhoods import Ego, Raw, Structural
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Recipe
from heterophily.htmp.transform import Linear

MAX_DEPTH = 10
WITHIN = Attention(aggregate=Setting("aggregate"), init="relation")

WRGNN = Recipe(
    name="wrgnn",
    title="WRGNN",
    paper="Suresh et al., Breaking the limit of graph neural networks by improving the assortativity of "
    "graphs with local mixing patterns, KDD 2021",
    channels=(
        Ego() * Ones(),
        Raw(weight=Setting("raw_weight")) * WITHIN,
        *(
            (Structural(t, Setting("depth"), Setting("duplicates")) * WITHIN).only_when(
                Setting("depth", at_least=t)
            )
            for t in range(MAX_DEPTH + 1)
        ),
    ),
    combine=Add(),
    transform=Linear(bias_channels=(0,)),
    dropout=Dropout(layer=Setting("dropout")),
    equation="Z = Z W_0 + b + Σ_r M_r, M_r[i] = mean or sum over j in N_r(i) of α_ij ω_ij U_j, U = Z W_r",
    settings={
        "width": 128,
        "depth": 2,
        "raw_weight": 1.0,
        "aggregate": "mean",
        "duplicates": False,
        "weight_decay": 5e-5,
    },
    space={
        "width": Choice(64, 128),
        "depth": Choice(1, 2, 3),
        "raw_weight": Choice(0.5, 1.0),
        "learning_rate": Choice(0.001, 0.005, 0.01),
    },
    reference={"duplicates": True, "depth": 10},
    deviations=(
        "relations up to depth 2; the authors go to the diameter, filtered to 10: depth",
        "a pair that both ends selected counts once; in the program twice: duplicates",
        "the mean of an attention that already sums to one, as in the program: aggregate = sum is plain",
        "exact dynamic time warping; the authors use an approximation of radius 1",
    ),
)
