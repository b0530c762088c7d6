"""D4. The article: the matrix M(offset) is a 2 by 2 rotation, free of t, and block diagonal in d dimensions.

What varies is the pair, the offset and the stretch of positions. M is found from the encoding alone, by least squares, at
several stretches, and compared with [[cos w k, sin w k], [-sin w k, cos w k]]; then one matrix for all channels is found, which
should have those blocks and zeros elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "measure", "rotation"]

CLAIM = Claim(
    id="D4",
    title="A shift is a rotation",
    place="D1330-1366",
    statement=(
        "For each pair of sine and cosine a 2 x 2 matrix M with entries cos(w_k phi) and sin(w_k phi), independent of "
        "t, shifts the position by phi: nearly the rotation matrix of computer vision. With more dimensions a diagonal "
        "matrix does the same."
    ),
    remark="Diagonal is read as block diagonal. The article lets k run to d/2; the last pair is d/2 - 1.",
    setup="none stated",
    varies="the pair, the offset, and the stretch of positions that the matrix is found from",
    band="matrices found from positions equal the rotation to 1e-9 wherever t is; outside the blocks 1e-6",
    budget_seconds=10,
)

_DIM, _OFFSETS, _STARTS, _STRETCH = 16, (1, 7, 100), (0, 1000, 50_000), 20_000


def measure(inputs: Inputs) -> Measurement:
    """Claim D4 on the encoding of the paper."""
    return rotation(lambda positions: Sinusoidal(_DIM).encode(positions, dtype=torch.float64))


def rotation(encode: Callable[[Tensor], Tensor]) -> Measurement:
    """Claim D4 on any encoding of 16 channels.

    Args:
        encode: integer positions [T] to vectors [T, 16], claimed to be pairs that turn.
    """
    fitted = {
        (start, offset): [_found(encode, start, offset, slice(2 * pair, 2 * pair + 2)) for pair in range(_DIM // 2)]
        for start in _STARTS
        for offset in _OFFSETS
    }
    off = orthogonal = 0.0
    for (_, offset), blocks in fitted.items():
        for pair, block in enumerate(blocks):
            off = max(off, float((block - _turn(pair, offset)).abs().max()))
            orthogonal = max(orthogonal, float((block @ block.T - torch.eye(2, dtype=torch.float64)).abs().max()))
    free = max(
        float((fitted[start, offset][pair] - fitted[0, offset][pair]).abs().max())
        for start in _STARTS[1:]
        for offset in _OFFSETS
        for pair in range(_DIM // 2)
    )
    whole = _found(encode, 0, 7, slice(None))
    inside = torch.block_diag(*(torch.ones(2, 2) for _ in range(_DIM // 2))).bool()
    outside = float(whole[~inside].abs().max())
    composed = max(
        float((fitted[0, 1][pair].matrix_power(100) - fitted[0, 100][pair]).abs().max()) for pair in range(_DIM // 2)
    )
    turned = max(float((block - torch.eye(2)).abs().max()) for block in fitted[0, 7])
    checks = [
        Check.at_most("largest difference from a rotation by w k", off, 1e-9),
        Check.at_most("largest departure from orthogonality", orthogonal, 1e-9),
        Check.at_most("largest change of M with t, positions 0 to 70,000", free, 1e-9),
        Check.at_most("largest entry outside the blocks, all channels at once", outside, 1e-6),
        Check.at_most("difference of M(1) to the power of 100 and M(100)", composed, 1e-7, role=Role.GENERALISATION),
        Check.at_least("largest difference of M(7) from no turn at all", turned, 0.5, role=Role.CONTROL),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"matrices found from positions equal rotations to {off:.0e}, wherever t is to {free:.0e}",
        meaning={
            Verdict.REPRODUCED: "Found from the numbers alone, without knowing the formula, the matrix of each pair is the "
            "rotation by offset times frequency, the same at position 0 and at 50,000, and a hundred steps of one are one step "
            f"of a hundred. All {_DIM} channels at once give these blocks along the diagonal and nothing else above "
            f"{outside:.0e}. This is what RoPE takes up: it applies the same rotation to queries and keys instead of hoping "
            "that a layer will learn it.",
        },
        inputs=f"sinusoidal encoding, {_DIM} channels, stretches of {_STRETCH:,} positions from "
        f"{', '.join(f'{s:,}' for s in _STARTS)}",
        tables=[
            Table(
                "M(7) of single pairs, found from positions 0 to 19,999",
                ("pair", "cos(7 w)", "found, first entry", "sin(7 w)", "found, second entry"),
                [
                    (
                        pair,
                        float(_turn(pair, 7)[0, 0]),
                        float(fitted[0, 7][pair][0, 0]),
                        float(_turn(pair, 7)[0, 1]),
                        float(fitted[0, 7][pair][0, 1]),
                    )
                    for pair in range(0, _DIM // 2, 2)
                ],
            )
        ],
        figures=[_picture(encode, whole)],
    )


def _found(encode: Callable[[Tensor], Tensor], start: int, offset: int, channels: slice) -> Tensor:
    """The matrix M with PE(t + offset) = M PE(t) on these channels, by least squares over a stretch of positions."""
    steps = indices.consecutive(_STRETCH, start=start)
    before, after = encode(steps)[:, channels], encode(steps + offset)[:, channels]
    return torch.linalg.lstsq(before, after, driver="gelsd").solution.T


def _turn(pair: int, offset: int) -> Tensor:
    angle = torch.tensor(offset * 10000.0 ** (-2 * pair / _DIM), dtype=torch.float64)
    return torch.stack((torch.stack((angle.cos(), angle.sin())), torch.stack((-angle.sin(), angle.cos()))))


def _picture(encode: Callable[[Tensor], Tensor], whole: Tensor) -> Figure:
    with canvas(2, height=3.7, widths=(1, 1.05)) as (figure, (left, right)):
        heat_map(left, whole.numpy(), label="entry of M(7)", lower=-1, upper=1)
        figure.axes[-1].set_xticks([-1, 0, 1])
        left.set(title="M(7), all channels", xlabel="channel of PE(t)", ylabel="channel of PE(t + 7)")
        left.set_xticks(range(0, _DIM, 2))
        left.set_yticks(range(0, _DIM, 2))
        circle = np.linspace(0, 2 * np.pi, 200)
        right.plot(np.cos(circle), np.sin(circle), color="#c6c9ce", linewidth=1)
        for start, series in zip((0, 3, 6), SERIES, strict=False):
            pair = encode(torch.tensor([start, start + 7]))[:, 2:4].numpy()  # sine and cosine of pair 1
            right.plot(pair[:, 1], pair[:, 0], color=series["color"], linewidth=1, linestyle=series["linestyle"], alpha=0.6)
            right.plot(
                *pair[0, ::-1],
                marker=series["marker"],
                color=series["color"],
                markersize=6,
                linestyle="none",
                label=f"t = {start}",
            )
            right.plot(
                *pair[1, ::-1],
                marker=series["marker"],
                markersize=7,
                linestyle="none",
                markerfacecolor="none",
                markeredgewidth=1.6,
                markeredgecolor=series["color"],
            )
        right.set_aspect("equal")
        right.set(title="One pair, seven tokens on", xlabel="cosine channel", ylabel="sine channel")
        right.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return Figure(
        "blocks",
        to_svg(figure),
        caption="Left, the matrix that carries PE(t) to PE(t + 7), found from the numbers. Right, the second pair at three t "
        "(filled) and seven tokens on (open): each turns by the same angle.",
        alt="A heat map that is zero except for two-by-two blocks along the diagonal; a circle with three filled and three "
        "open marks, each open one the same arc away from its filled one.",
    )
