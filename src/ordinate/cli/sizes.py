"""Numbers of tokens and of bytes as people write them on a command line: `128k`, `131,072`, `1M`, `24GiB`.

In an option: `typer.Option("--to", parser=parse_tokens, metavar="N")`.
"""

from __future__ import annotations

import re

import typer

__all__ = ["parse_bytes", "parse_tokens"]

_BINARY = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_LARGEST_TOKENS = 2**40
_LARGEST_BYTES = 2**60


def parse_tokens(text: str | int) -> int:
    """A positive number of tokens: `131072`, `131,072`, `131_072`, `128k`, `1M`; k is 1,024 and M 1,048,576, as in model names.

    Raises:
        typer.BadParameter: anything else, or more than 2^40.

    >>> parse_tokens("128k"), parse_tokens("131,072"), parse_tokens("1M"), parse_tokens("1.5k")
    (131072, 131072, 1048576, 1536)
    """
    match = re.fullmatch(r"([0-9.,_]+)\s*([kmg]?)i?", str(text).strip().lower())
    number = _number(match[1], _BINARY[match[2]]) if match else None
    return _checked(number, _LARGEST_TOKENS, "a number of tokens such as 131072, 131,072, 128k or 1M", text)


def parse_bytes(text: str | int) -> int:
    """A positive number of bytes: `24GiB` and `24G` are 24 times 2^30, `24GB` 24 times 10^9, a plain number is bytes.

    Raises:
        typer.BadParameter: anything else, or more than 2^60.

    >>> parse_bytes("24GiB"), parse_bytes("24GB"), parse_bytes("1.5 MiB"), parse_bytes("512")
    (25769803776, 24000000000, 1572864, 512)
    """
    match = re.fullmatch(r"([0-9.,_]+)\s*([kmgt]?)(i?b?)", str(text).strip().lower())
    number = None
    if match:
        power = " kmgt".index(match[2] or " ")
        number = _number(match[1], 1000**power if match[3] == "b" else 1024**power)
    return _checked(number, _LARGEST_BYTES, "a number of bytes such as 24GiB, 24GB or 512MiB", text)


def _number(digits: str, unit: int) -> int | None:
    if not re.fullmatch(r"([0-9]{1,3}(,[0-9]{3})+|[0-9]{1,3}(_[0-9]{3})+|[0-9]+)(\.[0-9]+)?", digits) or len(digits) > 40:
        return None
    whole, _, fraction = digits.replace(",", "").replace("_", "").partition(".")
    scaled = int(whole + fraction) * unit
    return scaled // 10 ** len(fraction) if scaled % 10 ** len(fraction) == 0 else None


def _checked(number: int | None, largest: int, expected: str, text: str | int) -> int:
    if number is None:
        raise typer.BadParameter(f"expected {expected}, got {str(text)!r}")
    if not 0 < number <= largest:
        raise typer.BadParameter(f"expected from 1 to {largest:,}, got {text}")
    return number
