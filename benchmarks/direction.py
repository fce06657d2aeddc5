"""Compare the values of the setting `direction` on directed graphs, from the records of `bench`.

Run from the root of the repository, for example:

    for direction in symmetric in out both; do
        heterophily bench --out runs --models gcn+,sage+ --datasets chameleon-f,squirrel-f,chameleon \
            --set width=64 --set n_layers=2 --set patience=100 --set learning_rate=0.005 --set direction=$direction
    done
    python benchmarks/direction.py runs

It prints one row per dataset and method, as Markdown: validation and test accuracy with their standard errors over the
splits that all directions have, the direction that validation selects, and that of the diagnosis.
"""

import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

from heterophily import load
from heterophily.analysis.direction import measure_direction
from heterophily.runs.record import Record
from heterophily.runs.store import Store

DIRECTIONS = ("symmetric", "in", "out", "both")
Scores = dict[str, dict[str, tuple[float, float]]]  # by direction and split: validation and test accuracy


def scores_of(records: list[Record]) -> dict[tuple[str, str], Scores]:
    """Return the accuracies of finished runs by dataset and method."""
    found: dict[tuple[str, str], Scores] = defaultdict(lambda: defaultdict(dict))
    for record in records:
        if record.done and record.run is not None:
            val, test = (record.run["scores"][part]["accuracy"] for part in ("val", "test"))
            found[record.dataset, record.model][str(record.settings["direction"])][record.split] = val, test
    return found


def mean_text(values: list[float]) -> str:
    """Return mean and standard error in percent."""
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{100 * mean(values):.1f} ± {100 * error:.1f}"


def row(dataset: str, model: str, scores: Scores) -> str:
    """Return one row of the table."""
    splits = sorted(set.intersection(*(set(scores[direction]) for direction in DIRECTIONS)))
    columns = [[[scores[d][split][part] for split in splits] for d in DIRECTIONS] for part in (0, 1)]
    best = DIRECTIONS[max(range(4), key=lambda i: mean(columns[0][i]))]
    cells = [f"{mean_text(val)} / {mean_text(test)}" for val, test in zip(*columns, strict=True)]
    report = measure_direction(load(dataset))
    advised = report.best if report is not None and report.carries_information else "symmetric"
    return " | ".join(["", dataset, model, str(len(splits)), *cells, best, advised, ""]).strip()


def main(folder: str) -> None:
    """Print the table of a folder of records."""
    print("| dataset | method | splits | symmetric | in | out | both | validation selects | diagnosis advises |")
    print("|---|---|---:|---|---|---|---|---|---|")
    for (dataset, model), scores in sorted(scores_of(Store(Path(folder)).read()).items()):
        if all(scores[direction] for direction in DIRECTIONS):
            print(row(dataset, model, scores))


if __name__ == "__main__":
    main(sys.argv[1])
