"""PoPE against the score of the paper written as a sum of cosines, and against x-transformers."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from ordinate.attention import Causal, attend
from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position import PoPE, indices


def heads(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def uniform(head_dim, num_heads):
    torch.manual_seed(0)
    return PoPE(head_dim, num_heads, phase_init="uniform").double()


def expected_scores(q, k, at_q, at_k, phase):
    """sum_c softplus(q_c) softplus(k_c) cos((s - t) w_c + phase_c), for [H, T, D], [H, S, D], [H, D]."""
    dim = q.shape[-1]
    w = torch.tensor([10000 ** (-c / dim) for c in range(dim)], dtype=torch.float64)
    lag = (at_k[None, :] - at_q[:, None]).double()
    cosines = torch.cos(lag[None, :, :, None] * w + phase[:, None, None, :])
    return (torch.log1p(q.exp())[:, :, None] * torch.log1p(k.exp())[:, None] * cosines).sum(-1)


@pytest.mark.parametrize("dim", [8, 7])
def test_the_score_is_the_papers_sum_of_cosines(dim):
    pope, (q, k) = uniform(dim, 3), heads(2, 1, 3, 5, dim)
    at_q, at_k = torch.tensor([0, 1, 5, 100, 4000]), torch.tensor([3, 0, 5, 99, 4001])
    found = pope.rotate_query(q, at_q) @ pope.rotate_key(k, at_k).mT
    assert_close(found[0], expected_scores(q[0], k[0], at_q, at_k, pope.phase.detach()), rtol=1e-9, atol=1e-9)


def test_x_transformers_has_the_same_scores():
    library = pytest.importorskip("x_transformers.x_transformers")
    theirs, ours = library.PolarEmbedding(16, 2), uniform(16, 2).float()
    with torch.no_grad():
        theirs.learned_bias.copy_(ours.phase.unsqueeze(1))
    freqs, bias = theirs(torch.arange(30))
    q, k = heads(2, 1, 2, 30, 16).float()
    expected = library.apply_polar_pos_emb(q, freqs) @ library.apply_polar_pos_emb(k, freqs + bias).mT
    here = indices.consecutive(30)
    assert_close(ours.rotate_query(q, here) @ ours.rotate_key(k, here).mT, expected, rtol=2e-5, atol=2e-5)


def test_attention_scales_by_the_width_before_the_channels_double():
    pope, (q, k, v) = uniform(8, 2), heads(3, 1, 2, 6, 8)
    here = indices.consecutive(6)
    scores = expected_scores(q[0], k[0], here, here, pope.phase.detach()) / math.sqrt(8)
    weights = scores.masked_fill(~torch.ones(6, 6).tril().bool(), -math.inf).softmax(-1)
    out = attend(q, k, v, query_positions=here, encoding=pope, mask=Causal())
    assert_close(out[0], weights @ v[0], rtol=1e-9, atol=1e-9)


def test_shared_key_heads_serve_query_heads_with_phases_of_their_own():
    pope, q, k = uniform(8, 4), heads(1, 4, 3, 8), heads(1, 2, 3, 8)
    here = indices.consecutive(3)
    found = pope.rotate_query(q, here) @ pope.rotate_key(k, here).repeat_interleave(2, dim=1).mT
    expected = expected_scores(q[0], k[0].repeat_interleave(2, dim=0), here, here, pope.phase.detach())
    assert_close(found[0], expected, rtol=1e-9, atol=1e-9)


@given(st.integers(0, 10**6), st.integers(-1000, 1000))
def test_the_score_depends_on_the_distance_alone(start, distance):
    pope, (q, k) = uniform(8, 1), heads(2, 1, 1, 1, 8)

    def score(t, s):
        return (pope.rotate_query(q, torch.tensor([t])) * pope.rotate_key(k, torch.tensor([s]))).sum()

    assert_close(score(start + distance, start), score(distance, 0), rtol=0, atol=1e-8)


def test_where_a_token_stands_changes_the_direction_and_never_the_length():
    pope, x = uniform(8, 2), heads(1, 2, 4, 8)
    near, far = (pope.rotate_query(x, indices.consecutive(4, start=s)) for s in (0, 12_345))
    lengths = (near[..., :8].square() + near[..., 8:].square()).sqrt()
    assert_close(lengths, torch.nn.functional.softplus(x))
    assert_close((far[..., :8].square() + far[..., 8:].square()).sqrt(), lengths)


def test_phases_start_at_zero_or_anywhere_in_a_turn_and_are_clamped_to_it():
    assert torch.equal(PoPE(8, 2).phase, torch.zeros(2, 8))
    drawn = PoPE(64, 64, phase_init="uniform").phase
    assert -2 * math.pi <= drawn.min() < -6 < -0.3 < drawn.max() <= 0
    pope, q = PoPE(8, 1).double(), heads(1, 1, 1, 8)
    with torch.no_grad():
        pope.phase.fill_(1.0)
    assert_close(pope.rotate_query(q, torch.tensor([3])), PoPE(8, 1).double().rotate_query(q, torch.tensor([3])))


def test_phases_learn():
    pope, (q, k) = uniform(6, 2), heads(2, 1, 2, 4, 6)
    here = indices.consecutive(4)
    pope.forward = lambda: pope.rotate_query(q, here) @ pope.rotate_key(k, here).mT
    scores = lambda phase: torch.func.functional_call(pope, {"phase": phase}, ())  # noqa: E731
    assert torch.autograd.gradcheck(scores, pope.phase.detach().clone().requires_grad_())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: PoPE(0, 2), ArgumentError, "head_dim: expected an integer of at least 1, got 0"),
        (lambda: PoPE(8, 2.0), ArgumentTypeError, "num_heads: expected an integer"),
        (lambda: PoPE(8, 2, base=1.0), ArgumentError, "base: expected a finite number above 1"),
        (lambda: PoPE(8, 2, phase_init="pi"), ArgumentError, "phase_init: expected 'zero' or 'uniform', got pi"),
        (lambda: PoPE(8, 2).rotate_query(torch.zeros(1, 1, 3, 8), torch.arange(3)), ShapeError, "with H=2"),
        (lambda: PoPE(8, 2).rotate_key(torch.zeros(1, 1, 3, 6), torch.arange(3)), ShapeError, "key: expected"),
        (lambda: PoPE(8, 2).rotate_key(torch.zeros(1, 1, 3, 8), torch.arange(2)), ShapeError, "each of the 3 tokens"),
    ],
)
def test_bad_settings_and_inputs_are_refused_in_words(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()
