"""GloGNN: every node hears every node, with coefficients in closed form."""

from heterophily.core.spaces import Choice
from heterophily.htmp.combine import WeightedAdd
from heterophily.htmp.encoder import PredictFromBoth
from heterophily.htmp.guidance import Ones
from heterophily.htmp.neighborhoods import AllPairs, Ego
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Recipe
from heterophily.htmp.relations import ClosedFormCoefficients
from heterophily.htmp.transform import NoTransform

GLOGNN = Recipe(
    name="glognn",
    title="GloGNN",
    paper="Li et al., Finding global homophily in graph neural networks when meeting heterophily, "
    "ICML 2022",
    channels=(
        (Ego() * Ones()).with_input("initial"),
        AllPairs()
        * ClosedFormCoefficients(
            *(Setting(name) for name in ("alpha", "beta", "gamma", "n_orders", "variant"))
        ),
    ),
    combine=WeightedAdd(Setting("gamma")),
    encoder=PredictFromBoth(dropout=Setting("dropout"), share=Setting("delta")),
    transform=NoTransform(),
    dropout=Dropout(input=Setting("dropout", when="feature_dropout")),
    activation="none",
    equation="H^l = (1-γ) Z* H^(l-1) + γ H⁰, "
    "Z* = argmin ‖H - (1-γ) Z H - γ H⁰‖² + α ‖Z‖² + β ‖Z - Σ λ_k S°^k‖²",
    settings={
        "n_layers": 1,
        "alpha": 1.0,
        "beta": 100.0,
        "gamma": 0.5,
        "delta": 0.5,
        "n_orders": 4,
        "variant": "glognn",
        "feature_dropout": True,
        "feature_norm": "l1",
        "weight_decay": 1e-4,
    },
    space={
        "learning_rate": Choice(0.005, 0.01),
        "weight_decay": Choice(0.0, 1e-5, 5e-5, 1e-4),
        "dropout": Choice(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
        "alpha": Choice(0.0, 1.0, 10.0),
        "beta": Choice(0.1, 1.0, 10.0, 100.0, 1000.0),
        "gamma": Choice(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        "delta": Choice(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        "n_layers": Choice(1, 2, 3),
        "n_orders": Choice(1, 2, 3, 4, 5, 6),
        "variant": Choice("glognn", "glognn++"),
    },
    reference={"feature_dropout": False},
    deviations=(
        "dropout acts on the features; the reference program computes it and throws it away: "
        "feature_dropout",
        "the weights of the hops are learned numbers; the authors' two other rules are left out",
    ),
)
