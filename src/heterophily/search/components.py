"""Component search: the mechanism itself is searched, A_r ⊙ B_r, COMBINE, FUSE, encoder and settings.

A question is asked only where every answer makes a network that can be built, in this order: encoder,
channels, COMBINE, what hears and transforms, FUSE, ReLU. Left out are neighborhoods that cost far more than a
training run (structural, geometric) and all pairs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from heterophily.core import spaces as space
from heterophily.core.errors import unknown_name
from heterophily.core.spaces import Choice, LogUniform
from heterophily.htmp.adaptive import AdaptiveSum, AttentionSum, DegreeGatedSum, GlobalSum
from heterophily.htmp.belief import CompatibilityEstimate, CompatibilityWeights, Prototypes
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import (
    Add,
    Combine,
    Concat,
    LearnedAdd,
    OrderedGate,
    SingleChannel,
    WeightedAdd,
)
from heterophily.htmp.encoder import Embed, FeaturesAndStructure, LINKXEncoder, Predict, RawFeatures
from heterophily.htmp.fuse import ConcatLayers, LastLayer, WeightedLayerSum
from heterophily.htmp.guidance import (
    Attention,
    Complement,
    Gate,
    Ones,
    RowMean,
    SignedAttention,
    SymmetricMean,
)
from heterophily.htmp.losses import Discrimination
from heterophily.htmp.neighborhoods import (
    Ego,
    FeatureNeighbors,
    Hop,
    Neighborhood,
    Raw,
    Signed,
    WithSelf,
)
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import COMMON, Dropout, Head, Recipe
from heterophily.htmp.relations import SignedSimilarity
from heterophily.htmp.transform import Linear, NoTransform
from heterophily.search.problem import Ask, Candidate, Space, check_choice
from heterophily.search.source import identity_of

NAME = "htmp"
P = Setting("dropout")
SWITCH = Choice(False, True)

ENCODERS = {
    "features": Embed(),
    "both": FeaturesAndStructure(P),
    "link": LINKXEncoder(),
    "raw": RawFeatures(),
    "predict": Predict(dropout=P),
}
AVERAGES = {
    "row": (RowMean(),),
    "symmetric": (SymmetricMean(),),
    "rest": (Complement(RowMean()),),
    "row_and_rest": (RowMean(), Complement(RowMean())),
}
ATTENTION = {**AVERAGES, "attention": (Attention(),)}
SUMS: dict[str, Combine] = {
    "add": Add(),
    "adaptive": AdaptiveSum(),
    "attention": AttentionSum(),
    "global": GlobalSum(),
    "degree_gated": DegreeGatedSum(),
}
MANY = {**SUMS, "concat": Concat()}
TWO = {
    **MANY,
    "weighted": WeightedAdd(0.5),
    "learned": LearnedAdd(),
    "ordered": OrderedGate(n_chunks=16, shared=False),
}
FUSES = {"last": LastLayer(), "concat": ConcatLayers(), "adaptive": WeightedLayerSum()}
RELU = {  # message_activation and activation
    "before": ("before", "none"),
    "after": ("after", "none"),
    "layer": ("none", "relu"),
    "none": ("none", "none"),
}

SETTINGS: dict[str, Space] = {
    "width": Choice(32, 64, 128),
    "n_layers": Choice(1, 2, 3, 4),
    "dropout": space.Uniform(0.0, 0.9),
    "learning_rate": LogUniform(1e-3, 5e-2),
    "weight_decay": LogUniform(1e-7, 1e-2),
    "feature_norm": Choice("none", "l1", "l2"),
}
DISCRIMINATION: dict[str, Space] = {"discrimination_weight": Choice(0.0, 0.01, 0.1, 1.0)}
MENU: dict[str, Space] = {
    "encoder": Choice(*ENCODERS),
    "prototypes": SWITCH,
    "neighbors": SWITCH,
    "neighbors_guidance": Choice(*ATTENTION, "similarity", "gate", "signed_attention"),
    "neighbors_guidance_raw": Choice(*ATTENTION, "similarity", "gate"),
    "neighbors_average": Choice(*AVERAGES),
    "with_self": SWITCH,
    "with_self_guidance": Choice(*ATTENTION),
    "with_self_average": Choice(*AVERAGES),
    "second_hop": SWITCH,
    "second_hop_average": Choice(*AVERAGES),
    "similar_features": SWITCH,
    "similar_features_average": Choice(*AVERAGES),
    "structure": SWITCH,
    "ego": SWITCH,
    "combine_two": Choice(*TWO),
    "combine_many": Choice(*MANY),
    "combine_predictions": Choice(*SUMS),
    "ego_input": Choice("previous", "initial"),
    "transform": Choice("own", "keep"),
    "fuse": Choice(*FUSES),
    "fuse_wide": Choice("last", "concat"),
    "fuse_predictions": Choice("last", "adaptive"),
    "relu": Choice(*RELU),
    **SETTINGS,
    **DISCRIMINATION,
}

DEFAULTS = {
    **{name: False for name, options in MENU.items() if options == SWITCH},
    **{"ego": True, "ego_input": "previous", "transform": "own", "relu": "before"},
    **{name: COMMON[name] for name in SETTINGS},
    "discrimination_weight": 0.01,
}
# Known mechanisms, as far as the menu has their parts.
STARTS: dict[str, dict[str, Any]] = {
    "cmgnn": {
        "encoder": "features",
        "prototypes": True,
        "neighbors": True,
        "neighbors_guidance": "row",
        "combine_many": "degree_gated",
        "fuse": "concat",
        "weight_decay": 5e-6,
    },
    "acm-gcn": {
        "encoder": "raw",
        "with_self": True,
        "with_self_guidance": "row_and_rest",
        "combine_many": "adaptive",
        "relu": "after",
    },
    "gpr-gnn": {
        "encoder": "predict",
        "ego": False,
        "with_self": True,
        "with_self_average": "symmetric",
        "fuse_predictions": "adaptive",
        "n_layers": 4,
    },
}


@dataclass(frozen=True)
class ArchitectureSearch:
    """The mechanism as something to search; `fixed` are answers and settings that the user gave."""

    fixed: Mapping[str, Any] = field(default_factory=dict)
    name = NAME

    def __post_init__(self) -> None:
        for name, value in self.fixed.items():
            if name not in MENU and name not in COMMON:
                raise unknown_name(f"question or setting of {NAME}", name, (*MENU, *COMMON))
            if name in MENU:
                check_choice(name, MENU[name], value)
        for start in self.starts:
            found = self.candidate(start.__getitem__)
            found.recipe.with_settings(**found.values)  # refuses impossible settings at once

    @property
    def identity(self) -> str:
        """The menu, and the parts on it."""
        return identity_of((MENU, ENCODERS, ATTENTION, TWO, FUSES, RELU))

    @property
    def space(self) -> dict[str, Space]:
        """The menu without what is fixed."""
        return {name: options for name, options in MENU.items() if name not in self.fixed}

    @property
    def starts(self) -> list[dict[str, Any]]:
        """Answers that make known mechanisms."""
        found: list[dict[str, Any]] = []
        for start in STARTS.values():
            told: dict[str, Any] = {}
            recorded = _Told({**DEFAULTS, **start}, told)
            self.candidate(recorded)
            if told not in found:
                found.append(told)
        return found

    def candidate(self, ask: Ask) -> Candidate:
        """The recipe that the answers make, and its settings."""
        recipe = mechanism(lambda name: self._answer(ask, name))
        wanted = {**SETTINGS, **(DISCRIMINATION if recipe.losses else {})}
        settings = {name: self._answer(ask, name) for name in wanted}
        kept = {name: value for name, value in self.fixed.items() if name in COMMON}
        return Candidate(recipe, {**settings, **kept})

    def _answer(self, ask: Ask, name: str) -> Any:
        return self.fixed[name] if name in self.fixed else ask(name)


@dataclass(frozen=True)
class _Told:
    """Answers questions from a table, with the first option for the rest, and notes what was asked."""

    answers: Mapping[str, Any]
    told: dict[str, Any]

    def __call__(self, name: str) -> Any:
        options = getattr(MENU[name], "values", (None,))
        self.told[name] = self.answers.get(name, options[0])
        return self.told[name]


def mechanism(ask: Ask) -> Recipe:
    """A recipe from answers; every sequence of answers gives one that can be built."""
    encoder = ask("encoder")
    predicts, raw = encoder == "predict", encoder == "raw"
    channels, believes = _channels(ask, encoder)
    structured = any(channel.input == "nodes" for channel in channels)
    combine = _combine(ask, len(channels), predicts=predicts)
    wide = isinstance(combine, Concat)
    if isinstance(channels[0].neighborhood, Ego) and not raw and not wide:
        channels = (channels[0].with_input(ask("ego_input")), *channels[1:])
    keeps = predicts or (not (raw or wide or structured) and ask("transform") == "keep")
    message, layer = RELU["none" if predicts else ask("relu")]
    return Recipe(
        name=NAME,
        title="HTMP",
        paper="component search, unpublished",
        channels=channels,
        combine=combine,
        fuse=_fuse(ask, encoder, wide=wide),
        encoder=ENCODERS[encoder],
        transform=NoTransform() if keeps else Linear(),
        head=None if predicts else Head(),
        dropout=Dropout(input=P, head=0.0 if predicts else P),
        activation=layer,
        message_activation=message,
        losses=(Discrimination(Setting("discrimination_weight")),) if believes else (),
        belief=CompatibilityEstimate() if believes else None,
        settings={"discrimination_weight": 0.01} if believes else {},
        space={**SETTINGS, **(DISCRIMINATION if believes else {})},
    )


def _channels(ask: Ask, encoder: str) -> tuple[tuple[Channel, ...], bool]:
    """The channels, ego first, and whether prototypes are among them."""
    found: list[Channel] = []
    # Attention has weights as wide as a layer; predictions are K wide in every layer.
    kind = "average" if encoder == "predict" else "guidance"
    if ask("neighbors"):
        # Signed attention looks at the state itself, which may be sparse if it is raw.
        found += _neighbors(ask(f"neighbors_{kind}{'_raw' if encoder == 'raw' else ''}"))
    if ask("with_self"):
        found += _guided(WithSelf(), ask(f"with_self_{kind}"))
    if ask("second_hop"):
        found += _guided(Hop(2), ask("second_hop_average"))
    # The prototypes are rows of the state, which other encoders have no room for.
    believes = bool(encoder in ("features", "both") and ask("prototypes"))
    if believes:
        found.append((Prototypes() * CompatibilityWeights()).with_input("prototypes"))
    elif ask("similar_features"):
        hood = FeatureNeighbors(k=10, weighted=False)
        found += _guided(hood, ask("similar_features_average"))
    # A learned row per node has none for prototypes, and d columns, not K.
    if not believes and encoder != "predict" and ask("structure"):
        structure = (Raw() * Ones()).with_input("nodes")
        found.append(replace(structure, activation="after"))
    # Without any other channel a node hears at least itself.
    ego = (Ego() * Ones(),) if not found or ask("ego") else ()
    return (*ego, *found), believes


def _neighbors(guidance: str) -> list[Channel]:
    if guidance == "similarity":
        return [Signed(1) * SignedSimilarity(1), Signed(-1) * SignedSimilarity(-1)]
    if guidance == "gate":
        return [Raw() * Gate(), Raw() * Gate(other=True)]
    if guidance == "signed_attention":
        return [Raw() * SignedAttention()]
    return _guided(Raw(), guidance)


def _guided(hood: Neighborhood, guidance: str) -> list[Channel]:
    return [hood * part for part in ATTENTION[guidance]]


def _combine(ask: Ask, count: int, *, predicts: bool) -> Combine:
    if count == 1:
        return SingleChannel()
    if predicts:
        return SUMS[ask("combine_predictions")]
    return TWO[ask("combine_two")] if count == 2 else MANY[ask("combine_many")]


def _fuse(ask: Ask, encoder: str, *, wide: bool) -> LastLayer:
    if encoder == "raw":  # Z⁰ = X is as wide as the features, and may be sparse
        return LastLayer()
    if encoder == "predict":
        return FUSES[ask("fuse_predictions")]
    return FUSES[ask("fuse_wide" if wide else "fuse")]
