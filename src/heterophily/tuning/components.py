"""Component search: search for an architecture, A_r ⊙ B_r, COMBINE, FUSE, encoder, and settings.

A question is asked only if every answer makes a valid architecture, in this order: encoder, channels,
COMBINE, input of the ego channel, transform, FUSE, ReLU. Neighborhoods that cost far more than a training run
(structural, geometric) and all pairs are omitted.
"""

from dataclasses import dataclass, field, replace

from heterophily.core.errors import unknown_name
from heterophily.core.spaces import Choice, Range, Space, setting_infos
from heterophily.core.types import Settings, Value
from heterophily.htmp.architecture import Architecture, Dropout, Head, MessageActivation
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import AdaptiveSum, Add, Combine, Concat, SingleChannel, WeightedAdd
from heterophily.htmp.encoder import Embed, Encoder, Predict, RawFeatures
from heterophily.htmp.fuse import ConcatLayers, Fuse, LastLayer
from heterophily.htmp.guidance import Attention, Complement, Ones, RowMean, SymmetricMean
from heterophily.htmp.identity import expression
from heterophily.htmp.method import CustomMethod, Method, make_method
from heterophily.htmp.neighborhoods import Ego, FeatureNeighbors, Hop, Neighborhood, Raw, WithSelf
from heterophily.htmp.transform import Linear, NoTransform
from heterophily.models.classics import LINKXEncoder
from heterophily.models.cmgnn.parts import (
    CompatibilityWeights,
    DegreeGatedSum,
    Discrimination,
    FeaturesAndStructure,
    Prototypes,
)
from heterophily.models.cmgnn.state import CompatibilityEstimate
from heterophily.models.fagcn import SignedAttention
from heterophily.models.gbk_gnn import Gate, GateComplement
from heterophily.models.ggcn import GlobalSum, Signed, SignedSimilarity
from heterophily.models.gpr_gnn import WeightedLayerSum
from heterophily.models.hog_gcn import LearnedAdd
from heterophily.models.ordered_gnn import OrderedGate
from heterophily.models.ugcn import AttentionSum
from heterophily.tuning.problem import Candidate, Suggest, check_choice

NAME = "htmp"
COMMON = {name: info.default for name, info in setting_infos(Method).items()}
COMMON["feature_norm"] = "none"
SWITCH = Choice(False, True)

