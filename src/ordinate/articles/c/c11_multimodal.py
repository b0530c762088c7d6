"""C11, one space: text, an image that is not square, and a video in one row, each token at (time, height, width)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Role, Table
from ordinate.position import Rotary, indices

__all__ = ["multimodal_checks"]

_DIM = 64
_PARTS: tuple[int | tuple[int, int, int], ...] = (4, (1, 3, 5), 3, (2, 2, 3), 2)  # text, image, text, video, text


def multimodal_checks(
    rotate: Callable[[Tensor, Tensor], Tensor], sections: Sequence[int], seed: int
) -> tuple[list[Check], Table, Figure]:
    """The part of C11 on text, image and video together.

    Args:
        rotate: x [1, 1, T, 64] and positions [T, 3] to x turned, pairs of channels in halves.
        sections: pairs of channels for time, height and width.
        seed: of queries and keys.
    """
    positions = indices.multimodal(list(_PARTS))
    by_hand = _by_hand()
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(1, 1, len(positions), _DIM, generator=generator, dtype=torch.float64)
    query, key = torch.randn(2, 1, 1, 1, _DIM, generator=generator, dtype=torch.float64)

    text = indices.consecutive(len(positions))
    plain = Rotary(_DIM, layout="half").rotate(x, text)
    as_text = float((rotate(x, indices.on_every_axis(text, 3)) - plain).abs().max())
    moved = _score_change(rotate, query, key, positions)
    by_formula = float((rotate(x, positions) - _formula(x, positions, sections)).abs().max())
    counted = float((rotate(x, positions) - plain).abs().max())
    distinct = len({tuple(row) for row in positions.tolist()})

    checks = [
        Check.near(
            "positions that differ from those by hand, of 36 tokens",
            sum(a != b for a, b in zip(positions.tolist(), by_hand, strict=True)),
            0,
            0,
        ),
        Check.near("different positions, of 36 tokens", distinct, len(by_hand), 0),
        Check.at_most("difference from plain RoPE on text", as_text, 1e-12),
        Check.at_most("difference from the formula, each pair turned by its own axis", by_formula, 1e-12),
        Check.at_most("change of scores when all tokens move by (5, 9, 2)", moved, 1e-9),
        Check.at_least("difference if the tokens are only counted", counted, 0.1, role=Role.CONTROL),
    ]
    table = Table(
        "Where the parts stand",
        ("part", "tokens", "first (time, height, width)", "last (time, height, width)"),
        _told(positions),
    )
    return checks, table, _picture(positions)


def _by_hand() -> list[list[int]]:
    """The positions counted out in plain loops: every part starts one past the highest number before it."""
    rows: list[list[int]] = []
    for part in _PARTS:
        start = max((max(row) for row in rows), default=-1) + 1
        if isinstance(part, int):
            rows += [[start + token] * 3 for token in range(part)]
        else:
            frames, height, width = part
            rows += [[start + f, start + y, start + x] for f in range(frames) for y in range(height) for x in range(width)]
    return rows


def _formula(x: Tensor, positions: Tensor, sections: Sequence[int]) -> Tensor:
    """Pair i turned by positions[axis of i] * 10000^(-2 i / 64), pairs of time first, then height, then width."""
    owner = [axis for axis, share in enumerate(sections) for _ in range(share)]
    turned = x.clone()
    for pair, axis in enumerate(owner):
        angle = positions[:, axis].double() * 10000.0 ** (-2 * pair / _DIM)
        a, b = x[..., pair], x[..., pair + _DIM // 2]
        turned[..., pair] = a * angle.cos() - b * angle.sin()
        turned[..., pair + _DIM // 2] = a * angle.sin() + b * angle.cos()
    return turned


def _score_change(rotate: Callable[[Tensor, Tensor], Tensor], query: Tensor, key: Tensor, positions: Tensor) -> float:
    size = (1, 1, len(positions), _DIM)

    def scores(at: Tensor) -> Tensor:
        return rotate(query.expand(size), at)[0, 0] @ rotate(key.expand(size), at)[0, 0].T

    return float((scores(positions + torch.tensor([5, 9, 2])) - scores(positions)).abs().max())


def _told(positions: Tensor) -> list[tuple[str, int, str, str]]:
    rows, begin = [], 0
    for part in _PARTS:
        count = part if isinstance(part, int) else int(np.prod(part))
        name = "text" if isinstance(part, int) else ("image of 3 by 5" if part[0] == 1 else "video, 2 frames of 2 by 3")
        first, last = (str(tuple(positions[place].tolist())) for place in (begin, begin + count - 1))
        rows.append((name, count, first, last))
        begin += count
    return rows


def _picture(positions: Tensor) -> Figure:
    with canvas(height=3.0) as (figure, axes):
        for axis, (name, series) in enumerate(zip(("time", "height", "width"), SERIES, strict=False)):
            axes.plot(
                positions[:, axis].numpy(),
                color=series["color"],
                marker=series["marker"],
                linestyle="none",
                markersize=7 - 2 * axis,
                markerfacecolor="none" if axis == 0 else series["color"],
                label=name,
            )
        begin = 0
        for part in _PARTS:
            count = part if isinstance(part, int) else int(np.prod(part))
            name = "text" if isinstance(part, int) else ("image" if part[0] == 1 else "video")
            axes.text(begin + count / 2 - 0.5, 19.4, name, ha="center", va="top")
            begin += count
            axes.axvline(begin - 0.5, color="#c6c9ce", linewidth=0.8)
        axes.set(title="One row, three axes", xlabel="token in the row", ylabel="position on the axis", ylim=(-0.8, 20))
        axes.legend(loc="lower right", ncols=3)
        svg = to_svg(figure)
    return Figure(
        "one-space",
        svg,
        caption="The three numbers of each token's position. They agree for text and part ways inside image and video, and "
        "what follows goes on one past the highest.",
        alt="Three kinds of dots over 36 tokens: they coincide on rising lines where there is text; inside the image time "
        "stays level while height climbs in steps and width runs up and down; inside the video all three differ.",
    )
