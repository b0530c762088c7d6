"""Rows of the table of encodings: rotations of part of a head, with learned frequencies, and temperatures by position."""

from ordinate.position import LearnedRotary, LogTemperature, SteppedTemperature
from tests.position.members import HEAD_DIM, Member, rotary

ROWS = [
    Member("rotary-last-channels", rotary("interleaved", rotary_dim=6, rotated_channels="last"), "rotates"),
    Member("rotary-one-pair", rotary("half", rotary_dim=2), "rotates"),
    Member("rotary-learned", lambda: LearnedRotary(HEAD_DIM, layout="half"), "rotates"),
    Member(
        "rotary-learned-partial",
        lambda: LearnedRotary(HEAD_DIM, layout="interleaved", rotary_dim=8, rotated_channels="last"),
        "rotates",
    ),
    Member("temperature-stepped", lambda: SteppedTemperature(8, 0.1), "rotates", shift_invariant=False),
    Member("temperature-ministral", lambda: SteppedTemperature(8, 0.1, ahead=0), "rotates", shift_invariant=False),
    Member("temperature-log", lambda: LogTemperature(16), "rotates", shift_invariant=False),
]
