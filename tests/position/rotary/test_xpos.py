"""xPos against the formula of the paper in float64, two other libraries, and its own promise about caches."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from ordinate.errors import ArgumentError, PositionRangeError, ShapeError
from ordinate.position import Rotary, XPos, indices


def heads(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def scores(xpos, q, k, at_q, at_k):
    return xpos.rotate_query(q, at_q) @ xpos.rotate_key(k, at_k).mT


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_the_score_is_a_sum_of_damped_cosines(layout):
    """Re sum_i q_i conj(k_i) z_i^((n - m) / 512) e^(i (n - m) w_i), z_i = (i / (D/2) + 0.4) / 1.4."""
    q, k = heads(2, 1, 1, 5, 16)
    n, m = torch.tensor([0, 3, 700, 4000, 4001]), torch.tensor([2, 3, 0, 3999, 1])
    found = scores(XPos(16, layout=layout), q, k, n, m)[0, 0]

    def pairs(x):
        return torch.complex(x[..., :8], x[..., 8:]) if layout == "half" else torch.view_as_complex(x.unflatten(-1, (-1, 2)))

    for row in range(5):
        for column in range(5):
            distance = int(n[row] - m[column])
            z = torch.tensor([((i / 8 + 0.4) / 1.4) ** (distance / 512) for i in range(8)], dtype=torch.float64)
            turn = torch.polar(z, torch.tensor([distance * 10000 ** (-i / 8) for i in range(8)], dtype=torch.float64))
            expected = (pairs(q[0, 0, row]) * pairs(k[0, 0, column]).conj() * turn).sum().real
            assert_close(found[row, column], expected, rtol=1e-9, atol=1e-9)


def test_rotary_embedding_torch_has_the_same_scores_around_another_centre():
    library = pytest.importorskip("rotary_embedding_torch")
    theirs = library.RotaryEmbedding(16, use_xpos=True)
    q, k = heads(2, 1, 2, 40, 16).float()
    turned_q, turned_k = theirs.rotate_queries_and_keys(q, k)
    here = indices.consecutive(40)
    ours = scores(XPos(16, layout="interleaved"), q, k, here, here)
    assert_close(ours, turned_q @ turned_k.mT, rtol=1e-4, atol=1e-4)
    same = XPos(16, layout="interleaved", centre=20)  # theirs is half the row
    assert_close(same.rotate_query(q, here), turned_q, rtol=1e-5, atol=1e-5)


def test_x_transformers_has_the_same_scores():
    library = pytest.importorskip("x_transformers.x_transformers")
    theirs = library.RotaryEmbedding(16, use_xpos=True)
    freqs, scale = theirs(torch.arange(40))
    q, k = heads(2, 1, 2, 40, 16).float()
    expected = library.apply_rotary_pos_emb(q, freqs, scale) @ library.apply_rotary_pos_emb(k, freqs, scale**-1).mT
    here = indices.consecutive(40)
    assert_close(scores(XPos(16, layout="interleaved"), q, k, here, here), expected, rtol=1e-4, atol=1e-4)


def test_a_cached_key_is_the_same_whatever_the_length_of_its_row():
    """Where the centre is half the row (the authors' code, the two libraries) prefill and decode differ; here they do not."""
    library = pytest.importorskip("rotary_embedding_torch")
    xpos, k = XPos(16, layout="interleaved"), heads(1, 1, 600, 16).float()
    whole = xpos.rotate_key(k, indices.consecutive(600))
    assert_close(xpos.rotate_key(k[:, :, :10], indices.consecutive(10)), whole[:, :, :10], rtol=0, atol=0)
    theirs = library.RotaryEmbedding(16, use_xpos=True, cache_if_possible=False)
    short, long = (theirs.rotate_queries_and_keys(k[:, :, :n], k[:, :, :n])[1] for n in (10, 600))
    assert (short - long[:, :, :10]).abs().max() > 0.1


@given(st.integers(0, 30_000), st.integers(0, 2_000), st.integers(-30_000, 30_000))
def test_the_centre_cancels_from_every_score(start, distance, centre):
    q, k = heads(2, 1, 1, 1, 8)
    at_q, at_k = torch.tensor([start + distance]), torch.tensor([start])
    plain, moved = (scores(XPos(8, layout="half", centre=c), q, k, at_q, at_k) for c in (0, centre))
    assert_close(plain, moved, rtol=1e-9, atol=1e-9)


def test_the_score_of_equal_vectors_falls_with_the_distance():
    """At whole periods of the slowest turn nothing but the factor is left; the paper's figure 2."""
    xpos, ones = XPos(2, layout="half"), torch.ones(1, 1, 1, 2, dtype=torch.float64)
    turns = [xpos.rotate_query(ones, torch.tensor([d])).norm() for d in (0, 100, 1000)]
    assert turns[0] > turns[1] > turns[2]
    assert_close(turns[2] / turns[0], torch.tensor((0.4 / 1.4) ** (1000 / 512), dtype=torch.float64))


def test_a_huge_scale_base_is_the_plain_rotation():
    q, here = heads(1, 2, 9, 16), indices.consecutive(9, start=500)
    assert_close(XPos(16, layout="half", scale_base=1e18).rotate_query(q, here), Rotary(16, layout="half").rotate(q, here))


def test_channels_past_rotary_dim_are_neither_turned_nor_scaled():
    q, here = heads(1, 1, 3, 16), indices.consecutive(3, start=900)
    xpos = XPos(16, layout="half", rotary_dim=8)
    assert torch.equal(xpos.rotate_query(q, here)[..., 8:], q[..., 8:])
    assert_close(xpos.rotate_query(q, here)[..., :8], XPos(8, layout="half").rotate_query(q[..., :8], here))


@pytest.mark.parametrize(("dtype", "about"), [(torch.float16, 1100), (torch.bfloat16, 32_000), (torch.float32, 32_000)])
def test_up_to_its_reach_every_factor_is_finite_and_past_it_an_error_says_so(dtype, about):
    xpos = XPos(16, layout="half")
    reach = xpos.reach(dtype)
    assert 0.9 * about < reach < 1.2 * about
    x = torch.full((1, 1, 2, 16), 30.0, dtype=dtype)
    ends = torch.tensor([reach, -reach])
    for turn in (xpos.rotate_query, xpos.rotate_key):
        out = turn(x, ends)
        assert out.isfinite().all()
        assert (out.norm(dim=-1) > 0).all()
        with pytest.raises(PositionRangeError, match=rf"at most {reach} positions from centre \(0\)"):
            turn(x, torch.tensor([0, reach + 1]))
    moved = XPos(16, layout="half", centre=reach)
    assert moved.rotate_query(x, torch.tensor([0, 2 * reach])).isfinite().all()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: XPos(15, layout="half"), ArgumentError, "head_dim: expected an even, positive number"),
        (lambda: XPos(16, layout="x"), ArgumentError, "layout: expected 'half'"),
        (lambda: XPos(16, layout="half", rotary_dim=32), ArgumentError, "rotary_dim: expected at most head_dim (16), got 32"),
        (lambda: XPos(16, layout="half", scale_base=0), ArgumentError, "scale_base: expected a finite number above 0, got 0"),
        (lambda: XPos(16, layout="half", gamma=-0.4), ArgumentError, "gamma: expected a finite number above 0, got -0.4"),
        (lambda: XPos(16, layout="half", centre=math.nan), ArgumentError, "centre: expected a finite number, got nan"),
        (
            lambda: XPos(16, layout="half").rotate_key(torch.zeros(1, 1, 2, 8), torch.arange(2)),
            ShapeError,
            "key: expected a tensor [B H T D] with D=16",
        ),
    ],
)
def test_bad_settings_are_refused_in_words(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()
