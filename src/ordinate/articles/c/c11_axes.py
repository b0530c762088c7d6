"""C11. The article: images need x and y, time series timestamps and seasons, and text, image and video share one space.

What varies is what a position is. Each of the three has its own file; this one joins their checks, tables and figures. The grid
is not square, so that height and width cannot be exchanged unnoticed.
"""

from __future__ import annotations

import torch

from ordinate.articles.c.c11_grid import grid_checks
from ordinate.articles.c.c11_multimodal import multimodal_checks
from ordinate.articles.c.c11_time import time_checks
from ordinate.lab.claim import Inputs
from ordinate.lab.measurement import Check, Figure, Measurement, Table, Verdict
from ordinate.position import AxialRotary, MultimodalRotary, SinusoidalGrid, TimeEncoding

__all__ = ["axes", "measure"]

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
    held = sum(check.holds for check in checks)
    return Measurement(
        checks=checks,
        key_figure=f"{held} of {len(checks)} checks on grid, time and one space hold",
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
