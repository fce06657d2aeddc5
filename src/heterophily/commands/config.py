"""`--config FILE`: the options of a command in a TOML file. Keys are the names of the flags without dashes.

The values replace the defaults of the options, so flags override them, and they are checked like flags.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option
from typer.models import OptionInfo

from heterophily.commands.options import TableOptions
from heterophily.core.errors import HeterophilyError

if TYPE_CHECKING:
    from typer._click.core import Parameter

SETTINGS = "set"  # the only key whose value is a table
NO_KEYS = ("config", "help")


def _read(context: typer.Context, path: Path | None) -> Path | None:
    """Replace the defaults of the options by the values of a file."""
    if path is not None:
        parameters = {_key(each): each for each in context.command.params if _key(each) not in NO_KEYS}
        values = _parse(path)
        if unknown := [key for key in values if key not in parameters]:
            raise HeterophilyError(
                f"{path} has the unknown key {unknown[0]!r}; the keys of this command are "
                f"{', '.join(sorted(parameters))}"
            )
        words = {key: _words(parameters[key], value, f"{key} in {path}") for key, value in values.items()}
        context.meta[SETTINGS] = words.pop(SETTINGS, [])
        context.default_map = {str(parameters[key].name): value for key, value in words.items()}
    return path


def _add_settings(context: typer.Context, settings: list[str]) -> list[str]:
    """Return the settings of the file, and then those of the command line, which override them."""
    return [*context.meta.get(SETTINGS, []), *settings]


def settings_option() -> OptionInfo:
    """Return the option `--set` of a command with `--config`."""
    info: OptionInfo = Option("--set", callback=_add_settings, help="Setting such as `width=128`; can be repeated.")
    return info


@dataclass(frozen=True, kw_only=True)
class RunOptions(TableOptions):
    """Options of commands that train many models."""

    config: Annotated[
        Path | None,
        Option("--config", is_eager=True, callback=_read),
        "TOML file with options, whose keys are the names of the flags. Flags override it.",
    ] = None


def _parse(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HeterophilyError(f"--config must be a readable TOML file, got {path}: {error.strerror}") from error
    except ValueError as error:  # also if the text is not UTF-8
        raise HeterophilyError(f"--config must be a TOML file, but {path} is invalid: {error}") from error


def _key(parameter: "Parameter") -> str:
    """Return the name of a flag without dashes, or of an argument as in the help, in lower case."""
    name = parameter.metavar if parameter.param_type_name == "argument" else max(parameter.opts, key=len)
    return str(name or parameter.name).strip("-[].").lower()


def _words(parameter: "Parameter", value: object, place: str) -> object:
    """Return a value as the words of a command, which the option then checks."""
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise HeterophilyError(f"{place} must be true or false, got {value!r}")
        return value
    if isinstance(value, Mapping) and _key(parameter) == SETTINGS:
        return [f"{name}={item if isinstance(item, str) else json.dumps(item)}" for name, item in value.items()]
    words = [str(item) for item in (value if isinstance(value, list) else [value])]
    if isinstance(value, bool | Mapping) or not words:
        raise HeterophilyError(f"{place} must be a number, a text, or a list of them, got {value!r}")
    is_list = getattr(parameter, "multiple", False) or parameter.nargs != 1
    return words if is_list else ",".join(words)
