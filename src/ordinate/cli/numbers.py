"""Numbers as people write them on a command line: `128k` or `131,072` tokens, `24GiB` of memory."""

from __future__ import annotations

import re
from fractions import Fraction

from ordinate.errors import ArgumentError

__all__ = ["byte_count", "token_count"]

_COUNTS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_BYTES |= {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def token_count(text: str, name: str = "number") -> int:
    """A whole number, with separators between its digits, an exponent or a unit: `k` is 1,024, `M` 1,024 times that.

    Raises:
        ArgumentError: no such number.

    >>> token_count("128k"), token_count("131,072"), token_count("1 M"), token_count("1_000"), token_count("1e6")
    (131072, 131072, 1048576, 1000, 1000000)
    """
    return _read(name, text, _COUNTS, "a whole number such as 131072, 131,072, 128k or 1M")


def byte_count(text: str, name: str = "size") -> int:
    """A number of bytes with its unit: `GiB` is 2^30 bytes, `GB` 10^9, a lone `G` 2^30.

    Raises:
        ArgumentError: no such size.

    >>> byte_count("24GiB") == 24 * 2**30, byte_count("80 GB"), byte_count("1.5MiB")
    (True, 80000000000, 1572864)
    """
    return _read(name, text, _BYTES, "a size such as 24GiB, 80GB or 512MiB")


def _read(name: str, text: str, units: dict[str, int], expected: str) -> int:
    number = r"(\d{1,3}(?:[,_' ]\d{3})+|\d+(?:_\d+)*|\d*\.\d+|\d+\.)(e\+?\d{1,2})?"
    match = re.fullmatch(rf"\s*{number}\s*([a-z]*)\s*", str(text).lower())
    unit = None if match is None else units.get(match[3])
    if match is None or unit is None:
        raise ArgumentError(name, expected=expected, got=repr(text))
    value = Fraction(re.sub(r"[,_' ]", "", match[1]) + (match[2] or "")) * unit
    if value.denominator != 1:
        raise ArgumentError(name, expected=expected, got=repr(text))
    return int(value)
