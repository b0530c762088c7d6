"""Growth: what one round finds, what the circuit reaches, that it is the circuit that was scored, and that it resumes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.data import digits
from ordinate.errors import ArgumentError, DataError, ShapeError
from ordinate.logic import Circuit, GrowthSettings, grow
from ordinate.logic.circuit.gates import GENUINE
from ordinate.logic.growth.distortion import distorted
from ordinate.logic.growth.scoring import best_pairs, calibrated, choose, costs_of_removal, revoted
from ordinate.logic.growth.state import GrowthState, SignalBank, packed_signals
from tests.external import needs, required


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 30), st.integers(2, 5), st.integers(1, 3))
def test_the_best_pair_is_the_best_of_all_ten_functions_of_all_pairs(seed: int, classes: int, votes: int) -> None:
    """Every gate built outright, against the one product."""
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 2, (6, 50))
    residuals = generator.normal(size=(classes, 50)).astype(np.float32)
    residuals -= residuals.mean(1, keepdims=True)
    signals = np.arange(6)
    x = torch.from_numpy(bits).float()
    found = best_pairs(signals, signals, x, x, torch.from_numpy(residuals), votes, 4)

    def gain(table: int, a: int, b: int) -> float:
        gate = table >> (2 * bits[a] + bits[b]) & 1
        each = np.abs(residuals @ gate)
        if votes == 1:
            return float(each.max())
        return float(each.sum() if votes > 2 else max(0, *(residuals @ gate)) - min(0, *(residuals @ gate)))

    every = max(gain(table, a, b) for table in GENUINE for a, b in itertools.combinations(range(6), 2))
    best = gain(int(found.tables[0]), int(found.first[0]), int(found.second[0]))
    if votes != 2:
        assert best == pytest.approx(every, rel=1e-4)
    assert best >= 0.5 * every


def problem(seed: int = 0, gates: int = 12, examples: int = 400) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    bits = torch.randint(0, 2, (gates, examples), generator=generator).float()
    labels = (bits[0].long() + bits[1].long()) % 3
    return bits, labels, torch.zeros(3, examples), torch.ones(examples)


def loss_of(scores: torch.Tensor, bias: torch.Tensor, tau: float, labels: torch.Tensor) -> float:
    return float(torch.nn.functional.cross_entropy(((scores + bias.unsqueeze(1)) / tau).T, labels))


def test_calibration_finds_a_minimum() -> None:
    bits, labels, scores, _ = problem()
    scores = scores.index_add(0, torch.tensor([0, 1, 2, 1]), bits[:4]) * 3
    tau, bias, loss = calibrated(scores, labels, 1.0, torch.zeros(3, dtype=torch.float64), 1e-3)
    assert loss == pytest.approx(loss_of(scores.double(), bias, tau, labels), abs=1e-9)
    for other in (0.9 * tau, 1.1 * tau):
        assert loss_of(scores.double(), bias, other, labels) >= loss - 1e-6
    for place in range(3):
        moved = bias.clone()
        moved[place] += 0.3
        assert loss_of(scores.double(), moved, tau, labels) >= loss - 1e-6
    assert calibrated(scores, labels, 1.0, torch.zeros(3, dtype=torch.float64), 50.0)[0] == pytest.approx(50.0)


def test_chosen_gates_lower_the_loss_and_share_no_signal() -> None:
    bits, labels, scores, weights = problem()
    first, second = torch.arange(12), torch.arange(12) + 3  # gate n reads n and n + 3
    places, votes, bias = choose(bits, first, second, scores, labels, weights, 2.0, torch.zeros(3), 2, 6)
    reads = [signal for place in places for signal in (place, place + 3)]
    assert len(reads) == len(set(reads))
    assert {0, 1} <= set(places)
    after = scores.clone()
    for place, vote in zip(places, votes, strict=True):
        assert set(vote.tolist()) <= {-1.0, 0.0, 1.0}
        assert int(vote.abs().sum()) <= 2
        after += vote.unsqueeze(1) * bits[place]
    assert loss_of(after, bias, 2.0, labels) < loss_of(scores, torch.zeros(3), 2.0, labels) - 0.05


def test_looking_at_the_nearest_alone_chooses_nearly_as_well() -> None:
    bits, labels, scores, weights = problem(gates=900, examples=1500)
    first, second = torch.arange(900), torch.arange(900) + 900
    every, near = (
        choose(bits, first, second, scores, labels, weights, 2.0, torch.zeros(3), 2, 40, afresh=afresh) for afresh in (1, 8)
    )
    few = choose(bits[:90], first[:90], second[:90], scores, labels, weights, 2.0, torch.zeros(3), 2, 40, afresh=8)
    assert few[0] == choose(bits[:90], first[:90], second[:90], scores, labels, weights, 2.0, torch.zeros(3), 2, 40)[0]

    def loss(chosen: tuple[list[int], list[torch.Tensor], torch.Tensor]) -> float:
        return loss_of(scores + torch.stack(chosen[1]).T @ bits[chosen[0]], chosen[2], 2.0, labels)

    assert every[0][0] == near[0][0]
    start = loss_of(scores, torch.zeros(3), 2.0, labels)
    assert start - loss(near) > 0.97 * (start - loss(every))


def test_voting_anew_lowers_the_loss_from_any_votes() -> None:
    bits, labels, scores, weights = problem()
    votes = torch.from_numpy(np.random.default_rng(1).integers(-1, 2, (12, 3))).float()
    scores = votes.T @ bits
    zero = torch.zeros(3)
    new, bias = revoted(bits.to(torch.uint8), votes, scores, labels, weights, 3.0, zero, 3, seed=0)
    assert loss_of(new.T @ bits, bias, 3.0, labels) < loss_of(scores, zero, 3.0, labels) - 0.1


def test_the_cost_of_removal_is_what_removal_costs_to_second_order() -> None:
    bits, labels, _, weights = problem()
    votes = torch.from_numpy(np.random.default_rng(2).integers(-1, 2, (12, 3))).float()
    scores, tau, zero = votes.T @ bits, 40.0, torch.zeros(3)
    costs = costs_of_removal(bits.to(torch.uint8), votes, scores, labels, weights, tau, zero)
    for gate in range(12):
        centred = bits[gate] - bits[gate].mean()
        without = scores - votes[gate].unsqueeze(1) * centred
        true = loss_of(without, zero, tau, labels) - loss_of(scores, zero, tau, labels)
        # the cost keeps each class's own curvature and drops the part between classes, so it is from above
        assert true - 2e-5 <= float(costs[gate]) <= true + float(votes[gate].abs().sum() ** 2) / (2 * tau**2)


def test_the_bank_of_signals_is_the_gates_on_every_example() -> None:
    generator = np.random.default_rng(0)
    inputs = generator.integers(0, 2, (77, 5)).astype(bool)
    bank = SignalBank(packed_signals(inputs), len(inputs), capacity=20)
    expected = [inputs[:, n].astype(int) for n in range(5)]
    for table in range(16):
        a, b = generator.integers(0, len(expected), 2)
        bank.add(table, int(a), int(b))
        expected.append(table >> (2 * expected[a] + expected[b]) & 1)
    for signal, bits in enumerate(expected):
        assert np.array_equal(bank.bits(signal), bits)
    rows, examples = np.array([3, 20, 7]), np.array([76, 0, 5, 5, 41])
    assert np.array_equal(bank.sampled(rows, examples), np.array(expected)[rows][:, examples])


def small(**changes) -> GrowthSettings:
    return GrowthSettings(**{"gates": 40, "copies": 2, "replacements": 1, **changes}).quick()


def parts(classes: tuple[int, ...] | None = None):
    data = digits(classes=classes)
    return data, (data.train.images, data.train.labels), (data.validation.images, data.validation.labels)


@pytest.fixture(scope="module")
def grown():
    data, train, validation = parts()
    return data, grow(train, validation, data.threshold, small(gates=120, copies=8))


def test_ten_digits_of_eight_by_eight(grown) -> None:
    data, found = grown
    circuit = found.circuit
    assert circuit.num_gates <= 120
    assert circuit.num_inverters == circuit.num_constants == 0
    assert (circuit.predict(data.test.bits(data.threshold)) == data.test.labels).mean() > 0.9
    assert np.abs(np.concatenate([vote.weights for vote in circuit.votes])).max() == 1
    assert circuit.num_votes <= 3 * circuit.num_gates


def test_the_circuit_is_what_validation_saw(grown) -> None:
    data, found = grown
    bits = data.validation.bits(data.threshold)
    best = min(found.rounds, key=lambda told: told.validation_loss)
    scores = torch.from_numpy(found.circuit.evaluate(bits))
    labels = torch.from_numpy(data.validation.labels)
    assert float(torch.nn.functional.cross_entropy(scores, labels)) == pytest.approx(best.validation_loss, abs=1e-5)
    assert (found.circuit.predict(bits) == data.validation.labels).mean() == pytest.approx(best.validation_accuracy)


def test_a_grown_circuit_takes_images_and_names_its_classes(tmp_path: Path) -> None:
    data, train, validation = parts((7, 3))
    circuit = grow(train, validation, data.threshold, small(gates=6), labels=data.classes).circuit
    circuit.save(tmp_path / "c.json")
    again = Circuit.load(tmp_path / "c.json")
    assert again.labels == (7, 3)
    assert again.inputs is not None
    images = data.test.images.reshape(len(data.test), -1)
    assert np.array_equal(again.predict(again.inputs.bits(images)), circuit.predict(data.test.bits(data.threshold)))


def test_no_signal_is_read_twice_in_a_round() -> None:
    data, train, validation = parts((0, 1))
    circuit = grow(train, validation, data.threshold, small(gates=10, step=10, replacements=0)).circuit
    reads = np.concatenate((circuit.inputs_a, circuit.inputs_b))
    assert len(reads) == len(set(reads.tolist()))
    assert circuit.num_votes == circuit.num_gates  # between two classes one vote says all


def test_the_same_seed_grows_the_same_circuit_and_another_does_not() -> None:
    data, train, validation = parts((3, 8))

    def wiring(seed: int) -> list[int]:
        return grow(train, validation, data.threshold, small(gates=8, seed=seed)).circuit.inputs_a.tolist()

    assert wiring(1) == wiring(1)
    assert wiring(1) != wiring(2)


@pytest.mark.parametrize("stopped_at", [2, 5, 6])
def test_growth_that_was_interrupted_ends_in_the_same_circuit(stopped_at: int, tmp_path: Path) -> None:
    data, train, validation = parts((3, 5, 8))
    settings_ = small(gates=24, step=6, copies=1, replacements=1)
    whole = grow(train, validation, data.threshold, settings_)
    place, calls = tmp_path / "growth.json", itertools.count(1)

    def interrupt(_: object) -> None:
        if next(calls) == stopped_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grow(train, validation, data.threshold, settings_, checkpoint=place, on_round=interrupt)
    resumed = grow(train, validation, data.threshold, settings_, checkpoint=place)
    assert len(whole.rounds) > stopped_at
    for name in ("tables", "inputs_a", "inputs_b", "bias"):
        assert np.array_equal(getattr(resumed.circuit, name), getattr(whole.circuit, name))
    assert resumed.circuit.tau == whole.circuit.tau
    assert [told.validation_loss for told in resumed.rounds] == [told.validation_loss for told in whole.rounds]
    assert list(tmp_path.iterdir()) == [place]


def test_a_checkpoint_of_other_settings_or_images_is_refused(tmp_path: Path) -> None:
    data, train, validation = parts((3, 8))
    place = tmp_path / "growth.json"
    grow(train, validation, data.threshold, small(gates=4), checkpoint=place)
    with pytest.raises(DataError, match="a checkpoint of the same settings"):
        grow(train, validation, data.threshold, small(gates=5), checkpoint=place)
    with pytest.raises(DataError, match="a checkpoint of the same images"):
        grow(train, validation, data.threshold + 2, small(gates=4), checkpoint=place)
    place.write_text(json.dumps({"schema": "other"}))
    with pytest.raises(DataError, match="a checkpoint of growth, got a file that is none"):
        grow(train, validation, data.threshold, small(gates=4), checkpoint=place)


def test_a_state_that_is_cut_and_restored_is_the_same_to_the_bit() -> None:
    generator = np.random.default_rng(3)
    inputs, labels = generator.integers(0, 2, (90, 6)).astype(bool), generator.integers(0, 3, 90)
    state = GrowthState((inputs, labels), (inputs[:40], labels[:40]), 3, capacity=8, least_tau=1.0)
    for _ in range(8):
        a, b = generator.choice(state.num_signals, 2, replace=False)
        state.add(int(generator.choice(GENUINE)), int(a), int(b), generator.integers(-1, 2, 3).astype(np.int8))
    before, scores = state.snapshot(), state.train.scores.copy()
    free = np.flatnonzero(~state.read_by_others())
    state.remove(free[:2].tolist())
    assert len(state.gates) == 6
    assert not np.array_equal(state.train.scores, scores)
    circuit = state.to_circuit(None, (0, 1, 2), {})
    assert np.array_equal(circuit.count(inputs), state.train.scores.T)
    state.restore(before)
    assert np.array_equal(state.train.scores, scores)
    assert state.gates == before.gates


def test_distorted_images_stay_near_and_their_seed_decides() -> None:
    images = digits().train.images[:50]
    once, again, other = distorted(images, 1), distorted(images, 1), distorted(images, 2)
    assert np.array_equal(once, again)
    assert not np.array_equal(once, other)
    assert np.array_equal(distorted(images, 1, strength=0.0), images)
    correlation = [np.corrcoef(a.ravel(), b.ravel())[0, 1] for a, b in zip(images, once, strict=True)]
    assert 0.6 < np.mean(correlation) < 0.99
    with pytest.raises(ArgumentError, match=r"\[N, height, width\]"):
        distorted(images.reshape(50, -1), 0)


X = np.zeros((20, 4, 4), np.uint8)
Y = np.arange(20) % 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: grow((X, Y[:19]), (X, Y), 95, small()), ArgumentError, "train: expected a label for each image"),
        (lambda: grow((X, Y), (X[:0], Y[:0]), 95, small()), ArgumentError, "validation: expected a label for each image"),
        (lambda: grow((X, Y * 0), (X, Y * 0), 95, small()), ArgumentError, "at least two classes, got one"),
        (lambda: grow((X, Y * 2), (X, Y), 95, small()), ArgumentError, "images of every class, got none of class 1"),
        (lambda: grow((X, Y - 1), (X, Y), 95, small()), ArgumentError, "labels from 0 on, got -1"),
        (lambda: grow((X, Y), (X, Y + 1), 95, small()), ArgumentError, "labels below 2, got 2"),
        (lambda: grow((X, Y), (X[:, 1:], Y), 95, small()), ShapeError, r"images of \(4, 4\).*got \(3, 4\)"),
        (lambda: GrowthSettings(gates=0), ArgumentError, "gates: expected an integer of at least 1, got 0"),
        (lambda: GrowthSettings(gates=10, votes_per_gate=0), ArgumentError, "votes_per_gate"),
        (
            lambda: GrowthSettings(gates=10, strength=5.0),
            ArgumentError,
            "strength: expected a finite number from 0 to 3",
        ),
        (lambda: GrowthSettings(gates=10, replaced_share=0.9), ArgumentError, "replaced_share"),
    ],
)
def test_wrong_use_is_refused(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_images_without_a_pixel_that_varies_grow_nothing_and_say_so_by_their_accuracy() -> None:
    found = grow((X, Y), (X, Y), 95, small())
    assert found.circuit.num_gates == 0
    assert found.rounds[-1].validation_accuracy == 0.5


@pytest.mark.slow
@needs("mnist")
def test_six_hundred_gates_pass_95_percent_on_ten_digits_of_mnist() -> None:
    """A slice of what a thousand gates reach, as large as a slow test allows."""
    data = digits(required("mnist"))
    parts = [(part.images, part.labels) for part in (data.train, data.validation)]
    circuit = grow(*parts, data.threshold, GrowthSettings(gates=600, copies=2, replacements=0)).circuit
    assert circuit.num_gates <= 600
    assert (circuit.predict(data.test.bits(data.threshold)) == data.test.labels).mean() > 0.95


@pytest.mark.slow
@needs("mnist")
@pytest.mark.parametrize("seed", [0, 1])
def test_thirty_gates_tell_0_from_1_of_mnist_at_99_8_percent(seed: int) -> None:
    data = digits(required("mnist"), classes=(0, 1))
    parts = [(part.images, part.labels) for part in (data.train, data.validation)]
    circuit = grow(*parts, data.threshold, GrowthSettings(gates=30, seed=seed)).circuit
    assert circuit.num_gates <= 30
    assert (circuit.predict(data.test.bits(data.threshold)) == data.test.labels).mean() >= 0.998
