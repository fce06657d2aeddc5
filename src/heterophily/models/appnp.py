"""APPNP: predict first, then propagate with a personalised PageRank."""

from heterophily.core.spaces import Choice
from heterophily.htmp.combine import WeightedAdd
from heterophily.htmp.encoder import Predict
from heterophily.htmp.guidance import Ones, SymmetricMean
from heterophily.htmp.neighborhoods import Ego, WithSelf
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Recipe
from heterophily.htmp.transform import NoTransform

APPNP = Recipe(
    name="appnp",
    title="APPNP",
    paper="Gasteiger et al., Predict then propagate: graph neural networks meet personalized "
    "PageRank, ICLR 2019",
    channels=((Ego() * Ones()).with_input("initial"), WithSelf() * SymmetricMean()),
    combine=WeightedAdd(Setting("teleport")),
    encoder=Predict(bias=False, dropout=Setting("dropout")),
    transform=NoTransform(),
    dropout=Dropout(input=Setting("dropout"), edge=Setting("edge_dropout")),
    activation="none",
    decayed=("encoder.inner.*",),
    equation="Z^l = (1-α) drop_q(S°) Z^(l-1) + α Z⁰, Z⁰ = drop(relu(drop(X) W_1)) W_2",
    settings={
        "n_layers": 10,
        "teleport": 0.1,
        "edge_dropout": 0.0,
        "weight_decay": 0.005,
    },
    space={
        "teleport": Choice(0.1, 0.2, 0.5, 0.9),
        "learning_rate": Choice(0.002, 0.01, 0.05),
        "weight_decay": Choice(0.0, 5e-5, 5e-4, 5e-3),
        "dropout": Choice(0.2, 0.5, 0.8),
    },
    deviations=(
        "early stopping follows the common protocol, accuracy alone; the authors watch accuracy and "
        "loss",
    ),
)
