"""Every pass keeps every score on every input, and removes what it says it removes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.logic import Circuit
from ordinate.logic.simplify import PASSES, absorb, dead_code_elimination, fold, sat_sweeping, simplify, structural_hashing
from ordinate.logic.simplify.equivalence import equivalent
from tests.logic.circuits import GENUINE, every_input, plain_scores, random_circuit


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), inputs=st.integers(1, 7), nodes=st.integers(0, 60))
def test_a_pass_keeps_every_score_on_every_input(name: str, seed: int, inputs: int, nodes: int) -> None:
    circuit = random_circuit(seed, inputs, nodes)
    bits = every_input(inputs)
    assert np.array_equal(plain_scores(PASSES[name](circuit), bits), plain_scores(circuit, bits))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(0, 60))
def test_the_fixpoint_keeps_every_score_and_no_pass_finds_anything_more(seed: int, inputs: int, nodes: int) -> None:
    circuit = random_circuit(seed, inputs, nodes)
    bits = every_input(inputs)
    small = circuit.simplify()
    assert np.array_equal(plain_scores(small, bits), plain_scores(circuit, bits))
    assert small.num_gates <= circuit.num_gates
    assert small.num_inverters == small.num_constants == 0
    assert small.num_nodes == small.num_gates
    for run in PASSES.values():
        assert run(small).num_nodes == small.num_nodes


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_over_a_large_circuit_is_proven_by_sat(name: str) -> None:
    circuit = random_circuit(3, 100, 1500, classes=3, votes=60)
    proof = equivalent(circuit, PASSES[name](circuit))
    assert proof.equal
    assert "SAT" in proof.how


def one_class(num_inputs: int, *nodes: tuple[int, int, int], vote: int | None = None) -> Circuit:
    tables, a, b = zip(*nodes, strict=True) if nodes else ((), (), ())
    return Circuit(num_inputs, tables, a, b, votes=[([num_inputs + len(nodes) - 1 if vote is None else vote], [1])])


@pytest.mark.parametrize(
    ("circuit", "gates"),
    [
        (one_class(1, (15, 0, 0), (8, 0, 1)), 0),  # x AND 1
        (one_class(1, (0, 0, 0), (6, 0, 1)), 0),  # x XOR 0
        (one_class(1, (8, 0, 0)), 0),  # x AND x
        (one_class(1, (3, 0, 0), (8, 0, 1)), 0),  # x AND NOT x
        (one_class(1, (3, 0, 0), (9, 0, 1)), 0),  # x XNOR NOT x
        (one_class(2, (3, 0, 0), (5, 0, 1), (8, 2, 3)), 1),  # NOT x AND NOT y is one NOR
        (one_class(2, (12, 0, 1), (10, 0, 1), (14, 2, 3)), 1),  # wires
    ],
)
def test_folding_leaves_so_many_gates(circuit: Circuit, gates: int) -> None:
    assert dead_code_elimination(fold(circuit)).num_gates == gates


def test_a_negated_vote_becomes_a_vote_against_with_a_bias() -> None:
    circuit = fold(Circuit(2, [7, 3], [0, 0], [1, 0], votes=[([2, 3], [2, 1]), ([1], [1])], bias=[0.5, 0]))
    assert circuit.num_inverters == 0
    assert circuit.votes[0].weights.tolist() == [-2, -1]
    assert circuit.bias.tolist() == [3.5, 0.0]


def test_a_gate_and_its_complement_are_one_gate_and_opposite_votes_cancel() -> None:
    circuit = structural_hashing(Circuit(2, [8, 7, 1], [0, 1, 0], [1, 0, 1], votes=[([2, 3], [1, 1]), ([4], [1])]))
    assert circuit.num_gates == 2
    assert len(circuit.votes[0].signals) == 0
    assert circuit.bias.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("inner", "outer", "gates"),
    [
        (14, 8, 0),  # x AND (x OR y) is x
        (8, 14, 0),  # x OR (x AND y) is x
        (8, 8, 1),  # x AND (x AND y) is x AND y
        (6, 6, 0),  # x XOR (x XOR y) is y
        (6, 8, 1),  # x AND (x XOR y) is x AND NOT y
        (1, 8, 0),  # x AND (x NOR y) is 0
    ],
)
def test_absorption(inner: int, outer: int, gates: int) -> None:
    circuit = one_class(2, (inner, 0, 1), (outer, 0, 2))
    assert dead_code_elimination(fold(structural_hashing(circuit))).num_gates == 2
    small = dead_code_elimination(absorb(circuit))
    assert small.num_gates == gates
    bits = every_input(2)
    assert np.array_equal(plain_scores(small, bits), plain_scores(circuit, bits))


def test_sweeping_finds_what_no_rule_does() -> None:
    """(x AND y) OR (x AND z), and x AND (y OR z): the same in another structure."""
    nodes = [(8, 0, 1), (8, 0, 2), (14, 3, 4), (14, 1, 2), (8, 0, 6)]
    tables, a, b = zip(*nodes, strict=True)
    circuit = Circuit(3, tables, a, b, votes=[([5], [1]), ([7], [1])])
    assert dead_code_elimination(absorb(circuit)).num_gates == 5
    small = sat_sweeping(circuit)
    assert small.num_gates == 3
    assert np.array_equal(plain_scores(small, every_input(3)), plain_scores(circuit, every_input(3)))


def test_sweeping_finds_constants_that_simulation_alone_would_only_suspect() -> None:
    """An AND of 40 inputs is hardly ever seen true; the solver must not take it for a constant, but see that x AND NOT x is."""
    nodes = [(8, 0, 1)] + [(8, 40 + step, 2 + step) for step in range(38)]
    tables, a, b = zip(*nodes, strict=True)
    circuit = Circuit(40, tables, a, b, votes=[([40 + 38], [1])])
    assert sat_sweeping(circuit).num_gates == 39
    ones = np.ones((1, 40), bool)
    assert sat_sweeping(circuit).evaluate(ones).tolist() == [[1.0]]


def test_without_sat_nothing_needs_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from ordinate.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    circuit = random_circuit(4)
    assert circuit.simplify(sat=False).num_gates < circuit.num_gates
    with pytest.raises(MissingExtraError, match=r"pip install python-sat"):
        circuit.simplify()


def test_the_steps_are_reported_as_they_are_kept() -> None:
    seen: list[tuple[str, int]] = []
    made = simplify(random_circuit(6), on_pass=lambda name, gates: seen.append((name, gates)))
    assert list(made.steps[1:]) == seen
    assert made.steps[-1][1] == made.circuit.num_gates


def test_a_network_of_thousands_of_gates_is_simplified_and_proven() -> None:
    circuit = random_circuit(7, 200, 1500, classes=10, votes=60, tables=(*GENUINE, 3, 5, 12, 10), reach=400)
    small = circuit.simplify()
    assert small.num_gates < circuit.num_gates
    assert equivalent(circuit, small).equal
