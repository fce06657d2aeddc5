"""One trainer for all methods: reproducible, blind to test labels, back in its best state."""

import dataclasses
import io
import sys

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from heterophily import HeterophilyError, Split, build
from heterophily.htmp.method import settings_of
from heterophily.htmp.network import Network
from heterophily.models import NETWORKS
from heterophily.models.cmgnn.state import CompatibilityState
from heterophily.training import steps
from heterophily.training import trainer as module
from heterophily.training.class_weight import balanced_class_weights, make_class_weights
from heterophily.training.scoring import accuracy, all_scores
from heterophily.training.seeds import seed_everything
from heterophily.training.trainer import Trainer

DRAWING = ("gcn", "cmgnn", "hog-gcn", "simp-gcn", "gcn+")  # each with dropout, some draw more


@pytest.mark.parametrize("model", DRAWING)
def test_the_same_seed_gives_the_same_run_bit_for_bit(run, same, model):
    same(run(model, seed=3), run(model, seed=3))


def count_passes(monkeypatch):
    """How often a network runs on a whole graph from now on."""
    forward, calls = Network.forward, []

    def counted(self, graph):
        calls.append(graph)
        return forward(self, graph)

    monkeypatch.setattr(Network, "forward", counted)
    return calls


@pytest.mark.parametrize("model", [name for name in NETWORKS if name not in ("clp", "cmgnn")])  # passes use states
def test_without_dropout_a_pass_serves_evaluation_and_the_next_step(run, same, monkeypatch, model):
    options = {"max_epochs": 6, "patience": 10, "width": 64, "n_members": 1}
    settings = settings_of(NETWORKS[model]())
    options |= {name: type(rate)(0) for name, rate in settings.items() if name.endswith("dropout")}
    options |= {"norm": "layer"} if settings["norm"] == "batch" else {}
    calls = count_passes(monkeypatch)
    quick = run(model, **options)
    n_quick, _ = len(calls), calls.clear()
    monkeypatch.setattr(steps, "training_equals_evaluation", lambda network, graph: False)
    monkeypatch.setattr(steps, "n_reusable_layers", lambda network, graph: 0)
    same(quick, run(model, **options))
    assert n_quick == len(calls) - 6 + 1 + 2  # one per epoch, the first step's, two to find out


@pytest.mark.parametrize("model", NETWORKS)
def test_layers_before_the_first_dropout_serve_evaluation_and_the_next_step(run, same, monkeypatch, model):
    options = {"max_epochs": 6, "patience": 10, "width": 64}
    quick = run(model, **options)
    monkeypatch.setattr(steps, "n_reusable_layers", lambda network, graph: 0)
    same(quick, run(model, **options))


@pytest.mark.parametrize(
    ("model", "settings", "n_layers"),
    [
        ("h2gcn", {}, 2),  # drops before the head only
        ("h2gcn", {"norm": "batch"}, 0),
        ("hog-gcn", {}, 1),  # drops after the first layer
        ("gcn", {}, 0),  # drops its input
        ("cmgnn", {"dropout": 0.0}, 0),  # believes something else after the evaluation
    ],
)
def test_layers_are_shared_up_to_the_first_dropout(graph, model, settings, n_layers):
    network = build(model, graph, **settings)
    state = torch.get_rng_state()
    assert steps.n_reusable_layers(network, graph) == n_layers
    assert torch.equal(state, torch.get_rng_state())


def test_a_watcher_may_run_the_network_without_changing_what_is_learned(graph, split, same):
    """The gates of this loss are what the pass noted."""
    runs = []
    for watch in (None, torch.no_grad()(lambda epoch, network, logits: network(graph))):
        settings = {"max_epochs": 6, "patience": 10, "dropout": 0.0, "width": 16}
        options = {"split": split, "progress": False, "on_improvement": watch}
        runs.append(module.train("gbk-gnn", graph, **options, **settings))
    same(*runs)


@pytest.mark.parametrize(
    ("model", "settings"),
    [("gcn", {"dropout": 0.5}), ("cmgnn", {"dropout": 0.0}), ("gcn", {"dropout": 0.0, "norm": "batch"})],
)
def test_a_pass_is_not_kept_where_the_next_differs(run, monkeypatch, model, settings):
    calls = count_passes(monkeypatch)
    run(model, max_epochs=6, patience=10, **settings)
    assert len(calls) >= 2 * 6 + 1


