"""The table of known faults: large enough, over all families, each with a line to read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import ordinate
from ordinate.verify.faults import FAMILIES, KNOWN_FAULTS

SOURCE = Path(ordinate.__file__).resolve().parents[1]


def test_there_are_more_than_a_hundred_over_every_family():
    counted = Counter(fault.family for fault in KNOWN_FAULTS.values())
    assert set(counted) == set(FAMILIES)
    assert min(counted.values()) >= 10
    assert sum(counted.values()) > 100


def test_every_kind_of_subject_has_some():
    counted = Counter(fault.kind for fault in KNOWN_FAULTS.values())
    assert min(counted[kind] for kind in ("rotary", "bias", "buckets", "embedding", "attention", "decoder")) >= 6


@pytest.mark.parametrize("name", KNOWN_FAULTS)
def test_each_says_a_phrase_and_where_it_is_done_right(name):
    fault = KNOWN_FAULTS[name]
    assert fault.says[0].islower() or fault.says.split()[0] in ("LongRoPE's", "Llama", "YaRN's", "NTK-aware")
    assert not fault.says.endswith(".")
    path, line = fault.read_at().rsplit(":", 1)
    text = (SOURCE / path).read_text().splitlines()[int(line) - 1]
    assert text.strip().startswith(("class ", "def ", "@"))
    assert "/verify/" not in path
