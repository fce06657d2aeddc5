"""Try thousands of damaged inputs of every kind: `python -m tests.robustness.fuzz --cases 10000 --seed 0`.

Child processes run batches of cases, each with a limit of time and memory. A case fails if it ends in anything but
success or a `HeterophilyError`, if its result is wrong, or if it exceeds a limit. One line per kind is printed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import psutil
from hypothesis import HealthCheck, Phase, given, seed, settings

from heterophily.core.errors import HeterophilyError
from tests.robustness.kinds import calls, graphs, models, results
from tests.robustness.limits import limit_address_space

KINDS = {kind.name: kind for module in (graphs, models, results, calls) for kind in module.KINDS}
SECONDS, GIGABYTES, BATCH = 60.0, 2.0, 250
OUTCOMES = ("traceback", "wrong result", "time", "memory", "crash")


def outcome_of(kind, case):
    """The outcome of one case: read, rejected, or a failure with its description."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            kind.attempt(case, Path(folder))
        except HeterophilyError:
            return "rejected", ""
        except AssertionError:
            return "wrong result", traceback.format_exc(limit=-4)
        except Exception:
            return "traceback", traceback.format_exc(limit=-4)
    return "read", ""


def run_batch(name, number, count):
    """Run `count` cases in this process, and print one line of JSON before and after each."""
    limit_address_space(2 * GIGABYTES)
    kind, tried = KINDS[name], 0

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(kind.cases)
    def run(case):
        nonlocal tried
        if tried == count:
            return
        tried += 1
        emit(start=repr(case)[:2000])
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak of memory
        outcome, text = outcome_of(kind, case)
        if peak_gigabytes() > GIGABYTES and outcome in ("read", "rejected"):
            outcome, text = "memory", f"{peak_gigabytes():.1f} GB"
        emit(end=outcome, text=text, peak=round(peak_gigabytes(), 2))

    run()


def peak_gigabytes():
    """The largest resident memory of this process since it was forgotten."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e6


def emit(**facts):
    os.write(OUT, (json.dumps(facts) + "\n").encode())


def try_kind(name, number, count, log):
    """Run the cases of a kind in child processes. Return how often each outcome occurred."""
    found, batch = Counter(), 0
    while sum(found.values()) < count:
        missing = min(BATCH, count - sum(found.values()))
        found += supervise(name, 1000 * number + batch, missing, log)
        batch += 1
    return found


def supervise(name, number, count, log):
    """Run a batch, and end it if a case takes too long."""
    words = [sys.executable, "-m", "tests.robustness.fuzz", "--batch", name, str(number), str(count)]
    found, case, running, since = Counter(), "", None, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path, errors = Path(folder, "output"), Path(folder, "errors")
        # The child must not share the position of the file that is read here.
        with path.open("ab") as output, errors.open("ab") as second:
            child = subprocess.Popen(words, stdout=output, stderr=second, env=environment(folder))
        with path.open("rb") as lines:
            while True:
                ended = child.poll() is not None
                for facts in read_lines(lines):
                    since = time.monotonic()
                    running = facts.get("start")
                    if "end" in facts:
                        found[facts["end"]] += 1
                        record(log, name, number, case, facts)
                    case = facts.get("start", "")
                if ended:
                    break
                if running is not None and time.monotonic() - since > SECONDS:
                    child.kill()
                    found["time"] += 1
                    record(log, name, number, running, {"end": "time", "text": ""})
                    running = None
                time.sleep(0.1)
        if running is not None or (child.returncode not in (0, -9)):
            found["crash"] += 1
            text = f"exit code {child.returncode}: {errors.read_text(errors='replace')[-3000:]}"
            record(log, name, number, running or "", {"end": "crash", "text": text})
    return found


def environment(folder):
    """The environment of a batch, whose temporary files are removed with its folder."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": folder}


def read_lines(file):
    """The complete lines of JSON that were added to a file."""
    while (line := file.readline()).endswith(b"\n"):
        yield json.loads(line)
    file.seek(-len(line), 1)


def record(log, name, number, case, facts):
    if facts["end"] in OUTCOMES:
        log.write(json.dumps({"kind": name, "batch": number, "case": case, **facts}) + "\n")
        log.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--log", default="fuzz.jsonl", help="file for failures")
    parser.add_argument("--batch", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batch:
        run_batch(options.batch[0], *map(int, options.batch[1:]))
        return 0
    names, total = options.kinds.split(","), Counter()
    print(f"{'kind':14} {'tried':>6} {'read':>6} {'rejected':>8} {'failed':>6}  seconds", flush=True)
    with Path(options.log).open("w") as log:
        for i, name in enumerate(names):
            start = time.monotonic()
            share = options.cases // len(names) + (i < options.cases % len(names))
            found = try_kind(name, 100 * options.seed + i, share, log)
            print_line(name, found, time.monotonic() - start)
            total += found
    print_line("all", total, 0.0)
    print(", ".join(f"{total[outcome]} {outcome}" for outcome in OUTCOMES), flush=True)
    return int(any(total[outcome] for outcome in OUTCOMES))


def print_line(name, found, seconds):
    failed = sum(found[outcome] for outcome in OUTCOMES)
    took = f"{seconds:8.0f}" if seconds else ""
    print(f"{name:14} {sum(found.values()):6} {found['read']:6} {found['rejected']:8} {failed:6} {took}", flush=True)


if __name__ == "__main__":
    OUT = os.dup(1)
    psutil.Process().nice(5)
    sys.exit(main())
