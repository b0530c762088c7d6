"""A circuit while it grows: its gates, their votes, and its signals and scores on the training and the validation images.

Signals are packed, eight examples a byte, one row a signal. Scores are integer counts of votes, so that adding and removing
leave no trace, and a state that is built again from its gates is the same to the bit. Inputs that hardly ever change are left
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ordinate.logic.circuit.circuit import Circuit, Votes
from ordinate.logic.circuit.input_thresholds import InputThresholds
from ordinate.logic.growth.features import PooledKernels
from ordinate.logic.growth.scoring import COMPILED, Candidates, calibrated

__all__ = ["Examples", "GrowthState", "SignalBank", "Snapshot", "apply_gate", "packed_signals"]

Bytes = npt.NDArray[np.uint8]


def apply_gate(table: int, a: Bytes, b: Bytes) -> Bytes:
    """The gate of a truth table on packed bits: the OR of its minterms, for the genuine gates in at most two operations more.

    >>> bits = np.packbits([[0, 0, 1, 1], [0, 1, 0, 1]], axis=1)
    >>> np.unpackbits(apply_gate(0b0110, *bits), count=4).tolist()
    [0, 1, 1, 0]
    """
    simple = {
        8: lambda: a & b,
        14: lambda: a | b,
        6: lambda: a ^ b,
        7: lambda: ~(a & b),
        1: lambda: ~(a | b),
        9: lambda: ~(a ^ b),
        4: lambda: a & ~b,
        2: lambda: ~a & b,
        13: lambda: a | ~b,
        11: lambda: ~a | b,
    }
    if table in simple:
        return simple[table]()
    result = np.zeros_like(a)
    for corner in range(4):
        if table >> corner & 1:
            result |= (a if corner & 2 else ~a) & (b if corner & 1 else ~b)
    return result


def packed_signals(inputs: npt.NDArray[np.bool_]) -> Bytes:
    """Bits [examples, inputs] as signals [inputs, ceil(examples / 8)], eight examples a byte."""
    rows = np.empty((inputs.shape[1], -(-len(inputs) // 8)), np.uint8)
    for first in range(0, len(rows), 64):  # a transposed copy of all inputs at once would not fit a small machine
        rows[first : first + 64] = np.packbits(inputs[:, first : first + 64].T, axis=1)
    return rows


class SignalBank:
    """Packed bits of inputs and gates, [signals, ceil(examples / 8)].

    Args:
        inputs: of `packed_signals`, [inputs, ceil(examples / 8)].
        examples: how many.
        capacity: how many gates there will be room for.

    >>> bank = SignalBank(packed_signals(np.array([[0, 1], [1, 1], [1, 0]], dtype=bool)), examples=3, capacity=1)
    >>> bank.add(8, 0, 1)
    >>> bank.bits(2).tolist()
    [0, 1, 0]
    """

    def __init__(self, inputs: Bytes, examples: int, capacity: int) -> None:
        self.examples, self.count, self.capacity = examples, len(inputs), capacity
        self._rows = np.zeros((self.count + capacity, inputs.shape[1]), np.uint8)
        self._rows[: self.count] = inputs

    def add(self, table: int, a: int, b: int) -> None:
        """Append the output of a gate on two signals."""
        self._rows[self.count] = apply_gate(table, self._rows[a], self._rows[b])
        self.count += 1

    def keep(self, signals: npt.NDArray[np.int64]) -> None:
        """Keep these signals alone, in this order."""
        self._rows[: len(signals)] = self._rows[signals]
        self.count = len(signals)

    def bits(self, signal: int) -> npt.NDArray[np.uint8]:
        """One signal on every example, uint8 [examples]."""
        return np.unpackbits(self._rows[signal], count=self.examples)

    def packed(self, signal: int) -> Bytes:
        """One signal as it is kept, eight examples a byte."""
        return self._rows[signal]

    def sampled(self, signals: npt.NDArray[np.int64], examples: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """Some signals on some examples, uint8 [signals, examples]."""
        if COMPILED:
            from ordinate.logic.kernels.compiled_growth import gather

            out = np.empty((len(signals), len(examples)), np.uint8)
            gather(self._rows, signals, examples, out)
            return out
        shift = (7 - (examples & 7)).astype(np.uint8)
        return (self._rows[signals][:, examples >> 3] >> shift) & np.uint8(1)

    def gates(self, gates: Candidates, examples: npt.NDArray[np.int64]) -> Tensor:
        """Gates that might be added on some examples, float32 [gates, examples]."""
        # torch's memory: the last bit of a product can depend on how an array is aligned
        out = torch.empty(len(gates.tables), len(examples))
        if COMPILED:
            from ordinate.logic.kernels import compiled_growth

            compiled_growth.gates(self._rows, *gates, examples, out.numpy())
        else:
            x, y = self.sampled(gates.first, examples), self.sampled(gates.second, examples)
            corners = np.array([[table >> corner & 1 for corner in range(4)] for table in gates.tables.tolist()], np.float32)
            out.numpy()[:] = np.take_along_axis(corners, (2 * x + y).astype(np.int64), 1)
        return out

    def count_votes(self, signal: int, amount: int, scores: npt.NDArray[np.float32]) -> None:
        """Add an amount to the scores [examples] where a signal is 1."""
        if COMPILED:
            from ordinate.logic.kernels import compiled_growth

            compiled_growth.count(self._rows[signal], np.float32(amount), scores)
        else:
            scores += amount * self.bits(signal).astype(np.float32)


_CALIBRATED_ON = 20_000
_RARE = 500
"""An input that is 1, or 0, on fewer than one in so many examples is left out."""


class Examples:
    """Signals and scores on one set of images.

    Args:
        inputs: of `packed_signals`.
        labels: int64 [N].
        num_classes: K.
        capacity: gates there will be room for.
    """

    def __init__(self, inputs: Bytes, labels: npt.NDArray[np.int64], num_classes: int, capacity: int) -> None:
        self.signals = SignalBank(inputs, len(labels), capacity)
        self.labels = torch.from_numpy(labels)
        self.scores = np.zeros((num_classes, len(labels)), np.float32)

    def vote(self, signal: int, votes: npt.NDArray[np.int8], times: int = 1) -> None:
        """Count a signal's votes."""
        for label in np.flatnonzero(votes):
            self.signals.count_votes(signal, times * int(votes[label]), self.scores[label])

    def loss(self, tau: float, bias: Tensor) -> tuple[float, float]:
        """Cross-entropy and accuracy."""
        scores = torch.from_numpy(self.scores)
        counts = scores + bias.to(scores).unsqueeze(1)
        value = torch.nn.functional.cross_entropy((counts / tau).T, self.labels)
        return float(value), float((counts.argmax(0) == self.labels).double().mean())


