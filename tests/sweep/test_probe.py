"""The probe finds a position where there is one, and nothing where there is none, whatever the rank of what it reads."""

from __future__ import annotations

import pytest
import torch

from ordinate.sweep.probe import held_out_r2, probe_layers
from ordinate.sweep.tasks import make_task
from ordinate.sweep.training import Cell, new_model


def test_it_finds_a_position_that_is_in_the_features_and_no_other() -> None:
    generator = torch.Generator().manual_seed(0)
    mixing = torch.randn(2, 8, generator=generator)
    target = torch.arange(64.0).repeat(40)
    noise = torch.randn(2560, generator=generator)
    features = torch.stack((target, noise), 1) @ mixing
    assert held_out_r2(features, target, features.flip(0), target.flip(0)) > 0.999
    blind = torch.randn(2560, 8, generator=generator)
    assert abs(held_out_r2(blind, target, torch.randn(2560, 8, generator=generator), target)) < 0.02


def test_features_that_repeat_each_other_do_no_harm() -> None:
    target = torch.arange(32.0).repeat(10)
    features = torch.stack((target, target, 2 * target, torch.ones_like(target)), 1)
    assert held_out_r2(features, target, features, target) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(("causal", "encoding", "low", "high"), [
    (True, "none", 0.01, 1.0), (False, "none", -0.1, 0.01), (False, "sinusoidal", 0.5, 1.0),
])  # fmt: skip
def test_the_mask_leaks_the_position_and_without_it_only_an_encoding_does(
    causal: bool, encoding: str, low: float, high: float
) -> None:
    task = make_task("induction", 64, 64)
    model = new_model(Cell("induction", encoding, 0, test_lengths=(64,)), task, causal=causal).eval()
    found = probe_layers(model, task.rows(60, 64, 0, "validation"), task.rows(40, 64, 0, "test"))
    assert len(found) == 3
    assert low < found[-1] <= high
    if encoding == "none":
        assert abs(found[0]) < 0.02  # tokens alone do not tell their place
