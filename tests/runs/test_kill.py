"""Nothing is lost: kill -9, Ctrl-C and a full disk, with the command as a person would start it."""

import contextlib
import itertools
import random
import signal
import subprocess
import sys
import threading
import time

import psutil

from heterophily.benchmark.plan import plan
from heterophily.data.loading import load
from heterophily.runs.execute import run_jobs
from heterophily.runs.record import read_record, read_records

KILLS = 20
# Long enough to be hit, and with a checkpoint every now and then.
STEADY = "trainer.CHECKPOINT_SECONDS = 0.2"


class Watcher(threading.Thread):
    """Reads every record of a folder again and again, and keeps those that were ever done."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.done, self.errors, self.over = folder, {}, [], threading.Event()

    def run(self):
        while not self.over.wait(0.02):
            try:
                now = {p: read_record(p) for p in self.folder.glob("*/*/*.json")}
            except Exception as error:
                self.errors.append(error)
                return
            lost = [p for p in self.done if now.get(p) != self.done[p]]
            self.errors += [f"{path} was done and changed" for path in lost]
            self.done |= {path: record for path, record in now.items() if record.done}

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *reason):
        self.over.set()
        self.join()
        assert self.errors == []


def strike(command, rng, times):
    """Kill training processes, each at a random moment of its life; how many were hit."""
    hits = 0
    while hits < times and command.process.poll() is None:
        if command.runs:
            time.sleep(rng.uniform(0, 0.7))
            with contextlib.suppress(psutil.NoSuchProcess, IndexError):
                rng.choice(command.runs).kill()
                hits += 1
        time.sleep(0.02)
    return hits


def disturb(command, words, rng):
    """Kill training processes and then the command, four times; how many were hit."""
    kills = 0
    for hits in (0, 8, 8, 8):
        with command(*words) as running:
            kills += strike(running, rng, hits)
            time.sleep(rng.uniform(0, 1 if hits else 3))
            kills += running.kill()
    return kills


def test_a_benchmark_that_is_killed_at_random_moments_comes_to_the_same_table(
    command, method_file, tmp_path, means, outcomes
):
    rng, kills = random.Random(5), 0
    models = [method_file("steady", STEADY), "mlp", "gcn"]
    words = ["--models", ",".join(models), "--datasets", "digits", "--splits", "0-4"]
    words += ["--workers", 2, "--set", "max_epochs=400", "--set", "patience=400", "--out"]
    settings = {"max_epochs": 400, "patience": 400}
    cells = plan(models, {"digits": load("digits")}, splits="0-4", settings=settings)
    run_jobs(cells, tmp_path / "undisturbed", workers=2)
    for number in itertools.count():  # a fast machine is done before it was hit often enough
        folder = tmp_path / f"results{number}"
        with Watcher(folder):
            kills += disturb(command, [*words, folder], rng)
            with command(*words, folder) as running:
                code, text = running.end()
        assert code == 0, text
        assert "15 of 15 runs finished, 0 failed" in text
        assert outcomes(folder) == outcomes(tmp_path / "undisturbed")
        assert means(folder) == means(tmp_path / "undisturbed")
        assert not list(folder.rglob(".*.json.*"))
        if kills >= KILLS:
            break


def test_ctrl_c_ends_the_runs_and_says_how_to_continue(command, method_file, source, tmp_path, until):
    models = ["gcn", method_file("slow", "time.sleep(600)")]
    words = ["--models", ",".join(models), "--datasets", source, "--splits", "0", "--out", "results"]
    with command(*words, "--set", "max_epochs=3", "--workers", 2) as running:
        until(lambda: "gcn on small" in running.text and len(running.runs) == 1, "the first record")
        family = running.ps.children(recursive=True)
        running.process.send_signal(signal.SIGINT)
        code, text = running.end()
        _, alive = psutil.wait_procs(family, 120)
    assert code == 130
    assert text.splitlines()[-1] == (
        "heterophily: interrupted; run the same `bench`, `search`, `tune`, or `study` command again to resume it"
    )
    assert "Traceback" not in text
    assert alive == []
    assert [record.model for record in read_records(tmp_path / "results")] == ["gcn"]


PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
from heterophily import Graph
from heterophily.benchmark.plan import plan
from heterophily.runs.execute import run_jobs
from heterophily.runs.job import Limits
from heterophily.views.progress import show_progress

if __name__ == "__main__":
    cells = plan(["mlp", "gcn"], {sys.argv[1]: Graph.load(sys.argv[1])}, settings={"max_epochs": 3})
    run_jobs(cells, sys.argv[2], workers=2, limits=Limits(patience=0.5), display=show_progress)
"""


def test_a_benchmark_goes_on_after_a_full_disk(source, graph, tmp_path):
    folder, settings = tmp_path / "results", {"max_epochs": 3}
    cells = plan(["mlp", "gcn"], {source: graph}, settings=settings)
    (first,) = run_jobs(cells[:1], folder)
    (tmp_path / "full.py").write_text(PROGRAM)
    words = [sys.executable, "-B", str(tmp_path / "full.py"), source, str(folder)]
    end = subprocess.run(words, check=False, capture_output=True, text=True)
    assert end.returncode == 1
    assert end.stderr.splitlines()[0] == "1 of 6 runs are already finished"
    sentence = end.stderr.splitlines()[-1]
    assert f"cannot write a record to {folder} ([Errno 27] File too large" in sentence
    assert "free space on the disk and run the same command again" in sentence
    assert read_records(folder) == [first]
    assert not list(folder.rglob(".*.json.*"))
    records = run_jobs(cells, folder, workers=2)
    assert [record.done for record in records] == [True] * 6
    assert records[0] == first


def test_two_commands_on_one_folder_share_the_work(command, method_file, source, starts, tmp_path):
    models = [method_file("mine", "time.sleep(0.5)"), method_file("other")]
    words = ["--models", ",".join(models), "--datasets", source, "--out", "results"]
    words += ["--workers", 2, "--set", "max_epochs=3"]
    with command(*words) as one, command(*words) as two:
        ends = [one.end(), two.end()]
    for code, text in ends:
        assert code == 0, text
        assert text.splitlines()[-1] == "6 of 6 runs finished, 0 failed: results"
    assert starts() == {"mine": 3, "other": 3}
    assert [record.done for record in read_records(tmp_path / "results")] == [True] * 6
    assert list((tmp_path / "results" / ".work").iterdir()) == []
