"""Records: one per run, with what was run, on what, where, and the result.

A folder of records has one JSON file per run, written atomically, so a file that exists is complete. A record
is self-contained and describes its environment, because the same settings can differ by percentage points
between machines. Folders of several machines are merged by copying, and many records can be packed into one
file of JSON lines.
"""

import json
import platform
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict, cast

import torch

from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.files import safe_name, write_atomically
from heterophily.core.types import Json, JsonObject, Value
from heterophily.htmp.identity import digest, identity_of
from heterophily.htmp.method import make_method
from heterophily.models import BUILT_IN
from heterophily.runs.schema import parse_record
from heterophily.training.scoring import DEFAULT_SCORING, renamed_scores

RESULTS_VERSION = 1  # increase it when a change of the code changes results
FAILURES = ("error", "memory", "time", "killed")


class CurveData(TypedDict, total=False):
    """A `History` as plain data: one value per epoch."""

    loss: list[float]
    val_accuracy: list[float]
    seconds: list[float]


class RunData(TypedDict, total=False):
    """A `TrainingResult` as plain data; empty if the run failed."""

    scores: dict[str, dict[str, float]]  # by part and scoring
    best_epoch: int
    n_epochs: int
    stopped: str
    seconds: float
    milliseconds_per_epoch: float
    peak_memory: float
    curve: CurveData
    seed: int
    device: str


class Details(TypedDict, total=False):
    """Sizes of the split and the estimated compatibility matrix. Rows of measures are further entries."""

    split: dict[str, int]
    compatibility: list[list[float]]
    compatibility_error: float


@dataclass(frozen=True)
class Record:
    """A finished or failed run of a model on a split of a dataset."""

    key: str  # digest of everything that determines the result
    model: str
    dataset: str
    split: str
    seed: int
    settings: dict[str, Value]
    preset: str
    source: str  # where the settings come from
    recipe: str  # identity of the method in the code that ran; see `identity`
    checksum: str  # of the graph
    status: str = "done"  # or one of FAILURES
    reason: str = ""  # of a failure
    run: RunData = field(default_factory=RunData)
    parameters: int = 0  # number of weights
    details: Details = field(default_factory=Details)
    environment: JsonObject = field(default_factory=dict)
    finished: str = ""  # time in UTC
    version: int = 1  # RESULTS_VERSION of the code that ran
    scoring: str = DEFAULT_SCORING.name  # decides when training stops and which epoch is retained
    trials: int = 0  # number of trials of `tune` that selected the settings; 0 for any other settings

    @property
    def done(self) -> bool:
        """Whether the run succeeded."""
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
        facts: list[Json] = [self.identity, self.checksum, self.version]
        return digest([*facts, *optional_facts(self.scoring, self.trials)])

    @property
    def has_test_scores(self) -> bool:
        """Whether the run was scored on test nodes. Trials of `search` and `tune` are not."""
        return bool(self.run.get("scores", {}).get("test"))

    def score(self, part: str = "test", scoring: str = DEFAULT_SCORING.name) -> float:
        """Return a score of the run, by default test accuracy, between 0 and 1."""
        return float(self.run["scores"][part][scoring])

    def rows(self, measure: str) -> list[JsonObject]:
        """Return the rows of a measure of the run."""
        return cast("dict[str, list[JsonObject]]", self.details)[measure]

    def to_dict(self) -> JsonObject:
        """Return the record as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Json]) -> "Record":
        """Create a record from the output of `to_dict`. Fields of later versions are ignored."""
        known = {each.name for each in fields(cls)}
        make = cast("Callable[..., Record]", cls)
        record = make(**{name: value for name, value in facts.items() if name in known})
        if "scores" not in record.run:
            return record
        return replace(record, run={**record.run, "scores": renamed_scores(record.run["scores"])})


def optional_facts(scoring: str, trials: int) -> list[Json]:
    """Return the facts of a run that have a default. Defaults are omitted, so that keys of earlier versions hold."""
    return [*([] if scoring == DEFAULT_SCORING.name else [scoring]), *([f"{trials} trials"] if trials else [])]


@cache
def _current_identity(model: str, settings: str) -> str:
    """Return the identity of a built-in method with stored settings, or "" if there is none."""
    if model in BUILT_IN:
        with suppress(HeterophilyError):  # a setting or a value that no longer exists
            return identity_of(make_method(BUILT_IN[model], json.loads(settings)))
    return ""


def path_of(folder: Path, record: Record) -> Path:
    """Return the path of a record in a folder of records."""
    name = f"{safe_name(record.split)}-seed{int(record.seed)}-{safe_name(record.key[:12])}.json"
    return folder / safe_name(record.dataset) / safe_name(record.model) / name


def write_record(folder: Path, record: Record) -> Path:
    """Write a record atomically. Return its path."""
    path = path_of(folder, record)
    text = json.dumps(record.to_dict(), ensure_ascii=False)
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return path


def read_record(path: Path) -> Record:
    """Return the record in a file."""
    return _parse(path.read_bytes(), str(path))


def find_record(path: Path) -> Record | None:
    """Return the record in a file, or None if the file is missing or damaged."""
    try:
        return read_record(path)
    except (FileNotFoundError, HeterophilyError):
        return None


def read_records(source: Path | str) -> list[Record]:
    """Return all records of a folder or a file of JSON lines, sorted by dataset, model, split, and seed.

    Damaged records are skipped with a warning that counts them. `bench` runs those of a folder again.
    """
    path = Path(source)
    if not path.exists():
        raise HeterophilyError(f"{path} does not contain results; create them with `heterophily bench --out {path}`")
    records, reasons = [], []
    for place, text in _packed(path) if path.is_file() else _stored(path):
        try:
            records.append(_parse(text, place))
        except HeterophilyError as error:
            reasons.append(str(error))
    _report_skipped(reasons)
    return sorted(records, key=lambda r: (r.dataset, r.model, r.split, r.seed, r.finished))


def _packed(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the place and the text of every record in a file of JSON lines."""
    lines = path.read_bytes().split(b"\n")  # not at other characters that end a line
    return ((f"{path}, line {i}", line) for i, line in enumerate(lines, 1) if line)


