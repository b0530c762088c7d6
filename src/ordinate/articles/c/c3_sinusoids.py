"""C3. The article: sinusoids are bounded by 1, free of parameters, defined for any length, a buffer added to embeddings.

What varies is the position and the precision of the angles. A textbook module with its table in a float32 buffer stands beside
ours, which keeps settings alone. The exact value comes from fifty decimal digits: the angle is reduced to one turn there, and
only then becomes a float.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np
import torch
from torch import Tensor, nn

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "TableInBuffer", "measure", "sinusoids"]

CLAIM = Claim(
    id="C3",
    title="Sinusoids cost nothing and never end",
    place="C56-60, C171-206",
    statement=(
        "Sinusoids stay between -1 and 1, have no weights and are defined past the training length; a module computes "
        "the table once (max_len 5000), registers it as a buffer and adds it to [batch, seq_len, d_model]."
    ),
    remark="How exact the table is far out is ours.",
    setup="same",
    setup_detail="the table of the article's listing, beside ours",
    varies="the position, up to 100 million, and the precision in which angles are formed",
    band="bounded by 1, no parameter, within 1e-6 of the exact value wherever one looks",
    budget_seconds=10,
)

_WIDTH, _TABLE = 64, 5000
_POSITIONS = tuple(10**power + step for power in range(9) for step in (0, 7))
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


class TableInBuffer(nn.Module):
    """The usual module: angles in float32, a table for so many positions, a buffer. `table` forms rows past its end alike."""

    table: Tensor

    def __init__(self, width: int, positions: int) -> None:
        super().__init__()
        self.register_buffer("table", self.rows(torch.arange(positions), width))

    @staticmethod
    def rows(positions: Tensor, width: int) -> Tensor:
        """[T, D] as textbooks form it."""
        steps = torch.exp(torch.arange(0, width, 2).float() * (-math.log(10000.0) / width))
        angles = positions.float()[:, None] * steps
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)

    def forward(self, x: Tensor) -> Tensor:
        """Embeddings [B, T, D] with their places added."""
        return x + self.table[: x.shape[1]]


def measure(inputs: Inputs) -> Measurement:
    """Claim C3 on our encoding."""
    return sinusoids(Sinusoidal(_WIDTH), inputs.seeds[0])


def sinusoids(module: Sinusoidal, seed: int) -> Measurement:
    """Claim C3 on any module of 64 channels.

    Args:
        module: has `encode(positions, dtype=)`, sines and cosines in turn.
        seed: of the embeddings.
    """
    far = torch.tensor(_POSITIONS)
    exact = _exact(_POSITIONS)
    ours = module.encode(far, dtype=torch.float64).numpy()
    single = TableInBuffer.rows(far, _WIDTH).double().numpy()
    off = np.abs(ours - exact).max(axis=1)
    off_single = np.abs(single - exact).max(axis=1)
    off_half = np.abs(torch.from_numpy(exact).bfloat16().double().numpy() - exact).max(axis=1)
    million = _POSITIONS.index(10**6)

    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(3, 20, _WIDTH, generator=generator, dtype=torch.float64)
    places = module.encode(indices.consecutive(20), dtype=torch.float64)
    moved = x + places
    by_row = torch.stack([torch.stack([x[b, t] + places[t] for t in range(20)]) for b in range(3)])
    bound = max(float(module.encode(indices.consecutive(_TABLE), dtype=torch.float64).abs().max()), float(np.abs(ours).max()))
    buffer = TableInBuffer(_WIDTH, _TABLE)
    collapsed = int(
        (np.abs(np.diff(TableInBuffer.rows(2**24 + torch.arange(9), _WIDTH).numpy(), axis=0)).max(axis=1) == 0).sum()
    )

    checks = [
        Check.at_most("largest value, positions 0 to 4,999 and on to 100 million", bound, 1.0),
        Check.near("learned numbers", sum(parameter.numel() for parameter in module.parameters()), 0, 0),
        Check.at_most("largest error at any position up to 100 million", float(off.max()), 1e-6),
        Check.at_most(
            "difference between adding to [B, T, D] at once and row by row", float((moved - by_row).abs().max()), 0.0
        ),
        Check.at_least(
            "largest error of a float32 table at position 1,000,000", float(off_single[million]), 1e-3, role=Role.LIMIT
        ),
        Check.at_least("neighbours past 2^24 that a float32 table cannot tell apart, of 8", collapsed, 1, role=Role.LIMIT),
        Check.at_least(
            "distance between two positions far out, so that there is something to err on",
            float(np.abs(ours[million] - ours[million + 1]).max()),
            0.1,
            role=Role.CONTROL,
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"error at position 1,000,000: {off[million]:.0e} with float64 angles, {off_single[million]:.2g} in a "
        "float32 table",
        meaning={
            Verdict.REPRODUCED: "All of it holds, of the formula. A table in float32 is another matter: position times "
            "frequency is rounded before the sine is taken, so the error grows with the position. At a million it is "
            f"{off_single[million]:.2g} of at most 2, and past 16,777,216 whole positions fall together. We form the angle in "
            "float64 and round once, and register no buffer: a buffer enters the state dict, so a checkpoint fixes its length, "
            "and a cast to bfloat16 rounds the table for good. A module that keeps its settings alone cannot be spoilt by a "
            "cast, a meta device or a reload.",
        },
        inputs=f"{_WIDTH} channels; {len(_POSITIONS)} positions from 1 to 100,000,007; exact values from fifty digits",
        tables=[
            Table(
                "Largest error of a channel by position",
                ("position", "float64 angles", "float32 table", "exact table cast to bfloat16"),
                [(f"{10**power:,}", off[2 * power], off_single[2 * power], off_half[2 * power]) for power in range(9)],
            ),
            Table(
                f"A table of {_TABLE:,} positions in a buffer, and settings alone",
                ("module", "learned numbers", "numbers in the state dict", "positions"),
                [
                    ("buffer", 0, sum(entry.numel() for entry in buffer.state_dict().values()), f"0 to {_TABLE - 1:,}"),
                    ("settings", 0, sum(entry.numel() for entry in module.state_dict().values()), "any"),
                ],
            ),
        ],
        figures=[_picture(off, off_single, off_half)],
    )


def _exact(positions: tuple[int, ...]) -> np.ndarray:
    """[T, D]: the angle modulo a turn in fifty decimal digits, its sine and cosine in float64."""
    rows = np.empty((len(positions), _WIDTH))
    with decimal.localcontext() as context:
        context.prec = 50
        frequencies = [Decimal(10000) ** (Decimal(-channel) / Decimal(_WIDTH)) for channel in range(0, _WIDTH, 2)]
        for row, position in enumerate(positions):
            for pair, frequency in enumerate(frequencies):
                angle = float((position * frequency) % (2 * _PI))
                rows[row, 2 * pair], rows[row, 2 * pair + 1] = math.sin(angle), math.cos(angle)
    return rows


def _picture(off: np.ndarray, off_single: np.ndarray, off_half: np.ndarray) -> Figure:
    with canvas(height=3.0) as (figure, axes):
        for values, series, label in (
            (off_half, SERIES[2], "an exact table cast to bfloat16"),
            (off_single, SERIES[1], "float32 angles"),
            (off, SERIES[0], "float64 angles"),
        ):
            axes.plot(_POSITIONS, np.maximum(values, 1e-17), **series, label=label)
        axes.set(title="Error of the encoding", xlabel="position (tokens)", ylabel="largest error of a channel")
        axes.set(xscale="log", yscale="log", ylim=(1e-17, 30))
        axes.grid(axis="y")
        axes.legend(loc="lower right")
    return Figure(
        "error",
        to_svg(figure),
        caption="How far the largest channel is from its exact value, by position, both axes logarithmic.",
        alt="Three curves: bfloat16 level near 0.002; float32 angles rise in proportion to the position from 1e-7 to above 1; "
        "float64 angles rise alike but nine orders of magnitude lower.",
    )
