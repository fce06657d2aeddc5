"""Plot the figure of the README: one set of nodes, three ways to connect them.

Run `python examples/three_graphs.py [FILE]`. The nodes are scikit-learn's digits. The edges are
sampled with three compatibility matrices. Neighbors predict a node's class under homophily and under
"good" heterophily, but hardly under "bad" heterophily.
"""

import sys
from dataclasses import replace

from heterophily import diagnose, synthetic_graph
from heterophily.data.synthetic import digits
from heterophily.views.matplotlib import save_charts

GRAPHS = {"Homophily": (0.8, "hard"), "Good heterophily": (0.2, "easy"), "Bad heterophily": (0.2, "hard")}
KINDS = {
    "Homophily": "homophily",
    "Good heterophily": "helpful heterophily",
    "Bad heterophily": "edges mislead plain averaging",
}
PEAK = 0.8  # value of the strongest color


def main(path: str) -> None:
    """Diagnose the three graphs and plot their compatibility matrices side by side."""
    charts = []
    for title, (homophily, pattern) in GRAPHS.items():
        graph = synthetic_graph(digits(), homophily=homophily, pattern=pattern, degree=18)
        diagnosis = diagnose(graph)
        assert diagnosis.kind == KINDS[title], diagnosis.verdict
        matrix = diagnosis.charts[0]
        marks = [replace(matrix.marks[0], limits=(0, PEAK))]
        panel = f"{title}\npredicted by neighbors: {diagnosis.neighborhood_accuracy:.0%}"
        charts.append(replace(matrix, panel=panel, marks=marks))
    print(f"wrote {save_charts(charts, path)}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "three-graphs.png")
