"""Keys are read strictly: a value with its path, a default with its origin, or unknown with the reason."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ordinate.inspection.reader.section import Section


def section(raw: dict[str, Any], **defaults: Any) -> Section:
    return Section(raw, "text_config", defaults, "LlamaConfig")


def test_a_key_of_the_file_comes_with_its_path() -> None:
    value = section({"n_layer": 4}).integer("num_hidden_layers", "n_layer")
    assert (value.value, value.source, value.detail) == (4, "file", "text_config.n_layer")


def test_a_missing_key_takes_the_familys_default_and_says_so() -> None:
    value = section({}, n_layer=12).integer("n_layer")
    assert (value.value, value.source) == (12, "family")
    assert "LlamaConfig" in value.detail


def test_a_key_with_neither_is_unknown_with_the_reason() -> None:
    value = section({}).integer("n_layer")
    assert not value.known
    assert "n_layer" in value.detail


def test_dots_descend() -> None:
    assert section({"attn_config": {"alibi": True}}).flag("attn_config.alibi").value is True


@pytest.mark.parametrize("raw", [None, "null"])
def test_null_is_absent_and_the_word_null_is_not(raw: Any) -> None:
    value = section({"n_layer": raw}, n_layer=12).integer("n_layer")
    assert value.known is (raw is None)


@pytest.mark.parametrize("raw", [True, "four", [4], {}, 2.5, math.nan, math.inf, -1, 10**12, 10**400, "nan"])
def test_what_is_no_count_is_unknown_and_noted_under_its_path(raw: Any) -> None:
    place = section({"n_layer": raw})
    assert not place.integer("n_layer").known
    assert [finding.severity for finding in place.findings][-1] == "error"
    assert "text_config.n_layer" in place.findings[-1].evidence


@pytest.mark.parametrize(("raw", "read"), [(4, 4), (4.0, 4), ("4", 4)])
def test_a_whole_number_may_be_written_otherwise(raw: Any, read: int) -> None:
    assert section({"n_layer": raw}).integer("n_layer").value == read


def test_the_same_finding_is_kept_once() -> None:
    place = section({"n_layer": "four"})
    place.integer("n_layer")
    place.integer("n_layer")
    assert len(place.findings) == 1


def test_a_default_of_another_type_is_no_default() -> None:
    assert not section({}, image_size=[224, 224]).integer("image_size").known


@pytest.mark.parametrize("text", ["NaN", "nan", "inf", "-Infinity"])
def test_the_name_of_no_number_is_shown_as_the_text_it_is(text: str) -> None:
    place = section({"n_layer": text})
    assert not place.integer("n_layer").known
    (finding,) = place.findings
    assert finding.evidence == {"text_config.n_layer": f'the text "{text}"'}
    assert "nan" not in finding.message.lower()
