"""The page of the studies: our numbers beside the paper's, from tidy data alone.

`python -m heterophily.views.studies docs/studies > docs/studies.md` prints it from a folder that
`heterophily study NAME --out docs/studies` filled.
"""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from heterophily.studies import ablation, compatibility, degrees, runtime
from heterophily.studies.tidy import (
    Row,
    Rows,
    StudyData,
    deviation_of,
    filter_rows,
    mean_of,
    unique_values,
)

HEAD = """# Studies

The studies of the paper, repeated with this library. Each is one command, which writes tidy data and
figures, and one function of `heterophily.studies`; all work on any dataset, any method and a graph of one's
own. Numbers are means over the splits in the data, some with ± their sample standard deviation (n − 1);
accuracies are in percent, and a dash is a number that the paper does not print. A command that is run again
continues, and several may share a folder. This page is printed from the data in [{folder}]({folder}) by
`python -m heterophily.views.studies`.
"""
NOTHING = "No data yet: run the command above.\n"
JUDGEMENT = "summary.md"  # in words, if someone wrote one beside the data


@dataclass(frozen=True)
class Section:
    """One study on the page: its command, what it is, its numbers and its figures."""

    title: str
    command: str
    words: str
    body: Callable[[Path], list[str]]
    figures: tuple[str, ...]  # how the names of its figures begin

    def text(self, folder: Path) -> str:
        """The section as Markdown."""
        body = self.body(folder) or [NOTHING]
        images = [p for name in self.figures for p in sorted(folder.glob(f"{name}*.png"))]
        shown = "\n".join(f"![{p.stem}]({folder.name}/{p.name})" for p in images)
        head = [f"## {self.title}", self.words, f"    heterophily study {self.command}"]
        parts = [*head, *(part.strip() for part in body), *([shown] if shown else [])]
        return "\n\n".join(parts) + "\n"


def page(folder: Path) -> str:
    """The whole page as Markdown; `folder` stands beside it."""
    judgement = folder / JUDGEMENT
    parts = [HEAD.format(folder=folder.name)]
    parts += [judgement.read_text(encoding="utf-8").strip() + "\n"] if judgement.exists() else []
    return "\n".join([*parts, *(section.text(folder) for section in SECTIONS)])


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, numbers to the right.

    >>> print(table(["a", "b"], [["x", "1"]]))
    | a | b |
    |---|---:|
    | x | 1 |
    """
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return "\n".join([lines[0], "|---" + "|---:" * (len(heads) - 1) + "|", *lines[1:]])


def number(value: float | None, digits: int = 1) -> str:
    """A number, or a dash."""
    return "–" if value is None else f"{value:,.{digits}f}"


def beside(rows: Rows, column: str = "test_accuracy", *, spread: bool = False) -> str:
    """Our mean, with its deviation if wanted, and the paper's number."""
    ours, deviation = number(mean_of(rows, column)), deviation_of(rows, column)
    if spread and deviation is not None:
        ours += f" ± {number(deviation)}"
    return f"{ours} / {number(mean_of(rows, 'paper'))}"


def splits_of(rows: Rows) -> str:
    """How many splits each run of a table has.

    >>> row = {"dataset": "actor", "model": "gcn", "split": "0"}
    >>> splits_of([row, {**row, "model": "mlp"}, {**row, "model": "mlp", "split": "1"}])
    'over 1 to 2 splits'
    """
    keys = ("dataset", "model", "variant")
    runs = {(*(row.get(key) for key in keys), row["split"]) for row in rows}
    counts = Counter(run[:-1] for run in runs).values()
    least, most = min(counts), max(counts)
    count = str(most) if least == most else f"{least} to {most}"
    return f"over {count} split{'s' * (most > 1)}"


def _ablation(folder: Path) -> list[str]:
    rows, parts = StudyData.opened("ablation", folder).rows, []
    for model in unique_values(rows, "model"):
        own = filter_rows(rows, model=model)
        variants = unique_values(own, "variant")
        cells = [
            [d, *(beside(filter_rows(own, dataset=d, variant=v), spread=True) for v in variants)]
            for d in unique_values(own, "dataset")
        ]
        caption = f"`{model}`, ours / the paper's, {splits_of(own)}:"
        parts += [caption, table(["dataset", *variants], cells)]
    known = [row for row in ablation.changes(rows) if row["paper"] is not None]
    if known:
        same = sum((row["change"] < 0) == (row["paper"] < 0) for row in known)
        off = sum(abs(row["change"] - row["paper"]) for row in known) / len(known)
        parts.append(
            f"A variant loses or gains as in the paper in {same} of {len(known)} cells; the changes "
            f"differ by {off:.2f} points on average."
        )
    return parts


