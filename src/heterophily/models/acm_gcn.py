"""ACM-GCN: low-pass, high-pass and identity channels, mixed for each node."""

from dataclasses import replace

from heterophily.core.spaces import Choice
from heterophily.htmp.adaptive import AdaptiveSum
from heterophily.htmp.guidance import Complement, Ones, RowMean
from heterophily.htmp.neighborhoods import Ego, Raw, WithSelf
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Recipe
from heterophily.htmp.transform import Linear

EXTRA = Setting("extra_self_loop")
STRUCTURE = replace((Raw(self_loops=EXTRA) * Ones()).with_input("nodes"), activation="after")

ACM_GCN = Recipe(
    name="acm-gcn",
    title="ACM-GCN",
    paper="Luan et al., Revisiting heterophily for graph neural networks, NeurIPS 2022",
    channels=(
        Ego() * Ones(),
        WithSelf(EXTRA) * RowMean(),
        WithSelf(EXTRA) * Complement(RowMean()),
        STRUCTURE.only_when(Setting("structure_channel")),
    ),
    combine=AdaptiveSum(norm=Setting("layer_norm_in_attention")),
    transform=Linear(bias="none", init="uniform_out"),
    message_activation=Setting("relu_first"),
    equation="Z = κ Σ_c α_c ⊙ H_c, H_L = relu(P Z W_L), H_H = relu((I-P) Z W_H), H_I = relu(Z W_I), "
    "P = R(A + I), α = softmax([sig(H_c a_c)] V / C)",
    settings={
        "structure_channel": False,
        "relu_first": False,
        "extra_self_loop": False,
        "layer_norm_in_attention": False,
        "feature_norm": Setting("structure_channel", choose=("none", "sum")),
    },
    space={
        "learning_rate": Choice(0.01, 0.05, 0.1),
        "weight_decay": Choice(0.0, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2),
        "dropout": Choice(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        "structure_channel": Choice(False, True),
        "relu_first": Choice(False, True),
    },
    reference={"extra_self_loop": True},
    deviations=(
        "both filters use the row-normalised A + I, as in the programs; the paper's appendix writes A",
        "the layer norm of the authors' '+' models is never applied by their program: "
        "layer_norm_in_attention turns it on",
        "the reference program filters with A + 2I and feeds A + I to the structure channel: "
        "extra_self_loop",
        "the authors' '++' variant, which adds features to the input of the second layer, is left out",
    ),
)
