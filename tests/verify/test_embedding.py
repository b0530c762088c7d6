"""Embeddings: which sinusoid it is, and that a vector is that of its position."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentError, UnknownNameError
from ordinate.position import LearnedTable, Sinusoidal
from ordinate.verify import check_embedding
from ordinate.verify.properties import shared


@pytest.mark.parametrize(("layout", "schedule"), [("interleaved", "vaswani"), ("half", "tensor2tensor"), ("half", "vaswani")])
def test_the_arrangement_is_found(layout, schedule):
    verdict = check_embedding(Sinusoidal(64, layout=layout, schedule=schedule))
    assert verdict.passed, verdict
    assert (verdict.identified["layout"], verdict.identified["schedule"]) == (layout, schedule)


def test_a_learned_table_is_held_to_the_laws_alone():
    assert check_embedding(LearnedTable(512, 64), rule=None, positions=512).passed


def test_batch_and_time_confused_are_seen():
    class Slip(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + Sinusoidal(64).encode(torch.arange(x.shape[0]))[:, None].to(x.dtype)

    verdict = check_embedding(Slip(), order="BTD")
    assert verdict.causes[0].id == "rows-for-tokens"
    assert check_embedding(Slip(), order="TBD").passed


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(UnknownNameError, match="layout"):
        check_embedding(Sinusoidal(64), layout="neox")
    with pytest.raises(ArgumentError, match="order"):
        check_embedding(Sinusoidal(64), order="DBT")


def test_an_embedding_that_compiles_anew_for_every_length_is_seen(monkeypatch):
    monkeypatch.setattr(shared, "COMPILE_SECONDS", 120.0)  # a busy machine is no fault

    def listed(length: int) -> torch.Tensor:
        positions = torch.tensor([float(position) for position in range(length)]).unsqueeze(-1)
        return torch.stack(
            [operation(positions * 10000.0 ** (-torch.arange(0, 64, 2) / 64)) for operation in (torch.sin, torch.cos)], -1
        ).flatten(-2)

    failed = check_embedding(listed, only=["published-rule", "compile"]).failed
    assert [outcome.id for outcome in failed] == ["compile"]
    assert "recompiles" in failed[0].evidence