def _degrees(folder: Path) -> list[str]:
    rows, parts = StudyData.opened("degrees", folder).rows, []
    groups = degrees.group_names()
    for dataset in unique_values(rows, "dataset"):
        own = filter_rows(rows, dataset=dataset)
        cells = [
            [m, *(beside(filter_rows(own, model=m, group=g)) for g in groups)]
            for m in unique_values(own, "model")
        ]
        caption = f"{dataset}, ours / the paper's, {splits_of(own)}:"
        parts += [caption, table(["nodes by degree, %", *groups], cells)]
    if mean_of(rows, "paper") is not None:
        parts.append(_leaders(filter_rows(rows, group=groups[0])))
    return parts


def _leaders(rows: Rows) -> str:
    """Which method leads among the nodes of lowest degree, here and in the paper."""
    found = []
    for dataset in unique_values(rows, "dataset"):
        own = [row for row in filter_rows(rows, dataset=dataset) if row["paper"] is not None]
        if own:
            ours, theirs = (_best(own, column) for column in ("test_accuracy", "paper"))
            found.append(f"{dataset}: {ours} (paper: {theirs})")
    return f"Best on the fifth of lowest degree: {'; '.join(found)}."


def _best(rows: Rows, column: str) -> str:
    return max(
        unique_values(rows, "model"),
        key=lambda m: mean_of(filter_rows(rows, model=m), column) or 0.0,
    )


def _compatibility(folder: Path) -> list[str]:
    study = StudyData.opened("compatibility", folder)
    cells = [
        [
            row["dataset"],
            row["model"],
            str(row["n_splits"]),
            *(number(row[key], 3) for key in ("start", "end")),
            *(number(row[f"discriminability_{key}"], 3) for key in ("observed", "estimated")),
        ]
        for row in (compatibility.summary(study) if study.rows else [])
    ]
    heads = ["dataset", "method", "splits", "distance at the start", "at the end"]
    return [table([*heads, "discriminability of M", "of M̂"], cells)] if cells else []


def _desired(folder: Path) -> list[str]:
    rows, found = StudyData.opened("desired", folder).rows, []
    for dataset in unique_values(rows, "dataset"):
        for model in unique_values(filter_rows(rows, dataset=dataset), "model"):
            own = filter_rows(rows, dataset=dataset, model=model)
            kinds = ("discriminability_observed", "discriminability_desired")
            found.append((dataset, model, *(mean_of(own, kind) or 0.0 for kind in kinds)))
    if not found:
        return []
    raised = sum(after > before for *_, before, after in found)
    cells = [[d, m, number(before, 3), number(after, 3)] for d, m, before, after in found]
    more = f"in {raised} of {len(found)} cells, {splits_of(rows)}"
    told = f"The desired matrix is more discriminable than the observed one {more}."
    return [table(["dataset", "method", "observed", "desired"], cells), told]


def _synthetic(folder: Path) -> list[str]:
    rows, parts = StudyData.opened("synthetic", folder).rows, []
    for dataset in unique_values(rows, "dataset"):
        own = filter_rows(rows, dataset=dataset)
        models = unique_values(own, "model")
        cells = [
            [v, *(beside(filter_rows(own, variant=v, model=m), spread=True) for m in models)]
            for v in unique_values(own, "variant")
        ]
        caption = f"Nodes of {dataset}, ours / the paper's, {splits_of(own)}:"
        parts += [caption, table(["graph", *models], cells)]
        if {"gcn", "mlp"} <= set(models):
            parts.append(_below(own))
    return parts


def _below(rows: Rows) -> str:
    """On how many graphs GCN falls below MLP, here and in the paper."""
    counts = []
    for column in ("test_accuracy", "paper"):
        graphs = [filter_rows(rows, variant=variant) for variant in unique_values(rows, "variant")]
        pairs = [[mean_of(filter_rows(g, model=m), column) for m in ("gcn", "mlp")] for g in graphs]
        counts.append(sum(a < b for a, b in pairs if a is not None and b is not None))
    printed = f", in the paper on {counts[1]}" if mean_of(rows, "paper") is not None else ""
    return f"GCN falls below MLP on {counts[0]} graphs{printed}."


