"""B6. The article: sin(y / 10000^(x / 500)) on a grid of 501 by 501.

What varies is x, the place among the frequencies, and y, the position. The picture is drawn; what it shows is counted:
sign changes down each column.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Verdict

__all__ = ["CLAIM", "formula", "measure", "picture"]

CLAIM = Claim(
    id="B6",
    title="The picture of the formula",
    place="B100-115",
    statement=(
        "Drawn as sin(y / 10000^(x / 500)) on a grid of x and y from 0 to 500, waves are dense on the left and wide on "
        "the right: the frequency falls geometrically."
    ),
    setup="same",
    varies="x, the place among the frequencies, and y, the position",
    band="159 sign changes down the first column, none down the last, never more to the right than to the left",
    budget_seconds=5,
)

_SIZE = 501


def formula() -> npt.NDArray[np.float64]:
    """The article's grid, rows y and columns x."""
    y, x = np.mgrid[0:_SIZE, 0:_SIZE]
    return np.sin(y / 10000.0 ** (x / 500))


def measure(inputs: Inputs) -> Measurement:
    """Claim B6 on the article's formula."""
    return picture(formula())


def picture(grid: npt.NDArray[np.float64]) -> Measurement:
    """Claim B6 on any grid [501, 501]."""
    positive = grid >= 0
    changes = (positive[1:] != positive[:-1]).sum(axis=0)
    rises = int((np.diff(changes) > 0).sum())
    checks = [
        Check.near("sign changes down the first column", int(changes[0]), 159, 0),
        Check.near("sign changes down the last column", int(changes[-1]), 0, 0),
        Check.near("columns with more changes than the one before", rises, 0, 0),
        Check.near("value at the lower right, sin(500 / 10000)", float(grid[-1, -1]), 0.04998, 5e-6),
        Check.at_least("range of the values, so that there is a picture", float(np.ptp(grid)), 1.9, role=Role.CONTROL),
    ]
    still = int((changes == 0).sum())
    return Measurement(
        checks=checks,
        key_figure=f"{changes[0]} sign changes in the first column, none in the last {still}",
        meaning={
            Verdict.REPRODUCED: "The picture is as described: 500 / pi = 159 half waves on the left, and on the right columns "
            f"that rise a little and never turn; {still} of 501 columns do not change sign within 500 positions. It shows "
            f"sines "
            "only: the encoding has a cosine beside each, without which the still columns near position 0 would say nothing.",
        },
        inputs="sin(y / 10000^(x / 500)), x and y from 0 to 500",
        figures=[_drawn(grid, changes)],
    )


def _drawn(grid: npt.NDArray[np.float64], changes: npt.NDArray[np.int64]) -> Figure:
    with canvas(2, height=3.9, widths=(1.5, 1)) as (figure, (left, right)):
        heat_map(left, grid[::2, ::2], label="sin(y / 10000^(x / 500))", lower=-1, upper=1)
        ticks = range(0, 251, 50)
        left.set_xticks(ticks, [str(2 * tick) for tick in ticks])
        left.set_yticks(ticks, [str(2 * tick) for tick in ticks])
        left.set(title="The picture", xlabel="x (place among the frequencies)", ylabel="y (position)")
        right.plot(changes, color=SERIES[0]["color"], linewidth=1.5)
        right.set_yscale("symlog", linthresh=1)
        right.set_yticks([0, 1, 3, 10, 30, 100], ["0", "1", "3", "10", "30", "100"])
        right.grid(axis="y")
        right.set(title="Sign changes", xlabel="x (place among the frequencies)", ylabel="changes down the column")
    return Figure(
        "picture",
        to_svg(figure),
        caption="The formula as a picture, every second point drawn, and how often each column changes sign.",
        alt=f"A heat map with fine stripes on the left that widen to the right and end in one even field; a curve that falls "
        f"from {changes[0]} to 0.",
    )
