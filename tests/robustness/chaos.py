"""Kill commands at random moments: `python -m tests.robustness.chaos --kills 300 --seed 0`.

A campaign starts a command again and again, kills the command, one of its workers, or the process group, and finally
lets it end. Then every record is intact, the results are those of an undisturbed run, and nothing is left behind: no
process, lock, checkpoint, or temporary file. One line per kind of campaign is printed. Finished campaigns are in a
log, so an interrupted call continues.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from heterophily.runs.record import find_record, read_records
from tests.robustness.inputs import small_graph
from tests.robustness.launcher import Command, Launcher

SIGNALS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT}
MAX_KILLS = 20  # per campaign
SECONDS = 600.0  # within which a command must end, also on a busy machine
MARK = "HETEROPHILY_CHAOS"  # variable in the environment of all processes of a campaign
LONG = ["--set", "max_epochs=80", "--set", "patience=80", "--set", "width=16"]
BENCH = ("bench", "--models", "mlp,gcn,h2gcn", "--splits", "0-7", "--workers", "2", *LONG, "--datasets")
SEARCH = ("search", "--trials", "12", "--splits", "0", *LONG[:-2])


@dataclass(frozen=True)
class Kind:
    """A command that campaigns kill, and how many of it work on one folder."""

    name: str
    words: tuple[str, ...]  # the graph is added
    share: int  # of 100 kills
    n_commands: int = 1
    has_workers: bool = False
    is_deterministic: bool = True  # with several workers, a search depends on which trial ends first


KINDS = (
    Kind("bench", BENCH, 32, has_workers=True),
    Kind("bench twice", BENCH, 10, n_commands=2, has_workers=True),
    Kind("search", (*SEARCH, "gcn"), 28),
    Kind("search twice", (*SEARCH, "--workers", "2", "gcn"), 8, 2, has_workers=True, is_deterministic=False),
    Kind("fit", ("fit", "--model", "gcn", *LONG), 22),
)


class Watcher:
    """Reads all records of a folder repeatedly, and remembers those that were ever finished."""

    def __init__(self, folder):
        self.folder, self.done, self.lost = folder, {}, set()

    def check(self):
        """Compare all records with those that were finished before."""
        for path in set(self.done) | record_paths(self.folder):
            record = find_record(path)
            if path in self.done and record != self.done[path]:
                self.lost.add(str(path))
            elif record is not None and record.done:
                self.done[path] = record


def record_paths(folder):
    """The records of a benchmark, and those of a search."""
    paths = {*folder.glob("*/*/*.json"), *folder.glob("runs/*/*/*.json")}
    return {path for path in paths if not path.name.startswith(".")}


class Campaign:
    """The commands of one kind in one folder."""

    def __init__(self, kind, place, rng, launcher):
        self.kind, self.place, self.rng, self.launcher = kind, place, rng, launcher
        self.out, self.temporary = place / "out", place / "tmp"
        self.temporary.mkdir(parents=True)
        self.source = place.parent / "small.safetensors"
        self.watcher, self.kills, self.left, self.problems = Watcher(self.out), Counter(), [], []
        self.n_losses = 0  # how often the same trials were killed

    def start(self, *, is_new=False):
        """Start a command in its own process group."""
        words = [*self.kind.words, str(self.source), "--out", str(self.out)]
        environment = {"TMPDIR": str(self.temporary), MARK: str(self.place)}
        return Command(self.launcher, words, log=str(self.place / "log.txt"), environment=environment, is_new=is_new)

    def finish(self):
        """Let the command end. A worker that was killed three times leaves a record that the next command replaces."""
        for _ in range(2):
            if self.start(is_new=self.rng.random() < 0.3).wait(SECONDS) == 0:
                break
        else:
            self.problems.append("the command fails: " + self.log[-2000:])
        self.wait_for_processes()
        self.watcher.check()

    @property
    def log(self):
        return (self.place / "log.txt").read_text(errors="replace")

    def disturb(self, duration, n_kills):
        """Kill commands until they were hit often enough, or until they end. Return whether they ended."""
        while self.kills.total() < n_kills:
            commands = [self.start() for _ in range(self.kind.n_commands)]
            self.strike(commands, duration, n_kills)
            ended = [command.wait(SECONDS) == 0 for command in commands]
            self.wait_for_processes()
            if all(ended):
                return True
        return False

    def strike(self, commands, duration, n_kills):
        """Send signals at random moments until all commands have ended."""
        progress = len(record_paths(self.out))
        while any(command.poll() is None for command in commands):
            if self.kills.total() >= n_kills:
                break
            self.sleep(self.rng.uniform(0, self.rng.choice([0.02, 0.1, 0.3]) * duration), commands)
            # A search gives up a trial that was killed three times, which may be the trial's fault.
            if self.kind.words[0] == "search" and self.n_losses >= 2 and len(record_paths(self.out)) == progress:
                continue
            target = self.rng.choice(["parent", "group", *["worker"] * 4 * self.kind.has_workers])
            if self.hit(self.rng.choice(commands), target, self.rng.choice(list(SIGNALS))):
                self.n_losses = 1 if len(record_paths(self.out)) > progress else self.n_losses + 1
                progress = len(record_paths(self.out))

    def sleep(self, seconds, commands):
        end = time.monotonic() + seconds
        while time.monotonic() < end and any(command.poll() is None for command in commands):
            self.watcher.check()
            time.sleep(0.05)

    def hit(self, command, target, name):
        """Send a signal. Return whether it reached a running process that it ends."""
        if command.poll() is not None:
            return False
        if target == "worker":
            name = "TERM" if name == "INT" else name  # workers leave Ctrl-C to the command
            workers, servers = workers_of(command)
            if not workers and self.rng.random() < 0.9:
                return False
            workers = workers or servers
            if not workers:
                return False
            with contextlib.suppress(psutil.NoSuchProcess):
                self.rng.choice(workers).send_signal(SIGNALS[name])
        elif target == "group":
            os.killpg(command.pid, SIGNALS[name])
        else:
            command.send_signal(SIGNALS[name])
        self.kills[f"{target} {name}"] += 1
        if target != "worker":
            command.wait(SECONDS)
        return True

    def wait_for_processes(self):
        """Report processes that are left, and end them."""
        end = time.monotonic() + 60
        while (alive := marked_processes(self.place)) and time.monotonic() < end:
            time.sleep(0.1)
        self.left += [f"process {' '.join(process.cmdline())[:100]}" for process in alive]
        for process in alive:
            process.kill()

    def files(self):
        """Everything in the folders of output and of temporary files."""
        roots = (self.out, self.temporary)
        return {str(path.relative_to(self.place)) for root in roots for path in root.rglob("*")}

    def outcome(self):
        """The results, without times and memory."""
        if not self.kind.is_deterministic:
            return trial_states(self.out)
        if self.kind.words[0] == "fit":
            return (self.out / "predictions.csv").read_text()
        if self.kind.words[0] == "search":
            return [row_without_seconds(line) for line in (self.out / "trials.csv").read_text().splitlines()]
        return [result_of(record) for record in read_records(self.out)]


def workers_of(command):
    """The processes that train, and those that start them."""
    workers, servers = [], []
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(command.pid).children(recursive=True):
            words = " ".join(process.cmdline())
            if "forkserver" in words and process.ppid() == command.pid:
                servers.append(process)
            elif "forkserver" in words:
                workers.append(process)
    return workers, servers


def marked_processes(place):
    """The running processes of a campaign, also those whose parent is gone."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == str(place) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def trial_states(folder):
    """The number and the state of each trial."""
    return [line.split(",")[:2] for line in (folder / "trials.csv").read_text().splitlines()]


