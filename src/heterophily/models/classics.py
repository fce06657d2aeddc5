"""Strong classics: plain GNNs with an input layer, residual connections and a norm, and LINKX.

Published comparisons often leave these out. They are settings that any recipe can take; here they are
rows of their own.
"""

from dataclasses import replace

from heterophily.core.spaces import Choice
from heterophily.htmp.combine import Add, SingleChannel
from heterophily.htmp.encoder import Embed, LINKXEncoder
from heterophily.htmp.guidance import Ones, RowMean
from heterophily.htmp.neighborhoods import Ego, Raw
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Head, Recipe
from heterophily.htmp.transform import Linear
from heterophily.models.gat import GAT
from heterophily.models.gcn import GCN

LUO = "Luo et al., Classic GNNs are strong baselines: reassessing GNNs for node classification, NeurIPS 2024"
P = Setting("dropout")
STRONG = {
    "width": 256,
    "n_layers": 5,
    "norm": "layer",
    "residual": True,
    "learning_rate": 0.001,
    "weight_decay": 0.0,
    "patience": 200,
}
SPACE = {
    "width": Choice(64, 128, 256, 512),
    "n_layers": Choice(2, 3, 5, 8, 10),
    "norm": Choice("none", "batch", "layer"),
    "residual": Choice(False, True),
    "dropout": Choice(0.2, 0.3, 0.5, 0.7),
    "learning_rate": Choice(0.001, 0.005, 0.01),
    "weight_decay": Choice(0.0, 5e-5, 5e-4),
}


def strong(recipe: Recipe, *, name: str, title: str, **settings: object) -> Recipe:
    """The recipe with an input layer, a head, a norm and residual connections."""
    return replace(
        recipe,
        name=name,
        title=title,
        paper=LUO,
        encoder=Embed(),
        head=Head(),
        dropout=replace(recipe.dropout, input=P, layer=P, head=P),
        activate_last=True,
        equation="Z^l = relu(norm(message(Z^(l-1)) + Z^(l-1) W_res + b_res)), between two dense layers",
        settings={**recipe.settings, **STRONG, **settings},
        space=SPACE,
        reference={},
        deviations=(
            "dropout before the input layer and a ReLU after it; the authors' is linear",
            "no sum over the outputs of all layers, which the authors leave to the search",
        ),
    )


SAGE = Recipe(
    name="sage",
    title="SAGE",
    paper="Hamilton et al., Inductive representation learning on large graphs, NeurIPS 2017",
    channels=(Ego() * Ones(), Raw() * RowMean()),
    combine=Add(),
    transform=Linear(init="linear", bias_channels=(1,)),
    equation="Z = Z W_0 + R Z W_1 + b",
)

GCN_PLUS = strong(GCN, name="gcn+", title="GCN+")
SAGE_PLUS = strong(SAGE, name="sage+", title="SAGE+")
GAT_PLUS = strong(
    GAT, name="gat+", title="GAT+", width=256, n_heads=1, activation="relu", attention_dropout=0.0
)

LINKX = Recipe(
    name="linkx",
    title="LINKX",
    paper="Lim et al., Large scale learning on non-homophilous graphs: new benchmarks and strong simple "
    "methods, NeurIPS 2021",
    channels=(Ego() * Ones(),),
    combine=SingleChannel(),
    encoder=LINKXEncoder(),
    transform=Linear(init="linear"),
    dropout=Dropout(layer=P),
    equation="Z⁰ = relu([h_A ‖ h_X] W + b + h_A + h_X), h_A = A W_A + b_A, h_X = X W_X + b_X; then an MLP",
    settings={"n_layers": 1, "weight_decay": 1e-3},
    space={
        "learning_rate": Choice(0.001, 0.01, 0.05),
        "weight_decay": Choice(0.0, 1e-4, 1e-3),
        "width": Choice(16, 32, 64, 128, 256),
        "n_layers": Choice(1, 2, 3),
        "dropout": Choice(0.0, 0.5, 0.7),
    },
    deviations=(
        "dropout before every layer of the last MLP and no batch norm; the authors drop and normalise "
        "between its layers",
    ),
)
