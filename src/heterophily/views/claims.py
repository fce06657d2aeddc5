"""Claims of the paper about its table of accuracies, and whether our runs confirm them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from heterophily.benchmark.table import Table, build_table
from heterophily.core import chart
from heterophily.data import published as paper
from heterophily.runs.record import Record
from heterophily.views.settings_kinds import REFERENCE
from heterophily.views.tables import p_text, signed
from heterophily.views.templates import list_names

# The methods that the paper calls heterophilous, without its own one.
HETEROPHILOUS = ("h2gcn", "mixhop", "gbk-gnn", "ggcn", "glognn", "hog-gcn", "gpr-gnn", "acm-gcn", "ordered-gnn")
GOOD, BAD = ("chameleon-f", "squirrel-f"), ("blogcatalog",)  # of the paper's "good" and "bad" heterophily


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, its numbers, ours, and whether it holds here."""

    claim: str
    published: str
    measured: str
    verdict: str  # "yes", "no", or "yes, not significantly"

    @property
    def holds(self) -> bool:
        """Whether our means agree with the claim."""
        return self.verdict.startswith("yes")


def check_claims(records: Iterable[Record]) -> list[Claim]:
    """Check the claims for which there are runs of all methods of the paper."""
    used = [record for record in records if record.model in paper.methods()]
    if not used:
        return []
    table = build_table(used, against=True)
    claims: list[Claim] = []
    if set(table.models) == set(paper.methods()) and table.average_ranks:
        claims += [_best_rank(table), _best_datasets(table), _residuals(table)]
    for names, better, worse in ((GOOD, "gcn", "mlp"), (BAD, "mlp", "gcn")):
        claims += [_pair(table, name, better, worse) for name in names if _has(table, name, better, worse)]
    return claims


def claims_table(claims: Sequence[Claim]) -> chart.Table:
    """Return the claims with the numbers of the paper and ours."""
    rows = [[c.claim, c.published, c.measured, c.verdict if c.holds else f"**{c.verdict}**"] for c in claims]
    return chart.Table(["claim of the paper", "paper", "here", "holds"], rows)


def _best_rank(table: Table) -> Claim:
    """The best average rank, and the number of methods from which Nemenyi's test separates it."""
    ranks = table.average_ranks
    printed = {model: rank for model in ranks if (rank := paper.average_rank(model)) is not None}
    text = _first_two(ranks)
    is_best = min(ranks, key=lambda name: ranks[name]) == REFERENCE
    verdict = "yes" if is_best else "no"
    if table.ranking:
        limit = ranks[REFERENCE] + table.ranking.critical_difference
        n_worse = sum(rank >= limit for rank in ranks.values())
        text += f"; Nemenyi's test separates {REFERENCE} from {n_worse} of {len(ranks) - 1} methods"
        verdict += ", not significantly" if is_best and n_worse < len(ranks) - 1 else ""
    return Claim(f"{REFERENCE} has the best average rank", _first_two(printed), text, verdict)


def _first_two(ranks: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {ranks[name]:.1f}" for name in sorted(ranks, key=lambda name: ranks[name])[:2])


def _best_datasets(table: Table) -> Claim:
    """The datasets on which CMGNN is best."""
    printed = [name for name in table.datasets if _best_published(table, name) == REFERENCE]
    here = [name for name in table.datasets if table.entries[REFERENCE, name].position == 1]
    confirmed = [name for name in printed if name in here]
    verdict = "yes" if confirmed == printed else f"on {len(confirmed)} of {len(printed)}"
    texts = [f"{len(names)} of {len(table.datasets)} datasets" for names in (printed, here)]
    named = f": {list_names(here)}" if here else ""
    return Claim(f"{REFERENCE} is best on {list_names(printed)}", texts[0], texts[1] + named, verdict)


def _best_published(table: Table, dataset: str) -> str:
    means = {e.model: e.published.mean for e in table.column(dataset) if e.published and e.published.mean}
    return max(means, key=lambda name: means[name])


def _residuals(table: Table) -> Claim:
    """GCNII has a better average rank than most heterophilous methods."""
    printed = {model: paper.average_rank(model) or 0.0 for model in (*HETEROPHILOUS, "gcnii")}
    published, here = (
        sum(ranks[name] > ranks["gcnii"] for name in HETEROPHILOUS) for ranks in (printed, table.average_ranks)
    )
    n = len(HETEROPHILOUS)
    claim = "gcnii has a better average rank than most heterophilous methods"
    verdict = "yes" if here > n / 2 else "no"
    return Claim(claim, f"better than {published} of {n}", f"better than {here} of {n}", verdict)


def _has(table: Table, dataset: str, *models: str) -> bool:
    return dataset in table.datasets and all(
        model in table.models and table.entries[model, dataset].n > 1 for model in models
    )


def _pair(table: Table, dataset: str, better: str, worse: str) -> Claim:
    """One method is better than another one, with the p-value of this pair."""
    pair = next(test for test in table.pairs[dataset] if {test.first, test.second} == {better, worse})
    difference = pair.difference if pair.first == better else -pair.difference
    printed = [result.mean for model in (better, worse) if (result := paper.accuracy(model, dataset))]
    known = [mean for mean in printed if mean is not None]
    verdict = "no" if difference <= 0 else "yes" if pair.p <= table.alpha else "yes, not significantly"
    text = signed(known[0] - known[1]) if len(known) == 2 else "–"
    return Claim(f"{better} is better than {worse} on {dataset}", text, _tested(difference, pair.p), verdict)


def _tested(difference: float, p: float) -> str:
    return f"{signed(difference)} (p = {p_text(p)})"
