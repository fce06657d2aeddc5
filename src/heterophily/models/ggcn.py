"""GGCN: neighbors with positive and with negative similarity apart, corrected for degree."""

from heterophily.core.spaces import Choice
from heterophily.htmp.adaptive import GlobalSum
from heterophily.htmp.guidance import Ones
from heterophily.htmp.neighborhoods import Ego, Signed
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Recipe
from heterophily.htmp.relations import SignedSimilarity
from heterophily.htmp.skip import DecayedResidual
from heterophily.htmp.transform import SharedLinear

GGCN = Recipe(
    name="ggcn",
    title="GGCN",
    paper="Yan et al., Two sides of the same coin: heterophily and oversmoothing in graph "
    "convolutional neural networks, ICDM 2022",
    channels=(
        Ego() * Ones(),
        Signed(1) * SignedSimilarity(1, Setting("normalisation")),
        Signed(-1) * SignedSimilarity(-1, Setting("normalisation")),
    ),
    combine=GlobalSum(),
    transform=SharedLinear(bias="before", init="linear"),
    skip=DecayedResidual(Setting("decay_rate"), dropout=Setting("dropout")),
    dropout=Dropout(input=Setting("dropout")),
    activation="none",
    equation="Z = ς (ω_1 (Â ⊙ τ ⊙ relu(cos)) U - ω_2 (Â ⊙ τ ⊙ relu(-cos)) U + ω_3 U), U = Z W + b",
    settings={"decay_rate": 1.0, "normalisation": "symmetric", "weight_decay": 1e-4},
    space={
        "learning_rate": Choice(0.005, 0.01),
        "weight_decay": Choice(1e-5, 1e-4, 5e-4, 1e-3),
        "dropout": Choice(0.0, 0.1, 0.3, 0.5, 0.6, 0.7),
        "decay_rate": Choice(0.6, 0.8, 0.9, 1.0, 1.2),
        "width": Choice(8, 16, 32, 64, 80),
        "n_layers": Choice(2, 4, 8, 16),
    },
    reference={"normalisation": "row"},
    deviations=(
        "the dense path of the reference program normalises by rows, which switches the correction for "
        "degree off: normalisation = row (it is symmetric on pubmed alone)",
    ),
)
