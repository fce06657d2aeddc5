"""GCN: the symmetric average over neighbors and the node itself."""

from heterophily.core.spaces import Choice
from heterophily.htmp.guidance import SymmetricMean
from heterophily.htmp.neighborhoods import WithSelf
from heterophily.htmp.recipe import Recipe

GCN = Recipe(
    name="gcn",
    title="GCN",
    paper="Kipf and Welling, Semi-supervised classification with graph convolutional networks, "
    "ICLR 2017",
    channels=(WithSelf() * SymmetricMean(),),
    equation="Z^l = relu(S° drop(Z^(l-1)) W_l + b_l), S° = D°^(-1/2) (A + I) D°^(-1/2)",
    space={
        "learning_rate": Choice(0.001, 0.005, 0.01, 0.05),
        "weight_decay": Choice(0.0, 5e-5, 1e-4, 5e-4, 1e-3),
        "width": Choice(32, 64, 128, 256),
        "dropout": Choice(0.0, 0.5, 0.8),
        "n_layers": Choice(1, 2, 3),
        "feature_norm": Choice("none", "l1", "l2"),
    },
    reference={"activation": "none", "loss": "ce_of_probabilities"},
    deviations=(
        "the reference program has no activation between layers, so that the network is linear "
        "when evaluated: activation = none",
        "the reference program takes the cross-entropy of probabilities: loss = ce_of_probabilities",
        "weight decay acts on all parameters, as in the reference; the authors decay W_1 only",
    ),
)
