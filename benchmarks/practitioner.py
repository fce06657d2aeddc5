"""Compare `auto` with models that a practitioner would try first, and print the table.

Run `python benchmarks/practitioner.py [--datasets ...] [--models ...] [--splits N] [--budget 5m] [--out FILE]`.

Each model is trained on the training nodes of a split. Validation nodes select the number of trees, the penalty of the
regression, and the epoch of a network. Dense columns are standardized for the regression and for networks. Test labels
are used only for the final score. Tolokers is scored by ROC AUC, all other graphs by accuracy. Each result is appended
to a file when it is finished, and a rerun computes only missing ones. With `--table`, the script only prints the table
of the file. If other work shares the machine, `--cpu-time` makes the result independent of it.

Models: `boosting raw`, `boosting +neighbors` (means over neighbors), `boosting +labels` (and label shares of training
nodes), `logistic`, `GCN`, `SAGE`, `auto`, and the name of every method of the library, with its default settings.
"""

import argparse
import json
import resource
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from heterophily import load
from heterophily.core import neighborhood as nb
from heterophily.core.graph import Graph, Split
from heterophily.models.ensemble import scaled_features, with_features
from heterophily.training.auto.budget import Clock
from heterophily.training.auto.fit import feature_scaling, fit_auto
from heterophily.training.auto.task import TrainingOptions
from heterophily.training.scoring import SCORINGS, Scoring
from heterophily.training.trainer import train

RESULTS = Path("docs/results/practitioner.jsonl")
DATASETS = ("tolokers", "chameleon", "wisconsin", "actor", "blogcatalog", "photo")
MODELS = ("boosting raw", "boosting +neighbors", "boosting +labels", "logistic", "GCN", "SAGE", "auto")
BY_ROC_AUC = ("tolokers",)
# Two layers, as in common tutorials. SAGE concatenates a node with the mean of its neighbors.
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "GCN": ("gcn", {"width": 64, "n_layers": 2, "dropout": 0.5, "learning_rate": 0.01, "weight_decay": 5e-4}),
    "SAGE": ("sage+", {"width": 64, "n_layers": 2, "dropout": 0.5, "learning_rate": 0.01, "weight_decay": 5e-4}),
}
LIMITS: dict[str, Any] = {"max_epochs": 500, "patience": 100}
N_TREES, PATIENCE = 300, 30
WIDE = 200  # columns from which trees use fewer bins, because the time is proportional to columns times bins
PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0)
Table = np.ndarray[Any, Any] | sp.csr_array


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--budget", default="5m", help="Time budget of auto per split.")
    parser.add_argument("--workers", type=int, default=None, help="Worker processes of auto.")
    parser.add_argument("--cpu-time", action="store_true", help="The budget is CPU time of auto in one process.")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="Only print the table.")
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name, model, number in [] if args.table else missing(args):
        run(name, model, number, args)
    print(table(read(args.out), args.datasets, args.models, args.splits))


def read(path: Path) -> list[dict[str, Any]]:
    """Return the finished results."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def missing(args: argparse.Namespace) -> Iterator[tuple[str, str, int]]:
    """Yield dataset, model, and split of each result that is not in the file, one split of everything at a time."""
    done = {(row["dataset"], row["model"], row["split"]) for row in read(args.out)}
    for number in range(args.splits):
        for name in args.datasets:
            for model in args.models:
                if (name, model, number) not in done:
                    yield name, model, number


def run(name: str, model: str, number: int, args: argparse.Namespace) -> None:
    """Train a model on a split and append its result."""
    graph = load(name)
    split = graph.split(str(number))
    scoring = SCORINGS["roc_auc" if name in BY_ROC_AUC else "accuracy"]
    start, clock = time.perf_counter(), cpu_seconds()
    result = fit(model, graph, split, scoring, args)
    times = {"seconds": time.perf_counter() - start, "cpu_seconds": cpu_seconds() - clock}
    times = {name: round(value, 1) for name, value in times.items()}
    row = {"dataset": name, "model": model, "split": number, "scoring": scoring.name, **result, **times}
    if model == "auto":
        row["budget"] = f"{args.budget} of CPU time, one process" if args.cpu_time else args.budget
    with args.out.open("a") as file:
        file.write(json.dumps(row) + "\n")
    shown = f"val {row['val']:.4f}  test {row['test']:.4f}  {row['seconds']:.0f} s"
    print(f"{name:12} {model:20} split {number}  {shown}", flush=True)


def cpu_seconds() -> float:
    """Return the CPU time of this process and of the worker processes that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def fit(model: str, graph: Graph, split: Split, scoring: Scoring, args: argparse.Namespace) -> dict[str, Any]:
    """Return the scores of a model on validation and test nodes, and the leaderboard of auto."""
    if model == "auto":
        options = TrainingOptions(scoring=scoring)
        workers = 1 if args.cpu_time else args.workers
        with cpu_clock() if args.cpu_time else nullcontext():
            found = fit_auto(graph, split, options, budget=args.budget, workers=workers)
        members = {entry.name: round(entry.weight, 3) for entry in found.leaderboard.members}
        done = {e.name: round(e.score, 4) for e in found.leaderboard.ranked if e.status == "done"}
        return {**both(found.run.scores, scoring), "members": members, "done": done, "ended": found.leaderboard.stopped}
    if model.startswith("boosting ") or model == "logistic":
        make = logistic if model == "logistic" else boosting
        return make(model, table_of(model, graph, split), graph, split, scoring)
    method, settings = NETWORKS.get(model, (model, {}))
    scaled = with_features(graph, scaled_features(graph.features, *feature_scaling(graph)))
    _, run = train(method, scaled, split=split, progress=False, scoring=scoring, **(LIMITS | settings))
    return both(run.scores, scoring)


