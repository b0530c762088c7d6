"""What `inspect` says of ALiBi builds the very module: held to the bias that Falcon itself adds, and to MPT's formula."""

from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from ordinate.inspection import inspect_config
from ordinate.position import build


@pytest.mark.parametrize("heads", [4, 6, 32, 71])
def test_falcon_adds_its_bias_before_it_scales_the_scores(heads: int) -> None:
    from transformers.models.falcon.modeling_falcon import build_alibi_tensor

    told = {"model_type": "falcon", "alibi": True, "hidden_size": 16 * heads, "num_attention_heads": heads}
    spec = inspect_config(told).layers[0].spec
    assert spec is not None
    positions = torch.arange(100)  # the product with a position this small is rounded to bfloat16 there, not here
    ours = build(spec).bias(positions[-1:], positions).squeeze(1)
    theirs = build_alibi_tensor(torch.ones(1, 100), heads, torch.float64).squeeze(1) / math.sqrt(16)
    assert_close(ours.double(), theirs - theirs[:, -1:], rtol=0, atol=2**-8 * theirs.max().item())
    exact = build_alibi_tensor(torch.ones(1, 2), heads, torch.float64).squeeze(1)[:, 1] / math.sqrt(16)
    assert_close(-ours[:, -2].double(), exact, rtol=1e-6, atol=0)  # at distance 1 the product is the slope itself


def test_mpt_may_stretch_its_slopes() -> None:
    told = {
        "model_type": "mpt",
        "d_model": 64,
        "n_heads": 8,
        "n_layers": 2,
        "attn_config": {"alibi": True, "alibi_bias_max": 16},
    }
    spec = inspect_config(told).layers[0].spec
    assert spec is not None
    bias = build(spec).bias(torch.tensor([1]), torch.tensor([0])).flatten()
    assert_close(-bias, torch.tensor([2.0 ** (-16 * head / 8) for head in range(1, 9)]))


def test_without_a_head_width_falcons_slopes_are_not_guessed() -> None:
    told = {"model_type": "falcon", "alibi": True, "num_attention_heads": 8, "hidden_size": 100}
    assert inspect_config(told).layers[0].spec is None
