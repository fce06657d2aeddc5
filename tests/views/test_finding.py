"""The headline of a report follows from the numbers and their tests."""

from dataclasses import replace

import pytest

from heterophily.benchmark.table import build_table
from heterophily.views.finding import board_order, find

SPLITS = range(10)
NOISE = (0.0, 0.01, -0.01, 0.005, -0.005, 0.012, -0.012, 0.003, -0.003, 0.0)


@pytest.fixture
def finding(made):
    """The finding of scores per dataset and model, with the same noise on each split but for `shift`."""

    def make(scores, *, shift=0.0, splits=SPLITS):
        return find(build_table(list(runs(made, scores, shift, splits))))

    return make


def runs(made, scores, shift, splits):
    for dataset, row in scores.items():
        for number, (model, score) in enumerate(row.items()):
            for split in splits:
                value = score + NOISE[split] + shift * NOISE[(split + 3 * number) % 10]
                yield replace(
                    made("gcn", "chameleon-f", split),
                    key=f"{dataset}{model}{split}".encode().hex().ljust(16, "0"),
                    model=model,
                    dataset=dataset,
                    recipe=model,
                    run={"scores": {"test": {"accuracy": value}}},
                )


def test_a_clear_winner_on_one_dataset(finding):
    found = finding({"d": {"gcn": 0.5, "mlp": 0.6, "cmgnn": 0.8}}, shift=0.1)
    assert found.headline == "CMGNN leads on d with 80.0% accuracy, significantly more than every other method"
    assert found.leaders == ("cmgnn",)


def test_close_methods_are_named(finding):
    found = finding({"d": {"gcn": 0.5, "mlp": 0.799, "cmgnn": 0.8}}, shift=1.0)
    assert found.headline.endswith("the difference from MLP is not significant")


def test_no_difference_is_significant_if_all_methods_are_close(finding):
    found = finding({"d": {"gcn": 0.798, "mlp": 0.799, "cmgnn": 0.8}}, shift=1.0)
    assert found.headline == "CMGNN leads on d with 80.0% accuracy; no difference is significant"


def test_one_run_cannot_be_tested(finding):
    found = finding({"d": {"gcn": 0.5, "cmgnn": 0.8}}, splits=[0])
    assert "cannot be tested" in found.headline


def test_one_method_has_a_score(finding):
    assert finding({"d": {"gcn": 0.5}}).headline == "GCN has 50.0% accuracy on d"


def test_over_datasets_the_ranks_decide(finding):
    models = ("gcn", "mlp", "gat", "cmgnn")
    found = finding({f"d{i}": {m: 0.1 * j for j, m in enumerate(models, 3)} for i in range(8)})
    assert found.headline == "CMGNN leads; differences within the top two are not significant"
    assert "Significantly worse than CMGNN: MLP and GCN." in found.detail
    assert found.leaders == ("cmgnn",)


def test_without_a_significant_difference_no_method_leads(finding):
    datasets = {f"d{i}": {m: 0.5 + 0.1 * ((i + j) % 3) for j, m in enumerate(("gcn", "mlp", "gat"))} for i in range(6)}
    found = finding(datasets)
    assert found.headline == "No method leads: the ranks of 3 methods do not differ significantly"
    assert found.leaders == ()


def test_two_methods_are_compared_by_their_wins(finding):
    found = finding({f"d{i}": {"gcn": 0.5, "mlp": 0.4 if i else 0.7} for i in range(4)}, shift=0.1)
    assert found.headline == "GCN is best on 3 of 4 datasets, significantly on three of them"


def test_the_leaderboard_has_the_best_first(made):
    scores = {"d": {"gcn": 0.5, "mlp": 0.6, "cmgnn": 0.8}}
    assert board_order(build_table(list(runs(made, scores, 0, SPLITS)))) == ["cmgnn", "mlp", "gcn"]
