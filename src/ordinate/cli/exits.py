"""How every command ends: its exit code, and one line on standard error where something went wrong.

| code | meaning |
|---|---|
| 0 | fine |
| 1 | the answer is a finding: a property fails, two files differ, nothing makes the model run at that length |
| 2 | wrong use, or a place that cannot be read or written, standard output included |
| 70 | an unexpected error, a fault of this package; `ORDINATE_TRACEBACK=1` shows where |
| 130, 143 | interrupted, terminated |

Nothing but this module decides so, for `ordinate` and for every group and command below it.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import signal
import sys
from contextlib import suppress
from typing import Any, TextIO

import typer

from ordinate.errors import OrdinateError, OutputError

__all__ = ["TRACEBACK_VARIABLE", "exit_code", "flush_output", "line_of", "prepare_process", "prepare_streams"]

TRACEBACK_VARIABLE = "ORDINATE_TRACEBACK"
"""The environment variable that makes every error show where it was raised."""

_ASCII = {
    "–": "-", "—": "-", "−": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "…": "...", "·": ".", "•": "*", "×": "x",
    "±": "+/-", "≤": "<=", "≥": ">=", "≈": "~", "→": "->", "←": "<-", "↔": "<->", "²": "^2", "³": "^3", "°": " deg",
    "µ": "u", "σ": "sigma", "θ": "theta", "β": "beta", "π": "pi", "√": "sqrt", "✓": "+", "✗": "x", "≠": "!=", "∞": "inf",
    "─": "-", "━": "-", "│": "|", "┃": "|", "╭": "+", "╮": "+", "╰": "+", "╯": "+", "┌": "+", "┐": "+", "└": "+", "┘": "+",
    "½": "1/2", "¼": "1/4",
}  # fmt: skip


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Characters that a stream cannot show, in those that it can."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_ASCII.get(character, "?") for character in error.object[error.start : error.end]), error.end


codecs.register_error("ordinate.ascii", _replace)


def prepare_process() -> None:
    """Prepare a process that may have been started in any way: standard streams are open, and being terminated cleans up."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the free number, so that no file opened later becomes a standard stream
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 (for the whole process)
    if hasattr(signal, "SIGTERM") and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)


def prepare_streams() -> None:
    """Let standard output and error carry every character, changed where they must be.

    Raises:
        OutputError: standard output is closed.
    """
    if sys.stdout is None:
        raise OutputError("standard output", expected="an open stream for the answer", got="a closed one")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="ordinate.ascii")


def exit_code(error: BaseException) -> int:
    """Say on standard error what went wrong, and return the exit code for it."""
    if os.environ.get(TRACEBACK_VARIABLE):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, BrokenPipeError):
        _silence(sys.stdout)  # a reader that left early, such as `head`, is no error
        return 0
    if isinstance(error, OSError) and not isinstance(error, OrdinateError) and sys.stdout is not None:
        with suppress(Exception):
            flush_output()
    line, code = line_of(error)
    if line:
        with suppress(Exception):
            typer.echo(line, err=True)
    return code


def line_of(error: BaseException) -> tuple[str, int]:
    """The line for standard error, and the exit code."""
    if hasattr(error, "format_message"):  # wrong use, as typer reports it
        context = getattr(error, "ctx", None)
        message = str(error.format_message())
        if type(error).__name__ == "NoArgsIsHelpError":
            return message, 2
        path = context.command_path if context is not None else "ordinate"
        see = f" (see {path} --help)" if context is not None else ""
        return f"{path}: {' '.join(message.split()).removesuffix('.')}{see}", int(getattr(error, "exit_code", 2))
    if isinstance(error, OrdinateError):
        return f"ordinate: {' '.join(str(error).split())}", 2
    if isinstance(error, typer.Abort):
        interrupted = isinstance(error.__context__, KeyboardInterrupt)
        return ("ordinate: interrupted", 130) if interrupted else ("ordinate: the input ended before it was answered", 2)
    if isinstance(error, KeyboardInterrupt):
        return "ordinate: interrupted", 130
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else "standard output: " if error.errno == errno.ENOSPC else ""
        return f"ordinate: {place}{error.strerror or ' '.join(str(error).split()) or type(error).__name__}", 2
    words = " ".join(str(error).split())
    text = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return f"ordinate: unexpected {text} (a fault of ordinate; {TRACEBACK_VARIABLE}=1 shows where)", 70


def flush_output() -> None:
    """Write out what is left in standard output.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
    except (OSError, ValueError) as error:
        _silence(sys.stdout)
        reason = getattr(error, "strerror", None) or str(error)
        raise OutputError("standard output", expected="a stream that can be written to", got=reason) from None


def _silence(stream: TextIO) -> None:
    """Send the rest nowhere: the interpreter flushes once more when it ends, and would complain again."""
    with suppress(OSError, ValueError, io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
