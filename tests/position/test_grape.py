import pytest
import torch
from torch import nn
from torch.testing import assert_close

from ordinate.attention import Causal, Padding, attend
from ordinate.position import GRAPE, LearnedRotary, PathIntegralBias, Rotary, alibi_slopes

HEADS, HEAD_DIM, TOKENS = 4, 8, 12


def grape():
    torch.manual_seed(1)
    module = GRAPE(HEAD_DIM).double()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module


def test_it_is_the_exponential_of_its_generator():
    module = grape()
    planes, half = module.planes(), HEAD_DIM // 2
    generator = torch.zeros(HEAD_DIM, HEAD_DIM, dtype=torch.float64)
    for c, frequency in enumerate(module.inverse_frequencies()):
        a, b = planes[c], planes[c + half]  # rank 2: the plane that a and b span
        generator = generator + frequency * (torch.outer(b, a) - torch.outer(a, b))
    x = torch.randn(1, 2, 5, HEAD_DIM, dtype=torch.float64)
    positions = torch.tensor([0, 1, 2, 7, 40])
    expected = torch.stack([x[:, :, t] @ torch.linalg.matrix_exp(p * generator).T for t, p in enumerate(positions)], 2)
    assert_close(module.rotate_query(x, positions), expected)


def test_planes_stay_orthogonal_and_it_starts_as_rotary():
    assert_close(grape().planes() @ grape().planes().T, torch.eye(HEAD_DIM, dtype=torch.float64))
    x, steps = torch.randn(1, 2, 5, HEAD_DIM, dtype=torch.float64), torch.arange(5)
    assert_close(GRAPE(HEAD_DIM).double().rotate_key(x, steps), Rotary(HEAD_DIM, layout="half").rotate(x, steps))
    fixed = LearnedRotary(HEAD_DIM, layout="half").double()  # the authors' published form: learned frequencies, fixed planes
    module = grape()
    with torch.no_grad():
        module.generator.zero_()
        fixed.log_correction.copy_(module.log_correction)
    assert_close(module.rotate_query(x, steps), fixed.rotate(x, steps))


def path_bias(k, steps):
    """The authors' forward pass, token by token."""
    groups = k.shape[1]
    out = torch.zeros(k.shape[0], HEADS, k.shape[2], k.shape[2], dtype=torch.float64)
    half = HEAD_DIM // 2
    for b in range(k.shape[0]):
        for h in range(HEADS):
            keys = k[b, h // (HEADS // groups)]
            for i in range(len(keys)):
                for j in range(i + 1):
                    total = 0.0
                    for on in range(j + 1, i + 1):
                        unit = keys[on] / keys[on].square().mean().sqrt()
                        cos, sin = steps[on].double().cos(), steps[on].double().sin()
                        turned = torch.cat((unit[:half] * cos + unit[half:] * sin, unit[half:] * cos - unit[:half] * sin))
                        total += alibi_slopes(HEADS)[h] * float((keys[i] @ turned / HEAD_DIM).sigmoid().log())
                    out[b, h, i, j] = total
    return out


def test_the_path_integral_is_the_sum_over_the_tokens_between():
    torch.manual_seed(2)
    q, k = torch.randn(2, HEADS, TOKENS, HEAD_DIM).double(), torch.randn(2, 2, TOKENS, HEAD_DIM).double()
    steps = torch.arange(TOKENS)
    assert_close(PathIntegralBias(HEADS, HEAD_DIM).bias(steps, steps, q, k), path_bias(k, steps))


@pytest.mark.parametrize("impl", ["reference", "blocked"])
def test_hidden_tokens_are_not_on_the_path(impl):
    torch.manual_seed(2)
    q, k, v = torch.randn(3, 1, HEADS, TOKENS, HEAD_DIM, dtype=torch.float64)
    real = torch.ones(1, TOKENS, dtype=torch.bool)
    real[:, [3, 4]] = False
    encoding, steps = PathIntegralBias(HEADS, HEAD_DIM), torch.arange(TOKENS)
    holed = attend(q, k, v, query_positions=steps, encoding=encoding, mask=Causal() & Padding(real), impl=impl)
    here = steps[real[0]]
    alone = attend(*(x[:, :, real[0]] for x in (q, k, v)), query_positions=here, encoding=encoding, mask=Causal())
    assert_close(holed[:, :, real[0]], alone)
