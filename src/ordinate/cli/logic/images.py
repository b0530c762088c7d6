"""What the commands that learn from images share: reading the options, and refusing wrong ones before any work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordinate.data import Digits
    from ordinate.logic import GrowthSettings

__all__ = ["circuit_place", "digits_of", "settings_of"]


def digits_of(data: Path | None, classes: str | None, *, check: bool = True) -> Digits:
    """The digits of `--data` and `--classes`.

    Raises:
        ArgumentError: classes that are no list of digits.
        MissingDataError, DataError: as `ordinate.data.digits`.
    """
    from ordinate.data import digits
    from ordinate.errors import ArgumentError

    chosen = None
    if classes is not None:
        try:
            chosen = [int(digit) for digit in classes.split(",")]
        except ValueError:
            raise ArgumentError("--classes", expected="digits, as 0,1", got=classes, todo="separate them by commas") from None
    return digits(data, classes=chosen, check=check)


def settings_of(gates: int, votes: int, copies: int | None, replacements: int, seed: int, *, embedded: bool) -> GrowthSettings:
    """Settings of growth; on the embedded images samples are smaller, and more copies make up for few images."""
    from ordinate.logic import GrowthSettings

    settings = GrowthSettings(
        gates=gates,
        votes_per_gate=votes,
        copies=(20 if embedded else 4) if copies is None else copies,
        replacements=replacements,
        seed=seed,
    )
    return settings.quick() if embedded else settings


def circuit_place(option: str, path: Path) -> None:
    """Refuse a place that could not be written to when the work is done.

    Raises:
        OutputError: no such folder, or a folder itself.
    """
    from ordinate.errors import OutputError

    if not path.parent.is_dir() or path.is_dir():
        raise OutputError(option, expected="a file in a folder that is there", got=str(path), todo="make its folder first")
