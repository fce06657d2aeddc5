"""A search adds what is missing, sees no test label, and loses nothing to failures and kills."""

import csv
import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from heterophily import HeterophilyError, NodeClassifier
from heterophily.core.spaces import Choice, Range
from heterophily.htmp.method import CustomMethod, make_method, replace_architecture
from heterophily.models import REGISTRY
from heterophily.models.gcn import GCN
from heterophily.models.settings import tuned
from heterophily.runs import worker
from heterophily.runs.job import make_job
from heterophily.runs.record import RESULTS_VERSION
from heterophily.tuning import SearchResult, study
from heterophily.tuning import trials as driver

LINEAR = replace(replace_architecture(GCN(), "linear", activation="none"), space={"width": Choice(32, 64)})


def own(name, space):
    """Return GCN under another name and with another space."""
    return CustomMethod(name, GCN().architecture(), space)


def by_width(settings, split):
    return settings["width"] / 1000 - settings["n_layers"] / 100 + int(split) / 1e5


def test_a_search_finds_the_best_of_its_trials(find, scored):
    scored(by_width)
    found = find(trials=12, splits="1-2")
    assert isinstance(found, SearchResult)
    assert (found.model, found.dataset, type(found.method)) == ("gcn", "ring", GCN)
    assert len(found.trials) == 12
    done = [a for a in found.trials if a.state == "done"]
    assert found.value == max(a.value for a in done)
    assert found.value == pytest.approx(by_width(found.settings, 1.5), abs=1e-4)
    assert found.settings["width"] == 256
    assert found.settings == {"max_epochs": 4, **found.best.answers}


def test_the_value_is_the_mean_validation_accuracy_of_a_fit(graph, find):
    found = find(trials=2, splits="1,3", seed=5)
    fits = []
    for split, seed in (("1", 6), ("3", 8)):  # the i-th split has the seed + i
        model = NodeClassifier("gcn", random_state=seed, device="cpu", **found.settings)
        fits.append(model.fit(graph, split=split).run_.scores["val"]["accuracy"])
    assert found.best.scores == tuple(fits)
    assert found.value == np.mean(fits)


@pytest.mark.parametrize("scoring", ["f1_macro", "neg_log_loss"])
def test_trials_train_and_are_ranked_by_the_given_scoring(graph, find, scoring):
    found = find(trials=2, splits="1", seed=5, scoring=scoring)
    model = NodeClassifier("gcn", random_state=6, device="cpu", scoring=scoring, **found.settings)
    run = model.fit(graph, split="1").run_
    assert found.value == run.score("val", scoring) == max(trial.value for trial in found.trials)
    with pytest.raises(HeterophilyError, match="was started with another scoring"):
        find(trials=1, splits="1", seed=5)


def test_runs_of_another_scoring_are_not_reused(graph):
    jobs = [make_job("gcn", graph, "1", seed=0, scoring=name) for name in ("accuracy", "f1_macro")]
    accuracy, other = jobs
    assert accuracy.key == make_job("gcn", graph, "1", seed=0).key != other.key
    assert [[job.has_result(each.empty_record) for each in jobs] for job in jobs] == [[True, False], [False, True]]
    assert accuracy.empty_record.group != other.empty_record.group


def test_resuming_adds_only_the_missing_trials(find, scored, told):
    asked = scored(by_width)
    whole = told(find(trials=9, folder="whole"))
    asked.clear()
    part = find(trials=4)
    assert told(part) == whole[:4]
    count = len(asked)
    assert told(find(trials=4)) == whole[:4]
    assert len(asked) == count
    # Interrupted or not, the same trials.
    assert told(find(trials=9)) == whole
    assert len(asked) - count == sum(len(scores) for *_, scores in whole[4:])


def test_two_folders_of_one_seed_agree_and_another_seed_differs(find, scored, told):
    scored(by_width)
    first, second = (told(find(trials=6, folder=name)) for name in "ab")
    assert first == second
    assert told(find(trials=6, folder="c", seed=1))[1:] != first[1:]


