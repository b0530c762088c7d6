"""A4 comes out as published, and other encodings or matrices change the verdict."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ordinate.articles.a.a4_linear_shift import block_rotation, linear_shift, measure
from ordinate.lab.claim import Inputs
from ordinate.lab.measurement import Animation, Role, Verdict, judge
from ordinate.position import Sinusoidal

SEEDS = range(5)


def paper(positions: Tensor) -> Tensor:
    return Sinusoidal(64).encode(positions, dtype=torch.float64)


def test_the_papers_encoding_reproduces_the_article() -> None:
    assert judge(measure(Inputs(tuple(range(25)))).checks)[0] is Verdict.REPRODUCED


def test_the_closed_form_is_orthogonal_and_shifts_add_up() -> None:
    np.testing.assert_allclose(block_rotation(7) @ block_rotation(7).T, np.eye(64), atol=1e-14)
    np.testing.assert_allclose(block_rotation(3) @ block_rotation(4), block_rotation(7), atol=1e-14)


def test_a_rotation_the_wrong_way_refutes_it() -> None:
    measured = linear_shift(paper, lambda shift: block_rotation(-shift), SEEDS)
    assert judge(measured.checks)[0] is Verdict.REFUTED


def test_a_table_that_no_shift_carries_refutes_it() -> None:
    noise = torch.randn(11_000, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    measured = linear_shift(lambda positions: noise[positions], block_rotation, SEEDS)
    assert judge(measured.checks)[0] is Verdict.REFUTED


def test_frequencies_that_depend_on_the_position_refute_it() -> None:
    measured = linear_shift(lambda positions: paper(positions.double() ** 1.1), block_rotation, SEEDS)
    assert judge(measured.checks)[0] is Verdict.REFUTED


def test_float32_sinusoids_miss_the_articles_range() -> None:
    measured = linear_shift(lambda positions: Sinusoidal(64).encode(positions).double(), block_rotation, SEEDS)
    assert judge(measured.checks)[0] is Verdict.REFUTED


def test_sixty_positions_in_a_row_are_told_as_the_limit() -> None:
    limits = [check for check in linear_shift(paper, block_rotation, SEEDS).checks if check.role is Role.LIMIT]
    assert limits
    assert all(check.holds for check in limits)


def test_the_animation_shows_predictions_on_held_out_positions() -> None:
    measured = linear_shift(paper, block_rotation, SEEDS)
    (animation,) = [figure for figure in measured.figures if isinstance(figure, Animation)]
    data = animation.data
    assert data["ahead"] == 7
    assert len(data["frames"]) == len(data["errors"]) == 40
    assert len(data["channels"]) == 4
    truth = paper(torch.arange(107)).numpy()
    for channel, number in zip(data["channels"], (0, 8, 16, 24), strict=True):
        np.testing.assert_allclose(channel["truth"], truth[:, number], atol=1e-5)
        np.testing.assert_allclose(channel["predicted"], truth[np.array(data["frames"]) + 7, number], atol=1e-5)
