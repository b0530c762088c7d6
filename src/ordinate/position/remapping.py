"""Rotary scores by other positions: far keys are seen at distances that the model was trained on, near keys as they are.

A rotation makes the score a function of the distance, so a long context can be had without training by giving far pairs other
positions. Which ones depends on the pair, so no rotation of queries and keys alone will do: the scores are a choice, pair by
pair, among a few products of queries and keys at different positions. That is the interface `scores`. All are causal.

Sources: Jin et al. 2024, arXiv 2401.01325 (SelfExtend); Su 2023, kexue.fm/archives/9706 and 9708 (leaky ReRoPE and ReRoPE); An
et al. 2024, arXiv 2402.17463 (dual chunk attention); Xiao et al. 2023, arXiv 2309.17453 (StreamingLLM).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from ordinate.arguments import check_integer, check_number
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position.base import PositionEncoding, full_precision
from ordinate.position.bias.content import check_content, grouped_product, usual_scale
from ordinate.position.bias.distance import distances
from ordinate.position.rotary.single_axis import Rotary

__all__ = ["DualChunk", "LeakyReRoPE", "ReRoPE", "SelfExtend", "StreamingLLM"]

Stage = tuple[Tensor, Tensor, Tensor | None]
"""Positions of the queries, positions of the keys, and the pairs that are seen so (None: all, the first stage)."""


class PositionRemapping(PositionEncoding, ABC):
    """What the members share: a rotation, and scores chosen among its products at several positions."""

    def __init__(self, rotary: Rotary) -> None:
        super().__init__()
        if not isinstance(rotary, Rotary):
            raise ArgumentTypeError(
                "rotary", expected="a Rotary", got=type(rotary).__name__, hint="pass the model's own: Rotary(64, layout='half')"
            )
        if rotary.scaling is not None and rotary.scaling.depends_on_length:
            raise ArgumentError(
                "rotary",
                expected="frequencies that do not change with the row's length",
                got=repr(rotary.scaling),
                hint="the row's length says nothing about the positions that are used here; scale by a fixed rule",
            )
        self.rotary = rotary

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        scale: float | None = None,
    ) -> Tensor:
        """`scores`, with the same arguments."""
        return self.scores(query, key, query_positions, key_positions, scale)

    @abstractmethod
    def stages(self, query_positions: Tensor, key_positions: Tensor) -> list[Stage]:
        """The ways to see pairs of tokens; where several claim a pair, the last one has it."""

    def distance(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        """The distance at which each pair is seen, [T, S] or [B, T, S]."""
        seen: Tensor | None = None
        for queries, keys, chosen in self.stages(query_positions, key_positions):
            apart = queries.unsqueeze(-1) - keys.unsqueeze(-2)
            seen = apart if seen is None or chosen is None else torch.where(chosen, apart, seen)
        assert seen is not None
        return seen

    @full_precision
    def scores(
        self,
        query: Tensor,
        key: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        scale: float | None = None,
    ) -> Tensor:
        """scale (R q_i) . (R k_j), turned so that the pair is `distance` apart: [B, H, T, S], float32 or wider.

        Args:
            query: [B, H, T, D].
            key: [B, G, S, D], not rotated.
            query_positions, key_positions: integers [T] or [B, T] and [S] or [B, S].
            scale: factor on the products, 1 / sqrt(D) by default.

        Raises:
            ShapeError: sizes that do not fit.
            ArgumentTypeError: positions that are not integers.
        """
        wide, keys = check_content(query, key, query_positions, key_positions, head_dim=self.rotary.head_dim)
        assert keys is not None
        scores: Tensor | None = None
        for at_query, at_key, chosen in self.stages(query_positions, key_positions):
            product = grouped_product(self.rotary.rotate(wide, at_query), self.rotary.rotate(keys, at_key))
            scores = product if scores is None or chosen is None else torch.where(chosen.unsqueeze(-3), product, scores)
        assert scores is not None
        return scores * (usual_scale(wide) if scale is None else scale)


class SelfExtend(PositionRemapping):
    """Keys within a window at their distance, farther ones at the distance of their groups.

    d(i, j) = i - j where i - j < w, else floor(i / g) + w - floor(w / g) - floor(j / g). A context of L becomes one of
    about (L - w) g + w.

    Args:
        rotary: the model's rotation.
        window: w, tokens seen at their own distance (neighbour window).
        group: g, tokens that share a position beyond it.

    Raises:
        ArgumentTypeError: not a Rotary.
        ArgumentError: a size below 1, a rotation that depends on the row's length.

    Source: Jin et al. 2024, arXiv 2401.01325, section 3.2 and algorithm 1.

    >>> SelfExtend(Rotary(8, layout="half"), 4, 2).distance(torch.tensor([5]), torch.arange(6))
    tensor([[4, 4, 3, 2, 1, 0]])
    """

    def __init__(self, rotary: Rotary, window: int, group: int) -> None:
        super().__init__(rotary)
        check_integer("window", window, minimum=1)
        check_integer("group", group, minimum=1)
        self.window, self.group = window, group

    def stages(self, query_positions: Tensor, key_positions: Tensor) -> list[Stage]:
        shift = self.window - self.window // self.group
        return [
            (query_positions, key_positions, None),
            (
                query_positions // self.group + shift,
                key_positions // self.group,
                distances(query_positions, key_positions) >= self.window,
            ),
        ]


class ReRoPE(PositionRemapping):
    """Keys within a window at their distance, all farther ones at the window's edge.

    d(i, j) = min(i - j, w): the limit of `LeakyReRoPE` for a factor without bound. The log n temperature that the author's code
    adds to queries is no part of it.

    Args:
        rotary: the model's rotation.
        window: w, tokens.

    Raises:
        ArgumentTypeError: not a Rotary.
        ArgumentError: a size below 1, a rotation that depends on the row's length.

    Source: Su 2023, kexue.fm/archives/9708; the author's code at bojone/rerope.

    >>> ReRoPE(Rotary(8, layout="half"), 3).distance(torch.tensor([5]), torch.arange(6))
    tensor([[3, 3, 3, 2, 1, 0]])
    """

    def __init__(self, rotary: Rotary, window: int) -> None:
        super().__init__(rotary)
        check_integer("window", window, minimum=1)
        self.window = window

    def stages(self, query_positions: Tensor, key_positions: Tensor) -> list[Stage]:
        return [
            (query_positions, key_positions, None),
            (
                torch.full_like(query_positions, self.window),
                torch.zeros_like(key_positions),
                distances(query_positions, key_positions) >= self.window,
            ),
        ]


class LeakyReRoPE(PositionRemapping):
    """Keys within a window at their distance, farther ones at distances that grow `factor` times as slowly.

    d(i, j) = i - j where i - j < w, else w + (i - j - w) / k.

    Args:
        rotary: the model's rotation.
        window: w, tokens.
        factor: k, 1 or more; fractional distances are exact to float64.

    Raises:
        ArgumentTypeError: not a Rotary.
        ArgumentError: a size below 1, a factor below 1, a rotation that depends on the row's length.

    Source: Su 2023, kexue.fm/archives/9708, "Leaky ReRoPE"; the author's code at bojone/rerope.

    >>> LeakyReRoPE(Rotary(8, layout="half"), 3, 2.0).distance(torch.tensor([5]), torch.arange(6))
    tensor([[4.0000, 3.5000, 3.0000, 2.0000, 1.0000, 0.0000]], dtype=torch.float64)
    """

    def __init__(self, rotary: Rotary, window: int, factor: float) -> None:
        super().__init__(rotary)
        check_integer("window", window, minimum=1)
        check_number("factor", factor, minimum=1, hint="for a bound that never moves take ReRoPE")
        self.window, self.factor = window, factor

    def stages(self, query_positions: Tensor, key_positions: Tensor) -> list[Stage]:
        shift = self.window * (self.factor - 1)
        return [
            (query_positions, key_positions, None),
            (
                (query_positions.to(torch.float64) + shift) / self.factor,
                key_positions.to(torch.float64) / self.factor,
                distances(query_positions, key_positions) >= self.window,
            ),
        ]


class DualChunk(PositionRemapping):
    """Keys stand at their place in their chunk, queries at one of three places: for their own chunk, the one before, the rest.

    Keys: j mod s. Queries: i mod s for their own chunk, min(i mod s + s, c) for the chunk before it, and c for every chunk
    before that, so no distance exceeds c.

    Args:
        rotary: the model's rotation.
        chunk: s, tokens.
        local: w, tokens that are surely seen at their own distance, s at most.
        farthest: c, by default s + w - 1, as in the paper; ChunkLlama and Qwen's implementations take s + w.

    Raises:
        ArgumentTypeError: not a Rotary.
        ArgumentError: a size below 1, a local window longer than the chunk, a farthest place before the end of the chunk, a
            rotation that depends on the row's length.

    Source: An et al. 2024, arXiv 2402.17463, section 3.

    >>> DualChunk(Rotary(8, layout="half"), 6, 4).distance(torch.tensor([13]), torch.arange(14))
    tensor([[9, 8, 7, 6, 5, 4, 7, 6, 5, 4, 3, 2, 1, 0]])
    """

    def __init__(self, rotary: Rotary, chunk: int, local: int, *, farthest: int | None = None) -> None:
        super().__init__(rotary)
        check_integer("chunk", chunk, minimum=1)
        check_integer("local", local, minimum=1)
        if local > chunk:
            raise ArgumentError("local", expected=f"at most chunk ({chunk})", got=local, hint="the paper has s = 3/4, w = 1/4")
        self.chunk, self.local = chunk, local
        self.farthest = chunk + local - 1 if farthest is None else farthest
        check_integer("farthest", self.farthest, minimum=chunk)

    def stages(self, query_positions: Tensor, key_positions: Tensor) -> list[Stage]:
        place, keys = query_positions % self.chunk, key_positions % self.chunk
        behind = distances(query_positions // self.chunk, key_positions // self.chunk)
        return [
            (place, keys, None),
            ((place + self.chunk).clamp_max(self.farthest), keys, behind == 1),
            (torch.full_like(place, self.farthest), keys, behind > 1),
        ]

    def _passed(self) -> dict[str, Any]:
        return {"farthest": None if self.farthest == self.chunk + self.local - 1 else self.farthest}


class StreamingLLM(PositionRemapping):
    """The first tokens and a window of recent ones, at their positions inside the cache; all other keys score minus infinity.

    With n sinks and a window of w keys (the query's own among them), a sink j is seen from the query i at
    min(i, n + w - 1) - j, a recent key at i - j, as if the keys between had never been. Row by row this is what decoding
    with a cache of n + w keys does, see `indices.in_cache`.

    Args:
        rotary: the model's rotation.
        sinks: n, tokens kept from the start of the row.
        window: w, recent tokens kept.

    Raises:
        ArgumentTypeError: not a Rotary.
        ArgumentError: a negative number of sinks, a window below 1, a rotation that depends on the row's length.

    Source: Xiao et al. 2023, arXiv 2309.17453, section 3.2.

    >>> StreamingLLM(Rotary(8, layout="half"), 2, 3).distance(torch.tensor([7]), torch.arange(8))
    tensor([[4, 3, 5, 4, 3, 2, 1, 0]])
    """

    def __init__(self, rotary: Rotary, sinks: int, window: int) -> None:
        super().__init__(rotary)
        check_integer("sinks", sinks, minimum=0)
        check_integer("window", window, minimum=1)
        self.sinks, self.window = sinks, window

    def stages(self, query_positions: Tensor, key_positions: Tensor) -> list[Stage]:
        from_sinks = query_positions.clamp_max(self.sinks + self.window - 1)
        of_sinks = (key_positions < self.sinks).unsqueeze(-2)
        return [(query_positions, key_positions, None), (from_sinks, key_positions, of_sinks)]

    def kept(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        """Whether the key is still cached when the query comes: a sink, or one of the `window` last; [T, S] or [B, T, S]."""
        recent = distances(query_positions, key_positions) < self.window
        return recent | (key_positions < self.sinks).unsqueeze(-2)

    @full_precision
    def scores(
        self,
        query: Tensor,
        key: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        scale: float | None = None,
    ) -> Tensor:
        """As in the other members, and minus infinity where the key has left the cache."""
        scores = super().scores(query, key, query_positions, key_positions, scale)
        return scores.masked_fill(~self.kept(query_positions, key_positions).unsqueeze(-3), float("-inf"))
