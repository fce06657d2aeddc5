"""The method `trio` on the results page: default and tuned settings, and its paired differences to CMGNN."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from heterophily.benchmark.columns import settings_kind
from heterophily.benchmark.significance import corrected_t_test, paired_differences, signed_rank_test
from heterophily.benchmark.table import Entry, Table, build_table
from heterophily.core import chart
from heterophily.runs.record import Record
from heterophily.views.tables import number, p_text, signed

OWN, REFERENCE = "trio", "cmgnn"


@dataclass(frozen=True)
class OwnMethod:
    """A table with one row per dataset, and the test over datasets."""

    table: chart.Table
    n_datasets: int  # on which both methods have runs
    n_better: int
    p: str  # of Wilcoxon's signed-rank test; empty with too few datasets


def without_defaults(records: Iterable[Record]) -> list[Record]:
    """Return the records without those of default settings for which there are tuned ones."""
    records = list(records)
    tuned = {(r.model, r.dataset) for r in records if settings_kind(r) != "default"}
    return [r for r in records if settings_kind(r) != "default" or (r.model, r.dataset) not in tuned]


def compare_own_method(records: Sequence[Record], table: Table) -> OwnMethod | None:
    """Return the section about `trio`, if it has runs. The table has the tuned settings."""
    if not {OWN, REFERENCE} <= set(table.models):
        return None
    own = [r for r in records if r.model == OWN and settings_kind(r) == "default"]
    defaults = build_table(own).entries if own else {}
    rows, differences = [], []
    for dataset in table.datasets:
        paired = paired_differences(table.scores[dataset][OWN], table.scores[dataset][REFERENCE])
        test = ["–", "–"]
        if len(paired) > 1:
            differences.append(fmean(paired))
            _, p = corrected_t_test(paired, test_to_train=table.test_to_train[dataset])
            test = [signed(fmean(paired)), p_text(p)]
        entries = [defaults.get((OWN, dataset)), table.entries[OWN, dataset], table.entries[REFERENCE, dataset]]
        rows.append([dataset, *map(_number, entries), *test, _best_other(table.column(dataset))])
    head = ["dataset", "default", "tuned", REFERENCE, "difference", "p", "best other method"]
    over_datasets = signed_rank_test(differences)
    n_better = sum(d > 0 for d in differences)
    return OwnMethod(
        chart.Table(head, rows), len(differences), n_better, "" if over_datasets is None else p_text(over_datasets)
    )


def _number(entry: Entry | None) -> str:
    return "–" if entry is None else number(entry)


def _best_other(column: Sequence[Entry]) -> str:
    others = [entry for entry in column if entry.model != OWN and entry.mean is not None]
    best = max(others, key=lambda entry: entry.mean or 0.0, default=None)
    return "–" if best is None else f"{best.model} {number(best)}"