def test_another_seed_gives_another_run(run):
    (_, first), (_, second) = run(seed=3), run(seed=4)
    assert first.history.loss != second.history.loss
    assert (first.seed, second.seed) == (3, 4)


@pytest.mark.parametrize("model", NETWORKS)
def test_test_labels_are_never_read(run, graph, split, model):
    labels = graph.labels.clone()
    labels[split.test] = (labels[split.test] + 1) % 3
    network, first = run(model, max_epochs=3, width=64)
    other, second = run(model, max_epochs=3, width=64, on=graph.replace(labels=labels))
    assert first.history.loss == second.history.loss
    for part in ("train", "val"):
        assert first.scores[part] == second.scores[part]
    states = network.state_dict(), other.state_dict()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_test_scores_are_of_the_true_test_labels(run, graph, split):
    network, result = run("gcn", max_epochs=40)
    assert result.scores["test"] == all_scores(network(graph).detach(), graph.labels, split.test)
    labels = graph.labels.clone()
    labels[split.test] = (labels[split.test] + 1) % 3
    _, other = run("gcn", max_epochs=40, on=graph.replace(labels=labels))
    assert other.scores["test"] != result.scores["test"]


def test_the_network_is_shown_training_and_validation_labels_only(graph, split):
    trainer = Trainer(
        build("gcn", graph), graph, split=split, seed=0, device=torch.device("cpu")
    )  # fmt: skip
    shown = trainer.training_graph
    assert (shown.labels[split.test] == -1).all()
    for part in (split.train, split.val):
        assert torch.equal(shown.labels[part], graph.labels[part])
    assert not shown.splits
    assert shown.structure_checksum == graph.structure_checksum
    assert shown.checksum != graph.checksum


def test_what_was_computed_from_edges_is_shared_with_the_shown_graph(graph, split):
    pattern = graph.symmetric
    graph.cached("answer", lambda: 42)
    shown = graph.with_labels_only(split.train)
    assert shown.symmetric is pattern
    assert shown.cached("answer", lambda: 0) == 42


def test_unlabelled_test_nodes_have_no_scores(run, graph, split):
    labels = graph.labels.clone()
    labels[split.test] = -1
    network, result = run("gcn", on=graph.replace(labels=labels))
    assert result.scores["test"] == {}
    labels[split.test[:5]] = graph.labels[split.test[:5]]
    _, partly = run("gcn", on=graph.replace(labels=labels))
    logits = network(graph).detach()
    assert partly.scores["test"] == all_scores(logits, graph.labels, split.test[:5])


@pytest.mark.parametrize("preset", ["published", "reference"])
@pytest.mark.parametrize("model", ["gcn", "cmgnn", "gcn+", "hog-gcn"])
def test_the_best_state_is_restored(run, graph, split, model, preset):
    network, result = run(model, max_epochs=40, preset=preset, dropout=0.7)
    reached = result.history.val_scores
    assert result.scores["val"]["accuracy"] == max(reached)
    assert result.best_epoch == reached.index(max(reached))
    assert not network.training
    assert result.scores["val"] == all_scores(network(graph).detach(), graph.labels, split.val)


def test_training_learns_the_graph(run):
    _, result = run("cmgnn", max_epochs=100, learning_rate=0.05, dropout=0.2)
    assert result.scores["train"]["accuracy"] > 0.9
    assert result.scores["test"]["accuracy"] > 0.6
    assert result.history.loss[-1] < result.history.loss[0] / 2


@pytest.mark.parametrize(("preset", "source"), [("published", "eval"), ("reference", "train")])
def test_the_belief_takes_up_predictions_only_when_validation_improves(run, monkeypatch, preset, source):
    seen, passes, original = [], [], Network.forward

    def forward(self, graph):
        logits = original(self, graph)
        passes.append(("train" if self.training else "eval", logits))
        return logits

    def update(self, graph, logits):
        kinds = [kind for kind, found in passes if found is logits]
        seen.append((len([kind for kind, _ in passes if kind == "train"]) - 1, kinds))

    monkeypatch.setattr(Network, "forward", forward)
    monkeypatch.setattr(CompatibilityState, "update", update)
    _, result = run("cmgnn", preset=preset, max_epochs=20)
    reached = result.history.val_scores
    better = [e for e in range(20) if reached[e] > max([-1.0, *reached[:e]])]
    assert seen == [(epoch, [source]) for epoch in better]


