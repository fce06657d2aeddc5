"""Use your own tables, from two files to predictions: fraud among the accounts of a marketplace.

Run `python examples/own_graph.py [FOLDER]`. The script writes `accounts.csv` and `transactions.csv`, diagnoses the
graph, trains a model on the accounts that were already investigated, and writes predictions for all accounts.

The tables are synthetic, and look like real ones: text ids, categories, dates, missing values, amounts with heavy
tails, and a rare class. Accounts of fraudsters look almost like all others, but they receive money from older people.
"""

import csv
import sys
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from heterophily import Graph, NodeClassifier, diagnose
from heterophily.core.frames import Roles
from heterophily.core.types import BoolArray, FloatArray, IntArray
from heterophily.views.fit import write_results

N_ACCOUNTS = 1500
FRAUD_RATE = 0.08
INVESTIGATED = 0.6  # share of the accounts with a label
ROLES = Roles(id="account", label="fraud", source="payer", target="payee", ignore=["email"])
COLUMNS = ("account", "email", "country", "opened", "birth_year", "balance", "verified", "segment", "fraud")


def write_marketplace(folder: Path, *, seed: int = 0) -> None:
    """Write the tables of a marketplace with accounts and transactions."""
    rng = np.random.default_rng(seed)
    fraud = rng.random(N_ACCOUNTS) < FRAUD_RATE
    birth_year = np.clip(rng.normal(1985, 15, N_ACCOUNTS), 1935, 2006).astype(np.int64)
    pairs = draw_transactions(rng, fraud, birth_year)
    ids = [f"acc-{number:05}" for number in rng.permutation(N_ACCOUNTS)]
    folder.mkdir(parents=True, exist_ok=True)
    payments = [(ids[payer], ids[payee]) for payer, payee in pairs]
    write_table(folder / "transactions.csv", ("payer", "payee"), payments)
    write_table(folder / "accounts.csv", COLUMNS, accounts(rng, ids, fraud, birth_year))


def draw_transactions(rng: np.random.Generator, fraud: BoolArray, birth_year: IntArray) -> IntArray:
    """Return random pairs of payer and payee, and payments of older people to fraudsters."""
    n = len(fraud)
    usual = rng.integers(n, size=(4 * n, 2))
    weights: FloatArray = np.exp((1985 - birth_year) / 10) * ~fraud
    payees = np.repeat(np.flatnonzero(fraud), 4)
    victims = rng.choice(n, len(payees), p=weights / weights.sum())
    pairs = np.concatenate([usual, np.stack([victims, payees], axis=1)])
    return rng.permutation(pairs[pairs[:, 0] != pairs[:, 1]])


def accounts(
    rng: np.random.Generator, ids: Sequence[str], fraud: BoolArray, birth_year: IntArray
) -> list[tuple[object, ...]]:
    """Return one row per account, with missing cells."""
    n = len(ids)
    country = rng.choice(["DE", "FR", "PL", "US", ""], n, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    opened = [date(2024, 1, 1) - timedelta(days=int(days)) for days in rng.exponential(700 - 200 * fraud)]
    balance = rng.lognormal(6, 1.5, n).round(2)
    verified = np.where(rng.random(n) < 0.8 - 0.15 * fraud, "yes", "no")
    segment = rng.choice(["private", "shop", "craft"], n, p=[0.7, 0.2, 0.1])
    known = rng.random(n) < INVESTIGATED
    return [
        (
            name,
            f"user{i}@example.org",
            country[i],
            opened[i].isoformat(),
            "" if rng.random() < 0.1 else birth_year[i],
            "" if rng.random() < 0.05 else balance[i],
            verified[i],
            segment[i],
            ("yes" if fraud[i] else "no") if known[i] else "",
        )
        for i, name in enumerate(ids)
    ]


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])


def main(folder: Path) -> None:
    """Create the tables, diagnose the graph, train a model, and write the results."""
    write_marketplace(folder)
    graph = Graph.from_files(folder / "transactions.csv", nodes=folder / "accounts.csv", roles=ROLES)
    print(diagnose(graph).verdict, "\n")
    model = NodeClassifier("cmgnn", scoring="average_precision", class_weight="balanced", width=32, patience=40)
    model.fit(graph)
    print({name: round(value, 3) for name, value in model.run_.scores["val"].items()})
    for name, path in write_results(model, graph, folder / "results").items():
        print(f"{name}: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "marketplace"))
