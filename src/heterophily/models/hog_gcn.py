"""HOG-GCN: neighbors within two hops, weighed by an estimated degree of homophily."""

from heterophily.core.spaces import Choice
from heterophily.htmp.combine import LearnedAdd
from heterophily.htmp.guidance import Ones
from heterophily.htmp.losses import AttributeLoss, PropagationLoss
from heterophily.htmp.neighborhoods import Ego, PathCounts
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Apart, Dropout, Head, Recipe
from heterophily.htmp.relations import EstimatedHomophily
from heterophily.htmp.transform import Linear

HOG_GCN = Recipe(
    name="hog-gcn",
    title="HOG-GCN",
    paper="Wang et al., Powerful graph convolutional networks with adaptive propagation mechanism for "
    "homophily and heterophily, AAAI 2022",
    channels=(
        Ego() * Ones(),
        PathCounts(2, Setting("hop_weights"))
        * EstimatedHomophily(width=Setting("attribute_width")),
    ),
    combine=LearnedAdd(),
    transform=Linear(bias="none", init="uniform_out"),
    head=Head(),
    dropout=Dropout(layer=Setting("dropout")),
    widths=(Setting("width"), Setting("second_width")),
    losses=(
        AttributeLoss(),
        PropagationLoss(Setting("propagated_labels"), Setting("learning_rate")),
    ),
    apart=Apart("common.attributes.*", weight_decay=0.02, both=Setting("double_update")),
    equation="Z = Z W + w G Z W' + b, G = r ⊙ (B ⊙ (μ P Pᵀ + ξ norm1(B ⊙ Θ))), B = (A + I)²",
    settings={
        "width": 512,
        "second_width": 256,
        "attribute_width": 256,
        "hop_weights": "counts",
        "propagated_labels": "predicted",
        "double_update": False,
        "learning_rate": 0.001,
        "weight_decay": 1e-3,
    },
    space={
        "learning_rate": Choice(0.001, 0.005),
        "weight_decay": Choice(0.0, 1e-5, 5e-5, 1e-3),
        "width": Choice(256, 512),
        "dropout": Choice(0.3, 0.5, 0.7),
    },
    reference={"double_update": True},
    deviations=(
        "the reference program moves the attribute model twice per epoch: double_update",
        "path counts serve as weights, as in the programs: hop_weights = binary takes the indicator",
        "the optimiser of the attribute model starts anew after its ten steps; in the programs it keeps "
        "its moments",
    ),
)
