"""C11. The article: images need x and y, time series timestamps and seasons, and text, image and video share one space.

What varies is what a position is. Each of the three has its own file; this one joins their checks, tables and figures. The grid
is not square, so that height and width cannot be exchanged unnoticed.

C11, images: on a grid of 4 by 7 the product of two cells must depend on the two offsets, which one running number loses.

C11, time series: hours and days must be read off timestamps as the calendar has them, however irregular the sampling.

C11, one space: text, an image that is not square, and a video in one row, each token at (time, height, width).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import torch
from torch import Tensor

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import (
    AxialRotary,
    MultimodalRotary,
    Rotary,
    Sinusoidal,
    SinusoidalGrid,
    TimeEncoding,
    indices,
    unix_seconds,
)

__all__ = ["CLAIM", "axes", "grid_checks", "measure", "multimodal_checks", "time_checks"]

CLAIM = Claim(
    id="C11",
    title="Two and three dimensions, and time",
    place="C214-220, C242",
    statement=(
        "Images need X and Y, time series need time differences, seasons and timestamps, and one encoding for text, 3D "
        "video and audio is a goal."
    ),
    setup="none stated",
    setup_detail="a grid of 4 by 7 cells, 400 timestamps, a row of text, images and video",
    varies="what the position is: a cell of a 4 by 7 grid, a timestamp, a place in a row of text, image and video",
    band="what should depend on offsets or on the calendar alone does so to 1e-9; a count of tokens must not",
    budget_seconds=10,
)

Part = tuple[list[Check], Table, Figure]


def measure(inputs: Inputs) -> Measurement:
    """Claim C11 on our encodings."""
    grids, turned = SinusoidalGrid(64), AxialRotary(64, layout="half")
    times = TimeEncoding(4, seasons=["hour_of_day", "day_of_week"])
    sections = (8, 12, 12)
    together = MultimodalRotary(64, layout="half", sections=sections)
    return axes(
        grid_checks(lambda positions: grids.encode(positions, dtype=torch.float64), turned.rotate, inputs.seeds[0]),
        time_checks(lambda stamps: times.encode(stamps, dtype=torch.float64)),
        multimodal_checks(together.rotate, sections, inputs.seeds[0]),
    )


def axes(on_grid: Part, in_time: Part, in_one_space: Part) -> Measurement:
    """Claim C11 from its three parts."""
    parts = (on_grid, in_time, in_one_space)
    checks = [check for part in parts for check in part[0]]
    holding = sum(check.holds for check in checks)
    return Measurement(
        checks=checks,
        key_figure=f"{holding} of {len(checks)} checks on grid, time and one space hold",
        meaning={
            Verdict.REPRODUCED: "All three needs are real, and each has an encoding that meets it. Counted in one row, a "
            "cell's neighbour below is as far away as the image is wide; with x and y it is as near as the one beside it. A "
            "timestamp holds what no count of samples can, the hour and the day, however irregular the sampling. And text, "
            "image and video share one space of (time, height, width): text has the same number on every axis, for which the "
            "encoding is plain RoPE, so a text model loses nothing by it.",
        },
        inputs="a grid of 4 by 7; 400 irregular timestamps of 2023 and 2024; a row of text, an image of 3 by 5, text, a video "
        "of 2 by 2 by 3, and text",
        tables=[part[1] for part in parts],
        figures=[part[2] for part in parts],
    )


_HEIGHT, _WIDTH, _DIM = 4, 7, 64


def grid_checks(
    encode: Callable[[Tensor], Tensor], rotate: Callable[[Tensor, Tensor], Tensor], seed: int
) -> tuple[list[Check], Table, Figure]:
    """The part of C11 on images.

    Args:
        encode: positions [T, 2] to vectors [T, 64].
        rotate: x [1, 1, T, 64] and positions [T, 2] to x turned.
        seed: of the query and the key.
    """
    cells = indices.grid(_HEIGHT, _WIDTH)
    vectors = encode(cells)
    products = vectors @ vectors.T
    counted = Sinusoidal(_DIM).encode(indices.consecutive(len(cells)), dtype=torch.float64)
    row = counted @ counted.T
    # the trap of a grid that is not square: 28 cells also make 7 by 4
    exchanged = encode(indices.grid(_WIDTH, _HEIGHT))

    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(2, 1, 1, 1, _DIM, generator=generator, dtype=torch.float64)
    turned = [rotate(x.expand(1, 1, len(cells), _DIM), cells)[0, 0] for x in (query, key)]
    scores = turned[0] @ turned[1].T

    below, beside = products[0, _WIDTH], products[0, 1]
    row_below, row_beside = row[0, _WIDTH], row[0, 1]
    checks = [
        Check.at_most(
            "spread of the product at one offset (rows, columns), sinusoids of y and x", _spread(products, cells), 1e-9
        ),
        Check.at_most("spread of the score at one offset, axial RoPE", _spread(scores, cells), 1e-9),
        Check.at_least("distance of the nearest two of 28 cells", float(_nearest(vectors)), 0.1),
        Check.near("product with the cell below over that with the cell beside", float(below / beside), 1.0, 1e-9),
        Check.at_most(
            "the same for one running number, which puts the cell below 7 away",
            float(row_below / row_beside),
            0.9,
            role=Role.CONTROL,
        ),
        Check.at_least(
            "difference if height and width are exchanged", float((vectors - exchanged).abs().max()), 0.1, role=Role.CONTROL
        ),
    ]
    table = Table(
        "Product with the vector of the first cell, 1 for the cell itself",
        ("encoding", "cell beside, (0, 1)", "cell below, (1, 0)", "end of the row, (0, 6)", "far corner, (3, 6)"),
        [
            (name, *(float(matrix[0, cell] / matrix[0, 0]) for cell in (1, _WIDTH, _WIDTH - 1, len(cells) - 1)))
            for name, matrix in (("of y and x", products), ("of one running number", row))
        ],
    )
    return checks, table, _picture(products, row)


def _spread(matrix: Tensor, cells: Tensor) -> float:
    """The widest range of values among pairs of cells with the same offset."""
    offsets = cells[:, None] - cells
    by_offset: dict[tuple[int, int], list[float]] = {}
    for offset, value in zip(offsets.flatten(0, 1).tolist(), matrix.flatten().tolist(), strict=True):
        by_offset.setdefault((offset[0], offset[1]), []).append(value)
    return max(max(values) - min(values) for values in by_offset.values())


def _nearest(vectors: Tensor) -> Tensor:
    apart = torch.cdist(vectors, vectors)
    return (apart + torch.diag(torch.full((len(vectors),), torch.inf, dtype=apart.dtype))).min()


def _picture(products: Tensor, row: Tensor) -> Figure:
    middle = _WIDTH + 3  # the cell in row 1, column 3
    with canvas(2, height=2.9) as (figure, axes):
        for one, matrix, title in zip(axes, (products, row), ("x and y", "One running number"), strict=True):
            values = (matrix[middle] / matrix[middle, middle]).reshape(_HEIGHT, _WIDTH).numpy()
            heat_map(one, values, label="product with the cell in row 1, column 3", lower=0.3, upper=1)
            one.set(title=title, xlabel="column (patches)", xticks=range(_WIDTH), yticks=range(_HEIGHT))
        axes[0].set_ylabel("row (patches)")
    return Figure(
        "grid",
        to_svg(figure),
        caption="How near each cell of a 4 by 7 grid is to the cell in row 1, column 3: with sinusoids of y and x, and with "
        "sinusoids of one running number.",
        alt="Two heat maps of 4 by 7. Left, values fall off alike in all four directions from the bright cell. Right, only the "
        "cells in the same row are bright; the cell below looks as far away as one seven to the side.",
    )


_START, _SAMPLES = datetime(2023, 12, 25, 3, 30, tzinfo=UTC), 400


def time_checks(encode: Callable[[Tensor], Tensor]) -> tuple[list[Check], Table, Figure]:
    """The part of C11 on time series.

    Args:
        encode: timestamps [T], seconds since 1970, to vectors [T, 4]: sine and cosine of the hour, of the day of the week.
    """
    moments = _irregular()
    vectors = encode(unix_seconds(moments))
    by_calendar = torch.tensor([_by_calendar(moment) for moment in moments], dtype=torch.float64)
    off = float((vectors - by_calendar).abs().max())

    noon = datetime(2024, 2, 28, 12, tzinfo=UTC)
    days = encode(unix_seconds([noon, noon + timedelta(days=1), noon + timedelta(days=2), noon + timedelta(days=7)]))
    same_hour = float((days[:, :2] - days[0, :2]).abs().max())
    same_week = float((days[3] - days[0]).abs().max())
    opposite = encode(unix_seconds([noon, noon + timedelta(hours=12)]))
    # what a count of samples knows: the same for regular and for irregular sampling
    counted = Sinusoidal(4).encode(torch.arange(_SAMPLES), dtype=torch.float64)

    checks = [
        Check.at_most("largest difference from the calendar over 400 irregular timestamps", off, 1e-9),
        Check.at_most("difference of noon on four days, channels of the hour", same_hour, 1e-9),
        Check.at_most("difference of one noon and the same weekday's a week later, over a leap day", same_week, 1e-9),
        Check.near(
            "distance of noon and midnight, channels of the hour", float((opposite[0] - opposite[1])[:2].norm()), 2.0, 1e-9
        ),
        Check.at_least(
            "difference from the calendar if samples are counted instead",
            float((counted - by_calendar).abs().max()),
            0.5,
            role=Role.CONTROL,
        ),
    ]
    table = Table(
        "Moments as they are encoded",
        ("moment, UTC", "sin hour", "cos hour", "sin weekday", "cos weekday"),
        [
            (f"{moment:%a %Y-%m-%d %H:%M}", *vector)
            for moment, vector in zip(moments[:120:24], vectors[:120:24].tolist(), strict=True)
        ],
    )
    return checks, table, _picture_time(moments, vectors)


def _irregular() -> list[datetime]:
    """Timestamps whose gaps go from minutes to most of a day."""
    moments, moment = [], _START
    for sample in range(_SAMPLES):
        moments.append(moment)
        moment += timedelta(minutes=7 + (sample * sample * 37) % 1000)
    return moments


def _by_calendar(moment: datetime) -> tuple[float, float, float, float]:
    """Sine and cosine of the hour and of the weekday, from Python's own calendar."""
    hour = (moment.hour + moment.minute / 60 + moment.second / 3600) / 24
    week = (moment.weekday() + hour) / 7
    turns = (2 * math.pi * hour, 2 * math.pi * week)
    return math.sin(turns[0]), math.cos(turns[0]), math.sin(turns[1]), math.cos(turns[1])


