"""The errors of this package: each says which argument, what was expected, what came, and what to do.

They derive from the built-in classes a caller would catch anyway. The command line turns any of them into one line on
standard error and exit code 2.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "DataError",
    "MissingDataError",
    "MissingExtraError",
    "OrdinateError",
    "OutputError",
    "PositionRangeError",
    "RefusedError",
    "ShapeError",
    "UnknownNameError",
]


class OrdinateError(Exception):
    """Base class of this package's errors. Reads `argument: expected ..., got ...; hint`.

    Args:
        argument: the name of the offending argument, file or option.
        expected: what would have been right, as a noun phrase.
        got: the value that came, or a phrase about it; left out of the message where it would say nothing.
        hint: what the caller can do about it; left out where there is nothing to say.

    >>> str(ArgumentError("rotary_dim", expected="an even number", got=7, hint="pass 8"))
    'rotary_dim: expected an even number, got 7; pass 8'
    """

    def __init__(self, argument: str, *, expected: str, got: Any = None, hint: str = "") -> None:
        self.argument, self.expected, self.got, self.hint = argument, expected, got, hint
        message = f"{argument}: expected {expected}"
        if got is not None:
            text = got if isinstance(got, str) else repr(got)
            message += f", got {text if len(text) <= 300 else f'{text[:240]} ... {text[-40:]}'}"
        super().__init__(f"{message}; {hint}" if hint else message)

    def __str__(self) -> str:  # KeyError would show its message in quotes
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:  # keyword-only arguments would otherwise be lost between processes
        return _rebuild, (type(self), self.argument, self.expected, self.got, self.hint)


def _rebuild(kind: type[OrdinateError], argument: str, expected: str, got: Any, hint: str) -> OrdinateError:
    return kind(argument, expected=expected, got=got, hint=hint)


class ArgumentError(OrdinateError, ValueError):
    """A value that is of the right type but cannot be used."""


class ArgumentTypeError(OrdinateError, TypeError):
    """A value of the wrong type or dtype."""


class ShapeError(ArgumentError):
    """A tensor whose shape does not fit the legend of `ordinate.shapes`."""


class PositionRangeError(OrdinateError, IndexError):
    """A position outside what a finite encoding can represent."""


class UnknownNameError(ArgumentError, KeyError):
    """A name (a claim id, an encoding, a word) that nothing here carries."""


class RefusedError(OrdinateError, RuntimeError):
    """A combination that would give a silently wrong result, or that a named implementation cannot do."""


class MissingDataError(OrdinateError, FileNotFoundError):
    """A data file that is not where it was looked for."""


class DataError(OrdinateError, ValueError):
    """A data file that is there but damaged or of another format."""


class MissingExtraError(OrdinateError, ImportError):
    """An optional dependency that is not installed."""


class OutputError(OrdinateError, OSError):
    """A place that cannot be written to."""
