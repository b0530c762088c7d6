"""D16. The article: sixteen two-input gates, relaxed by t-norms: AND ab, OR a + b - ab, XOR a + b - 2ab, NAND 1 - ab.

What varies is the gate and its two inputs. All sixteen are held at the corners against Python's own logic, the four printed
forms on a grid, and each gate's form a + b x + c y + d x y against the expectation over independent bits. Another t-norm,
Lukasiewicz's max(0, a + b - 1), agrees at the corners and must differ inside, or the grid would have noticed nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.logic.circuit.gates import GATE_NAMES, coefficients, gate_table

__all__ = ["CLAIM", "PRINTED", "gates", "measure"]

CLAIM = Claim(
    id="D16",
    title="Sixteen gates, relaxed",
    place="D200-226",
    statement=(
        "Two inputs have 2^4 = 16 gates; relaxed on [0, 1], AND is ab, OR a + b - ab, XOR a + b - 2ab and NAND 1 - ab; "
        "a neuron's output is their mean, weighted by softmax."
    ),
    setup="same",
    varies="the gate and its two inputs",
    band="exactly at the corners, printed forms to 1e-14, the expectation over independent bits to 1e-14",
    budget_seconds=5,
)

PRINTED: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "and": lambda a, b: a * b,
    "or": lambda a, b: a + b - a * b,
    "xor": lambda a, b: a + b - 2 * a * b,
    "nand": lambda a, b: 1 - a * b,
}
_LOGIC: dict[str, Callable[[bool, bool], bool]] = {
    "false": lambda a, b: False,
    "nor": lambda a, b: not (a or b),
    "not a and b": lambda a, b: not a and b,
    "not a": lambda a, b: not a,
    "a and not b": lambda a, b: a and not b,
    "not b": lambda a, b: not b,
    "xor": lambda a, b: a != b,
    "nand": lambda a, b: not (a and b),
    "and": lambda a, b: a and b,
    "xnor": lambda a, b: a == b,
    "b": lambda a, b: b,
    "not a or b": lambda a, b: not a or b,
    "a": lambda a, b: a,
    "a or not b": lambda a, b: a or not b,
    "or": lambda a, b: a or b,
    "true": lambda a, b: True,
}
_GRID = np.linspace(0, 1, 21)

Form = Callable[[str], tuple[float, float, float, float]]


def measure(inputs: Inputs) -> Measurement:
    """Claim D16 on the package's gates."""
    return gates(lambda name: coefficients(gate_table(name)), PRINTED)


def gates(form: Form, printed: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]) -> Measurement:
    """Claim D16 on any relaxed forms.

    Args:
        form: a gate's name to its a, b, c, d.
        printed: the forms that the article prints, by gate.
    """
    x, y = np.meshgrid(_GRID, _GRID, indexing="ij")

    def relaxed(name: str, a: npt.ArrayLike, b: npt.ArrayLike) -> np.ndarray:
        c0, c1, c2, c3 = form(name)
        first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
        return np.asarray(c0 + c1 * first + c2 * second + c3 * first * second)

    corners = [
        abs(float(relaxed(name, a, b)) - _LOGIC[name](bool(a), bool(b))) for name in GATE_NAMES for a in (0, 1) for b in (0, 1)
    ]
    expectation = [
        np.abs(
            relaxed(name, x, y)
            - sum((x if a else 1 - x) * (y if b else 1 - y) * _LOGIC[name](bool(a), bool(b)) for a in (0, 1) for b in (0, 1))
        ).max()
        for name in GATE_NAMES
    ]
    apart = {name: float(np.abs(relaxed(name, x, y) - one(x, y)).max()) for name, one in printed.items()}
    lukasiewicz = np.abs(relaxed("and", x, y) - np.maximum(0, x + y - 1))
    checks = [
        Check.at_most("largest difference to logic at the corners, all 16 gates", max(corners), 0.0),
        *(
            Check.at_most(f"largest difference to the printed {name.upper()} on a grid", difference, 1e-14)
            for name, difference in apart.items()
        ),
        Check.at_most(
            "largest difference to the expectation over independent bits, all 16 gates",
            max(expectation),
            1e-14,
            role=Role.GENERALISATION,
        ),
        Check.at_least(
            "difference of AND to Lukasiewicz's t-norm inside the square", lukasiewicz.max(), 0.2, role=Role.CONTROL
        ),
        Check.at_most("the same at the corners", lukasiewicz[[0, 0, -1, -1], [0, -1, 0, -1]].max(), 0.0, role=Role.LIMIT),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"all 16 gates exact at the corners; {len(printed)} printed forms within {max(*apart.values(), 1e-15):.0e}",
        meaning={
            Verdict.REPRODUCED: "A truth table has four corners and a + b x + c y + d x y has four numbers, so the form "
            "follows "
            "from the table and needs no list: it is the only such polynomial, and the chance of a 1 where the inputs are "
            "independent bits with chances x and y. That is what makes it the right relaxation for a layer whose inputs do not "
            "depend on each other, and what goes wrong where they do: x AND x is x, but its relaxed form is x squared.",
        },
        inputs="16 gates, 4 corners, a grid of 21 by 21 inputs",
        tables=[
            Table(
                "The sixteen gates as a + b x + c y + d x y",
                ("gate", "truth table", "a", "b", "c", "d"),
                [(name, f"{gate_table(name):04b}"[::-1], *form(name)) for name in GATE_NAMES],
            )
        ],
        figures=[_picture(relaxed, x, y)],
    )


def _picture(relaxed: Callable[[str, np.ndarray, np.ndarray], np.ndarray], x: np.ndarray, y: np.ndarray) -> Figure:
    with canvas(4, 4, height=7.4) as (figure, rows):
        for place, (axes, name) in enumerate(zip(np.ravel(rows), GATE_NAMES, strict=True)):
            heat_map(axes, relaxed(name, x, y), label="", lower=0, upper=1, bar=False)
            axes.set(title=name, xticks=[], yticks=[])
            axes.invert_yaxis()
            if place % 4 == 0:
                axes.set_yticks([0, len(x) - 1], ["0", "1"])
                axes.set_ylabel("a", rotation=0)
            if place >= 12:
                axes.set_xticks([0, len(x) - 1], ["0", "1"])
                axes.set_xlabel("b")
        figure.colorbar(rows[0, 0].images[0], ax=rows, location="bottom", shrink=0.5, aspect=40, label="output of the gate")
    return Figure(
        "gates",
        to_svg(figure),
        caption="The sixteen gates between their corners: first input a upwards, second input b to the right.",
        alt="Sixteen squares in four rows. Constants are of one shade; inputs and negations run from dark to light along one "
        "side; AND, OR and their kin have one corner that differs from the three others; XOR and XNOR are saddles.",
    )
