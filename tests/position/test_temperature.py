import math

import pytest
import torch
from torch.testing import assert_close

from ordinate.attention import Causal, attend
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position import LogTemperature, Rotary, SteppedTemperature

FAR = torch.tensor([0, 1, 8190, 8191, 8192, 16382, 16383, 131071, 10_000_000])


def test_the_steps_of_llama_4_are_counted_from_one():
    """attn_scales of Meta's models/llama4/model.py: log(floor((p + 1) / 8192) + 1) * 0.1 + 1."""
    expected = [math.log(math.floor((p + 1) / 8192) + 1) * 0.1 + 1 for p in FAR.tolist()]
    assert_close(SteppedTemperature(8192, 0.1).factors(FAR).tolist(), expected, rtol=1e-15, atol=0)
    assert expected[2] == 1.0 < expected[3]


def test_the_steps_of_ministral_3_are_counted_from_zero():
    expected = [1 + 0.1 * math.log(1 + math.floor(p / 16384)) for p in FAR.tolist()]
    assert_close(SteppedTemperature(16384, 0.1, ahead=0).factors(FAR).tolist(), expected, rtol=1e-15, atol=0)


def test_the_logarithm_of_the_first_qwen_starts_past_the_trained_context():
    """logn_list of modeling_qwen.py: log(i, seq_length) for the i-th token, counted from 1, past seq_length."""
    expected = [math.log(p + 1, 8192) if p + 1 > 8192 else 1.0 for p in FAR.tolist()]
    assert_close(LogTemperature(8192).factors(FAR).tolist(), expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("temperature", [SteppedTemperature(4, 0.5), SteppedTemperature(4, 0.5, ahead=0), LogTemperature(4)])
def test_in_attention_it_is_a_factor_on_the_scores_of_each_query(temperature):
    q, k, v = torch.randn(3, 2, 3, 20, 8, dtype=torch.float64).unbind()
    steps = torch.arange(20)
    rotary = Rotary(8, layout="half")
    found = attend(q, k, v, query_positions=steps, encoding=[rotary, temperature], mask=Causal(), impl="reference")
    scores = rotary.rotate(q, steps) @ rotary.rotate(k, steps).mT / math.sqrt(8) * temperature.factors(steps).unsqueeze(-1)
    weights = scores.masked_fill(torch.ones(20, 20).triu(1).bool(), -math.inf).softmax(-1)
    assert_close(found, weights @ v, rtol=1e-10, atol=1e-10)


def test_rows_of_a_batch_have_factors_of_their_own():
    query = torch.ones(2, 3, 4, 8)
    steps = torch.stack((torch.arange(4), torch.arange(4) + 100))
    found = LogTemperature(4).rotate_query(query, steps)
    assert torch.equal(found[0], query[0])
    assert_close(found[1, 0, :, 0], torch.tensor([math.log(p + 1) / math.log(4) for p in range(100, 104)]))


def test_half_precision_is_rounded_once():
    query = torch.randn(1, 2, 9, 8).bfloat16()
    steps = torch.arange(9) * 100_000
    expected = (query.double() * SteppedTemperature(8192, 0.1).factors(steps).unsqueeze(-1)).bfloat16()
    assert torch.equal(SteppedTemperature(8192, 0.1).rotate_query(query, steps), expected)


def test_the_largest_narrow_positions_do_not_wrap():
    assert LogTemperature(16).factors(torch.tensor([255], dtype=torch.uint8)).item() == pytest.approx(math.log(256, 16))
    last = torch.tensor([2**31 - 1], dtype=torch.int32)
    assert SteppedTemperature(2**31, 1.0).factors(last).item() == pytest.approx(1 + math.log(2))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: SteppedTemperature(0, 0.1), ArgumentError, "step_tokens: expected an integer of at least 1, got 0"),
        (lambda: SteppedTemperature(8192.0, 0.1), ArgumentTypeError, "step_tokens"),
        (lambda: SteppedTemperature(8192, -0.1), ArgumentError, "strength: expected a finite number above 0, got -0.1"),
        (lambda: SteppedTemperature(8192, 0.1, ahead=2), ArgumentError, "ahead: expected 0 or 1, got 2; Llama 4 counts from 1"),
        (lambda: LogTemperature(1), ArgumentError, "trained_context: expected more than 1 token, got 1"),
        (lambda: LogTemperature(-5), ArgumentError, "trained_context"),
    ],
)
def test_bad_settings_are_named(make, error, words):
    with pytest.raises(error, match=words):
        make()
