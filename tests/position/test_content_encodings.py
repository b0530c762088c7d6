"""Encodings that read keys, in a layer with a cache and in a decoder."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from ordinate.attention import Causal, Decoder, MultiHeadAttention, Window
from ordinate.position import ForgetGates, PaTH

TOKENS = 20


@pytest.mark.parametrize("window", [None, 6])
@pytest.mark.parametrize("encoding", [ForgetGates, PaTH])
def test_a_cache_gives_what_the_whole_row_gives(encoding, window):
    torch.manual_seed(0)
    made = encoding(4, 8, num_key_value_heads=2)
    for parameter in made.parameters():  # as drawn, gates hardly close
        nn.init.normal_(parameter, std=0.5)
    layer = MultiHeadAttention(32, 4, num_key_value_heads=2, encoding=made).double()
    x = torch.randn(2, TOKENS, 32, dtype=torch.float64)
    with torch.no_grad():
        mask = Causal() if window is None else Window(window)
        whole = layer(x, torch.arange(TOKENS), mask=mask)
        cache = layer.new_cache(2, **({"capacity": TOKENS} if window is None else {"window_keys": window}))
        parts = [layer(x[:, :7], torch.arange(7), mask=mask, cache=cache)]
        parts += [layer(x[:, t : t + 1], torch.arange(t, t + 1), mask=mask, cache=cache) for t in range(7, TOKENS)]
    assert_close(torch.cat(parts, 1), whole)


@pytest.mark.parametrize("encoding", [ForgetGates, PaTH])
def test_a_decoder_learns_and_generates(encoding):
    torch.manual_seed(0)
    model = Decoder(vocabulary=11, dim=32, num_layers=2, num_heads=4, hidden_dim=32, encoding=encoding(4, 8))
    tokens = torch.randint(11, (2, 12))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(12):
        loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    out = model.eval().generate(tokens[:, :4], max_new_tokens=5)
    with torch.no_grad():
        assert torch.equal(model(out[:, :-1])[:, 3:].argmax(-1), out[:, 4:])
