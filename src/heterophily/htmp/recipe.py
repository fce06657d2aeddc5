"""A model as one row: neighborhoods with their guidance, COMBINE, FUSE, and what goes around them.

A recipe is frozen data. `Setting("name")` stands where a value is chosen later; `settings` has the
defaults, `space` what a search may try, `reference` what the published program did differently, and
`deviations` says so in words. An ablation is `dataclasses.replace(recipe, ...)`.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.htmp.belief import CompatibilityEstimate
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import Combine, SingleChannel
from heterophily.htmp.encoder import RawFeatures
from heterophily.htmp.fuse import LastLayer
from heterophily.htmp.part import ACTIVATIONS, Flag, Number, Setting, Text, choose, resolve
from heterophily.htmp.skip import DecayedResidual
from heterophily.htmp.transform import Linear, Transform

# Settings that every recipe has; a recipe overrides the defaults that its method publishes.
COMMON: dict[str, Any] = {
    "width": 64,
    "n_layers": 2,
    "dropout": 0.5,
    "activation": "relu",
    "norm": "none",
    "residual": False,
    "input_layer": False,
    "feature_norm": "none",
    "loss": "nll",
    "learning_rate": 0.01,
    "weight_decay": 5e-4,
    "patience": 100,
    "max_epochs": 2000,
}
CHOICES = {
    "activation": tuple(ACTIVATIONS),
    "norm": ("none", "batch", "layer"),
    "feature_norm": ("none", "l1", "l2", "sum"),
    "loss": ("nll", "ce_of_probabilities", "negative_probability"),
}
KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}
POSITIVE = ("width", "n_layers", "patience", "max_epochs", "learning_rate")


@dataclass(frozen=True)
class Dropout:
    """Rates: of the input X, of the state that a layer hears, before the head, of stored entries."""

    input: Number = 0.0
    layer: Number = 0.0
    head: Number = 0.0
    edge: Number = 0.0
    message: Number = 0.0  # after the transform, before aggregation


@dataclass(frozen=True)
class Head:
    """logits = drop_p(Z) W + b; a recipe without one ends in K columns by itself.

    `kind = none` reads the first K columns as logits, as one program does.
    """

    kind: Text = "linear"
    bias: bool = True
    init: str = "linear"
    bias_init: str = ""
    gain: float = 1.0

    def __post_init__(self) -> None:
        choose("head", self.kind, ("linear", "none"))


@dataclass(frozen=True)
class Apart:
    """Parameters with an Adam of their own; `both` leaves them in the main one too."""

    names: str
    weight_decay: Number
    both: Flag = False


@dataclass(frozen=True)
class Recipe:
    """One row of the table."""

    name: str
    paper: str
    channels: tuple[Channel, ...]
    combine: Combine = SingleChannel()
    fuse: LastLayer = LastLayer()
    title: str = ""
    encoder: Any = RawFeatures()  # an Encoder, or a Setting that chooses one
    transform: Transform = Linear()
    head: Head | None = None
    skip: DecayedResidual | None = None
    dropout: Dropout = Dropout(input=Setting("dropout"), layer=Setting("dropout"))
    activation: Text = Setting("activation")  # after each layer
    activate_last: bool = False  # also after the last one
    message_activation: Text = "none"  # ReLU none, before or after aggregation
    linear_last_layer: bool = False  # whether messages of the last layer stay linear
    separate: bool = False  # a network of its own per channel, COMBINE once at the end
    widths: tuple[Number, ...] = (Setting("width"),)  # per layer; the last repeats
    losses: tuple[Any, ...] = ()
    # Prototypes, soft labels and a compatibility matrix, kept while training.
    belief: CompatibilityEstimate | Setting | None = None
    decayed: tuple[Text, ...] = ("*",)  # parameters with weight decay, as patterns of names
    apart: Apart | None = None  # parameters with an optimiser of their own
    equation: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    space: Mapping[str, Any] = field(default_factory=dict)
    reference: Mapping[str, Any] = field(default_factory=dict)
    deviations: tuple[str, ...] = ()

    @property
    def defaults(self) -> dict[str, Any]:
        """All settings with their default values."""
        return {**COMMON, **self.settings}

    def with_settings(self, *, preset: str = "published", **values: Any) -> "Recipe":
        """The recipe with every setting decided: defaults, then a preset, then `values`.

        A default may itself be a `Setting`, so that it follows another one.
        """
        if preset not in ("published", "reference"):
            raise unknown_name("preset", preset, ("published", "reference"))
        for name, value in values.items():
            if name not in self.defaults:
                raise unknown_name(f"setting of {self.name}", name, self.defaults)
            _check_kind(name, value, self.defaults[name])
        chosen = {**self.defaults, **(self.reference if preset == "reference" else {}), **values}
        chosen = {name: resolve(value, chosen) for name, value in chosen.items()}
        _check(chosen)
        decided: Recipe = resolve(dataclasses.replace(self, settings=chosen), chosen)
        kept = tuple(channel for channel in decided.channels if channel.when)
        return dataclasses.replace(decided, channels=kept)

    @property
    def full_graph_reason(self) -> str:
        """Why the method cannot be trained or evaluated in batches of nodes; nothing if it can."""
        if any(isinstance(value, Setting) for value in (*self.settings.values(), self.belief)):
            return self.with_settings().full_graph_reason
        parts = [*(channel.guidance for channel in self.channels), *self.losses]
        parts += [self.belief] if self.belief is not None else []
        if self.defaults["norm"] == "batch":
            return "norm = batch averages over all nodes; take norm = layer"
        return next((part.full_graph_reason for part in parts if part.full_graph_reason), "")

    @property
    def carried_keys(self) -> tuple[str, ...]:
        """What parts keep in the memory of a scene from layer to layer, per node."""
        return (*self.combine.carried_keys, *(self.skip.carried_keys if self.skip else ()))

    @property
    def row(self) -> dict[str, Any]:
        """The row of the paper's table as plain data."""
        return {
            "name": self.name,
            "neighborhoods": [channel.neighborhood.symbol for channel in self.channels],
            "guidance": [channel.symbol for channel in self.channels],
            "combine": self.combine.symbol,
            "fuse": self.fuse.symbol,
            "citation": self.paper,
        }


def _check_kind(name: str, value: Any, default: Any) -> None:
    """Refuse a plain value of another kind than the default; a whole number is a number too."""
    wanted, came = type(default), type(value)
    plain = value is None or came in KINDS
    if plain and wanted in KINDS and came is not wanted and (wanted, came) != (float, int):
        raise HeterophilyError(f"{name} must be {KINDS[wanted]}, like {default}, got {value!r}")


def _check(settings: Mapping[str, Any]) -> None:
    for name, options in CHOICES.items():
        if settings[name] not in options:
            raise HeterophilyError(
                f"{name} must be one of {', '.join(options)}, got {settings[name]!r}"
            )
    for name in POSITIVE:
        if not settings[name] > 0:
            raise HeterophilyError(f"{name} must be positive, got {settings[name]}")
    for name, value in settings.items():
        if "dropout" in name and not isinstance(value, bool | str) and not 0 <= value < 1:
            raise HeterophilyError(f"{name} must be at least 0 and below 1, got {value}")
