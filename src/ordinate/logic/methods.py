"""The methods of `Circuit` that need modules above it: evaluation, simplification, files and export.

`Circuit` is plain data and imports none of these. They are bound here, once, when `ordinate.logic` is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.logic.circuit import files, runtime
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.input_thresholds import FixedPoint
from ordinate.logic.export.c import c_source
from ordinate.logic.export.verilog import verilog
from ordinate.logic.network import to_circuit
from ordinate.logic.simplify import passes

__all__: list[str] = []


def evaluate(self: Circuit, bits: Any) -> npt.NDArray[np.float64]:
    """The scores [..., classes] for input bits [..., num_inputs]: votes plus bias, divided by tau.

    Raises:
        ShapeError: another number of inputs.
        ArgumentError: a value that is neither 0 nor 1.
    """
    return runtime.class_scores(self, bits)


def count(self: Circuit, bits: Any) -> npt.NDArray[np.int64]:
    """The weighted votes [..., classes] as integers, without bias and tau. Raises as `evaluate`."""
    return runtime.count_votes(self, bits)


def signals(self: Circuit, bits: Any) -> npt.NDArray[np.bool_]:
    """Every signal [..., num_inputs + nodes], inputs included. Raises as `evaluate`."""
    return runtime.all_signals(self, bits)


def predict(self: Circuit, bits: Any) -> npt.NDArray[np.int64]:
    """The class [...] with the greatest score, of equal ones the first; compared exactly, without rounding.

    `labels` has the label of each class. Raises as `evaluate`.
    """
    return runtime.predict_classes(self, bits)


def simplify(self: Circuit, *, sat: bool = True) -> Circuit:
    """A smaller circuit with the same scores on every input, by the passes of `ordinate.logic.simplify`.

    Args:
        sat: also merge what a SAT solver proves equal.

    Raises:
        MissingExtraError: python-sat is not installed and `sat` asks for it.
    """
    return passes.simplify(self, sat=sat).circuit


def save(self: Circuit, path: str | Path) -> None:
    """Write the circuit as JSON (`docs/logic-circuits.md` has the schema).

    Raises:
        OutputError: a place that cannot be written to.
    """
    files.save(self, path)


def to_c(self: Circuit, name: str = "circuit", *, dtype: str | None = None) -> str:
    """One C99 file that needs nothing else, as `ordinate.logic.export.c_source` describes it.

    Args:
        name: what every name in the file begins with.
        dtype: type of the numbers that come in, such as "uint8", "int16" or "float32"; by default that of the thresholds.

    Raises:
        ArgumentError: a name that is none in C.
        UnknownNameError: another dtype.
        RefusedError: a dtype for a circuit without thresholds.
    """
    return c_source(self, name, dtype=dtype)


def to_verilog(
    self: Circuit,
    name: str = "circuit",
    *,
    pipelined: bool = False,
    thresholds: bool = False,
    number: FixedPoint | None = None,
) -> str:
    """A Verilog module, with the ports that `ordinate.logic.export.verilog` describes.

    Args:
        name: of the module.
        pipelined: put registers into counting and comparing.
        thresholds: take numbers and compare them with the circuit's thresholds, instead of bits.
        number: format of these numbers; by default that of the thresholds' integer type, or bytes.

    Raises:
        ArgumentError: a name that is none in Verilog.
        RefusedError: thresholds are asked for and the circuit has none, or they are for floating numbers and `number` is not
            given.
    """
    return verilog(self, name, pipelined=pipelined, thresholds=thresholds, number=number)


def load(cls: type[Circuit], path: str | Path) -> Circuit:
    """Read a circuit from JSON.

    Raises:
        MissingDataError: no such file.
        DataError: not a circuit, another version, a cycle, a field that is missing or wrong.
    """
    return files.load(path)


def from_network(
    cls: type[Circuit], network: Any, *, input_shape: Sequence[int] | None = None, input_scale: float = 1.0
) -> Circuit:
    """The circuit that a network is in evaluation; arguments and errors as `ordinate.logic.network.from_network`."""
    return to_circuit.from_network(network, input_shape=input_shape, input_scale=input_scale)


for _method in (evaluate, count, signals, predict, simplify, save, to_c, to_verilog):
    setattr(Circuit, _method.__name__, _method)
for _constructor in (load, from_network):
    setattr(Circuit, _constructor.__name__, classmethod(_constructor))
