"""The finding of a table of results in one sentence, generated from its numbers and their tests."""

from collections.abc import Sequence
from dataclasses import dataclass

from heterophily.benchmark.significance import Ranking
from heterophily.benchmark.table import Entry, Table
from heterophily.data import published as paper
from heterophily.training.scoring import title_of

CLOSE_RANKS = 0.5  # from the best average rank, up to which a method leads, too
MAX_LEADERS = 3


@dataclass(frozen=True)
class Finding:
    """One sentence, the numbers behind it, and the methods that lead."""

    headline: str
    detail: str = ""
    leaders: tuple[str, ...] = ()


def find(table: Table) -> Finding:
    """Return the finding of a table.

    Over several datasets, methods lead if their average rank is at most 0.5 worse than the best, and Nemenyi's test
    decides which differences are significant. On one dataset, the corrected t-test against the best method decides.
    """
    if table.ranking is not None:
        return _over_datasets(table, table.ranking)
    if len(table.datasets) == 1:
        return _on_one(table, table.datasets[0])
    return _by_wins(table)


def _over_datasets(table: Table, ranking: Ranking) -> Finding:
    names, best = list(ranking.ranks), min(ranking.ranks.values())
    leaders = [name for name in names if ranking.ranks[name] - best <= CLOSE_RANKS]
    equal = [name for name in names if ranking.ranks[name] - best < ranking.critical_difference]
    ranks = ", ".join(f"{title(name)} {ranking.ranks[name]:.1f}" for name in names[:MAX_LEADERS])
    n, test = len(ranking.datasets), f"Friedman's test: p {_p_text(ranking.p)}"
    if ranking.p > ranking.alpha:
        detail = f"Best average ranks over {n} datasets: {ranks}. {test}."
        return Finding(f"No method leads: the ranks of {len(names)} methods do not differ significantly", detail)
    worse = [name for name in names if name not in equal]
    named = f"Significantly worse than {title(names[0])}: {_join(map(title, worse))}." if worse else ""
    detail = f"Average ranks over {n} datasets: {ranks}. {named} {test}, followed by Nemenyi's."
    return Finding(f"{_lead(leaders)}; {_within(equal, names)}", detail.replace("  ", " "), tuple(leaders))


def _within(equal: Sequence[str], names: Sequence[str]) -> str:
    if len(equal) == 1:
        return "the difference from every other method is significant"
    if len(equal) == len(names):
        return "no difference is significant"
    return f"differences within the top {_number(len(equal))} are not significant"


def _lead(leaders: Sequence[str]) -> str:
    if len(leaders) > MAX_LEADERS:
        return f"{_number(len(leaders)).capitalize()} methods are close to the best average rank"
    return f"{_join(map(title, leaders))} lead{'s' if len(leaders) == 1 else ''}"


def _on_one(table: Table, dataset: str) -> Finding:
    known = _ordered(table.column(dataset))
    if not known:
        return Finding(f"No run on {dataset} is finished")
    comparisons = table.comparisons.get(dataset, ())
    best = next((e for e in known if comparisons and e.model == comparisons[0].best), known[0])
    score = f"{best.mean:.1f}% {title_of(table.scoring)}"
    if len(known) == 1:
        return Finding(f"{title(best.model)} has {score} on {dataset}", leaders=(best.model,))
    equal = [e.model for e in known if e.not_significantly_worse]
    detail = f"Corrected t-test on {comparisons[0].n_splits} paired splits." if comparisons else ""
    if not comparisons:
        tail = "; the differences cannot be tested, because no method shares two splits with it"
    elif not equal:
        others = "every tested method" if table.untested[dataset] else "every other method"
        tail = f", significantly more than {others}"
    elif len(equal) == len(known) - 1 > 1:
        tail = "; no difference is significant"
    else:
        shown = _join(map(title, equal)) if len(equal) <= MAX_LEADERS else f"{_number(len(equal))} methods"
        tail = f"; the difference from {shown} is not significant"
    return Finding(f"{title(best.model)} leads on {dataset} with {score}{tail}", detail, (best.model,))


def _by_wins(table: Table) -> Finding:
    """For two methods, or if methods share too few datasets for a ranking."""
    bests = {name: known[0].model for name in table.datasets if (known := _ordered(table.column(name)))}
    if len(table.models) == 1 or not bests:
        only = title(table.models[0]) if len(table.models) == 1 else f"{len(table.models)} methods"
        return Finding(f"{only} on {len(table.datasets)} datasets")
    wins = list(bests.values())
    leader = max(table.models, key=wins.count)
    clear = [
        name
        for name, rows in table.comparisons.items()
        if rows[0].best == leader == bests.get(name) and all(row.significant(table.alpha) for row in rows)
    ]
    tail = f"significantly on {_number(len(clear))} of them" if clear else "but on none of them significantly"
    headline = f"{title(leader)} is best on {wins.count(leader)} of {len(bests)} datasets, {tail}"
    return Finding(headline, f"No ranking over datasets: {table.unranked}.", (leader,))


def board_order(table: Table) -> list[str]:
    """Return the methods with the best first: by average rank, or on one dataset by score."""
    if table.average_ranks:
        return sorted(table.models, key=lambda name: table.average_ranks[name])
    if len(table.datasets) == 1:
        known = [entry.model for entry in _ordered(table.column(table.datasets[0]))]
        return [*known, *(name for name in table.models if name not in known)]
    return list(table.models)


def _ordered(column: Sequence[Entry]) -> list[Entry]:
    return sorted((e for e in column if e.mean is not None), key=lambda e: (e.n, e.mean or 0.0), reverse=True)


def title(model: str) -> str:
    """The name of a method as the paper prints it."""
    return paper.methods().get(model, model)


def _p_text(p: float) -> str:
    """Return a probability for readers, who do not need the digits of a small one."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _join(names: "Sequence[str] | map[str]") -> str:
    *first, last = names
    return f"{', '.join(first)}{',' if len(first) > 1 else ''} and {last}" if first else last


def _number(count: int) -> str:
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return words[count] if count < len(words) else str(count)
