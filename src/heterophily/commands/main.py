"""The command `heterophily`. Each module of this package defines one group of commands.

Commands import heavy modules when they run, so `--help` prints immediately. Problems with the input
are reported in one sentence with exit code 2.
"""

import atexit
import signal
import sys
import warnings
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Annotated, TextIO

import typer

from heterophily import __version__
from heterophily.commands import bench, explain, graphs, models, search, study
from heterophily.commands.output import print_colored
from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.machine import retain_freed_memory

app = typer.Typer(
    name="heterophily",
    help="Train and compare graph neural networks on graphs whose connected nodes differ.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (graphs, models, explain, search, bench, study):
    app.add_typer(group.app)

INTERRUPTED = 130  # exit code after Ctrl-C
RESUME = "interrupted; run the same `bench`, `search`, `tune`, or `study` command again to resume it"
INVALID = 2  # exit code after a problem with the input


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"heterophily {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line and report errors and warnings in one sentence each."""
    warnings.showwarning = partial(_show_warning, warnings.showwarning)
    signal.signal(signal.SIGTERM, _interrupt)
    retain_freed_memory()
    try:
        app()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _print_error(RESUME)
        raise
    except KeyboardInterrupt:  # before Typer runs the command
        _print_error(RESUME)
        sys.exit(INTERRUPTED)
    except HeterophilyError as error:
        _print_error(str(error))
        sys.exit(INVALID)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        _print_error(_explain(error))
        sys.exit(INVALID)
    finally:
        atexit.register(_ignore_interrupts)  # runs before the exit handlers of other libraries


def _ignore_interrupts() -> None:
    """Let a command that has finished end without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _explain(error: OSError) -> str:
    from heterophily.core.files import FULL, READ_ONLY, explain_unwritten

    if error.errno in (*FULL, *READ_ONLY):
        return f"cannot access a file {explain_unwritten(error)}"
    return f"{error.strerror or error}: {error.filename or 'no file name'}"


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Let SIGTERM end a command like Ctrl-C, also if Ctrl-C is ignored because it runs in the background."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(number, frame)


def _print_error(sentence: str) -> None:
    print_colored(f"heterophily: {sentence}", "red")


def _show_warning(
    default: Callable[..., None],
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, HeterophilyWarning):
        print_colored(f"heterophily: {message}", "yellow")
    else:
        default(message, category, filename, lineno, file, line)
