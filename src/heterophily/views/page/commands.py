"""How to get a number again: the command that runs exactly the runs behind it."""

import json
import shlex
from collections.abc import Iterable, Sequence

from heterophily.core.errors import HeterophilyError
from heterophily.core.types import Settings, Value
from heterophily.data.catalog import CATALOG
from heterophily.data.synthetic import EMBEDDED
from heterophily.htmp.identity import identity_of
from heterophily.htmp.method import Method, make_method, settings_of, translate_settings
from heterophily.models import REGISTRY
from heterophily.models.settings import merge_settings, tuned
from heterophily.runs.record import Record

OUT = "results"


def bench_command(records: Sequence[Record]) -> str:
    """The command of a cell of the table, with the settings that differ from the committed ones."""
    first = records[0]
    words = ["heterophily", "bench", "--models", first.model, "--datasets", first.dataset]
    words += ["--splits", splits_text(r.split for r in records), *_seed(records)]
    return shlex.join([*words, *settings_words(changed_settings(first)), "--out", OUT])


def settings_words(settings: Settings) -> list[str]:
    """Settings as words of a command.

    >>> settings_words({"width": 64, "activation": "relu"})
    ['--set', 'width=64', '--set', 'activation=relu']
    """
    return [w for n, v in settings.items() for w in ("--set", f"{n}={setting_text(v)}")]


def bench_note(record: Record) -> str:
    """What the command cannot promise, if anything."""
    own = custom_note([record.model], [record.dataset])
    return own if record.model not in REGISTRY else f"{own} {_changed_note(record)}".strip()


def custom_note(models: Iterable[str], datasets: Iterable[str]) -> str:
    """Return which names in a command represent files, if any."""
    methods = [name for name in models if name not in REGISTRY]
    graphs = [name for name in datasets if name not in CATALOG and name != EMBEDDED]
    notes = [f"{n} is a custom method: pass the path of its file to --models." for n in methods]
    notes += [f"{n} is a custom graph: pass the path of its file to --datasets." for n in graphs]
    return " ".join(notes)


def _changed_note(record: Record) -> str:
    decided = _decided(record.model, record.dataset, changed_settings(record))
    if decided is None or identity_of(decided) != record.identity:
        return "The method or its settings have changed since this run; results may differ."
    return ""


def changed_settings(record: Record) -> dict[str, Value]:
    """What must be set on the command line, beyond what the library decides by itself."""
    decided = _decided(record.model, record.dataset, {})
    if decided is None:
        return dict(record.settings)
    preset = str(tuned(record.model, record.dataset).get("preset", "published"))
    changed = {} if record.preset == preset else {"preset": record.preset}
    if changed:
        decided = _decided(record.model, record.dataset, changed) or decided
    plain, given = _plain(settings_of(decided)), _plain(translate_settings(record.settings))
    different = {n: v for n, v in given.items() if n not in plain or plain[n] != v}
    return changed | {n: v for n, v in different.items() if _has_effect(decided, n, v)}


def _has_effect(method: Method, name: str, value: Value) -> bool:
    """Return whether a setting changes results, or is unknown."""
    try:
        return identity_of(make_method(method, {name: value})) != identity_of(method)
    except HeterophilyError:
        return True


def _plain(settings: Settings) -> dict[str, Value]:
    found: dict[str, Value] = json.loads(json.dumps(dict(settings), default=str))
    return found


def _decided(model: str, dataset: str, more: Settings) -> Method | None:
    if model not in REGISTRY:
        return None
    try:
        return make_method(REGISTRY[model], merge_settings(model, dataset, None, more)[0])
    except HeterophilyError:  # a setting of other versions
        return None


def setting_text(value: Value) -> str:
    """A value as `--set` reads it: text as it is, unless it looks like another value.

    >>> setting_text(0.5), setting_text("relu"), setting_text("1"), setting_text(True)
    ('0.5', 'relu', '"1"', 'true')
    """
    if not isinstance(value, str):
        return json.dumps(value)
    try:
        json.loads(value)
    except ValueError:
        return value
    return json.dumps(value)


def splits_text(names: Iterable[str]) -> str:
    """Splits as `--splits` reads them.

    >>> splits_text(["0", "2", "1"]), splits_text(["3", "5"]), splits_text(["a", "b"])
    ('0-2', '3,5', 'a,b')
    """
    found = sorted(set(names), key=lambda name: (not name.isdigit(), name.zfill(9)))
    if len(found) < 2 or not all(name.isdigit() for name in found):
        return ",".join(found)
    numbers = [int(name) for name in found]
    is_range = numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]}-{numbers[-1]}" if is_range else ",".join(found)


def _seed(records: Sequence[Record]) -> list[str]:
    starts = {r.seed - int(r.split) for r in records if r.split.isdigit()}
    return ["--seed", str(starts.pop())] if len(starts) == 1 and starts != {0} else []


def full_command(records: Sequence[Record], models: Sequence[str], datasets: Sequence[str]) -> str:
    """The command that runs everything, with the committed settings and what all cells set beyond."""
    chosen = ["--models", ",".join(models), "--datasets", ",".join(datasets)]
    splits = ["--splits", splits_text(r.split for r in records), *_seed(records)]
    shared = settings_words(shared_settings(records))
    return shlex.join(["heterophily", "bench", *chosen, *splits, *shared, "--out", OUT])


def shared_settings(records: Iterable[Record]) -> dict[str, Value]:
    """Settings that all cells have, and that at least one has from the command line alone."""
    cells = list({(r.model, r.dataset): r for r in records}.values())
    # A custom method has no known defaults, so all of its settings would look changed.
    judged = [r for r in cells if r.model in REGISTRY] or cells
    said = {name: value for r in judged for name, value in changed_settings(r).items()}
    held = [{"preset": r.preset, **_plain(r.settings)} for r in cells]
    return {n: v for n, v in said.items() if all(n in have and have[n] == v for have in held)}
