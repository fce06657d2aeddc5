"""Compare the verdicts of `diagnose` with the methods that win on held-out nodes.

Run `python benchmarks/diagnosis.py` after `python benchmarks/diagnosis_truth.py`. It measures the probes of graphs that
have none yet, and writes the tables of docs/explanation/diagnosis.md. With `--again`, it measures all probes again,
which takes about ten minutes.

* **Truth.** Edges help if GCN, SAGE (`sage+`, two layers), or CMGNN scores higher than both MLP and boosted trees on
  the features. Because no network uses the labels of neighbors, boosted trees with them are compared, too. "Higher"
  means by 2.5 standard errors; they contain the variance over divisions of the labeled nodes and that of the test
  nodes. If no method is better, but an advantage of 15 points cannot be excluded, the truth is unclear, and no verdict
  is counted.
* **Verdict.** Wrong are: edges help, where no method gains; `homophily`, where GCN loses to MLP; `edges mislead plain
  averaging`, where GCN gains; and `edges add nothing measurable`, where edges help. `not enough labels to tell` is
  undecided.

Thresholds of the verdict may be chosen only on graphs with even numbers. The tables report odd and even ones
separately.
"""

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diagnosis_graphs import draw_recipe, open_graph
from diagnosis_truth import COMPARED, LABELS, TREES, read_lines

from heterophily.analysis.probes import Probes, measure_probes
from heterophily.analysis.verdict import MODELS, NOT_ENOUGH, Verdict, decide
from heterophily.core.homophily import measure_homophily
from heterophily.core.types import FloatArray

WITH_EDGES, WITHOUT = ("gcn", "sage+", "cmgnn", LABELS), ("mlp", TREES)
START, END = "<!-- confusion matrix -->", "<!-- end of the confusion matrix -->"
N_ERRORS, UNCLEAR, TRAINING_ERROR = 2.5, 0.15, 0.02
NOTHING, MISLEAD = "edges add nothing measurable", "edges mislead plain averaging"
HELP = tuple(kind for kind in MODELS if kind not in (NOT_ENOUGH, NOTHING))
GAINS, TIES, LOSES, NO_GAIN, IS_UNCLEAR = (
    *("edges help, GCN gains", "edges help, GCN ties", "edges help, GCN loses", "edges do not help", "unclear"),
)