def _picture_time(moments: list[datetime], vectors: Tensor) -> Figure:
    plotted = slice(0, 44)
    days = np.array([(moment - _START.replace(hour=0, minute=0)) / timedelta(days=1) for moment in moments])[plotted]
    first = int(days[0])
    with canvas(rows=2, height=3.6) as (figure, axes):
        fine = np.linspace(0, days[-1], 1500)
        for one, channel, period, series, name in (
            (axes[0], 1, 1.0, SERIES[0], "cosine of the hour"),
            (axes[1], 3, 7.0, SERIES[1], "cosine of the weekday"),
        ):
            start = _START.weekday() if period == 7 else 0.0
            one.plot(fine, np.cos(2 * np.pi * (fine + start) / period), color="#c6c9ce", linewidth=1.0, label="the calendar")
            one.plot(
                days,
                vectors[plotted, channel].numpy(),
                linestyle="none",
                marker=series["marker"],
                markersize=4.5,
                color=series["color"],
                label="samples",
            )
            one.set(ylabel=name, ylim=(-1.2, 1.9 if period == 1 else 1.2), xlim=(first - 0.2, days[-1] + 0.2))
            one.set_xticks(range(0, int(days[-1]) + 1, 2))
        axes[0].set(title="Irregular timestamps, seasons of the calendar")
        axes[1].set(xlabel="days since Monday, 25 December 2023, 0:00 UTC")
        axes[0].legend(loc="upper right", ncols=2)
        axes[0].set_yticks([-1, 0, 1])
        axes[1].set_yticks([-1, 0, 1])
    return Figure(
        "time",
        to_svg(figure),
        caption="Samples at irregular moments and two of their channels: each lies on the calendar's own wave, whatever the "
        "gap before it.",
        alt="Two panels over some two weeks: dots at uneven distances lie on a wave with a period of one day, and on one with "
        "a period of seven days.",
    )


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
        _described(positions),
    )
    return checks, table, _picture_multimodal(positions)


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


def _described(positions: Tensor) -> list[tuple[str, int, str, str]]:
    rows, begin = [], 0
    for part in _PARTS:
        count = part if isinstance(part, int) else int(np.prod(part))
        name = "text" if isinstance(part, int) else ("image of 3 by 5" if part[0] == 1 else "video, 2 frames of 2 by 3")
        first, last = (str(tuple(positions[place].tolist())) for place in (begin, begin + count - 1))
        rows.append((name, count, first, last))
        begin += count
    return rows


def _picture_multimodal(positions: Tensor) -> Figure:
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
    return Figure(
        "one-space",
        to_svg(figure),
        caption="The three numbers of each token's position. They agree for text and part ways inside image and video, and "
        "what follows goes on one past the highest.",
        alt="Three kinds of dots over 36 tokens: they coincide on rising lines where there is text; inside the image time "
        "stays level while height climbs in steps and width runs up and down; inside the video all three differ.",
    )
