"""GPR-GNN: predict first, then a learned weight for every hop."""

from heterophily.core.spaces import Choice
from heterophily.htmp.encoder import Predict
from heterophily.htmp.fuse import WeightedLayerSum
from heterophily.htmp.guidance import SymmetricMean
from heterophily.htmp.neighborhoods import WithSelf
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Recipe
from heterophily.htmp.transform import NoTransform

GPR_GNN = Recipe(
    name="gpr-gnn",
    title="GPR-GNN",
    paper="Chien et al., Adaptive universal generalized PageRank graph neural network, ICLR 2021",
    channels=(WithSelf() * SymmetricMean(),),
    fuse=WeightedLayerSum(Setting("teleport"), Setting("gamma_init")),
    encoder=Predict(dropout=Setting("dropout"), output_dropout=Setting("propagation_dropout")),
    transform=NoTransform(),
    dropout=Dropout(input=Setting("dropout")),
    activation="none",
    decayed=("encoder.*", Setting("decay_gamma", choose=("fuse.*", "-"))),
    equation="Z = Σ_k γ_k S°^k Z⁰, Z⁰ = drop_q(drop_p(relu(drop_p(X) W_1 + b_1)) W_2 + b_2)",
    settings={
        "n_layers": 10,
        "teleport": 0.1,
        "gamma_init": "ppr",
        "propagation_dropout": 0.5,
        "decay_gamma": False,
    },
    space={
        "learning_rate": Choice(0.001, 0.002, 0.01, 0.05),
        "weight_decay": Choice(0.0, 5e-4),
        "teleport": Choice(0.0, 0.1, 0.2, 0.5, 0.9, 1.0),
        "n_layers": Choice(2, 4, 8, 10, 16, 32),
        "propagation_dropout": Choice(0.0, 0.5, 0.7),
    },
    reference={"decay_gamma": True},
    deviations=(
        "selection by validation accuracy, as everywhere here; the authors select by loss",
        "the reference program decays γ too: decay_gamma",
    ),
)
