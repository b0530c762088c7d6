"""A logic-gate network as plain data: gates as truth tables, votes for classes, a bias and a temperature.

Nothing here is learned or relaxed. A node is a truth table of two earlier signals, so constants (tables 0 and 15), wires (12,
10) and inverters (3, 5) are nodes like gates. Bit 2a + b of a table is the output for inputs a and b: AND is 8, OR 14, XOR 6.
What a circuit must satisfy is checked once, when it is constructed, so that no later function has to. What runs, simplifies,
writes or trains circuits stands in modules that import this one; the best known of those functions are bound as methods in
`ordinate.logic.methods`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_integer, check_number
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.logic.circuit.arrays import integer_array, number_array
from ordinate.logic.circuit.input_thresholds import FixedPoint, InputThresholds

__all__ = ["CONSTANT_TABLES", "INVERTER_TABLES", "WIRE_TABLES", "Circuit", "Votes"]

CONSTANT_TABLES, WIRE_TABLES, INVERTER_TABLES = (0, 15), (12, 10), (3, 5)
_MOST = 2**31 - 1
"""The sum of a class's weights, without their signs, fits 32 bits: every runtime counts in such."""
_LEAST_TAU = 1e-290  # a score, whose votes and bias stay below 2^32, is then finite
_LEAST_TAU = 1e-200
_NOT_GATES = np.isin(np.arange(16), [*CONSTANT_TABLES, *WIRE_TABLES, *INVERTER_TABLES])


class Votes(NamedTuple):
    """The votes for one class: `sum(weights * signals)`.

    Args:
        signals: int32 [votes], which signals vote; inputs are signals too.
        weights: int64 [votes], the integer weight of each signal.

    >>> Votes.of([4, 5]).weights.tolist(), Votes.of([4, 5], [1, -1]).weights.tolist()
    ([1, 1], [1, -1])
    """

    signals: npt.NDArray[np.int32]
    weights: npt.NDArray[np.int64]

    @classmethod
    def of(cls, signals: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Votes:
        """Votes of these signals, each with weight +1 unless `weights` says otherwise."""
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
        bias: float64 [classes], in votes; zeros by default. Kept in multiples of 2^-20, so that whole votes add to it without
            rounding and "the same scores" can mean the same bits.
        tau: temperature that divides the scores; greater than 0.
        inputs: thresholds that make the input bits from numbers such as pixels, or None where bits come in.
        labels: for each class the label it stands for, an integer or text; 0, 1, 2, ... by default.
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
    labels: tuple[int | str, ...] = ()
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
        labels: Sequence[int | str] | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "num_inputs", check_integer("num_inputs", num_inputs, minimum=1, maximum=_MOST))
        put(self, "tables", integer_array(tables, np.uint8, "tables"))
        put(self, "inputs_a", integer_array(inputs_a, np.int32, "inputs_a"))
        put(self, "inputs_b", integer_array(inputs_b, np.int32, "inputs_b"))
        put(
            self,
            "votes",
            tuple(
                Votes(
                    integer_array(signals, np.int32, f"votes[{place}] signals"),
                    integer_array(weights, np.int64, f"votes[{place}] weights"),
                )
                for place, (signals, weights) in enumerate(votes)
            ),
        )
        put(self, "bias", np.zeros(len(self.votes)) if bias is None else _in_steps(number_array(bias, "bias")))
        put(self, "tau", check_number("tau", tau, above=0))
        if self.tau < _LEAST_TAU:
            raise ArgumentError("tau", expected=f"at least {_LEAST_TAU:g}, so that scores are finite", got=self.tau)
        put(self, "inputs", inputs)
        put(self, "labels", tuple(range(len(self.votes)) if labels is None else map(_label, labels)))
        put(self, "notes", dict(_notes(notes)))
        _check_circuit(self)
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

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_cached")}

    if TYPE_CHECKING:  # bound by `ordinate.logic.methods`, which has their documentation

        def evaluate(self, bits: Any) -> npt.NDArray[np.float64]: ...
        def count(self, bits: Any) -> npt.NDArray[np.int64]: ...
        def signals(self, bits: Any) -> npt.NDArray[np.bool_]: ...
        def predict(self, bits: Any) -> npt.NDArray[np.int64]: ...
        def simplify(self, *, sat: bool = True) -> Circuit: ...
        def save(self, path: str | Path) -> None: ...
        def to_c(self, name: str = "circuit", *, dtype: str | None = None) -> str: ...
        def to_verilog(
            self,
            name: str = "circuit",
            *,
            pipelined: bool = False,
            thresholds: bool = False,
            number: FixedPoint | None = None,
        ) -> str: ...
        @classmethod
        def load(cls, path: str | Path) -> Circuit: ...
        @classmethod
        def from_network(
            cls, network: Any, *, input_shape: Sequence[int] | None = None, input_scale: float = 1.0
        ) -> Circuit: ...


