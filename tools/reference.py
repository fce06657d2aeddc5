"""Write the generated pages of docs/reference: `python tools/reference.py [FOLDER]`.

A test checks that they are current:

* `command-line.md` from the commands
* `settings.md` from the annotations of the methods
* `datasets.md` from the catalog
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

import typer

from heterophily import CATALOG, Method
from heterophily.commands.main import app
from heterophily.core.spaces import Choice, SettingInfo, setting_infos
from heterophily.data.catalog import Dataset
from heterophily.models import BUILT_IN
from heterophily.views.console import setting_text

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
TABLES = "Tables"  # the panel of options that all commands with a graph share
COMMAND_LINE = """# Command line

This page is generated from the commands by `python tools/reference.py`. `heterophily COMMAND --help` prints the same
text. Options with several values, such as `--set`, are repeated: `--set width=128 --set dropout=0.2`.

Results are printed to the standard output, and progress, warnings, and errors to the standard error.
[Exit codes](exit-codes.md) lists what a command returns.
"""
TABLE_OPTIONS = """## Options for tables

All commands that read a graph have these options for tables. [Your own graph](../tutorials/own-graph.md) explains them.
"""
SETTINGS = """# Settings

A setting is a value such as `width=128` that changes a method. This page is generated from the methods by `python
tools/reference.py`, and `heterophily show NAME` prints the settings of one method.

Settings are resolved in one order, and the last one wins:

1. the default of the method, which this page lists;
2. the table of the dataset in a settings file: the bundled one, or yours (`--settings FILE.toml`, `settings_file=`);
3. your own value: `--set width=128` on the command line, `NodeClassifier("cmgnn", width=128)` in Python.

A settings file is a TOML file with one table per dataset. `search --settings-out` and `tune` write such files:

```toml
[chameleon-f]
source = "search"
width = 128
learning_rate = 0.005
```

Unknown names and invalid values are errors. The preset `reference`, `--set preset=reference`, selects the settings
with which a method reproduces its reference implementation: see [Fidelity](../explanation/fidelity.md).

The column "search" lists the values that `search` and `tune` try.
"""
COMMON = """## All methods

These settings belong to every network. The sections below list different defaults and ranges, and the settings that
only one method has.
"""
DATASETS = """# Datasets

`load("actor")` and every command with a graph argument accept these names. The files are downloaded on first use and
verified against their checksums: see [Data](files.md#datasets) for the folder, the splits, and the cache. This page is
generated from the catalog by `python tools/reference.py`. [Add your own dataset](../how-to/own-dataset.md) shows how to
use other graphs in the same way.

Edges are counted as in the paper if it uses the dataset, and as entries of the symmetrized graph otherwise, where each
edge counts twice. Homophily is the fraction of edges between nodes of the same class.
"""
MEANINGS = {  # of common settings without a help text in their annotation
    "width": "Number of columns of each layer.",
    "n_layers": "Number of layers of message passing.",
    "dropout": "Dropout rate, at the places that the architecture defines.",
    "activation": "Function after the messages of a layer.",
    "norm": "Batch norm or layer norm after the messages of a layer.",
    "residual": "Add the input of a layer to its output.",
    "input_layer": "Start with a linear layer and a ReLU if the architecture uses raw features.",
    "feature_norm": "Norm by which each row of X is divided; by default as in the architecture.",
    "loss": "Form of the classification loss.",
    "learning_rate": "Learning rate of Adam.",
    "weight_decay": "Weight decay of Adam.",
    "patience": "Epochs without a better validation score after which training stops.",
    "max_epochs": "Largest number of epochs.",
}
DIGITS = """## Bundled

`digits` is part of the library and needs no download: the 1,797 images of handwritten digits of scikit-learn, with 64
features and 10 classes. Its edges are random: each node has about eight neighbors. A fifth of them have the same class,
and most others are the next or the previous digit. Documentation and tests use this graph.
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()) -> str:
    """Return a Markdown table, with numbers in some columns."""
    rule = ["---:" if place in numbers else "---" for place in range(len(head))]
    lines = [head, rule, *rows]
    return "\n".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |" for line in lines) + "\n"


def command_line() -> str:
    """Return the page of the commands."""
    root: Any = typer.main.get_command(app)
    parts = [COMMAND_LINE, *_panels(root)]
    parts.append(TABLE_OPTIONS + "\n" + _options(_table_options(root.commands["fit"])))
    return "\n".join(parts)


def _panels(root: Any) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for name, command in root.commands.items():
        names.setdefault(command.rich_help_panel or "Experiments", []).append(name)
    for panel, members in names.items():
        yield f"## {panel}\n"
        for name in members:
            command = root.commands[name]
            yield _command(f"heterophily {name}", command)
            for study in command.list_commands(None) if name == "study" else ():
                yield _command(f"heterophily study {study}", command.get_command(None, study))


