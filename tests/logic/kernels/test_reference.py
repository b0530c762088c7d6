"""Every compiled function and every vector step computes what the plain reference of its name does."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba", reason="needs the extra fast")

from numba import njit

from ordinate.logic.circuit.program import lower
from ordinate.logic.kernels import compiled_images, compiled_rows, compiled_trees, compiled_words, eight_images, reference
from tests.logic.circuits import random_circuit


def floats(generator: np.random.Generator, *shape: int) -> np.ndarray:
    return generator.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(("signals", "gates", "batch"), [(5, 3, 1), (11, 20, 8), (30, 17, 21)])
def test_layers_of_gates_in_both_layouts(signals: int, gates: int, batch: int) -> None:
    generator = np.random.default_rng(gates)
    x, numbers, gradient = floats(generator, signals, batch), floats(generator, gates, 4), floats(generator, gates, batch)
    wiring = generator.integers(0, signals, (2, gates))
    expected, to_x = reference.gates_forward(x, numbers, wiring), reference.gates_backward(gradient, x, numbers, wiring)
    rows, rows_to_x, rows_sums = np.empty((gates, batch), np.float32), np.zeros_like(x), np.empty((gates, 4), np.float32)
    compiled_rows.forward(x, numbers, wiring, rows)
    compiled_rows.backward(gradient, x, numbers, wiring, rows_to_x, rows_sums)
    images, images_to_x = np.empty((batch, gates), np.float32), np.empty((batch, signals), np.float32)
    images_sums = np.empty((gates, 4), np.float32)
    by_image = np.ascontiguousarray(x.T)
    compiled_images.forward(by_image, numbers, wiring, images)
    compiled_images.backward(np.ascontiguousarray(gradient.T), by_image, numbers, wiring, images_to_x, images_sums)
    for values, x_gradient, sums in ((rows, rows_to_x, rows_sums), (images.T, images_to_x.T, images_sums)):
        np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(x_gradient, to_x[0], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(sums, to_x[1], rtol=1e-4, atol=1e-4)


def test_trees_and_pooling() -> None:
    generator = np.random.default_rng(0)
    x, numbers, leaves = floats(generator, 9, 130), floats(generator, 2, 7, 4), generator.integers(0, 9, (2, 3, 8))
    out = np.empty((6, 130), np.float32)
    compiled_trees.forward(x, numbers, leaves, out)
    np.testing.assert_allclose(out, reference.trees_forward(x, numbers, leaves), rtol=1e-3, atol=1e-3)
    images, pooled = floats(generator, 2, 7, 6, 5), np.empty((2, 3, 2, 5), np.float32)
    compiled_trees.pool(images, 3, 2, pooled)
    assert np.array_equal(pooled, reference.pooling_forward(images, 3, 2))


@pytest.mark.parametrize("stage", ["gates", "counts", "classes", "all"])
def test_programs_on_words(stage: str) -> None:
    circuit = random_circuit(5, 9, 120)
    program = lower(circuit, stage)  # type: ignore[arg-type]
    words = np.random.default_rng(1).integers(0, 2**64, (9, compiled_words.WORDS), np.uint64)
    values = np.zeros((program.num_slots, compiled_words.WORDS), np.uint64)
    results = np.empty((len(program.outputs), compiled_words.WORDS), np.uint64)
    line = (program.tables, program.a, program.b, program.out, program.outputs)
    compiled_words.run_blocks(*line, words, values, results)
    assert np.array_equal(results, reference.word_program(*line, words, program.num_slots))


# the vector steps can only be called from compiled code
@njit
def turn_square(source, start, pitch, target, place, step):  # type: ignore[no-untyped-def]
    eight_images.turn_square(source, start, pitch, target, place, step)


@njit
def evaluate_gate(tile, first, second, a0, a1, a2, a3, out, place):  # type: ignore[no-untyped-def]
    eight_images.evaluate_gate(tile, first, second, a0, a1, a2, a3, out, place)


@njit
def add_sums(tile, first, second, gradient, at, sums, place):  # type: ignore[no-untyped-def]
    eight_images.add_sums(tile, first, second, gradient, at, sums, place)


@njit
def add_input_gradients(tile, first, second, a1, a2, a3, gradient, at, target):  # type: ignore[no-untyped-def]
    eight_images.add_input_gradients(tile, first, second, a1, a2, a3, gradient, at, target)


def test_vector_steps() -> None:
    generator = np.random.default_rng(3)
    tile, gradient = floats(generator, 200), floats(generator, 40)
    numbers = floats(generator, 4)
    for vector, plain, arguments, written in (
        (turn_square, reference.turn_square, (tile, 3, 21, None, 5, 9), 3),
        (evaluate_gate, reference.evaluate_gate, (tile, 8, 64, *numbers, None, 16), 7),
        (add_sums, reference.add_sums, (tile, 8, 64, gradient, 16, None, 4), 5),
        (add_input_gradients, reference.add_input_gradients, (tile, 8, 64, *numbers[1:], gradient, 8, None), 8),
        (add_input_gradients, reference.add_input_gradients, (tile, 8, 8, *numbers[1:], gradient, 8, None), 8),
    ):
        start = floats(np.random.default_rng(4), 200)
        ours, theirs = start.copy(), start.astype(np.float64)
        vector(*(ours if place == written else argument for place, argument in enumerate(arguments)))
        plain(*(theirs if place == written else argument for place, argument in enumerate(arguments)))
        assert not np.array_equal(ours, start)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
