"""The report of an explanation: why a node has its prediction, or what a model depends on."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from heterophily.core.chart import Chart
from heterophily.training.explanation import ModelExplanation, NodeExplanation
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
    notes = [importance_note(e), *(f"Note: {note}." for note in e.notes)]
    return {
        "kicker": f"{e.model} on {e.graph}",
        "title": "What the model depends on",
        "lead": f"{score_line(e)}.",
        "notes": notes,
    }


def _finding(e: NodeExplanation) -> str:
    if e.target == e.predicted:
        return f"{e.model} predicts {e.predicted} with a probability of {percent(e.probability)}"
    return f"{e.model} predicts {e.predicted}; the probability of {e.target} is {percent(e.probability)}"


def _label(e: NodeExplanation) -> str:
    return "The label of the node is unknown." if e.label is None else f"The label of the node is {e.label}."