def _command(name: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    shared = _table_options(command)
    options = [p for p in command.params if p not in arguments and p not in shared and p.name != "help"]
    words = [*map(_placeholder, arguments)] or ["NAME"] * hasattr(command, "list_commands")
    usage = " ".join([name, *words, *["[OPTIONS]"] * bool(options or shared)])
    parts = [f"### {name}\n", f"{(command.help or '').strip()}\n", f"```console\n$ {usage}\n```\n"]
    if arguments:
        rows = ([f"`{p.metavar or p.name.upper()}`", p.help or ""] for p in arguments)
        parts.append(table(("argument", "meaning"), rows))
    if options:
        parts.append(_options(options))
    if shared:
        parts.append("It also has the [options for tables](#options-for-tables).\n")
    return "\n".join(parts)


def _placeholder(argument: Any) -> str:
    text = (argument.metavar or argument.name.upper()) + "..." * (argument.nargs == -1)
    return text if argument.required else f"[{text}]"


def _table_options(command: Any) -> list[Any]:
    return [p for p in command.params if getattr(p, "rich_help_panel", None) == TABLES]


def _options(options: Sequence[Any]) -> str:
    return table(("option", "meaning"), map(_option, options))


def _option(option: Any) -> list[str]:
    value = "" if option.is_flag else f" {_value(option)}"
    names = [f"`{name}{value}`" for name in option.opts] + [f"`{name}`" for name in option.secondary_opts]
    default = option.default
    is_empty = default is None or default is False or default == [] or option.secondary_opts
    note = " Required." if option.required else "" if is_empty else f" Default: `{default}`."
    return [", ".join(names), f"{option.help or ''}{note}"]


def _value(option: Any) -> str:
    """Return the kind of value of an option, as text."""
    kind = option.type_descriptor.annotation
    if get_origin(kind) in (UnionType, list) or NoneType in get_args(kind):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind)).replace("|", "\\|")
    names = {str: "TEXT", int: "N", float: "NUMBER", Path: "PATH"}
    return str(option.metavar or names.get(kind, "VALUE"))


def settings() -> str:
    """Return the page of the settings."""
    common = setting_infos(Method)
    parts = [SETTINGS, COMMON, _settings(common.values())]
    for name, method in BUILT_IN.items():
        infos = [info for key, info in setting_infos(method).items() if _is_special(info, common.get(key))]
        parts.append(f"## {name}\n")
        parts.append(_settings(infos) if infos else "This method has only the common settings.\n")
    return "\n".join(parts)


def _is_special(info: SettingInfo, common: SettingInfo | None) -> bool:
    return common is None or (info.default, info.space) != (common.default, common.space)


def _settings(infos: Iterable[SettingInfo]) -> str:
    rows = ([f"`{i.name}`", _default(i), _searched(i), _meaning(i)] for i in infos)
    return table(("setting", "default", "search", "meaning"), rows)


def _meaning(info: SettingInfo) -> str:
    allowed = _allowed(info)
    return f"{info.help or MEANINGS.get(info.name, '')} {allowed[:1].upper()}{allowed[1:]}.".strip()


def _default(info: SettingInfo) -> str:
    return "" if info.default is None else f"`{setting_text(info.default)}`"


def _allowed(info: SettingInfo) -> str:
    names = {bool: "true or false", int: "integer", float: "number", str: "text"}
    texts = []
    for kind in (each for each in info.types if each is not NoneType):
        if get_origin(kind) is Literal:
            texts.append(f"one of {', '.join(f'`{each}`' for each in get_args(kind))}")
        else:
            texts.append(names.get(kind, "numbers"))  # type: ignore[call-overload]
    limits = [
        text
        for bounds in info.bounds
        for sign, limit in (("&gt;", bounds.gt), ("≥", bounds.ge), ("&lt;", bounds.lt), ("≤", bounds.le))
        if limit is not None and limit < 2**20
        for text in (f"{sign} {limit:g}",)
    ]
    return " ".join([", ".join(texts), ", ".join(limits)]).strip()


def _searched(info: SettingInfo) -> str:
    if info.space is None:
        return ""
    if isinstance(info.space, Choice):
        return ", ".join(setting_text(value) for value in info.space.values)
    return f"{info.space.low:g} to {info.space.high:g}" + (" (logarithmic)" if info.space.log else "")


def datasets() -> str:
    """Return the page of the datasets."""
    paper = [dataset for dataset in CATALOG.values() if dataset.in_paper]
    others = [dataset for dataset in CATALOG.values() if not dataset.in_paper]
    parts = [DATASETS, "## The ten datasets of the paper\n", _sizes(paper), "## More public datasets\n", _sizes(others)]
    parts += [DIGITS, "## Sources and licenses\n", _sources(CATALOG.values())]
    return "\n".join(parts)


def _sizes(rows: Iterable[Dataset]) -> str:
    head = ("dataset", "nodes", "edges", "features", "classes", "homophily")
    lines = ([f"`{d.name}`", *map("{:,}".format, _counts(d)), f"{d.edge_homophily:.2f}"] for d in rows)
    return table(head, lines, numbers=range(1, 6))


def _counts(dataset: Dataset) -> tuple[int, int, int, int]:
    n_edges = dataset.paper_edges or dataset.n_symmetric
    return dataset.n_nodes, n_edges, dataset.n_features, dataset.n_classes


def _sources(rows: Iterable[Dataset]) -> str:
    lines = ([f"`{d.name}`", d.license, f"{d.about[:1].upper()}{d.about[1:]}. {d.citation}."] for d in rows)
    return table(("dataset", "license", "subject and citation"), lines)


PAGES = {"command-line.md": command_line, "settings.md": settings, "datasets.md": datasets}


def main(folder: Path) -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")
        print(f"wrote {folder / name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
