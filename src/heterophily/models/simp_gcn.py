"""SimP-GCN: the graph, the nearest neighbors by features, and the node, balanced per node."""

from typing import Annotated

from typing_extensions import override

from heterophily.core.spaces import Choice
from heterophily.htmp.adaptive import SimilaritySum
from heterophily.htmp.architecture import Architecture, Dropout
from heterophily.htmp.guidance import Ones, SymmetricMean
from heterophily.htmp.losses import SimilarityLoss
from heterophily.htmp.method import (
    Deviation,
    FeatureNorm,
    Method,
    PositiveFloat,
    PositiveInt,
    define_method,
)
from heterophily.htmp.neighborhoods import Ego, FeatureNeighbors, WithSelf
from heterophily.htmp.transform import SharedLinear


@define_method
class SimPGCN(Method):
    """The graph, the nearest neighbors by features, and the node, balanced per node.

    Z = s ⊙ f(S° Z W + b) + (1-s) ⊙ f(S_f Z W + b) + γ k ⊙ f(Z W + b), s = sig(Z a + β)
    """

    name, title = "simp-gcn", "SimP-GCN"
    paper = "Jin et al., Node similarity preserving graph convolutional networks, WSDM 2021"

    n_neighbors: Annotated[PositiveInt, "Number of nearest neighbors by features."] = 20
    ego_weight: Annotated[float, Choice(0.01, 0.1, 1.0), "γ."] = 0.1
    score_bias_init: Annotated[float, Choice(0.0, 2.0), "Initial β."] = 0.0
    similarity_weight: Annotated[
        float, Choice(0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0), "Weight of the similarity loss."
    ] = 1.0
    width: Annotated[PositiveInt, Choice(16, 32, 64, 128)] = 64
    feature_norm: FeatureNorm = "sum"
    learning_rate: Annotated[PositiveFloat, Choice(0.01, 0.05)] = 0.01

    @override
    def architecture(self) -> Architecture:
        return Architecture(
            channels=(
                Ego() * Ones(),
                WithSelf() * SymmetricMean(),
                FeatureNeighbors(self.n_neighbors) * SymmetricMean(),
            ),
            combine=SimilaritySum(self.ego_weight, self.score_bias_init),
            transform=SharedLinear(),
            dropout=Dropout(layer=self.dropout),
            activation="none",
            message_activation="after",
            linear_last_layer=True,
            losses=(SimilarityLoss(self.similarity_weight),),
        )

    deviations = (
        Deviation(
            "The activation is inside the sum, as in the authors' implementation. The paper writes it "
            "outside."
        ),
        Deviation(
            "Equal similarities are ordered by node number. In the authors' implementation the order is "
            "arbitrary."
        ),
        Deviation(
            "Features are used as they are. On a CPU, the authors' implementation also binarizes the "
            "training features."
        ),
    )