def test_test_labels_change_nothing(graph, find, told):
    labels = graph.labels.clone()
    labels[-12:] = labels[-12:].roll(1)
    other = graph.replace(labels=labels)
    assert other.checksum != graph.checksum
    options = {"trials": 4, "settings": {"max_epochs": 10}}
    assert told(find(**options)) == told(find(on=other, folder="other", **options))
    assert told(find("cmgnn", folder="c", trials=2)) == told(find("cmgnn", on=other, folder="d", trials=2))


def test_training_is_given_no_test_label(graph, find, monkeypatch):
    seen = []

    def spy(method, shown, *, split, **options):
        seen.append((shown, split))
        return train(method, shown, split=split, **options)

    train = worker.train
    monkeypatch.setattr(worker, "train", spy)
    find(trials=2)
    assert len(seen) == 4
    for i, (shown, split) in enumerate(seen):
        whole = graph.split(str(i % 2))
        assert not len(split.test)
        assert torch.equal(split.train, whole.train)
        assert (shown.labels[whole.test] == -1).all()
        known = torch.cat([whole.train, whole.val])
        assert torch.equal(shown.labels[known], graph.labels[known])


def test_the_first_trial_has_the_committed_settings(find, scored, monkeypatch, tmp_path):
    scored(by_width)
    table = {"preset": "reference", "width": 1000, "patience": 7}
    monkeypatch.setattr(driver, "merge_settings", lambda *cell: (table if cell == ("gcn", "ring") else {}, ""))
    found = find(trials=3)
    assert found.trials[0].answers["width"] == 1000
    assert found.trials[0].answers["n_layers"] == GCN().n_layers
    assert (found.preset, found.settings["patience"]) == ("reference", 7)
    written = tomllib.loads((tmp_path / "out" / "gcn.toml").read_text())["ring"]
    assert written == {"source": "search", "preset": "reference", **found.settings}
    # Once the winner is committed, the study goes on from where it began.
    monkeypatch.setattr(driver, "merge_settings", lambda *cell: ({"width": 2000}, ""))
    again = find(trials=4)
    assert again.trials[0] == found.trials[0]
    assert (again.preset, again.settings["patience"]) == ("reference", 7)
    assert [a.state for a in again.trials] == ["done"] * 4


def test_hopeless_trials_are_pruned_after_a_split(find, scored):
    asked = scored(by_width)
    found = find(trials=20, splits="0-3")
    pruned = [a for a in found.trials if a.state == "pruned"]
    assert len(pruned) > 2
    assert all(0 < len(a.scores) < 4 for a in pruned)
    # Few trials say nothing about a median.
    assert [a.state for a in found.trials[:5]] == ["done"] * 5
    assert all(len(a.scores) == 4 for a in found.trials if a.state == "done")
    assert len(asked) < 20 * 4
    assert found.value > max(a.value for a in pruned)


def test_a_pruned_trial_never_wins(find, scored):
    # After the first split every trial looks better than it is.
    scored(lambda settings, split: 0.5 + settings["width"] / 1000 if split == "0" else 0.0)
    found = find(trials=15)
    pruned = [a.value for a in found.trials if a.state == "pruned"]
    assert min(pruned) > found.value
    assert found.best.state == "done"


def test_a_trial_that_was_trained_on_all_splits_is_never_pruned(find, scored):
    scored(by_width)
    found = find(trials=12, splits="0")
    assert found.count("done") == 12
    assert len({a.value for a in found.trials}) > 3


