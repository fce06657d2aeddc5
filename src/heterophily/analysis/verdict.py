"""Do edges add information beyond features? The decision, how sure it is, and the methods that it suggests.

Edges help if one of three sets of columns (with neighbors' features, with neighbors' labels, or with everything)
scores higher than the features alone. Because the best of three is chosen, the probability that none helps is bounded
by three times that of the best (Bonferroni). Averaging misleads if averages of the node and its neighbors, the input
of a GCN, score lower than the features alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from heterophily.analysis.probes import AVERAGE, FEATURES, GAINS, Difference, Probes

Kind = Literal[
    "homophily",
    "helpful heterophily",
    "edges mislead plain averaging",
    "edges add nothing measurable",
    "not enough labels to tell",
]
Confidence = Literal["high", "moderate", "low"]
NOT_ENOUGH: Literal["not enough labels to tell"] = "not enough labels to tell"

MIN_ADJUSTED_HOMOPHILY = 0.5  # of a homophilous graph; random edges have 0, citations above 0.65
MIN_PROBABILITY = 0.95  # that edges help, or that they do not
MIN_PROBABILITY_OF_LOSS = 0.95  # that averaging scores lower than the features
MIN_LOSS = 0.02  # of a score by averaging, to be called misleading
NEGLIGIBLE_GAIN = 0.06  # of a score; smaller gains do not count
MIN_LABELED, MIN_FOLDS = 20, 5  # labeled nodes, and labeled nodes of the second largest class
HIGH, MODERATE = 0.99, 0.95  # probabilities

MODELS: Mapping[Kind, tuple[str, ...]] = {
    "homophily": ("gcn", "gcnii", "appnp", "sage+"),
    "helpful heterophily": ("cmgnn", "acm-gcn", "sage+", "h2gcn"),
    "edges mislead plain averaging": ("cmgnn", "acm-gcn", "sage+", "gcnii"),
    "edges add nothing measurable": ("mlp",),
    NOT_ENOUGH: ("mlp", "cmgnn"),
}
ADVICE: Mapping[Kind, str] = {
    "homophily": "Neighbors are similar, so plain message passing works",
    "helpful heterophily": "Neighbors differ from a node but help to predict its class, so message passing helps",
    "edges mislead plain averaging": "Use a method that keeps a node's features separate from its neighbors' messages",
    "edges add nothing measurable": "Start with a method that ignores the edges",
    NOT_ENOUGH: "Label more nodes, or compare a method without and one with edges on validation nodes",
}


@dataclass(frozen=True)
class Verdict:
    """Whether edges help, with the reason.

    Attributes
    ----------
    kind
        `homophily`, `helpful heterophily`, `edges mislead plain averaging`, `edges add nothing measurable`, or
        `not enough labels to tell`.
    probability
        Probability that edges help, or, if they add nothing measurable, that they do not help by more than a
        negligible gain.
    confidence
        `high` from a probability of 0.99, `moderate` from 0.95, and `low` otherwise.
    reason
        One sentence with the measured differences.
    models
        Methods to try first.
    """

    kind: Kind
    probability: float
    confidence: Confidence
    reason: str
    models: tuple[str, ...]

    @property
    def probability_text(self) -> str:
        """The probability in percent, without false precision."""
        return "above 99.9%" if self.probability > 0.999 else f"{self.probability:.1%}"

    @property
    def action(self) -> str:
        """What to do, without the names of the methods."""
        return ADVICE[self.kind]

    @property
    def advice(self) -> str:
        """What to do, with the names of the methods."""
        return f"{self.action}: {_join(self.models, 'and' if self.kind == NOT_ENOUGH else 'or')}."


def decide(probes: Probes | None, adjusted_homophily: float) -> Verdict:
    """Decide whether edges help from the scores of the probes.

    Parameters
    ----------
    probes
        Scores of all sets of columns, or None if there are too few labels for them.
    adjusted_homophily
        Of the symmetrized graph; NaN if all edges connect nodes of the same class.
    """
    if probes is None or probes.n_sampled < MIN_LABELED or probes.n_folds < MIN_FOLDS:
        reason = f"A verdict requires {MIN_LABELED} labeled nodes, and {MIN_FOLDS} of each of two classes."
        return Verdict(NOT_ENOUGH, 0.0, "low", reason, MODELS[NOT_ENOUGH])
    gains = {name: probes.difference(name, FEATURES) for name in GAINS if name in probes.scores}
    best = max(gains, key=lambda name: gains[name].probability_above())
    helps = max(0.0, 1 - len(gains) * (1 - gains[best].probability_above()))
    negligible = min(1 - gain.probability_above(NEGLIGIBLE_GAIN) for gain in gains.values())
    average = probes.difference(AVERAGE, FEATURES) if AVERAGE in probes.scores else None
    if helps >= MIN_PROBABILITY:
        kind: Kind = _kind_of_help(average, adjusted_homophily)
        probability = helps
    elif negligible >= MIN_PROBABILITY:
        kind, probability = "edges add nothing measurable", negligible
    else:
        kind, probability = NOT_ENOUGH, helps
    reason = _reason(kind, best, gains[best], average)
    return Verdict(kind, probability, _confidence(kind, probability), reason, _models(kind, probes))


def _kind_of_help(average: Difference | None, adjusted_homophily: float) -> Kind:
    if misleads(average):
        return "edges mislead plain averaging"
    # Adjusted homophily is NaN if all edges connect nodes of the same class.
    return "helpful heterophily" if adjusted_homophily < MIN_ADJUSTED_HOMOPHILY else "homophily"


def misleads(average: Difference | None) -> bool:
    """Return whether averages over a node and its neighbors score lower than the node's features."""
    if average is None:
        return False
    return average.mean < -MIN_LOSS and average.probability_above() < 1 - MIN_PROBABILITY_OF_LOSS


def _confidence(kind: Kind, probability: float) -> Confidence:
    if kind == NOT_ENOUGH or probability < MODERATE:
        return "low"
    return "high" if probability >= HIGH else "moderate"


def _models(kind: Kind, probes: Probes) -> tuple[str, ...]:
    """Return the methods to try first. If position alone scores higher than features, linkx is one of them."""
    models = MODELS[kind]
    position = probes.difference("position", FEATURES)
    helped = kind not in ("edges add nothing measurable", NOT_ENOUGH)
    return (*models[:3], "linkx") if helped and position.probability_above() > MIN_PROBABILITY else models


def _reason(kind: Kind, best: str, gain: Difference, average: Difference | None) -> str:
    source = {"all": "neighbors and position"}.get(best, best.removeprefix("features and "))
    interval = f"(95% interval {gain.interval_text})"
    changes = f"With {source}, the score of the features changes by {gain.points} points {interval}, a tie within noise"
    if kind == "edges add nothing measurable":
        sentence = changes
    elif kind == NOT_ENOUGH:
        sentence = f"{changes} that does not exclude a useful gain"
    else:
        sentence = f"With {source}, the score of the features rises by {gain.points.lstrip('+')} points {interval}"
    if average is not None and misleads(average):
        sentence += f"; averages over neighbors instead of features change it by {average.points}"
    return f"{sentence}."


def _join(names: tuple[str, ...], word: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])}{',' if len(names) > 2 else ''} {word} {names[-1]}"
