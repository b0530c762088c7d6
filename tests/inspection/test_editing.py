"""JSON text edited in place: the edit is made, and nothing else moves."""

from __future__ import annotations

import difflib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import DataError
from ordinate.inspection.extension.editing import REMOVED, Edit, apply

TEXT = """{
    "architectures": ["LlamaForCausalLM"],
    "eps": 1e-6, "theta": 10000.0,
    "rope_scaling": null,
    "text_config": {
        "eos": [1,2],
        "hidden": 64
    }
}
"""


def changed_lines(before: str, after: str) -> list[str]:
    return [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[:1] in "+-"]


def test_a_value_is_replaced_where_it_stands() -> None:
    edited = apply(TEXT, [Edit(("rope_scaling",), {"rope_type": "yarn", "factor": 4.0})])
    assert changed_lines(TEXT, edited) == [
        '-     "rope_scaling": null,',
        '+     "rope_scaling": {',
        '+         "rope_type": "yarn",',
        '+         "factor": 4.0',
        "+     },",
    ]


def test_a_new_member_comes_last_in_its_object_and_in_its_indentation() -> None:
    edited = apply(TEXT, [Edit(("text_config", "context"), 4096)])
    assert changed_lines(TEXT, edited) == ['-         "hidden": 64', '+         "hidden": 64,', '+         "context": 4096']


@pytest.mark.parametrize(
    ("path", "gone"),
    [(("text_config", "hidden"), ["hidden"]), (("text_config",), ["text_config"]), (("architectures",), ["architectures"])],
)
def test_a_member_is_taken_out_with_its_comma(path: tuple[str, ...], gone: list[str]) -> None:
    edited = apply(TEXT, [Edit(path, REMOVED)])
    expected = json.loads(TEXT)
    place = expected
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    assert json.loads(edited) == expected
    assert gone[0] not in edited
    assert "1e-6" in edited


def test_taking_out_what_is_not_there_changes_nothing() -> None:
    assert apply(TEXT, [Edit(("nothing",), REMOVED)]) == TEXT


def test_a_file_on_one_line_stays_on_one_line() -> None:
    assert apply('{"a":1,"b":{}}', [Edit(("b", "c"), {"d": [1]}), Edit(("a",), 2)]) == '{"a":2,"b":{"c": {"d": [1]}}}'


@pytest.mark.parametrize("path", [("missing", "x"), ("eps", "x"), ("architectures", "x")])
def test_a_path_through_something_else_than_objects_is_refused(path: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match="an object"):
        apply(TEXT, [Edit(path, 1)])


scalars = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=5)
keys = st.text(st.characters(codec="utf-8"), max_size=4)
objects = st.dictionaries(
    keys,
    st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=6),
    max_size=5,
)


@given(
    whole=objects,
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    key=keys,
    value=scalars | st.just(REMOVED) | objects,
    ascii_only=st.booleans(),
)
def test_editing_text_and_editing_the_dictionary_agree(
    whole: dict[str, Any], indent: Any, key: str, value: Any, ascii_only: bool
) -> None:
    expected = dict(whole)
    if value is REMOVED:
        expected.pop(key, None)
    else:
        expected[key] = value
    edited = json.loads(apply(json.dumps(whole, indent=indent, ensure_ascii=ascii_only), [Edit((key,), value)]))
    assert edited == expected
    assert list(edited) == list(expected)
