"""Known faults are caught and rightly named, correct code passes: a sample every day, everything when there is time."""

from __future__ import annotations

from pathlib import Path

import pytest

from ordinate.verify.faults import KNOWN_FAULTS
from tests.verify.proof import prove, table_of
from tests.verify.proof.correct import CORRECT
from tests.verify.proof.field import FIELD
from tests.verify.proof.run import SIZES, USUAL, numbered, prove_fault

NUMBERED = numbered()
SAMPLE = [pair for pair in NUMBERED if pair[1].kind != "rotary"][::5] + [pair for pair in NUMBERED if pair[1].kind == "rotary"][
    ::9
]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("number", "fault"), SAMPLE, ids=lambda value: getattr(value, "id", None))
def test_a_known_fault_is_caught_and_named(number, fault):
    row = prove_fault(fault, number)
    assert row.right, row


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("name", "kind", "expected", "check"), FIELD[::5], ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_fault_as_it_stands_in_the_field_is_caught_and_named(name, kind, expected, check):
    verdict = check()
    assert verdict.failed
    assert verdict.causes[0].id == expected


OTHERS = [row for row in CORRECT if not row[0].startswith("jax")][::7] + [row for row in CORRECT if row[0] == "jax, ALiBi"]
"""JAX compiles each operation once for every shape: its rotations take half a minute each, and run with the slow tests."""


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("name", "kind", "check"), OTHERS, ids=lambda value: value if isinstance(value, str) else "")
def test_correct_code_passes(name, kind, check):
    verdict = check()
    assert verdict.passed, verdict


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_fault_is_missed_or_misnamed_and_there_is_no_false_alarm():
    rows = prove()
    assert [row for row in rows if not row.right] == []
    assert len([row for row in rows if row.list == "library"]) == len(KNOWN_FAULTS)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("head_dim", "base"), SIZES)
def test_no_rotation_is_misnamed_at_other_widths_and_bases(head_dim, base):
    rows = [prove_fault(fault, number, head_dim, base) for number, fault in NUMBERED if fault.kind == "rotary"]
    assert [row for row in rows if not row.right] == []


def test_the_kept_table_is_of_the_faults_that_there_are():
    kept = (Path(__file__).resolve().parents[2] / "docs" / "verify-proof.md").read_text()
    for name in KNOWN_FAULTS:
        assert f"| {name} | library |" in kept, f"run `python -m tests.verify.proof > docs/verify-proof.md`: {name} is missing"
    assert "0 missed, 0 caught under another name" in kept
    assert "0 false alarms" in kept
    for head_dim, base in (USUAL, *SIZES):
        assert f"- rotations of {head_dim} channels, base {base:g}: " in kept
    assert kept.count(", 0 of them missed or under another name\n") == 1 + len(SIZES)


def test_a_table_tells_a_miss_and_a_false_alarm():
    rows = prove(lists=())
    assert "0 faults" in table_of(rows)
