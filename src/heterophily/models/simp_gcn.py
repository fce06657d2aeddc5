"""SimP-GCN: the graph, the nearest neighbors by features, and the node, balanced for each node."""

from heterophily.core.spaces import Choice
from heterophily.htmp.adaptive import SimilaritySum
from heterophily.htmp.guidance import Ones, SymmetricMean
from heterophily.htmp.losses import SimilarityLoss
from heterophily.htmp.neighborhoods import Ego, FeatureNeighbors, WithSelf
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Recipe
from heterophily.htmp.transform import SharedLinear

SIMP_GCN = Recipe(
    name="simp-gcn",
    title="SimP-GCN",
    paper="Jin et al., Node similarity preserving graph convolutional networks, WSDM 2021",
    channels=(
        Ego() * Ones(),
        WithSelf() * SymmetricMean(),
        FeatureNeighbors(k=Setting("n_neighbors")) * SymmetricMean(),
    ),
    combine=SimilaritySum(Setting("ego_weight"), Setting("score_bias_init")),
    transform=SharedLinear(),
    dropout=Dropout(layer=Setting("dropout")),
    activation="none",
    message_activation="after",
    linear_last_layer=True,
    losses=(SimilarityLoss(Setting("similarity_weight")),),
    equation="Z = s ⊙ f(S° Z W + b) + (1-s) ⊙ f(S_f Z W + b) + γ k ⊙ f(Z W + b), s = sig(Z a + β)",
    settings={
        "n_neighbors": 20,
        "ego_weight": 0.1,
        "score_bias_init": 0.0,
        "similarity_weight": 1.0,
        "feature_norm": "sum",
    },
    space={
        "ego_weight": Choice(0.01, 0.1, 1.0),
        "similarity_weight": Choice(0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0),
        "width": Choice(16, 32, 64, 128),
        "learning_rate": Choice(0.01, 0.05),
        "score_bias_init": Choice(0.0, 2.0),
    },
    deviations=(
        "the activation stands inside the sum, as in the program; the paper writes it outside",
        "equal similarities are broken by the smaller node number; the program leaves it to chance",
        "features stay as they are; on a CPU the program also binarises the training features",
    ),
)
