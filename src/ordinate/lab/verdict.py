"""From checks to a verdict: the only place where one is made.

A control that does not respond takes the measurement's word away; then what the article states and concludes is compared with
the numbers; then, if that fails, the same claim with a detail put right. Limits are reported, never counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from ordinate.lab.measurement import Check, Role, Verdict

__all__ = ["judge"]


def judge(checks: Sequence[Check]) -> tuple[Verdict, str]:
    """The verdict on a claim, and the reason in a sentence.

    - not testable here: there is nothing to hold against the article, or a control does not respond;
    - reproduced: all that is stated holds, and nothing that is concluded from it fails;
    - corrected: something stated or concluded fails, and all of it holds once a detail is put right;
    - refuted: something stated or concluded fails, and no correction holds.

    >>> judge([Check.near("weight of animal", 0.0310, 0.0310, 5e-5)])
    (<Verdict.REPRODUCED: 'reproduced'>, 'as stated: 1 of 1 holds')
    """
    by_role = {role: [check for check in checks if check.role is role] for role in Role}
    silent = [check for check in by_role[Role.CONTROL] if not check.holds]
    claimed = by_role[Role.AS_STATED] + by_role[Role.GENERALISATION]
    if silent:
        return Verdict.NOT_TESTABLE, "a control that should respond does not: " + _named(silent)
    if not claimed:
        return Verdict.NOT_TESTABLE, "nothing was measured that could be compared with the article"

    contradicted = [check for check in claimed if not check.holds]
    reason = "; ".join(
        f"{role}: {_count(by_role[role])}" for role in (Role.AS_STATED, Role.GENERALISATION, Role.DETAIL_FIXED) if by_role[role]
    )
    if not contradicted:
        return Verdict.REPRODUCED, reason
    reason += f" (against it: {_named(contradicted)})"
    fixed = by_role[Role.DETAIL_FIXED]
    if fixed and all(check.holds for check in fixed):
        return Verdict.CORRECTED, reason
    return Verdict.REFUTED, reason


def _count(checks: Sequence[Check]) -> str:
    holding = sum(check.holds for check in checks)
    return f"{holding} of {len(checks)} {'holds' if holding == 1 else 'hold'}"


def _named(checks: Sequence[Check]) -> str:
    names = [check.name for check in checks[:2]]
    return ", ".join(names) + (f" and {len(checks) - 2} more" if len(checks) > 2 else "")