def test_a_trial_that_raises_is_recorded_and_the_search_goes_on(graph, find, tmp_path):
    wild = own("wild", {"learning_rate": Choice(0.01, 1e30, 1e31)})
    found = find(wild, trials=8, settings={"max_epochs": 8})
    failed = [a for a in found.trials if a.state == "failed"]
    assert 0 < len(failed) < 8
    assert all("the loss became" in a.reason and a.value is None for a in failed)
    assert {a.answers["learning_rate"] for a in failed} <= {1e30, 1e31}
    assert found.best.answers["learning_rate"] == 0.01
    with (tmp_path / "out" / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["state"] for row in rows] == [a.state for a in found.trials]
    assert [row["reason"] for row in rows] == [a.reason for a in found.trials]
    # A failure counts: nothing is left to do.
    assert len(find(wild, trials=8, settings={"max_epochs": 8}).trials) == 8


def test_a_search_in_which_nothing_finishes_says_why(find, scored, tmp_path):
    def fail(settings, split):
        raise MemoryError("no room")

    scored(fail)
    with pytest.raises(HeterophilyError, match="none of 3 trials finished: no room"):
        find(trials=3)
    assert (tmp_path / "out" / "trials.csv").read_text().count("no room") == 3


def test_an_interrupted_trial_does_not_count_and_is_tried_again(find, scored, told):
    scored(by_width)
    whole = told(find(trials=5, folder="whole"))
    calls = []

    def interrupted(settings, split):
        calls.append(settings)
        if len(calls) == 5:  # the first split of the third trial
            raise KeyboardInterrupt
        return by_width(settings, split)

    scored(interrupted)
    with pytest.raises(KeyboardInterrupt):
        find(trials=5)
    assert told(find(trials=5)) == whole


KILLED = """
import os, signal, sys
import torch
from heterophily import Graph
from heterophily.tuning import search, trials as driver
from heterophily.views import search as summary
from heterophily.training.trainer import Trainer
torch.set_num_threads(1)
driver.importances_of = lambda study: {}
summary.save_charts = lambda charts, path: path
epoch, count = Trainer._epoch, [0]
def deadly(self, number):
    count[0] += 1
    if count[0] == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    epoch(self, number)
Trainer._epoch = deadly
graph = Graph.load(sys.argv[1])
search("gcn", graph, trials=5, splits="0-1", out=sys.argv[2], device="cpu", settings={"max_epochs": 4})
"""


def test_a_killed_search_goes_on_as_if_nothing_had_happened(graph, find, told, tmp_path):
    words = [sys.executable, "-c", KILLED, graph.save(tmp_path / "graph.safetensors")]
    words += [tmp_path / "out", "18"]  # the second epoch on the first split of the third trial
    ended = subprocess.run(words, check=False, capture_output=True)
    assert ended.returncode == -9, ended.stderr
    resumed = find(trials=5)
    assert told(resumed) == told(find(trials=5, folder="whole"))
    opened = study.open_study(tmp_path / "out" / "study.journal", "gcn on ring")
    (lost,) = [t for t in opened.trials if "lost" in t.user_attrs]
    assert (lost.number, lost.user_attrs["lost"], len(opened.trials)) == (2, 1, 5)


def test_two_commands_at_once_share_the_work(graph, find, tmp_path):
    words = [sys.executable, "-c", KILLED, graph.save(tmp_path / "graph.safetensors")]
    two = [subprocess.Popen([*words, tmp_path / "out", "0"]) for _ in range(2)]
    assert [process.wait() for process in two] == [0, 0]
    opened = study.open_study(tmp_path / "out" / "study.journal", "gcn on ring")
    assert [t.state.name for t in opened.trials] == ["COMPLETE"] * 5
    assert len(find(trials=5).trials) == 5


FRAGILE = '''
import os
from dataclasses import dataclass
from pathlib import Path

from heterophily import Architecture, CustomMethod
from heterophily.core.spaces import Choice
from heterophily.htmp.guidance import RowMean
from heterophily.htmp.neighborhoods import WithSelf


@dataclass(frozen=True)
class Fragile(RowMean):
    """Kills its process, once."""

    def matrix(self, indicator):
        mark = Path(__MARK__)
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), 9)
        return super().matrix(indicator)


SPACE = {"width": Choice(32, 64, 128), "n_layers": Choice(1, 2, 3)}
MINE = CustomMethod("fragile", Architecture(channels=(WithSelf() * Fragile(),)), SPACE)
'''


