"""Tables of up to six inputs: relaxed as the formula says, trained, and the same as circuits of tables and of gates, proven."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from ordinate.errors import ArgumentError, RefusedError, UnknownNameError
from ordinate.logic import (
    Circuit,
    GroupSum,
    LogicDense,
    LogicNetwork,
    LutDense,
    Thresholds,
    TrainingSettings,
    equivalent,
    lut_circuit,
    train,
)

PARAMETRISATIONS = [(2, "raw"), *itertools.product((2, 3, 4, 5, 6), ("light", "walsh"))]


@pytest.mark.parametrize(("k", "parametrisation"), PARAMETRISATIONS)
def test_the_relaxed_table_is_the_expectation_over_independent_bits(k: int, parametrisation: str) -> None:
    torch.manual_seed(k)
    layer = LutDense(9, 5, k=k, parametrisation=parametrisation, initialisation="random", temperature=0.7, seed=k).double()
    x = torch.rand(4, 9, dtype=torch.float64)
    if parametrisation == "raw":
        chance = torch.softmax(layer.weight / 0.7, -1)
        rows = torch.stack([sum(chance[:, gate] * (gate >> row & 1) for gate in range(16)) for row in range(4)], 1)
    else:
        logits = layer.weight
        if parametrisation == "walsh":
            sign = [[(-1) ** (row & part).bit_count() for row in range(1 << k)] for part in range(1 << k)]
            logits = logits @ torch.tensor(sign, dtype=torch.float64)
        rows = torch.sigmoid(logits / 0.7)
    expected = torch.zeros(4, 5, dtype=torch.float64)
    for example, table, row in itertools.product(range(4), range(5), range(1 << k)):
        weight = rows[table, row]
        for place in range(k):
            read = x[example, layer.wiring[place, table]]
            weight = weight * (read if row >> place & 1 else 1 - read)
        expected[example, table] += weight
    torch.testing.assert_close(layer.train()(x), expected)
    expected.sum().backward()
    again = LutDense(9, 5, k=k, parametrisation=parametrisation, initialisation="random", temperature=0.7, seed=k).double()
    again.train()(x).sum().backward()
    torch.testing.assert_close(again.weight.grad, layer.weight.grad)


@pytest.mark.parametrize(("k", "parametrisation"), PARAMETRISATIONS)
def test_residual_tables_begin_by_passing_their_first_input_on(k: int, parametrisation: str) -> None:
    layer = LutDense(20, 30, k=k, parametrisation=parametrisation, certainty=0.95, seed=3)
    x = torch.randint(0, 2, (50, 20)).float()
    assert torch.equal(layer.eval()(x), x[:, layer.wiring[0]])
    assert float((layer.train()(x) - x[:, layer.wiring[0]]).detach().abs().mean()) < 0.12


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("mode", "wiring"),
    [("soft", "random"), ("hard", "random"), ("gumbel_soft", "random"), ("gumbel_hard", "random"), ("soft", "learned")],
)
def test_one_layer_of_tables_learns_a_parity_of_four_inputs(mode: str, wiring: str) -> None:
    x = torch.randint(0, 2, (600, 4), generator=torch.Generator().manual_seed(0))
    noise = torch.randint(0, 2, (600, 4), generator=torch.Generator().manual_seed(1))
    examples = (torch.cat((x, noise), 1) if wiring == "learned" else x, x.sum(1) % 2)
    layer = LutDense(len(examples[0][0]), 40, k=4, wiring=wiring, candidates=2, mode=mode, seed=1)
    network = LogicNetwork(layer, GroupSum(2, tau=2.0))
    train(network, examples, examples, TrainingSettings(epochs=20, batch_size=50, learning_rate=0.1))
    assert (Circuit.from_network(network).predict(examples[0]) == examples[1].numpy()).mean() > 0.95


@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_network_tables_and_gates_give_the_same_scores_and_that_is_proven(k: int, tmp_path) -> None:
    network = LogicNetwork(
        Thresholds(torch.linspace(0.1, 0.9, 18).reshape(6, 3)),
        LutDense(18, 20, k=k, initialisation="random", seed=1),
        LogicDense(20, 16, initialisation="random", seed=2),
        LutDense(16, 12, k=k, wiring="learned", candidates=2, initialisation="random", parametrisation="walsh", seed=3),
        GroupSum(3, tau=2.0, beta=[0.0, 0.5, 1.0]),
    ).eval()
    x = torch.rand(300, 6)
    circuit, tables = Circuit.from_network(network), lut_circuit(network)
    bits = circuit.inputs.bits(x)
    scores = network(x).numpy()
    np.testing.assert_array_equal(circuit.evaluate(bits), scores)
    np.testing.assert_array_equal(tables.evaluate(bits), scores)
    assert (tables.predict(bits) == scores.argmax(1)).all()
    assert equivalent(circuit, tables.to_circuit(by_rows=True))
    network.save(tmp_path / "n.json")
    again = LogicNetwork.load(tmp_path / "n.json")
    assert torch.equal(again(x), network(x))
    assert [type(layer).__name__ for layer in again] == [type(layer).__name__ for layer in network]
    assert again.num_gates == 48


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ArgumentError, match="k: expected an integer from 2 to 6, got 7"):
        LutDense(10, 4, k=7)
    with pytest.raises(ArgumentError, match="at most 3, the signals"):
        LutDense(3, 4, k=4)
    with pytest.raises(RefusedError, match=r"'raw', a logit for each of 2\^16 functions"):
        LutDense(10, 4, k=4, parametrisation="raw")
    with pytest.raises(UnknownNameError, match="wiring"):
        LutDense(10, 4, wiring="tree")
    with pytest.raises(ArgumentError, match=r"shape \(4, 3\)"):
        LutDense(10, 3, wiring=torch.zeros(2, 3, dtype=torch.int64))
    with pytest.raises(ArgumentError, match="candidates: expected 1 to 2, a share of one in 4"):
        LutDense(10, 3, wiring="learned", candidates=3)
