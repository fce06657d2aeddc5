"""The race: in this process and in worker processes, with failures, interruptions, and little time."""

import dataclasses

import pytest
import torch

from heterophily import HeterophilyError
from heterophily.training.auto import race as module
from heterophily.training.auto import task as task_module
from heterophily.training.auto.budget import Clock
from heterophily.training.auto.fit import feature_scaling, fit_auto, training_graph
from heterophily.training.auto.portfolio import Candidate
from heterophily.training.auto.race import Round, run_race
from heterophily.training.auto.task import TrainingOptions, read_result
from heterophily.training.scoring import SCORINGS, find_scoring
from heterophily.training.trainer import train

OPTIONS = TrainingOptions(seed=3, device="cpu")


@pytest.fixture
def prepared(graph):
    return training_graph(graph, graph.split("0"), feature_scaling(graph))


@pytest.fixture
def start(prepared, candidates, tmp_path):
    def go(folder="race", *, options=OPTIONS, candidates=candidates, budget=600.0, **rest):
        (tmp_path / folder).mkdir()
        arguments = prepared, candidates, options, tmp_path / folder
        return run_race(*arguments, clock=Clock(budget), **rest)[0]

    return go


def results(board):
    return [(e.name, e.status, e.score, e.n_epochs) for e in board.entries]


def test_candidates_train_as_they_would_without_a_race(start, prepared, candidates, tmp_path):
    board = start()
    for i, (entry, candidate) in enumerate(zip(board.entries, candidates, strict=True)):
        network, run = train(
            candidate.make(), prepared, split=prepared.split("race"), seed=3, device="cpu", progress=False
        )
        found = read_result(tmp_path / "race", i)
        assert entry.score == run.score("val")
        assert (entry.status, entry.n_epochs) == ("done", run.n_epochs)
        assert torch.equal(found.logits, network(prepared))
        assert all(torch.equal(found.state[name], value) for name, value in network.state_dict().items())
    assert board.stopped == "finished"


def test_worker_processes_give_the_same_result(start):
    scoring = SCORINGS["average_precision"]
    options = dataclasses.replace(OPTIONS, scoring=scoring, class_weight={"0": 2.0})
    boards = [start("one", options=options), start("two", options=options, workers=2)]
    assert results(boards[0]) == results(boards[1])


TREES = Candidate("boosting", "boosting", {"max_epochs": 60, "min_samples_leaf": 5, "n_positions": 4})


def test_trees_finish_in_the_first_round_and_race_in_worker_processes(start, candidates):
    everything = (*candidates, TREES)
    boards = [start("one", candidates=everything), start("two", candidates=everything, workers=2)]
    assert results(boards[0]) == results(boards[1])
    assert boards[0].entries[-1].status == "done"
    assert boards[0].entries[-1].score > 0.5


def test_trees_are_restored_as_a_member_that_knows_its_training_graph(graph):
    found = fit_auto(graph, graph.split("0"), OPTIONS, portfolio=[TREES], workers=1)
    (member,) = found.network.members
    assert member.is_training_graph(found.network.scale_features(graph))
    assert find_scoring("accuracy")(found.network(graph), graph.labels, graph.split("0").val) == found.run.score("val")


def test_candidates_that_are_far_behind_stop_early(start, candidates, monkeypatch):
    monkeypatch.setattr(module, "ROUNDS", (Round(5, 0.5), Round(module.ENDLESS, 1.0)))
    monkeypatch.setattr(module, "MIN_SURVIVORS", 1)
    hopeless = Candidate("hopeless", "mlp", {"width": 1, "learning_rate": 1e-9, "max_epochs": 60})
    updates = []
    board = start(candidates=(hopeless, *candidates), on_update=updates.append)
    assert board.entries[0].status == "stopped early"
    assert board.entries[0].n_epochs == 5
    assert board.ranked[0].status == "done"
    assert len(updates) > 8


def test_the_best_networks_are_trained_with_other_seeds(start, candidates, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "N_REPEATED", 2)
    board = start(n_seeds=3, candidates=(*candidates, TREES))
    best = [entry.name for entry in board.ranked if ", seed" not in entry.name and entry.name != "boosting"][:2]
    names = [entry.name for entry in board.entries[4:]]
    assert names == [f"{name}, seed {seed}" for seed in (2, 3) for name in best]
    assert all(entry.status == "done" for entry in board.entries[4:])
    logits = [read_result(tmp_path / "race", i).logits for i in (4, 6)]
    assert not torch.equal(*logits)


def test_failures_are_part_of_the_leaderboard(start, candidates, monkeypatch):
    def fail(model, *arguments, **options):
        if model.name == "gcn":
            raise MemoryError
        if model.name == "sage+":
            raise RuntimeError("no such kernel\nmore lines")
        return train(model, *arguments, **options)

    monkeypatch.setattr(task_module, "train", fail)
    board = start()
    assert [(e.status, e.reason) for e in board.entries] == [
        ("done", ""),
        ("failed", "out of memory"),
        ("failed", "RuntimeError: no such kernel"),
    ]
    assert board.ranked[0].name == "linear"
    assert board.to_dict()["entries"][2]["score"] is None


def test_a_worker_that_dies_fails_only_its_candidate(start, candidates, monkeypatch):
    from heterophily.training.auto import workers

    started = workers._Worker.start

    def kill_gcn(self, task):
        started(self, task)
        if task.candidate.name == "gcn":
            self.process.kill()

    monkeypatch.setattr(workers._Worker, "start", kill_gcn)
    board = start(workers=2)
    assert [e.status for e in board.entries] == ["done", "failed", "done"]
    assert "memory" in board.entries[1].reason


def test_ctrl_c_ends_the_race_with_the_results_so_far(start):
    interrupted = []

    def interrupt(board):
        if board.entries[0].has_score and board.entries[1].status == "running" and not interrupted:
            interrupted.append(board)
            raise KeyboardInterrupt

    board = start(on_update=interrupt)
    assert board.stopped == "interrupted"
    assert [e.has_score for e in board.entries] == [True, False, False]


def test_a_small_budget_skips_candidates_but_has_a_result(start):
    board = start(
        budget=1e-3 + 0.05, candidates=(Candidate("slow", "mlp", {"max_epochs": 10**6, "patience": 10**6}),) * 1
    )
    assert (board.stopped, board.entries[0].status) == ("budget", "out of time")
    assert board.entries[0].has_score


def test_a_custom_scoring_runs_in_this_process(start):
    def share_of_zeros(y_true, y_proba):
        return float((y_proba.argmax(1) == 0).mean())

    board = start(options=dataclasses.replace(OPTIONS, scoring=find_scoring(share_of_zeros)), workers=2)
    assert board.scoring == "share_of_zeros"
    assert all(e.status == "done" for e in board.entries)


def test_without_any_result_the_reasons_are_reported(graph):
    wrong = Candidate("wrong", "gcn", {"learning_rate": 1e30, "max_epochs": 30})
    with pytest.raises(HeterophilyError, match="all candidates of auto failed \\(wrong: "):
        fit_auto(graph, graph.split("0"), OPTIONS, portfolio=[wrong])
