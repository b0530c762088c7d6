"""The articles' listings have a drop-in in this package: the same call, the same numbers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ordinate.articles.c.c3_sinusoids import TableInBuffer
from ordinate.attention import Causal, MultiHeadAttention
from ordinate.position import Rotary, Sinusoidal, indices


class PositionalEncoding(nn.Module):
    """Article C's module on this package's encoding: any length, no table in the state dict."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.encoding = Sinusoidal(d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.encoding(x, indices.consecutive(x.size(1)))


def test_article_cs_module_has_a_drop_in_with_the_same_call() -> None:
    x = torch.randn(2, 300, 64)
    module = PositionalEncoding(64)
    table = TableInBuffer(64, 5000).table[:300]
    torch.testing.assert_close(module(x), x + table, atol=1e-4, rtol=0)  # float32 angles err by up to 300 * 2^-24
    assert module(x).shape == x.shape
    assert not module.state_dict()


def test_article_as_function_gives_the_same_table() -> None:
    """sinusoidal_pe(max_pos, d_model), written out number by number."""
    encoded = Sinusoidal(64).encode(indices.consecutive(100), dtype=torch.float64)
    for pos in (0, 1, 7, 99):
        for i in (0, 1, 30, 63):
            angle = pos / 10000 ** (2 * (i // 2) / 64)
            assert abs(encoded[pos, i].item() - (math.sin(angle) if i % 2 == 0 else math.cos(angle))) < 1e-13


class LlamaListing(nn.Module):
    """Article D's attention with its cache, step by step as it is listed, without the split over devices."""

    def __init__(self, dim: int, heads: int, shared: int, capacity: int) -> None:
        super().__init__()
        self.heads, self.shared, self.head_dim = heads, shared, dim // heads
        self.wq, self.wo = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.wk, self.wv = (nn.Linear(dim, shared * self.head_dim, bias=False) for _ in range(2))
        self.cache_k, self.cache_v = (torch.zeros(2, capacity, shared, self.head_dim, dtype=torch.float64) for _ in range(2))

    def forward(self, x: Tensor, start_pos: int, freqs_cis: Tensor, mask: Tensor | None) -> Tensor:
        bsz, seqlen, _ = x.shape
        xq = self.wq(x).view(bsz, seqlen, self.heads, self.head_dim)
        xk, xv = (project(x).view(bsz, seqlen, self.shared, self.head_dim) for project in (self.wk, self.wv))
        xq, xk = (
            torch.view_as_real(torch.view_as_complex(one.unflatten(-1, (-1, 2))) * freqs_cis[None, :, None]).flatten(-2)
            for one in (xq, xk)
        )
        self.cache_k[:, start_pos : start_pos + seqlen] = xk
        self.cache_v[:, start_pos : start_pos + seqlen] = xv
        keys, values = (
            cache[:, : start_pos + seqlen].repeat_interleave(self.heads // self.shared, dim=2).transpose(1, 2)
            for cache in (self.cache_k, self.cache_v)
        )
        scores = xq.transpose(1, 2) @ keys.transpose(2, 3) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores + mask
        output: Tensor = self.wo((scores.softmax(-1) @ values).transpose(1, 2).reshape(bsz, seqlen, -1))
        return output


@torch.no_grad()
def test_article_ds_llama_listing_has_a_drop_in_prompt_and_steps_with_a_cache() -> None:
    torch.manual_seed(0)
    dim, heads, shared, prompt, steps = 64, 8, 2, 5, 3
    listing = LlamaListing(dim, heads, shared, prompt + steps).double()
    rotary = Rotary(dim // heads, layout="interleaved")  # pairs (2i, 2i + 1), as view_as_complex makes them
    layer = MultiHeadAttention(dim, heads, num_key_value_heads=shared, encoding=rotary).double()
    layer.query_key_value.weight.copy_(torch.cat((listing.wq.weight, listing.wk.weight, listing.wv.weight)))
    layer.output.load_state_dict(listing.wo.state_dict())

    x = torch.randn(2, prompt + steps, dim, dtype=torch.float64)
    angles = torch.arange(prompt + steps).double()[:, None] / 10000 ** (
        torch.arange(0, dim // heads, 2).double() / (dim // heads)
    )
    freqs_cis = torch.polar(torch.ones_like(angles), angles)
    ahead = torch.full((prompt, prompt), float("-inf"), dtype=torch.float64).triu(1)
    theirs = [listing(x[:, :prompt], 0, freqs_cis[:prompt], ahead)]
    theirs += [listing(x[:, at : at + 1], at, freqs_cis[at : at + 1], None) for at in range(prompt, prompt + steps)]

    cache, positions = layer.new_cache(2, capacity=prompt + steps), indices.consecutive(prompt + steps)
    ours = [layer(x[:, :prompt], positions[:prompt], mask=Causal(), cache=cache)]
    ours += [
        layer(x[:, at : at + 1], positions[at : at + 1], mask=Causal(), cache=cache) for at in range(prompt, prompt + steps)
    ]
    torch.testing.assert_close(torch.cat(ours, 1), torch.cat(theirs, 1), atol=1e-12, rtol=1e-10)
    torch.testing.assert_close(layer(x, positions, mask=Causal()), torch.cat(theirs, 1), atol=1e-12, rtol=1e-10)
