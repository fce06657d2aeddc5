"""CMGNN on the results page: this library, the paper, and the published program on the same splits."""

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from heterophily.benchmark.table import PAPER_RUNS, Entry, Table, one_per_run
from heterophily.core import chart
from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.runs.record import Record
from heterophily.views.settings_kinds import REFERENCE
from heterophily.views.tables import number, published_text, signed
from heterophily.views.templates import list_names

YES_NO = {True: "yes", False: "**no**", None: "–"}


@dataclass(frozen=True)
class ProgramResult:
    """Test accuracy of the published program on all splits, or on the first ones."""

    mean: float
    std: float | None = None
    scores: tuple[float, ...] = ()  # of the first splits; empty if all splits were run

    @property
    def complete(self) -> bool:
        """Whether all splits were run."""
        return not self.scores

    def __str__(self) -> str:
        if self.complete:
            return f"{self.mean:.2f}" + ("" if self.std is None else f" ± {self.std:.2f}")
        return f"{self.mean:.2f} ({len(self.scores)}/{PAPER_RUNS})"


Program = Mapping[str, ProgramResult]  # by dataset


def read_program(path: Path) -> Program:
    """Return the results in a TOML file, which does not have to exist."""
    if not path.exists():
        return {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        return {name: _parse(table) for name, table in tables.items()}
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise HeterophilyError(
            f"{path} must have a table with mean and std, or with scores, per dataset: {error}"
        ) from error


def _parse(table: Mapping[str, object]) -> ProgramResult:
    if "scores" in table:
        scores = tuple(float(score) for score in table["scores"])  # type: ignore[attr-defined]
        return ProgramResult(fmean(scores), scores=scores)
    return ProgramResult(float(table["mean"]), float(table["std"]))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Reproduction:
    """How CMGNN compares with its published means, per dataset and as sentences."""

    table: chart.Table
    sentences: tuple[str, ...]
    summary: str
    complete: bool  # whether every dataset is reproduced, or the published program is below the mean, too


def compare_reproduction(
    table: Table, cells: Mapping[tuple[str, str], Sequence[Record]], program: Program
) -> Reproduction | None:
    """Return the section about CMGNN, if it has runs."""
    if REFERENCE not in table.models:
        return None
    for name in program:
        if name not in table.datasets:
            raise unknown_name("dataset of the published program in these results", name, table.datasets)
    entries = table.row(REFERENCE)
    rows = [
        [
            entry.dataset,
            number(entry),
            published_text(entry),
            "–" if entry.difference is None else signed(entry.difference),
            YES_NO[entry.verdict],
            str(program.get(entry.dataset, "–")),
            _matrix_error(cells.get((REFERENCE, entry.dataset), ())),
            str(entry.n),
        ]
        for entry in entries
    ]
    head = ["dataset", "accuracy", "paper", "difference", "reproduced", "published program", "error of M̂", "runs"]
    groups = _groups([entry for entry in entries if entry.verdict is not None], program)
    return Reproduction(
        chart.Table(head, rows),
        tuple(_sentences(groups, table, program)),
        _summary(groups),
        not any(groups[kind] for kind in ("reached by the program only", "undecided", "unknown")),
    )


Groups = Mapping[str, Sequence[Entry]]


def _groups(entries: Sequence[Entry], program: Program) -> Groups:
    """Datasets by who reaches the published mean within the tolerance: this library, the program, or neither."""
    groups: dict[str, list[Entry]] = {
        kind: [] for kind in ("reached", "reached by neither", "reached by the program only", "undecided", "unknown")
    }
    for entry in entries:
        result = program.get(entry.dataset)
        if entry.verdict:
            kind = "reached"
        elif result is None:
            kind = "unknown"
        elif not result.complete:
            kind = "undecided"
        else:
            kind = "reached by the program only" if _reaches(result, entry) else "reached by neither"
        groups[kind].append(entry)
    return groups


def _reaches(result: ProgramResult, entry: Entry) -> bool:
    mean = entry.published.mean if entry.published else None
    return mean is not None and result.mean >= mean - entry.tolerance - 1e-9


def _summary(groups: Groups) -> str:
    total = sum(map(len, groups.values()))
    parts = [f"reached on {len(groups['reached'])} of {total} datasets"]
    wording = {
        "reached by neither": "not reached by the published program either on",
        "reached by the program only": "reached by the published program only on",
        "undecided": "undecided on",
        "unknown": "not reached on",
    }
    parts += [f"{text} {_names(groups[kind])}" for kind, text in wording.items() if groups[kind]]
    return "; ".join(parts)


def _sentences(groups: Groups, table: Table, program: Program) -> Iterable[str]:
    """Sentences about the datasets on which the library or the program is below the published mean."""
    if not program:
        return
    yield (
        "The published program is the reference implementation, repaired, with its own settings and seed on the same "
        "splits."
    )
    if both := groups["reached by neither"]:
        yield f"On {_names(both)}, the published program does not reach the published mean within the tolerance either."
    below = [e for e in groups["reached"] if (r := program.get(e.dataset)) and r.complete and not _reaches(r, e)]
    if below:
        yield f"On {_names(below)}, this library reaches it and the published program does not."
    for entry in groups["reached by the program only"]:
        yield _program_is_better(entry, program[entry.dataset])
    for entry in groups["undecided"]:
        yield _few_splits(entry, table, program[entry.dataset])
    if unknown := groups["unknown"]:
        yield f"On {_names(unknown)}, the published program was not run."


def _program_is_better(entry: Entry, result: ProgramResult) -> str:
    gap = result.mean - (entry.mean or 0.0)
    error = math.sqrt(((entry.std or 0.0) ** 2 + (result.std or 0.0) ** 2) / entry.n)
    return (
        f"On {entry.dataset}, the published program reaches the published mean within the tolerance and this library "
        f"does not: it is {gap:.2f} points lower than the program, and the standard error of a difference between two "
        f"independent means of {entry.n} splits is {error:.2f}."
    )


def _few_splits(entry: Entry, table: Table, result: ProgramResult) -> str:
    """Compare with the runs of this library on the splits of the program."""
    by_split = {split: score for (split, _), score in table.scores[entry.dataset][REFERENCE].items()}
    here = [by_split.get(str(split)) for split in range(len(result.scores))]
    own = list_names(["–" if score is None else f"{score:.2f}" for score in here])
    splits = list_names([str(split) for split in range(len(result.scores))])
    ran = f"was run on split{'s' if len(here) > 1 else ''} {splits} only"
    own_scores = f"{list_names([f'{score:.2f}' for score in result.scores])}, compared with {own} of this library"
    return f"On {entry.dataset}, the published program {ran}, which is too little to decide: {own_scores}."


def _names(entries: Iterable[Entry]) -> str:
    return list_names([entry.dataset for entry in entries])


def _matrix_error(records: Iterable[Record]) -> str:
    runs = [run for run in one_per_run(records) if run.done]
    known = [run.details["compatibility_error"] for run in runs if "compatibility_error" in run.details]
    return f"{fmean(known):.3f}" if known else "–"
