"""A small decoder with a cache, right and wrong in each of the known ways."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ordinate.verify.adapters.decoder import DecoderSettings, DecoderSubject, adapt_decoder

__all__ = ["Decoder", "wrong_decoder"]

Cache = list[tuple[Tensor, Tensor, Tensor, Tensor]]


class Decoder(nn.Module):
    """Two layers of attention with learned positions; `fault` is the id of a known fault, or empty."""

    def __init__(self, fault: str = "", vocabulary: int = 64, width: int = 32, rows: int = 64) -> None:
        super().__init__()
        self.fault = fault
        generator = torch.Generator().manual_seed(0)

        def drawn(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(*shape, generator=generator) / math.sqrt(shape[-1]))

        self.tokens, self.places = drawn(vocabulary, width), drawn(rows, width)
        self.mixers = nn.ParameterList([drawn(3 * width, width) for _ in range(2)])

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
    ) -> tuple[Tensor, Cache]:
        """Logits [B, T, V] and what the cache holds: keys, values, order and visibility of every token, a layer at a time."""
        rows, count = input_ids.shape
        seen = past_key_values[0][0].shape[1] if past_key_values else 0
        mask = torch.ones(rows, seen + count) if attention_mask is None else attention_mask
        if self.fault == "decoder-mask-ignored":
            mask = torch.ones_like(mask)
        positions = self._positions(mask, seen, count, position_ids)
        hidden = self.tokens[input_ids] + 3 * self.places[positions]
        order = torch.arange(seen, seen + count).expand(rows, -1)
        cache: Cache = []
        for number, weights in enumerate(self.mixers):
            query, key, value = (hidden @ weights.T).chunk(3, -1)
            visible, at = mask[:, -count:].bool(), order
            if past_key_values and self.fault != "decoder-without-cache":
                old = past_key_values[number]
                key, value, at = torch.cat((old[0], key), 1), torch.cat((old[1], value), 1), torch.cat((old[2], at), 1)
                visible = mask.bool()
            scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
            hides = (at[:, None] > order[..., None]) | ~visible[:, None]
            weight = scores.masked_fill(hides, -1e9).softmax(-1)
            hidden = hidden + torch.tanh(weight @ value)
            cache.append((key, value, at, visible))
        return 4 * hidden @ self.tokens.T, cache

    def _positions(self, mask: Tensor, seen: int, count: int, position_ids: Tensor | None) -> Tensor:
        step = seen > 0
        if position_ids is not None:
            return position_ids
        if step and self.fault == "decoder-steps-at-zero":
            return torch.zeros(mask.shape[0], count, dtype=torch.long)
        if step and self.fault == "decoder-steps-by-cache-length":
            return torch.arange(seen, seen + count).expand(mask.shape[0], -1)
        ahead = 1 if step and self.fault == "decoder-steps-one-ahead" else 0
        if self.fault == "decoder-padding-counts":
            return torch.arange(seen, seen + count).expand(mask.shape[0], -1)
        return (mask.long().cumsum(-1) - 1).clamp_min(0)[:, -count:] + ahead


def wrong_decoder(fault: str) -> DecoderSubject:
    """The decoder with that fault, adapted."""
    return adapt_decoder(Decoder(fault), DecoderSettings())
