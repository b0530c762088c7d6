"""The decoder of a sweep: as lean as a fair comparison allows, one encoding shared by its layers.

It is not `ordinate.attention.Decoder`, which is for checkpoints: here embeddings start at the size of what is added to
them (Vaswani et al. 2017, section 3.4), the causal mask can be left out, the stream of every layer can be looked at, and a
bias that does not depend on content is formed once a step for all layers, and once a length where nothing in it is learned.
Attention itself is `ordinate.attention.attend`, so what is compared are the encodings of this package as users get them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.attention import Causal, attend
from ordinate.position.protocols import adds_to_embeddings, adds_to_values, biases_scores, computes_scores

__all__ = ["SweepDecoder"]


class _Formed:
    """A bias that is there already, the causal mask in it."""

    needs_content = False

    def __init__(self, values: Tensor) -> None:
        self.values = values

    def bias(self, *arguments: Any, **settings: Any) -> Tensor:
        return self.values


class _Block(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_network = nn.LayerNorm(dim, bias=False), nn.LayerNorm(dim, bias=False)
        self.to_heads, self.from_heads = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x: Tensor, batch: int, **arguments: Any) -> Tensor:
        """The stream [B T, dim] of `batch` rows to the same."""
        heads = self.to_heads(self.norm_attention(x)).view(batch, -1, 3, self.heads, x.shape[-1] // self.heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4).unbind(0)
        seen = attend(query, key, value, **arguments).transpose(1, 2).reshape(x.shape)
        x = x + self.from_heads(seen)
        return x + self.down(self.up(self.norm_network(x)).relu())


class SweepDecoder(nn.Module):
    """Tokens to logits: embeddings, blocks of attention and a network of rectifiers behind norms, a projection.

    Args:
        vocabulary: number of tokens.
        dim, layers, heads: sizes.
        encodings: made for these sizes, see `ordinate.sweep.encodings.make`; shared by all layers.
        causal: whether a token sees only what is before it.

    >>> from ordinate.position import ALiBi
    >>> model = SweepDecoder(10, dim=8, layers=1, heads=2, encodings=[ALiBi(2)])
    >>> model(torch.tensor([[1, 2, 3]]), torch.arange(3)).shape
    torch.Size([1, 3, 10])
    """

    def __init__(
        self, vocabulary: int, *, dim: int, layers: int, heads: int, encodings: Sequence[Any], causal: bool = True
    ) -> None:
        super().__init__()
        self.dim, self.heads, self.causal = dim, heads, causal
        self.embedding = nn.Embedding(vocabulary, dim)
        self.blocks = nn.ModuleList(_Block(dim, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(dim, bias=False), nn.Linear(dim, vocabulary, bias=False)
        nn.init.normal_(self.embedding.weight, std=dim**-0.5)
        for name, weight in self.named_parameters():
            if name.endswith(("to_heads.weight", "up.weight", "head.weight")):
                nn.init.normal_(weight, std=dim**-0.5)
            elif name.endswith(("from_heads.weight", "down.weight")):  # into the stream, which they must not flood
                nn.init.normal_(weight, std=(2 * layers * weight.shape[1]) ** -0.5)
        self.temperature = 1.0
        self.replace_encodings(encodings)

    def replace_encodings(self, encodings: Sequence[Any]) -> None:
        """Put other encodings in the place of the present ones."""
        self.encoding_modules = nn.ModuleList(one for one in encodings if isinstance(one, nn.Module))
        self.encodings = tuple(encodings)
        self._kept: dict[Any, Tensor] = {}

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """tokens [B, T] at positions [T] to logits [B, T, vocabulary]."""
        logits = self.head(self.norm(self.streams(tokens, positions)[-1]))
        return logits.unflatten(0, (tokens.shape[0], -1))

    def streams(self, tokens: Tensor, positions: Tensor) -> list[Tensor]:
        """The stream behind the embedding and behind every block, each [B T, dim]."""
        batch = tokens.shape[0]
        x = self.embedding(tokens.flatten()).unflatten(0, (batch, -1)) * math.sqrt(self.dim)
        for one in self.encodings:
            if adds_to_embeddings(one):
                x = x + self._values_at(one, "encode", positions).to(x.dtype)
        streams, arguments = [x.flatten(0, 1)], self._attend_arguments(positions)
        for block in self.blocks:
            streams.append(block(streams[-1], batch, **arguments))
        return streams

    def _attend_arguments(self, positions: Tensor) -> dict[str, Any]:
        """The arguments of `attend` that all layers share."""
        left: list[Any] = []
        mask = Causal() if self.causal else None
        for one in self.encodings:
            if adds_to_embeddings(one):
                continue
            plain = biases_scores(one) and not one.needs_content and not hasattr(one, "rotate")
            if plain and self.causal and not adds_to_values(one) and not computes_scores(one):
                left.append(_Formed(self._values_at(one, "bias", positions)))
                mask = None
            else:
                left.append(one)
        scale = None if self.temperature == 1.0 else self.temperature / math.sqrt(self.dim // self.heads)
        return {"query_positions": positions, "encoding": left or None, "mask": mask, "scale": scale}

    def _values_at(self, one: Any, method: str, positions: Tensor) -> Tensor:
        """What an encoding gives for these positions, kept where nothing in it can change."""
        learning = torch.is_grad_enabled() and any(p.requires_grad for p in getattr(one, "parameters", list)())
        number = next(place for place, other in enumerate(self.encodings) if other is one)
        name = (number, int(positions[0]), int(positions[-1]))
        consecutive = int(positions[-1]) - int(positions[0]) + 1 == len(positions)
        if not learning and consecutive and name in self._kept:
            return self._kept[name]
        if method == "encode":
            values = one.encode(positions)
        else:
            future = positions[:, None] < positions
            values = one.bias(positions, positions).masked_fill(future, float("-inf"))
        if not learning and consecutive:
            self._kept[name] = values
        return values

    def train(self, mode: bool = True) -> SweepDecoder:
        """As every module; what was kept of learned tables is forgotten."""
        self._kept = {}
        return super().train(mode)
