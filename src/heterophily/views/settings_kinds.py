"""The results page by kind of settings: default and tuned settings, and paired differences to two methods."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from heterophily.benchmark.columns import settings_kind
from heterophily.benchmark.significance import Scores, corrected_t_test, holm, paired_differences
from heterophily.benchmark.table import Entry, Table, build_table
from heterophily.core import chart
from heterophily.runs.record import Record
from heterophily.views.tables import number, p_text, published_text, signed

OWN, REFERENCE = "trio", "cmgnn"


@dataclass(frozen=True)
class PairedDifference:
    """The mean difference between two methods on a dataset, and its test."""

    mean: float
    p: float  # with Holm's correction over the methods that are compared with the same one


@dataclass(frozen=True)
class Kinds:
    """The results with tuned settings of all methods that have them, and those with default settings."""

    tuned: Table
    default: Table | None
    records: Sequence[Record]  # of the tuned table

    @property
    def untuned(self) -> list[str]:
        """The methods that have default settings only."""
        return [model for model in self.default.models if model not in self.tuned.models] if self.default else []

    def entry(self, model: str, dataset: str, *, default: bool = False) -> Entry | None:
        """Return the result of a method, or None if it has no run."""
        table = self.default if default else self.tuned
        found = table.entries.get((model, dataset)) if table else None
        return found if found is not None and found.n else None

    def differences(self, other: str, dataset: str) -> dict[str, PairedDifference]:
        """Return every method minus another one. Tuned settings are compared with tuned, default with default ones."""
        tuned = _scores(self.tuned, dataset)
        default = {model: runs for model, runs in _scores(self.default, dataset).items() if model in self.untuned}
        pairs = _paired(tuned, tuned.get(other)) | _paired(default, _scores(self.default, dataset).get(other))
        pairs.pop(other, None)
        ratio = self.tuned.test_to_train.get(dataset) or 0.0
        p_values = holm([corrected_t_test(each, test_to_train=ratio)[1] for each in pairs.values()])
        return {
            model: PairedDifference(fmean(each), p) for (model, each), p in zip(pairs.items(), p_values, strict=True)
        }


def _scores(table: Table | None, dataset: str) -> Mapping[str, Scores]:
    return table.scores.get(dataset, {}) if table else {}


def _paired(rows: Mapping[str, Scores], other: Scores | None) -> dict[str, list[float]]:
    pairs = {model: paired_differences(runs, other or {}) for model, runs in rows.items()}
    return {model: each for model, each in pairs.items() if len(each) > 1}


def by_kind_of_settings(records: Iterable[Record]) -> Kinds:
    """Return the results by kind of settings. The tuned table has only methods that have tuned settings at all.

    Where a tuned method has no tuned settings for a dataset, its default settings count as the tuned ones.
    """
    records = list(records)
    default = [r for r in records if settings_kind(r) == "default"]
    methods = {r.model for r in records if settings_kind(r) != "default"} or {r.model for r in records}
    cells = {(r.model, r.dataset) for r in records if settings_kind(r) != "default"}
    used = [
        r
        for r in records
        if r.model in methods and (settings_kind(r) != "default" or (r.model, r.dataset) not in cells)
    ]
    return Kinds(build_table(used, against=True), build_table(default) if default else None, used)


def dataset_table(kinds: Kinds, dataset: str) -> chart.Table:
    """Return the methods of a dataset, the best first: default, tuned, and published results, and differences."""
    others = [name for name in (OWN, REFERENCE) if name in kinds.tuned.models]
    compared = {name: kinds.differences(name, dataset) for name in others}
    rows = []
    for model in _best_first(kinds, dataset):
        tuned, default = (kinds.entry(model, dataset, default=value) for value in (False, True))
        cells = [model, *("–" if entry is None else number(entry) for entry in (default, tuned)), published_text(tuned)]
        rows.append([*cells, *(_difference(compared[name].get(model), kinds.tuned.alpha) for name in others)])
    return chart.Table(["method", "default", "tuned", "published", *(f"minus {name}" for name in others)], rows)


def _best_first(kinds: Kinds, dataset: str) -> Sequence[str]:
    """The tuned methods, then the untuned ones, each with the highest mean first."""
    means = {
        model: (entry.mean or 0.0)
        for default, models in ((False, kinds.tuned.models), (True, kinds.untuned))
        for model in models
        if (entry := kinds.entry(model, dataset, default=default))
    }
    return sorted(means, key=lambda model: (model in kinds.untuned, -means[model]))


def _difference(pair: PairedDifference | None, alpha: float) -> str:
    if pair is None:
        return "–"
    mean = f"**{signed(pair.mean)}**" if pair.p <= alpha else signed(pair.mean)
    return f"{mean} ({p_text(pair.p)})"
