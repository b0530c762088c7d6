import pytest
import torch
from torch.testing import assert_close

from ordinate.position import GatedBias, T5Bias

HEADS, HEAD_DIM, TOKENS = 3, 8, 40


def test_wavlm_gates_its_bias_so():
    """The bias that the model hands to attention, caught on its way; the gates read the layer's input, cut into heads."""
    modeling = pytest.importorskip("transformers.models.wavlm.modeling_wavlm")
    theirs = modeling.WavLMAttention(HEADS * HEAD_DIM, HEADS, num_buckets=32, max_distance=60).double()
    with torch.no_grad():
        theirs.gru_rel_pos_const.normal_()
    caught = []
    theirs.torch_multi_head_self_attention = lambda states, mask, bias: caught.append(bias) or (states, None)
    hidden = torch.randn(2, TOKENS, HEADS * HEAD_DIM, dtype=torch.float64)
    theirs(hidden)
    ours = GatedBias(HEADS, HEAD_DIM, num_buckets=32, max_distance=60).double()
    with torch.no_grad():
        ours.buckets.weight.copy_(theirs.rel_attn_embed.weight)
        ours.gate.load_state_dict(theirs.gru_rel_pos_linear.state_dict())
        ours.constant.copy_(theirs.gru_rel_pos_const.flatten())
    content, steps = hidden.unflatten(-1, (HEADS, HEAD_DIM)).transpose(1, 2), torch.arange(TOKENS)
    found = ours.bias(steps, steps, content)
    # a float32 logarithm may put a distance one bucket too low; those of the model are ours up to its own rounding
    expected = caught[0].view(2, HEADS, TOKENS, TOKENS)
    agree = (found - expected).abs().amax((0, 1)) < 1e-12
    assert agree.double().mean() > 0.99


def test_gates_that_stand_still_leave_the_bucketed_bias():
    ours = GatedBias(HEADS, HEAD_DIM, num_buckets=8, max_distance=16)
    plain = T5Bias(HEADS, num_buckets=8, max_distance=16)
    with torch.no_grad():
        ours.gate.weight.zero_()
        ours.gate.bias.copy_(torch.tensor([-100.0] * 4 + [0.0] * 4))  # a = 0: the gate is 2
        plain.weight.copy_(ours.buckets.weight)
    here, there = torch.arange(5) + 7, torch.arange(12)
    found = ours.bias(here, there, torch.randn(2, HEADS, 5, HEAD_DIM))
    assert_close(found, 2 * plain.bias(here, there).expand(2, -1, -1, -1))
