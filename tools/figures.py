"""Draw the figures of the explanations: `python tools/figures.py [FOLDER]`, by default docs/figures.

All figures are vector graphics. Colors are variables: on the site, its style sheet sets them, and elsewhere, the style
sheet inside each figure follows the color scheme of the system. Numbers come from the library and from stored results.
A test checks that the committed figures are current.
"""

import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from statistics import fmean

import numpy as np
import torch

from heterophily import Graph
from heterophily.benchmark.plan import MODELS
from heterophily.benchmark.significance import against_best, paired_differences
from heterophily.core.compatibility import discriminability, observed_compatibility
from heterophily.data.synthetic import preference_pattern, target_matrix
from heterophily.runs.record import read_records

DOCS = Path(__file__).resolve().parents[1] / "docs"
LIGHT = {"ink": "#1b1c1e", "quiet": "#5f646b", "rule": "#c9ccd1", "raised": "#f3f4f6", "accent": "#0b62a4",
         "alarm": "#b3151b", "good": "#00735a", "c1": "#0072b2", "c2": "#d55e00", "c3": "#009e73",
         "heat": "#2f7fc0", "paper": "#ffffff"}  # fmt: skip
DARK = {"ink": "#e7e8ea", "quiet": "#a0a6ae", "rule": "#4a4f57", "raised": "#23272e", "accent": "#79b8f0",
        "alarm": "#ff8f8f", "good": "#34c29a", "c1": "#4ba3e3", "c2": "#f2853f", "c3": "#34c29a",
        "heat": "#4c9be0", "paper": "#15171a"}  # fmt: skip
CLASSES = ("c1", "c2", "c3")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif"
Point = tuple[float, float]


def paint(fill: str = "", stroke: str = "", width: float = 1.5, *, dash: str = "", opacity: float = 1) -> str:
    """Return the attributes of a shape, with names of colors."""
    parts = [f"fill:{_color(fill)}"]
    if stroke:
        parts += [f"stroke:{_color(stroke)}", f"stroke-width:{width:g}"]
    if dash:
        parts.append(f"stroke-dasharray:{dash}")
    if opacity < 1:
        parts.append(f"opacity:{opacity:.2f}")
    return f'style="{";".join(parts)}"'


def _color(name: str) -> str:
    return f"var(--f-{name},{LIGHT[name]})" if name else "none"


