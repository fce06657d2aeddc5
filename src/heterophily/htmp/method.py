"""Methods: typed settings, and the architecture that they describe.

A method is a frozen dataclass. Its fields are the settings; types, valid values, search ranges, and help
texts are in their annotations. Its docstring is its card: the summary, then the equation.
"""

import dataclasses
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, Self, TypeVar, dataclass_transform, get_args

from typing_extensions import override

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.spaces import DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt, Space, setting_infos
from heterophily.core.types import Value
from heterophily.htmp.architecture import Architecture, Dropout
from heterophily.htmp.encoder import Embed, Encoder, RawFeatures

Activation = Literal["none", "relu", "elu", "tanh"]
Norm = Literal["none", "batch", "layer"]
FeatureNorm = Literal["none", "l1", "l2", "sum"]
LossForm = Literal["nll", "ce_of_probabilities", "negative_probability"]
Monitor = Literal["score", "loss"]
Preset = Literal["published", "reference"]

MONITOR = "Validation value that selects the best epoch: the score (accuracy by default) or the loss."
N_MEMBERS = "Number of networks whose predicted probabilities are averaged."
MAX_LAYERS = 1000  # far above any useful value
NO_SETTING = {"setting": False}  # marks a keyword argument that is not a setting
# Settings keys and values of earlier versions, in TOML files and stored records.
RENAMED_KEYS = {"hidden_share": "masked_fraction", "normalisation": "normalization", "embed": "embed_first"}
RENAMED_VALUES: dict[tuple[str, Value], Value] = {("hetero_message", "neighbour"): "neighbor"}


