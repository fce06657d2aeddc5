"""The files of a search: the table of trials, and the best settings or the best method, written atomically."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import tomlkit
from tomlkit.items import Comment, Table, Whitespace

from heterophily.core.csv_files import write_csv
from heterophily.core.errors import HeterophilyError
from heterophily.core.files import safe_name, write_atomically
from heterophily.core.types import Value
from heterophily.htmp.architecture import Architecture
from heterophily.htmp.identity import Imports, changed_fields, expression
from heterophily.htmp.method import CustomMethod
from heterophily.models.settings import SOURCE, TRIALS, read_settings
from heterophily.tuning import components
from heterophily.tuning.result import SearchResult, TrialResult


def write_winner(result: SearchResult, path: Path) -> Path:
    """Write the best method as Python code, or the best settings as a table of a settings file."""
    if result.model == components.NAME:
        words = f"Best architecture of a search with {len(result.trials)} trials on {result.dataset}."
        assert isinstance(result.method, CustomMethod)
        return write_method(result.method, path, description=words)
    return write_settings(path, result.dataset, settings_table(result), model=result.model)


def winner_path(result: SearchResult, folder: Path) -> Path:
    """Return the path of the best settings: `method.py` of an architecture search, or `<model>.toml`."""
    name = "method.py" if result.model == components.NAME else f"{safe_name(result.model)}.toml"
    return folder / name


def settings_table(result: SearchResult) -> dict[str, Value]:
    """Return the best settings as a table of a settings file."""
    trials = {TRIALS: result.n_finished} if result.origin == "tune" else {}
    return {SOURCE: result.origin, **trials, **changed_preset(result), **result.settings}


def changed_preset(result: SearchResult) -> dict[str, str]:
    """Return the preset if it is not the default one."""
    return {} if result.preset == "published" else {"preset": result.preset}


def write_trials(trials: Sequence[TrialResult], splits: Sequence[str], path: Path) -> None:
    """Write one row per trial: state, scores, settings, and the reason of a failure."""
    names = sorted({name for trial in trials for name in trial.answers})

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            columns = (f"split {name}" for name in splits)
            head = ["trial", "state", "value", "seconds", *columns, *names, "reason"]
            write_csv(file, [head, *(_trial_row(trial, len(splits), names) for trial in trials)])

    write_atomically(path, write)


def _trial_row(trial: TrialResult, n_splits: int, names: Sequence[str]) -> list[object]:
    scores = [*trial.scores, *[""] * (n_splits - len(trial.scores))]
    value = "" if trial.value is None else trial.value
    settings = (trial.answers.get(name, "") for name in names)
    return [trial.number, trial.state, value, f"{trial.seconds:.2f}", *scores, *settings, trial.reason]


def write_method(method: CustomMethod, path: Path, *, description: str) -> Path:
    """Write a method as a file that can be used wherever a model is expected."""
    text = method_source(method, description=description)
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return path


def method_source(method: CustomMethod, *, description: str) -> str:
    r"""Return the source of a file that defines a method.

    Examples
    --------
    >>> from heterophily.htmp.guidance import RowMean
    >>> from heterophily.htmp.neighborhoods import Raw
    >>> mean = CustomMethod("mean", Architecture(channels=(Raw() * RowMean(),)), width=32)
    >>> print(method_source(mean, description="The mean.").split("ecture\n")[-1])
    from heterophily.htmp.guidance import RowMean
    from heterophily.htmp.method import CustomMethod
    from heterophily.htmp.neighborhoods import Raw
    <BLANKLINE>
    METHOD = CustomMethod(
        "mean",
        Architecture(
            channels=(Raw() * RowMean(),),
        ),
        width=32,
    )
    <BLANKLINE>
    """
    imports: Imports = {CustomMethod.__module__: {"CustomMethod"}, Architecture.__module__: {"Architecture"}}
    settings = {k: v for k, v in changed_fields(method).items() if k not in ("name", "template")}
    fields = _arguments(changed_fields(method.template), imports)
    architecture = "".join(f"        {line}\n" for line in fields)
    lines = [
        f"    {expression(method.name)},\n",
        f"    Architecture(\n{architecture}    ),\n",
        *(f"    {line}\n" for line in _arguments(settings, imports)),
    ]
    head = [f"from {module} import {', '.join(sorted(imports[module]))}" for module in sorted(imports)]
    return "\n".join([f'"""{description}"""', "", *head, "", f"METHOD = CustomMethod(\n{''.join(lines)})\n"])


def _arguments(fields: dict[str, object], imports: Imports) -> list[str]:
    return [f"{name}={expression(value, imports)}," for name, value in fields.items()]


HEADER = "# Settings of {model} per dataset. `source` is the origin of a table.\n"


def write_settings(path: Path, dataset: str, table: Mapping[str, Value], *, model: str) -> Path:
    """Write a table to a new or existing settings file. Other tables and comments do not change."""
    check_settings(path)
    old = path.read_text(encoding="utf-8") if path.exists() else HEADER.format(model=model)
    new = with_table(old, dataset, table)
    write_atomically(path, lambda p: p.write_text(new, encoding="utf-8"))
    return path


def check_settings(path: Path) -> None:
    """Raise an error if a file exists that is not a settings file."""
    if path.suffix != ".toml":
        raise HeterophilyError(f"settings are written to a .toml file, got {path.name!r}")
    if path.exists():
        read_settings(path)


def with_table(text: str, name: str, values: Mapping[str, Value]) -> str:
    """Return TOML text with one table replaced, or added at the end."""
    for key, value in values.items():
        if not isinstance(value, bool | int | float | str):
            raise HeterophilyError(f"a setting is a text, number, or boolean, but {key} is {value!r}")
    document = tomlkit.parse(text)
    table = document.get(name)
    if table is None:
        if text.strip():
            document.add(tomlkit.nl())
        document[name] = dict(values)
        return tomlkit.dumps(document)
    assert isinstance(table, Table)
    trailing = _trailing(table)
    table.clear()
    table.value.body.clear()  # comments between the old values
    table.update(values)
    for item in trailing:
        table.add(item)
    return tomlkit.dumps(document)


def _trailing(table: Table) -> list[Comment | Whitespace]:
    """Return blank lines and comments after the last value, which belong to the next table."""
    items: list[Comment | Whitespace] = []
    for _, item in reversed(table.value.body):
        if not isinstance(item, Comment | Whitespace):
            break
        items.insert(0, item)
    return items