class Snapshot(NamedTuple):
    """A state without its images: gates (table, first signal, second signal), their votes, temperature and bias."""

    gates: list[tuple[int, int, int]]
    votes: list[npt.NDArray[np.int8]]
    tau: float
    bias: Tensor


class GrowthState:
    """Gates and votes, on two sets of images.

    Args:
        train: bool [N, inputs] and int64 [N], distorted copies included.
        validation: likewise.
        num_classes: K.
        capacity: gates there will be room for.
        least_tau: the temperature does not fall below.
        pooled: convolution features that are inputs as well, numbered behind the bits that come in.
    """

    def __init__(
        self,
        train: tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]],
        validation: tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]],
        num_classes: int,
        capacity: int,
        least_tau: float,
        pooled: PooledKernels | None = None,
    ) -> None:
        self.num_inputs, self.num_classes, self.least_tau = train[0].shape[1], num_classes, least_tau
        self.pooled = pooled
        inputs = [packed_signals(part[0]) for part in (train, validation)]
        if pooled is not None:
            inputs = [np.concatenate((part, pooled.packed(part))) for part in inputs]
        ones = np.array([np.unpackbits(row, count=len(train[1])).sum(dtype=np.int64) for row in inputs[0]])
        share = ones / len(train[1])
        used = np.flatnonzero((share > 1 / _RARE) & (share < 1 - 1 / _RARE))
        self.used_inputs = used if len(used) >= 2 else np.arange(self.num_inputs)
        self.train, self.validation = (
            Examples(part[self.used_inputs], labels, num_classes, capacity)
            for part, labels in zip(inputs, (train[1], validation[1]), strict=True)
        )
        self.gates: list[tuple[int, int, int]] = []
        self.votes: list[npt.NDArray[np.int8]] = []
        self.tau, self.bias, self.train_loss = (
            least_tau,
            torch.zeros(num_classes, dtype=torch.float64),
            float(np.log(num_classes)),
        )

    @property
    def num_gates(self) -> int:
        """Gates of the circuit: those that vote or are read, and those of the convolution features that they read."""
        if self.pooled is None:
            return len(self.gates)
        return len(self.gates) + self.pooled.gates_a_feature * len(self._features_read())

    def _features_read(self) -> npt.NDArray[np.int64]:
        """Numbers of the convolution features that some gate reads."""
        read = np.unique(np.array(self.gates, dtype=np.int64).reshape(-1, 3)[:, 1:])
        inputs = self.used_inputs[read[read < len(self.used_inputs)]]
        return np.asarray(inputs[inputs >= self.num_inputs] - self.num_inputs)

    @property
    def num_signals(self) -> int:
        """Inputs in use, and gates."""
        return len(self.used_inputs) + len(self.gates)

    def add(self, table: int, first: int, second: int, votes: npt.NDArray[np.int8]) -> None:
        """Append a gate on two signals, with its votes."""
        for part in (self.train, self.validation):
            part.signals.add(table, first, second)
            part.vote(self.num_signals, votes)
        self.gates.append((table, first, second))
        self.votes.append(votes)

    def set_votes(self, gate: int, votes: npt.NDArray[np.int8]) -> None:
        """Let a gate vote otherwise."""
        changed = votes - self.votes[gate]
        if changed.any():
            for part in (self.train, self.validation):
                part.vote(len(self.used_inputs) + gate, changed)
            self.votes[gate] = votes

    def remove(self, gates: Sequence[int]) -> None:
        """Take gates out that no other gate reads."""
        inputs = len(self.used_inputs)
        gone = set(gates)
        if not gone:
            return
        for gate in gates:
            for part in (self.train, self.validation):
                part.vote(inputs + gate, self.votes[gate], -1)
        kept = [gate for gate in range(len(self.gates)) if gate not in gone]
        signals = np.concatenate((np.arange(inputs), inputs + np.array(kept, dtype=np.int64)))
        number = {int(old): new for new, old in enumerate(signals)}
        for part in (self.train, self.validation):
            part.signals.keep(signals)
        self.gates = [(table, number[a], number[b]) for table, a, b in (self.gates[gate] for gate in kept)]
        self.votes = [self.votes[gate] for gate in kept]

    def snapshot(self) -> Snapshot:
        """What the state can be built from again."""
        return Snapshot(list(self.gates), [votes.copy() for votes in self.votes], self.tau, self.bias.clone())

    def restore(self, snapshot: Snapshot) -> None:
        """Become the state of a snapshot, to the bit."""
        same = 0
        for here, there in zip(self.gates, snapshot.gates, strict=False):
            if here != there:
                break
            same += 1
        self.remove(range(same, len(self.gates)))
        for gate in range(same):
            self.set_votes(gate, snapshot.votes[gate])
        for gate in range(same, len(snapshot.gates)):
            self.add(*snapshot.gates[gate], snapshot.votes[gate].copy())
        self.tau, self.bias = snapshot.tau, snapshot.bias.clone()

    def read_by_others(self) -> npt.NDArray[np.bool_]:
        """Whether another gate reads each gate, bool [gates]."""
        read = np.zeros(self.num_signals, bool)
        if self.gates:
            read[np.array(self.gates)[:, 1:].ravel()] = True
        return read[len(self.used_inputs) :]

    def calibrate(self, generator: np.random.Generator) -> None:
        """Find temperature and bias anew, on a draw of the training images."""
        drawn = generator.permutation(self.train.signals.examples)[:_CALIBRATED_ON]
        rows = torch.from_numpy(drawn)
        scores = torch.from_numpy(self.train.scores)[:, rows]
        self.tau, self.bias, self.train_loss = calibrated(scores, self.train.labels[rows], self.tau, self.bias, self.least_tau)

    def residuals(self) -> npt.NDArray[np.float32]:
        """What is missing to the right answers on all training images, y - p, float32 [K, N]."""
        scores = torch.from_numpy(self.train.scores)
        p = torch.softmax((scores + self.bias.float().unsqueeze(1)) / self.tau, 0)
        p = p.neg_()
        p[self.train.labels, torch.arange(p.shape[1])] += 1
        return p.numpy()

    def to_circuit(self, inputs: InputThresholds | None, labels: Sequence[int | str], notes: dict[str, Any]) -> Circuit:
        """The circuit as it stands."""
        built: list[tuple[int, int, int]] = []  # the gates of convolution features
        places = self.used_inputs.astype(np.int64)
        for feature in self._features_read() if self.pooled is not None else ():
            built += self.pooled.gates(int(feature), self.num_inputs + len(built))  # type: ignore[union-attr]
            places[np.searchsorted(self.used_inputs, self.num_inputs + feature)] = self.num_inputs + len(built) - 1
        first = self.num_inputs + len(built)
        number = np.concatenate((places, first + np.arange(len(self.gates))))
        gates = np.array(self.gates, dtype=np.int64).reshape(-1, 3)
        gates[:, 1:] = number[gates[:, 1:]]
        gates = np.concatenate((np.array(built, dtype=np.int64).reshape(-1, 3), gates))
        weights = np.array(self.votes, dtype=np.int64).reshape(-1, self.num_classes)
        votes = []
        for label in range(self.num_classes):
            voting = np.flatnonzero(weights[:, label])
            votes.append(Votes.of(first + voting, weights[voting, label]))
        return Circuit(
            self.num_inputs,
            gates[:, 0],
            gates[:, 1],
            gates[:, 2],
            votes,
            self.bias.numpy(),
            self.tau,
            inputs,
            labels,
            notes,
        )
