"""Made-up records and studies for the report, with names that would break a page which escapes nothing."""

import json

import pytest

from heterophily.htmp.identity import identity_of
from heterophily.htmp.method import make_method, settings_of
from heterophily.models import find_method
from heterophily.runs.record import Record, write_record

WILD = "<img src=x onerror=\"document.title=1\"> & 'co'"  # a name that wants to be markup
MODELS = ("gcn", "cmgnn", WILD)
DATASETS = ("chameleon-f", WILD)
GROUPS = ("0-20", "20-40", "40-60", "60-80", "80-100")
CLASSES = ("plain", WILD, "</script><script>alert(1)</script>")


def record(model, dataset, split, **fields):
    """A finished run whose accuracy follows from its names."""
    known = model in ("gcn", "cmgnn")
    decided = make_method(find_method(model), {"max_epochs": 9}) if known else None
    score = 0.4 + 0.05 * MODELS.index(model) + 0.01 * split + 0.1 * DATASETS.index(dataset)
    curve = [0.2 + 0.2 * i / 300 for i in range(300)]
    facts = {
        "key": f"{MODELS.index(model)}{DATASETS.index(dataset)}{split}" * 8,
        "model": model,
        "dataset": dataset,
        "split": str(split),
        "seed": split,
        "settings": settings_of(decided) if decided else {"width": 8, "note": WILD},
        "preset": "published",
        "source": "command line",
        "recipe": identity_of(decided) if decided else WILD,
        "checksum": dataset,
        "run": {
            "scores": {"val": {"accuracy": score}, "test": {"accuracy": score}},
            "best_epoch": 250,
            "n_epochs": 300,
            "seconds": 3.0,
            "milliseconds_per_epoch": 10.0 + 5 * MODELS.index(model),
            "peak_memory": 400.0,
            "curve": {"loss": [1 - v for v in curve], "val_accuracy": curve, "seconds": [0.01] * 300},
        },
        "parameters": 1234,
        "details": {"split": {"train": 48, "val": 32, "test": 20}},
        "environment": {"processor": f"Abacus {WILD}", "torch": "2.13"},
        "finished": "2030-01-01",
    }
    if model == "cmgnn":
        k = len(CLASSES)
        facts["details"]["compatibility"] = [[1 / k] * k for _ in range(k)]
    return Record(**{**facts, **fields})


def records():
    """Three methods on two datasets with three splits."""
    return [record(m, d, split) for m in MODELS for d in DATASETS for split in range(3)]


def studies():
    """Every table that the report looks at, for both datasets."""
    found = {}
    for dataset in DATASETS:
        for model in ("cmgnn", WILD):
            own = {"dataset": dataset, "model": model, "split": "0", "seed": 0}
            found.setdefault("degrees", []).extend(
                {**own, "group": g, "lowest_degree": i, "highest_degree": i + 2, "test_accuracy": 40 + i, "paper": 41.0}
                for i, g in enumerate(GROUPS)
            )
            found.setdefault("ablation", []).extend(
                {**own, "variant": v, "test_accuracy": 50 - i, "paper": 49.0 - i}
                for i, v in enumerate(("full", f"without {WILD}", "without both"))
            )
            found.setdefault("compatibility-trace", []).extend(
                {**own, "epoch": e, "distance": 0.2 / (e + 2)} for e in (-1, 0, 5)
            )
            for study, kinds in {
                "compatibility": ("observed", "estimated"),
                "desired": ("observed", "desired"),
            }.items():
                found.setdefault(f"{study}-matrices", []).extend(
                    matrix(own, kind) for kind in kinds for matrix in entries()
                )
            found.setdefault("runtime", []).append({**own, "milliseconds": 20.0, "n_edges": 10})
            for size in (100, 1000):
                found.setdefault("scaling", []).append(
                    {
                        **own,
                        "milliseconds": size / 10,
                        "median_milliseconds": size / 10,
                        "training_mb": size / 5,
                        "n_edges": size,
                    }
                )
            for homophily in (0.2, 0.8):
                drawn = {**own, "homophily": homophily, "degree": 4, "test_accuracy": 70 * homophily + 10}
                found.setdefault("synthetic", []).append({**drawn, "pattern": "easy", "paper": 60.0})
                found.setdefault("sweep", []).extend({**drawn, "rest": rest} for rest in (0.02, 1.0))
        found.setdefault("overlap", []).extend(
            {"dataset": dataset, "group": g, "class_a": "a", "class_b": "b", "overlap": 0.5} for g in ("all", *GROUPS)
        )
    return found


def entries():
    """A function per entry of a matrix: from columns and a kind to its row."""

    def entry(a, b):
        def make(own, kind):
            share = (0.6 if a == b else 0.2) - (0.3 if kind == "desired" and b == CLASSES[0] else 0)
            return {**own, "kind": kind, "node_class": a, "neighbor_class": b, "share": share}

        return make

    return [entry(a, b) for a in CLASSES for b in CLASSES]


@pytest.fixture(scope="session")
def results_folder(tmp_path_factory):
    """A folder of records with studies beside them."""
    folder = tmp_path_factory.mktemp("report") / "results"
    for each in records():
        write_record(folder, each)
    (folder / "studies").mkdir()
    for name, rows in studies().items():
        (folder / "studies" / f"{name}.json").write_text(json.dumps(rows))
    return folder


@pytest.fixture(scope="session")
def report_file(results_folder):
    """The report of that folder."""
    from heterophily.views.page.build import write_report

    return write_report(results_folder, results_folder.parent / "report.html")


@pytest.fixture(scope="session")
def wild():
    """The name that wants to be markup."""
    return WILD


@pytest.fixture
def made():
    """Make a record: model, dataset, split, other fields."""
    return record
