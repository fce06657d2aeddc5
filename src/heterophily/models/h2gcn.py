"""H2GCN: ego apart from neighbors, the second hop apart from the first, all layers kept."""

from heterophily.core.spaces import Choice
from heterophily.htmp.combine import Concat
from heterophily.htmp.encoder import Embed
from heterophily.htmp.fuse import ConcatLayers
from heterophily.htmp.guidance import SymmetricMean
from heterophily.htmp.neighborhoods import Hop
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Head, Recipe
from heterophily.htmp.transform import NoTransform

H2GCN = Recipe(
    name="h2gcn",
    title="H2GCN",
    paper="Zhu et al., Beyond homophily in graph neural networks: current limitations and effective "
    "designs, NeurIPS 2020",
    channels=(
        Hop(1) * SymmetricMean(),
        Hop(2, Setting("second_hop"), Setting("second_hop_limit")) * SymmetricMean(),
    ),
    combine=Concat(),
    fuse=ConcatLayers(),
    encoder=Embed(activation=Setting("activation"), bias=False, init="glorot"),
    transform=NoTransform(),
    head=Head(bias=False, init="glorot"),
    dropout=Dropout(head=Setting("dropout")),
    activation="none",
    equation="Z^l = [S(A) Z^(l-1) ‖ S(A_h2) Z^(l-1)], logits = drop([Z⁰ ‖ .. ‖ Z^L]) W_c",
    settings={"second_hop": "strict", "second_hop_limit": 0, "weight_decay": 5e-5},
    space={
        "n_layers": Choice(1, 2),
        "activation": Choice("relu", "none"),
        "dropout": Choice(0.0, 0.5),
        "learning_rate": Choice(0.001, 0.005, 0.01),
        "weight_decay": Choice(0.0, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3),
    },
    reference={"second_hop": "thresholded", "loss": "negative_probability"},
    deviations=(
        "the reference program keeps some edges in the second hop, by a threshold: "
        "second_hop = thresholded",
        "it minimises -p_c without a logarithm: loss = negative_probability",
        "a second hop that is too large for memory may be cut to some drawn nodes per node: "
        "second_hop_limit",
        "ReLUs after propagation are left out: a non-negative state stays non-negative",
    ),
)
