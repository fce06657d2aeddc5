"""MixHop: powers of the adjacency side by side."""

from heterophily.core.spaces import Choice
from heterophily.htmp.combine import Concat
from heterophily.htmp.guidance import SymmetricMean
from heterophily.htmp.losses import GroupLasso
from heterophily.htmp.neighborhoods import Power
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Head, Recipe
from heterophily.htmp.transform import Linear

EXTRA = Setting("extra_self_loop")

MIXHOP = Recipe(
    name="mixhop",
    title="MixHop",
    paper="Abu-El-Haija et al., MixHop: higher-order graph convolutional architectures via sparsified "
    "neighborhood mixing, ICML 2019",
    channels=tuple(Power(j, EXTRA) * SymmetricMean() for j in range(3)),
    combine=Concat(),
    transform=Linear(bias="hidden", bias_init="glorot_row"),
    head=Head(),
    dropout=Dropout(message=Setting("dropout")),
    activation="none",
    message_activation="before",
    linear_last_layer=True,
    losses=(GroupLasso(Setting("lasso_weight")),),
    equation="Z^1 = [P^j relu(drop(X W_j + b_j))]_j, Z^2 = [P^j drop(Z^1 W_j) + b_j]_j, P = S(A + I)",
    settings={
        "width": 200,
        "lasso_weight": 5e-4,
        "extra_self_loop": False,
        "learning_rate": 0.005,
    },
    space={
        "learning_rate": Choice(0.001, 0.005, 0.01),
        "weight_decay": Choice(0.0, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3),
        "width": Choice(60, 200),
        "dropout": Choice(0.5, 0.7, 0.9),
    },
    reference={"extra_self_loop": True},
    deviations=(
        "the form of the reference program, which was measured; the authors' own has batch norm, tanh "
        "and a weighted output",
        "powers of one normalised matrix, not strict hops",
        "the reference program adds a second self-loop: extra_self_loop",
        "one phase of training with equal widths, as in the reference program; in the paper the lasso "
        "chooses the width of each power and a pruned network is trained anew",
    ),
)
