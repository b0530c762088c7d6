"""The sixteen gates: names, corners and relaxed forms, each held against what the literature prints."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ordinate.errors import ArgumentError, ArgumentTypeError, UnknownNameError
from ordinate.logic.circuit.gates import GATE_NAMES, GENUINE, coefficients, depends_on, gate_name, gate_table, output

PRINTED: dict[str, tuple[Callable[[int, int], bool], Callable[[float, float], float]]] = {
    # name: as logic, and the real-valued form of Petersen et al. 2022, Table 1
    "false": (lambda a, b: False, lambda a, b: 0),
    "and": (lambda a, b: bool(a and b), lambda a, b: a * b),
    "a and not b": (lambda a, b: bool(a and not b), lambda a, b: a - a * b),
    "a": (lambda a, b: bool(a), lambda a, b: a),
    "not a and b": (lambda a, b: bool(not a and b), lambda a, b: b - a * b),
    "b": (lambda a, b: bool(b), lambda a, b: b),
    "xor": (lambda a, b: a != b, lambda a, b: a + b - 2 * a * b),
    "or": (lambda a, b: bool(a or b), lambda a, b: a + b - a * b),
    "nor": (lambda a, b: not (a or b), lambda a, b: 1 - (a + b - a * b)),
    "xnor": (lambda a, b: a == b, lambda a, b: 1 - (a + b - 2 * a * b)),
    "not b": (lambda a, b: not b, lambda a, b: 1 - b),
    "a or not b": (lambda a, b: bool(a or not b), lambda a, b: 1 - b + a * b),
    "not a": (lambda a, b: not a, lambda a, b: 1 - a),
    "not a or b": (lambda a, b: bool(not a or b), lambda a, b: 1 - a + a * b),
    "nand": (lambda a, b: not (a and b), lambda a, b: 1 - a * b),
    "true": (lambda a, b: True, lambda a, b: 1),
}


def test_the_names_are_those_of_the_sixteen_functions() -> None:
    assert sorted(GATE_NAMES) == sorted(PRINTED)
    assert [gate_table(name) for name in GATE_NAMES] == list(range(16))


@pytest.mark.parametrize("name", PRINTED)
def test_a_gate_is_what_its_name_says_at_every_corner(name: str) -> None:
    logic, _ = PRINTED[name]
    assert [output(gate_table(name), a, b) for a in (0, 1) for b in (0, 1)] == [
        int(logic(a, b)) for a in (0, 1) for b in (0, 1)
    ]


@pytest.mark.parametrize("name", PRINTED)
def test_the_relaxed_form_is_the_printed_one(name: str) -> None:
    _, printed = PRINTED[name]
    a0, a1, a2, a3 = coefficients(gate_table(name))
    for x, y in ((0.0, 0.0), (0.25, 0.5), (1.0, 0.3), (0.7, 0.9), (1.0, 1.0)):
        assert a0 + a1 * x + a2 * y + a3 * x * y == pytest.approx(printed(x, y), abs=1e-12)


def test_the_bits_of_a_table_are_the_house_convention() -> None:
    assert (gate_table("and"), gate_table("or"), gate_table("xor"), gate_table("a"), gate_table("b")) == (8, 14, 6, 12, 10)


def test_ten_gates_depend_on_both_inputs() -> None:
    trivial = {"false", "true", "a", "b", "not a", "not b"}
    assert {gate_name(table) for table in GENUINE} == set(PRINTED) - trivial
    assert all(depends_on(table) == (True, True) for table in GENUINE)


@pytest.mark.parametrize("table", [-1, 16, 1.0, True, "and"])
def test_what_is_no_table_is_refused(table: object) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match="table: expected an integer from 0 to 15"):
        coefficients(table)  # type: ignore[arg-type]


def test_an_unknown_name_is_refused_with_the_names() -> None:
    with pytest.raises(UnknownNameError, match=r"one of false, nor.*got 'imply'"):
        gate_table("imply")
