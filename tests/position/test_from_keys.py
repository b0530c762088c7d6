import pytest
import torch
from torch import nn
from torch.testing import assert_close

from ordinate.attention import Causal, Documents, MultiHeadAttention, Padding, attend
from ordinate.errors import ArgumentError, ShapeError
from ordinate.position import RePo, Rotary, SelectiveRotary, indices

HEADS, GROUPS, HEAD_DIM, TOKENS = 4, 2, 8, 20
KINDS = [RePo, SelectiveRotary]


def made(kind, **settings):
    torch.manual_seed(3)
    module = kind(HEADS, HEAD_DIM, num_key_value_heads=GROUPS, layout="half", **settings)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module.double()


def heads(batch=2, tokens=TOKENS):
    torch.manual_seed(4)
    return [torch.randn(batch, count, tokens, HEAD_DIM, dtype=torch.float64) for count in (HEADS, GROUPS, GROUPS)]


def explicit(module, q, k):
    """The definition pair by pair: complex numbers turned by the angle of each token."""
    scores = torch.zeros(*q.shape[:3], k.shape[2], dtype=torch.float64)
    half = HEAD_DIM // 2
    for row in range(q.shape[0]):
        beside = k[row].transpose(0, 1).flatten(1)
        for group in range(GROUPS):
            frequency = torch.tensor([module.base ** (-2 * c / HEAD_DIM) for c in range(half)], dtype=torch.float64)
            if isinstance(module, RePo):
                gate = beside @ module.gate.weight.T
                hidden = gate / (1 + (-gate).exp()) * (beside @ module.content.weight.T)
                angles = (hidden @ module.place.weight[group])[:, None] * frequency
            else:
                unit = beside / beside.square().sum(-1, keepdim=True).sqrt()
                phi = unit @ module.narrow.weight.T @ module.step.weight[group * half : (group + 1) * half].T
                angles = torch.stack([(phi + module.log_constant[group].exp())[: t + 1].sum(0) for t in range(len(phi))])
                angles = angles * frequency
            turn = torch.polar(torch.ones_like(angles), angles)
            key = torch.complex(k[row, group, :, :half], k[row, group, :, half:]) * turn
            for head in range(group * HEADS // GROUPS, (group + 1) * HEADS // GROUPS):
                query = torch.complex(q[row, head, :, :half], q[row, head, :, half:]) * turn
                scores[row, head] = (query @ key.conj().T).real
    return scores / HEAD_DIM**0.5


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_complex_numbers_turned_by_their_tokens(kind):
    module, (q, k, _) = made(kind), heads()
    steps = torch.arange(TOKENS)
    assert_close(module.scores(q, k, steps, steps), explicit(module, q, k))
    assert_close(module.scores(q[:, :, 5:9], k, steps[5:9], steps), explicit(module, q, k)[:, :, 5:9])


def test_without_content_selective_rotary_is_rotary():
    module, (q, k, _) = made(SelectiveRotary), heads()
    with torch.no_grad():
        module.step.weight.zero_()
        module.log_constant.zero_()
    steps, rotary = torch.arange(TOKENS), Rotary(HEAD_DIM, layout="half", base=500000.0)
    keys = rotary.rotate(k, steps).repeat_interleave(HEADS // GROUPS, 1)
    expected = rotary.rotate(q, steps) @ keys.transpose(-1, -2) / HEAD_DIM**0.5
    assert_close(module.scores(q, k, steps, steps), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("impl", ["reference", "blocked"])
def test_padding_and_other_documents_count_for_nothing(kind, impl):
    module, (q, k, v) = made(kind), heads()
    real = torch.ones(2, TOKENS, dtype=torch.bool)
    real[:, [3, 4, 9]] = False
    alone = attend(*(x[:, :, real[0]] for x in (q, k, v)), query_positions=torch.arange(17), encoding=module, mask=Causal())
    mask = Causal() & Padding(real)
    holed = attend(q, k, v, query_positions=torch.arange(TOKENS), encoding=module, mask=mask, impl=impl)
    assert_close(holed[:, :, real[0]], alone)
    mask = Causal() & Documents(indices.documents([12, 8]))
    both = attend(q, k, v, query_positions=indices.from_lengths([12, 8]), encoding=module, mask=mask, impl=impl)
    second = attend(*(x[:, :, 12:] for x in (q, k, v)), query_positions=torch.arange(8), encoding=module, mask=Causal())
    assert_close(both[:, :, 12:], second)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_gives_what_the_whole_row_gives(kind):
    torch.manual_seed(0)
    layer = MultiHeadAttention(32, HEADS, num_key_value_heads=GROUPS, encoding=made(kind)).double()
    x = torch.randn(2, TOKENS, 32, dtype=torch.float64)
    with torch.no_grad():
        whole = layer(x, torch.arange(TOKENS), mask=Causal())
        cache = layer.new_cache(2, capacity=TOKENS)
        parts = [layer(x[:, :7], torch.arange(7), mask=Causal(), cache=cache)]
        parts += [layer(x[:, t : t + 1], torch.arange(t, t + 1), cache=cache) for t in range(7, TOKENS)]
    assert_close(torch.cat(parts, 1), whole)


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_fit_is_said(kind):
    module, (q, _, _) = made(kind), heads()
    steps = torch.arange(TOKENS)
    with pytest.raises(ShapeError, match="2 key-value heads"):
        module.scores(q, q, steps, steps)
    with pytest.raises(ArgumentError, match="divides the 4"):
        kind(4, 8, layout="half", num_key_value_heads=3)