@dataclass(frozen=True)
class Case:
    """The stored results of one graph."""

    key: str
    lines: Sequence[dict[str, Any]]  # of divisions
    probed: dict[str, Any]

    @property
    def pattern(self) -> str:
        """What the edges depend on."""
        return draw_recipe(int(self.key)).pattern if self.key.isdigit() else "real"

    def scores(self, method: str) -> FloatArray:
        """Return the scores of a method in all divisions."""
        return np.array([line["scores"][method] for line in self.lines])

    def margin(self, left: str, right: str) -> tuple[float, float]:
        """Return the mean difference of two methods, and its standard error."""
        values = self.scores(left) - self.scores(right)
        weights = np.array([(name == left) - (name == right) for name in COMPARED], dtype=float)
        upper = np.triu_indices(len(COMPARED))
        variances = []
        for line in self.lines:
            matrix = np.zeros((len(COMPARED), len(COMPARED)))
            matrix[upper] = line["covariance"]
            variances.append(weights @ (matrix + np.triu(matrix, 1).T) @ weights / 1e6)
        training = max(float(values.std(ddof=1)) if len(values) > 1 else 0.0, TRAINING_ERROR)
        return float(values.mean()), float((np.mean(variances) + training**2 / len(values)) ** 0.5)

    @cached_property
    def truth(self) -> str:
        """What the scores of the trained methods show."""
        margins = [min((self.margin(m, base) for base in WITHOUT), key=lambda x: x[0]) for m in WITH_EDGES]
        if any(mean > N_ERRORS * error for mean, error in margins):
            mean, error = self.margin("gcn", "mlp")
            return GAINS if mean > N_ERRORS * error else LOSES if mean < -N_ERRORS * error else TIES
        return IS_UNCLEAR if max(mean + N_ERRORS * error for mean, error in margins) > UNCLEAR else NO_GAIN

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict from stored scores of the probes."""
        row, probes = self.probed, None
        if "scores" in row:
            scores = {name: np.array(values) for name, values in row["scores"].items()}
            probes = Probes(scores, row["kinds"], row["n"], row["n_folds"])
        return decide(probes, row["adjusted"])

    @property
    def is_wrong(self) -> bool:
        """Whether the verdict contradicts the truth."""
        truth, kind = self.truth, self.verdict.kind
        if truth == NO_GAIN:
            return kind in HELP
        return truth != IS_UNCLEAR and (kind, truth) in {
            *((NOTHING, each) for each in (GAINS, TIES, LOSES)),
            ("homophily", LOSES),
            (MISLEAD, GAINS),
        }


def probe(key: str) -> dict[str, Any]:
    """Return the scores of the probes of a graph and what else the verdict depends on."""
    graph = open_graph(key)[0]
    start = time.process_time()
    probes = measure_probes(graph)
    seconds = round(time.process_time() - start, 2)
    adjusted = measure_homophily(graph.symmetric, graph.labels, graph.n_classes).adjusted
    row = {"graph": key, "seconds": seconds, "n_labeled": int(graph.labeled.sum()), "adjusted": round(adjusted, 4)}
    if probes is None:
        return row
    scores = {name: values.round(4).tolist() for name, values in probes.scores.items()}
    return {**row, "scores": scores, "kinds": dict(probes.kinds), "n": probes.n_sampled, "n_folds": probes.n_folds}


def confusion(title: str, cases: Sequence[Case]) -> list[str]:
    """Return the confusion matrix of some graphs in Markdown."""
    counts = Counter((case.truth, case.verdict.kind) for case in cases)
    rows = [
        f"**{title}: {len(cases)} graphs.** {summary(cases)}",
        "",
        f"| truth | {' | '.join(MODELS)} |",
        f"|---|{'---:|' * len(MODELS)}",
    ]
    for truth in (GAINS, TIES, LOSES, NO_GAIN, IS_UNCLEAR):
        rows.append(f"| {truth} | {' | '.join(str(counts[truth, kind]) for kind in MODELS)} |")
    return [*rows, ""]


def summary(cases: Sequence[Case]) -> str:
    """Return the shares of right, undecided, and wrong verdicts, and of gains from edges that depend on nothing."""
    clear = [case for case in cases if case.truth != IS_UNCLEAR]
    n, wrong = max(1, len(clear)), [case.key for case in clear if case.is_wrong]
    undecided = sum(case.verdict.kind == NOT_ENOUGH for case in clear)
    text = f"Of {len(clear)} graphs with a clear truth, {(len(clear) - len(wrong) - undecided) / n:.0%} are right, "
    names = f" ({', '.join(wrong)})" if wrong else ""
    text += f"{undecided / n:.0%} undecided, and {len(wrong) / n:.1%} wrong{names}."
    if chance := [case for case in cases if case.pattern == "random"]:
        n_false = sum(case.verdict.kind in HELP for case in chance)
        text += f" The verdict is that edges help on {n_false} of {len(chance)} graphs with random edges."
    return text


def report(cases: Sequence[Case]) -> list[str]:
    """Return all tables in Markdown."""
    random = [case for case in cases if case.key.isdigit()]
    odd, even = ([c for c in random if int(c.key) % 2 == parity] for parity in (1, 0))
    real = [case for case in cases if not case.key.isdigit()]
    return [
        *confusion("Random graphs with odd numbers", odd),
        *confusion("Random graphs with even numbers", even),
        *confusion("Real graphs", real),
        *by_graph(real),
    ]


def by_graph(cases: Sequence[Case]) -> list[str]:
    """Return one row for each graph in Markdown."""
    rows = ["| graph | labeled nodes | truth | verdict | probability |", "|---|---:|---|---|---:|"]
    for case in cases:
        verdict = case.verdict
        shown = "" if verdict.kind == NOT_ENOUGH else f"{verdict.probability:.1%}"
        rows.append(f"| {case.key} | {case.probed['n_labeled']:,} | {case.truth} | {verdict.kind} | {shown} |")
    return rows


def replace_block(page: Path, rows: Sequence[str]) -> None:
    """Write the tables between the two comments of a page."""
    before, rest = page.read_text(encoding="utf-8").split(START)
    after = rest.split(END)[1]
    page.write_text("\n".join([before + START, "", *rows, "", END + after]), encoding="utf-8")


def main() -> None:
    """Measure what is missing, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("docs/diagnosis"))
    parser.add_argument("--page", type=Path, default=Path("docs/explanation/diagnosis.md"))
    parser.add_argument("--again", action="store_true", help="measure all probes again")
    given = parser.parse_args()
    torch.set_num_threads(1)
    truth: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in read_lines(given.folder / "truth.jsonl"):
        truth[line["graph"]].append(line)
    path = given.folder / "probes.jsonl"
    probed = {} if given.again else {line["graph"]: line for line in read_lines(path)}
    for key in truth:
        if key not in probed:
            probed[key] = probe(key)
            path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in probed.values()))
    rows = report([Case(key, lines, probed[key]) for key, lines in truth.items()])
    replace_block(given.page, rows)
    print("\n".join(rows))


if __name__ == "__main__":
    main()
