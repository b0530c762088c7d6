"""A circuit that exists already, trained on by gradient descent: same wiring, same votes, gates free to become others.

Growth chooses each gate against what came before it and never looks back. Here all gates are relaxed at once around what
they are (a residual start, but at the circuit itself), trained straight through, and read off again. What validation does not
confirm is not taken.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentError
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.kernels.gates import by_rows, relaxed_gates
from ordinate.logic.network.network import LogicNetwork
from ordinate.logic.network.parametrisation import GateBank
from ordinate.logic.network.training import TrainingSettings, accuracy, train

__all__ = ["RelaxedCircuit", "fine_tuned"]


class RelaxedCircuit(nn.Module):
    """The nodes of a circuit as learned gates, level by level; its votes, bias and temperature as they are.

    Args:
        circuit: any with at least one node.
        certainty: with which each corner of a gate starts as it is.

    Raises:
        ArgumentError: a circuit without nodes.

    >>> module = RelaxedCircuit(Circuit(2, [6, 8], [0, 2], [1, 1], votes=[([2], [1]), ([3], [1])])).eval()
    >>> module(torch.tensor([[0.0, 1.0], [1.0, 1.0]])).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """

    votes: Tensor
    bias: Tensor

    def __init__(self, circuit: Circuit, certainty: float = 0.95) -> None:
        super().__init__()
        if not circuit.num_nodes:
            raise ArgumentError("circuit", expected="at least one node", got="none")
        self.num_inputs, self.tau = circuit.num_inputs, circuit.tau
        level = np.zeros(circuit.num_inputs + circuit.num_nodes, np.int64)
        for node, (a, b) in enumerate(
            zip(circuit.inputs_a.tolist(), circuit.inputs_b.tolist(), strict=True), circuit.num_inputs
        ):
            level[node] = 1 + max(level[a], level[b])
        order = np.argsort(level, kind="stable")  # inputs stay first
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self.order = order[circuit.num_inputs :] - circuit.num_inputs
        self.levels = nn.ModuleList()
        for number in range(1, int(level.max()) + 1):
            nodes = np.flatnonzero(level[circuit.num_inputs :] == number)
            bank = GateBank((len(nodes),), mode="hard")
            bank.set_tables(torch.from_numpy(circuit.tables[nodes].astype(np.int64)), certainty)
            reads = np.stack((place[circuit.inputs_a[nodes]], place[circuit.inputs_b[nodes]]))
            bank.register_buffer("wiring", torch.from_numpy(reads))
            self.levels.append(bank)
        weights = np.zeros((len(order), circuit.num_classes), np.float32)
        for label, vote in enumerate(circuit.votes):
            np.add.at(weights[:, label], place[vote.signals], vote.weights)
        self.register_buffer("votes", torch.from_numpy(weights))
        self.register_buffer("bias", torch.from_numpy(circuit.bias.astype(np.float32)))

    def tables(self) -> np.ndarray:
        """The discrete gates, uint8 [nodes], in the circuit's own order."""
        tables = np.empty(len(self.order), np.uint8)
        tables[self.order] = torch.cat([bank.tables() for bank in self.levels]).numpy()  # type: ignore[operator]
        return tables

    def forward(self, x: Tensor) -> Tensor:
        """Bits (..., inputs) to scores (..., classes)."""
        rows = by_rows(x.reshape(-1, self.num_inputs))
        for bank in self.levels:
            coefficients: Tensor = bank.coefficients().to(x.dtype)  # type: ignore[operator]
            rows = torch.cat((rows, relaxed_gates(rows, coefficients, bank.wiring)))  # type: ignore[arg-type]
        scores = (rows.T @ self.votes + self.bias) / self.tau
        return scores.reshape(*x.shape[:-1], -1)


def fine_tuned(
    circuit: Circuit,
    train_examples: tuple[Tensor, Tensor],
    validation: tuple[Tensor, Tensor],
    settings: TrainingSettings | None = None,
) -> Circuit:
    """The circuit with gates trained on, or itself where validation does not gain.

    Args:
        circuit: whose wiring, votes, bias and temperature stay.
        train_examples: bits [N, inputs] and labels int64 [N].
        validation: likewise; the epoch of the best discrete accuracy is taken, if it is better than the circuit's own.
        settings: by default 10 epochs at a rate of 0.02.

    Raises:
        ArgumentError: as `train`, and a circuit without nodes.

    >>> x = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]).repeat(32, 1)
    >>> nearly = Circuit(2, [14], [0], [1], votes=[([2], [-1]), ([2], [1])])  # or, where xor is wanted
    >>> examples = (x, x[:, 0] ^ x[:, 1])
    >>> fine_tuned(nearly, examples, examples, TrainingSettings(learning_rate=0.1, batch_size=16)).tables.tolist()
    [6]
    """
    settings = settings or TrainingSettings(epochs=10, learning_rate=0.02, batch_size=256)
    module = RelaxedCircuit(circuit)
    network = LogicNetwork(module)
    before = accuracy(network, validation)
    if accuracy(train(network, train_examples, validation, settings).network, validation) <= before:
        return circuit
    return Circuit(
        circuit.num_inputs,
        module.tables(),
        circuit.inputs_a,
        circuit.inputs_b,
        circuit.votes,
        circuit.bias,
        circuit.tau,
        circuit.inputs,
        circuit.labels,
        {**circuit.notes, "fine_tuned": {"epochs": settings.epochs, "seed": settings.seed}},
    )
