"""Equal circuits are proven equal, and every difference is shown by an input on which the scores differ."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.errors import ArgumentError, RefusedError
from ordinate.logic import Circuit
from ordinate.logic.simplify.equivalence import Equivalence, equivalent
from tests.logic.circuits import every_input, flipped, plain_scores, random_circuit


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("exhaustive", [True, False])
def test_a_flipped_bit_of_a_table_is_judged_as_plain_evaluation_judges_it(seed: int, exhaustive: bool) -> None:
    circuit = random_circuit(seed, 7, 30, votes=8)
    other = flipped(circuit.simplify(), seed % max(1, circuit.simplify().num_nodes), seed % 4)
    bits = every_input(7)
    really = np.array_equal(plain_scores(circuit, bits), plain_scores(other, bits))
    told = equivalent(circuit, other, exhaustive=exhaustive)
    assert told.equal == really
    if not really:
        assert told.counterexample is not None
        row = told.counterexample[None]
        assert not np.array_equal(plain_scores(circuit, row), plain_scores(other, row))


def test_a_difference_on_one_input_in_2_to_the_60_is_found_by_the_solver() -> None:
    """Random inputs never see it."""

    def conjunction(last: int) -> Circuit:
        a = [0, *range(60, 118)]
        return Circuit(60, [8] * 58 + [last], a, list(range(1, 60)), votes=[([118], [1])])

    told = equivalent(conjunction(8), conjunction(0))
    assert told.equal is False
    assert told.how == "the SAT solver"
    assert told.counterexample is not None
    assert told.counterexample.all()


def test_sums_that_agree_though_their_votes_do_not_are_proven_equal() -> None:
    """x + y is (x OR y) + (x AND y)."""
    plain = Circuit(30, [], [], [], votes=[([0, 1, 5], [1, 1, 1])])
    other = Circuit(30, [14, 8], [0, 0], [1, 1], votes=[([30, 31, 5], [1, 1, 1])])
    told = equivalent(plain, other)
    assert told.equal
    assert "sums" in told.how
    heavier = Circuit(30, [14, 8], [0, 0], [1, 1], votes=[([30, 31, 5], [1, 2, 1])])
    assert not equivalent(plain, heavier)


@pytest.mark.parametrize("exhaustive", [True, False])
def test_weights_biases_and_temperatures_are_part_of_the_scores(exhaustive: bool) -> None:
    def circuit(weight: int = 1, bias: float = 0.25, tau: float = 2.0) -> Circuit:
        return Circuit(3, [8], [0], [1], votes=[([3], [weight]), ([2], [1])], bias=[bias, 0], tau=tau)

    assert equivalent(circuit(), circuit(), exhaustive=exhaustive)
    for other in (circuit(weight=-1), circuit(bias=0.5), circuit(bias=1.25), circuit(tau=3.0)):
        assert equivalent(circuit(), other, exhaustive=exhaustive).equal is False


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ArgumentError, match="expected 8 inputs, as the first has, got 7"):
        equivalent(random_circuit(1), random_circuit(1, 7))
    with pytest.raises(ArgumentError, match="expected 4 classes, as the first has, got 3"):
        equivalent(random_circuit(1), random_circuit(1, classes=3))
    with pytest.raises(ArgumentError, match="exhaustive: expected at most 24 inputs, got 40"):
        equivalent(random_circuit(1, 40), random_circuit(1, 40), exhaustive=True)


def test_an_open_question_is_no_answer() -> None:
    with pytest.raises(RefusedError, match="expected a proof or a counterexample"):
        bool(Equivalence(None, "the solver gave up"))


def test_a_proof_that_shares_no_rewriting_agrees() -> None:
    """Truth tables straight into clauses, one variable a node: no netlist, no folding, no hashing of this package."""
    solvers = pytest.importorskip("pysat.solvers")
    circuit = random_circuit(9, 40, 300, classes=2, votes=4)
    small = circuit.simplify()
    # votes of the simplified circuit that stand for a single signal of the first: same weight, up to a complement
    variables = {place: place + 1 for place in range(40)}
    count = 40
    with solvers.Cadical153() as solver:
        maps = []
        for one in (circuit, small):
            known = dict(variables)
            for place, (table, a, b) in enumerate(zip(one.tables.tolist(), one.inputs_a, one.inputs_b, strict=True), 40):
                count += 1
                known[place] = count
                for row in range(4):
                    x, y = known[int(a)], known[int(b)]
                    solver.add_clause([-x if row >> 1 else x, -y if row & 1 else y, count if table >> row & 1 else -count])
            maps.append(known)
        bits = np.random.default_rng(0).random((4000, 40)) < 0.5
        ours, theirs = circuit.signals(bits), small.signals(bits)
        proven = 0
        for signal in {int(one) for vote in small.votes for one in vote.signals if one >= 40}:
            same = [
                (int(other), bool(turned))
                for turned in (False, True)
                for other in np.flatnonzero((ours ^ turned == theirs[:, [signal]]).all(0))
            ]
            assert same, "every vote of the simplified circuit stands for a signal of the first"
            other, turned = same[0]
            x, y = maps[0][other], maps[1][signal]
            x = -x if turned else x
            assert not solver.solve(assumptions=[x, -y])
            assert not solver.solve(assumptions=[-x, y])
            proven += 1
        assert proven
