"""Fitting with tuned settings, and selecting a method by its validation score."""

import numpy as np
import pytest

from heterophily import HeterophilyError
from heterophily.htmp.method import settings_of
from heterophily.training import selection
from heterophily.training.selection import CANDIDATES, fit_model

QUICK = {"max_epochs": 6, "width": 8}


@pytest.fixture
def graph(graph, split):
    return graph.replace(splits={"0": split}, name="small")


def test_auto_returns_the_method_with_the_best_validation_score(graph):
    best = fit_model(graph, "auto", **QUICK)
    scores = [fit_model(graph, name, **QUICK).run_.score("val") for name in CANDIDATES]
    assert best.run_.score("val") == max(scores)
    assert best.predictor_.method.name == CANDIDATES[int(np.argmax(scores))]


def test_auto_uses_the_given_scoring(graph, monkeypatch):
    def neg_error(y_true, y_proba):
        return float(np.mean(y_true == y_proba.argmax(axis=1))) - 1

    monkeypatch.setattr(selection, "CANDIDATES", ("mlp", "gcn"))
    best = fit_model(graph, "auto", scoring=neg_error, **QUICK)
    assert best.run_.history.scoring == "neg_error"
    assert best.predictor_.method.name == fit_model(graph, "auto", **QUICK).predictor_.method.name


def test_settings_of_a_file_are_used_before_the_given_ones(graph):
    tables = {"small": {"width": 5, "dropout": 0.1, "max_epochs": 2}}
    fitted = fit_model(graph, "gcn", user_tables=tables, dropout=0.2)
    settings = settings_of(fitted.predictor_.method)
    assert (settings["width"], settings["dropout"]) == (5, 0.2)
    with pytest.raises(HeterophilyError, match="a settings file is for one method"):
        fit_model(graph, "auto", user_tables=tables)
