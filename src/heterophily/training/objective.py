"""The scoring of a run if none is given: accuracy on the datasets of the catalog, else one that suits the classes."""

from dataclasses import replace

import torch
from torch import Tensor

from heterophily.core.errors import unknown_name
from heterophily.core.graph import Graph, Split
from heterophily.data.catalog import CATALOG
from heterophily.data.synthetic import EMBEDDED
from heterophily.training.scoring import DEFAULT_SCORING, SCORINGS, Scoring, ScoringLike, accuracy, find_scoring

MIN_SHARE = 0.25  # of the rarer one of two classes, for accuracy as the default scoring
MAX_SHARE, MAX_RATIO = 0.5, 10.0  # of the largest one of many classes, for accuracy as the default scoring


def resolve_scoring(
    scoring: ScoringLike | None, graph: Graph, split: Split, *, positive: str | int | None = None
) -> Scoring:
    """Return the scoring of a run on a split, with the positive one of two classes.

    `positive` is the name or number of that class, by default the rarer one. If `scoring` is None, it is chosen
    by `choose_scoring` from the labels of training and validation nodes.
    """
    labels = known_labels(graph, split)
    chosen = _default_scoring(graph, split, labels) if scoring is None else find_scoring(scoring)
    if positive is not None and graph.n_classes == 2:
        chosen = replace(chosen, positive=_class_number(positive, graph))
    return chosen.with_positive(labels, graph.n_classes)


def known_labels(graph: Graph, split: Split) -> Tensor:
    """Return the labels of training and validation nodes."""
    return torch.cat([graph.labels[split.train], graph.labels[split.val]])


def explain_choice(scoring: ScoringLike | None, graph: Graph, split: Split) -> str:
    """Return why `resolve_scoring` returns its scoring, as the end of a sentence."""
    if scoring is not None:
        return "as requested"
    if is_benchmark(graph):
        return "the default for benchmark datasets"
    labels = known_labels(graph, split)
    if choose_scoring(labels).requires(graph.labels[split.val], graph.n_classes):
        return "because the validation nodes have a single class"
    return f"because {explain_scoring(labels)}"


def is_benchmark(graph: Graph) -> bool:
    """Return whether a graph is a dataset of the catalog or the embedded graph, by its name."""
    return graph.name in CATALOG or graph.name == EMBEDDED


def _default_scoring(graph: Graph, split: Split, labels: Tensor) -> Scoring:
    if is_benchmark(graph):
        return DEFAULT_SCORING
    chosen = choose_scoring(labels)
    is_defined = not chosen.requires(graph.labels[split.val], graph.n_classes)
    return chosen if is_defined else DEFAULT_SCORING


def _class_number(name: str | int, graph: Graph) -> int:
    names = [str(each) for each in graph.class_names or range(graph.n_classes)]
    if str(name) not in names:
        raise unknown_name("positive class", str(name), names)
    return names.index(str(name))


def choose_scoring(labels: Tensor) -> Scoring:
    """Return the scoring that suits the sizes of the classes. Labels below 0 are unknown.

    Two classes are skewed if the rarer one has less than `MIN_SHARE` of the labeled nodes: then average
    precision of the rarer class. More classes are skewed if the largest one has more than `MAX_SHARE` of the
    labeled nodes, or more than `MAX_RATIO` times as many as the smallest one: then macro-F1. Otherwise accuracy.

    Examples
    --------
    >>> import torch
    >>> choose_scoring(torch.tensor([0] * 95 + [1] * 5)).name
    'average_precision'
    >>> choose_scoring(torch.tensor([0] * 60 + [1] * 40)).name
    'accuracy'
    >>> choose_scoring(torch.tensor([0] * 60 + [1] * 20 + [2] * 5)).name
    'f1_macro'
    """
    return _choose(labels)[0]


def explain_scoring(labels: Tensor) -> str:
    """Return why `choose_scoring` chooses its scoring.

    >>> import torch
    >>> explain_scoring(torch.tensor([0] * 95 + [1] * 5))
    'the rarer of two classes has 5.0% of the labeled nodes'
    """
    return _choose(labels)[1]


def _choose(labels: Tensor) -> tuple[Scoring, str]:
    sizes = labels[labels >= 0].unique(return_counts=True)[1].double()
    if len(sizes) < 2:
        return DEFAULT_SCORING, "the labeled nodes have fewer than two classes"
    least, most = float(sizes.min() / sizes.sum()), float(sizes.max() / sizes.sum())
    if len(sizes) == 2:
        chosen = SCORINGS["average_precision"] if least < MIN_SHARE else accuracy
        return chosen, f"the rarer of two classes has {least:.1%} of the labeled nodes"
    is_skewed = most > MAX_SHARE or most > MAX_RATIO * least
    reason = f"the {len(sizes)} classes have {least:.1%} to {most:.1%} of the labeled nodes"
    return SCORINGS["f1_macro"] if is_skewed else accuracy, reason
