"""Fitting with tuned settings, and `auto`."""

import numpy as np
import pytest

from heterophily import HeterophilyError
from heterophily.htmp.method import settings_of
from heterophily.training.selection import fit_model

QUICK = {"max_epochs": 6, "width": 8}


@pytest.fixture
def graph(graph, split):
    return graph.replace(splits={"0": split}, name="small")


def test_settings_of_a_file_are_used_before_the_given_ones(graph):
    tables = {"small": {"width": 5, "dropout": 0.1, "max_epochs": 2}}
    fitted = fit_model(graph, "gcn", user_tables=tables, dropout=0.2)
    settings = settings_of(fitted.predictor_.method)
    assert (settings["width"], settings["dropout"]) == (5, 0.2)
    with pytest.raises(HeterophilyError, match="a settings file is for one method"):
        fit_model(graph, "auto", user_tables=tables)


def test_auto_uses_the_given_settings_and_scoring(graph):
    def neg_error(y_true, y_proba):
        return float(np.mean(y_true == y_proba.argmax(axis=1))) - 1

    fitted = fit_model(graph, "auto", scoring=neg_error, **QUICK)
    assert fitted.leaderboard_.scoring == "neg_error"
    assert settings_of(fitted.method)["max_epochs"] == 6
    assert max(entry.n_epochs for entry in fitted.leaderboard_.entries) <= 6
