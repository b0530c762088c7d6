"""C5. The article: a learned table of 2,048 positions cannot take token 2,049.

What varies is the position and, beside it, the size. A table that wraps or repeats its last row would answer with a wrong
vector, so every position past the end must be refused. The usual way out is to resize the table by interpolation; measured is
what that does to neighbours: between two unrelated rows, as noise has them, a point a quarter of the way has the length
sqrt(.75^2 + .25^2) = .79.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ordinate.errors import PositionRangeError
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import LearnedTable, Sinusoidal, indices

__all__ = ["CLAIM", "learned_table", "measure"]

CLAIM = Claim(
    id="C5",
    title="A learned table ends",
    place="C88-92",
    statement=(
        "A model with a learned table of 2,048 positions cannot process 2,049 tokens; longer contexts often need costly "
        "training again."
    ),
    remark="Resizing by interpolation is ours.",
    setup="same",
    varies="the position, within the table and past its end; then the size, by interpolation",
    band="every position of the table is taken, each one past it refused",
    budget_seconds=5,
)

_SIZE, _DIM, _LARGER = 2048, 64, 4096
_PAST = (2048, 2049, 4095, 10_000)


def measure(inputs: Inputs) -> Measurement:
    """Claim C5 on our table."""
    return learned_table(LearnedTable, inputs.seeds[0])


def learned_table(make: Callable[[int, int], Any], seed: int) -> Measurement:
    """Claim C5 on any table.

    Args:
        make: a number of positions and a width to a module with `encode(positions)` and `weight` [positions, width].
        seed: of its rows.
    """
    torch.manual_seed(seed)
    table = make(_SIZE, _DIM)
    steps = indices.consecutive(_SIZE)
    with torch.no_grad():
        within = float((table.encode(steps) - table.weight).abs().max())
        apart = float((table.weight[1:] - table.weight[:-1]).norm(dim=-1).min())
        refused = [_refusal(table, position) for position in _PAST]
    messages = [message for message in refused if message]

    smooth = LearnedTable(_SIZE, _DIM)
    noise = LearnedTable(_SIZE, _DIM)
    with torch.no_grad():
        smooth.weight.copy_(Sinusoidal(_DIM).encode(steps))
    larger = {"smooth": smooth.resized(_LARGER), "noise": noise.resized(_LARGER)}
    before = {"smooth": smooth.weight.detach(), "noise": noise.weight.detach()}
    after = {name: one.weight.detach() for name, one in larger.items()}
    shrink = {name: float(after[name].norm(dim=-1).mean() / before[name].norm(dim=-1).mean()) for name in before}
    step = {name: float(_steps(after[name]).mean() / _steps(before[name]).mean()) for name in before}
    unrelated = math.sqrt(0.75**2 + 0.25**2)

    checks = [
        Check.near(f"positions past the end that are refused, of {len(_PAST)}", len(messages), len(_PAST), 0),
        Check.near("messages that name the size and the position", _clear(refused), len(_PAST), 0, role=Role.LIMIT),
        Check.at_most("difference between the vectors of positions 0 to 2,047 and the rows", within, 0.0, role=Role.CONTROL),
        Check.at_least(
            "least distance of two neighbouring rows, so that a wrong row would be seen", apart, 1e-3, role=Role.CONTROL
        ),
        Check.near(
            "length of a row after resizing to 4,096, table of noise", shrink["noise"], unrelated, 0.01, role=Role.LIMIT
        ),
        Check.at_least("length of a row after resizing to 4,096, smooth table", shrink["smooth"], 0.95, role=Role.LIMIT),
        Check.at_most(
            "step between neighbours after resizing, of that before, smooth table", step["smooth"], 0.7, role=Role.LIMIT
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"{len(messages)} of {len(_PAST)} positions past the end are refused",
        meaning={
            Verdict.REPRODUCED: "Token 2,049 stands at position 2,048, which has no row, and the error says so; a table that "
            "wrapped would hand it the vector of token 1 and nobody would notice. Resizing to 4,096 by interpolation gives "
            "every position a vector, but not what a trained model knows: all old positions are spread out by two, so "
            f"neighbours are {step['smooth']:.2f} times as far apart in a smooth table, and the model must be trained on. "
            f"Where rows are unrelated, as before training, interpolated ones are also {1 - shrink['noise']:.0%} shorter.",
        },
        inputs=f"a table of {_SIZE:,} positions and {_DIM} channels; resized, one of sinusoids (smooth) and one of noise",
        tables=[
            Table(
                f"Resized from {_SIZE:,} to {_LARGER:,} positions by linear interpolation, after over before",
                ("table", "length of a row", "step between neighbours"),
                [(name, shrink[name], step[name]) for name in before],
            ),
            Table(
                "What is said about a position past the end",
                ("position", "answer"),
                [(f"{position:,}", message or "a vector") for position, message in zip(_PAST, refused, strict=True)],
            ),
        ],
        figures=[_picture(before, after)],
        untested=[("what training again costs", "no large model is trained here; C12 trains a small one on after extending")],
    )


def _refusal(table: Any, position: int) -> str:
    """The message of the refusal, or nothing where there is a vector."""
    try:
        table.encode(torch.tensor([position]))
    except (PositionRangeError, IndexError) as refusal:
        return str(refusal)
    return ""


def _clear(messages: list[str]) -> int:
    return sum(str(_SIZE) in message and str(position) in message for position, message in zip(_PAST, messages, strict=True))


def _steps(table: Tensor) -> Tensor:
    return (table[1:] - table[:-1]).norm(dim=-1)


def _picture(before: dict[str, Tensor], after: dict[str, Tensor]) -> Figure:
    channel, plotted = 14, 130
    with canvas(2, height=3.0, widths=(1.5, 1)) as (figure, (left, right)):
        old, new = before["smooth"][:plotted, channel].numpy(), after["smooth"][:plotted, channel].numpy()
        left.plot(old, color=SERIES[0]["color"], linewidth=1.5, label="2,048 positions")
        left.plot(new, color=SERIES[1]["color"], linewidth=1.5, linestyle=SERIES[1]["linestyle"], label="resized to 4,096")
        left.set(title=f"Channel {channel} of the smooth table", xlabel="position (tokens)", ylabel="value", ylim=(-1.1, 1.6))
        left.legend(loc="upper right", ncols=2)
        left.grid(axis="y")
        names = list(before)
        for place, (tables, series, hatch, label) in enumerate(
            ((before, SERIES[0], "", "before"), (after, SERIES[1], "///", "after"))
        ):
            heights = [float(tables[name].norm(dim=-1).mean() / before[name].norm(dim=-1).mean()) for name in names]
            right.bar(
                [row + 0.38 * (place - 0.5) for row in range(len(names))],
                heights,
                0.34,
                color=series["color"],
                hatch=hatch,
                edgecolor="white",
                linewidth=0.5,
                label=label,
            )
        right.set_xticks(range(len(names)), names)
        right.set(title="Length of a row", xlabel="table", ylabel="of that before", ylim=(0, 1.3))
        right.legend(loc="upper right", ncols=2)
        right.grid(axis="y")
    return Figure(
        "resized",
        to_svg(figure),
        caption="Resizing stretches what the table says: the wave of a channel takes twice as many positions. Rows of a smooth "
        "table keep their length, unrelated ones shrink.",
        alt="Two waves, the second twice as long as the first; and pairs of bars: smooth rows keep nearly their length, rows "
        "of noise fall to 0.79.",
    )
