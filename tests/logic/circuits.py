"""Random circuits, and what they compute by a few lines of plain Python that share nothing with the package."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ordinate.logic import Circuit, InputThresholds

GENUINE = (1, 2, 4, 6, 7, 8, 9, 11, 13, 14)


def random_circuit(
    seed: int,
    num_inputs: int = 8,
    nodes: int = 60,
    classes: int = 4,
    votes: int = 20,
    *,
    tables: tuple[int, ...] = tuple(range(16)),
    reach: int | None = None,
    thresholds: InputThresholds | None = None,
    tau: float = 2.5,
) -> Circuit:
    """Any tables, any earlier signals (of the last `reach`), weights -3 to 3, some signals voting twice, odd biases."""
    generator = np.random.default_rng(seed)
    pairs = [
        generator.integers(max(0, num_inputs + node - (reach or num_inputs + node)), num_inputs + node, 2)
        for node in range(nodes)
    ]
    a, b = np.array(pairs, np.int64).reshape(-1, 2).T
    return Circuit(
        num_inputs,
        generator.choice(tables, nodes),
        a,
        b,
        votes=[(generator.integers(0, num_inputs + nodes, votes), generator.integers(-3, 4, votes)) for _ in range(classes)],
        bias=generator.normal(size=classes).round(3),
        tau=tau,
        inputs=thresholds,
    )


def plain_signals(circuit: Circuit, row: list[int]) -> list[int]:
    values = [int(bit) for bit in row]
    for table, a, b in zip(circuit.tables.tolist(), circuit.inputs_a.tolist(), circuit.inputs_b.tolist(), strict=True):
        values.append(table >> (2 * values[a] + values[b]) & 1)
    return values


def plain_totals(circuit: Circuit, row: list[int]) -> list[Fraction]:
    """Votes plus bias of each class, exactly."""
    values = plain_signals(circuit, row)
    return [
        sum((int(w) * values[int(s)] for s, w in zip(vote.signals, vote.weights, strict=True)), Fraction(float(bias)))
        for vote, bias in zip(circuit.votes, circuit.bias, strict=True)
    ]


def plain_scores(circuit: Circuit, bits: np.ndarray) -> np.ndarray:
    return np.array([[float(total) / circuit.tau for total in plain_totals(circuit, row)] for row in bits.astype(int).tolist()])


def plain_classes(circuit: Circuit, bits: np.ndarray) -> np.ndarray:
    """The first class of the greatest exact total."""
    totals = [plain_totals(circuit, row) for row in bits.astype(int).tolist()]
    return np.array([max(range(len(row)), key=lambda place: (row[place], -place)) for row in totals])


def every_input(num_inputs: int) -> np.ndarray:
    return (np.arange(1 << num_inputs)[:, None] >> np.arange(num_inputs) & 1).astype(bool)


def some_inputs(seed: int, images: int, num_inputs: int) -> np.ndarray:
    return np.random.default_rng(seed).random((images, num_inputs)) < 0.5


def flipped(circuit: Circuit, node: int, bit: int) -> Circuit:
    """The circuit with one bit of one truth table turned over."""
    tables = circuit.tables.copy()
    tables[node] ^= 1 << bit
    return Circuit(
        circuit.num_inputs, tables, circuit.inputs_a, circuit.inputs_b, circuit.votes, circuit.bias, circuit.tau, circuit.inputs
    )