def _in_steps(bias: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    if not (np.abs(bias) <= 2**30).all():
        raise ArgumentError("bias", expected="numbers of at most 2^30", got=bias.tolist())
    return np.round(bias * 2**20) / 2**20


def _notes(notes: Any) -> Mapping[str, Any]:
    if notes is None:
        return {}
    if not isinstance(notes, Mapping):
        raise ArgumentTypeError("notes", expected="a mapping", got=type(notes).__name__)
    return notes


def _label(label: Any) -> int | str:
    return str(label) if isinstance(label, str) else check_integer("labels", label, hint="labels are integers or text")


def _check_circuit(circuit: Circuit) -> None:
    """Refuse a circuit that is none. Raises ArgumentError; see `Circuit`."""
    nodes = len(circuit.tables)
    for name in ("inputs_a", "inputs_b"):
        if len(getattr(circuit, name)) != nodes:
            raise ArgumentError(name, expected=f"{nodes}, one a node", got=len(getattr(circuit, name)))
    if nodes and circuit.tables.max() > 15:
        place = int(np.argmax(circuit.tables > 15))
        raise ArgumentError(
            f"tables[{place}]",
            expected="a truth table of two inputs, 0 to 15",
            got=int(circuit.tables[place]),
        )
    _check_order(circuit)
    if not circuit.votes:
        raise ArgumentError("votes", expected="at least one class", got="none")
    signals = circuit.num_inputs + nodes
    for place, vote in enumerate(circuit.votes):
        if len(vote.signals) != len(vote.weights):
            raise ArgumentError(
                f"votes[{place}] weights",
                expected=f"{len(vote.signals)}, one a signal",
                got=len(vote.weights),
            )
        if len(vote.signals) and not (vote.signals.min() >= 0 and vote.signals.max() < signals):
            wrong = next(int(signal) for signal in vote.signals if not 0 <= signal < signals)
            raise ArgumentError(f"votes[{place}] signals", expected=f"signals from 0 to {signals - 1}", got=wrong)
        # the largest weight first: a sum of larger ones might wrap around
        if len(vote.weights) and (
            np.abs(vote.weights).max() > _MOST or vote.weights.min() < -_MOST or np.abs(vote.weights).sum() > _MOST
        ):
            raise ArgumentError(
                f"votes[{place}] weights",
                expected="a sum that fits 32 bits",
                got="a greater one",
                hint="divide the weights, and tau with them",
            )
    if circuit.tau < _LEAST_TAU:
        raise ArgumentError("tau", expected=f"at least {_LEAST_TAU}, so that every score is finite", got=circuit.tau)
    if circuit.bias.shape != (circuit.num_classes,):
        raise ArgumentError(
            "bias",
            expected=f"{circuit.num_classes}, one a class",
            got=f"shape {list(circuit.bias.shape)}",
        )
    if len(circuit.labels) != circuit.num_classes:
        raise ArgumentError("labels", expected=f"{circuit.num_classes}, one a class", got=len(circuit.labels))
    if circuit.inputs is not None and len(circuit.inputs.feature) != circuit.num_inputs:
        raise ArgumentError(
            "inputs",
            expected=f"{circuit.num_inputs} thresholds, one an input bit",
            got=len(circuit.inputs.feature),
            hint="give the thresholds that the circuit was trained with",
        )


def _check_order(circuit: Circuit) -> None:
    """Every node reads earlier signals only; where one does not, say whether that closes a cycle."""
    own = circuit.num_inputs + np.arange(len(circuit.tables))
    for name, read in (("inputs_a", circuit.inputs_a), ("inputs_b", circuit.inputs_b)):
        if len(read) and read.min() < 0:
            place = int(np.argmin(read))
            raise ArgumentError(f"{name}[{place}]", expected="a signal", got=int(read[place]))
    late = np.maximum(circuit.inputs_a, circuit.inputs_b) >= own
    if not late.any():
        return
    place = int(np.argmax(late))
    signal = circuit.num_inputs + place
    beyond = int(max(circuit.inputs_a.max(), circuit.inputs_b.max()))
    if beyond >= circuit.num_inputs + len(circuit.tables):
        raise ArgumentError(
            "inputs_a, inputs_b",
            expected=f"signals from 0 to {circuit.num_inputs + len(circuit.tables) - 1}",
            got=beyond,
        )
    cycle = _cycle(circuit)
    if cycle:
        raise ArgumentError(
            "nodes",
            expected="no cycle",
            got="signals that depend on themselves: " + " reads ".join(map(str, cycle)),
        )
    raise ArgumentError(
        f"nodes[{place}]",
        expected="to read earlier signals only",
        got=f"signal {signal} that reads {max(int(circuit.inputs_a[place]), int(circuit.inputs_b[place]))}",
        hint="sort the nodes so that each comes after what it reads",
    )


def _cycle(circuit: Circuit) -> list[int]:
    """The signals of one cycle in reading order, first repeated at the end; empty where there is none."""
    first = circuit.num_inputs
    state = [0] * len(circuit.tables)  # 0 unseen, 1 on the path, 2 done
    for start in range(len(circuit.tables)):
        if state[start]:
            continue
        path, reads = [start], [iter((circuit.inputs_a[start], circuit.inputs_b[start]))]
        state[start] = 1
        while path:
            step = next(reads[-1], None)
            if step is None:
                state[path.pop()] = 2
                reads.pop()
                continue
            node = int(step) - first
            if node < 0 or state[node] == 2:
                continue
            if state[node] == 1:
                return [*(first + one for one in path[path.index(node) :]), first + node]
            state[node] = 1
            path.append(node)
            reads.append(iter((circuit.inputs_a[node], circuit.inputs_b[node])))
    return []
