import pytest
import torch
from torch import nn
from torch.testing import assert_close

from ordinate.attention import Causal, Documents, Padding, attend
from ordinate.errors import ArgumentError, ShapeError
from ordinate.position import ALiBi, ForgetGates, indices

HEADS, GROUPS, HEAD_DIM, TOKENS = 4, 2, 8, 20


def made(**settings):
    torch.manual_seed(3)
    module = ForgetGates(HEADS, HEAD_DIM, num_key_value_heads=GROUPS, **settings)
    nn.init.normal_(module.projection.weight, std=0.5)
    nn.init.constant_(module.projection.bias, 2.0)
    return module.double()


def heads(batch=2, tokens=TOKENS):
    torch.manual_seed(4)
    return [torch.randn(batch, count, tokens, HEAD_DIM, dtype=torch.float64) for count in (HEADS, GROUPS, GROUPS)]


def by_recurrence(module, q, k, v):
    """Equations 4 to 8 of the paper row by row: exp(score) of every past key is multiplied by each new token's gate."""
    out = torch.zeros_like(q)
    gates = (k.transpose(1, 2).flatten(-2) @ module.projection.weight.T + module.projection.bias).sigmoid()  # [B, T, H]
    for b in range(q.shape[0]):
        for h in range(HEADS):
            group, kept = h // (HEADS // GROUPS), torch.zeros(0, dtype=torch.float64)
            for i in range(q.shape[2]):
                kept = torch.cat((kept * gates[b, i, h], torch.ones(1, dtype=torch.float64)))
                weights = kept * (k[b, group, : i + 1] @ q[b, h, i] / HEAD_DIM**0.5).exp()
                out[b, h, i] = weights / weights.sum() @ v[b, group, : i + 1]
    return out


@pytest.mark.parametrize("impl", ["reference", "sdpa", "blocked"])
def test_each_token_multiplies_what_is_left_of_the_past_by_its_gate(impl):
    module, (q, k, v) = made(), heads()
    found = attend(q, k, v, query_positions=torch.arange(TOKENS), encoding=module, mask=Causal(), impl=impl)
    assert_close(found, by_recurrence(module, q, k, v))


def test_the_difference_of_running_sums_is_the_bias():
    """As `naive_forgetting_attn` of fla forms it: the sum up to the query less the sum up to the key."""
    module, (q, k, _) = made(), heads()
    sums = module.log_gates(k).cumsum(-1)
    steps = torch.arange(TOKENS)
    expected = (sums.unsqueeze(-1) - sums.unsqueeze(-2)).tril()
    assert_close(module.bias(steps, steps, q, k), expected)


def test_a_gate_that_stands_still_is_alibi():
    module, (q, k, _) = made(), heads()
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625], dtype=torch.float64)
    with torch.no_grad():
        module.projection.weight.zero_()
        module.projection.bias.copy_((-slopes).exp().logit())
    steps = torch.arange(TOKENS)
    expected = ALiBi(HEADS, slopes=slopes.tolist()).bias(steps, steps).double().tril()
    assert_close(module.bias(steps, steps, q, k)[0], expected)


def test_hidden_tokens_let_nothing_be_forgotten():
    module, (q, k, v) = made(), heads()
    real = torch.ones(2, TOKENS, dtype=torch.bool)
    real[:, [3, 4, 9]] = False
    packed = attend(*(x[:, :, real[0]] for x in (q, k, v)), query_positions=torch.arange(17), encoding=module, mask=Causal())
    holed = attend(
        q, k, v, query_positions=torch.arange(TOKENS), encoding=module, mask=Causal() & Padding(real), impl="blocked"
    )
    assert_close(holed[:, :, real[0]], packed)
    documents = Documents(indices.documents([12, 8]))
    both = attend(q, k, v, query_positions=indices.from_lengths([12, 8]), encoding=module, mask=Causal() & documents)
    second = attend(*(x[:, :, 12:] for x in (q, k, v)), query_positions=torch.arange(8), encoding=module, mask=Causal())
    assert_close(both[:, :, 12:], second)


def test_blocks_train_it_as_the_formula_does():
    for impl in ("reference", "blocked"):
        module, inputs = made(), [x.requires_grad_() for x in heads()]
        attend(
            *inputs, query_positions=torch.arange(TOKENS), encoding=module, mask=Causal(), impl=impl
        ).square().sum().backward()
        grads = [x.grad for x in (*inputs, module.projection.weight, module.projection.bias)]
        if impl == "reference":
            expected = grads
    assert_close(grads, expected)
    assert expected[3].abs().max() > 1e-3


def test_what_does_not_fit_is_said():
    module, (q, _, _) = made(), heads()
    steps = torch.arange(TOKENS)
    with pytest.raises(ShapeError, match="2 key-value heads"):
        module.bias(steps, steps, q, q)
    with pytest.raises(ArgumentError, match="key"):
        module.bias(steps, steps, q)
    with pytest.raises(ArgumentError, match="divides the 4"):
        ForgetGates(4, 8, num_key_value_heads=3)
