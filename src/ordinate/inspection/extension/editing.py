"""JSON text changed in place: only the members that change move, the rest of the file stays as its author wrote it.

Parsing and dumping would reflow lists, respell numbers (1e-6 as 1e-06) and lose indentation; a diff of the edited config shall
show the edit and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ordinate.errors import DataError

__all__ = ["REMOVED", "Edit", "apply"]


class _Removed:
    def __repr__(self) -> str:
        return "REMOVED"


REMOVED = _Removed()
"""The value of an edit that takes the member out."""


@dataclass(frozen=True)
class Edit:
    """One member to set or to take out.

    Args:
        path: the keys that lead to it; all but the last must be objects that are there.
        value: plain JSON types, or `REMOVED`.
    """

    path: tuple[str, ...]
    value: Any


@dataclass(frozen=True)
class _Member:
    key: str
    start: int  # of the key's quote
    value_start: int
    end: int  # of the value


_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with the edits made, one after the other.

    Args:
        text: valid JSON, an object at the top.
        edits: see `Edit`; taking out what is not there changes nothing.

    Raises:
        DataError: a path that leads through something else than objects.

    >>> print(apply('{"a": 1e-6, "b": {"c": [1,2]}}', [Edit(("b", "d"), True), Edit(("e",), None)]))
    {"a": 1e-6, "b": {"c": [1,2], "d": true}, "e": null}
    """
    for edit in edits:
        text = _apply_one(text, edit)
    return text


def _apply_one(text: str, edit: Edit) -> str:
    start = _skip(text, 0)
    for depth, key in enumerate(edit.path[:-1]):
        if text[start] != "{" or (member := _find(text, start, key)) is None:
            where = ".".join(edit.path[: depth + 1])
            raise DataError(where, expected="an object", got="nothing of the kind", hint="edit the file by hand")
        start = member.value_start
    if text[start] != "{":
        where = ".".join(edit.path[:-1]) or "the file"
        raise DataError(where, expected="an object", got="another value", hint="edit the file by hand")
    member = _find(text, start, edit.path[-1])
    if edit.value is REMOVED:
        return text if member is None else _remove(text, start, member)
    if member is not None:
        return text[: member.value_start] + _dumped(text, member.start, edit.value) + text[member.end :]
    return _insert(text, start, edit.path[-1], edit.value)


def _members(text: str, start: int) -> Iterator[_Member]:
    """The members of the object whose brace stands at `start`."""
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, after = _DECODER.raw_decode(text, at)
        value_start = _skip(text, _skip(text, after) + 1)
        end = _DECODER.raw_decode(text, value_start)[1]
        yield _Member(key, at, value_start, end)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _find(text: str, start: int, key: str) -> _Member | None:
    return next((member for member in _members(text, start) if member.key == key), None)


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return at if space is None else space.end()


def _remove(text: str, start: int, member: _Member) -> str:
    after = _skip(text, member.end)
    if text[after] == ",":  # the next member takes its place
        return text[: member.start] + text[_skip(text, after + 1) :]
    before = text.rfind(",", start, member.start)
    previous = [other for other in _members(text, start) if other.end <= member.start]
    return text[: previous[-1].end if previous else start + 1] + text[member.end if before >= 0 and previous else after :]


def _insert(text: str, start: int, key: str, value: Any) -> str:
    """After the last member, on a line of its own where the members have one."""
    members = list(_members(text, start))
    if not members:
        close = _skip(text, start + 1)
        line = _line_indent(text, start)
        unit = _unit(text)
        if unit is None:
            return text[: start + 1] + f"{json.dumps(key)}: {json.dumps(value)}" + text[close:]
        inner = f"\n{line}{unit}"
        dumped = json.dumps(value, indent=unit).replace("\n", inner)
        return text[: start + 1] + f"{inner}{json.dumps(key)}: {dumped}\n{line}" + text[close:]
    last = members[-1]
    opened = text.rfind("\n", start, last.start)
    gap = text[opened : last.start] if opened >= 0 and not text[opened : last.start].strip() else " "
    return text[: last.end] + f",{gap}{json.dumps(key)}: {_dumped(text, last.start, value)}" + text[last.end :]


def _dumped(text: str, at: int, value: Any) -> str:
    """The value as it would stand in the line that holds `at`: indented like the file, or on one line."""
    unit = _unit(text)
    if unit is None or not isinstance(value, dict):
        return json.dumps(value)
    return json.dumps(value, indent=unit).replace("\n", "\n" + _line_indent(text, at))


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str | None:
    """One step of indentation; None for a file on one line."""
    first = re.search(r"\n([ \t]+)\S", text)
    return None if first is None else first[1]