def row_without_seconds(line):
    cells = line.split(",")
    return cells[:3] + cells[4:]


def result_of(record):
    facts = record.to_dict()
    names = ("key", "model", "dataset", "split", "seed", "settings", "status", "details", "parameters")
    run = {name: value for name, value in facts["run"].items() if name in ("scores", "best_epoch", "n_epochs")}
    return {name: facts[name] for name in names} | {"run": run, "loss": facts["run"]["curve"]["loss"]}


def undisturbed(kind, root, launcher):
    """The outcome, the files, and the seconds of a command that nothing disturbs."""
    campaign = Campaign(kind, root / f"{kind.name}-undisturbed", random.Random(0), launcher)
    start = time.monotonic()
    assert campaign.start().wait(SECONDS) == 0, campaign.log
    return campaign.outcome(), campaign.files(), time.monotonic() - start


def run_campaign(kind, root, number, expected, n_kills, launcher):
    """Run one campaign. Return its kills, lost records, changed results, and what it left behind."""
    outcome, files, seconds = expected
    place = root / f"{kind.name}-{number}"
    campaign = Campaign(kind, place, random.Random(number), launcher)
    if not campaign.disturb(seconds, n_kills) or kind.words[0] == "fit":  # Ctrl-C ends `fit` with what it has
        campaign.finish()
    if "Traceback" in campaign.log:
        campaign.problems.append("traceback: " + campaign.log[campaign.log.index("Traceback") :][:2000])
    changed = campaign.outcome() != outcome
    unexpected = {path for path in campaign.files() - files if not is_result(path, kind)}
    result = {
        "kind": kind.name,
        "number": number,
        "kills": dict(campaign.kills),
        "lost": sorted(campaign.watcher.lost),
        "changed": ["results"] * changed + ["missing: " + p for p in sorted(files - campaign.files()) if changed],
        "left behind": campaign.left + sorted(unexpected),
        "other problems": campaign.problems,
    }
    if not any(result[name] for name in PROBLEMS):
        shutil.rmtree(place)
    return result