def test_workers_share_a_study_and_one_that_is_killed_is_replaced(find, told, tmp_path):
    path = tmp_path / "fragile.py"
    path.write_text(FRAGILE.replace("__MARK__", repr(str(tmp_path / "mark"))))
    found = find(str(path), trials=2, workers=2)
    assert (tmp_path / "mark").exists()
    assert [a.state for a in found.trials] == ["done"] * 2
    opened = study.open_study(tmp_path / "out" / "study.journal", "fragile on ring")
    assert [t.state.name for t in opened.trials] == ["COMPLETE"] * 2
    # A worker finds what this process finds for the same settings.
    alone = find(str(path), trials=1, folder="alone")
    same = next(a for a in found.trials if a.answers == alone.best.answers)
    assert same.scores == alone.best.scores
    REGISTRY.pop("fragile")


def test_a_single_missing_trial_is_a_workers_too(find, monkeypatch):
    monkeypatch.setattr(worker, "_train", lambda job, checkpoint: pytest.fail("not in this process"))
    assert find(trials=1, workers=2).count("done") == 1


def test_a_storage_may_be_a_url(find, scored, tmp_path, told):
    scored(by_width)
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    first = find(trials=2, storage=url)
    assert not (tmp_path / "out" / "study.journal").exists()
    # The same study from another folder, as from another machine.
    second = find(trials=4, storage=url, folder="elsewhere")
    assert told(second)[:2] == told(first)
    assert len(second.trials) == 4


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed": 1}, "another seed;"),
        ({"splits": "0"}, "another splits;"),
        ({"settings": {"patience": 3}}, "another --set;"),
        ({"model": replace(LINEAR, name="gcn")}, "another method;"),
    ],
)
def test_a_study_is_not_resumed_as_another(find, scored, changes, words):
    scored(by_width)
    find(trials=1)
    with pytest.raises(HeterophilyError, match=words):
        find(trials=2, **changes)
    assert len(find(trials=1).trials) == 1


def test_a_study_is_not_resumed_on_another_graph(graph, find, scored):
    scored(by_width)
    find(trials=1)
    labels = graph.labels.roll(1)
    with pytest.raises(HeterophilyError, match="another checksum of the dataset; use the same"):
        find(trials=2, on=graph.replace(labels=labels))


def test_a_study_is_not_resumed_with_another_code_of_ones_own_part(find, scored, tmp_path):
    scored(by_width)
    path = tmp_path / "own.py"

    def go(words, trials):
        path.write_text(FRAGILE.replace("__MARK__", repr(str(tmp_path))).replace("Kills", words))
        os.utime(path, ns=(len(words), len(words)))  # files are read again when their time changes
        return find(str(path), trials=trials)

    go("Ends", 1)
    with pytest.raises(HeterophilyError, match="another method;"):
        go("Would end", 2)
    assert len(go("Ends", 2).trials) == 2
    REGISTRY.pop("fragile")


def test_a_study_is_not_resumed_by_code_that_gives_other_results(find, scored, monkeypatch):
    scored(by_width)
    assert find(trials=1).facts["version"] == RESULTS_VERSION
    monkeypatch.setattr(driver, "RESULTS_VERSION", RESULTS_VERSION + 1)
    with pytest.raises(HeterophilyError, match="another version of the code"):
        find(trials=2)


def test_a_study_without_a_version_is_of_the_first(find, scored, monkeypatch, tmp_path):
    scored(by_width)
    monkeypatch.setattr(driver, "RESULTS_VERSION", 1)
    facts = dict(find(trials=1).facts)
    facts.pop("version")
    opened = study.open_study(tmp_path / "out" / "study.journal", "gcn on ring")
    opened.set_user_attr("facts", facts)
    assert len(find(trials=2).trials) == 2


