"""The bit-parallel runtime gives the plain evaluation's answers, in batches of any size, with either implementation."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from ordinate.errors import ArgumentError, MissingExtraError
from ordinate.logic import Circuit
from ordinate.logic.bitparallel import BitParallel, run_by_numba, run_by_numpy
from ordinate.logic.program import lower, voting_signals
from ordinate.logic.words import pack, unpack
from tests.logic.circuits import plain_classes, plain_scores, plain_signals, random_circuit, some_inputs

needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba (extra `fast`) is not installed")
IMPLEMENTATIONS = ["numpy", pytest.param("numba", marks=needs_numba)]


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("images", [0, 1, 63, 64, 65, 1025])
def test_batches_need_not_be_multiples_of_the_word(implementation: str, images: int) -> None:
    circuit = random_circuit(1, 9, 70, classes=5)
    bits = some_inputs(images, images, 9)
    runtime = BitParallel(circuit, implementation)
    assert np.array_equal(runtime.predict(bits), plain_classes(circuit, bits))
    scores = (runtime.count(bits) + circuit.bias) / circuit.tau
    assert np.array_equal(scores, plain_scores(circuit, bits).reshape(images, 5))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("seed", range(8))
def test_any_circuit_any_number_of_classes(implementation: str, seed: int) -> None:
    circuit = random_circuit(seed, 6, 0 if seed == 0 else 50, classes=1 + seed, votes=[0, 1, 2, 3, 4, 9, 33, 64][seed])
    bits = some_inputs(seed, 100, 6)
    runtime = BitParallel(circuit, implementation)
    assert np.array_equal(runtime.predict(bits), plain_classes(circuit, bits))
    assert np.array_equal((runtime.count(bits) + circuit.bias) / circuit.tau, plain_scores(circuit, bits))


@pytest.mark.parametrize("run", [run_by_numpy, pytest.param(run_by_numba, marks=needs_numba)])
def test_constants_wires_and_complements_come_out_too(run: object) -> None:
    """What nobody negates on the way must be negated, or made of nothing, at the end."""
    circuit = Circuit(2, [15, 0, 3, 12, 7], [0] * 5, [1] * 5, votes=[([2, 3, 4, 5, 6], [1] * 5)])
    words = pack(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], bool))
    found = unpack(run(lower(circuit, "gates"), words), 4)  # type: ignore[operator]
    assert found.astype(int).tolist() == [[1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [1, 0, 0, 1, 1], [1, 0, 0, 1, 0]]


def test_the_gates_stage_gives_every_signal_that_votes() -> None:
    circuit = random_circuit(3, 8, 50)
    bits = some_inputs(3, 90, 8)
    found = unpack(run_by_numpy(lower(circuit, "gates"), pack(bits)), 90)
    every = np.array([plain_signals(circuit, row) for row in bits.astype(int).tolist()])
    assert np.array_equal(found, every[:, voting_signals(circuit)])


def test_slots_are_used_again() -> None:
    """A chain of 500 gates needs room for few values at a time."""
    chain = Circuit(9, [6] * 500, [0, *range(9, 508)], [1 + step % 8 for step in range(500)], votes=[([508], [1])])
    program = lower(chain.simplify(sat=False), "classes")
    assert program.num_slots <= 9 + 3
    tree = random_circuit(2, 16, 2000, classes=10, votes=100)
    assert lower(tree, "classes").num_slots < len(lower(tree, "classes").tables) / 2


def test_counting_takes_about_five_operations_a_vote() -> None:
    votes = 1000
    circuit = Circuit(votes, [], [], [], votes=[(np.arange(votes), np.ones(votes, int))])
    assert len(lower(circuit, "counts").tables) <= 5 * votes


def test_words_hold_image_i_in_bit_i() -> None:
    bits = some_inputs(0, 130, 3)
    words = pack(bits)
    assert words.shape == (3, 3)
    assert all(int(words[s, i // 64]) >> (i % 64) & 1 == bits[i, s] for i in range(130) for s in range(3))
    assert np.array_equal(unpack(words, 130), bits)


def test_an_implementation_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = random_circuit(1)
    with pytest.raises(ArgumentError, match="expected 'auto', 'numpy' or 'numba', got cuda"):
        BitParallel(circuit, "cuda")  # type: ignore[arg-type]
    monkeypatch.setattr("ordinate.logic.bitparallel._has_numba", lambda: False)
    with pytest.raises(MissingExtraError, match=r"pip install 'ordinate\[fast\]'"):
        BitParallel(circuit, "numba")
    assert BitParallel(random_circuit(1, 8, 3000), "auto").implementation == "numpy"
