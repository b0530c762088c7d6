"""Extending a trained rotary model: which scalings, at which rate, and the warning about beta_fast."""

from __future__ import annotations

import pytest
import torch

from ordinate.frequencies import DynamicNTK, Linear, NTKAware, YaRN
from ordinate.position import NoPosition, Rotary
from ordinate.sweep import extension
from ordinate.sweep.beta_fast import beta_fast_warning, fitting_beta_fast
from ordinate.sweep.cell import Cell
from ordinate.sweep.extension import extend, scalings
from ordinate.sweep.tasks import make_task
from ordinate.sweep.training import train


def test_the_scalings_are_those_of_the_papers_for_the_factor() -> None:
    assert scalings(8.0, 64) == {
        "none": None,
        "interpolation": Linear(8.0),
        "NTK": NTKAware(8.0),
        "dynamic NTK": DynamicNTK(2.0, 64),
        "YaRN": YaRN(8.0, 64),
        "YaRN, beta_fast 4": YaRN(8.0, 64, beta_fast=4.0),
    }


def test_a_beta_fast_that_no_pair_reaches_is_warned_of_and_then_every_pair_is_interpolated() -> None:
    for context in (64, 128, 1024, 4096):
        untouched = Rotary(64, layout="half").inverse_frequencies()
        for beta_fast in (32.0, fitting_beta_fast(context)):
            yarn = YaRN(4.0, context, beta_fast=beta_fast, truncate=False)
            kept = bool(torch.isclose(Rotary(64, layout="half", scaling=yarn).inverse_frequencies()[1], untouched[1]))
            turns = context / (2 * torch.pi)
            assert (beta_fast_warning(yarn) is None) is (beta_fast <= turns)
            if beta_fast > turns:
                assert not kept
    assert beta_fast_warning(YaRN(4.0, 64, beta_fast=fitting_beta_fast(64))) is None


def test_a_stretched_model_leaves_the_trained_one_alone_and_learns_when_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell("k-back", "rope", 0, study="extension", train_length=16, test_lengths=(16, 32), dim=32, heads=1, steps=120)
    task = make_task("k-back", 16, 32)
    trained = train(cell, task, 3e-3)
    monkeypatch.setattr(extension, "FINE_TUNED_SHARE", 0.5)
    monkeypatch.setattr(extension, "scalings", lambda factor, context: {"none": None, "interpolation": Linear(factor)})
    before = [p.clone() for p in trained.model.parameters()]
    found = extend(trained, cell, task)
    assert all(torch.equal(a, b) for a, b in zip(before, trained.model.parameters(), strict=True))
    assert found["at_train_length"] > 0.9
    assert found["truncated"]["32"] > 0.9  # two places back are within the cut context
    stretched = found["extended"]["32"]
    assert stretched["interpolation"]["zero_shot"] < 0.5  # every distance looks half as far
    gained = [one["fine_tuned"] - one["zero_shot"] for one in stretched.values()]
    assert max(gained) > 0.1


def test_a_dropped_rotation_is_gone_and_training_on_at_the_trained_length_recovers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cell = Cell("flip-flop", "rope", 0, study="extension", train_length=16, test_lengths=(16, 32), dim=32, heads=2, steps=100)
    task = make_task("flip-flop", 16, 32)
    trained = train(cell, task, 3e-3)
    monkeypatch.setattr(extension, "FINE_TUNED_SHARE", 0.6)
    monkeypatch.setattr(extension, "scalings", lambda factor, context: {"none": None})
    lengths = []
    real = extension.fit
    monkeypatch.setattr(extension, "fit", lambda *a, **s: lengths.append(s["length"]) or real(*a, **s))
    found = extend(trained, cell, task)
    dropped = found["extended"]["32"]["dropped"]
    assert set(dropped) == {"zero_shot", "fine_tuned"}
    assert lengths == [16, 32]  # dropping trains on at the trained length, a scaling at the longer one
    assert found["dropped_at_train_length"] > dropped["zero_shot"]
    assert all(type(one) is not NoPosition for one in trained.model.encodings)
