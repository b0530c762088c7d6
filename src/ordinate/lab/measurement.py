"""What a measurement brings back: numbers compared with expectations, and what is shown beside them.

Nothing here decides anything except whether one number lies in its band; `judge` decides the rest. Everything turns into
plain JSON types, because the report is made from the stored rows alone.

`judge` makes every verdict. A control that does not respond takes the measurement's word away; then what the article states and
concludes is compared with the numbers; then, if that fails, the same claim with a detail put right. Limits are reported, never
counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ordinate.errors import ArgumentError

__all__ = ["Animation", "Check", "Figure", "Measurement", "Role", "Table", "Verdict", "as_json_number", "judge", "show_number"]


class Role(StrEnum):
    """What a check says about the article."""

    AS_STATED = "as stated"  # the article's own number or property, in the article's own setting
    GENERALISATION = "generalisation"  # what the article concludes from it, beyond that setting
    DETAIL_FIXED = "detail fixed"  # the same claim once one stated detail is put right
    CONTROL = "control"  # a case that must come out otherwise, or the measurement could not have noticed
    LIMIT = "limit"  # where the effect ends: reported to the reader, without weight in the verdict


class Verdict(StrEnum):
    """What a claim's measurement came to."""

    REPRODUCED = "reproduced"
    CORRECTED = "corrected"
    REFUTED = "refuted"
    NOT_TESTABLE = "not testable here"
    FAILED = "failed"


@dataclass(frozen=True)
class Check:
    """One measured number and the closed interval it is expected in.

    Args:
        name: what is measured, as a noun phrase.
        value: the number that was measured.
        lower: the least that is expected, or -inf.
        upper: the most that is expected, or inf.
        expected: the article's number, for the reader; None where there is only a bound.
        unit: of the value; "" for a pure number.
        role: what the check says about the article.

    Raises:
        ArgumentError: an interval that contains nothing, or everything: such a check could not pass, or not fail.

    >>> Check.near("cosine at distance 1", 0.96623, 0.9662, 5e-5).holds
    True
    >>> Check.at_most("largest difference", float("nan"), 1e-12).holds
    False
    """

    name: str
    value: float
    lower: float = -math.inf
    upper: float = math.inf
    expected: float | None = None
    unit: str = ""
    role: Role = Role.AS_STATED

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))
        if not self.lower <= self.upper or (math.isinf(self.lower) and math.isinf(self.upper)):
            raise ArgumentError(
                "lower, upper",
                expected="an interval that some numbers lie in and some do not",
                got=(self.lower, self.upper),
                hint=f"give the check {self.name!r} a bound it can fail",
            )

    @classmethod
    def near(
        cls, name: str, value: float, expected: float, tolerance: float, *, unit: str = "", role: Role = Role.AS_STATED
    ) -> Check:
        """A number that must come within `tolerance` of `expected`."""
        return cls(name, value, expected - tolerance, expected + tolerance, expected, unit, role)

    @classmethod
    def at_most(cls, name: str, value: float, upper: float, *, unit: str = "", role: Role = Role.AS_STATED) -> Check:
        """A number that must not pass `upper`."""
        return cls(name, value, upper=upper, unit=unit, role=role)

    @classmethod
    def at_least(cls, name: str, value: float, lower: float, *, unit: str = "", role: Role = Role.AS_STATED) -> Check:
        """A number that must reach `lower`."""
        return cls(name, value, lower=lower, unit=unit, role=role)

    @property
    def holds(self) -> bool:
        """Whether the value lies in the interval; NaN lies in none."""
        return self.lower <= self.value <= self.upper

    @property
    def band(self) -> str:
        """The interval in words.

        >>> Check.near("cosine", 0.9662, 0.9662, 5e-5).band, Check.at_most("difference", 0.0, 1e-12).band
        ('0.9662 ± 0.00005', 'at most 1e-12')
        """
        if self.lower == self.upper:
            return f"exactly {show_number(self.lower)}"
        if self.expected is not None:
            tolerance = (self.upper - self.lower) / 2
            return f"{show_number(self.expected)} ± " + (
                f"{tolerance:.6f}".rstrip("0").rstrip(".") if tolerance >= 1e-5 else f"{tolerance:.2g}"
            )
        if math.isinf(self.lower):
            return f"at most {self.upper:.3g}"
        if math.isinf(self.upper):
            return f"at least {self.lower:.3g}"
        return f"{self.lower:.3g} to {self.upper:.3g}"

    def to_row(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "name": self.name,
            "role": str(self.role),
            "value": as_json_number(self.value),
            "shown": show_number(self.value) + (f" {self.unit}" if self.unit else ""),
            "band": self.band + (f" {self.unit}" if self.unit else ""),
            "expected": None if self.expected is None else as_json_number(self.expected),
            "lower": as_json_number(self.lower),
            "upper": as_json_number(self.upper),
            "unit": self.unit,
            "holds": self.holds,
        }


