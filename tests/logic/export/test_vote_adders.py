"""What a chip counts, evaluated from the plan by plain arithmetic, decides as the exact scores do."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.logic import Circuit
from ordinate.logic.export.vote_adders import SharedPlan, full_adders, plain_plan, shared_plan
from tests.logic.circuits import plain_classes, plain_signals, random_circuit, some_inputs


def decided(plan: SharedPlan, circuit: Circuit, row: list[int]) -> int:
    values = plain_signals(circuit, row)

    def value(literal: int) -> int:
        return values[literal] if literal >= 0 else 1 - values[~literal]

    for group in plan.groups:
        ones = sum(value(one) for one in group)
        values += [ones >> bit & 1 for bit in range(len(group).bit_length())]
    sums = [
        constant + sum(value(one) << power for power, column in enumerate(columns) for one in column)
        for columns, constant in zip(plan.columns, plan.constants, strict=True)
    ]
    best = plan.order[0]
    for place in plan.order[1:]:
        best = place if sums[place] > sums[best] else best
    return best


@pytest.mark.parametrize("classes", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", range(4))
def test_shared_counts_decide_as_the_exact_scores(seed: int, classes: int) -> None:
    circuit = random_circuit(seed, 10, 40, classes=classes, votes=60)
    bits = some_inputs(seed, 60, 10)
    expected = plain_classes(circuit, bits).tolist()
    for plan in (plain_plan(circuit), shared_plan(circuit)):
        assert [decided(plan, circuit, row) for row in bits.astype(int).tolist()] == expected
        assert min(plan.constants) == 0


def alike(members: int, classes: int) -> Circuit:
    """Signals that all vote for class 0, against class 1, and for half of the others."""
    signals = np.arange(members)
    signs = [1, -1, *([0, 1] * classes)][:classes]
    return Circuit(
        members, [], [], [], votes=[(signals[: members * abs(sign)], [sign] * members * abs(sign)) for sign in signs]
    )


def test_signals_that_vote_alike_are_counted_once() -> None:
    plan = shared_plan(alike(15, 5))
    assert [len(group) for group in plan.groups] == [15]
    assert full_adders(plan) == 11  # 7 + 3 + 1 compress fifteen bits
    assert full_adders(plain_plan(alike(15, 5))) == 3 * 11


def test_of_two_classes_one_is_left_to_count() -> None:
    plan = shared_plan(random_circuit(1, 10, 40, classes=2, votes=40))
    assert not any(plan.columns[0])
    assert any(plan.columns[1])
