"""ACM-GCN: low-pass, high-pass, and identity channels, mixed per node."""

from dataclasses import replace
from typing import Annotated

from typing_extensions import override

from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat
from heterophily.htmp.architecture import Architecture
from heterophily.htmp.combine import AdaptiveSum
from heterophily.htmp.guidance import Complement, Ones, RowMean
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Ego, Raw, WithSelf, WithSelfTwice
from heterophily.htmp.transform import Linear


@define_method
class ACMGCN(Method):
    """Low-pass, high-pass, and identity channels, mixed per node.

    Z = κ Σ_c α_c ⊙ H_c, H_L = relu(P Z W_L), H_H = relu((I-P) Z W_H), H_I = relu(Z W_I),
    P = R(A + I), α = softmax([sig(H_c a_c)] V / C)
    """

    name, title = "acm-gcn", "ACM-GCN"
    paper = "Luan et al., Revisiting heterophily for graph neural networks, NeurIPS 2022"

    structure_channel: Annotated[bool, Choice(False, True), "Add a channel that learns one row per node."] = False
    relu_first: Annotated[bool, Choice(False, True), "Apply the ReLU before aggregation instead of after it."] = False
    extra_self_loop: bool = False
    layer_norm_in_attention: bool = False
    dropout: Annotated[DropoutRate, Choice(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.01, 0.05, 0.1)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2)] = 5e-4

    @override
    def architecture(self) -> Architecture:
        hood = WithSelfTwice() if self.extra_self_loop else WithSelf()
        structure = ((WithSelf() if self.extra_self_loop else Raw()) * Ones()).with_input("nodes")
        return Architecture(
            channels=(
                Ego() * Ones(),
                hood * RowMean(),
                hood * Complement(RowMean()),
                *([replace(structure, activation="after")] if self.structure_channel else []),
            ),
            combine=AdaptiveSum(norm=self.layer_norm_in_attention),
            transform=Linear(bias="none", init="uniform_out"),
            message_activation="before" if self.relu_first else "after",
            feature_norm="none" if self.structure_channel else "sum",
        )

    deviations = (
        Deviation(
            "Both filters use the row-normalized A + I, as in the implementations. The paper's appendix writes A."
        ),
        Deviation(
            "The authors' implementation never applies the layer norm of their '+' models; "
            "layer_norm_in_attention turns it on."
        ),
        Deviation(
            "The reference implementation filters with A + 2I and uses A + I in the structure channel.",
            {"extra_self_loop": True},
        ),
        Deviation(
            "Rows of features are divided by the sum of absolute values. The authors' implementation divides by the "
            "sum, which is the same for features without negative values and can be near zero for other ones."
        ),
        Deviation("The authors' '++' variant, which adds features to the input of the second layer, is omitted."),
    )