def test_the_kept_belief_is_the_one_that_was_used(run, graph, split):
    network, result = run("cmgnn", max_epochs=40, dropout=0.3)
    assert 0 < result.best_epoch < 39
    short, again = run("cmgnn", max_epochs=result.best_epoch + 1, dropout=0.3)
    assert again.scores == result.scores
    used = network.states[0].compatibility.clone()
    assert torch.equal(used, short.states[0].compatibility)
    network.update_states(graph.with_labels_only(split.train), network(graph))
    assert not torch.equal(used, network.states[0].compatibility)


def test_patience_counts_epochs_without_improvement(run):
    _, result = run("gcn", patience=5, max_epochs=500)
    assert result.stopped == "patience"
    assert result.n_epochs == result.best_epoch + 1 + 5
    assert len(result.history.loss) == len(result.history.seconds) == result.n_epochs


def test_an_equal_score_is_no_improvement(run):
    _, result = run("gcn", patience=4, max_epochs=500, learning_rate=1e-12, weight_decay=0.0)
    assert len(set(result.history.val_scores)) == 1
    assert (result.best_epoch, result.n_epochs, result.stopped) == (0, 5, "patience")


def test_max_epochs_ends_a_run(run):
    _, result = run("gcn", patience=50, max_epochs=7)
    assert (result.n_epochs, result.stopped) == (7, "max_epochs")


def test_an_interrupted_run_keeps_the_best_state_so_far(run, raise_at):
    raise_at(9, KeyboardInterrupt())
    network, result = run("gcn", max_epochs=500)
    assert (result.stopped, result.n_epochs) == ("interrupted", 9)
    assert result.scores["val"]["accuracy"] == max(result.history.val_scores)
    assert not network.training


def test_an_interruption_within_an_epoch_keeps_the_best_state_too(run):
    calls = []

    def function(*arguments):
        calls.append(1)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return accuracy.function(*arguments)

    scoring = dataclasses.replace(accuracy, function=function)
    _, result = run("cmgnn", max_epochs=500, scoring=scoring)
    assert (result.stopped, result.n_epochs) == ("interrupted", 8)
    assert result.scores["val"]["accuracy"] == max(result.history.val_scores)


def test_an_interruption_before_the_first_epoch_still_gives_scores(run, raise_at):
    raise_at(0, KeyboardInterrupt())
    _, result = run("gcn")
    assert (result.stopped, result.n_epochs, result.best_epoch) == ("interrupted", 0, -1)
    assert result.milliseconds_per_epoch == 0
    assert 0 <= result.scores["val"]["accuracy"] <= 1


def test_a_loss_that_is_not_finite_stops_with_advice(run):
    words = r"the loss became (nan|inf) in epoch 1 of gcn; lower learning_rate \(now 1e\+30\)"
    with pytest.raises(HeterophilyError, match=words):
        run("gcn", learning_rate=1e30)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((range(30), ()), "training requires validation nodes for early stopping; add some"),
        (((), range(30)), "has no training nodes"),
        ((range(30), range(20, 40)), "the parts must not overlap"),
        ((range(30), range(30, 40), range(39, 50)), "the parts must not overlap"),
        ((range(30), [70]), "has node 70"),
    ],
)
def test_a_split_that_does_not_fit_is_refused(graph, parts, words):
    with pytest.raises(HeterophilyError, match=words):
        module.train("gcn", graph, split=Split.from_nodes(*parts), device="cpu", progress=False)


def test_training_nodes_need_labels(graph, split):
    labels = graph.labels.clone()
    labels[split.train[0]] = -1
    with pytest.raises(HeterophilyError, match="train has nodes without a label"):
        module.train("cmgnn", graph.replace(labels=labels), split=split, device="cpu")


