"""The datasets of the paper's benchmark and a few more public ones, read from catalog.toml.

To add a dataset whose format has a reader in `formats.py`, add a table to catalog.toml.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Literal, get_args, get_type_hints

from heterophily.core.errors import HeterophilyError, unknown_name

DIGEST = re.compile("sha256:[0-9a-f]{64}|git_blob:[0-9a-f]{40}")


@dataclass(frozen=True)
class File:
    """A public file and its checksum, either SHA-256 or the id of the git object."""

    name: str
    url: str
    sha256: str = ""
    git_blob: str = ""  # SHA-1 over "blob <length>\0" + bytes


@dataclass(frozen=True)
class Dataset:
    """One entry of the catalog: sizes, source, and license of a public dataset.

    Parameters
    ----------
    format
        Name of a reader in `heterophily.data.formats`.
    n_symmetric
        Number of entries of the symmetrized graph without self-loops; each edge counts twice.
    edge_homophily
        Fraction of the edges that connect nodes of one class, rounded to two decimals.
    n_stored
        Number of distinct entries in the raw file, or None if it is unknown.
    paper_counts
        Which of the two numbers of edges the paper prints, or None if the paper does not use the
        dataset.
    undirected
        Whether the paper's table lists the graph as undirected.
    about
        What nodes, edges, and classes represent.

    Examples
    --------
    >>> from heterophily import CATALOG
    >>> CATALOG["chameleon-f"].n_nodes
    890
    >>> [name for name, dataset in CATALOG.items() if not dataset.in_paper]
    ['cora', 'citeseer', 'tolokers', 'chameleon', 'wisconsin', 'computers', 'cora-ml']
    """

    name: str
    format: str
    files: tuple[File, ...]
    n_nodes: int
    n_symmetric: int
    n_features: int
    n_classes: int
    edge_homophily: float
    citation: str
    license: str
    n_stored: int | None = None
    paper_counts: Literal["stored", "symmetric"] | None = None
    undirected: bool = True
    about: str = ""

    @property
    def in_paper(self) -> bool:
        """Whether the dataset is part of the paper's benchmark."""
        return self.paper_counts is not None

    @property
    def paper_edges(self) -> int | None:
        """The number of edges in the paper's table."""
        counts = {"stored": self.n_stored, "symmetric": self.n_symmetric, None: None}
        return counts[self.paper_counts]


def read_catalog(path: Path) -> dict[str, Dataset]:
    """Read a TOML file with one table per dataset."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        return {name: _dataset(name, table) for name, table in tables.items()}
    except ValueError as error:
        raise HeterophilyError(f"invalid catalog {path.name}: {error}") from error


def _dataset(name: str, table: object) -> Dataset:
    if not isinstance(table, dict):
        raise HeterophilyError(f"expected one [table] per dataset, got {name} = {table!r}")
    values = {**table, "name": name, "files": _files(name, table)}
    del values["url"]
    _check_values(name, values)
    return Dataset(**values)


def _files(name: str, table: Mapping[str, object]) -> tuple[File, ...]:
    url, digests = table.get("url"), table.get("files")
    if not isinstance(url, str) or not isinstance(digests, dict) or not digests:
        raise HeterophilyError(f"[{name}] must have a url and a table [{name}.files]")
    for file, digest in digests.items():
        if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
            raise HeterophilyError(f"[{name}.files] must give sha256:... or git_blob:... for {file}, got {digest!r}")
    return tuple(File(file, f"{url}/{file}", **dict([digest.split(":")])) for file, digest in digests.items())


def _check_values(name: str, values: Mapping[str, object]) -> None:
    """Raise an error for unknown or missing keys and for values of the wrong type."""
    hints = get_type_hints(Dataset)
    for key in values:
        if key not in hints:
            raise unknown_name(f"key of [{name}]", key, hints)
    for field in fields(Dataset):
        if field.name not in values and field.default is MISSING:
            raise HeterophilyError(f"[{name}] must have a value for {field.name}")
    for key in hints.keys() & values.keys() - {"files"}:
        options = _options(hints[key])
        if type(values[key]) not in options and values[key] not in options:
            expected = " or ".join(getattr(option, "__name__", repr(option)) for option in options)
            raise HeterophilyError(f"{key} of [{name}] must be {expected}, got {values[key]!r}")


def _options(hint: object) -> list[object]:
    """Return the types and literal values that an annotation allows, except None."""
    nested = [option for part in get_args(hint) for option in _options(part)]
    return nested or ([] if hint is type(None) else [hint])


CATALOG: dict[str, Dataset] = read_catalog(Path(__file__).with_name("catalog.toml"))


def lookup(name: str) -> Dataset:
    """Return the catalog entry of a dataset."""
    if name not in CATALOG:
        raise unknown_name("dataset", name, CATALOG)
    return CATALOG[name]
