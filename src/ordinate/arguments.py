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


def check_choice(name: str, value: Any, choices: Iterable[str], *, hint: str = "") -> str:
    """The value, if it is one of `choices`; the message lists them and offers the nearest.

    Args:
        name: the argument's name, for the message.
        value: what came.
        choices: the names there are.
        hint: what else the caller can do, for the message.

    Raises:
        UnknownNameError: another name.

    >>> check_choice("layout", "half", ("half", "interleaved"))
    'half'
    """
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        expected = " or ".join(map(repr, known)) if len(known) < 3 else f"one of {', '.join(known)}"
        advice = "; ".join(part for part in (did_you_mean(value, known), hint) if part)
        raise UnknownNameError(name, expected=expected, got=repr(value), hint=advice)
    return value


_SYNONYMS = {
    "neox": "half",
    "gptneox": "half",
    "gptj": "interleaved",
    "rope": "rotary",
    "positional": "embedding",
}
"""What other programs call a thing that has a name here."""


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """`did you mean "..."?` with the nearest known name, or nothing where none is near.

    Letter case and the signs between words do not count; a word that begins or ends exactly one name stands for it.

    >>> did_you_mean("interleavd", ["half", "interleaved"])
    'did you mean "interleaved"?'
    >>> did_you_mean("GPT NeoX", ["gptj", "gpt_neox"]), did_you_mean("neox", ["gptj", "gpt_neox"])
    ('did you mean "gpt_neox"?', 'did you mean "gpt_neox"?')
    """

    def bare(text: str) -> str:
        return "".join(one for one in text.casefold() if one.isalnum())

    names = {bare(one): one for one in known}
    wanted = bare(str(name))
    if wanted not in names and _SYNONYMS.get(wanted) in names:
        wanted = _SYNONYMS[wanted]
    near = [wanted] if wanted in names else list(map(bare, difflib.get_close_matches(str(name), list(names.values()), n=1)))
    near = near or difflib.get_close_matches(wanted, list(names), n=1)
    if not near and len(wanted) > 2:
        parts = [one for one in names if one.startswith(wanted) or one.endswith(wanted)]
        near = parts if len(parts) == 1 else []
    return f'did you mean "{names[near[0]]}"?' if near else ""


def renamed_argument(name: str, value: Any, others: Mapping[str, Any], old: str) -> Any:
    """The value of an argument that had another name, which works for one release and warns.

    Args:
        name: the argument's name.
        value: what came under it.
        others: keyword arguments that the signature does not name.
        old: the argument's old name, the only one that `others` may hold.

    Raises:
        ArgumentTypeError: another keyword argument.

    >>> renamed_argument("factor", 2.0, {}, "scale")
    2.0
    """
    for other in others:
        if other != old:
            raise ArgumentTypeError(other, expected="a known argument", got="an unexpected keyword argument")
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
