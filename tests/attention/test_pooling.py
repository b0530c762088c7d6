"""Pooling by weights: mean pooling is attention pooling with equal weights, and an empty row is an error."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from ordinate.attention import AttentionPooling, MeanPooling
from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError

masks = st.integers(1, 4).flatmap(
    lambda batch: st.integers(1, 7).flatmap(
        lambda tokens: st.lists(
            st.lists(st.booleans(), min_size=tokens, max_size=tokens).filter(any), min_size=batch, max_size=batch
        )
    )
)


def rows(batch=3, tokens=6, dim=8, dtype=torch.float64, seed=0):
    return torch.randn(batch, tokens, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


@settings(deadline=None, max_examples=40)
@given(masks)
def test_mean_pooling_is_the_mean_of_real_tokens(mask):
    real = torch.tensor(mask)
    x = rows(*real.shape)
    pooled, weights = MeanPooling()(x, real, return_weights=True)
    for row in range(len(x)):
        assert_close(pooled[row], x[row, real[row]].mean(0))
        assert_close(weights[row, 0, 0, real[row]], torch.full((int(real[row].sum()),), 1 / int(real[row].sum())).double())
    assert weights[~real[:, None, None]].abs().sum() == 0


@settings(deadline=None, max_examples=40)
@given(masks, st.sampled_from([1, 2, 4]))
def test_mean_pooling_is_attention_pooling_where_every_score_is_the_same(mask, heads):
    real = torch.tensor(mask)
    x = rows(*real.shape)
    pooling = AttentionPooling(8, num_heads=heads, projections=False).double()
    nn.init.zeros_(pooling.queries)
    pooled, weights = pooling(x, real, return_weights=True)
    mean, uniform = MeanPooling()(x, real, return_weights=True)
    assert_close(pooled, mean, rtol=1e-12, atol=1e-14)
    assert_close(weights, uniform.expand_as(weights), rtol=1e-12, atol=1e-14)


def test_equal_scores_come_from_any_query_if_tokens_are_alike():
    """Uniform weights are a matter of scores, not of a zero query."""
    x = rows(tokens=1).expand(3, 5, 8)
    pooling = AttentionPooling(8, projections=False).double()
    nn.init.normal_(pooling.queries)
    assert_close(pooling(x), MeanPooling()(x))


def test_a_query_that_points_at_a_token_takes_that_token():
    x = torch.eye(4, 8, dtype=torch.float64).unsqueeze(0)
    pooling = AttentionPooling(8, projections=False).double()
    pooling.queries.data = 1e4 * x[0, 2:3]
    assert_close(pooling(x), x[:, 2])


@pytest.mark.parametrize(("heads", "queries"), [(1, 1), (4, 1), (2, 3)])
def test_attention_pooling_is_torch_multihead_attention_with_learned_queries(heads, queries):
    pooling, theirs = (
        AttentionPooling(8, num_heads=heads, num_queries=queries).double(),
        nn.MultiheadAttention(8, heads).double(),
    )
    nn.init.normal_(pooling.queries)
    theirs.batch_first = True
    theirs.in_proj_weight.data.copy_(torch.cat((torch.eye(8), pooling.key_value.weight)))
    theirs.out_proj.weight.data.copy_(pooling.output.weight)
    x = rows()
    real = torch.tensor([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 0, 1], [0, 0, 0, 0, 0, 1]]).bool()
    want, want_weights = theirs(pooling.queries.expand(3, -1, -1), x, x, key_padding_mask=~real, average_attn_weights=False)
    pooled, weights = pooling(x, real, return_weights=True)
    assert_close(pooled, want.squeeze(1) if queries == 1 else want, rtol=1e-10, atol=1e-12)
    assert_close(weights, want_weights, rtol=1e-10, atol=1e-12)


def test_the_order_of_tokens_does_not_matter_and_padding_does_not_either():
    x, order = rows(), torch.randperm(6)
    for pooling in (MeanPooling(), AttentionPooling(8, num_heads=2).double()):
        assert_close(pooling(x[:, order]), pooling(x))
        longer = torch.cat((x, torch.full_like(x, float("nan"))), dim=1)
        real = torch.arange(12).expand(3, 12) < 6
        assert_close(pooling(longer, real), pooling(x))


def test_half_precision_sums_in_float32():
    x = torch.ones(1, 5000, 4, dtype=torch.bfloat16)
    x[:, ::2] = 3.0
    assert MeanPooling()(x).tolist() == [[2.0] * 4]
    assert MeanPooling()(x).dtype is torch.bfloat16


def test_every_parameter_learns():
    pooling = AttentionPooling(8, num_heads=2, num_queries=2, bias=True).double()
    pooling(rows()).square().sum().backward()
    for name, parameter in pooling.named_parameters():
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("pooling", [MeanPooling(), AttentionPooling(8).double()])
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda p: p(rows(), torch.tensor([[1] * 6, [0] * 6, [1] * 6])), ArgumentError, "got none in row 1; .*nothing to pool"),
        (lambda p: p(rows(tokens=0)), ArgumentError, "at least one token a row"),
        (lambda p: p(rows(), torch.ones(3, 5).bool()), ShapeError, r"token_mask: .* with B=3, T=6"),
        (lambda p: p(rows(), torch.zeros(3, 6)), ArgumentTypeError, "not an additive mask"),
        (lambda p: p(rows()[0]), ShapeError, r"x: expected a tensor \[B T D\]"),
    ],
)
def test_what_cannot_be_pooled_is_refused_in_words(pooling, call, error, words):
    with pytest.raises(error, match=words):
        call(pooling)


def test_heads_must_divide_the_channels():
    with pytest.raises(ArgumentError, match=r"num_heads: expected a number that divides dim \(8\), got 3"):
        AttentionPooling(8, num_heads=3)
    with pytest.raises(ShapeError, match="D=8"):
        AttentionPooling(8)(rows(dim=9).float())
