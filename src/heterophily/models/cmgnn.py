"""CMGNN: ego, neighbors, and the messages that a node's neighborhood should have had."""

from dataclasses import replace

from heterophily.core import spaces as space
from heterophily.core.spaces import Choice
from heterophily.htmp.adaptive import DegreeGatedSum
from heterophily.htmp.belief import CompatibilityEstimate, CompatibilityWeights, Prototypes
from heterophily.htmp.encoder import Embed, FeaturesAndStructure
from heterophily.htmp.fuse import ConcatLayers
from heterophily.htmp.guidance import Ones, RowMean
from heterophily.htmp.losses import Discrimination
from heterophily.htmp.neighborhoods import Ego, Raw
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Head, Recipe
from heterophily.htmp.transform import Linear

P = Setting("dropout")

CMGNN = Recipe(
    name="cmgnn",
    title="CMGNN",
    paper="Zheng et al., Revisiting the message passing in heterophilous graph neural networks, 2024",
    channels=(
        Ego() * Ones(),
        Raw() * RowMean(),
        (Prototypes() * CompatibilityWeights()).with_input("prototypes"),
    ),
    combine=DegreeGatedSum(),
    fuse=ConcatLayers(),
    encoder=Setting(
        "structure", choose=(FeaturesAndStructure(P, Setting("structure_dropout")), Embed())
    ),
    transform=Linear(bias="none", init="uniform_out"),
    head=Head(),
    dropout=Dropout(input=P, head=P),
    activation="none",
    message_activation=Setting("relu_first"),
    losses=(Discrimination(Setting("discrimination_weight")),),
    belief=CompatibilityEstimate(
        Setting("supplementary_labels"),
        Setting("prototype_index"),
        Setting("degree_weight"),
        Setting("pseudo_labels"),
        Setting("hidden_share"),
    ),
    equation="Z^l = α_0 ⊙ relu(Z W_0) + α_1 ⊙ relu(R Z W_1) + α_2 ⊙ relu(norm1(Ĉ M̂) Z_ptt W_2)",
    settings={
        "structure": False,
        "relu_first": True,
        "discrimination_weight": 0.01,
        "supplementary_labels": "predicted",
        "prototype_index": "nodes",
        "degree_weight": "three_branches",
        "pseudo_labels": "evaluation",
        "structure_dropout": "single",
        "hidden_share": 0.5,
        "patience": 200,
        "weight_decay": 5e-6,
    },
    space={
        "learning_rate": Choice(0.001, 0.005, 0.01, 0.05),
        "weight_decay": Choice(0.0, 1e-7, 5e-7, 1e-6, 5e-6, 5e-5, 5e-4),
        "patience": Choice(200, 400),
        "dropout": space.Uniform(0.0, 0.9),
        "discrimination_weight": Choice(0.0, 0.01, 0.1, 1.0, 10.0),
        "n_layers": Choice(1, 2, 4, 8),
        "width": Choice(32, 64, 128, 256),
        "relu_first": Choice(False, True),
        "structure": Choice(False, True),
        "feature_norm": Choice("none", "l1", "l2"),
        # Which of these is better depends on the graph: see the fidelity page.
        "loss": Choice("nll", "ce_of_probabilities"),
        "structure_dropout": Choice("single", "double"),
    },
    reference={
        "loss": "ce_of_probabilities",
        "supplementary_labels": "true",
        "prototype_index": "positions",
        "degree_weight": "overwritten",
        "pseudo_labels": "training",
        "structure_dropout": "double",
    },
    deviations=(
        "a training node weighs the prototypes with its predicted soft label, not with its true one, which "
        "would tell the network the answer: supplementary_labels",
        "prototypes are means of the training nodes of a class; the published program takes positions in a "
        "list for node numbers: prototype_index = positions",
        "the weight of a degree has the three branches of the paper; in the program the second overwrites "
        "the first: degree_weight = overwritten",
        "soft labels come from the evaluation of the improving epoch; in the program from its training pass, "
        "with dropout: pseudo_labels = training",
        "features and structure are dropped once; in the program twice: structure_dropout = double",
        "rows of the estimated matrix are normalised once more, as in the program",
        "the discrimination loss is a mean over pairs, as in the program; the paper writes a sum",
        "a degree of 0 counts as 1, as in the program",
    ),
)

# Without a discrimination loss nothing needs the prototypes here.
WITHOUT_SUPPLEMENT = replace(
    CMGNN,
    name="cmgnn without supplementary messages",
    channels=CMGNN.channels[:2],
    belief=Setting("discrimination_weight", choose=(CMGNN.belief, None)),
)
WITHOUT_DISCRIMINATION = replace(CMGNN, name="cmgnn without discrimination loss", losses=())
WITHOUT_BOTH = replace(
    CMGNN,
    name="cmgnn without both",
    channels=CMGNN.channels[:2],
    losses=(),
    belief=None,
)
