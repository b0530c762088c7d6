"""The sweep's decoder: what it forms once gives the same as forming it in every layer, and it does not look ahead."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from ordinate.attention import Causal
from ordinate.position import ALiBi, Kerple, Sinusoidal
from ordinate.sweep.encodings import ENCODINGS, Shape, make
from ordinate.sweep.model import SweepDecoder

SHAPE = Shape(32, 4, 32, 32)


def decoder(name: str, *, causal: bool = True, layers: int = 2) -> SweepDecoder:
    torch.manual_seed(0)
    return SweepDecoder(11, dim=32, layers=layers, heads=4, encodings=make(name, SHAPE), causal=causal)


def by_hand(model: SweepDecoder, tokens: Tensor, added: Tensor | float, bias: Tensor | float) -> Tensor:
    """One row through the decoder in plain formulas; bias [H, T, T]."""
    x = model.embedding.weight[tokens] * math.sqrt(32) + added
    hidden = torch.ones(len(tokens), len(tokens)).triu(1).bool()
    for block in model.blocks:
        normed = torch.nn.functional.layer_norm(x, (32,), block.norm_attention.weight)
        q, k, v = ((normed @ part.T).view(-1, 4, 8).transpose(0, 1) for part in block.to_heads.weight.split(32))
        scores = (q @ k.transpose(1, 2) / math.sqrt(8) + bias).masked_fill(hidden, -math.inf)
        x = x + (scores.softmax(-1) @ v).transpose(0, 1).reshape(-1, 32) @ block.from_heads.weight.T
        normed = torch.nn.functional.layer_norm(x, (32,), block.norm_network.weight)
        x = x + (normed @ block.up.weight.T).clamp_min(0) @ block.down.weight.T
    return torch.nn.functional.layer_norm(x, (32,), model.norm.weight) @ model.head.weight.T


def test_it_is_the_formula_with_a_bias_and_with_sinusoids() -> None:
    tokens, steps = torch.randint(11, (9,)), torch.arange(9)
    slopes = torch.tensor([2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8])
    bias = -slopes[:, None, None] * (steps[:, None] - steps)
    torch.testing.assert_close(decoder("alibi")(tokens[None], steps)[0], by_hand(decoder("alibi"), tokens, 0.0, bias))
    angles = steps[:, None] * 10000.0 ** (-torch.arange(0, 32, 2) / 32)
    sines = torch.stack((angles.sin(), angles.cos()), -1).flatten(1)
    model = decoder("sinusoidal")
    torch.testing.assert_close(model(tokens[None], steps)[0], by_hand(model, tokens, sines, 0.0), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ENCODINGS)
def test_no_token_sees_what_comes_after_it(name: str) -> None:
    model, tokens = decoder(name).eval(), torch.randint(11, (2, 12))
    changed = tokens.clone()
    changed[:, 8:] = (changed[:, 8:] + 1) % 11
    with torch.no_grad():
        before, after = model(tokens, torch.arange(12)), model(changed, torch.arange(12))
    torch.testing.assert_close(before[:, :8], after[:, :8])
    assert not torch.allclose(before[:, 8:], after[:, 8:])


def test_without_the_mask_every_token_sees_all() -> None:
    model, tokens = decoder("none", causal=False), torch.randint(11, (1, 12))
    changed = tokens.clone()
    changed[:, -1] = (changed[:, -1] + 1) % 11
    assert not torch.allclose(model(tokens, torch.arange(12))[:, 0], model(changed, torch.arange(12))[:, 0])


def test_a_bias_formed_once_is_the_one_that_layers_would_form() -> None:
    model, tokens, steps = decoder("kerple"), torch.randint(11, (2, 10)), torch.arange(10)
    expected = model(tokens, steps)
    kerple = model.encodings[0]
    model._how = lambda positions: {  # type: ignore[method-assign]
        "query_positions": positions,
        "encoding": [kerple],
        "mask": Causal(),
        "scale": None,
    }
    torch.testing.assert_close(model(tokens, steps), expected)


def test_what_is_kept_is_forgotten_when_learning_goes_on() -> None:
    model, tokens, steps = decoder("kerple").eval(), torch.randint(11, (1, 6)), torch.arange(6)
    with torch.no_grad():
        before = model(tokens, steps)
    kerple = model.encodings[0]
    assert isinstance(kerple, Kerple)
    model.train()
    with torch.no_grad():
        kerple.raw_r1.add_(3.0)
    model.eval()
    with torch.no_grad():
        assert not torch.allclose(model(tokens, steps), before)


def test_other_positions_are_not_taken_for_kept_ones() -> None:
    model, tokens = decoder("alibi").eval(), torch.randint(11, (1, 6))
    with torch.no_grad():
        here = model(tokens, torch.arange(6))
        torch.testing.assert_close(model(tokens, torch.arange(6) + 7), here)  # by distance alone
        assert not torch.allclose(model(tokens, torch.tensor([0, 2, 4, 6, 8, 10])), here)
        model.replace_encodings([Sinusoidal(32)])
        first = model(tokens, torch.arange(6))
        assert not torch.allclose(model(tokens, torch.arange(6) + 7), first)


def test_temperature_is_a_factor_on_the_scores() -> None:
    model, tokens, steps = decoder("none", layers=1).eval(), torch.randint(11, (1, 6)), torch.arange(6)
    with torch.no_grad():
        model.temperature = 2.0
        sharp = model(tokens, steps)
        model.temperature = 1.0
        model.blocks[0].to_heads.weight[:32] *= 2.0  # type: ignore[index, operator, union-attr]  # queries twice as long
        torch.testing.assert_close(sharp, model(tokens, steps))


def test_all_layers_share_one_encoding() -> None:
    model = decoder("alibi", layers=3)
    assert sum(isinstance(module, ALiBi) for module in model.modules()) == 1
    assert len(model.streams(torch.zeros(2, 5, dtype=torch.long), torch.arange(5))) == 4
