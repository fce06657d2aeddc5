"""Fitting with tuned settings, and selecting a method by its validation score."""

import dataclasses

import numpy as np
import pytest

from heterophily import HeterophilyError
from heterophily.htmp.method import settings_of
from heterophily.training import selection
from heterophily.training.metrics import METRICS, accuracy
from heterophily.training.selection import CANDIDATES, fit_model

QUICK = {"max_epochs": 6, "width": 8}


@pytest.fixture
def graph(graph, split):
    return graph.replace(splits={"0": split}, name="small")


def test_auto_returns_the_method_with_the_best_validation_score(graph):
    best = fit_model(graph, "auto", **QUICK)
    scores = [fit_model(graph, name, **QUICK).run_.score("val") for name in CANDIDATES]
    assert best.run_.score("val") == max(scores)
    assert best.network_.method.name == CANDIDATES[int(np.argmax(scores))]


def test_auto_uses_the_given_metric(graph, monkeypatch):
    def error(logits, labels):
        return 1 - accuracy.function(logits, labels)

    metric = dataclasses.replace(accuracy, name="error", function=error, higher_is_better=False)
    monkeypatch.setitem(METRICS, "error", metric)
    monkeypatch.setattr(selection, "CANDIDATES", ("mlp", "gcn"))
    best = fit_model(graph, "auto", metric="error", **QUICK)
    assert best.run_.history.metric == "error"
    assert best.network_.method.name == fit_model(graph, "auto", **QUICK).network_.method.name


def test_settings_of_a_file_are_used_before_the_given_ones(graph):
    tables = {"small": {"width": 5, "dropout": 0.1, "max_epochs": 2}}
    fitted = fit_model(graph, "gcn", user_tables=tables, dropout=0.2)
    settings = settings_of(fitted.network_.method)
    assert (settings["width"], settings["dropout"]) == (5, 0.2)
    with pytest.raises(HeterophilyError, match="a settings file is for one method"):
        fit_model(graph, "auto", user_tables=tables)
