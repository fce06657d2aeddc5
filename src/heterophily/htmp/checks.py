"""Which architectures are valid. Each check returns an error message, or an empty string.

Parts declare what they require as class attributes; the checks compare these with the other parts.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from heterophily.htmp.combine import Concat
from heterophily.htmp.encoder import RawFeatures
from heterophily.htmp.guidance import Guidance
from heterophily.htmp.neighborhoods import Ego
from heterophily.htmp.transform import Linear

if TYPE_CHECKING:
    from heterophily.htmp.architecture import Architecture


def find_problem(architecture: "Architecture") -> str:
    """Return why an architecture is invalid and how to fix it; empty if it is valid."""
    checks = (check_combine, check_channels, check_requirements, check_widths, check_output)
    return next((problem for check in checks if (problem := check(architecture))), "")


def check_combine(architecture: "Architecture") -> str:
    """Check that COMBINE accepts the number of channels."""
    count, combine = len(architecture.channels), architecture.combine
    low, high = combine.arity
    if not count:
        return "there are no channels; pass at least one, such as channels=(Raw() * RowMean(),)"
    if low <= count and (high is None or count <= high):
        return ""
    expected = f"exactly {low}" if low == high else f"at least {low}"
    advice = "pass a COMBINE such as combine=Add() or combine=AdaptiveSum()"
    if count == 1:
        advice = "add channels, or omit COMBINE"
    return (
        f"{type(combine).__name__} combines {expected} message{'s' if low > 1 else ''}, but there "
        f"{'is 1 channel' if count == 1 else f'are {count} channels'}; {advice}"
    )


def check_channels(architecture: "Architecture") -> str:
    """Check every guidance against its neighborhood and against the channels before it."""
    for number, channel in enumerate(architecture.channels):
        hood, guidance = channel.neighborhood, channel.guidance
        name = f"{type(hood).__name__}() * {type(guidance).__name__}()"
        problem = guidance.check_neighborhood(hood) or hood.check_guidance(guidance)
        if problem:
            return f"{name}: {problem}"
        if hood.power != 1 and not guidance.supports_powers:
            return (
                f"{name}: powers are defined only for fixed matrices; use SymmetricMean() or "
                f"RowMean(), or Hop({hood.power}) instead of Power({hood.power})"
            )
        has_heads = isinstance(architecture.transform, Linear) and architecture.transform.heads
        if has_heads and not guidance.supports_heads and not isinstance(hood, Ego):
            return f"{name} does not support heads; use Attention(), or omit heads"
        source = guidance.shares_weights_with(hood)
        before = [replace(c, activation=None) for c in architecture.channels[:number]]
        if source is not None and replace(source, input=channel.input) not in before:
            return (
                f"{name} uses the weights of another channel that is missing; put "
                f"{source.neighborhood} * {source.guidance} before it"
            )
    return ""


def check_requirements(architecture: "Architecture") -> str:
    """Check that the parts that guidance and losses depend on exist."""
    guidance = [channel.guidance for channel in architecture.channels]
    required: list[tuple[object, type]] = [(each, kind) for each in guidance for kind in each.requires]
    required += [(each, kind) for each in architecture.losses for kind in each.requires]
    for part, kind in required:
        if not any(isinstance(each, kind) for each in (*guidance, *architecture.states)):
            name = kind.__name__
            advice = f"a channel with {name}()" if issubclass(kind, Guidance) else f"states=({name}(),)"
            return f"{type(part).__name__} requires {name}; add {advice}"
    structure = any(channel.input == "nodes" for channel in architecture.channels)
    if structure and type(architecture.transform) is not Linear:
        return "a channel with input 'nodes' has one weight per node; use transform=Linear()"
    if not any(state.adds_virtual_nodes for state in architecture.states):
        return ""
    if structure or any(each.weight_per_entry for each in guidance):
        return "parts with one weight per node or entry have none for prototypes; remove the states"
    if not architecture.encoder.accepts_prototypes:
        name = type(architecture.encoder).__name__
        return f"{name} does not encode prototypes; use encoder=Embed() or FeaturesAndStructure()"
    return ""


def check_widths(architecture: "Architecture") -> str:
    """Check that states that are added, reused, or compared have the same width."""
    combine, fuse, transform = architecture.combine, architecture.fuse, architecture.transform
    if fuse.uses_all_layers and fuse.uses_initial and isinstance(architecture.encoder, RawFeatures):
        return (
            f"{type(fuse).__name__} uses Z⁰, which here is the raw feature matrix; pass an encoder "
            "such as encoder=Embed()"
        )
    if not combine.keeps_width and transform.keeps_width_after_combine:
        name = type(transform).__name__
        return f"{name} requires a COMBINE that keeps the width; use combine=Add()"
    if transform.joins_messages and not isinstance(combine, Concat):
        return f"{type(transform).__name__} maps the concatenation of all messages; use combine=Concat()"
    return _check_messages(architecture) or _check_equal_widths(architecture)


def _check_messages(architecture: "Architecture") -> str:
    """Check that guidance with one weight per column has messages of the width that is set."""
    if not architecture.transform.keeps_width or _has_layer_width(architecture):
        return ""
    parts = [c.guidance for c in architecture.channels if c.guidance.weight_per_column]
    return f"{type(parts[0]).__name__} requires transform=Linear()" if parts else ""


def _check_equal_widths(architecture: "Architecture") -> str:
    """Check the parts that require the width of Z⁰ in all layers."""
    combine, fuse, channels = architecture.combine, architecture.fuse, architecture.channels
    hidden, last = _equal_widths(architecture)
    if combine.requires_equal_widths and not (hidden and last):
        return f"{type(combine).__name__} with a shared gate {EQUAL_WIDTHS}, or shared=False"
    equal = hidden and last if fuse.uses_initial else _keeps_width(architecture) and architecture.head is not None
    if fuse.uses_all_layers and not fuse.concatenates and not equal:
        return f"{type(fuse).__name__} adds all layers, which {EQUAL_WIDTHS}, or fuse=ConcatLayers()"
    if any(channel.input == "initial" for channel in channels) and not hidden:
        return f"a channel with input Z⁰ {EQUAL_WIDTHS}"
    pairs = any(channel.guidance.covers_all_pairs for channel in channels)
    if pairs and not (hidden and architecture.transform.keeps_width):
        return "messages of all pairs have the width of Z⁰; use transform=NoTransform()"
    return ""


EQUAL_WIDTHS = (
    "requires the width of Z⁰ in all layers; use encoder=Embed(), head=Head(), and a COMBINE that adds messages"
)


def _has_layer_width(architecture: "Architecture") -> bool:
    """Return whether Z⁰ and all layers have the width that is set."""
    encoder = architecture.encoder
    narrow = isinstance(encoder, RawFeatures) or encoder.outputs_classes
    return not narrow and _keeps_width(architecture)


def _equal_widths(architecture: "Architecture") -> tuple[bool, bool]:
    """Return whether the hidden layers have the width of Z⁰, and whether the last one has it."""
    if architecture.transform.keeps_width:
        return _keeps_width(architecture), True
    # A linear layer has the width that is set, and K columns at the end of a network without a head.
    return _has_layer_width(architecture), architecture.head is not None


def _keeps_width(architecture: "Architecture") -> bool:
    equal = len(set(architecture.widths or ())) <= 1
    heads = architecture.transform.concatenates_heads
    return equal and not heads and architecture.combine.keeps_width


def check_output(architecture: "Architecture") -> str:
    """Check that a network without a head ends with K columns."""
    if architecture.head is not None:
        return ""
    advice = "add head=Head()"
    if architecture.transform.keeps_width and not architecture.encoder.outputs_classes:
        return (
            f"{type(architecture.transform).__name__} keeps the width of "
            f"{type(architecture.encoder).__name__}, so the output has no column per class; {advice} or "
            "use encoder=Predict()"
        )
    for part, wide in (
        (architecture.combine, not architecture.combine.keeps_width_in_last_layer),
        (architecture.fuse, architecture.fuse.concatenates),
    ):
        if wide:
            return f"{type(part).__name__} outputs more columns than there are classes; {advice}"
    return ""


def check_sparse_features(architecture: "Architecture") -> str:
    """Check that the first layer accepts a sparse feature matrix."""
    if not isinstance(architecture.encoder, RawFeatures):
        return ""
    advice = "set input_layer = true, or convert the features to a dense matrix"
    if architecture.transform.keeps_width:
        name = type(architecture.transform).__name__
        return f"{name} does not accept sparse features; {advice}"
    for channel in architecture.channels:
        if not channel.guidance.accepts_sparse_inputs:
            name = type(channel.guidance).__name__
            return f"{name} does not accept sparse features; {advice}"
    return ""


def direction_use(architecture: "Architecture") -> Literal["used", "ignored", "no edges"]:
    """Return whether an architecture uses the direction of edges."""
    hoods = [channel.neighborhood for channel in architecture.channels if channel.neighborhood.sampled]
    hoods += [hood for hood in (architecture.encoder.structure,) if hood is not None]
    if any(hood.is_directed for hood in hoods):
        return "used"
    return "ignored" if any(hood.uses_edges for hood in hoods) else "no edges"


def weight_use(architecture: "Architecture") -> Literal["all", "some", "none"]:
    """Return how many of the neighborhoods that depend on edges use edge weights; `all` if there are none."""
    hoods = [channel.neighborhood for channel in architecture.channels if channel.neighborhood.sampled]
    hoods += [hood for hood in (architecture.encoder.structure,) if hood is not None]
    used = {hood.uses_weights for hood in hoods if hood.uses_edges}
    if used == {True, False}:
        return "some"
    return "none" if used == {False} else "all"