ENCODERS: dict[str, Encoder] = {
    "features": Embed(),
    "both": FeaturesAndStructure(None),
    "link": LINKXEncoder(),
    "raw": RawFeatures(),
    "predict": Predict(dropout=None),
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
TWO = {**MANY, "weighted": WeightedAdd(0.5), "learned": LearnedAdd(), "ordered": OrderedGate(n_chunks=16, shared=False)}
FUSES: dict[str, Fuse] = {"last": LastLayer(), "concat": ConcatLayers(), "adaptive": WeightedLayerSum()}
RELU: dict[str, tuple[MessageActivation, str]] = {  # message_activation and activation
    "before": ("before", "none"),
    "after": ("after", "none"),
    "layer": ("none", "relu"),
    "none": ("none", "none"),
}

SETTINGS: dict[str, Space] = {
    "width": Choice(32, 64, 128),
    "n_layers": Choice(1, 2, 3, 4),
    "dropout": Range(0.0, 0.9),
    "learning_rate": Range(1e-3, 5e-2, log=True),
    "weight_decay": Range(1e-7, 1e-2, log=True),
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

DEFAULTS: dict[str, Value] = {
    **{name: False for name, options in MENU.items() if options == SWITCH},
    **{"ego": True, "ego_input": "previous", "transform": "own", "relu": "before"},
    **{name: COMMON[name] for name in SETTINGS},
    "discrimination_weight": 0.01,
}
# Known architectures, as far as the menu has their parts.
STARTS: dict[str, dict[str, Value]] = {
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
    """Search for an architecture; `fixed` are answers and settings of the user."""

    fixed: Settings = field(default_factory=dict)
    name = NAME

    def __post_init__(self) -> None:
        for name, value in self.fixed.items():
            if name not in MENU and name not in COMMON:
                raise unknown_name(f"question or setting of {NAME}", name, (*MENU, *COMMON))
            if name in MENU:
                check_choice(name, MENU[name], value)
        for start in self.initial_points:
            self.candidate(start.__getitem__)  # rejects invalid settings

    @property
    def identity(self) -> str:
        """The menu and its parts."""
        return expression((MENU, ENCODERS, ATTENTION, TWO, FUSES, RELU))

    @property
    def space(self) -> dict[str, Space]:
        """The menu without fixed answers."""
        return {name: options for name, options in MENU.items() if name not in self.fixed}

    @property
    def initial_points(self) -> list[dict[str, Value]]:
        """Answers that make known architectures."""
        found: list[dict[str, Value]] = []
        for start in STARTS.values():
            told: dict[str, Value] = {}
            recorded = _Told({**DEFAULTS, **start}, told)
            self.candidate(recorded)
            if told not in found:
                found.append(told)
        return found

    def candidate(self, ask: Suggest) -> Candidate:
        """The method that the answers make, and its settings."""
        architecture = make_architecture(lambda name: self._answer(ask, name))
        settings = {name: self._answer(ask, name) for name in SETTINGS}
        fixed = {name: value for name, value in self.fixed.items() if name in COMMON}
        common = {**settings, **fixed}
        if architecture.losses:
            weight = self._answer(ask, "discrimination_weight")
            assert isinstance(weight, int | float)
            architecture = replace(architecture, losses=(Discrimination(weight),))
            settings["discrimination_weight"] = weight
        paper = "component search, unpublished"
        custom = CustomMethod(NAME, architecture, SETTINGS, title="HTMP", paper=paper)
        method = make_method(custom, common)
        return Candidate(method, {**settings, **fixed})

    def _answer(self, ask: Suggest, name: str) -> Value:
        return self.fixed[name] if name in self.fixed else ask(name)


@dataclass(frozen=True)
class _Told:
    """Answers questions from a table, with the first option for the rest, and notes what was asked."""

    answers: Settings
    told: dict[str, Value]

    def __call__(self, name: str) -> Value:
        options = getattr(MENU[name], "values", (None,))
        self.told[name] = self.answers.get(name, options[0])
        return self.told[name]


def make_architecture(ask: Suggest) -> Architecture:
    """Return the architecture that answers make; every sequence of answers gives a valid one."""
    encoder = str(ask("encoder"))
    predicts, raw = encoder == "predict", encoder == "raw"
    channels = _channels(ask, encoder)
    states = any(isinstance(channel.guidance, CompatibilityWeights) for channel in channels)
    structured = any(channel.input == "nodes" for channel in channels)
    combine = _combine(ask, len(channels), predicts=predicts)
    wide = isinstance(combine, Concat)
    if isinstance(channels[0].neighborhood, Ego) and not raw and not wide:
        channels = (channels[0].with_input(str(ask("ego_input"))), *channels[1:])
    keeps = predicts or (not (raw or wide or structured) and ask("transform") == "keep")
    message, layer = RELU["none" if predicts else str(ask("relu"))]
    return Architecture(
        channels=channels,
        combine=combine,
        fuse=_fuse(ask, encoder, wide=wide),
        encoder=ENCODERS[encoder],
        transform=NoTransform() if keeps else Linear(),
        head=None if predicts else Head(),
        dropout=Dropout(input=None, head=0.0 if predicts else None),
        activation=layer,
        message_activation=message,
        losses=(Discrimination(),) if states else (),
        states=(CompatibilityEstimate(),) if states else (),
    )


def _channels(ask: Suggest, encoder: str) -> tuple[Channel, ...]:
    """Return the channels, ego first."""
    found: list[Channel] = []
    # Attention has weights as wide as a layer; predictions are K wide in every layer.
    kind = "average" if encoder == "predict" else "guidance"
    if ask("neighbors"):
        # Signed attention uses the state itself, which may be sparse if it is raw.
        found += _neighbors(str(ask(f"neighbors_{kind}{'_raw' if encoder == 'raw' else ''}")))
    if ask("with_self"):
        found += _guided(WithSelf(), str(ask(f"with_self_{kind}")))
    if ask("second_hop"):
        found += _guided(Hop(2), str(ask("second_hop_average")))
    # Prototypes are rows of the state, which other encoders cannot encode.
    prototypes = bool(encoder in ("features", "both") and ask("prototypes"))
    if prototypes:
        found.append(Prototypes() * CompatibilityWeights())
    elif ask("similar_features"):
        hood = FeatureNeighbors(k=10)
        found += _guided(hood, str(ask("similar_features_average")))
    # A learned row per node does not exist for prototypes, and has d columns, not K.
    if not prototypes and encoder != "predict" and ask("structure"):
        structure = (Raw() * Ones()).with_input("nodes")
        found.append(replace(structure, activation="after"))
    # Without any other channel, a node receives at least its own message.
    ego = (Ego() * Ones(),) if not found or ask("ego") else ()
    return (*ego, *found)


def _neighbors(guidance: str) -> list[Channel]:
    if guidance == "similarity":
        return [Signed(1) * SignedSimilarity(1), Signed(-1) * SignedSimilarity(-1)]
    if guidance == "gate":
        return [Raw() * Gate(), Raw() * GateComplement()]
    if guidance == "signed_attention":
        return [Raw() * SignedAttention()]
    return _guided(Raw(), guidance)


def _guided(hood: Neighborhood, guidance: str) -> list[Channel]:
    return [hood * part for part in ATTENTION[guidance]]


def _combine(ask: Suggest, count: int, *, predicts: bool) -> Combine:
    if count == 1:
        return SingleChannel()
    if predicts:
        return SUMS[str(ask("combine_predictions"))]
    return TWO[str(ask("combine_two"))] if count == 2 else MANY[str(ask("combine_many"))]


def _fuse(ask: Suggest, encoder: str, *, wide: bool) -> Fuse:
    if encoder == "raw":  # Z⁰ = X is as wide as the features, and may be sparse
        return LastLayer()
    if encoder == "predict":
        return FUSES[str(ask("fuse_predictions"))]
    return FUSES[str(ask("fuse_wide" if wide else "fuse"))]