class Figure:
    """Shapes and texts in the order in which they are drawn."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.size, self.title = (width, height), title
        self.parts: list[str] = []

    def rect(self, x: float, y: float, w: float, h: float, style: str, radius: float = 6) -> None:
        """Add a rectangle."""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{radius:g}" {style}/>')

    def circle(self, at: Point, radius: float, style: str) -> None:
        """Add a circle."""
        self.parts.append(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}" {style}/>')

    def line(self, *points: Point, color: str = "rule", width: float = 1.5, dash: str = "") -> None:
        """Add a line through some points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" {paint("", color, width, dash=dash)}/>')

    def arrow(self, *points: Point, color: str = "quiet", width: float = 1.8) -> None:
        """Add a line with a head at its end."""
        (x0, y0), (x, y) = points[-2:]
        angle = math.atan2(y - y0, x - x0)
        back = (x - 7 * math.cos(angle), y - 7 * math.sin(angle))
        self.line(*points[:-1], back, color=color, width=width)
        corners = [(x, y)] + [(x - 10 * math.cos(angle + s), y - 10 * math.sin(angle + s)) for s in (0.45, -0.45)]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
        self.parts.append(f'<polygon points="{path}" {paint(color)}/>')

    def text(
        self, at: Point, text: str, *, size: float = 15, color: str = "ink", anchor: str = "middle", bold: bool = False
    ) -> None:
        """Add a line of text."""
        weight = ' font-weight="600"' if bold else ""
        place = f'x="{at[0]:.1f}" y="{at[1]:.1f}" font-size="{size:g}" text-anchor="{anchor}"{weight}'
        self.parts.append(f"<text {place} {paint(color)}>{escape(text)}</text>")

    def box(self, x: float, y: float, w: float, h: float, lines: Sequence[str], color: str = "rule") -> None:
        """Add a rectangle with centered lines of text. The first one is bold."""
        self.rect(x, y, w, h, paint("raised", color))
        top = y + h / 2 - 9.5 * (len(lines) - 1) + 5
        for number, line in enumerate(lines):
            style = {"bold": True} if number == 0 else {"size": 13.5, "color": "quiet"}
            self.text((x + w / 2, top + 19 * number), line, **style)

    def matrix(self, x: float, y: float, cell: float, values: np.ndarray, *, numbers: bool = True) -> None:
        """Add a heat map of values between 0 and 1."""
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                place = (x + j * cell, y + i * cell, cell - 2, cell - 2)
                self.rect(*place, paint("raised"), radius=3)
                self.rect(*place, paint("heat", opacity=min(0.99, 0.03 + 0.72 * float(value))), radius=3)
                if numbers:
                    self.text((x + (j + 0.5) * cell - 1, y + (i + 0.5) * cell + 4), f"{value:.2f}", size=13.5)

    def write(self, path: Path) -> None:
        """Write the figure as an SVG file."""
        dark = "".join(f"--f-{name}:{value};" for name, value in DARK.items())
        style = f"<style>@media (prefers-color-scheme:dark){{svg{{{dark}}}}}</style>"
        size = f'viewBox="0 0 {self.size[0]} {self.size[1]}" width="{self.size[0]}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}">'
        lines = [head, style, f"<title>{escape(self.title)}</title>", *self.parts, "</svg>"]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def tiers() -> Figure:
    """Return the tiers of the package; each may import the ones below."""
    rows = [
        [("commands", "the command line")],
        [("views", "charts, tables, pages, terminal output")],
        [("analysis", ""), ("benchmark", ""), ("tuning", ""), ("studies", "")],
        [("runs", "jobs, records, store, executor")],
        [("training", "the training loop, scoring, NodeClassifier")],
        [("models", "one file per method, tuned settings")],
        [("htmp", "architectures, parts, execution"), ("data", "datasets, splits, published numbers")],
        [("core", "graphs, sparse and dense operations, files, errors")],
    ]
    figure = Figure(720, 66 * len(rows) - 6, "The tiers of the package. Each one imports only from those below it.")
    for number, row in enumerate(rows):
        width = (720 - 12 * (len(row) - 1)) / len(row)
        for place, (name, text) in enumerate(row):
            figure.box(1 + place * (width + 12), 1 + 66 * number, width - 2, 46, [name, text] if text else [name])
        if number:
            figure.arrow((360, 66 * number - 18), (360, 66 * number - 1))
    return figure


def star(figure: Figure, at: Point, radius: float = 42, widths: Sequence[float] = (1.5,) * 4) -> None:
    """Add a node with four neighbors of other classes. Widths are those of the edges."""
    colors = ("c2", "c2", "c3", "c1")
    angles = (200, 320, 80, 140)
    places = [(at[0] + radius * math.cos(math.radians(a)), at[1] + radius * math.sin(math.radians(a))) for a in angles]
    for place, width in zip(places, widths, strict=True):
        if width:
            figure.line(at, place, color="quiet", width=width)
    for place, color in zip(places, colors, strict=True):
        figure.circle(place, 10, paint(color))
    figure.circle(at, 13, paint("c1", "ink", 2))


