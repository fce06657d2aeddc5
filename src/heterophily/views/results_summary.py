"""The findings at the top of the results page, one paragraph generated from the numbers and their tests."""

from collections.abc import Iterable, Sequence

from heterophily.benchmark.significance import signed_rank_test
from heterophily.benchmark.table import Table
from heterophily.views.claims import Claim
from heterophily.views.goals import Goals, better_on, mean_differences
from heterophily.views.reproduction import Reproduction
from heterophily.views.settings_kinds import OWN, REFERENCE, Kinds
from heterophily.views.tables import p_text, signed
from heterophily.views.templates import list_names


def summarize(kinds: Kinds, goals: Goals | None, reproduction: Reproduction | None, claims: Sequence[Claim]) -> str:
    """Return the paragraph. Sentences without numbers are omitted."""
    found = [*_own(kinds, goals), *_ties(kinds.tuned)]
    if reproduction:
        found.append(f"The published mean of `{REFERENCE}` is {reproduction.summary}.")
    if claims:
        failed = [claim.claim for claim in claims if not claim.holds]
        tail = f"; not confirmed: {'; '.join(failed)}" if failed else ""
        found.append(
            f"{len(claims) - len(failed)} of {len(claims)} claims of the paper about its table hold here{tail}."
        )
    return " ".join(found)


def _own(kinds: Kinds, goals: Goals | None) -> Iterable[str]:
    """Sentences about `trio`: its rank, its differences to CMGNN, its goals, and its default settings."""
    if goals is None:
        return
    if kinds.tuned.average_ranks:
        yield _rank(kinds.tuned)
    if differences := mean_differences(kinds.tuned):
        yield _against_reference(kinds.tuned, differences)
    missed = [f"{name} by {gap:.2f}" for name, gap in goals.missed.items()]
    n_all = len(goals.reached) + len(missed)
    yield f"`{OWN}` reaches its goal on {len(goals.reached)} of {n_all} datasets" + (
        f" and misses it on {list_names(missed)}." if missed else "."
    )
    if losses := _losses_of_defaults(kinds):
        texts = [f"{signed(loss)} on {name}" for name, loss in losses.items()]
        yield f"Its default settings, which are the same for all graphs, change its mean by {list_names(texts)}."


def _rank(table: Table) -> str:
    ranks = table.average_ranks
    order = sorted(ranks, key=lambda name: ranks[name])
    first, second = order[:2]
    n = len(table.ranked)
    total = f"{len(order)} methods with tuned settings over {n} dataset{'s' if n > 1 else ''}"
    if first == OWN:
        return f"`{OWN}` has the best average rank, {ranks[OWN]:.1f}, of {total}; {second} has {ranks[second]:.1f}."
    place = f"place {order.index(OWN) + 1} of {total}"
    return f"`{OWN}` has the average rank {ranks[OWN]:.1f}, {place}; {first} is best with {ranks[first]:.1f}."


def _against_reference(table: Table, differences: dict[str, float]) -> str:
    values = list(differences.values())
    clear = better_on(table)
    text = (
        f"It is better than `{REFERENCE}` on {sum(value > 0 for value in values)} of {len(values)} datasets, with "
        f"differences from {signed(min(values))} to {signed(max(values))} points"
    )
    text += f", significantly on {list_names(clear)}" if clear else ", on none of them significantly"
    text += " (corrected resampled t-test, Holm's correction over datasets)"
    p = signed_rank_test(values)
    return f"{text}." if p is None else f"{text}. Over datasets, Wilcoxon's signed-rank test gives p = {p_text(p)}."


def _losses_of_defaults(kinds: Kinds) -> dict[str, float]:
    """Default minus tuned mean, for datasets on which the settings differ."""
    losses = {}
    for name in kinds.tuned.datasets:
        tuned, default = (kinds.entry(OWN, name, default=value) for value in (False, True))
        if tuned and default and tuned.mean is not None and default.mean is not None and tuned != default:
            losses[name] = default.mean - tuned.mean
    return {name: loss for name, loss in losses.items() if loss}


def _ties(table: Table) -> Iterable[str]:
    """How many methods the tests cannot separate from the best."""
    if not table.comparisons:
        return
    counts = {name: sum(not row.significant(table.alpha) for row in rows) for name, rows in table.comparisons.items()}
    (first, count), *rest = counts.items()
    others = "".join(f", {n} on {name}" for name, n in rest)
    yield (
        f"Of the {len(table.models) - 1} other methods of a dataset, {count} are not significantly worse than the best "
        f"one on {first}{others}."
    )
