import pytest

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.frequencies import LongRoPE, inverse_frequencies

PHI = LongRoPE([1.0 + 0.01 * i for i in range(48)], [1.0 + i for i in range(48)], 4096, 131072)


def test_short_divisors_hold_up_to_the_original_context_and_long_ones_from_the_next_token():
    plain = inverse_frequencies(96)
    for length, divisors in (
        (None, PHI.short_factor),
        (1, PHI.short_factor),
        (4096, PHI.short_factor),
        (4097, PHI.long_factor),
    ):
        assert inverse_frequencies(96, 10000.0, PHI, length) == tuple(f / d for f, d in zip(plain, divisors, strict=True))


def test_the_factor_on_cos_and_sin_comes_from_the_two_contexts_and_holds_for_short_rows_too():
    assert PHI.cos_sin_factor == pytest.approx(1.1902380714238083, rel=1e-15)
    assert LongRoPE([1.0], [1.0], 4096, 4096).cos_sin_factor == 1.0
    assert LongRoPE([1.0], [1.0], 4096, 131072, attention_factor=1.5).cos_sin_factor == 1.5


def test_lists_are_taken_and_the_record_stays_hashable():
    assert hash(LongRoPE([1, 2], (3, 4), 4096, 8192)) == hash(LongRoPE((1.0, 2.0), [3.0, 4.0], 4096, 8192))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: LongRoPE([], [], 4096, 8192), ArgumentError, "short_factor: expected one divisor .* got an empty list"),
        (lambda: LongRoPE([1.0], [], 4096, 8192), ArgumentError, "long_factor: expected one divisor .* got an empty list"),
        (lambda: LongRoPE([1.0], [1.0, 2.0], 4096, 8192), ArgumentError, r"long_factor: expected as many .* \(1\), got 2"),
        (
            lambda: LongRoPE([0.0], [1.0], 4096, 8192),
            ArgumentError,
            "short_factor: expected a finite number above 0, got 0.0",
        ),
        (
            lambda: LongRoPE([1.0], ["2"], 4096, 8192),
            ArgumentTypeError,
            "long_factor: expected a finite number",
        ),
        (lambda: LongRoPE("12", [1.0], 4096, 8192), ArgumentTypeError, "short_factor: expected a list of numbers, got str"),
        (lambda: LongRoPE(1.0, [1.0], 4096, 8192), ArgumentTypeError, "short_factor: expected a list of numbers, got float"),
        (lambda: LongRoPE([1.0], [1.0], 0, 8192), ArgumentError, "original_context"),
        (lambda: LongRoPE([1.0], [1.0], 1, 8192), ArgumentError, "original_context: expected more than one token"),
        (
            lambda: LongRoPE([1.0], [1.0], 4096, 2048),
            ArgumentError,
            r"claimed_context: expected at least .* \(4096\), got 2048",
        ),
        (lambda: LongRoPE([1.0], [1.0], 4096, 8192, -1.0), ArgumentError, "attention_factor"),
        (
            lambda: inverse_frequencies(8, 10000.0, LongRoPE([1.0], [1.0], 4096, 8192)),
            ArgumentError,
            "short_factor: expected 4 divisors, one for each pair of the 8 rotated channels, got 1",
        ),
    ],
)
def test_bad_settings_are_named(make, error, words):
    with pytest.raises(error, match=words):
        make()
