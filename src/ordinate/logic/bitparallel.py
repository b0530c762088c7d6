"""Circuits run on words of 64 images, without a compiler: a straight line of word operations, by numpy or numba.

Counting is done by carry-save adders and the greatest class is found by comparators, both bitwise, so that what leaves the
words is a number of a few bits an image. A batch is run in blocks; one that does not fill its last word is padded.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, MissingExtraError
from ordinate.logic.counting import count_plan
from ordinate.logic.program import Program, lower
from ordinate.logic.words import pack, unpack

if TYPE_CHECKING:
    from ordinate.logic.circuit import Circuit

__all__ = ["BLOCK_WORDS", "BitParallel", "run_by_numba", "run_by_numpy"]

Implementation = Literal["auto", "numpy", "numba"]
BLOCK_WORDS = {"numpy": 256, "numba": 16}
"""Words of 64 images a block: numpy needs many to hide its calls, numba few enough to stay in the nearest cache."""

_PACKED_IMAGES = 1 << 14  # packed at a time, so that a batch of any size needs little memory


class BitParallel:
    """A circuit made ready to run on many images at once.

    Args:
        circuit: any.
        implementation: "numpy"; "numba", faster, from the extra `fast`; "auto", numba where it is installed and the circuit is
            large enough to be worth its start.

    Raises:
        ArgumentError: another implementation.
        MissingExtraError: numba is asked for by name and not installed.

    >>> from ordinate.logic.circuit import Circuit
    >>> runtime = BitParallel(Circuit(2, [6, 8], [0, 0], [1, 1], votes=[([2], [1]), ([3], [1])]), implementation="numpy")
    >>> runtime.predict(np.array([[0, 1], [1, 1]], bool)).tolist()
    [0, 1]
    """

    def __init__(self, circuit: Circuit, implementation: Implementation = "auto") -> None:
        if implementation not in ("auto", "numpy", "numba"):
            raise ArgumentError(
                "implementation", expected="'auto', 'numpy' or 'numba'", got=implementation, todo="leave it out for the fastest"
            )
        self.circuit, self.plan = circuit, count_plan(circuit)
        if implementation == "auto":
            implementation = "numba" if circuit.num_nodes >= 2000 and _has_numba() else "numpy"
        elif implementation == "numba" and not _has_numba():
            raise MissingExtraError(
                "implementation", expected="numba", got="none installed", todo="pip install 'ordinate[fast]', or use 'numpy'"
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
        classes = np.zeros(len(bits), np.int64)
        for start in range(0, len(bits), _PACKED_IMAGES):
            part = bits[start : start + _PACKED_IMAGES]
            planes = unpack(self.run(self.classes_program, pack(part)), len(part))
            classes[start : start + len(part)] = planes @ (1 << np.arange(planes.shape[1]))
        return classes

    def count(self, bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """The weighted votes [images, classes] for bits [images, num_inputs]."""
        program = self.counts_program
        counted = np.tile(np.array([one.offset for one in self.plan.classes], np.int64), (len(bits), 1))
        for start in range(0, len(bits), _PACKED_IMAGES):
            part = bits[start : start + _PACKED_IMAGES]
            planes = unpack(self.run(program, pack(part)), len(part))
            first = 0
            for place, width in enumerate(program.groups):
                counted[start : start + len(part), place] += planes[:, first : first + width] @ (1 << np.arange(width))
                first += width
        return counted

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
    total = words.shape[1]
    results = np.empty((len(program.outputs), total), np.uint64)
    rows = list(zip(program.tables.tolist(), program.a.tolist(), program.b.tolist(), program.out.tolist(), strict=True))
    values = np.empty((program.num_slots, BLOCK_WORDS["numpy"]), np.uint64)
    spare = np.empty(BLOCK_WORDS["numpy"], np.uint64)
    for start in range(0, total, BLOCK_WORDS["numpy"]):
        width = min(BLOCK_WORDS["numpy"], total - start)
        slots = [values[place, :width] for place in range(program.num_slots)]
        short = spare[:width]
        values[: program.num_inputs, :width] = words[:, start : start + width]
        for table, a, b, out in rows:
            if table == 6:
                np.bitwise_xor(slots[a], slots[b], out=slots[out])
            elif table == 8:
                np.bitwise_and(slots[a], slots[b], out=slots[out])
            elif table == 4:
                np.invert(slots[b], out=short)
                np.bitwise_and(slots[a], short, out=slots[out])
            elif table == 14:
                np.bitwise_or(slots[a], slots[b], out=slots[out])
            elif table == 3:
                np.invert(slots[a], out=slots[out])
            else:
                slots[out].fill(0 if table == 0 else 0xFFFFFFFFFFFFFFFF)
        results[:, start : start + width] = values[program.outputs, :width]
    return results


def run_by_numba(program: Program, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Run a program on words [num_inputs, W] by a loop that numba compiled once for all circuits."""
    from ordinate.logic.compiled_loop import run_blocks

    total, block = words.shape[1], BLOCK_WORDS["numba"]
    whole = -(-max(total, 1) // block) * block
    if whole != total:
        words = np.pad(words, ((0, 0), (0, whole - total)))
    results = np.empty((len(program.outputs), whole), np.uint64)
    values = np.zeros((program.num_slots, block), np.uint64)
    run_blocks(program.tables, program.a, program.b, program.out, program.outputs, np.ascontiguousarray(words), values, results)
    return results[:, :total]


def _has_numba() -> bool:
    from importlib.util import find_spec

    return find_spec("numba") is not None
