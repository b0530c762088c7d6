"""The mapping into four-input tables computes the same, uses no more tables than gates, and finds what fits one table."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.errors import ArgumentError
from ordinate.logic import Circuit, FixedPoint, InputThresholds
from ordinate.logic.export.lut_mapping import LutNetwork, encoder, map_luts
from ordinate.logic.simplify.equivalence import equivalent
from tests.logic.circuits import GENUINE, every_input, plain_scores, random_circuit


def plain_luts(network: LutNetwork, bits: np.ndarray) -> np.ndarray:
    """Scores by looking every table up."""
    scores = []
    for row in bits.astype(int).tolist():
        values = dict(enumerate(row))
        for lut in network.luts:
            values[lut.signal] = lut.table >> sum(values[one] << place for place, one in enumerate(lut.reads)) & 1
        scores.append(
            [
                (sum(int(w) * values[int(s)] for s, w in zip(vote.signals, vote.weights, strict=True)) + bias)
                / network.circuit.tau
                for vote, bias in zip(network.circuit.votes, network.circuit.bias, strict=True)
            ]
        )
    return np.array(scores)


@pytest.mark.parametrize("inputs", [2, 3, 4, 6])
@pytest.mark.parametrize("seed", range(6))
def test_the_tables_compute_what_the_gates_do(seed: int, inputs: int) -> None:
    circuit = random_circuit(seed, 7, 60, votes=6)
    network = map_luts(circuit, inputs)
    bits = every_input(7)
    assert np.array_equal(plain_luts(network, bits), plain_scores(circuit, bits))
    assert all(len(lut.reads) <= inputs for lut in network.luts)
    assert len(network.luts) <= network.circuit.num_gates
    assert np.array_equal(plain_scores(network.to_circuit(), bits), plain_scores(circuit, bits))


def test_a_large_mapping_is_proven_by_sat() -> None:
    circuit = random_circuit(1, 100, 1500, votes=30, tables=GENUINE)
    network = map_luts(circuit)
    assert equivalent(circuit, network.to_circuit()).equal
    assert len(network.luts) < 0.75 * network.circuit.num_gates


@pytest.mark.parametrize("table", [6, 8])
def test_a_tree_of_n_inputs_needs_a_third_of_n_minus_1_tables(table: int) -> None:
    """Each table takes three signals away: 4 to 1, 16 to 5, 64 to 21."""
    for width in (4, 16, 64):
        a, b = np.arange(0, 2 * width - 2, 2), np.arange(1, 2 * width - 1, 2)
        tree = Circuit(width, [table] * (width - 1), a, b, votes=[([2 * width - 2], [1])])
        assert len(map_luts(tree).luts) == (width - 1) // 3
        assert map_luts(tree).depth == {4: 1, 16: 2, 64: 3}[width]


def test_tables_of_an_impossible_size_are_refused() -> None:
    with pytest.raises(ArgumentError, match="inputs: expected an integer from 2 to 6, got 7"):
        map_luts(random_circuit(1), 7)


@pytest.mark.parametrize("number", [FixedPoint(5), FixedPoint(6, 1, signed=True), FixedPoint(3, -1)])
def test_the_encoder_compares_as_the_thresholds_do(number: FixedPoint) -> None:
    random = np.random.default_rng(number.bits)
    codes = InputThresholds(2, random.integers(0, 2, 9), random.integers(-20, 40, 9) / 2)
    circuit = random_circuit(1, 9, 30, thresholds=codes)
    rows = random.integers(number.smallest, number.largest + 1, (200, 2))
    used = sorted({int(one) for part in (circuit.inputs_a, circuit.inputs_b) for one in part if one < 9})
    used = sorted({*used, *(int(one) for vote in circuit.votes for one in vote.signals if one < 9)})
    expected = rows[:, codes.feature] > codes.threshold * 2.0**number.fraction_bits
    bits = (rows[:, :, None] >> np.arange(number.bits) & 1).reshape(200, -1)
    front = encoder(circuit, number)
    assert np.array_equal(front.evaluate(bits), expected[:, used])
    tables = map_luts(front, 6).to_luts()
    assert np.array_equal(tables.evaluate(bits), expected[:, used])
