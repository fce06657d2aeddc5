"""GCNII: initial residual and near-identity weights, so that depth does no harm."""

from heterophily.core.spaces import Choice
from heterophily.htmp.combine import WeightedAdd
from heterophily.htmp.encoder import Embed
from heterophily.htmp.guidance import Ones, SymmetricMean
from heterophily.htmp.neighborhoods import Ego, WithSelf
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Apart, Dropout, Head, Recipe
from heterophily.htmp.transform import NearIdentity

P = Setting("dropout")

GCNII = Recipe(
    name="gcnii",
    title="GCNII",
    paper="Chen et al., Simple and deep graph convolutional networks, ICML 2020",
    channels=((Ego() * Ones()).with_input("initial"), WithSelf() * SymmetricMean()),
    combine=WeightedAdd(Setting("initial_residual")),
    encoder=Embed(),
    transform=NearIdentity(decay=Setting("identity_decay"), star=Setting("star")),
    head=Head(),
    dropout=Dropout(input=P, layer=P, head=P),
    activate_last=True,
    apart=Apart("stacks.*", weight_decay=Setting("layer_decay")),
    equation="Z^l = relu(θ_l T W_l + (1-θ_l) T), T = (1-α) S° drop(Z^(l-1)) + α Z⁰, θ_l = ln(λ/l + 1)",
    settings={
        "n_layers": 8,
        "initial_residual": 0.2,
        "identity_decay": 0.5,
        "star": False,
        "feature_norm": "l1",
        "layer_decay": Setting("weight_decay"),
    },
    space={
        "learning_rate": Choice(0.005, 0.01, 0.05),
        "weight_decay": Choice(0.0, 5e-5, 1e-4, 5e-4),
        "dropout": Choice(0.0, 0.5),
        "initial_residual": Choice(0.1, 0.2, 0.3, 0.4, 0.5),
        "identity_decay": Choice(0.5, 1.0, 1.5),
        "n_layers": Choice(2, 4, 8, 16, 32),
        "star": Choice(False, True),
    },
    deviations=(
        "one weight decay for all parameters unless layer_decay gives the W_l their own, as the "
        "authors' semi-supervised program does",
    ),
)
