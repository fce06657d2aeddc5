"""Predictions as a file: CSV, JSON, or Parquet, according to the file extension."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from heterophily.core.csv_files import write_csv
from heterophily.core.errors import HeterophilyError
from heterophily.core.extras import require
from heterophily.core.files import write_atomically
from heterophily.core.graph import Graph
from heterophily.core.types import FloatArray, JsonObject
from heterophily.training.estimator import NodeClassifier

DIGITS = 6  # after the decimal point of a probability
Ids = Sequence[str | int]


def check_predictions_path(path: Path) -> None:
    """Raise an error unless predictions can be written to a file with this extension."""
    if path.suffix.lower() not in WRITERS:
        raise HeterophilyError(f"predictions are written to {', '.join(WRITERS)}, got {path.name!r}; change --out")
    if path.suffix.lower() == ".parquet":
        require("writing Parquet", "pyarrow")


def write_predictions(fitted: NodeClassifier, graph: Graph, path: Path) -> None:
    """Write one row per node: id, predicted class, and the probability of every class."""
    check_predictions_path(path)
    names = [*fitted.class_names_]
    ids: Ids = graph.node_ids or range(graph.n_nodes)
    probabilities = fitted.predict_proba(None if graph is fitted.graph_ else graph)
    predicted = [names[number] for number in fitted.decide(probabilities).tolist()]
    write = WRITERS[path.suffix.lower()]
    write_atomically(path, lambda temporary: write(temporary, ids, predicted, names, probabilities))


def _write_csv(path: Path, ids: Ids, predicted: list[str], names: list[str], probabilities: FloatArray) -> None:
    cells = zip(ids, predicted, probabilities, strict=True)
    rows = ([node, name, *(f"{p:.{DIGITS}f}" for p in row)] for node, name, row in cells)
    with path.open("w", newline="", encoding="utf-8") as file:
        write_csv(file, [["id", "predicted", *names]])
        write_csv(file, rows)


def _write_json(path: Path, ids: Ids, predicted: list[str], names: list[str], probabilities: FloatArray) -> None:
    rows: list[JsonObject] = [
        {"id": node, "predicted": name, "probabilities": dict(zip(names, row, strict=True))}
        for node, name, row in zip(ids, predicted, probabilities.round(DIGITS).tolist(), strict=True)
    ]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _write_parquet(path: Path, ids: Ids, predicted: list[str], names: list[str], probabilities: FloatArray) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    repeated = {"id", "predicted"} & set(names)
    if repeated:
        raise HeterophilyError(f"a class is named {min(repeated)!r} as another column of the file; use --out FILE.json")
    is_numbered = all(isinstance(node, int) for node in ids)
    columns: dict[str, object] = {"id": list(ids) if is_numbered else [*map(str, ids)], "predicted": predicted}
    columns |= {name: probabilities[:, i] for i, name in enumerate(names)}
    parquet.write_table(pa.table(columns), path)


WRITERS: dict[str, Callable[[Path, Ids, list[str], list[str], FloatArray], None]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".parquet": _write_parquet,
}
