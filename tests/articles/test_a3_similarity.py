"""A3 comes out as published, and other encodings change the verdict."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from ordinate.articles.a.a3_similarity import measure, similarity
from ordinate.lab.claim import Inputs
from ordinate.lab.measurement import Role, Verdict, judge
from ordinate.position import Sinusoidal

NOISE = torch.randn(80, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def paper(width: int, positions: Tensor) -> Tensor:
    return Sinusoidal(width).encode(positions, dtype=torch.float64)


def test_the_papers_encoding_reproduces_the_article() -> None:
    assert judge(measure(Inputs()).checks)[0] is Verdict.REPRODUCED


def test_the_mean_is_the_closed_form() -> None:
    measured = {check.name: check.value for check in measure(Inputs()).checks if check.role is Role.AS_STATED}
    frequencies = 10000.0 ** (-torch.arange(0, 64, 2, dtype=torch.float64) / 64)
    for distance in (1, 5, 10, 20, 40, 79):
        expected = (frequencies * distance).cos().mean().item()
        assert measured[f"mean cosine at distance {distance}"] == pytest.approx(expected, abs=1e-12)


def shuffled(width: int, positions: Tensor) -> Tensor:
    return paper(width, positions)[torch.randperm(len(positions), generator=torch.Generator().manual_seed(1))]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    "encode",
    [
        shuffled,
        lambda width, positions: paper(2 * width, positions)[:, :width],
        lambda width, positions: Sinusoidal(width, base=9000.0).encode(positions, dtype=torch.float64),
        lambda width, positions: paper(width, positions + 0.01 * torch.sin(positions.double())),
        lambda width, positions: Sinusoidal(width).encode(positions).half().double(),
    ],
    ids=["rows shuffled", "twice as wide and cut", "another base", "uneven steps", "half precision"],
)
def test_other_tables_refute_it(encode: Callable[[int, Tensor], Tensor]) -> None:
    assert judge(similarity(encode, NOISE).checks)[0] is Verdict.REFUTED


def test_a_control_that_depends_on_the_distance_alone_takes_its_word_away() -> None:
    assert judge(similarity(paper, paper(64, torch.arange(80))).checks)[0] is Verdict.NOT_TESTABLE
