"""MLP: features alone, the graph ignored."""

from heterophily.core.spaces import Choice
from heterophily.htmp.guidance import Ones
from heterophily.htmp.neighborhoods import Ego
from heterophily.htmp.recipe import Recipe
from heterophily.htmp.transform import Linear

MLP = Recipe(
    name="mlp",
    title="MLP",
    paper="Rumelhart et al., Learning representations by back-propagating errors, Nature 1986",
    channels=(Ego() * Ones(),),
    transform=Linear(init="linear"),
    equation="Z^l = relu(drop(Z^(l-1)) W_l + b_l)",
    settings={"learning_rate": 0.01, "weight_decay": 0.0},
    space={
        "learning_rate": Choice(0.001, 0.005, 0.01, 0.05),
        "weight_decay": Choice(0.0, 5e-5, 1e-4, 5e-4),
        "width": Choice(32, 64, 128, 256),
        "dropout": Choice(0.0, 0.5, 0.8),
        "feature_norm": Choice("none", "l1", "l2"),
    },
    reference={"loss": "ce_of_probabilities"},
    deviations=(
        "the reference program takes the cross-entropy of probabilities: loss = ce_of_probabilities",
    ),
)
