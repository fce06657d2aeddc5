"""FAGCN: attention of either sign, so that messages may be subtracted."""

from heterophily.core.spaces import Choice
from heterophily.htmp.combine import WeightedAdd
from heterophily.htmp.encoder import Embed
from heterophily.htmp.guidance import Ones, SignedAttention
from heterophily.htmp.neighborhoods import Ego, Raw
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Head, Recipe
from heterophily.htmp.transform import NoTransform

P = Setting("dropout")

FAGCN = Recipe(
    name="fagcn",
    title="FAGCN",
    paper="Bo et al., Beyond low-frequency information in graph convolutional networks, AAAI 2021",
    channels=((Ego() * Ones()).with_input("initial"), Raw() * SignedAttention()),
    combine=WeightedAdd(Setting("ego_weight"), 1.0),
    encoder=Embed(
        init="glorot_normal", bias_init="linear", gain=1.414, dropout=P, drop_output=True
    ),
    transform=NoTransform(),
    head=Head(init="glorot_normal", bias_init="linear", gain=1.414),
    dropout=Dropout(input=P, edge=P),
    activation="none",
    equation="Z^l = ε Z⁰ + Σ_j drop(tanh(w_l·[Z_i ‖ Z_j] + c_l) / √(d_i d_j)) Z_j^(l-1)",
    settings={
        "width": 32,
        "ego_weight": 0.3,
        "feature_norm": "l1",
        "weight_decay": 5e-5,
        "patience": 200,
    },
    space={
        "ego_weight": Choice(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        "n_layers": Choice(1, 2, 4, 6, 8),
        "width": Choice(16, 32, 64),
        "dropout": Choice(0.4, 0.5, 0.6),
        "weight_decay": Choice(5e-5, 5e-4, 1e-3),
        "learning_rate": Choice(0.005, 0.01),
    },
    deviations=("the gate reads the state of each layer, as in the program; the paper writes X",),
)
