"""A circuit while it grows: its gates, their votes, and its scores on the training and the validation images.

Scores are whole numbers of votes, so that adding and taking away leaves no trace, and a state that is built again from its
gates is the same to the bit. Inputs that hardly ever change are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ordinate.logic.circuit import Circuit, Votes
from ordinate.logic.growth_signals import SignalBank
from ordinate.logic.growth_votes import calibrated
from ordinate.logic.input_thresholds import InputThresholds

__all__ = ["Examples", "GrowthState", "Snapshot"]

_CALIBRATED_ON = 20_000
_RARE = 500
"""An input that is 1, or 0, on fewer than one in so many examples is left out."""


class Examples:
    """Signals and scores on one set of images.

    Args:
        inputs: bool [N, inputs].
        labels: int64 [N].
        num_classes: K.
        capacity: gates there will be room for.
    """

    def __init__(self, inputs: npt.NDArray[np.bool_], labels: npt.NDArray[np.int64], num_classes: int, capacity: int) -> None:
        self.signals = SignalBank(inputs, capacity)
        self.labels = torch.from_numpy(labels)
        self.scores = np.zeros((num_classes, len(labels)), np.float32)

    def vote(self, signal: int, votes: npt.NDArray[np.int8], times: int = 1) -> None:
        """Count a signal's votes."""
        bits = self.signals.bits(signal).astype(np.float32)
        for label in np.flatnonzero(votes):
            self.scores[label] += times * int(votes[label]) * bits

    def loss(self, tau: float, bias: Tensor) -> tuple[float, float]:
        """Cross-entropy and accuracy."""
        scores = torch.from_numpy(self.scores)
        counts = scores + bias.to(scores).unsqueeze(1)
        found = torch.nn.functional.cross_entropy((counts / tau).T, self.labels)
        return float(found), float((counts.argmax(0) == self.labels).double().mean())


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
    """

    def __init__(
        self,
        train: tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]],
        validation: tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]],
        num_classes: int,
        capacity: int,
        least_tau: float,
    ) -> None:
        self.num_inputs, self.num_classes, self.least_tau = train[0].shape[1], num_classes, least_tau
        share = train[0].mean(0)
        used = np.flatnonzero((share > 1 / _RARE) & (share < 1 - 1 / _RARE))
        self.used_inputs = used if len(used) >= 2 else np.arange(self.num_inputs)
        self.train = Examples(train[0][:, self.used_inputs], train[1], num_classes, capacity)
        self.validation = Examples(validation[0][:, self.used_inputs], validation[1], num_classes, capacity)
        self.gates: list[tuple[int, int, int]] = []
        self.votes: list[npt.NDArray[np.int8]] = []
        self.tau, self.bias, self.train_loss = (
            least_tau,
            torch.zeros(num_classes, dtype=torch.float64),
            float(np.log(num_classes)),
        )

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

    def to_circuit(self, inputs: InputThresholds | None, labels: Sequence[int], notes: dict[str, Any]) -> Circuit:
        """The circuit as it stands."""
        number = np.concatenate((self.used_inputs, self.num_inputs + np.arange(len(self.gates))))
        gates = np.array(self.gates, dtype=np.int64).reshape(-1, 3)
        weights = np.array(self.votes, dtype=np.int64).reshape(-1, self.num_classes)
        votes = []
        for label in range(self.num_classes):
            voting = np.flatnonzero(weights[:, label])
            votes.append(Votes.of(self.num_inputs + voting, weights[voting, label]))
        return Circuit(
            self.num_inputs,
            gates[:, 0],
            number[gates[:, 1]],
            number[gates[:, 2]],
            votes,
            self.bias.numpy(),
            self.tau,
            inputs,
            labels,
            notes,
        )