def test_class_weights_are_inverse_to_class_sizes(graph, split):
    counts = torch.bincount(graph.labels[split.train])
    assert len(set(counts.tolist())) > 1
    torch.testing.assert_close(balanced_class_weights(graph, split.train), 30 / (3 * counts))
    two = split.train[graph.labels[split.train] != 2]
    assert balanced_class_weights(graph, two)[2] == 0


@pytest.mark.parametrize("form", ["nll", "ce_of_probabilities", "negative_probability"])
def test_class_weights_weigh_each_node_by_its_class(run, graph, split, form):
    settings = {"dropout": 0.0, "loss": form, "seed": 5}
    _, result = run("gcn", class_weight="balanced", **settings)
    seed_everything(5)
    logits = build("gcn", graph, width=8, dropout=0.0)(graph)[split.train].detach()
    y = graph.labels[split.train]
    each = {
        "nll": -logits.log_softmax(1), "ce_of_probabilities": -logits.softmax(1).log_softmax(1),
        "negative_probability": -logits.softmax(1),
    }[form][torch.arange(30), y]  # fmt: skip
    w = 30 / (3 * torch.bincount(y)[y])
    assert result.history.loss[0] == pytest.approx(float((w * each).sum() / w.sum()), rel=1e-5)
    _, plain = run("gcn", **settings)
    assert plain.history.loss[0] == pytest.approx(float(each.mean()), rel=1e-5)


def test_class_weights_count_for_prototypes_too(run, graph, split):
    _, result = run("cmgnn", class_weight="balanced", dropout=0.0, discrimination_weight=0.0, seed=5)
    seed_everything(5)
    network = build("cmgnn", graph, width=8, dropout=0.0)
    network.initialize_states(graph, split.train)
    network(graph)
    rows = torch.cat([split.train, torch.arange(60, 63)])
    labels = torch.cat([graph.labels, torch.arange(3)])[rows]
    logits = network.context.logits[rows].detach()
    expected = F.cross_entropy(logits, labels, balanced_class_weights(graph, split.train))
    assert result.history.loss[0] == pytest.approx(float(expected), rel=1e-5)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_at_a_terminal_and_only_there(run, monkeypatch, capfd):
    run("gcn", progress=True)
    assert capfd.readouterr() == ("", "")
    for wanted in (True, False):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        run("gcn", progress=wanted)
        assert ("validation" in terminal.getvalue()) == wanted


def test_a_run_is_plain_data(run):
    _, result = run("gcn")
    record = result.to_dict()
    assert set(record["scores"]) == {"train", "val", "test"}
    assert record["curve"]["loss"] == result.history.loss
    assert record["device"] == "cpu"
    assert 0 < record["milliseconds_per_epoch"] < 1e3 * record["seconds"]
    assert record["peak_memory"] > 10


def test_a_watcher_sees_every_improvement_after_the_belief_took_it_up(run):
    seen = []

    def watch(epoch, network, logits):
        seen.append((epoch, network.states[0].compatibility.clone(), logits.softmax(dim=1)))
        assert torch.equal(network.states[0].supplementary_labels, seen[-1][2])

    network, found = run("cmgnn", on_improvement=watch)
    best = np.maximum.accumulate([-1.0, *found.history.val_scores])
    assert [epoch for epoch, *_ in seen] == np.flatnonzero(np.diff(best) > 0).tolist()
    assert seen[-1][0] == found.best_epoch
    # The kept state is that of the last improvement, with the estimate that it was reached with.
    assert len(seen) > 1
    assert torch.equal(network.states[0].compatibility, seen[-2][1])


def test_class_weights_are_given_by_name_or_number(graph, split):
    named = graph.replace(class_names=("a", "b", "c"))
    for weights in ({"b": 3.0, "c": 0.5}, {1: 3.0, 2: 0.5}):
        assert make_class_weights(weights, named, split.train).tolist() == [1.0, 3.0, 0.5]
    assert make_class_weights(None, named, split.train) is None
    wrong = {
        "unknown class in class_weight": {"x": 1.0},
        "from 0 to 2, got 3": {3: 1.0},
        "finite weights of at least 0": {"a": -1.0},
        "must be None, 'balanced', or a dictionary, got 'equal'": "equal",
    }
    for message, weights in wrong.items():
        with pytest.raises(HeterophilyError, match=message):
            make_class_weights(weights, named, split.train)
