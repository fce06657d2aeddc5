"""Graphs from two files, CSV or Parquet: edges (source, target) and nodes (id, label, split, and features).

Text files can separate cells by commas, semicolons, or tabs. All cells are read as text, so "007" stays "007"; the
encoder recognizes numbers, including those with decimal commas.
"""

import csv
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from heterophily.core.encoder import FeatureEncoder
from heterophily.core.errors import HeterophilyError
from heterophily.core.extras import require
from heterophily.core.frames import Roles, graph_from_frames
from heterophily.core.graph import Graph

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".csv", ".tsv", ".parquet")
DELIMITERS = ("\t", ";", ",", "|")
FREE_CELLS = 2**24  # cells that every Parquet file may contain
CELLS_PER_BYTE = 20  # above which a larger file is rejected
BLOCK = 1 << 24  # bytes that Arrow parses at a time; a row must fit


def read_tables(
    edges: Path, nodes: Path | None = None, *, roles: Roles | None = None, encoder: FeatureEncoder | None = None
) -> Graph:
    """Create a graph from an edge table and an optional node table."""
    table = edges if nodes is None else nodes
    name = table.resolve().parent.name if table.stem in ("nodes", "edges") else table.stem
    return graph_from_frames(
        None if nodes is None else read_table(nodes),
        read_table(edges),
        roles or Roles(),
        encoder=encoder,
        name=name or "graph",
        table_names=(str(nodes), str(edges)),
    )


def read_table(path: Path) -> "pa.Table":
    """Read a CSV, TSV, or Parquet file."""
    require("reading tables", "pyarrow", "narwhals")
    import pyarrow as pa

    if not path.is_file():
        raise HeterophilyError(f"there is no table at {path}; pass the path of a CSV or Parquet file")
    try:
        table = _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
    except HeterophilyError:
        raise
    except UnicodeDecodeError as error:
        raise HeterophilyError(
            f"{path} must be a text file in UTF-8, but it is not ({error}); save it again"
        ) from error
    except (pa.ArrowException, OSError, csv.Error) as error:
        hint = "correct this row" if "columns, got" in str(error) else "write it again"
        raise HeterophilyError(f"{path} is not a readable table: {error}; {hint}") from error
    repeated = [name for name, count in Counter(table.column_names).items() if count > 1]
    if repeated:
        raise HeterophilyError(f"{path} has column {repeated[0]!r} twice; remove one of them")
    return table


def _read_parquet(path: Path) -> "pa.Table":
    """Read a Parquet file unless it contains far more cells than its size suggests."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        n_cells = file.metadata.num_rows * file.metadata.num_columns
        if n_cells > max(FREE_CELLS, CELLS_PER_BYTE * path.stat().st_size):
            raise HeterophilyError(
                f"{path} has {path.stat().st_size / 1e6:.1f} MB, but {n_cells:,} cells; save it without compression "
                "or remove constant columns"
            )
        return file.read()


def _read_csv(path: Path) -> "pa.Table":
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    with path.open(newline="", encoding="utf-8-sig") as file:
        first = file.readline()
    delimiter = _delimiter(first)
    header = next(csv.reader([first], delimiter=delimiter), [])
    table = arrow_csv.read_csv(
        path,
        read_options=arrow_csv.ReadOptions(block_size=BLOCK),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in header}, null_values=[""], strings_can_be_null=True
        ),
    )
    return table.rename_columns([name.strip() for name in table.column_names])


def _delimiter(header: str) -> str:
    """Return the delimiter that divides the header into the most columns, or a space if no other one does."""
    counts = {each: len(next(csv.reader([header], delimiter=each), [])) for each in DELIMITERS}
    if max(counts.values()) == 1 and " " in header.strip():
        return " "
    return max(DELIMITERS, key=lambda each: (counts[each], each == ","))