def htmp() -> Figure:
    """Return the four steps of heterophilous message passing."""
    figure = Figure(720, 640, "Heterophilous message passing in four steps: neighborhoods, guidance, COMBINE, and FUSE")
    titles = (
        ("1  Neighborhoods A_r", "Who sends messages to a node?"),
        ("2  Guidance B_r", "How much does each sender count?"),
        ("3  COMBINE", "How do the messages become one state?"),
        ("4  FUSE", "Which layers does the classifier use?"),
    )
    for number, (title, text) in enumerate(titles):
        x, y = 1 + 366 * (number % 2), 1 + 326 * (number // 2)
        figure.rect(x, y, 352, 312, paint("", "rule"), radius=10)
        figure.text((x + 18, y + 30), title, size=17, anchor="start", bold=True)
        figure.text((x + 18, y + 53), text, size=14, color="quiet", anchor="start")
    _neighborhoods(figure)
    _guidance(figure)
    _combine(figure, 1, 327)
    _fuse(figure, 367, 327)
    return figure


def _neighborhoods(figure: Figure) -> None:
    figure.circle((68, 160), 13, paint("c1", "ink", 2))
    star(figure, (180, 165), widths=(2, 2, 2, 2))
    figure.circle((300, 205), 13, paint("c1", "ink", 2))
    for place, color in enumerate(CLASSES):
        at = (268 + 32 * place, 125)
        figure.line((300, 192), (at[0], at[1] + 11), color="quiet", width=2)
        figure.rect(at[0] - 10, at[1] - 10, 20, 20, paint(color), radius=3)
    for x, name, text in ((68, "I", "itself"), (180, "A", "neighbors"), (300, "A_sup", "prototypes")):
        figure.text((x, 255), name, bold=True)
        figure.text((x, 276), text, size=13, color="quiet")


def _guidance(figure: Figure) -> None:
    star(figure, (450, 165), widths=(2.5, 2.5, 2.5, 2.5))
    star(figure, (640, 165), widths=(6, 6, 1, 1))
    for x, name, text in ((450, "fixed", "1 / degree: the mean"), (640, "learned", "from both states")):
        figure.text((x, 255), name, bold=True)
        figure.text((x, 276), text, size=13, color="quiet")


def _combine(figure: Figure, x: float, y: float) -> None:
    names = (("α₀", "own features"), ("α₁", "mean of neighbors"), ("α₂", "prototypes"))
    for number, (name, text) in enumerate(names):
        top = y + 88 + 62 * number
        figure.box(x + 18, top, 150, 46, [f"{name} = {(0.6, 0.3, 0.1)[number]}", text])
        figure.arrow((x + 172, top + 23), (x + 240, y + 173), width=(4, 2.5, 1.2)[number])
    figure.box(x + 244, y + 145, 90, 56, ["Z^l", "the state"], color="accent")
    figure.text((x + 176, y + 295), "weights per node, here learned (AdaAdd)", size=13, color="quiet")


def _fuse(figure: Figure, x: float, y: float) -> None:
    for number, text in enumerate(("features", "one hop", "two hops")):
        top = y + 88 + 62 * number
        figure.box(x + 18, top, 120, 46, [f"Z{'⁰¹²'[number]}", text])
        figure.arrow((x + 142, top + 23), (x + 186, y + 173))
        if number:
            figure.arrow((x + 78, top - 15), (x + 78, top - 1))
    figure.box(x + 190, y + 145, 60, 56, ["Z", "Cat"], color="accent")
    figure.arrow((x + 252, y + 173), (x + 276, y + 173))
    figure.box(x + 279, y + 145, 62, 56, ["class", "linear"])
    figure.text((x + 176, y + 295), "concatenation, the last layer, or a weighted sum", size=13, color="quiet")


NODES = [(0, 110, 95), (0, 60, 200), (1, 180, 150), (1, 150, 250), (2, 235, 80), (2, 260, 220), (1, 300, 150)]
EDGES = [(0, 2), (0, 4), (1, 2), (1, 3), (2, 5), (3, 5), (4, 6), (5, 6), (0, 1)]


def compatibility() -> Figure:
    """Return how the compatibility matrix follows from a graph."""
    labels = [label for label, *_ in NODES]
    graph = Graph.from_edges(EDGES, labels=labels)
    matrix = observed_compatibility(graph.symmetric, graph.labels, graph.n_classes)
    figure = Figure(720, 330, "From a graph to its compatibility matrix")
    for x, title in ((20, "A graph"), (360, "Neighborhoods"), (545, "M: class means")):
        figure.text((x, 24), title, size=16, anchor="start", bold=True)
    for source, target in EDGES:
        figure.line(NODES[source][1:], NODES[target][1:], color="quiet", width=1.8)
    for number, (label, x, y) in enumerate(NODES):
        figure.circle((x, y), 15, paint(CLASSES[label]))
        figure.text((x, y + 5), str(number + 1), size=14, color="paper", bold=True)
    order = sorted(range(len(NODES)), key=labels.__getitem__)
    for place, node in enumerate(order):
        left, top = 390.0, 48.0 + 36 * place
        figure.circle((370, top + 12), 11, paint(CLASSES[labels[node]]))
        figure.text((370, top + 17), str(node + 1), size=13, color="paper", bold=True)
        neighbors = graph.symmetric.indices[graph.symmetric.rows == node].tolist()
        for label in range(3):
            width = 110 * sum(labels[j] == label for j in neighbors) / len(neighbors)
            if width:
                figure.rect(left, top, width - 2, 24, paint(CLASSES[label]), radius=3)
            left += width
    figure.matrix(575, 70, 46, matrix.numpy())
    for place in range(3):
        figure.circle((560, 92 + 46 * place), 8, paint(CLASSES[place]))
        figure.circle((597 + 46 * place, 57), 8, paint(CLASSES[place]))
    figure.text((643, 234), f"discriminability {discriminability(matrix):.2f}", size=13.5, color="quiet")
    return figure


def three_matrices() -> Figure:
    """Return homophily, good heterophily, and bad heterophily as matrices, with the accuracy on such graphs."""
    scores = _scores(json.loads((DOCS / "studies" / "synthetic.json").read_text(encoding="utf-8")))
    kinds = (("Homophily", 0.8, "hard"), ("Good heterophily", 0.2, "easy"), ("Bad heterophily", 0.2, "hard"))
    figure = Figure(720, 350, "Compatibility matrices of homophily, good heterophily, and bad heterophily")
    for number, (title, homophily, pattern) in enumerate(kinds):
        x = 12 + 246 * number
        matrix = target_matrix([100] * 7, homophily, pattern=preference_pattern(pattern, 7))
        figure.text((x + 100, 24), title, size=17, bold=True)
        figure.text((x + 100, 46), f"{homophily:.0%} of neighbors are similar", size=13.5, color="quiet")
        figure.matrix(x + 2, 62, 28, matrix, numbers=False)
        gcn, mlp = (scores[model, homophily, pattern, 18.0] for model in ("gcn", "mlp"))
        figure.text((x + 100, 278), f"rows differ by {discriminability(torch.from_numpy(matrix)):.2f}")
        figure.text((x + 100, 306), f"GCN {gcn:.1f} %", size=19, color="good" if gcn > mlp else "alarm", bold=True)
        figure.text((x + 100, 330), f"MLP, without edges, {mlp:.1f} %", size=13.5, color="quiet")
    return figure


def _scores(rows: Iterable[dict[str, object]]) -> dict[tuple[object, ...], float]:
    values = defaultdict(list)
    for row in rows:
        values[row["model"], row["homophily"], row["pattern"], float(str(row["degree"]))].append(row["test_accuracy"])
    return {key: fmean(map(float, map(str, each))) for key, each in values.items()}


def sweep() -> Figure:
    """Return the accuracy of GCN by homophily and by discriminability."""
    rows = json.loads((DOCS / "studies" / "sweep.json").read_text(encoding="utf-8"))
    mlp = fmean(row["test_accuracy"] for row in rows if row["model"] == "mlp")
    figure = Figure(720, 380, "Accuracy of GCN on synthetic graphs, by homophily and by discriminability")
    for number, (key, title) in enumerate((("edge_homophily", "homophily"), ("discriminability", "discriminability"))):
        left = 58 + 350 * number
        place = _axes(figure, left, title)
        figure.line(place(0, mlp), place(1, mlp), color="quiet", dash="5 4")
        if number:
            figure.text((left + 300, place(0, mlp)[1] - 7), "MLP", size=13, color="quiet", anchor="end")
        for row in (row for row in rows if row["model"] == "gcn"):
            color = "c1" if row["degree"] > 4 else "c2"
            figure.circle(place(row[key], row["test_accuracy"]), 5, paint(color, "paper", 1, opacity=0.85))
    figure.text((12, 20), "Accuracy of GCN in percent, one point per graph", anchor="start", bold=True)
    for x, color, text in ((458, "c1", "18 neighbors"), (590, "c2", "4 neighbors")):
        figure.circle((x, 15), 5, paint(color))
        figure.text((x + 12, 20), text, size=13.5, anchor="start")
    return figure


def _axes(figure: Figure, left: float, title: str) -> Callable[[float, float], Point]:
    def place(x: float, y: float) -> Point:
        return left + 300 * x, 325 - 2.85 * y

    for y in range(0, 101, 25):
        figure.line(place(0, y), place(1, y), width=1)
        figure.text((left - 8, place(0, y)[1] + 5), str(y), size=13, color="quiet", anchor="end")
    for x in (0, 0.25, 0.5, 0.75, 1):
        figure.text((left + 300 * x, 344), f"{x:g}", size=13, color="quiet")
    figure.text((left + 150, 370), title, size=14)
    return place


def leak() -> Figure:
    """Return where a training node reads its own label, and how this is avoided."""
    figure = Figure(720, 500, "The label leak of supplementary messages, and its cure")
    for top, title, source, color in (
        (0, "As published: a training node receives its own label", ["its label", "one-hot"], "alarm"),
        (255, "Here: all nodes use the network's estimate", ["its estimate", "from the last update"], "good"),
    ):
        figure.text((2, top + 24), title, size=17, anchor="start", bold=True, color=color)
        names = (
            source,
            ["Ĉ M̂", "expected neighbors"],
            ["message", "of the prototypes"],
            ["network", "predicts a class"],
        )
        for number, lines in enumerate(names):
            x = 2 + 188 * number
            figure.box(x, top + 50, 152, 58, lines, color=color if number in (0, 2) else "rule")
            if number < 3:
                figure.arrow((x + 155, top + 79), (x + 185, top + 79), color=color)
        figure.box(566, top + 158, 152, 58, ["loss", "asks for the label"])
        figure.arrow((642, top + 110), (642, top + 156))
        figure.box(2, top + 158, 152, 58, ["its label", "of the training node"])
        figure.arrow((157, top + 187), (563, top + 187))
        if top == 0:
            figure.arrow((78, top + 156), (78, top + 111), color="alarm", width=2.6)
            figure.text((360, top + 177), "the answer is already in the message", size=14, color="alarm")
        else:
            figure.text((360, top + 177), "the message does not contain the answer", size=14, color="good")
    return figure


def significance() -> Figure:
    """Return the differences to the best method on chameleon-f, split by split."""
    dataset = "chameleon-f"
    scores: dict[str, dict[tuple[str, int], float]] = defaultdict(dict)
    for record in read_records(DOCS / "results" / "runs.jsonl"):
        if record.dataset == dataset and record.done and record.model in MODELS:
            scores[record.model][record.split, record.seed] = record.score()
    rows = sorted(against_best(scores), key=lambda row: row.difference)
    figure = Figure(720, 96 + 27 * len(rows), f"Differences to the best method on {dataset}, split by split")
    best = rows[0].best
    figure.text(
        (2, 22), f"{best} minus the other method, in points, on ten splits of {dataset}", anchor="start", bold=True
    )

    def across(points: float) -> float:
        return 330 + 15.5 * points

    for points in range(-10, 21, 5):
        figure.line((across(points), 42), (across(points), 50 + 27 * len(rows)), color="ink" if points == 0 else "rule",
                    width=1.4 if points == 0 else 1)  # fmt: skip
        figure.text((across(points), 70 + 27 * len(rows)), f"{points:+d}" if points else "0", size=13, color="quiet")
    for number, row in enumerate(rows):
        y, color = 62 + 27 * number, "c2" if row.significant() else "quiet"
        p_text = f"p = {row.p_holm:.2f}" if row.p_holm >= 0.01 else "p < 0.01"
        figure.text((2, y + 5), row.other, size=14, anchor="start")
        figure.text((150, y + 5), p_text, size=13, color=color, anchor="end")
        for value in paired_differences(scores[best], scores[row.other]):
            figure.circle((across(100 * value), y), 4, paint(color, opacity=0.5))
        figure.rect(across(100 * row.difference) - 2, y - 9, 4, 18, paint(color), radius=1)
    figure.text((2, 90 + 27 * len(rows)), "bar: mean · orange: significant at level 0.05 after Holm's correction",
                size=13, color="quiet", anchor="start")  # fmt: skip
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "tiers": tiers,
    "htmp": htmp,
    "compatibility": compatibility,
    "three-matrices": three_matrices,
    "sweep": sweep,
    "leak": leak,
    "significance": significance,
}


def main(folder: Path) -> None:
    """Write all figures."""
    for name, draw in FIGURES.items():
        draw().write(folder / f"{name}.svg")
        print(f"wrote {folder / name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "figures")
