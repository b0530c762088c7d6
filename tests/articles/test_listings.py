"""The articles' listings have a drop-in in this package: the same call, the same numbers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ordinate.articles.c.c3_sinusoids import TableInBuffer
from ordinate.position import Sinusoidal, indices


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
