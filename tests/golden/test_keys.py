"""Check that a benchmark planned by this code recognizes every stored run as finished.

`keys.json` lists the runs of `docs/results/runs.jsonl`: per model and dataset the digest of the method, and
per split and seed the key of the run. It is the reference for code that computes keys differently and
assigns new keys to the stored records. The tests compare the plan with the records, not with `keys.json`, so
they remain valid after such a change.

Run from the root of the repository:

    python tests/golden/test_keys.py --check   # print how many stored records still have their first keys
    python tests/golden/test_keys.py --write   # replace keys.json by the keys of the stored records
"""

import argparse
import json
import sys
from functools import cache
from pathlib import Path

import pytest

from heterophily.benchmark.plan import MODELS, plan
from heterophily.htmp.guidance import SymmetricMean
from heterophily.htmp.identity import identity_of
from heterophily.htmp.method import make_method
from heterophily.models import find_method
from heterophily.models.settings import tuned
from heterophily.runs.job import RunOptions, now
from heterophily.runs.record import _current_identity, read_records, write_record
from heterophily.runs.store import Store


def planned(graphs):
    """Return the jobs of the benchmark."""
    return plan(MODELS, graphs)


def finished(folder, job):
    """Return the record that makes the benchmark skip a job, or None if the job would run."""
    record = Store(folder).find_finished(job, RunOptions(now()))
    return record if record is not None and record.done else None


def recipe_digest(model, dataset):
    """Return the digest of a model with the bundled settings for a dataset."""
    return identity_of(make_method(find_method(model), tuned(model, dataset)))


FILE = Path(__file__).with_name("keys.json")
RUNS = Path(__file__).parents[2] / "docs" / "results" / "runs.jsonl"
DATASETS = ("actor", "blogcatalog", "chameleon-f", "flickr", "photo", "pubmed", "squirrel-f")


@cache
def stored():
    return read_records(RUNS)


def place(record):
    return record.model, record.dataset, record.split, record.seed


def keys_of(records):
    """Return the content of `keys.json`: recipes, and keys by `<split> <seed>`."""
    found = {}
    for r in sorted(records, key=place):
        pair = found.setdefault(f"{r.model} {r.dataset}", {"recipe": r.recipe, "keys": {}})
        assert pair["recipe"] == r.recipe
        pair["keys"][f"{r.split} {r.seed}"] = r.key
    return found


def runs_in(keys):
    return {(pair, run) for pair, facts in keys.items() for run in facts["keys"]}


def test_key_file_lists_the_stored_runs():
    assert len(stored()) == len(MODELS) * len(DATASETS) * 10
    assert runs_in(json.loads(FILE.read_text(encoding="utf-8"))) == runs_in(keys_of(stored()))


def test_bundled_settings_have_the_identities_of_stored_records():
    pairs = {(r.model, r.dataset): r.identity for r in stored()}
    assert {pair for pair, identity in pairs.items() if recipe_digest(*pair) != identity} == set()


def test_stored_digests_and_current_identities_correspond_one_to_one():
    pairs = {(r.recipe, r.identity) for r in stored()}
    assert len(pairs) == len({old for old, _ in pairs}) == len({new for _, new in pairs})


@pytest.mark.real
def test_plan_finds_every_stored_record_as_finished(real_graph, tmp_path):
    for record in stored():
        write_record(tmp_path, record)
    jobs = planned({name: real_graph(name) for name in DATASETS})
    records = {place(job.empty_record): finished(tmp_path, job) for job in jobs}
    assert len(jobs) == len(records) == len(stored())
    assert {run for run, record in records.items() if record is None} == set()
    assert records == {place(record): record for record in stored()}


@pytest.mark.real
def test_records_are_recognized_after_a_part_was_renamed(real_graph, tmp_path):
    before = {record.identity for record in stored()}
    SymmetricMean.__name__ = "SymmetricallyNormalized"
    _current_identity.cache_clear()
    try:
        assert {record.identity for record in stored()} != before
        test_plan_finds_every_stored_record_as_finished(real_graph, tmp_path)
    finally:
        SymmetricMean.__name__ = "SymmetricMean"
        _current_identity.cache_clear()


def write():
    """Replace `keys.json`, with one line per model and dataset."""
    keys = keys_of(stored())
    lines = [f" {json.dumps(pair)}: {json.dumps(facts)}" for pair, facts in keys.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"wrote the keys of {len(stored())} records to {FILE}")


def check():
    """Print how many records have the keys and recipe digests of `keys.json`. Return 0 if all have."""
    first, today = json.loads(FILE.read_text(encoding="utf-8")), keys_of(stored())
    runs = runs_in(first) & runs_in(today)
    equal = sum(first[pair]["keys"][run] == today[pair]["keys"][run] for pair, run in runs)
    identities = {f"{r.model} {r.dataset}": r.identity for r in stored()}
    same = sum(recipe_digest(*pair.split(" ")) == identities[pair] for pair in first)
    print(f"{equal} of {len(runs_in(first))} stored records have the keys of {FILE.name}")
    print(f"{same} of {len(first)} identities equal")
    return int(equal < len(runs_in(first)) or same < len(first))


def main():
    parser = argparse.ArgumentParser(description="Compare or write the keys of stored runs.")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true", help="Compare with keys.json.")
    mode.add_argument("--write", action="store_true", help="Replace keys.json.")
    return write() if parser.parse_args().write else check()


if __name__ == "__main__":
    sys.exit(main())
