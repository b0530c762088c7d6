"""A2 comes out as published, and other encodings change the verdict."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from ordinate.articles.a.a2_sinusoid_picture import measure, sinusoid_picture
from ordinate.lab.claim import Inputs
from ordinate.lab.measurement import Verdict, judge


def ladder(positions: Tensor, base: float = 10000.0, width: int = 64) -> Tensor:
    frequencies = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = positions.double()[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def noise(positions: Tensor) -> Tensor:
    return torch.randn(len(positions), 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_the_papers_encoding_reproduces_the_article() -> None:
    measured = measure(Inputs())
    assert judge(measured.checks)[0] is Verdict.REPRODUCED
    written_out = sinusoid_picture(ladder)
    assert [check.value for check in measured.checks] == [check.value for check in written_out.checks]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    "encode",
    [
        lambda positions: ladder(positions).flip(-1),
        lambda positions: ladder(positions)[:, torch.randperm(64, generator=torch.Generator().manual_seed(1))],
        lambda positions: ladder(positions, base=100.0),
        lambda positions: torch.cat([ladder(positions)[:, 0::2], ladder(positions)[:, 1::2]], dim=1),
        noise,
    ],
    ids=["channels reversed", "channels shuffled", "another base", "halves instead of pairs", "random numbers"],
)
def test_other_tables_refute_it(encode: Callable[[Tensor], Tensor]) -> None:
    assert judge(sinusoid_picture(encode).checks)[0] is Verdict.REFUTED
