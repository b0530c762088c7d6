"""Fine-tuning: the relaxed circuit is the circuit, training mends what was spoilt, and nothing that does not help is taken."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from ordinate.data import digits
from ordinate.errors import ArgumentError
from ordinate.logic import Circuit, GrowthSettings, TrainingSettings, grow
from ordinate.logic.circuit.gates import GENUINE
from ordinate.logic.network.fine_tuning import RelaxedCircuit, fine_tuned


def random_circuit(seed: int) -> Circuit:
    generator = np.random.default_rng(seed)
    nodes = 40
    a, b = (np.array([generator.integers(0, 7 + node) for node in range(nodes)]) for _ in range(2))
    tables = generator.integers(0, 16, nodes)
    votes = [(generator.choice(7 + nodes, 9), generator.integers(-2, 3, 9)) for _ in range(3)]
    return Circuit(7, tables, a, b, votes, generator.normal(size=3), 1.7)


@pytest.mark.parametrize("seed", range(5))
def test_the_relaxed_circuit_is_the_circuit_on_every_input(seed: int) -> None:
    circuit = random_circuit(seed)
    bits = np.arange(128)[:, None] >> np.arange(7) & 1
    module = RelaxedCircuit(circuit)
    assert np.array_equal(module.tables(), circuit.tables)
    for training in (False, True):  # straight through: discrete forward in training too
        found = module.train(training)(torch.from_numpy(bits).float()).detach().numpy()
        assert np.allclose(found, circuit.evaluate(bits), atol=1e-5)


def examples(part, threshold: float) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(part.bits(threshold)), torch.from_numpy(part.labels)


def test_spoilt_gates_are_mended_and_wiring_and_votes_stay() -> None:
    data = digits(classes=(0, 1, 2), validation=0.2)
    parts = [(part.images, part.labels) for part in (data.train, data.validation)]
    grown = grow(*parts, data.threshold, GrowthSettings(gates=30, copies=0, replacements=0).quick()).circuit
    tables = grown.tables.copy()
    tables[::3] = np.random.default_rng(0).choice(GENUINE, len(tables[::3]))
    spoilt = Circuit(
        grown.num_inputs, tables, grown.inputs_a, grown.inputs_b, grown.votes, grown.bias, grown.tau, grown.inputs, grown.labels
    )

    def right(circuit: Circuit) -> float:
        return float((circuit.predict(data.validation.bits(data.threshold)) == data.validation.labels).mean())

    settings = TrainingSettings(epochs=15, learning_rate=0.1, batch_size=32, patience=15)
    mended = fine_tuned(spoilt, examples(data.train, data.threshold), examples(data.validation, data.threshold), settings)
    assert right(mended) > right(spoilt) + 0.02
    assert np.array_equal(mended.inputs_a, grown.inputs_a)
    assert all(np.array_equal(ours.signals, theirs.signals) for ours, theirs in zip(mended.votes, grown.votes, strict=True))
    assert mended.labels == grown.labels
    assert mended.inputs is grown.inputs


def test_a_circuit_that_validation_cannot_better_comes_back_itself() -> None:
    x = torch.randint(0, 2, (64, 2))
    right = Circuit(2, [6], [0], [1], votes=[([2], [-1]), ([2], [1])])
    found = fine_tuned(right, (x, x[:, 0] ^ x[:, 1]), (x, x[:, 0] ^ x[:, 1]), TrainingSettings(epochs=2))
    assert found is right


def test_a_circuit_without_nodes_is_refused() -> None:
    with pytest.raises(ArgumentError, match="at least one node, got none"):
        RelaxedCircuit(Circuit(2, [], [], [], votes=[([0], [1]), ([1], [1])]))
