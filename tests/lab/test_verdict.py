"""The verdict is a function of the checks, and every role has its weight."""

from __future__ import annotations

import pytest

from ordinate.lab.measurement import Check, Role, Verdict, judge


def check(role: Role, holds: bool) -> Check:
    return Check.near(f"{role} {'holds' if holds else 'fails'}", 1.0 if holds else 2.0, 1.0, 0.1, role=role)


STATED, GENERAL, FIXED, CONTROL, LIMIT = Role.AS_STATED, Role.GENERALISATION, Role.DETAIL_FIXED, Role.CONTROL, Role.LIMIT


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ([(STATED, True)], Verdict.REPRODUCED),
        ([(STATED, True), (GENERAL, True), (CONTROL, True)], Verdict.REPRODUCED),
        ([(STATED, True), (FIXED, False)], Verdict.REPRODUCED),
        ([(STATED, False)], Verdict.REFUTED),
        ([(STATED, True), (STATED, False)], Verdict.REFUTED),
        ([(STATED, True), (GENERAL, False)], Verdict.REFUTED),
        ([(STATED, False), (FIXED, True)], Verdict.CORRECTED),
        ([(STATED, True), (GENERAL, False), (FIXED, True)], Verdict.CORRECTED),
        ([(STATED, False), (FIXED, True), (FIXED, False)], Verdict.REFUTED),
        ([(STATED, True), (CONTROL, False)], Verdict.NOT_TESTABLE),
        ([(STATED, False), (CONTROL, False)], Verdict.NOT_TESTABLE),
        ([(STATED, True), (LIMIT, False)], Verdict.REPRODUCED),
        ([(STATED, False), (LIMIT, True)], Verdict.REFUTED),
        ([(LIMIT, True), (FIXED, True)], Verdict.NOT_TESTABLE),
        ([], Verdict.NOT_TESTABLE),
    ],
)
def test_the_verdict_follows_from_the_checks(checks: list[tuple[Role, bool]], expected: Verdict) -> None:
    assert judge([check(*settings) for settings in checks])[0] is expected


def test_the_reason_names_what_contradicts() -> None:
    _, reason = judge([check(STATED, True), check(GENERAL, False), check(FIXED, True)])
    assert "as stated: 1 of 1 holds" in reason
    assert "generalisation: 0 of 1 hold" in reason
    assert "against it: generalisation fails" in reason


def test_a_silent_control_is_named() -> None:
    assert "control fails" in judge([check(STATED, True), check(CONTROL, False)])[1]


def test_nan_never_holds() -> None:
    nothing = float("nan")
    for result in (Check.near("x", nothing, 1, 1), Check.at_most("x", nothing, 1), Check.at_least("x", nothing, 1)):
        assert not result.holds
        assert judge([result])[0] is Verdict.REFUTED
