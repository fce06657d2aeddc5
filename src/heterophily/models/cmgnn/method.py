"""CMGNN: the node, its neighbors, and the messages that a typical neighborhood of its class would send."""

from typing import Annotated, Literal

from typing_extensions import override

from heterophily.core.spaces import Bounds, Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt, Range
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.direction import DIRECTION, Direction, directed_neighborhoods
from heterophily.htmp.encoder import Embed
from heterophily.htmp.fuse import ConcatLayers
from heterophily.htmp.guidance import Ones, RowMean
from heterophily.htmp.method import Deviation, FeatureNorm, LossForm, Method, define_method, replace_architecture
from heterophily.htmp.neighborhoods import Ego, Raw
from heterophily.htmp.transform import Linear
from heterophily.models.cmgnn.parts import (
    CompatibilityWeights,
    DegreeGatedSum,
    Discrimination,
    FeaturesAndStructure,
    Prototypes,
)
from heterophily.models.cmgnn.state import CompatibilityEstimate


@define_method
class CMGNN(Method):
    """The node, its neighbors, and the messages that a typical neighborhood of its class would send.

    Z^l = α_0 ⊙ relu(Z W_0) + α_1 ⊙ relu(R Z W_1) + α_2 ⊙ relu(norm1(Ĉ M̂) Z_ptt W_2)
    """

    name, title = "cmgnn", "CMGNN"
    paper = "Zheng et al., Revisiting the message passing in heterophilous graph neural networks, 2024"

    structure: Annotated[bool, Choice(False, True), "Use the adjacency matrix as an additional input."] = False
    relu_first: Annotated[bool, Choice(False, True), "Apply the ReLU before aggregation instead of after it."] = True
    discrimination_weight: Annotated[float, Choice(0.0, 0.01, 0.1, 1.0, 10.0)] = 0.01
    supplementary_labels: Annotated[
        Literal["predicted", "masked", "true"], "Labels with which training nodes weight the prototypes."
    ] = "predicted"
    masked_fraction: Annotated[
        float, Bounds(gt=0, le=1), "Fraction of training nodes that `masked` hides per step."
    ] = 0.5
    prototype_index: Literal["nodes", "positions"] = "nodes"
    degree_weight: Literal["three_branches", "overwritten"] = "three_branches"
    pseudo_labels: Literal["evaluation", "training"] = "evaluation"
    # Which of these two is better depends on the graph; see the fidelity page.
    structure_dropout: Annotated[Literal["single", "double"], Choice("single", "double")] = "single"
    direction: Annotated[Direction, DIRECTION] = "symmetric"
    loss: Annotated[LossForm, Choice("nll", "ce_of_probabilities")] = "nll"
    width: Annotated[PositiveInt, Choice(32, 64, 128, 256)] = 64
    n_layers: Annotated[PositiveInt, Choice(1, 2, 4, 8)] = 2
    dropout: Annotated[DropoutRate, Range(0.0, 0.9)] = 0.5
    feature_norm: Annotated[FeatureNorm, Choice("none", "l1", "l2")] = "none"
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005, 0.01, 0.05)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 1e-7, 5e-7, 1e-6, 5e-6, 5e-5, 5e-4)] = 5e-6
    patience: Annotated[PositiveInt, Choice(200, 400)] = 200

    @override
    def architecture(self) -> Architecture:
        p = self.dropout
        hoods = directed_neighborhoods(self.direction)
        estimate = CompatibilityEstimate(
            self.supplementary_labels,
            self.prototype_index,
            self.degree_weight,
            self.pseudo_labels,
            self.masked_fraction,
            hoods[0] if len(hoods) == 1 else Raw(),
        )
        return Architecture(
            encoder=FeaturesAndStructure(p, self.structure_dropout) if self.structure else Embed(),
            channels=(Ego() * Ones(), *(hood * RowMean() for hood in hoods), Prototypes() * CompatibilityWeights()),
            combine=DegreeGatedSum(),
            fuse=ConcatLayers(),
            transform=Linear(bias="none", init="uniform_out"),
            head=Head(),
            dropout=Dropout(input=p, head=p),
            activation="none",
            message_activation="before" if self.relu_first else "after",
            losses=(Discrimination(self.discrimination_weight),),
            states=(estimate,),
        )

    deviations = (
        Deviation(
            "A training node weights the prototypes with its predicted soft label. Its true label, as in "
            "the reference implementation, would reveal the answer to the network.",
            {"supplementary_labels": "true"},
        ),
        Deviation(
            "Prototypes are means of the training nodes of a class. The reference implementation uses "
            "positions in a list as node numbers.",
            {"prototype_index": "positions"},
        ),
        Deviation(
            "The weight of a degree has the three branches of the paper. In the reference implementation "
            "the second branch overwrites the first.",
            {"degree_weight": "overwritten"},
        ),
        Deviation(
            "Soft labels come from the evaluation of the best epoch. In the reference implementation they "
            "come from its training pass, with dropout.",
            {"pseudo_labels": "training"},
        ),
        Deviation(
            "Dropout applies to features and structure once. In the reference implementation it applies twice.",
            {"structure_dropout": "double"},
        ),
        Deviation(
            "The reference implementation computes the cross-entropy of probabilities.", {"loss": "ce_of_probabilities"}
        ),
        Deviation("The rows of the estimated matrix are normalized once more, as in the reference implementation."),
        Deviation(
            "The discrimination loss is a mean over pairs, as in the reference implementation. The paper writes a sum."
        ),
        Deviation("A degree of 0 is treated as 1, as in the reference implementation."),
    )


def ablation_variants(method: CMGNN) -> dict[str, Method]:
    """Return the variants of the paper's ablation study (Table 3)."""
    full = method.architecture()
    # Without a discrimination loss, nothing needs the prototypes.
    states = full.states if method.discrimination_weight else ()
    two = {"channels": full.channels[:-1]}
    changes: dict[str, dict[str, object]] = {
        "without supplementary messages": {**two, "states": states, "losses": full.losses if states else ()},
        "without discrimination loss": {"losses": ()},
        "without both": {**two, "losses": (), "states": ()},
    }
    return {variant: replace_architecture(method, variant, **each) for variant, each in changes.items()}
