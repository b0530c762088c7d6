"""Rows of the encodings over several axes, over real time, and of the two rotations that treat queries and keys apart."""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.position import (
    AxialRotary,
    LearnedGrid,
    MixedRotary,
    MultimodalRotary,
    PoPE,
    SinusoidalGrid,
    Time2Vec,
    TimeEncoding,
    XPos,
)
from tests.position.members import HEAD_DIM, HEADS, Member


def image(steps: Tensor) -> Tensor:
    """A token of an image 20 patches wide; a shift by 100 steps is one by 5 rows."""
    return torch.stack((steps // 20, steps % 20), dim=-1)


def video(steps: Tensor) -> Tensor:
    """A token of frames of 4 by 5 patches."""
    return torch.stack((steps // 20, steps // 5 % 4, steps % 5), dim=-1)


def scattered(steps: Tensor) -> Tensor:
    """Time that rises with every token, height and width that wander; a shift by 100 steps shifts all three alike."""
    return torch.stack((steps, steps + steps % 4, steps + steps % 5), dim=-1)


def hourly(steps: Tensor) -> Tensor:
    """Timestamps one hour apart, from November 2025 on."""
    return 1_764_000_000 + 3600 * steps


def multimodal(**settings: object) -> MultimodalRotary:
    return MultimodalRotary(HEAD_DIM, **settings)  # type: ignore[arg-type]


XPOS = {"far": "factors leave the range of the dtype at `reach` positions from the centre, and an error says so"}

ROWS = [
    Member("sinusoidal-grid", lambda: SinusoidalGrid(HEAD_DIM), "adds", shift_invariant=False, positions=image),
    Member("learned-grid", lambda: LearnedGrid((16, 20), HEAD_DIM), "adds", shift_invariant=False, positions=image),
    Member(
        "time",
        lambda: TimeEncoding(HEAD_DIM, seasons=["hour_of_day", "day_of_year"]),
        "adds",
        shift_invariant=False,
        positions=hourly,
    ),
    Member("time2vec", lambda: Time2Vec(HEAD_DIM, origin=1.764e9), "adds", shift_invariant=False, positions=hourly),
    Member("axial-half", lambda: AxialRotary(HEAD_DIM, layout="half"), "rotates", positions=image),
    Member(
        "axial-dinov3",
        lambda: AxialRotary.named("dinov3", HEAD_DIM),
        "rotates",
        positions=lambda steps: image(steps).double() / 16 - 1,
    ),
    Member(
        "axial-video",
        lambda: AxialRotary(HEAD_DIM, layout="interleaved", axes=3, sections=(3, 2, 2)),
        "rotates",
        positions=video,
    ),
    Member("mixed", lambda: MixedRotary(HEAD_DIM, HEADS), "rotates", positions=image),
    Member("multimodal", lambda: multimodal(layout="half", sections=(2, 3, 3)), "rotates", positions=scattered),
    Member(
        "multimodal-interleaved",
        lambda: multimodal(layout="interleaved", sections=(2, 2, 2), arrangement="interleaved", rotary_dim=12),
        "rotates",
        positions=scattered,
    ),
    Member("xpos", lambda: XPos(HEAD_DIM, layout="interleaved"), "rotates", exempt=XPOS),
    Member("xpos-half", lambda: XPos(HEAD_DIM, layout="half", rotary_dim=8, centre=64), "rotates", exempt=XPOS),
    Member("pope", lambda: PoPE(HEAD_DIM, HEADS, phase_init="uniform"), "rotates"),
]
