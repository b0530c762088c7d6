"""The sixteen two-input gates, held as one table of data; everything else about them is derived.

A gate is its truth table, an integer 0 to 15 whose bit `2 a + b` is the output at inputs (a, b). Relaxed to inputs in [0, 1], a
gate is the only polynomial a0 + a1 x + a2 y + a3 x y through its four corners: the expectation of the gate on independent bits.
Petersen et al. 2022, "Deep Differentiable Logic Gate Networks", arXiv 2210.08277, Table 1, print the sixteen forms; here they
come from the Möbius transform of the truth table.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice, check_integer

__all__ = [
    "COEFFICIENTS",
    "CORNERS_TO_COEFFICIENTS",
    "GATE_NAMES",
    "GENUINE",
    "coefficients",
    "depends_on",
    "gate_name",
    "gate_table",
    "output",
]

GATE_NAMES = (
    "false",
    "nor",
    "not a and b",
    "not a",
    "a and not b",
    "not b",
    "xor",
    "nand",
    "and",
    "xnor",
    "b",
    "not a or b",
    "a",
    "a or not b",
    "or",
    "true",
)
"""The gate of each truth table 0 to 15, as bit 2 a + b of the table is the output at (a, b)."""

CORNERS_TO_COEFFICIENTS: npt.NDArray[np.float32] = np.array(
    [[1, 0, 0, 0], [-1, 0, 1, 0], [-1, 1, 0, 0], [1, -1, -1, 1]], dtype=np.float32
)
"""[4, 4]: outputs at (0,0), (0,1), (1,0), (1,1) to the coefficients of 1, x, y, x y."""


def _all_coefficients() -> npt.NDArray[np.float32]:
    corners = np.array([[table >> corner & 1 for corner in range(4)] for table in range(16)], dtype=np.float32)
    return corners @ CORNERS_TO_COEFFICIENTS.T


COEFFICIENTS: npt.NDArray[np.float32] = _all_coefficients()
"""[16, 4]: row t holds (a0, a1, a2, a3) of the gate with truth table t, so that it is a0 + a1 x + a2 y + a3 x y."""

GENUINE: tuple[int, ...] = tuple(
    table
    for table in range(16)
    if (table & 3) != (table >> 2) and ((table & 1) | (table >> 1 & 2)) != ((table >> 1 & 1) | (table >> 2 & 2))
)
"""The ten tables that depend on both inputs: all but the constants, the two inputs and their negations."""


def _checked(table: int) -> int:
    return check_integer("table", table, minimum=0, maximum=15)


def coefficients(table: int) -> tuple[float, float, float, float]:
    """The relaxed form of a gate: (a0, a1, a2, a3) of a0 + a1 x + a2 y + a3 x y.

    Args:
        table: truth table, 0 to 15; bit 2 a + b is the output at (a, b).

    Raises:
        ArgumentError, ArgumentTypeError: no integer from 0 to 15.

    Source: Petersen et al. 2022, arXiv 2210.08277, Table 1.

    >>> coefficients(gate_table("xor")), coefficients(gate_table("or"))
    ((0.0, 1.0, 1.0, -2.0), (0.0, 1.0, 1.0, -1.0))
    """
    first, second, third, fourth = COEFFICIENTS[_checked(table)].tolist()
    return first, second, third, fourth


def gate_name(table: int) -> str:
    """The name of a truth table. Raises as `coefficients`.

    >>> gate_name(8), gate_name(6)
    ('and', 'xor')
    """
    return GATE_NAMES[_checked(table)]


def gate_table(name: str) -> int:
    """The truth table of a gate's name.

    Raises:
        UnknownNameError: not one of `GATE_NAMES`.

    >>> gate_table("nand")
    7
    """
    return GATE_NAMES.index(check_choice("name", name, GATE_NAMES))


def output(table: int, a: int, b: int) -> int:
    """The output bit of a gate: bit `2 a + b` of its table. Raises as `coefficients`.

    >>> [output(gate_table("a and not b"), a, b) for a in (0, 1) for b in (0, 1)]
    [0, 0, 1, 0]
    """
    return _checked(table) >> (2 * int(a) + int(b)) & 1


def depends_on(table: int) -> tuple[bool, bool]:
    """Whether a gate's output depends on its first and on its second input. Raises as `coefficients`.

    >>> depends_on(gate_table("and")), depends_on(gate_table("not b")), depends_on(gate_table("true"))
    ((True, True), (False, True), (False, False))
    """
    _, first, second, both = coefficients(table)
    return bool(first or both), bool(second or both)
