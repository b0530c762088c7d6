"""Checks of scalar arguments, written once: whole numbers, numbers, names out of a list.

Tensors are checked by `ordinate.shapes.check_shape`. Every check names the argument, says what was expected and what came, and
returns the value as a plain Python type, so that a numpy integer is as good as an int. Nothing here imports numpy or torch.
"""

from __future__ import annotations

import difflib
import math
import operator
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from ordinate.errors import ArgumentError, ArgumentTypeError, UnknownNameError

__all__ = ["check_choice", "check_flag", "check_integer", "check_number", "did_you_mean", "renamed_argument"]


def check_integer(name: str, value: Any, *, minimum: int | None = None, maximum: int | None = None, hint: str = "") -> int:
    """The value as an int, if it is a whole number within the bounds.

    Args:
        name: the argument's name, for the message.
        value: an int or anything with `__index__`, such as numpy's integers; True and False are not numbers.
        minimum, maximum: the smallest and largest value allowed.
        hint: what the caller can do, for the message.

    Raises:
        ArgumentTypeError: not a whole number.
        ArgumentError: outside the bounds.

    >>> check_integer("head_dim", 64, minimum=1)
    64
    """
    expected = _bounded("an integer", minimum, maximum)
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        raise ArgumentTypeError(name, expected=expected, got=value, hint=hint)
    try:
        integer = operator.index(value)
    except TypeError:
        got = f"{type(value).__name__} {value!r}" if isinstance(value, float | str) else type(value).__name__
        raise ArgumentTypeError(name, expected=expected, got=got, hint=hint) from None
    if (minimum is not None and integer < minimum) or (maximum is not None and integer > maximum):
        raise ArgumentError(name, expected=expected, got=integer, hint=hint)
    return integer


def check_number(
    name: str,
    value: Any,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    below: float | None = None,
    hint: str = "",
) -> float:
    """The value as a float, if it is a finite number within the bounds.

    Args:
        name: the argument's name, for the message.
        value: an int, a float, or a numpy scalar; True and False are not numbers.
        minimum, maximum: the smallest and largest value allowed.
        above, below: bounds that are themselves not allowed.
        hint: what the caller can do, for the message.

    Raises:
        ArgumentTypeError: not a number.
        ArgumentError: NaN, infinite, or outside the bounds.

    >>> check_number("base", 10000, above=1)
    10000.0
    """
    expected = _bounded("a finite number", minimum, maximum, above, below)
    is_number = isinstance(value, int | float) or (hasattr(value, "__float__") and getattr(value, "shape", None) == ())
    if isinstance(value, bool) or type(value).__name__ == "bool_" or not is_number:
        got = f"{type(value).__name__} {value!r}" if isinstance(value, str | bool) else type(value).__name__
        raise ArgumentTypeError(name, expected=expected, got=got, hint=hint)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    inside = (
        math.isfinite(number)
        and (minimum is None or number >= minimum)
        and (maximum is None or number <= maximum)
        and (above is None or number > above)
        and (below is None or number < below)
    )
    if not inside:
        raise ArgumentError(name, expected=expected, got=value, hint=hint)
    return number


def check_flag(name: str, value: Any) -> bool:
    """The value, if it is True or False.

    Raises:
        ArgumentTypeError: anything else, including 0 and 1.
    """
    if not isinstance(value, bool):
        raise ArgumentTypeError(name, expected="True or False", got=value)
    return value


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """The value, if it is one of `choices`; the message lists them and offers the nearest.

    Raises:
        UnknownNameError: another name.

    >>> check_choice("layout", "half", ("half", "interleaved"))
    'half'
    """
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        expected = " or ".join(map(repr, known)) if len(known) < 3 else f"one of {', '.join(known)}"
        raise UnknownNameError(name, expected=expected, got=repr(value), hint=did_you_mean(value, known))
    return value


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """`did you mean "..."?` with the nearest known name, or nothing where none is near.

    >>> did_you_mean("interleavd", ["half", "interleaved"])
    'did you mean "interleaved"?'
    """
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f'did you mean "{near[0]}"?' if near else ""


def renamed_argument(name: str, value: Any, others: Mapping[str, Any], old: str) -> Any:
    """The value of an argument that had another name, which works for one release and warns.

    Args:
        name: the argument's name.
        value: what came under it.
        others: keyword arguments that the signature does not name.
        old: the argument's old name, the only one that `others` may hold.

    Raises:
        TypeError: another keyword argument, as Python raises it.

    >>> renamed_argument("factor", 2.0, {}, "scale")
    2.0
    """
    for other in others:
        if other != old:
            raise TypeError(f"got an unexpected keyword argument {other!r}")
    if others:
        warnings.warn(f"{old}= is now {name}=; the old name goes with the next release", DeprecationWarning, stacklevel=3)
    return others.get(old, value)


def _bounded(
    what: str, minimum: float | None, maximum: float | None, above: float | None = None, below: float | None = None
) -> str:
    bounds = []
    if minimum is not None and maximum is not None:
        return f"{what} from {minimum} to {maximum}"
    if minimum is not None:
        bounds.append(f"of at least {minimum}")
    if above is not None:
        bounds.append(f"above {above}")
    if maximum is not None:
        bounds.append(f"of at most {maximum}")
    if below is not None:
        bounds.append(f"below {below}")
    return " ".join([what, " and ".join(bounds)]) if bounds else what
