"""Compare the values of the setting `direction` on directed graphs, from the records of `bench`.

Run from the root of the repository, after the commands at the end of docs/how-to/direction.md:

    python benchmarks/direction.py runs

It prints two tables as Markdown, with one row per dataset and method: validation and test accuracy with their standard
errors over the splits that all directions have, and paired differences to `direction=symmetric` with their standard
errors, the direction that the diagnosis advises, and whether the differences on validation nodes confirm it.
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


def difference(values: list[float], reference: list[float]) -> tuple[float, float]:
    """Return the mean of paired differences in percentage points, and its standard error."""
    pairs = [100 * (value - other) for value, other in zip(values, reference, strict=True)]
    return mean(pairs), stdev(pairs) / len(pairs) ** 0.5 if len(pairs) > 1 else float("nan")


def advice(dataset: str) -> str:
    """Return the direction that the diagnosis advises. It does not train any method."""
    report = measure_direction(load(dataset))
    return report.best if report is not None and report.carries_information else "symmetric"


def compare(val: dict[str, list[float]], advised: str) -> str:
    """Return whether the accuracy of validation nodes confirms the advice, by two standard errors of a difference."""
    gains = {direction: difference(val[direction], val["symmetric"]) for direction in DIRECTIONS[1:]}
    better = [direction for direction, (gain, error) in gains.items() if gain > 2 * error]
    if advised == "symmetric":
        return f"no, {' and '.join(better)} better" if better else "yes"
    if advised in better:
        return "yes"
    gain, error = gains[advised]
    return "no" if gain < -2 * error else "undecided"


def rows(dataset: str, model: str, scores: Scores) -> tuple[str, str]:
    """Return one row of the table of accuracies and one of the table of differences."""
    splits = sorted(set.intersection(*(set(scores[direction]) for direction in DIRECTIONS)))
    val, test = ({d: [scores[d][split][part] for split in splits] for d in DIRECTIONS} for part in (0, 1))
    selected, advised = max(DIRECTIONS, key=lambda d: mean(val[d])), advice(dataset)
    cells = [f"{mean_text(val[d])} / {mean_text(test[d])}" for d in DIRECTIONS]
    gains = [
        " / ".join("{:+.1f} ± {:.1f}".format(*difference(part[d], part["symmetric"])) for part in (val, test))
        for d in DIRECTIONS[1:]
    ]
    first = ["", dataset, model, str(len(splits)), *cells, selected, ""]
    second = ["", dataset, model, *gains, advised, compare(val, advised), ""]
    return " | ".join(first).strip(), " | ".join(second).strip()


def main(folder: str) -> None:
    """Print the tables of a folder of records."""
    found = sorted(scores_of(Store(Path(folder)).read()).items())
    tables = [rows(*key, each) for key, each in found if min(len(each[direction]) for direction in DIRECTIONS) > 1]
    print("| dataset | method | splits | symmetric | in | out | both | validation selects |")
    print("|---|---|---:|---|---|---|---|---|")
    print("\n".join(first for first, _ in tables))
    print("\n| dataset | method | in | out | both | diagnosis advises | confirmed by validation |")
    print("|---|---|---|---|---|---|---|")
    print("\n".join(second for _, second in tables))


if __name__ == "__main__":
    main(sys.argv[1])
