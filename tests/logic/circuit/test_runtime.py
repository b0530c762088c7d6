"""The bit-parallel runtime gives the plain evaluation's answers, in batches of any size, with either implementation."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from ordinate.errors import ArgumentError, MissingExtraError, ShapeError, UnknownNameError
from ordinate.logic import Circuit, InputThresholds
from ordinate.logic.circuit.bit_packing import pack, unpack
from ordinate.logic.circuit.netlist import Netlist, add_circuit
from ordinate.logic.circuit.program import Stage, inputs_first, lower, near_order, voting_signals
from ordinate.logic.circuit.runtime import BLOCK_WORDS, BitParallel, run_by_numba, run_by_numpy
from tests.logic.circuits import GENUINE, plain_classes, plain_scores, plain_signals, random_circuit, some_inputs

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


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize(
    "thresholds",
    [
        InputThresholds.uniform(6, 95),
        InputThresholds(6, [0, 1, 2, 3, 4, 5], [-1, 0, 95.5, 254, 254.5, 253]),
        InputThresholds(6, [0, 1, 2, 3, 4, 5], [-1, 0, 95.5, 254, 255, 300]),
        InputThresholds(3, [2, 0, 1, 1, 0, 2], [10, 20, 30, 200, 254.5, 255]),
        InputThresholds(3, [2, 0, 1, 1, 0, 2], [10, 20, 30, 200, 40, 5]),
    ],
    ids=["one for all", "at the ends of a byte", "never", "never, several a feature", "several a feature"],
)
def test_numbers_are_compared_with_the_thresholds(implementation: str, thresholds: InputThresholds) -> None:
    circuit = random_circuit(2, 6, 40, thresholds=thresholds)
    rows = np.random.default_rng(0).integers(0, 256, (2100, thresholds.num_features)).astype(np.uint8)
    rows[:5] = [[0], [95], [96], [254], [255]]
    expected = plain_classes(circuit, rows.astype(float)[:, thresholds.feature] > thresholds.threshold)
    runtime = BitParallel(circuit, implementation)
    assert np.array_equal(runtime.classify(rows), expected)
    assert np.array_equal(runtime.classify(rows[:71]), expected[:71])
    assert np.array_equal(runtime.classify(rows[::2]), expected[::2])  # rows that do not lie side by side
    assert np.array_equal(runtime.classify(rows.astype(float)), expected)
    assert np.array_equal(runtime.predict(thresholds.bits(rows).astype(int)), expected)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_rows_of_another_width_or_circuits_without_thresholds_are_refused(implementation: str) -> None:
    with pytest.raises(ArgumentError, match="x: expected a circuit with thresholds, got one that takes bits; use predict"):
        BitParallel(random_circuit(1), implementation).classify(np.zeros((2, 8), np.uint8))
    circuit = random_circuit(2, 6, 40, thresholds=InputThresholds.uniform(6, 95))
    with pytest.raises(ShapeError, match=r"x: expected \[..., 6\], one number a feature, got shape \[2, 7\]"):
        BitParallel(circuit, implementation).classify(np.zeros((2, 7), np.uint8))
    with pytest.raises(ShapeError, match=r"x: expected \[images, 6\], got shape \[6\]; flatten images to one row each"):
        BitParallel(circuit, implementation).classify(np.zeros(6, np.uint8))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_batches_of_more_than_a_block(implementation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed 192, run 320 and blocked 128 or 2048 at a time: the seams fall at different places."""
    circuit = random_circuit(6, 7, 40)
    bits = some_inputs(1, 128, 7)
    many = np.tile(bits, (39, 1))
    monkeypatch.setattr("ordinate.logic.circuit.runtime._PACKED", 192)
    monkeypatch.setattr("ordinate.logic.circuit.runtime._IMAGES", 320)
    monkeypatch.setitem(BLOCK_WORDS, "numpy", 2)
    runtime = BitParallel(circuit, implementation)
    assert np.array_equal(runtime.predict(many), np.tile(plain_classes(circuit, bits), 39))
    assert np.array_equal((runtime.count(many) + circuit.bias) / circuit.tau, np.tile(plain_scores(circuit, bits), (39, 1)))


@needs_numba
def test_blocks_are_as_wide_as_the_compiled_loop() -> None:
    from ordinate.logic.kernels.compiled_words import WORDS

    assert BLOCK_WORDS["numba"] == WORDS


@pytest.mark.parametrize("stage", ["gates", "counts", "classes", "all"])
@pytest.mark.parametrize("seed", range(5))
def test_gates_computed_again_give_the_same(stage: Stage, seed: int) -> None:
    circuit = random_circuit(seed, 9, 300, tables=GENUINE, reach=150)
    words = pack(some_inputs(seed, 200, 9))
    once, again = lower(circuit, stage), lower(circuit, stage, recompute=True)
    assert np.array_equal(run_by_numpy(once, words), run_by_numpy(again, words))
    assert len(again.tables) > len(once.tables)


def test_nothing_is_written_where_it_is_read() -> None:
    """Loops over words may then be made of vectors."""
    program = lower(random_circuit(3, 8, 500), "all")
    assert not ((program.out == program.a) | (program.out == program.b)).any()
    assert program.out.min() >= program.num_inputs
    assert set(program.tables.tolist()) <= {0, 3, 4, 6, 8, 14, 15}


def test_values_are_read_soon_after_they_are_made() -> None:
    """Three layers of random gates: not much over half as many reads from before the last 64 gates as from the outputs down."""
    generator, width = np.random.default_rng(0), 1000
    a, b = (np.concatenate([layer * width + generator.integers(0, width, width) for layer in range(3)]) for _ in range(2))
    tables = generator.choice(GENUINE, 3 * width)
    circuit = Circuit(width, tables, a, b, votes=[(3 * width + np.arange(width), np.ones(width, int))])
    netlist = Netlist(width)
    literals = add_circuit(netlist, circuit)
    voting = [literals[signal] for signal in voting_signals(circuit)]

    def near(order: list[int]) -> float:
        step = {node: place for place, node in enumerate(order)}
        ages = [
            place - step[one >> 1]
            for node, place in step.items()
            for one in (netlist.left[node], netlist.right[node])
            if one >> 1 in step
        ]
        assert min(ages) > 0  # what is read is there already
        return float((np.array(ages) <= 64).mean())

    down = inputs_first(netlist, [literal >> 1 for literal in voting], voting)
    walked = near_order(netlist, voting)
    assert (
        sorted(walked) == sorted(down) == [node for node, live in enumerate(netlist.reached(voting)) if live and node > width]
    )
    assert 1 - near(walked) < 0.6 * (1 - near(down))


def test_an_implementation_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = random_circuit(1)
    with pytest.raises(UnknownNameError, match="expected one of auto, numpy, numba, got 'cuda'"):
        BitParallel(circuit, "cuda")  # type: ignore[arg-type]
    monkeypatch.setattr("ordinate.logic.circuit.runtime._has_numba", lambda: False)
    with pytest.raises(MissingExtraError, match="pip install numba"):
        BitParallel(circuit, "numba")
    assert BitParallel(random_circuit(1, 8, 3000), "auto").implementation == "numpy"