def _overlap(folder: Path) -> list[str]:
    rows = StudyData.opened("overlap", folder).rows
    groups = unique_values(rows, "group")
    cells = [
        [d, *(number(mean_of(filter_rows(rows, dataset=d, group=g), "overlap"), 2) for g in groups)]
        for d in unique_values(rows, "dataset")
    ]
    return [table(["dataset", *groups], cells)] if cells else []


def _runtime(folder: Path) -> list[str]:
    rows, parts = StudyData.opened("runtime", folder).rows, []
    if rows:
        datasets, models = unique_values(rows, "dataset"), unique_values(rows, "model")
        cells = [
            [m, *(_time(filter_rows(rows, dataset=d, model=m)) for d in datasets)] for m in models
        ]
        device = " and ".join(str(name) for name in unique_values(rows, "device") if name)
        threads = " or ".join(str(count) for count in unique_values(rows, "threads") if count)
        ours = f"ours on {device} (threads: {threads})"
        caption = f"Milliseconds per epoch, {ours} / the paper's, and peak memory:"
        parts += [caption, table(["method", *datasets], cells)]
    laws = runtime.exponents(StudyData.opened("scaling", folder).rows)
    if laws:
        fitted = [
            [r["model"], str(r["n_sizes"]), number(r["time"], 2), number(r["memory"], 2)]
            for r in laws
        ]
        caption = "Exponents b of time and memory ~ Eᵇ over E stored edges of random graphs:"
        parts += [caption, table(["method", "sizes", "time", "memory"], fitted)]
    return parts


def _time(rows: Rows) -> str:
    if not rows:
        return "–"
    row: Row = rows[0]
    if row["milliseconds"] is None:
        return str(row["failure"])
    return f"{number(row['milliseconds'])} / {number(row['paper'])}, {number(row['peak_mb'], 0)} MB"


SECTIONS = (
    Section(
        "Ablation",
        "ablation GRAPH... --model NAME",
        "What a method loses without one of its parts (the paper's Table 3). CMGNN loses supplementary\n"
        "messages, discrimination loss, or both; any other method each channel, loss and structure input.",
        _ablation,
        ("ablation",),
    ),
    Section(
        "Accuracy by degree",
        "degrees GRAPH... --models NAME,NAME",
        "Accuracy in five groups of test nodes, lowest degree first (the paper's Tables 4 and 11). Ties are\n"
        "broken by node number; the paper does not say how it breaks them.",
        _degrees,
        ("degrees",),
    ),
    Section(
        "Compatibility",
        "compatibility GRAPH...",
        "How near the estimated matrix M̂ comes to the observed M, as mean |M̂ − M|, from what training\n"
        "labels alone tell (start) to the kept state. The paper shows heat maps and prints no numbers.",
        _compatibility,
        ("compatibility",),
    ),
    Section(
        "Desired compatibility",
        "desired GRAPH... --models NAME,NAME",
        "The discriminability of the observed matrix and of the one that a trained method effectively\n"
        "aggregates with. The paper conjectures that message passing works by raising it, and shows heat\n"
        "maps of one dataset.",
        _desired,
        ("desired",),
    ),
    Section(
        "Synthetic graphs",
        "synthetic cora [--sweep]",
        "Twelve graphs over the same nodes with chosen homophily, discriminability and degree, and a sweep\n"
        "between them, which the paper does not have. The paper does not print its matrices: ours have\n"
        "the same homophily and degree, but not its entries off the diagonal, so only trends compare.",
        _synthetic,
        ("synthetic", "sweep"),
    ),
    Section(
        "Overlap of neighborhoods",
        "overlap GRAPH...",
        "How far the semantic neighborhoods of two classes are the same, 1 for indistinguishable, mean over\n"
        "pairs of classes: all nodes, and fifths by degree, lowest first; the paper draws it in Figure 1d.\n"
        "Compare fifths with each other, not with all: fewer nodes look more different by chance alone, so\n"
        "pairs with fewer than ten nodes of a class are left out.",
        _overlap,
        ("overlap",),
    ),
    Section(
        "Run time",
        "runtime GRAPH... --models NAME,NAME [--sizes 1000,10000]",
        "Time per epoch and peak memory of the whole process (the paper's Table 13). The paper's times are\n"
        "those of an RTX 3090 and of other programs, so only orders of magnitude compare.",
        _runtime,
        ("runtime", "scaling"),
    ),
)

if __name__ == "__main__":
    print(page(Path(sys.argv[1])), end="")