def test_settings_that_were_tried_are_not_trained_again(find, scored):
    asked = scored(lambda settings, split: settings["learning_rate"])
    small = own("small", {"learning_rate": Choice(0.01, 0.02)})
    found = find(small, trials=6)
    assert len(found.trials) == 6
    assert len(asked) == 4
    for attempt in found.trials:
        assert attempt.value == attempt.answers["learning_rate"]


def test_ranges_are_searched_and_the_winner_is_what_was_trained(find, scored):
    asked = scored(lambda settings, split: settings["weight_decay"])
    ranged = own("ranged", {"weight_decay": Range(1e-6, 1e-1, log=True)})
    found = find(ranged, trials=8, splits="0")
    tried = [settings["weight_decay"] for settings, _ in asked]
    assert len(set(tried)) == 8
    assert all(1e-6 <= value <= 1e-1 and float(f"{value:.3g}") == value for value in tried)
    assert found.settings["weight_decay"] == max(tried) == found.value


def test_the_winner_is_written_into_a_file_of_settings(find, scored, tmp_path):
    scored(by_width)
    path = tmp_path / "settings" / "gcn.toml"
    path.parent.mkdir()
    path.write_text('# Mine.\n\n[cora]\nsource = "reference"\nwidth = 8\n')
    found = find(trials=4, write=path)
    assert path.read_text().startswith("# Mine.\n\n[cora]")
    assert tuned(str(path.with_suffix("")), "cora") == {"width": 8}
    assert tuned(str(path.with_suffix("")), "ring") == found.settings
    assert tuned(str(tmp_path / "out" / "gcn"), "ring") == found.settings
    assert make_method(GCN, tuned(str(path.with_suffix("")), "ring"))


def test_the_folder_tells_the_whole_story(find, pictures, scored, tmp_path):
    scored(by_width)
    found = find(trials=12)
    out = tmp_path / "out"
    facts = json.loads((out / "summary.json").read_text())
    assert facts["best"] == {"trial": found.best.number, "value": found.value, "scores": list(found.best.scores)}
    assert facts["settings"] == found.settings
    assert facts["trials"] == {
        state: Counter(a.state for a in found.trials)[state] for state in ("done", "pruned", "failed", "running")
    }
    assert facts["start"]["value"] == found.trials[0].value
    assert facts["row"]["name"] == "gcn"
    assert sum(found.importances.values()) == pytest.approx(1)
    assert next(iter(found.importances)) == "width"
    assert facts["importances"] == found.importances
    page = (out / "summary.md").read_text()
    assert f"trial {found.best.number} with a mean validation accuracy of {found.value:.2%}" in page
    assert f"| width | {found.settings['width']} |" in page
    for name in ("history.png", "importances.png"):
        assert (out / name).read_bytes().startswith(b"\x89PNG")
        assert f"({name})" in page
    with (out / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows] == [a.value for a in found.trials]
    assert [int(row["width"]) for row in rows] == [a.answers["width"] for a in found.trials]
    assert not [path for path in out.iterdir() if path.name.startswith(".summary")]


def test_a_graph_without_splits_gets_random_ones(graph, find):
    bare = graph.replace(splits={})
    found = find(on=bare, trials=1, splits=None)
    assert list(found.facts["splits"]) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "gnc"}, 'unknown model "gnc"; did you mean "gcn"'),
        ({"splits": "7"}, 'unknown split of ring "7"'),
        ({"settings": {"widht": 3}}, 'unknown setting of gcn "widht"'),
        ({"write": "gcn.json"}, "a .toml file, got 'gcn.json'"),
        ({"model": "htmp", "write": "gcn.toml"}, "a .py file, got 'gcn.toml'"),
        ({"trials": 0}, "trials must be at least 1, got 0"),
        ({"workers": 0}, "workers must be at least 1, got 0"),
    ],
)
def test_mistakes_are_named_before_anything_is_written(find, tmp_path, options, words):
    with pytest.raises(HeterophilyError, match=words):
        find(**options)
    assert not (tmp_path / "out").exists()
    assert not Path("gcn.toml").exists()