def is_result(path, kind):
    """Whether a file can differ between runs whose results are allowed to differ."""
    return not kind.is_deterministic and not Path(path).name.startswith(".") and path.startswith("out/")


PROBLEMS = ("lost", "changed", "left behind", "other problems")


def make_source(root):
    """Save the graph of all campaigns: large enough that training takes a while."""
    root.mkdir(parents=True, exist_ok=True)
    path = root / "small.safetensors"
    orders = [np.random.default_rng(i).permutation(200) for i in range(8)]
    splits = {str(i): (order[:100], order[100:150], order[150:]) for i, order in enumerate(orders)}
    small_graph(n=200, splits=splits).save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(kind.name for kind in KINDS))
    parser.add_argument("--log", default="chaos.jsonl", help="finished campaigns, which are not repeated")
    options = parser.parse_args()
    kinds = [kind for kind in KINDS if kind.name in options.kinds.split(",")]
    log, start = Path(options.log), 10_000 * options.seed
    results = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    results = [each for each in results if start <= each["number"] < start + 10_000]
    root = Path(tempfile.mkdtemp(prefix="chaos-"))
    make_source(root)
    print(f"{'kind':14} {'campaigns':>9} {'kills':>6}", *PROBLEMS, sep="  ", flush=True)
    with Launcher() as launcher:
        for i, kind in enumerate(kinds):
            own = [each for each in results if each["kind"] == kind.name]
            share = round(options.kills * kind.share / sum(kind.share for kind in kinds))
            for result in campaigns(kind, root, share, launcher, own, start + 1000 * i):
                results.append(result)
                with log.open("a") as file:
                    file.write(json.dumps(result) + "\n")
            print_line(kind.name, [each for each in results if each["kind"] == kind.name])
    print_line("all", results)
    kills = sum((Counter(each["kills"]) for each in results), Counter())
    print(", ".join(f"{count} {name}" for name, count in sorted(kills.items())))
    failed = any(each[name] for each in results for name in PROBLEMS)
    if not failed:
        shutil.rmtree(root)
    return int(failed)


def campaigns(kind, root, share, launcher, finished, first):
    """Run the campaigns of a kind that are missing for its share of kills."""
    number, missing = first + len(finished), share - sum(map(n_kills, finished))
    expected = undisturbed(kind, root, launcher) if missing > 0 else None
    while missing > 0:
        result = run_campaign(kind, root, number, expected, min(MAX_KILLS, missing), launcher)
        number, missing = number + 1, missing - n_kills(result)
        yield result


def n_kills(result):
    return sum(result["kills"].values())


def print_line(name, results):
    counts = [sum(len(each[problem]) for each in results) for problem in PROBLEMS]
    kills = sum(map(n_kills, results))
    cells = [f"{count:>{len(problem)}}" for problem, count in zip(PROBLEMS, counts, strict=True)]
    print(f"{name:14} {len(results):9} {kills:6}", *cells, sep="  ", flush=True)


if __name__ == "__main__":
    sys.exit(main())
