"""Plot the figure of the README: one set of nodes, connected in three ways.

Run `python examples/three_graphs.py [FILE]`. The nodes are the digits of scikit-learn, and the edges are
sampled from three compatibility matrices. Neighbors predict a node's class under homophily and under
"good" heterophily, but not under "bad" heterophily.
"""

import sys

from matplotlib.figure import Figure

from heterophily import diagnose, synthetic_graph
from heterophily.data.synthetic import digits
from heterophily.views.figures import add_scale, draw_compatibility, save_figure

GRAPHS = {
    "Homophily": (0.8, "hard"),
    "Good heterophily": (0.2, "easy"),
    "Bad heterophily": (0.2, "hard"),
}


def main(path: str) -> None:
    """Diagnose the three graphs and plot their compatibility matrices side by side."""
    figure = Figure(figsize=(12, 4.5), layout="constrained")
    figure.set_layout_engine("constrained", h_pad=0.1)
    panels = figure.subplots(1, 3)
    for axes, (title, (homophily, pattern)) in zip(panels, GRAPHS.items(), strict=True):
        graph = synthetic_graph(digits(), homophily=homophily, pattern=pattern, degree=18)
        diagnosis = diagnose(graph)
        assert diagnosis.kind == title.lower(), diagnosis.verdict
        image = draw_compatibility(axes, diagnosis.compatibility, diagnosis.class_names, peak=0.8)
        axes.set_title(title, fontsize=13, fontweight="bold", pad=26)
        subtitle = (
            f"neighbors predict the class of {diagnosis.neighborhood_accuracy:.0%} of the nodes"
        )
        axes.text(0.5, 1.03, subtitle, transform=axes.transAxes, ha="center", fontsize=10)
        axes.set_ylabel("class of node" if axes is panels[0] else "")
    add_scale(figure, image, list(panels))
    print(f"wrote {save_figure(figure, path)}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "three-graphs.png")