@dataclass(frozen=True)
class Table:
    """Numbers that are shown but not compared with anything.

    Args:
        title: what the table is about.
        columns: the headings, units included.
        rows: one tuple a line, text or numbers.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | float]]

    def to_row(self) -> dict[str, Any]:
        """As plain JSON types, numbers already shown."""
        texts = [[cell if isinstance(cell, str) else show_number(float(cell)) for cell in row] for row in self.rows]
        numeric = [all(not isinstance(row[place], str) for row in self.rows) for place in range(len(self.columns))]
        return {"title": self.title, "columns": list(self.columns), "rows": texts, "numeric": numeric}


@dataclass(frozen=True)
class Figure:
    """A chart, as SVG.

    Args:
        name: a short file name without suffix.
        svg: the picture.
        caption: what one sees, in a sentence or two.
        alt: the same for who cannot see it: what is on the axes and what shape the data have.
    """

    name: str
    svg: str
    caption: str
    alt: str


@dataclass(frozen=True)
class Animation:
    """Predicted points that are laid on true curves, frame by frame; the report draws it with a slider.

    Args:
        name: a short file name without suffix.
        data: `frames` (positions, one a frame), `ahead` (the shift), and `channels`: for each a `label`, the `truth` at every
            position from 0 on, and the `predicted` value for each frame.
        caption: what one sees.
        alt: the same for who cannot see it.
    """

    name: str
    data: Mapping[str, Any]
    caption: str
    alt: str


@dataclass(frozen=True)
class Measurement:
    """Everything one claim's measurement found.

    Args:
        checks: the numbers that the verdict is computed from.
        key_figure: the one number to remember, in words, for the table of verdicts.
        meaning: for each verdict that was foreseen, one paragraph on what it means; for another the report says
            which checks decided.
        inputs: what was measured on, in words.
        tables: numbers beside the checks.
        figures: charts and animations, in reading order.
        untested: parts that cannot be tested here, each with the reason.
    """

    checks: Sequence[Check]
    key_figure: str
    meaning: Mapping[Verdict, str]
    inputs: str
    tables: Sequence[Table] = ()
    figures: Sequence[Figure | Animation] = ()
    untested: Sequence[tuple[str, str]] = field(default=())


def show_number(value: float) -> str:
    """A number as a reader wants it: whole numbers whole, four decimals or digits otherwise, powers of ten where needed.

    >>> [show_number(x) for x in (3.0, 12000.0, 0.0310, 5.551e-17, 0.96623, 0.0)]
    ['3', '12,000', '0.0310', '5.55e-17', '0.9662', '0']
    """
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value):,}"
    if 1e-3 <= abs(value) < 1:
        return f"{value:.4f}"
    if 1 <= abs(value) < 1e4:
        return f"{value:.4g}"
    return f"{value:.2e}"


def as_json_number(value: float) -> float | str:
    """A finite number as it is, others by name: strict JSON has no NaN."""
    return value if math.isfinite(value) else str(value)


def judge(checks: Sequence[Check]) -> tuple[Verdict, str]:
    """The verdict on a claim, and the reason in a sentence.

    - not testable here: there is nothing to hold against the article, or a control does not respond;
    - reproduced: all that is stated holds, and nothing that is concluded from it fails;
    - corrected: something stated or concluded fails, and all of it holds once a detail is put right;
    - refuted: something stated or concluded fails, and no correction holds.

    >>> judge([Check.near("weight of animal", 0.0310, 0.0310, 5e-5)])
    (<Verdict.REPRODUCED: 'reproduced'>, 'as stated: 1 of 1 holds')
    """
    by_role = {role: [check for check in checks if check.role is role] for role in Role}
    silent = [check for check in by_role[Role.CONTROL] if not check.holds]
    claimed = by_role[Role.AS_STATED] + by_role[Role.GENERALISATION]
    if silent:
        return Verdict.NOT_TESTABLE, "a control that should respond does not: " + _named(silent)
    if not claimed:
        return Verdict.NOT_TESTABLE, "nothing was measured that could be compared with the article"

    contradicted = [check for check in claimed if not check.holds]
    reason = "; ".join(
        f"{role}: {_count(by_role[role])}" for role in (Role.AS_STATED, Role.GENERALISATION, Role.DETAIL_FIXED) if by_role[role]
    )
    if not contradicted:
        return Verdict.REPRODUCED, reason
    reason += f" (against it: {_named(contradicted)})"
    fixed = by_role[Role.DETAIL_FIXED]
    if fixed and all(check.holds for check in fixed):
        return Verdict.CORRECTED, reason
    return Verdict.REFUTED, reason


def _count(checks: Sequence[Check]) -> str:
    holding = sum(check.holds for check in checks)
    return f"{holding} of {len(checks)} {'holds' if holding == 1 else 'hold'}"


def _named(checks: Sequence[Check]) -> str:
    names = [check.name for check in checks[:2]]
    return ", ".join(names) + (f" and {len(checks) - 2} more" if len(checks) > 2 else "")
