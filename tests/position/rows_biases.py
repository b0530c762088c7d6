"""Rows of the biases on the distance, on the distance and the query's position, and on the offset between patches."""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.position import FIRE, ALiBi, ContinuousWindowBias2D, Kerple, Sandwich, T5Bias, WindowBias2D
from tests.position.members import HEADS, Member


def image(steps: Tensor) -> Tensor:
    """A patch of an image 20 patches wide; a shift by 100 steps is one by 5 rows."""
    return torch.stack((steps // 20, steps % 20), dim=-1)


WINDOW_ENDS = {"far": "a window has no patch 200,000"}

ROWS = [
    Member("alibi-learned", lambda: ALiBi(HEADS, learned=True), "biases"),
    Member("t5", lambda: T5Bias(HEADS), "biases"),
    Member("t5-decoder", lambda: T5Bias(HEADS, num_buckets=8, max_distance=20, bidirectional=False), "biases"),
    Member("kerple-log", lambda: Kerple(HEADS), "biases"),
    Member("kerple-power", lambda: Kerple(HEADS, kernel="power"), "biases"),
    Member("sandwich", lambda: Sandwich(HEADS, dim=32, base=1000.0), "biases"),
    # within its threshold FIRE is a bias on the distance; past it the query's own position counts
    Member("fire", lambda: FIRE(HEADS), "biases"),
    Member("fire-past-threshold", lambda: FIRE(HEADS, hidden_dim=8, initial_threshold=6.0), "biases", shift_invariant=False),
    Member(
        "window-class", lambda: WindowBias2D(HEADS, (12, 20), class_token=True), "biases", exempt=WINDOW_ENDS, positions=image
    ),
    Member(
        "window-continuous",
        lambda: ContinuousWindowBias2D(HEADS, (12, 20), trained_window=(8, 8), hidden_dim=16),
        "biases",
        exempt=WINDOW_ENDS,
        positions=image,
    ),
]