def _stored(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the text of every record in a folder."""
    paths = (path for path in sorted(folder.glob("*/*/*.json")) if not path.name.startswith(".") and path.is_file())
    return ((str(path), path.read_bytes()) for path in paths)


def _report_skipped(reasons: Sequence[str]) -> None:
    if reasons:
        count = "1 damaged record was" if len(reasons) == 1 else f"{len(reasons)} damaged records were"
        warnings.warn(f"{count} skipped, for example: {reasons[0]}", HeterophilyWarning, stacklevel=3)


def pack_records(records: Iterable[Record], path: Path, *, curves: bool = False) -> Path:
    """Write records as JSON lines to one file, without learning curves unless `curves` is set."""
    lines = []
    for record in records:
        run = record.run.copy()
        if not curves:
            run.pop("curve", None)
        lines.append(json.dumps(replace(record, run=run).to_dict(), ensure_ascii=False))
    text = "\n".join(lines) + "\n"
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return path


def latest(records: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    """Return the records per model and dataset that belong together: one graph, method, and version each.

    If a dataset has several graphs, or a method has several settings on it, those with the newest finished
    run are selected, or those with the newest failed run if none is finished. Tuned settings are preferred.
    """
    graphs: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        graphs.setdefault(record.dataset, {}).setdefault(record.checksum, []).append(record)
    cells: dict[tuple[str, str], dict[str, list[Record]]] = {}
    for record in (r for versions in graphs.values() for r in _newest(versions)):
        groups = cells.setdefault((record.model, record.dataset), {})
        groups.setdefault(record.group, []).append(record)
    return {cell: _newest(groups) for cell, groups in cells.items()}


def _newest(groups: dict[str, list[Record]]) -> list[Record]:
    return max(groups.values(), key=lambda rs: max((r.done, r.trials > 0, r.finished) for r in rs))


def _parse(text: bytes, place: str) -> Record:
    try:
        return Record.from_dict(parse_record(text))
    except HeterophilyError as error:
        raise HeterophilyError(f"{place} is not a valid record of a run: {error}") from error


LIBRARIES = ("heterophily", "torch", "numpy", "scipy", "scikit-learn")


def describe_environment(threads: int | None = None) -> JsonObject:
    """Return versions, processor, GPU, and number of threads, by default of this process."""
    return {**_static_facts(), "threads": threads or torch.get_num_threads()}


@cache
def _static_facts() -> JsonObject:
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "",
        **{name: version(name) for name in LIBRARIES},
    }


def processor() -> str:
    """Return the name of the processor as reported by the system."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
