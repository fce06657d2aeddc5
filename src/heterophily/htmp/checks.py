"""Which architectures are valid. Each check returns an error message, or an empty string.

Parts declare what they require as class attributes; the checks compare these with the other parts.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from heterophily.htmp.encoder import RawFeatures
from heterophily.htmp.guidance import Guidance
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
    required: list[tuple[object, type]] = [
        (each, kind) for each in guidance for kind in each.requires
    ]
    required += [(each, kind) for each in architecture.losses for kind in each.requires]
    for part, kind in required:
        if not any(isinstance(each, kind) for each in (*guidance, *architecture.states)):
            name = kind.__name__
            advice = (
                f"a channel with {name}()" if issubclass(kind, Guidance) else f"states=({name}(),)"
            )
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
    """Check that states that are added or reused have the same width."""
    raw = isinstance(architecture.encoder, RawFeatures)
    combine, fuse = architecture.combine, architecture.fuse
    keeps_width = combine.keeps_width and not architecture.transform.concatenates_heads
    if raw and fuse.uses_all_layers:
        return (
            f"{type(fuse).__name__} uses Z⁰, which here is the raw feature matrix; pass an encoder "
            "such as encoder=Embed()"
        )
    predicts = architecture.encoder.outputs_classes and not architecture.transform.keeps_width
    if fuse.uses_all_layers and not fuse.concatenates and (not keeps_width or predicts):
        return (
            f"{type(fuse).__name__} adds all layers, which must have the width of Z⁰; use a COMBINE "
            "that adds messages, or fuse=ConcatLayers()"
        )
    if not combine.keeps_width and architecture.transform.keeps_width_after_combine:
        name = type(architecture.transform).__name__
        return f"{name} requires a COMBINE that keeps the width; use combine=Add()"
    initial = any(channel.input == "initial" for channel in architecture.channels)
    if initial and (raw or not keeps_width or len(set(architecture.widths or ())) > 1):
        return (
            "a channel with input Z⁰ requires all layers to have the width of Z⁰; use encoder=Embed() "
            "and a COMBINE that adds messages"
        )
    return ""


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
