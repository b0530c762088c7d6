import math

import pytest

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.frequencies import Llama3, YaRN, inverse_frequencies

QWEN = YaRN(4, 32768)
GPT_OSS = YaRN(32, 4096, truncate=False)


def test_yarn_of_qwen_has_whole_ends_of_its_ramp():
    assert QWEN.ramp(128, 1e6) == (23, 40)
    found = inverse_frequencies(128, 1e6, QWEN)
    assert found[30] == pytest.approx(0.0010643609812, rel=1e-10)
    assert found[39] == pytest.approx(6.4903943208e-05, rel=1e-10)
    plain = inverse_frequencies(128, 1e6)
    assert found[:24] == plain[:24]
    assert found[40:] == tuple(f / 4 for f in plain[40:])


def test_yarn_of_gpt_oss_does_not_round_the_ends_of_its_ramp():
    assert GPT_OSS.ramp(64, 150000) == pytest.approx((8.092779115512402, 17.39802450158856), rel=1e-14)
    found = inverse_frequencies(64, 150000, GPT_OSS)
    assert found[9] == pytest.approx(0.031705696185, rel=1e-10)
    assert found[17] == pytest.approx(0.00012931870125, rel=1e-10)
    assert inverse_frequencies(64, 150000, YaRN(32, 4096))[17] == pytest.approx(2.2794780e-4, rel=1e-7)


def test_equal_betas_make_a_step():
    sharp = inverse_frequencies(128, 1e6, YaRN(4, 32768, beta_fast=8.0, beta_slow=8.0, truncate=False))
    plain = inverse_frequencies(128, 1e6)
    ratios = [a / b for a, b in zip(plain, sharp, strict=True)]
    assert all(ratio == pytest.approx(1) or ratio == pytest.approx(4) for ratio in ratios)
    assert ratios == sorted(ratios)


@pytest.mark.parametrize(("factor", "expected"), [(4, 1.138629436111989), (32, 1.3465735902799727), (1, 1.0)])
def test_yarn_multiplies_cos_and_sin_by_a_tenth_of_the_logarithm_plus_one(factor, expected):
    assert YaRN(factor, 4096).cos_sin_factor == pytest.approx(expected, rel=1e-15)
    assert YaRN(factor, 4096).softmax_factor == 1.0


def test_the_two_magnitudes_of_deepseek_cancel_on_cos_and_sin_and_stay_on_the_scores():
    scaling = YaRN(40, 4096, mscale=1.0, mscale_all_dim=1.0)
    assert scaling.cos_sin_factor == 1.0
    assert scaling.softmax_factor == pytest.approx(1.8738542070926265, rel=1e-15)


def test_the_two_magnitudes_of_deepseek_where_they_differ():
    """DeepSeek-V2's 0.707 and 0.707, and a pair that does not cancel; m(c) = 0.1 c ln(40) + 1."""
    even = YaRN(40, 4096, mscale=0.707, mscale_all_dim=0.707)
    assert even.cos_sin_factor == 1.0
    assert even.softmax_factor == pytest.approx((0.0707 * math.log(40) + 1) ** 2, rel=1e-15)
    odd = YaRN(40, 4096, mscale=1.0, mscale_all_dim=0.5)
    assert odd.cos_sin_factor == pytest.approx((0.1 * math.log(40) + 1) / (0.05 * math.log(40) + 1), rel=1e-15)
    assert YaRN(40, 4096, mscale=0.707).softmax_factor == 1.0
    assert YaRN(40, 4096, mscale_all_dim=0.0).cos_sin_factor == YaRN(40, 4096).cos_sin_factor


def test_a_stated_attention_factor_goes_before_the_formula():
    assert YaRN(4, 4096, attention_factor=1.25).cos_sin_factor == 1.25


@pytest.mark.parametrize(
    "changed", [{"beta_fast": 16.0}, {"beta_slow": 2.0}, {"truncate": False}, {"original_context": 16384}, {"factor": 2}]
)
def test_every_setting_of_yarn_changes_frequencies(changed):
    settings = QWEN.settings() | changed
    assert inverse_frequencies(128, 1e6, YaRN(**settings)) != inverse_frequencies(128, 1e6, QWEN)


def test_llama_3_keeps_short_waves_divides_long_ones_and_passes_smoothly_between():
    plain = inverse_frequencies(128, 500000.0)
    scaled = inverse_frequencies(128, 500000.0, Llama3(8, 1, 4, 8192))
    ratios = [a / b for a, b in zip(plain, scaled, strict=True)]
    assert ratios[:29] == [1.0] * 29
    assert ratios[35:] == [8.0] * 29
    assert ratios[29:35] == pytest.approx([1.207484, 1.553415, 2.026313, 2.69453, 3.684253, 5.257327], rel=1e-6)


@pytest.mark.parametrize(
    "changed", [{"factor": 4}, {"low_freq_factor": 2.0}, {"high_freq_factor": 8.0}, {"original_context": 4096}]
)
def test_every_setting_of_llama_3_changes_frequencies(changed):
    first = Llama3(8, 1, 4, 8192)
    second = Llama3(**(first.settings() | changed))
    assert inverse_frequencies(128, 500000.0, first) != inverse_frequencies(128, 500000.0, second)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: YaRN(0.0, 4096), ArgumentError, "factor: .* got 0.0"),
        (lambda: YaRN(4, 0), ArgumentError, "original_context"),
        (lambda: YaRN(4, 4096, beta_slow=0), ArgumentError, "beta_slow: expected a finite number above 0, got 0"),
        (lambda: YaRN(4, 4096, beta_fast=None), ArgumentTypeError, "beta_fast: expected a finite number above 0, got NoneType"),
        (lambda: YaRN(4, 4096, attention_factor=0.0), ArgumentError, "attention_factor"),
        (lambda: YaRN(4, 4096, mscale=-1.0), ArgumentError, "mscale"),
        (lambda: YaRN(4, 4096, mscale_all_dim=math.nan), ArgumentError, "mscale_all_dim"),
        (lambda: Llama3(0.0, 1, 4, 8192), ArgumentError, "factor"),
        (lambda: Llama3(8, 0, 4, 8192), ArgumentError, "low_freq_factor"),
        (lambda: Llama3(8, 1, 4, -1), ArgumentError, "original_context"),
    ],
)
def test_bad_settings_are_named(make, error, words):
    with pytest.raises(error, match=words):
        make()
