"""GAT: attention over neighbors and the node itself."""

from heterophily.core.spaces import Choice
from heterophily.htmp.guidance import Attention
from heterophily.htmp.neighborhoods import WithSelf
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Recipe
from heterophily.htmp.transform import Linear

GAT = Recipe(
    name="gat",
    title="GAT",
    paper="Veličković et al., Graph attention networks, ICLR 2018",
    channels=(WithSelf() * Attention(),),
    transform=Linear(
        init="glorot_normal",
        gain=2**0.5,
        n_heads=Setting("n_heads"),
        merge=Setting("head_merge"),
    ),
    dropout=Dropout(
        input=Setting("dropout"), layer=Setting("dropout"), edge=Setting("attention_dropout")
    ),
    equation="Z_i = Σ_j drop_q(α_ij) U_j + b, α = softmax_nbr(lrelu(U_i·r + U_j·s)), U = drop_p(Z) W",
    settings={
        "activation": "elu",
        "n_heads": 8,
        "head_merge": "concat",
        "width": 8,
        "dropout": 0.6,
        "attention_dropout": 0.6,
        "learning_rate": 0.005,
    },
    space={
        "learning_rate": Choice(0.005, 0.01, 0.05),
        "weight_decay": Choice(0.0, 5e-5, 1e-4, 5e-4),
        "width": Choice(8, 16, 32, 64, 128),
        "dropout": Choice(0.0, 0.5, 0.8),
        "attention_dropout": Choice(0.0, 0.5),
        "n_layers": Choice(1, 2, 3),
        "feature_norm": Choice("none", "l1", "l2"),
    },
    reference={
        "activation": "none",
        "head_merge": "mean",
        "attention_dropout": 0.0,
        "loss": "ce_of_probabilities",
    },
    deviations=(
        "the reference program averages heads in every layer, has no activation and no dropout of "
        "attention: head_merge = mean, activation = none, attention_dropout = 0",
        "the reference program takes the cross-entropy of probabilities: loss = ce_of_probabilities",
    ),
)