@dataclass(frozen=True)
class Deviation:
    """A difference from the paper or its reference implementation, and settings that reproduce the latter.

    Examples
    --------
    >>> Deviation("The reference implementation has no activation.", {"activation": "none"}).reference_settings
    {'activation': 'none'}
    """

    description: str
    reference_settings: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Method:
    """The settings that all methods have in common; the base class of all methods.

    A subclass, decorated with `define_method`, adds its own settings and defines `architecture`.

    Parameters
    ----------
    width, n_layers
        Number of columns per layer, and number of layers.
    dropout
        Dropout rate, at the places that the architecture defines.
    activation, norm, residual
        What follows the messages of a layer.
    input_layer
        Whether a linear layer with ReLU precedes an architecture that uses raw features.
    feature_norm
        Norm by which each row of X is divided; None uses the value of the architecture. `sum` is the sum of absolute
        values, which differs from the sum only for signed features.
    loss
        Form of the classification loss.
    learning_rate, weight_decay, patience, max_epochs
        Settings of training.
    monitor
        Validation value that selects the best epoch: the score (accuracy by default) or the loss.
    n_members
        Number of networks whose predicted probabilities are averaged. Each has its own seed and its own best epoch.

    Examples
    --------
    >>> from heterophily.models.gcn import GCN
    >>> GCN(width=128).dropout
    0.5
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    deviations: ClassVar[tuple[Deviation, ...]] = ()
    is_network: ClassVar[bool] = True  # whether the method has an architecture
    needs_features: ClassVar[bool] = True  # False if the method can be used without any features
    unused_settings: ClassVar[tuple[str, ...]] = ()  # common settings that the method does not have

    width: PositiveInt = 64
    n_layers: PositiveInt = 2
    dropout: DropoutRate = 0.5
    activation: Activation = "relu"
    norm: Norm = "none"
    residual: bool = False
    input_layer: bool = False
    feature_norm: FeatureNorm | None = None
    loss: LossForm = "nll"
    learning_rate: PositiveFloat = 0.01
    weight_decay: NonNegativeFloat = 5e-4
    patience: PositiveInt = 100
    max_epochs: PositiveInt = 2000
    monitor: Annotated[Monitor, MONITOR] = "score"
    n_members: Annotated[PositiveInt, N_MEMBERS] = 1

    def __post_init__(self) -> None:
        for name, info in setting_infos(type(self)).items():
            object.__setattr__(self, name, info.validate(getattr(self, name)))
        if self.n_layers > MAX_LAYERS:
            raise HeterophilyError(f"n_layers must be at most {MAX_LAYERS}, got {self.n_layers}")
        if self.is_network:
            self.architecture()  # reject invalid combinations here, not in the first epoch

    def architecture(self) -> Architecture:
        """Return the network that these settings describe."""
        raise NotImplementedError

    def single(self) -> Self:
        """Return the method of one member of the ensemble."""
        return self if self.n_members == 1 else dataclasses.replace(self, n_members=1)


M = TypeVar("M", bound=Method)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def define_method(cls: type[M]) -> type[M]:
    """Turn a subclass of `Method` into a frozen dataclass of settings.

    Raises
    ------
    HeterophilyError
        If a setting has no type, or a deviation refers to a setting or value that does not exist.

    Examples
    --------
    >>> from heterophily.htmp.guidance import RowMean
    >>> from heterophily.htmp.neighborhoods import Raw
    >>> @define_method
    ... class Mean(Method):
    ...     name, title, paper = "mean", "Mean", "unpublished"
    ...     def architecture(self):
    ...         return Architecture(channels=(Raw() * RowMean(),))
    >>> Mean(width=32).width
    32
    """
    inherited = setting_infos(cls.__mro__[1])
    for name in inherited.keys() & vars(cls).keys() - inspect.get_annotations(cls).keys():
        raise HeterophilyError(f"{cls.__name__}.{name} needs a type, such as {name}: int = ...")
    method = dataclass(frozen=True, kw_only=True)(cls)
    infos = setting_infos(method)
    for name, value in reference_settings(method).items():
        if name not in infos:
            raise unknown_name(f"setting of {method.__name__}", name, infos)
        infos[name].validate(value)
    return method


@dataclass(frozen=True)
class CustomMethod(Method):
    """A method without settings of its own: a name, an architecture, and the common settings.

    Examples
    --------
    >>> from heterophily.htmp.guidance import RowMean
    >>> from heterophily.htmp.neighborhoods import Raw
    >>> CustomMethod("mean", Architecture(channels=(Raw() * RowMean(),)), width=32).width
    32
    """

    name: str  # type: ignore[misc]
    template: Architecture  # fields that are None are filled in from the settings
    title: str = field(default="", kw_only=True, metadata=NO_SETTING)  # type: ignore[misc]
    paper: str = field(default="unpublished", kw_only=True, metadata=NO_SETTING)  # type: ignore[misc]
    space: Mapping[str, Space] = field(default_factory=dict, hash=False)  # what a search tries

    @override
    def architecture(self) -> Architecture:
        return self.template


MethodLike = type[Method] | Method


def reference_settings(model: MethodLike) -> dict[str, Value]:
    """Return the settings that reproduce the reference implementation."""
    return {name: value for deviation in model.deviations for name, value in deviation.reference_settings.items()}


def search_space(model: MethodLike) -> dict[str, Space]:
    """Return what a search tries for each setting.

    Examples
    --------
    >>> from heterophily.models.gcn import GCN
    >>> search_space(GCN)["n_layers"]
    Choice(1, 2, 3)
    """
    if isinstance(model, CustomMethod):
        return dict(model.space)
    infos = setting_infos(model if isinstance(model, type) else type(model))
    return {name: info.space for name, info in infos.items() if info.space is not None}


def make_method(model: MethodLike, values: Mapping[str, Value] | None = None, *, preset: str = "published") -> Method:
    """Construct a method from settings with untrusted names, such as those of a file.

    Parameters
    ----------
    model
        A method class, or a method whose settings are the defaults.
    values
        Settings by name. The key `preset` overrides the argument.
    preset
        `published`, or `reference` for the settings of the reference implementation.

    Raises
    ------
    HeterophilyError
        If a name is unknown or a value is invalid.

    Examples
    --------
    >>> from heterophily.models.gcn import GCN
    >>> make_method(GCN, {"width": 32}, preset="reference").activation
    'none'
    """
    settings = translate_settings(values or {})
    preset = str(settings.pop("preset", preset))
    if preset not in get_args(Preset):
        raise unknown_name("preset", preset, get_args(Preset))
    cls = model if isinstance(model, type) else type(model)
    for name in settings:
        if name not in setting_infos(cls):
            raise unknown_name(f"setting of {model.name}", name, setting_infos(cls))
    if preset == "reference":
        settings = {**reference_settings(model), **settings}
    if isinstance(model, type):
        return model(**settings)  # type: ignore[arg-type]
    return dataclasses.replace(model, **settings)  # type: ignore[arg-type]


def translate_settings(values: Mapping[str, Value]) -> dict[str, Value]:
    """Replace keys and values of earlier versions by the current ones."""
    return {
        RENAMED_KEYS.get(name, name): RENAMED_VALUES.get((name, value), value) if isinstance(value, str) else value
        for name, value in values.items()
    }


def settings_of(method: Method) -> dict[str, Value]:
    """Return all settings of a method by name, with the feature norm that applies."""
    values = {name: getattr(method, name) for name in setting_infos(type(method))}
    if not method.is_network:
        return values
    return {**values, "feature_norm": complete_architecture(method).feature_norm}


def complete_architecture(method: Method) -> Architecture:
    """Return the architecture of a method, with open fields filled in from its common settings."""
    partial, rate = method.architecture(), method.dropout
    rates = {f.name: getattr(partial.dropout, f.name) for f in dataclasses.fields(Dropout)}
    return dataclasses.replace(
        partial,
        encoder=_complete_encoder(partial.encoder, method),
        dropout=Dropout(**{name: rate if p is None else p for name, p in rates.items()}),
        activation=partial.activation or method.activation,
        widths=partial.widths or (method.width,),
        feature_norm=method.feature_norm or partial.feature_norm or "none",
    )


def _complete_encoder(encoder: Encoder, method: Method) -> Encoder:
    if method.input_layer and isinstance(encoder, RawFeatures):
        return Embed()
    if getattr(encoder, "dropout", 0.0) is None:
        return dataclasses.replace(encoder, dropout=method.dropout)  # type: ignore[call-arg]
    return encoder


def replace_architecture(method: Method, variant: str, **changes: object) -> CustomMethod:
    """Return a method with the same common settings and a changed architecture, for ablations.

    Examples
    --------
    >>> from heterophily.htmp.guidance import Ones
    >>> from heterophily.htmp.neighborhoods import Ego
    >>> from heterophily.models.gcn import GCN
    >>> replace_architecture(GCN(), "without neighbors", channels=(Ego() * Ones(),)).name
    'gcn without neighbors'
    """
    common = {name: getattr(method, name) for name in setting_infos(Method)}
    architecture = dataclasses.replace(method.architecture(), **changes)  # type: ignore[arg-type]
    return CustomMethod(
        f"{method.name} {variant}", architecture, title=f"{method.title} {variant}", paper=method.paper, **common
    )


def full_graph_reason(method: Method) -> str:
    """Return why a method needs the full graph; empty if mini-batches work."""
    if not method.is_network:
        return "it is not a network"
    of_batch_norm = "norm = batch averages over all nodes; use norm = layer" if method.norm == "batch" else ""
    return method.architecture().full_graph_reason or of_batch_norm


def summary_of(model: MethodLike) -> str:
    """Return the first line of the docstring of a method."""
    return "" if isinstance(model, CustomMethod) else _paragraphs(model)[0]


def equation_of(model: MethodLike) -> str:
    """Return the equation, the second paragraph of the docstring of a method."""
    return "" if isinstance(model, CustomMethod) else "".join(_paragraphs(model)[1:2])


def _paragraphs(model: MethodLike) -> list[str]:
    text = inspect.cleandoc(model.__doc__ or "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
