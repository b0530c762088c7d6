import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.frequencies import (
    SCALINGS,
    Clipped,
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKAware,
    Proportional,
    SteppedNTK,
    YaRN,
    inverse_frequencies,
    needs_re_rotation,
)

RECORDS = [
    Linear(4.0),
    NTKAware(4.0),
    DynamicNTK(2.0, 32),
    SteppedNTK(32),
    YaRN(4.0, 32),
    LongRoPE([1.0] * 8, [2.0] * 8, 32, 128),
    Llama3(8.0, 1.0, 4.0, 32),
    Proportional(0.5),
    Clipped(3),
]


def test_the_ladder_is_geometric_from_one_down_to_nearly_the_reciprocal_of_the_base():
    found = inverse_frequencies(128, 10000.0)
    assert found[0] == 1.0
    assert len(found) == 64
    ratios = [b / a for a, b in itertools.pairwise(found)]
    assert max(ratios) - min(ratios) < 1e-15
    assert found[-1] == pytest.approx(10000 ** (-126 / 128), rel=1e-15)


def test_every_scaling_stands_in_the_table_once_and_is_one_of_the_records():
    assert {type(record) for record in RECORDS} == set(SCALINGS.values())
    assert len(set(SCALINGS.values())) == len(SCALINGS)


@pytest.mark.parametrize("record", RECORDS, ids=repr)
def test_a_record_is_frozen_hashable_and_prints_as_the_call_that_made_it(record):
    assert eval(repr(record)) == record
    assert hash(eval(repr(record))) == hash(record)
    assert type(record)(**record.settings()) == record
    with pytest.raises(AttributeError):
        record.factor = 3.0


@pytest.mark.parametrize("record", RECORDS, ids=repr)
@given(length=st.integers(1, 10**6), other=st.integers(1, 10**6))
def test_frequencies_depend_on_length_only_where_the_record_says_so(record, length, other):
    same = inverse_frequencies(16, 10000.0, record, length) == inverse_frequencies(16, 10000.0, record, other)
    assert same or record.depends_on_length
    assert needs_re_rotation(length, other, rotary_dim=16, scaling=record) is not same


@pytest.mark.parametrize("record", RECORDS, ids=repr)
@pytest.mark.parametrize("base", [2.0, 500.0, 1e4, 5e5, 1e9])
def test_scaled_frequencies_are_finite_positive_or_still_and_never_above_the_ladder(record, base):
    ladder = inverse_frequencies(16, base)
    for length in (1, 32, 33, 10**6):
        scaled = inverse_frequencies(16, base, record, length)
        assert all(math.isfinite(f) and 0 <= f <= full for f, full in zip(scaled, ladder, strict=True))


def test_keys_need_re_rotation_only_where_the_length_crosses_a_change():
    assert not needs_re_rotation(10, 2048, rotary_dim=64, scaling=DynamicNTK(2.0, 2048))
    assert needs_re_rotation(2048, 2049, rotary_dim=64, scaling=DynamicNTK(2.0, 2048))
    assert not needs_re_rotation(33, 64, rotary_dim=64, scaling=SteppedNTK(32))
    assert needs_re_rotation(64, 65, rotary_dim=64, scaling=SteppedNTK(32))
    assert not needs_re_rotation(5000, 9000, rotary_dim=16, scaling=LongRoPE([1.0] * 8, [2.0] * 8, 4096, 131072))
    assert needs_re_rotation(4096, 4097, rotary_dim=16, scaling=LongRoPE([1.0] * 8, [2.0] * 8, 4096, 131072))
    assert not needs_re_rotation(1, 10**6, rotary_dim=64, scaling=YaRN(4.0, 32))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((7,), ArgumentError, "rotary_dim: expected an even, positive number of channels .* got 7; use 6"),
        ((0,), ArgumentError, "rotary_dim: .* got 0"),
        ((-4,), ArgumentError, "rotary_dim: .* got -4; use 2"),
        ((8.0,), ArgumentTypeError, "rotary_dim: expected an even int, got float"),
        ((True,), ArgumentTypeError, "rotary_dim"),
        ((8, 0.0), ArgumentError, "base: expected a finite number above 1 .* got 0.0; 10000 is the usual one"),
        ((8, -1.0), ArgumentError, "base: .* got -1.0"),
        ((8, 1.0), ArgumentError, "base: .* got 1.0"),
        ((8, math.inf), ArgumentError, "base: .* got inf"),
        ((8, math.nan), ArgumentError, "base: .* got nan"),
        ((8, "10000"), ArgumentTypeError, "base: expected a number above 1, got str"),
        ((8, 1e4, None, 0), ArgumentError, "length: expected an integer of at least 1, got 0"),
        ((8, 1e4, None, 2.5), ArgumentTypeError, "length: expected an integer of at least 1, got float"),
    ],
)
def test_bad_input_is_named(arguments, error, words):
    with pytest.raises(error, match=words):
        inverse_frequencies(*arguments)