@contextmanager
def cpu_clock() -> Iterator[None]:
    """Let the budget of auto count the CPU time of this process."""
    clock = partial(Clock, start=time.process_time())
    with patch("time.monotonic", time.process_time), patch("heterophily.training.auto.fit.Clock", clock):
        yield


def both(scores: dict[str, dict[str, float]], scoring: Scoring) -> dict[str, float]:
    """Return the validation and the test score."""
    return {part: scores[part][scoring.name] for part in ("val", "test")}


def table_of(model: str, graph: Graph, split: Split) -> Table:
    """Return the columns of a model, (N, d): sparse for the regression, dense for trees."""
    x = nb.as_scipy(graph.features)
    if model == "logistic":
        return x
    blocks = [x.toarray() if sp.issparse(x) else x]
    if model != "boosting raw":
        mean = nb.walk_matrix(graph.symmetric) @ x
        blocks.append(mean.toarray() if sp.issparse(mean) else mean)
    if model == "boosting +labels":
        labels = graph.with_labels_only(split.train).labels.numpy()
        blocks.append(np.column_stack(nb.label_shares(graph.symmetric, labels, graph.n_classes)))
    return np.concatenate(blocks, axis=1).astype(np.float32)


def boosting(_: str, x: Table, graph: Graph, split: Split, scoring: Scoring) -> dict[str, Any]:
    """Score trees with the defaults of scikit-learn, except that validation nodes select their number."""
    labels, best, n_trees, patience = graph.labels, -np.inf, 0, 0
    options = {"max_bins": 255 if x.shape[1] <= WIDE else 31}
    classifier = HistGradientBoostingClassifier(early_stopping=False, warm_start=True, random_state=0, **options)
    result: dict[str, Any] = {}
    while n_trees < N_TREES and patience < PATIENCE:
        n_trees += 10
        classifier.set_params(max_iter=n_trees).fit(x[split.train], labels[split.train].numpy())
        found = evaluate(classifier, x, graph, split, scoring)
        patience = 0 if found["val"] > best else patience + 10
        if found["val"] > best:
            best, result = found["val"], {**found, "n_trees": n_trees}
    return result


def logistic(_: str, x: Table, graph: Graph, split: Split, scoring: Scoring) -> dict[str, Any]:
    """Score regressions with several penalties on scaled columns, and return the best on validation nodes."""
    scaler = MaxAbsScaler() if sp.issparse(x) else StandardScaler()
    scaled = scaler.fit_transform(x)
    results = []
    for penalty in PENALTIES:
        classifier = LogisticRegression(C=penalty, max_iter=200)
        classifier.fit(scaled[split.train.numpy()], graph.labels[split.train].numpy())
        results.append({**evaluate(classifier, scaled, graph, split, scoring), "C": penalty})
    return max(results, key=lambda each: each["val"])


def evaluate(classifier: Any, x: Table, graph: Graph, split: Split, scoring: Scoring) -> dict[str, float]:
    """Return the score of a classifier on validation and test nodes."""
    scores = {}
    for part, nodes in (("val", split.val), ("test", split.test)):
        logits = torch.full((len(nodes), graph.n_classes), -1e9, dtype=torch.double)
        logits[:, classifier.classes_] = torch.from_numpy(
            np.log(classifier.predict_proba(x[nodes.numpy()]).astype(np.float64) + 1e-12)
        )
        scores[part] = scoring.score(logits, graph.labels[nodes])
    return scores


def table(rows: list[dict[str, Any]], datasets: list[str], models: list[str], n_splits: int) -> str:
    """Return mean, standard error, and CPU seconds as a Markdown table. The best mean of a row is bold."""
    cells: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["split"] < n_splits:
            cells[row["dataset"], row["model"]].append(row)
    lines = ["| graph | splits | " + " | ".join(models) + " |", "|---|---|" + "---|" * len(models)]
    for name in datasets:
        found = {model: cells[name, model] for model in models if cells[name, model]}
        if found:
            best = max(found, key=lambda model: mean(r["test"] for r in found[model]))
            texts = [cell(found.get(model, []), is_best=model == best) for model in models]
            sizes = sorted({len(each) for each in found.values()})
            lines.append(f"| {name} | {'-'.join(map(str, sizes))} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def cell(rows: list[dict[str, Any]], *, is_best: bool) -> str:
    """Return one cell: mean ± standard error in percent, and seconds of CPU time."""
    if not rows:
        return "–"
    scores = [100 * row["test"] for row in rows]
    error = f" ± {stdev(scores) / len(scores) ** 0.5:.1f}" if len(scores) > 1 else ""
    number = f"{mean(scores):.1f}{error}"
    mark = "**" if is_best else ""
    return f"{mark}{number}{mark} ({mean(row['cpu_seconds'] for row in rows):.0f} s)"


if __name__ == "__main__":
    main()
