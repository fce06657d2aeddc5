"""One run, one record: what was run, on what, where, and what it gave.

A folder of records has one JSON file per run, written atomically: presence means done. A record is
self-contained, so that folders of several machines are merged by copying; many of them pack into one
file of JSON lines.
"""

import json
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.files import safe_name, write_atomically
from heterophily.htmp.identity import digest, identity_of
from heterophily.models import CLASSICS, PUBLISHED
from heterophily.training.metrics import DEFAULT_METRIC

RESULTS_VERSION = 1  # raise it when a change of the code changes results
FAILURES = ("error", "memory", "time", "killed")
BUILT_IN = {recipe.name: recipe for recipe in (*PUBLISHED, *CLASSICS)}
RENAMED_SETTINGS = {"hidden_share": "masked_fraction"}
RENAMED_VALUES = {("hetero_message", '"neighbour"'): "neighbor"}


@dataclass(frozen=True)
class Record:
    """A finished or failed run of a model on a split of a dataset."""

    key: str  # see `job.job_key`
    model: str
    dataset: str
    split: str
    seed: int
    settings: dict[str, Any]
    preset: str
    source: str  # where the settings come from
    recipe: str  # `identity_of` the method in the code that ran; see `identity`
    checksum: str  # of the graph
    status: str = "done"  # or one of FAILURES
    reason: str = ""  # of a failure
    run: dict[str, Any] = field(default_factory=dict)  # a `Run` as plain data
    parameters: int = 0  # number of weights
    details: dict[str, Any] = field(default_factory=dict)  # degree groups, compatibility
    environment: dict[str, Any] = field(default_factory=dict)
    finished: str = ""  # time in UTC
    version: int = 1  # RESULTS_VERSION of the code that ran

    @property
    def done(self) -> bool:
        """Whether the run ended well."""
        return self.status == "done"

    @property
    def identity(self) -> str:
        """The identity of the method in the current code.

        Name and settings determine a run, so the current code computes the identity of a built-in method
        from them. The stored identity applies only to methods that are not part of the library.
        """
        settings = json.dumps(self.settings, sort_keys=True)
        return _current_identity(self.model, settings) or self.recipe

    @property
    def group(self) -> str:
        """The same text for runs of one table cell, which differ only in split and seed."""
        return digest([self.identity, self.checksum, self.version])

    def score(self, part: str = "test", metric: str = DEFAULT_METRIC.name) -> float:
        """A metric of the run, such as test accuracy, between 0 and 1."""
        return float(self.run["scores"][part][metric])

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> "Record":
        """The record that `to_dict` gave; fields of later versions of the library are passed over."""
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in facts.items() if name in known})


@cache
def _current_identity(model: str, settings: str) -> str:
    """Return the identity of a built-in method with stored settings, or "" if there is none."""
    values = json.loads(settings)
    for candidate in (translate_settings(values), values) if model in BUILT_IN else ():
        with suppress(HeterophilyError):  # a setting or a value that does not exist (any more)
            return identity_of(BUILT_IN[model].with_settings(**candidate))
    return ""


def translate_settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Translate the settings of an older version of the library to the current names and values."""
    values = {RENAMED_SETTINGS.get(name, name): value for name, value in stored.items()}
    return {n: RENAMED_VALUES.get((n, json.dumps(v)), v) for n, v in values.items()}


def path_of(folder: Path, record: Record) -> Path:
    """Where a record lies in a folder of records."""
    name = f"{safe_name(record.split)}-seed{record.seed}-{record.key[:12]}.json"
    return folder / safe_name(record.dataset) / safe_name(record.model) / name


def write_record(folder: Path, record: Record) -> Path:
    """Write a record atomically; its path."""
    path = path_of(folder, record)
    text = json.dumps(record.to_dict(), ensure_ascii=False)
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return path


def read_record(path: Path) -> Record:
    """The record in a file."""
    return _parse(path.read_bytes(), str(path))


def find_record(path: Path) -> Record | None:
    """The record in a file, None if there is none or it is damaged."""
    try:
        return read_record(path)
    except (FileNotFoundError, HeterophilyError):
        return None


def read_records(source: Path | str) -> list[Record]:
    """All records of a folder, or of a file of JSON lines, sorted by dataset, model, split and seed.

    Of a folder, files that are no records are left out with a warning; `bench` runs damaged ones again.
    """
    path = Path(source)
    if not path.exists():
        raise HeterophilyError(f"no results in {path}; `heterophily bench --out {path}` makes some")
    if path.is_file():
        lines = path.read_bytes().split(b"\n")  # and at no other character that ends a line
        found = [_parse(line, f"{path}, line {i}") for i, line in enumerate(lines, 1) if line]
    else:
        found = _in_folder(path)
    return sorted(found, key=lambda r: (r.dataset, r.model, r.split, r.seed, r.finished))


def _in_folder(folder: Path) -> list[Record]:
    found, reasons = [], []
    for path in sorted(folder.glob("*/*/*.json")):
        if not path.name.startswith("."):
            try:
                found.append(read_record(path))
            except HeterophilyError as error:
                reasons.append(str(error))
    if reasons:
        others = f" and {len(reasons) - 1} more files" if len(reasons) > 1 else ""
        warnings.warn(f"left out: {reasons[0]}{others}", HeterophilyWarning, stacklevel=3)
    return found


def pack_records(records: Iterable[Record], path: Path, *, curves: bool = False) -> Path:
    """Write records as JSON lines into one file, without their learning curves unless asked for."""
    lines = []
    for record in records:
        facts = record.to_dict()
        if not curves:
            facts["run"].pop("curve", None)
        lines.append(json.dumps(facts, ensure_ascii=False))
    text = "\n".join(lines) + "\n"
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return path


def latest(records: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    """The records per model and dataset that belong together: of one graph, recipe and version each.

    Where a dataset has several graphs, or a method several settings on it, those with the newest finished
    run count, or the newest failed one where none is finished.
    """
    graphs: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        graphs.setdefault(record.dataset, {}).setdefault(record.checksum, []).append(record)
    cells: dict[tuple[str, str], dict[str, list[Record]]] = {}
    for record in (r for kinds in graphs.values() for r in _newest(kinds)):
        groups = cells.setdefault((record.model, record.dataset), {})
        groups.setdefault(record.group, []).append(record)
    return {cell: _newest(groups) for cell, groups in cells.items()}


def _newest(groups: dict[str, list[Record]]) -> list[Record]:
    return max(groups.values(), key=lambda rs: max((r.done, r.finished) for r in rs))


def _parse(text: bytes, place: str) -> Record:
    try:
        facts = json.loads(text)
    except ValueError as error:
        raise HeterophilyError(f"{place} is damaged, it is not JSON ({error})") from error
    try:
        return Record.from_dict(facts)
    except (AttributeError, TypeError) as error:
        raise HeterophilyError(f"{place} is not a record of a run ({error})") from error
