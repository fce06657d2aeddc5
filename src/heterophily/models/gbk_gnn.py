"""GBK-GNN: one kernel for similar and one for dissimilar neighbors, chosen by a trained gate."""

from heterophily.core.spaces import Choice
from heterophily.htmp.combine import Add
from heterophily.htmp.guidance import Gate, Ones
from heterophily.htmp.losses import GateLoss
from heterophily.htmp.neighborhoods import Ego, Raw
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Recipe
from heterophily.htmp.transform import Linear

NEIGHBORS = Raw(self_loops=Setting("gate_self_loops"))

GBK_GNN = Recipe(
    name="gbk-gnn",
    title="GBK-GNN",
    paper="Du et al., GBK-GNN: gated bi-kernel graph neural networks for modeling both homophily and "
    "heterophily, WWW 2022",
    channels=(
        Ego() * Ones(),
        NEIGHBORS * Gate(),
        NEIGHBORS * Gate(other=True, heterophilous_message=Setting("hetero_message")),
    ),
    combine=Add(),
    transform=Linear(
        init=("linear", "glorot", "glorot"),
        bias_init="linear",
        bias_channels=(1, 2),
        kernel_merge=Setting("kernel_merge"),
    ),
    dropout=Dropout(layer=Setting("dropout")),
    losses=(GateLoss(Setting("gate_weight"), Setting("gate_target"), Setting("gate_loss")),),
    equation="Z_i = Z_i W_r + mean_j[σ_ij Z_j] W_p + b_p + mean_j[(1-σ_ij) Z_j] W_n + b_n",
    settings={
        "width": 16,
        "gate_weight": 1.84,
        "hetero_message": "neighbour",
        "kernel_merge": "add",
        "gate_target": "same_label",
        "gate_loss": "binary",
        "gate_self_loops": False,
        "learning_rate": 0.001,
        "weight_decay": 1e-3,
    },
    space={
        "learning_rate": Choice(0.001, 0.01),
        "weight_decay": Choice(1e-4, 1e-3, 1e-2),
        "gate_weight": Choice(1.0, 2.0, 4.0, 14.0, 20.0, 24.0, 28.0, 30.0, 36.0),
        "width": Choice(16, 32, 64),
    },
    reference={
        "hetero_message": "ego",
        "kernel_merge": "parity",
        "gate_target": "both_nonzero",
        "gate_loss": "probabilities_as_logits",
        "gate_self_loops": True,
    },
    deviations=(
        "the reference program sends the receiver's own state through the second kernel: "
        "hetero_message = ego",
        "it concatenates the kernels where the width is even: kernel_merge = parity",
        "it trains the gate on whether both class numbers are positive, with probabilities as logits: "
        "gate_target, gate_loss",
        "it counts a node among its neighbors: gate_self_loops",
    ),
)
