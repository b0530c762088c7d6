"""Wirings: two different signals a gate, each kind with its own promise."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.errors import ArgumentError, ArgumentTypeError, UnknownNameError
from ordinate.logic.network.wiring import (
    WIRINGS,
    LearnedWiring,
    given_wiring,
    local_wiring,
    make_wiring,
    random_wiring,
    unique_wiring,
)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(WIRINGS)), st.integers(2, 40), st.integers(1, 60), st.integers(0, 5))
def test_every_gate_reads_two_different_signals_that_are_there(name: str, inputs: int, gates: int, seed: int) -> None:
    gates = min(gates, inputs * (inputs - 1) // 2)
    wiring = make_wiring(name, inputs, gates, seed)
    assert wiring.shape == (2, gates)
    assert wiring.dtype == torch.int64
    assert (wiring[0] != wiring[1]).all()
    assert 0 <= int(wiring.min()) <= int(wiring.max()) < inputs


@settings(max_examples=20, deadline=None)
@given(st.integers(4, 40), st.integers(0, 5))
def test_random_wiring_reads_every_signal_about_equally_often(inputs: int, seed: int) -> None:
    counts = torch.bincount(random_wiring(inputs, 3 * inputs, seed).flatten(), minlength=inputs)
    assert counts.tolist() == [6] * inputs


def test_unique_wiring_takes_all_pairs_before_any_twice_and_refuses_more() -> None:
    pairs = unique_wiring(7, 21, seed=3).sort(0).values
    assert sorted(map(tuple, pairs.T.tolist())) == [(a, b) for a in range(7) for b in range(a + 1, 7)]
    with pytest.raises(ArgumentError, match="at most 21, the pairs of 7 inputs, got 22"):
        unique_wiring(7, 22)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 3), st.integers(2, 9), st.integers(2, 9), st.integers(1, 3))
def test_local_wiring_stays_near(channels: int, height: int, width: int, radius: int) -> None:
    wiring = local_wiring((channels, height, width), 80, radius, seed=1)
    assert (wiring[0] != wiring[1]).all()
    rows, columns = wiring // width % height, wiring % width
    assert int((rows[0] - rows[1]).abs().max()) <= 2 * radius
    assert int((columns[0] - columns[1]).abs().max()) <= 2 * radius
    assert int(wiring.max()) < channels * height * width


def test_the_seed_alone_decides() -> None:
    assert torch.equal(random_wiring(50, 70, 4), random_wiring(50, 70, 4))
    assert not torch.equal(random_wiring(50, 70, 4), random_wiring(50, 70, 5))


@pytest.mark.parametrize(
    ("wiring", "error", "message"),
    [
        (torch.tensor([[0.0], [1.0]]), ArgumentTypeError, "exact only so, got torch.float32"),
        ([[0], [1]], ArgumentTypeError, "an integer tensor.*got list"),
        (torch.tensor([[0, 1, 2]]), ArgumentError, r"shape \(2, 3\), got \(1, 3\)"),
        (torch.tensor([[0, 1, 2], [1, 2, 4]]), ArgumentError, "signals 0 to 3, got 0 to 4"),
        (torch.tensor([[0, 1, 2], [1, 2, -1]]), ArgumentError, "signals 0 to 3, got -1 to 2"),
    ],
)
def test_a_given_wiring_is_checked(wiring: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        given_wiring(wiring, in_features=4, out_features=3)  # type: ignore[arg-type]


def test_sizes_and_names_are_checked() -> None:
    with pytest.raises(ArgumentError, match="in_features: expected an integer of at least 2, got 1"):
        random_wiring(1, 4)
    with pytest.raises(ArgumentError, match="out_features"):
        random_wiring(4, 0)
    with pytest.raises(UnknownNameError, match="one of random, unique, tree, learned, or a tensor, got ring"):
        make_wiring("ring", 4, 4)
    with pytest.raises(ArgumentError, match="radius"):
        local_wiring((1, 4, 4), 3, radius=0)


def test_a_learned_wiring_offers_different_candidates_to_both_inputs() -> None:
    wiring = LearnedWiring(20, 50, candidates=6, seed=2)
    for gate in range(50):
        assert len(set(wiring.candidates[:, gate].flatten().tolist())) == 12
    with pytest.raises(ArgumentError, match="1 to 10, half of the 20 signals"):
        LearnedWiring(20, 5, candidates=11)
