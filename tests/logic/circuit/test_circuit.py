"""A circuit computes what its netlist says, and what is no circuit is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.logic import Circuit, InputThresholds
from tests.logic.circuits import every_input, plain_classes, plain_scores, plain_signals, random_circuit, some_inputs


@pytest.mark.parametrize("table", range(16))
def test_bit_2a_plus_b_of_a_table_is_the_output(table: int) -> None:
    gate = Circuit(2, [table], [0], [1], votes=[([2], [1])])
    told = [int(gate.evaluate([a, b])[0]) for a in (0, 1) for b in (0, 1)]
    assert told == [table >> row & 1 for row in range(4)]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(0, 50), st.integers(1, 6))
def test_scores_signals_and_classes_are_those_of_a_plain_evaluation(seed: int, inputs: int, nodes: int, classes: int) -> None:
    circuit = random_circuit(seed, inputs, nodes, classes)
    bits = some_inputs(seed, 70, inputs)
    assert np.array_equal(circuit.evaluate(bits), plain_scores(circuit, bits))
    assert np.array_equal(circuit.predict(bits), plain_classes(circuit, bits))
    assert np.array_equal(circuit.signals(bits[:5]), [plain_signals(circuit, row) for row in bits[:5].astype(int).tolist()])


def test_bias_and_temperature_reach_the_scores() -> None:
    circuit = Circuit(1, [], [], [], votes=[([0], [1]), ([0], [-1])], bias=[0.25, 0.5], tau=4.0)
    assert circuit.evaluate([[0], [1]]).tolist() == [[0.0625, 0.125], [0.3125, -0.125]]


def test_a_bias_below_one_vote_decides_between_equal_counts() -> None:
    circuit = Circuit(1, [], [], [], votes=[([0], [1])] * 3, bias=[0.25, 0.75, 0.5])
    assert circuit.predict([[0], [1]]).tolist() == [1, 1]
    assert Circuit(1, [], [], [], votes=[([0], [1])] * 3).predict([[1]]).tolist() == [0]


def test_leading_axes_are_kept_and_empty_batches_are_batches() -> None:
    circuit = random_circuit(1)
    bits = some_inputs(1, 6, 8)
    assert np.array_equal(circuit.evaluate(bits.reshape(2, 3, 8)).reshape(6, 4), circuit.evaluate(bits))
    assert circuit.predict(bits[0]).shape == ()
    assert circuit.evaluate(bits[:0]).shape == (0, 4)
    assert circuit.predict(bits[:0]).shape == (0,)


@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.int64, bool])
def test_bits_may_be_of_any_type_that_holds_0_and_1(kind: type) -> None:
    circuit = random_circuit(2)
    bits = some_inputs(2, 9, 8)
    assert np.array_equal(circuit.evaluate(bits.astype(kind)), circuit.evaluate(bits))
    assert np.array_equal(circuit.evaluate(torch.from_numpy(bits).float()), circuit.evaluate(bits))


def test_kinds_of_nodes_are_counted_apart() -> None:
    circuit = Circuit(2, [0, 15, 3, 5, 12, 10, 8, 6], [0] * 8, [1] * 8, votes=[([9], [1])])
    assert (circuit.num_gates, circuit.num_inverters, circuit.num_constants, circuit.num_nodes) == (2, 2, 2, 8)


def test_a_circuit_cannot_be_changed_and_survives_a_process_boundary() -> None:
    circuit = random_circuit(3)
    with pytest.raises(ValueError, match="read-only"):
        circuit.tables[0] = 3
    with pytest.raises(AttributeError):
        circuit.tau = 2.0
    bits = some_inputs(3, 40, 8)
    expected = circuit.evaluate(bits)
    assert np.array_equal(pickle.loads(pickle.dumps(circuit)).evaluate(bits), expected)


def test_wire_numbers_past_2_to_the_24_stay_whole() -> None:
    """float32 would make neighbours of them the same wire."""
    far = (1 << 24) + 1
    circuit = Circuit(far + 1, [4], [far], [far - 1], votes=[([far + 1], [1])])
    assert (int(circuit.inputs_a[0]), int(circuit.inputs_b[0])) == (16_777_217, 16_777_216)
    first, second = f"in[{far}]", f"~in[{far - 1}]"
    source = circuit.to_c()
    assert f"{first} & {second}" in source or f"{second} & {first}" in source


GOOD = {"num_inputs": 2, "tables": [8, 6], "inputs_a": [0, 2], "inputs_b": [1, 1], "votes": [([3], [1]), ([2], [1])]}


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"inputs_b": [1, 3]}, ArgumentError, "no cycle, got signals that depend on themselves: 3 reads 3"),
        (
            {"tables": [8, 6, 1], "inputs_a": [3, 4, 2], "inputs_b": [1, 1, 0]},
            ArgumentError,
            "no cycle, got signals that depend on themselves: 2 reads 3 reads 4 reads 2",
        ),
        ({"inputs_a": [3, 0]}, ArgumentError, r"nodes\[0\]: expected to read earlier signals only, got signal 2 that reads 3"),
        ({"inputs_a": [0, 9]}, ArgumentError, "expected signals from 0 to 3, got 9"),
        ({"inputs_a": [-1, 0]}, ArgumentError, r"inputs_a\[0\]: expected a signal, got -1"),
        ({"tables": [8, 16]}, ArgumentError, r"tables\[1\]: expected a truth table of two inputs, 0 to 15, got 16"),
        ({"tables": [8]}, ArgumentError, "inputs_a: expected 1, one a node, got 2"),
        ({"inputs_a": [0.0, 2.0]}, ArgumentTypeError, "inputs_a: expected integers, got float64"),
        ({"inputs_a": np.array([0, 2], np.float32)}, ArgumentTypeError, "got float32"),
        ({"tables": [8, 300]}, ArgumentError, "tables: expected integers from 0 to 255"),
        ({"votes": []}, ArgumentError, "votes: expected at least one class"),
        ({"votes": [([4], [1]), ([2], [1])]}, ArgumentError, r"votes\[0\] signals: expected signals from 0 to 3, got 4"),
        ({"votes": [([3], [1, 2]), ([2], [1])]}, ArgumentError, r"votes\[0\] weights: expected 1, one a signal, got 2"),
        ({"votes": [([3], [0.5]), ([2], [1])]}, ArgumentTypeError, r"votes\[0\] weights: expected integers"),
        ({"votes": [([3, 3], [2**31, 1]), ([2], [1])]}, ArgumentError, "a sum that fits 32 bits"),
        ({"bias": [1.0]}, ArgumentError, "bias: expected 2, one a class"),
        ({"bias": [1.0, np.nan]}, ArgumentError, "bias: expected finite numbers"),
        ({"tau": 0.0}, ArgumentError, "tau: expected a finite number above 0, got 0.0"),
        ({"tau": np.inf}, ArgumentError, "tau: expected a finite number above 0"),
        ({"labels": [1]}, ArgumentError, "labels: expected 2, one a class, got 1"),
        ({"inputs": InputThresholds(3, [0, 1, 2], [1, 1, 1])}, ArgumentError, "expected 2 thresholds, one an input bit, got 3"),
        ({"tau": "2"}, ArgumentTypeError, "tau: expected a finite number above 0"),
        ({"bias": ["1", "2"]}, ArgumentTypeError, "bias: expected numbers"),
        ({"labels": [0, 1.5]}, ArgumentTypeError, "labels: expected an integer, got float 1.5"),
        ({"notes": []}, ArgumentTypeError, "notes: expected a mapping, got list"),
        ({"votes": [([2, 2], [2**62, 2**62]), ([0], [1])]}, ArgumentError, "a sum that fits 32 bits"),
        ({"votes": [([2], [-(2**63)]), ([0], [1])]}, ArgumentError, "a sum that fits 32 bits"),
        ({"num_inputs": 0}, ArgumentError, "num_inputs: expected an integer from 1"),
    ],
)
def test_what_is_no_circuit_is_refused(change: dict, kind: type[Exception], message: str) -> None:
    Circuit(**GOOD)
    with pytest.raises(kind, match=message):
        Circuit(**{**GOOD, **change})


@pytest.mark.parametrize(
    ("bits", "kind", "message"),
    [
        ([[0, 2]], ArgumentError, "expected bits, 0 or 1, got the value 2"),
        ([[0.5, 1.0]], ArgumentError, "got the value 0.5"),
        ([[np.nan, 1.0]], ArgumentError, "got the value nan"),
        ([["a", "b"]], ArgumentError, "values of <U1"),
        ([[0, 1, 1]], ShapeError, r"expected \[..., 2\], one bit an input, got shape \[1, 3\]"),
        (1, ShapeError, r"got shape \[\]"),
    ],
)
def test_inputs_that_are_no_bits_or_of_another_width_are_refused(bits: object, kind: type[Exception], message: str) -> None:
    circuit = Circuit(**GOOD)
    for method in (circuit.evaluate, circuit.predict, circuit.count, circuit.signals):
        with pytest.raises(kind, match=message):
            method(bits)


def test_thresholds_compare_strictly_and_bytes_as_numbers_do() -> None:
    some = InputThresholds(4, [0, 1, 2, 3], [-0.5, 95, 95.5, 255])
    rows = np.random.default_rng(0).integers(0, 256, (300, 4)).astype(np.uint8)
    rows[0] = 95, 95, 95, 255
    rows[1] = 0, 96, 96, 255
    expected = rows.astype(float) > np.array([-0.5, 95, 95.5, 255])
    assert np.array_equal(some.bits(rows), expected)
    assert np.array_equal(some.bits(rows.astype(float)), expected)
    twice = InputThresholds(2, [1, 0, 1], [10, 20, 30])
    assert twice.bits([[25, 15]]).tolist() == [[True, True, False]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, [0, 2], [1, 1]), "feature: expected numbers from 0 to 1, got 0 to 2"),
        ((2, [0, 1], [1]), "threshold: expected one for each of the 2 bits"),
        ((2, [0, 1], [1, np.nan]), "threshold: expected finite numbers"),
    ],
)
def test_thresholds_that_fit_nothing_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        InputThresholds(*arguments)
    with pytest.raises(ShapeError, match="one number a feature"):
        InputThresholds.uniform(2, 1).bits([[1, 2, 3]])


def test_all_inputs_of_a_small_circuit_at_once() -> None:
    circuit = random_circuit(11, 10, 40)
    bits = every_input(10)
    assert np.array_equal(circuit.evaluate(bits), plain_scores(circuit, bits))


def test_a_temperature_that_would_make_scores_infinite_is_refused() -> None:
    with pytest.raises(ArgumentError, match="tau: expected at least 1e-200"):
        Circuit(1, [], [], [], votes=[([0], [1])], tau=1e-308)
    assert Circuit(1, [], [], [], votes=[([0], [2**31 - 1])], tau=1e-200).evaluate([[1]]).item() < float("inf")
