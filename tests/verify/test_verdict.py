"""A verdict tells what failed, why, and where to read."""

from __future__ import annotations

import json

from ordinate.verify.verdict import SCHEMA, Cause, Outcome, Verdict


def verdict(*statuses: str, causes: tuple[Cause, ...] = ()) -> Verdict:
    outcomes = tuple(Outcome(f"law-{n}", "A law", status, "seen") for n, status in enumerate(statuses))  # type: ignore[arg-type]
    return Verdict("mine", "rotary", "(x)", ("the axes are B H T D",), {"layout": "half"}, outcomes, causes)


def test_it_passes_if_nothing_failed_and_something_was_looked_at():
    assert verdict("passed", "not applicable").passed
    assert not verdict("passed", "failed").passed
    assert not verdict("not applicable").passed


def test_its_words_name_the_failure_the_cause_and_the_line_to_read():
    cause = Cause("offset-ignored", "offset has no effect", "ordinate/position/indices.py:94", ("law-1",), False)
    told = str(verdict("passed", "failed", causes=(cause,)))
    for part in ("law-1", "offset has no effect", "ordinate/position/indices.py:94", "not everything", "B H T D"):
        assert part in told
    assert "no known fault" in str(verdict("failed"))


def test_it_is_plain_json_with_a_version():
    cause = Cause("a", "b", "c:1", ("law-0",), True)
    told = json.loads(json.dumps(verdict("failed", causes=(cause,)).to_dict(), allow_nan=False))
    assert told["schema"] == SCHEMA
    assert told["passed"] is False
    assert told["outcomes"][0]["status"] == "failed"
    assert told["causes"][0]["explains"] == ["law-0"]
