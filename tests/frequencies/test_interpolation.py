import math

import pytest

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.frequencies import Clipped, DynamicNTK, Linear, NTKAware, Proportional, SteppedNTK, inverse_frequencies


def test_interpolation_divides_every_frequency():
    plain, scaled = inverse_frequencies(256, 1e6), inverse_frequencies(256, 1e6, Linear(8))
    assert scaled == tuple(f / 8 for f in plain)


def test_gemma_3_has_one_ladder_for_global_layers_and_one_for_local_ones():
    """Values of transformers#41922: base and scaling belong to the kind of layer."""
    assert inverse_frequencies(256, 1e6, Linear(8))[1] == pytest.approx(0.1122108916, rel=1e-9)
    assert inverse_frequencies(256, 10000.0)[1] == pytest.approx(0.9305720409, rel=1e-9)


def test_ntk_aware_keeps_the_fastest_pair_and_gives_the_slowest_that_of_interpolation():
    scaled = inverse_frequencies(128, 10000.0, NTKAware(8))
    assert scaled[0] == 1.0
    assert scaled[1] == pytest.approx(82684.62264 ** (-2 / 128), rel=1e-9)
    assert scaled[63] == pytest.approx(1.44347748e-05, rel=1e-8)
    assert scaled[63] == pytest.approx(inverse_frequencies(128, 10000.0, Linear(8))[63], rel=1e-14)


def test_ntk_aware_leaves_a_single_pair_alone():
    assert inverse_frequencies(2, 10000.0, NTKAware(8)) == (1.0,)


@pytest.mark.parametrize(
    ("length", "base"), [(10, 10000.0), (2048, 10000.0), (2049, 10010.0808), (4096, 31082.2367), (8192, 74534.8303)]
)
def test_dynamic_ntk_has_the_base_of_its_length(length, base):
    scaling = DynamicNTK(2, 2048)
    assert scaling.effective_base(64, 10000.0, length) == pytest.approx(base, abs=1e-4)
    assert inverse_frequencies(64, 10000.0, scaling, length)[5] == pytest.approx(base ** (-10 / 64), rel=1e-8)


def test_dynamic_ntk_goes_back_after_a_long_row():
    scaling = DynamicNTK(2, 2048)
    short = inverse_frequencies(64, 10000.0, scaling, 100)
    inverse_frequencies(64, 10000.0, scaling, 100_000)
    assert inverse_frequencies(64, 10000.0, scaling, 100) == short == inverse_frequencies(64)


def qwen_alpha(length: int, trained: int) -> float:
    """As in the published modeling_qwen.py, written from its three lines."""
    context_value = math.log(length / trained, 2) + 1
    return max(2 ** math.ceil(context_value) - 1, 1)


@pytest.mark.parametrize("length", [1, 2047, 2048, 2049, 4096, 4097, 8192, 8193, 16384, 32768])
def test_stepped_ntk_has_the_steps_of_the_first_qwen(length):
    assert SteppedNTK(2048).stretch(length) == qwen_alpha(length, 2048)


def test_stepped_ntk_raises_the_base_as_ntk_aware_does():
    assert inverse_frequencies(64, 1e4, SteppedNTK(2048), 4096) == inverse_frequencies(64, 1e4, NTKAware(3))


def test_proportional_keeps_the_denominator_of_the_whole_head_and_stills_the_rest():
    ladder = inverse_frequencies(64)
    assert inverse_frequencies(64, 10000.0, Proportional(0.25)) == ladder[:8] + (0.0,) * 24
    assert inverse_frequencies(64, 10000.0, Proportional(1.0)) == ladder
    assert inverse_frequencies(64, 10000.0, Proportional(0.25, factor=8.0))[:8] == tuple(f / 8 for f in ladder[:8])
    assert inverse_frequencies(64, 10000.0, Proportional(0.25))[1] != inverse_frequencies(16)[1]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Linear(0.0), ArgumentError, "factor: expected a finite number above 0, got 0.0"),
        (lambda: Linear(-2.0), ArgumentError, "factor: .* got -2.0"),
        (lambda: Linear(math.nan), ArgumentError, "factor: .* got nan"),
        (lambda: Linear(math.inf), ArgumentError, "factor: .* got inf"),
        (lambda: Linear("4"), ArgumentTypeError, "factor: expected a finite number above 0, got str"),
        (lambda: NTKAware(0.0), ArgumentError, "factor"),
        (lambda: DynamicNTK(0.0, 2048), ArgumentError, "factor"),
        (lambda: DynamicNTK(2.0, 0), ArgumentError, "original_context: expected an integer of at least 1, got 0"),
        (lambda: DynamicNTK(2.0, 2048.0), ArgumentTypeError, "original_context: expected an integer of at least 1, got float"),
        (lambda: SteppedNTK(-1), ArgumentError, "original_context"),
        (lambda: Proportional(0.0), ArgumentError, r"fraction: expected a share of the pairs in \(0, 1\], got 0.0"),
        (lambda: Proportional(1.5), ArgumentError, "fraction: .* got 1.5"),
        (lambda: Proportional(0.5, factor=0.0), ArgumentError, "factor"),
    ],
)
def test_bad_settings_are_named(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_clipped_frequencies_fade_as_in_the_authors_code():
    """Their lines for a head of 128: the last 20 of 64, times half of 1 + cos over a line from 0 to pi, in float32."""
    torch = pytest.importorskip("torch")
    plain = torch.tensor(inverse_frequencies(128, 500000.0), dtype=torch.float64)
    theirs = plain.clone()
    theirs[44:] = theirs[44:] * (0.5 * (1.0 + torch.cos(torch.linspace(0.0, torch.pi, steps=20, dtype=torch.float32))))
    torch.testing.assert_close(
        torch.tensor(inverse_frequencies(128, 500000.0, Clipped(20))).double(), theirs, rtol=1e-6, atol=1e-9
    )
    assert inverse_frequencies(128, 500000.0, Clipped(20, soft=False)) == (*plain[:44].tolist(), *[0.0] * 20)
    assert inverse_frequencies(8, 10000.0, Clipped(100))[-1] == 0.0
    with pytest.raises(ArgumentError, match="pairs"):
        Clipped(0)
