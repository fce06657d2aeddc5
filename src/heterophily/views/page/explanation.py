"""The report of an explanation: why a node has its prediction, or what a model depends on."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from heterophily.core.chart import Chart
from heterophily.training.explanation import ModelExplanation, NodeExplanation
from heterophily.training.scoring import score_text, title_of
from heterophily.views.explain import footnotes, gate_texts, importance_note, percent, score_line
from heterophily.views.page.build import render, write_page
from heterophily.views.page.panels import Section


def write_explanation(
    explanation: NodeExplanation | ModelExplanation, charts: Sequence[Chart], out: Path | str, *, words: Sequence[str]
) -> Path:
    """Write the report of an explanation, with the words of the command that gave it; its path."""
    return write_page(explanation_page(explanation, charts, words), out)


def explanation_page(
    explanation: NodeExplanation | ModelExplanation, charts: Sequence[Chart], words: Sequence[str]
) -> str:
    """The page of an explanation."""
    e = explanation
    words_of = _node_words(e) if isinstance(e, NodeExplanation) else _model_words(e)
    context = {
        **words_of,
        "gates": gate_texts(e.gates),
        "sections": [Section("Effects" if isinstance(e, NodeExplanation) else "Importance", list(charts))],
        "command": shlex.join(["heterophily", "explain", *words, "--report", "report.html"]),
    }
    return render("explanation.html", (), context)


def _node_words(e: NodeExplanation) -> dict[str, object]:
    return {"kicker": f"Node {e.id} of {e.graph}", "title": _finding(e), "lead": _label(e), "notes": footnotes(e)}


def _model_words(e: ModelExplanation) -> dict[str, object]:
    notes, line = [importance_note(e), *(f"Note: {note}." for note in e.notes)], score_line(e)
    lead = f"{line[:1].upper()}{line[1:]}."
    return {"kicker": f"{e.model} on {e.graph}", "title": _dependence(e), "lead": lead, "notes": notes}


def _dependence(e: ModelExplanation) -> str:
    """Return what the score depends on most."""
    score = title_of(e.scoring)
    known = [(each, True) for each in e.edges] + [(each, False) for each in e.columns]
    top, is_edges = max(known, key=lambda pair: pair[0].importance, default=(None, False))
    if top is None or top.importance <= 0:
        return f"No column and no edge is important for the {score}"
    change = f"it decreases by {score_text(e.scoring, top.importance).replace('%', ' points')}"
    if is_edges:
        return f"The {score} depends most on the edges: {change} if they are {top.name}"
    return f"The {score} depends most on {top.name}: {change} if its values are shuffled"


def _finding(e: NodeExplanation) -> str:
    if e.target == e.predicted:
        return f"{e.model} predicts {e.predicted} with a probability of {_probability(e)}"
    return f"{e.model} predicts {e.predicted}; the probability of {e.target} is {_probability(e)}"


def _probability(e: NodeExplanation) -> str:
    return percent(e.probability).replace("> ", "more than ").replace("< ", "less than ")


def _label(e: NodeExplanation) -> str:
    return "The label of the node is unknown." if e.label is None else f"The label of the node is {e.label}."
