import pytest
import torch
from torch import nn
from torch.testing import assert_close

from ordinate.attention import Causal, Documents, Padding, attend
from ordinate.errors import ArgumentError, ShapeError
from ordinate.position import ForgetGates, PaTH, indices
from ordinate.position.householder import path_scores, path_scores_by_products

HEADS, GROUPS, HEAD_DIM, TOKENS = 4, 2, 8, 20


def made(**settings):
    torch.manual_seed(3)
    return PaTH(HEADS, HEAD_DIM, num_key_value_heads=GROUPS, **settings).double()


def heads(batch=2, tokens=TOKENS):
    torch.manual_seed(4)
    return [torch.randn(batch, count, tokens, HEAD_DIM, dtype=torch.float64) for count in (HEADS, GROUPS, GROUPS)]


def explicit(module, q, k):
    """The definition, matrix by matrix: the product of all M_t from the token after the key to the query, pair by pair."""
    beside = k.transpose(1, 2).flatten(-2)
    w = (beside @ module.narrow.weight.T @ module.direction.weight.T).unflatten(-1, (GROUPS, HEAD_DIM)).transpose(1, 2)
    w = w / w.square().sum(-1, keepdim=True).sqrt()
    b = 2 * (beside @ module.strength.weight.T + module.strength.bias).sigmoid().transpose(1, 2)
    scores = torch.zeros(*q.shape[:3], k.shape[2], dtype=torch.float64)
    for row in range(q.shape[0]):
        for head in range(HEADS):
            group = head // (HEADS // GROUPS)
            for i in range(q.shape[2]):
                product = torch.eye(HEAD_DIM, dtype=torch.float64)
                for j in range(i, -1, -1):
                    scores[row, head, i, j] = q[row, head, i] @ product @ k[row, group, j]
                    own = torch.outer(w[row, group, j], w[row, group, j])
                    product = product @ (torch.eye(HEAD_DIM, dtype=torch.float64) - b[row, group, j] * own)
    return scores / HEAD_DIM**0.5


def test_scores_are_the_products_of_all_matrices_between():
    module, (q, k, _) = made(), heads()
    steps = torch.arange(TOKENS)
    expected = explicit(module, q, k)
    assert_close(module.scores(q, k, steps, steps).tril(), expected)
    assert_close(path_scores_by_products(q, k, *module.matrices(k)) / HEAD_DIM**0.5, expected)


@pytest.mark.parametrize("chunk", [1, 4, 7, 64])
def test_chunks_of_any_size_give_the_reference_in_float32_too(chunk):
    torch.manual_seed(0)
    q, k, w = torch.randn(3, 2, 2, 70, 16)
    w, b = nn.functional.normalize(w, dim=-1), 2 * torch.rand(2, 2, 70)
    expected = path_scores_by_products(q.double(), k.double(), w.double(), b.double())
    found = path_scores(q, k, w, b, torch.arange(70).unsqueeze(0), chunk=chunk)
    assert_close(found.tril().double(), expected, rtol=1e-4, atol=1e-4)
    last = path_scores(q[:, :, 69:], k, w, b, torch.tensor([[69]]), chunk=chunk)  # a decode step, in its own arithmetic
    assert_close(last.double(), expected[:, :, 69:], rtol=1e-4, atol=1e-4)


def test_a_strength_of_two_reflects_and_keeps_lengths():
    torch.manual_seed(0)
    k, w = torch.randn(2, 1, 1, 50, 6, dtype=torch.float64)
    w, b = nn.functional.normalize(w, dim=-1), torch.full((1, 1, 50), 2.0, dtype=torch.float64)
    eyes = torch.eye(6, dtype=torch.float64)[None, None]  # six queries that read the channels of the key that arrives
    arrived = path_scores(eyes, k, w, b, torch.full((1, 6), 49))[0, 0]
    assert_close(arrived.square().sum(0), k[0, 0].square().sum(-1))


@pytest.mark.parametrize("impl", ["reference", "blocked"])
def test_attention_goes_by_these_scores_and_with_forget_gates_too(impl):
    module, (q, k, v) = made(), heads()
    steps = torch.arange(TOKENS)
    scores = explicit(module, q, k)
    future = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)
    values = v.repeat_interleave(HEADS // GROUPS, 1)
    found = attend(q, k, v, query_positions=steps, encoding=module, mask=Causal(), impl=impl)
    assert_close(found, scores.masked_fill(future, float("-inf")).softmax(-1) @ values)
    gates = ForgetGates(HEADS, HEAD_DIM, num_key_value_heads=GROUPS).double()
    found = attend(q, k, v, query_positions=steps, encoding=[module, gates], mask=Causal(), impl=impl)
    scores = scores + gates.bias(steps, steps, q, k)
    assert_close(found, scores.masked_fill(future, float("-inf")).softmax(-1) @ values)


def test_blocks_train_it_as_the_formula_does():
    for impl in ("reference", "blocked"):
        module, inputs = made(), [x.requires_grad_() for x in heads(tokens=70)]
        out = attend(*inputs, query_positions=torch.arange(70), encoding=module, mask=Causal(), impl=impl)
        out.square().sum().backward()
        grads = [x.grad for x in (*inputs, *module.parameters())]
        if impl == "reference":
            expected = grads
    assert_close(grads, expected)
    assert all(grad.abs().max() > 1e-4 for grad in expected)


def test_padding_moves_nothing_and_documents_nothing_of_each_other():
    module, (q, k, v) = made(), heads()
    real = torch.ones(2, TOKENS, dtype=torch.bool)
    real[:, [3, 4, 9]] = False
    alone = attend(*(x[:, :, real[0]] for x in (q, k, v)), query_positions=torch.arange(17), encoding=module, mask=Causal())
    for impl in ("reference", "blocked"):
        mask = Causal() & Padding(real)
        holed = attend(q, k, v, query_positions=torch.arange(TOKENS), encoding=module, mask=mask, impl=impl)
        assert_close(holed[:, :, real[0]], alone)
        mask = Causal() & Documents(indices.documents([12, 8]))
        both = attend(q, k, v, query_positions=indices.from_lengths([12, 8]), encoding=module, mask=mask, impl=impl)
        second = attend(*(x[:, :, 12:] for x in (q, k, v)), query_positions=torch.arange(8), encoding=module, mask=Causal())
        assert_close(both[:, :, 12:], second)


def test_keys_in_another_order_score_as_in_their_own():
    module, (q, k, _) = made(), heads()
    steps, shuffled = torch.arange(TOKENS), torch.randperm(TOKENS, generator=torch.Generator().manual_seed(1))
    found = module.scores(q, k[:, :, shuffled], steps, shuffled)
    assert_close(found, module.scores(q, k, steps, steps)[..., shuffled])


def test_what_does_not_fit_is_said():
    module, (q, _, _) = made(), heads()
    steps = torch.arange(TOKENS)
    with pytest.raises(ShapeError, match="2 key-value heads"):
        module.scores(q, q, steps, steps)
    with pytest.raises(ArgumentError, match="divides the 4"):
        PaTH(4, 8, num_key_value_heads=3)
