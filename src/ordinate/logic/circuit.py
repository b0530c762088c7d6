"""A logic-gate network as a plain netlist: gates as truth tables, votes of their outputs, a bias and a temperature.

Nothing here is learned or relaxed: what trains makes a `Circuit`, and what simplifies, runs or emits takes one. A node is a
truth table of two earlier signals, so constants (tables 0 and 15), wires (12, 10) and inverters (3, 5) are nodes like gates.
Bit 2a + b of a table is the output for inputs a and b: AND is 8, OR is 14, XOR is 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ordinate.logic.input_thresholds import InputThresholds
from ordinate.logic.words import as_bits

if TYPE_CHECKING:
    from ordinate.logic.bitparallel import BitParallel

__all__ = ["CONSTANT_TABLES", "INVERTER_TABLES", "WIRE_TABLES", "Circuit", "Votes"]

CONSTANT_TABLES, WIRE_TABLES, INVERTER_TABLES = (0, 15), (12, 10), (3, 5)
_NOT_GATES = np.isin(np.arange(16), [*CONSTANT_TABLES, *WIRE_TABLES, *INVERTER_TABLES])


class Votes(NamedTuple):
    """The votes for one class: `sum(weights * signals)`.

    Args:
        signals: int32 [votes], which signals vote; inputs are signals too.
        weights: int64 [votes], with what whole number each counts; at least +1 or -1.
    """

    signals: npt.NDArray[np.int32]
    weights: npt.NDArray[np.int64]

    @classmethod
    def of(cls, signals: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Votes:
        """Votes of these signals; every weight is +1 unless given."""
        chosen = np.atleast_1d(np.asarray(signals)).astype(np.int32)
        return cls(chosen, np.ones(len(chosen), np.int64) if weights is None else np.atleast_1d(np.asarray(weights, np.int64)))


@dataclass(frozen=True, eq=False)
class Circuit:
    """A Boolean circuit with two-input nodes and a score for each class.

    Signals are numbered: inputs 0 to num_inputs - 1, then the nodes in order; a node reads only earlier signals. Then

        score[c] = (sum of weight * signal over the votes for c + bias[c]) / tau

    and the answer is the class of the greatest score, of equal ones the first.

    Args:
        num_inputs: bits that come in.
        tables: uint8 [nodes], truth tables 0 to 15; bit 2a + b is the output.
        inputs_a: int32 [nodes], the signal that each node reads as a.
        inputs_b: int32 [nodes], the signal that it reads as b.
        votes: for each class its `Votes`, or (signals, weights).
        bias: float64 [classes], in votes; zeros if not given. Kept in multiples of 2^-20, so that whole votes add to it without
            rounding and "the same scores" can mean the same bits.
        tau: temperature that divides the scores; greater than 0.
        inputs: thresholds that make the input bits from numbers such as pixels, or None where bits come in.
        labels: for each class the label it stands for; 0, 1, 2, ... if not given.
        notes: what else travels along: where the circuit comes from, its accuracy.

    Raises:
        ArgumentError: a node that reads a later signal (a cycle), a table past 15, a vote for no signal, a weight of another
            length than its signals, a temperature that is not positive, a bias that is not finite.

    >>> both = Circuit(2, [8, 14, 6], [0, 0, 2], [1, 1, 3], votes=[([2], [1]), ([4], [1])])
    >>> both.evaluate([[1, 1], [0, 1]]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> both.num_gates, both.predict([[1, 1], [0, 1]]).tolist()
    (3, [0, 1])
    """

    num_inputs: int
    tables: npt.NDArray[np.uint8]
    inputs_a: npt.NDArray[np.int32]
    inputs_b: npt.NDArray[np.int32]
    votes: tuple[Votes, ...]
    bias: npt.NDArray[np.float64]
    tau: float = 1.0
    inputs: InputThresholds | None = None
    labels: tuple[int, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __init__(
        self,
        num_inputs: int,
        tables: npt.ArrayLike,
        inputs_a: npt.ArrayLike,
        inputs_b: npt.ArrayLike,
        votes: Sequence[Votes | tuple[npt.ArrayLike, npt.ArrayLike]],
        bias: npt.ArrayLike | None = None,
        tau: float = 1.0,
        inputs: InputThresholds | None = None,
        labels: Sequence[int] | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        from ordinate.logic.circuit_checks import check_circuit, whole

        put = object.__setattr__
        put(self, "num_inputs", int(num_inputs))
        put(self, "tables", whole(tables, np.uint8, "tables"))
        put(self, "inputs_a", whole(inputs_a, np.int32, "inputs_a"))
        put(self, "inputs_b", whole(inputs_b, np.int32, "inputs_b"))
        put(
            self,
            "votes",
            tuple(
                Votes(whole(signals, np.int32, f"votes[{place}] signals"), whole(weights, np.int64, f"votes[{place}] weights"))
                for place, (signals, weights) in enumerate(votes)
            ),
        )
        put(self, "bias", np.zeros(len(self.votes)) if bias is None else np.round(np.array(bias, np.float64) * 2**20) / 2**20)
        put(self, "tau", float(tau))
        put(self, "inputs", inputs)
        put(self, "labels", tuple(range(len(self.votes))) if labels is None else tuple(int(label) for label in labels))
        put(self, "notes", dict(notes or {}))
        check_circuit(self)
        for array in (self.tables, self.inputs_a, self.inputs_b, self.bias, *(part for vote in self.votes for part in vote)):
            array.flags.writeable = False

    def __repr__(self) -> str:
        return (
            f"Circuit({self.num_inputs} inputs, {self.num_gates} gates, {self.num_inverters} inverters, "
            f"{self.num_constants} constants, {self.num_votes} votes for {self.num_classes} classes, tau={self.tau:g})"
        )

    # --- sizes

    @property
    def num_classes(self) -> int:
        """Classes that are voted for."""
        return len(self.votes)

    @property
    def num_nodes(self) -> int:
        """Nodes of any kind."""
        return len(self.tables)

    @property
    def num_gates(self) -> int:
        """Nodes that truly depend on two inputs; constants, wires and inverters are counted apart."""
        return int((~_NOT_GATES[self.tables]).sum())

    @property
    def num_inverters(self) -> int:
        """Nodes that are the complement of one input."""
        return int(np.isin(self.tables, INVERTER_TABLES).sum())

    @property
    def num_constants(self) -> int:
        """Nodes that depend on no input."""
        return int(np.isin(self.tables, CONSTANT_TABLES).sum())

    @property
    def num_votes(self) -> int:
        """Votes of all classes together."""
        return sum(len(vote.signals) for vote in self.votes)

    # --- what it computes

    def evaluate(self, bits: Any) -> npt.NDArray[np.float64]:
        """The scores [..., classes] for input bits [..., num_inputs]: votes plus bias, divided by tau.

        Raises:
            ShapeError: another number of inputs.
            ArgumentError: a value that is neither 0 nor 1.
        """
        return (self.count(bits) + self.bias) / self.tau

    def count(self, bits: Any) -> npt.NDArray[np.int64]:
        """The weighted votes [..., classes] as whole numbers, without bias and tau. Raises as `evaluate`."""
        given = as_bits(bits, self.num_inputs)
        counted = self._runtime().count(given.reshape(-1, self.num_inputs))
        return counted.reshape(*given.shape[:-1], self.num_classes)

    def signals(self, bits: Any) -> npt.NDArray[np.bool_]:
        """Every signal [..., num_inputs + nodes], inputs included. Raises as `evaluate`."""
        given = as_bits(bits, self.num_inputs)
        found = self._runtime().signals(given.reshape(-1, self.num_inputs))
        return found.reshape(*given.shape[:-1], self.num_inputs + self.num_nodes)

    def predict(self, bits: Any) -> npt.NDArray[np.int64]:
        """The class [...] with the greatest score, of equal ones the first; compared exactly, without rounding.

        `labels` says what label a class stands for. Raises as `evaluate`.
        """
        given = as_bits(bits, self.num_inputs)
        return self._runtime().predict(given.reshape(-1, self.num_inputs)).reshape(given.shape[:-1])

    def _runtime(self) -> BitParallel:
        from ordinate.logic.bitparallel import BitParallel

        kept: BitParallel | None = self.__dict__.get("_kept_runtime")
        if kept is None:
            kept = BitParallel(self)
            object.__setattr__(self, "_kept_runtime", kept)
        return kept

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_kept")}

    def simplify(self, *, sat: bool = True) -> Circuit:
        """A smaller circuit with the same scores on every input (`ordinate.logic.simplify` tells the steps).

        Args:
            sat: also merge what a SAT solver proves equal.

        Raises:
            MissingExtraError: python-sat is not installed and `sat` asks for it.
        """
        from ordinate.logic.simplify import simplify

        return simplify(self, sat=sat).circuit

    # --- where it comes from and where it goes

    def save(self, path: str | Path) -> None:
        """Write the circuit as JSON (`docs/logic-circuits.md` has the schema).

        Raises:
            OutputError: a place that cannot be written to.
        """
        from ordinate.logic.circuit_files import save

        save(self, path)

    def to_c(self, name: str = "circuit") -> str:
        """One C99 file that needs nothing else; `ordinate.logic.c_source` says what is in it.

        Args:
            name: what every name in the file begins with.

        Raises:
            ArgumentError: a name that is none in C.
        """
        from ordinate.logic.c_source import c_source

        return c_source(self, name)

    def to_verilog(self, name: str = "circuit", *, pipelined: bool = False, thresholds: bool = False) -> str:
        """A Verilog module; `ordinate.logic.verilog` says what its ports are.

        Args:
            name: of the module.
            pipelined: put registers into counting and comparing.
            thresholds: take numbers of 8 bits and compare them with the circuit's thresholds, instead of bits.

        Raises:
            ArgumentError: a name that is none in Verilog.
            RefusedError: thresholds are asked for and the circuit has none.
        """
        from ordinate.logic.verilog import verilog

        return verilog(self, name, pipelined=pipelined, thresholds=thresholds)

    @classmethod
    def from_network(cls, network: Any, *, input_shape: Sequence[int] | None = None, input_scale: float = 1.0) -> Circuit:
        """The circuit that a network is in evaluation. Arguments and errors as `ordinate.logic.from_network.from_network`."""
        from ordinate.logic.from_network import from_network

        return from_network(network, input_shape=input_shape, input_scale=input_scale)

    @classmethod
    def load(cls, path: str | Path) -> Circuit:
        """Read a circuit from JSON.

        Raises:
            MissingDataError: no such file.
            DataError: not a circuit, another version, a cycle, a field that is missing or wrong.
        """
        from ordinate.logic.circuit_files import load

        return load(path)
