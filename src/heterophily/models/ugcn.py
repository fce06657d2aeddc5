"""UGCN: a network per neighborhood (raw, second hop, features), mixed for each node at the end."""

from heterophily.core.spaces import Choice
from heterophily.htmp.adaptive import AttentionSum
from heterophily.htmp.guidance import Attention
from heterophily.htmp.neighborhoods import CommonNeighbors, FeatureNeighbors, WithSelf
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Head, Recipe
from heterophily.htmp.transform import Linear

P = Setting("dropout")
NEAREST = FeatureNeighbors(
    Setting("n_neighbors"), weighted=False, with_self=True, pairs=Setting("knn_pairs")
)

UGCN = Recipe(
    name="ugcn",
    title="UGCN",
    paper="Jin et al., Universal graph convolutional networks, NeurIPS 2021",
    channels=(
        WithSelf() * Attention(init="column"),
        CommonNeighbors(2) * Attention(init="column"),
        NEAREST * Attention(init="column"),
    ),
    combine=AttentionSum(head=Setting("head")),
    transform=Linear(
        bias="none",
        init="glorot_normal",
        gain=2**0.5,
        n_heads=Setting("n_heads"),
        n_heads_last_layer=1,
        init_per_head=True,
    ),
    head=Head(kind=Setting("head")),
    dropout=Dropout(input=P, layer=P, edge=P),
    activate_last=True,
    separate=True,
    widths=(Setting("width"), Setting("embedding_width")),
    equation="E_c = elu(attention_c(drop([elu(attention_c(drop(X)))]_heads))), Z = Σ_c β_c ⊙ E_c",
    settings={
        "activation": "elu",
        "n_heads": 8,
        "embedding_width": 16,
        "n_neighbors": 3,
        "dropout": 0.6,
        "learning_rate": 0.005,
        "weight_decay": 5e-3,
        "head": "linear",
        "knn_pairs": "all",
    },
    space={
        "n_neighbors": Choice(3, 4, 5, 6, 7, 8, 9),
        "width": Choice(16, 32, 64),
        "embedding_width": Choice(16, 32),
        "dropout": Choice(0.3, 0.5, 0.6),
        "learning_rate": Choice(0.001, 0.005, 0.01),
        "weight_decay": Choice(5e-4, 5e-3),
    },
    reference={"head": "none", "knn_pairs": "ascending"},
    deviations=(
        "a linear head, as published; the program reads the first K of 16 columns as classes: head = none",
        "all pairs of nearest neighbors; the program drops those whose larger number chose the "
        "smaller: knn_pairs = ascending",
        "the second hop has at least two common neighbors, as in the authors' data",
    ),
)
