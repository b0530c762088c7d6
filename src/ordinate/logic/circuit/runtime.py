"""Circuits run on words of 64 images, without a compiler: a straight line of word operations, by numpy or numba.

Counting is done by carry-save adders and the greatest class is found by comparators, both bitwise, so that what leaves the
words is a number of a few bits an image. A batch is run in blocks; one that does not fill its last word is padded.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice
from ordinate.errors import ArgumentError, MissingExtraError, ShapeError
from ordinate.extras import install_command
from ordinate.logic.circuit.arrays import as_bits
from ordinate.logic.circuit.bit_packing import WORD_BITS, pack, unpack
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.counting import count_plan
from ordinate.logic.circuit.program import Program, lower

__all__ = [
    "BLOCK_WORDS",
    "BitParallel",
    "all_signals",
    "class_scores",
    "count_votes",
    "predict_classes",
    "run_by_numba",
    "run_by_numpy",
    "runtime_of",
]

Implementation = Literal["auto", "numpy", "numba"]
Slot = npt.NDArray[np.uint64]
BLOCK_WORDS = {"numpy": 2048, "numba": 32}
"""Words of 64 images a block, at most: numpy needs many to hide its calls, numba few enough to stay in the second cache."""

_FUNCTIONS = {8: np.bitwise_and, 14: np.bitwise_or, 6: np.bitwise_xor}
_IMAGES = 1 << 17  # run at a time, a block of numpy's: a batch of any size needs no more memory than that
_PACKED = 1 << 12  # packed at a time, which stays in the second cache


class BitParallel:
    """A circuit made ready to run on many images at once.

    Args:
        circuit: any.
        implementation: "numpy"; "numba", faster, from the extra `fast`; "auto", numba where it is installed and the circuit is
            large enough to be worth its start.

    Raises:
        UnknownNameError: another implementation.
        MissingExtraError: numba is asked for by name and not installed.

    >>> runtime = BitParallel(Circuit(2, [6, 8], [0, 0], [1, 1], votes=[([2], [1]), ([3], [1])]), implementation="numpy")
    >>> runtime.predict(np.array([[0, 1], [1, 1]], bool)).tolist()
    [0, 1]
    """

    def __init__(self, circuit: Circuit, implementation: Implementation = "auto") -> None:
        check_choice("implementation", implementation, ("auto", "numpy", "numba"))
        self.circuit, self.plan = circuit, count_plan(circuit)
        if implementation == "auto":
            implementation = "numba" if circuit.num_nodes >= 2000 and _has_numba() else "numpy"
        elif implementation == "numba" and not _has_numba():
            raise MissingExtraError(
                "implementation", expected="numba", got="none installed", hint=f"{install_command('fast')}, or use 'numpy'"
            )
        self.implementation = implementation

    @cached_property
    def classes_program(self) -> Program:
        """From input words to the bits of the class."""
        return lower(self.circuit, "classes")

    @cached_property
    def counts_program(self) -> Program:
        """From input words to the bits of every class's count."""
        return lower(self.circuit, "counts")

    def run(self, program: Program, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """The output words [outputs, W] of a program for input words [num_inputs, W]."""
        run = run_by_numba if self.implementation == "numba" else run_by_numpy
        return run(program, words)

    def predict(self, bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """The class [images] for bits [images, num_inputs]."""
        return self._classes(np.asarray(bits, np.bool_), None)

    def classify(self, x: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The class [images] for numbers [images, features], which the circuit's thresholds make bits of.

        Bytes are compared and packed a few at a time.

        Raises:
            ArgumentError: the circuit has no thresholds.
            ShapeError: another number of axes or of features.

        >>> from ordinate.logic import Circuit, InputThresholds
        >>> thresholds = InputThresholds.uniform(2, 95)
        >>> either = Circuit(2, [14, 1], [0, 0], [1, 1], votes=[([3], [1]), ([2], [1])], inputs=thresholds)
        >>> BitParallel(either, "numpy").classify(np.array([[0, 95], [0, 96]], np.uint8)).tolist()
        [0, 1]
        """
        thresholds = self.circuit.inputs
        if thresholds is None:
            raise ArgumentError("x", expected="a circuit with thresholds", got="one that takes bits", hint="use predict")
        x = np.asarray(x)
        if x.ndim != 2:
            raise ShapeError(
                "x",
                expected=f"[images, {thresholds.num_features}]",
                got=f"shape {list(x.shape)}",
                hint="flatten images to one row each",
            )
        least = thresholds.least_bytes()
        if x.dtype != np.uint8 or x.shape[1:] != (thresholds.num_features,) or (least > 255).any():
            return self._classes(thresholds.bits(x), None)
        if not np.array_equal(thresholds.feature, np.arange(thresholds.num_features)):
            x = x[:, thresholds.feature]
        return self._classes(x, least.astype(np.uint8))

    def count(self, bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """The weighted votes [images, classes] for bits [images, num_inputs]."""
        program, bits = self.counts_program, np.asarray(bits, np.bool_)
        counted = np.tile(np.array([one.offset for one in self.plan.classes], np.int64), (len(bits), 1))
        for start in range(0, len(bits), _IMAGES):
            part = bits[start : start + _IMAGES]
            planes = unpack(self._run_rows(program, part, None), len(part))
            first = 0
            for place, width in enumerate(program.groups):
                counted[start : start + len(part), place] += planes[:, first : first + width] @ (1 << np.arange(width))
                first += width
        return counted

    def _classes(self, rows: npt.NDArray[Any], least: npt.NDArray[np.uint8] | None) -> npt.NDArray[np.int64]:
        classes = np.zeros(len(rows), np.int64)
        for start in range(0, len(rows), _IMAGES):
            part = rows[start : start + _IMAGES]
            planes = unpack(self._run_rows(self.classes_program, part, least), len(part))
            classes[start : start + len(part)] = planes @ (1 << np.arange(planes.shape[1]))
        return classes

    def _run_rows(
        self, program: Program, rows: npt.NDArray[Any], least: npt.NDArray[np.uint8] | None
    ) -> npt.NDArray[np.uint64]:
        """The output words for rows of bits, or of bytes that are compared with `least`."""
        if self.implementation == "numpy":
            parts = []
            for start in range(0, max(len(rows), 1), _PACKED):
                part = rows[start : start + _PACKED]
                parts.append(pack(part if least is None else part >= least))
            return run_by_numpy(program, np.concatenate(parts, axis=1))
        return _rows_by_numba(program, rows, np.ones(rows.shape[1], np.uint8) if least is None else least)

    def signals(self, bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Every signal [images, signals] for bits [images, num_inputs]: nothing is shared, folded or freed here."""
        circuit, words = self.circuit, pack(bits)
        values = np.empty((circuit.num_inputs + circuit.num_nodes, words.shape[1]), np.uint64)
        values[: circuit.num_inputs] = words
        nodes = zip(circuit.tables.tolist(), circuit.inputs_a.tolist(), circuit.inputs_b.tolist(), strict=True)
        for place, (table, a, b) in enumerate(nodes, circuit.num_inputs):
            values[place] = _minterms(table, values[a], values[b])
        return unpack(values, len(bits))


def _minterms(table: int, a: npt.NDArray[np.uint64], b: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Any of the 16 functions, as the union of the rows of its table that are true."""
    out = np.zeros_like(a)
    for row, (left, right) in enumerate(((~a, ~b), (~a, b), (a, ~b), (a, b))):
        if table >> row & 1:
            out |= left & right
    return out


def run_by_numpy(program: Program, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Run a program on words [num_inputs, W], one numpy call or two an operation."""
    total, block = words.shape[1], BLOCK_WORDS["numpy"]
    results = np.empty((len(program.outputs), total), np.uint64)
    values = np.empty((program.num_slots, min(block, total)), np.uint64)
    for start in range(0, total, block):
        width = min(block, total - start)
        values[: program.num_inputs, :width] = words[:, start : start + width]
        if start == 0 or width < block:
            calls = list(_calls(program, values[:, :width]))
        for function, x, y, out in calls:
            function(x, y, out)
        results[:, start : start + width] = values[program.outputs, :width]
    return results


def _calls(program: Program, values: npt.NDArray[np.uint64]) -> Iterator[tuple[np.ufunc, Slot, Slot, Slot]]:
    """The calls that make up a program: function, two slots to read and one to write."""
    slots = list(values)
    ones = np.full(values.shape[1], 0xFFFFFFFFFFFFFFFF, np.uint64)
    rows = zip(program.tables.tolist(), program.a.tolist(), program.b.tolist(), program.out.tolist(), strict=True)
    for table, a, b, out in rows:
        x, y, z = slots[a], slots[b], slots[out]
        if table in _FUNCTIONS:
            yield _FUNCTIONS[table], x, y, z
        elif table == 4:  # x & ~y = (x & y) ^ x
            yield np.bitwise_and, x, y, z
            yield np.bitwise_xor, z, x, z
        elif table == 3:
            yield np.bitwise_xor, x, ones, z
        else:
            yield np.bitwise_xor, ones, ones, z
            if table:
                yield np.bitwise_or, z, ones, z


def run_by_numba(program: Program, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Run a program on words [num_inputs, W] by a loop that numba compiled once for all circuits."""
    from ordinate.logic.kernels.compiled_words import run_blocks

    total = words.shape[1]
    values, results = _buffers(program, total)
    words = np.pad(words, ((0, 0), (0, results.shape[1] - total)))
    run_blocks(program.tables, program.a, program.b, program.out, program.outputs, words, values, results)
    return results[:, :total]


def _rows_by_numba(program: Program, rows: npt.NDArray[Any], least: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    from ordinate.logic.kernels.compiled_words import run_rows

    words = -(-len(rows) // WORD_BITS)
    values, results = _buffers(program, words)
    octets = np.ascontiguousarray(rows).view(np.uint8)
    run_rows(program.tables, program.a, program.b, program.out, program.outputs, octets, least, values, results)
    return results[:, :words]


def _buffers(program: Program, words: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Arrays for a block's values, and for the results of as many blocks as hold so many words."""
    block = BLOCK_WORDS["numba"]
    whole = -(-max(words, 1) // block) * block
    return np.zeros((program.num_slots, block), np.uint64), np.empty((len(program.outputs), whole), np.uint64)


def runtime_of(circuit: Circuit) -> BitParallel:
    """The circuit's runtime, made at the first call and cached with the circuit."""
    cached: BitParallel | None = circuit.__dict__.get("_cached_runtime")
    if cached is None:
        cached = BitParallel(circuit)
        object.__setattr__(circuit, "_cached_runtime", cached)
    return cached


def class_scores(circuit: Circuit, bits: Any) -> npt.NDArray[np.float64]:
    """The scores [..., classes] for input bits [..., num_inputs]: votes plus bias, divided by tau.

    Raises:
        ShapeError: another number of inputs.
        ArgumentError: a value that is neither 0 nor 1.

    >>> class_scores(Circuit(2, [6], [0], [1], votes=[([2], [3])], bias=[1], tau=2.0), [[0, 1], [1, 1]]).tolist()
    [[2.0], [0.5]]
    """
    return (count_votes(circuit, bits) + circuit.bias) / circuit.tau


def count_votes(circuit: Circuit, bits: Any) -> npt.NDArray[np.int64]:
    """The weighted votes [..., classes] as integers, without bias and tau. Raises as `class_scores`."""
    rows = as_bits(bits, circuit.num_inputs)
    votes = runtime_of(circuit).count(rows.reshape(-1, circuit.num_inputs))
    return votes.reshape(*rows.shape[:-1], circuit.num_classes)


def all_signals(circuit: Circuit, bits: Any) -> npt.NDArray[np.bool_]:
    """Every signal [..., num_inputs + nodes], inputs included. Raises as `class_scores`."""
    rows = as_bits(bits, circuit.num_inputs)
    signals = runtime_of(circuit).signals(rows.reshape(-1, circuit.num_inputs))
    return signals.reshape(*rows.shape[:-1], circuit.num_inputs + circuit.num_nodes)


def predict_classes(circuit: Circuit, bits: Any) -> npt.NDArray[np.int64]:
    """The class [...] with the greatest score, of equal ones the first; compared exactly, without rounding.

    `Circuit.labels` has the label of each class. Raises as `class_scores`.
    """
    rows = as_bits(bits, circuit.num_inputs)
    return runtime_of(circuit).predict(rows.reshape(-1, circuit.num_inputs)).reshape(rows.shape[:-1])


def _has_numba() -> bool:
    from importlib.util import find_spec

    return find_spec("numba") is not None
