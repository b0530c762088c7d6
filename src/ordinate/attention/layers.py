"""`MultiHeadAttention`: projections, heads and `attend`, for self- and cross-attention, with or without a cache.

Sources: Vaswani et al. 2017, arXiv 1706.03762, section 3.2.2; Shazeer 2019, arXiv 1911.02150 (one key-value head); Ainslie et
al. 2023, arXiv 2305.13245 (groups); Dehghani et al. 2023, arXiv 2302.05442, section 2 (normalised queries and keys).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, overload

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.attention.attend import refuse_non_finite
from ordinate.attention.backend_selection import Implementation
from ordinate.attention.cache import KVCache
from ordinate.attention.encodings import (
    Encoding,
    as_encodings,
    cached_width,
    check_token_positions,
    encode_key,
    own_scale,
    position_axes,
)
from ordinate.attention.masks import ExplicitMask, Mask, check_mask
from ordinate.attention.norm import RMSNorm
from ordinate.attention.plan import AttentionPlan, self_attention_plans
from ordinate.errors import ArgumentError
from ordinate.shapes import check_shape

__all__ = ["MultiHeadAttention"]


class MultiHeadAttention(nn.Module):
    """Attention with learned projections: W_O concat_h softmax(scale Q_h K_g^T + bias) V_g, head h sharing key-value head g.

    Without `memory_dim` it is self-attention: queries, keys and values come from x, in one projection. With it queries come
    from x, keys and values from a memory of that width.

    Args:
        dim: channels of x and of the output.
        num_heads: query heads H.
        num_key_value_heads: heads G of keys and values; H by default, 1 is multi-query attention.
        head_dim: channels D of a head; dim / H by default.
        memory_dim: channels of the memory, for cross-attention.
        bias: on the projections of queries, keys and values.
        output_bias: on the output's projection.
        query_key_norm: RMS-normalise every query and key head, with a learned factor a channel, before encodings act.
        norm_eps: of that normalisation.
        encoding: any encoding of `ordinate.position`, or a sequence; those that turn or add act on queries and keys before
            those that bias.
        scale: factor on the products; the encoding's own, or 1 / sqrt(D), by default.
        impl: as in `attend`.

    Raises:
        ArgumentError: heads that do not divide, sizes below 1.

    >>> from ordinate.attention import Causal
    >>> from ordinate.position import Rotary, indices
    >>> layer = MultiHeadAttention(32, 4, num_key_value_heads=2, encoding=Rotary(8, layout="half"))
    >>> layer(torch.randn(2, 10, 32), indices.consecutive(10), mask=Causal()).shape
    torch.Size([2, 10, 32])
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        *,
        num_key_value_heads: int | None = None,
        head_dim: int | None = None,
        memory_dim: int | None = None,
        bias: bool = False,
        output_bias: bool = False,
        query_key_norm: bool = False,
        norm_eps: float = 1e-6,
        encoding: Encoding | Sequence[Encoding] | None = None,
        scale: float | None = None,
        impl: Implementation = "auto",
    ) -> None:
        super().__init__()
        shared = num_heads if num_key_value_heads is None else num_key_value_heads
        for name, size in (("dim", dim), ("num_heads", num_heads), ("num_key_value_heads", shared)):
            check_integer(name, size, minimum=1)
        if num_heads % shared:
            raise ArgumentError(
                "num_key_value_heads",
                expected=f"a number that divides the {num_heads} query heads",
                got=shared,
                hint="queries share key-value heads in equal groups",
            )
        if head_dim is None and dim % num_heads:
            raise ArgumentError(
                "num_heads",
                expected=f"a number that divides dim ({dim})",
                got=num_heads,
                hint="or pass head_dim, the channels of a head",
            )
        self.dim, self.num_heads, self.num_key_value_heads, self.memory_dim = dim, num_heads, shared, memory_dim
        self.head_dim = dim // num_heads if head_dim is None else head_dim
        check_integer("head_dim", self.head_dim, minimum=1)
        self.impl = impl
        self.encodings = as_encodings(encoding, head_dim=self.head_dim)
        self.encoding_modules = nn.ModuleList([one for one in self.encodings if isinstance(one, nn.Module)])
        self.scale = scale if scale is not None else own_scale(self.encodings) or 1.0 / math.sqrt(self.head_dim)
        wide, narrow = num_heads * self.head_dim, shared * self.head_dim
        if memory_dim is None:
            self.query_key_value = nn.Linear(dim, wide + 2 * narrow, bias=bias)
        else:
            check_integer("memory_dim", memory_dim, minimum=1)
            self.query = nn.Linear(dim, wide, bias=bias)
            self.key_value = nn.Linear(memory_dim, 2 * narrow, bias=bias)
        self.query_norm = RMSNorm(self.head_dim, norm_eps) if query_key_norm else None
        self.key_norm = RMSNorm(self.head_dim, norm_eps) if query_key_norm else None
        self.output = nn.Linear(wide, dim, bias=output_bias)

    @overload
    def forward(
        self,
        x: Tensor,
        positions: Tensor,
        *,
        memory: Tensor | None = ...,
        memory_positions: Tensor | None = ...,
        mask: Mask | None = ...,
        token_mask: Tensor | None = ...,
        cache: KVCache | None = ...,
        return_weights: Literal[False] = ...,
    ) -> Tensor: ...
    @overload
    def forward(
        self,
        x: Tensor,
        positions: Tensor,
        *,
        memory: Tensor | None = ...,
        memory_positions: Tensor | None = ...,
        mask: Mask | None = ...,
        token_mask: Tensor | None = ...,
        cache: KVCache | None = ...,
        return_weights: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    def forward(
        self,
        x: Tensor,
        positions: Tensor,
        *,
        memory: Tensor | None = None,
        memory_positions: Tensor | None = None,
        mask: Mask | None = None,
        token_mask: Tensor | None = None,
        cache: KVCache | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from x to itself, to what a cache holds besides, or to a memory.

        Args:
            x: [B, T, dim].
            positions: of x, [T] or [B, T] (with the encoding's axes last, where it has some).
            memory: [B, S, memory_dim], for cross-attention; or None, where `cache` holds it (see `remember`).
            memory_positions: [S] or [B, S], where the encoding or the mask needs them.
            mask: which keys are visible. In cross-attention it covers the memory; with a cache, every key in it.
            token_mask: self-attention: bool [B, T], true where x is a real token. Padding is hidden, and kept out of the cache.
            cache: self-attention: keys and values of earlier tokens; those of x go in. Under no_grad or inference_mode.
            return_weights: also return the weights [B, H, T, S].

        Returns:
            [B, T, dim], and the weights where they are asked for.

        Raises:
            ShapeError, ArgumentTypeError: sizes, dtypes or devices that do not fit, those of the cache included.
            ArgumentError: a full cache, positions that go backwards in it, a query that sees no key, a memory where there is
                none or none where there is one.
        """
        sizes = check_shape("x", x, "B T D", D=self.dim)
        refuse_non_finite(x, x=x)
        if self.memory_dim is not None:
            return self._across(x, positions, memory, memory_positions, mask, cache, return_weights)
        if memory is not None or memory_positions is not None:
            raise ArgumentError(
                "memory", expected="None in self-attention", got="a memory", hint="build the layer with memory_dim=channels"
            )
        if token_mask is not None:
            check_shape("token_mask", token_mask, "B T", B=sizes["B"], T=sizes["T"])
        if mask is not None:
            check_mask(mask)
        if cache is not None:
            cache.check_model(1, sizes["B"], self.output.weight)
        (plan,) = self_attention_plans(
            self.encodings,
            [mask],
            positions,
            batch=sizes["B"],
            heads=self.num_heads,
            tokens=sizes["T"],
            dtype=x.dtype,
            impl=self.impl,
            return_weights=return_weights,
            token_mask=token_mask,
            cache=cache,
        )
        output, weights = self.planned(x.flatten(0, 1), sizes["B"], plan)
        plan.close()
        output = output.unflatten(0, x.shape[:2])
        return output if weights is None else (output, weights)

    def planned(self, x: Tensor, batch: int, plan: AttentionPlan, layer: int = 0) -> tuple[Tensor, Tensor | None]:
        """Self-attention under a plan that the layers of a model share.

        Args:
            x: the tokens of all rows, one row below the other, [B T, dim]: products of matrices are quickest so.
            batch: rows B.
            plan: made by `self_attention_plans`.
            layer: this one's number in the cache.

        Returns:
            [B T, dim], and the weights [B, H, T, S], or None where the plan has none.
        """
        heads, shared = self.num_heads, self.num_key_value_heads
        projected = self.query_key_value(x).view(batch, -1, heads + 2 * shared, self.head_dim).transpose(1, 2)
        both, value = projected.narrow(1, 0, heads + shared), projected.narrow(1, heads + shared, shared)
        if self.query_norm is not None and self.key_norm is not None:
            query, key = self.query_norm(both.narrow(1, 0, heads)), self.key_norm(both.narrow(1, heads, shared))
            if plan.rotation is not None:
                query, key = plan.rotation(query), plan.rotation(key)
        else:
            if plan.rotation is not None:
                both = plan.rotation(both)  # queries and keys at once
            query, key = both.narrow(1, 0, heads), both.narrow(1, heads, shared)
        if plan.rotation is None:
            query, key = plan.encode_new(query, key)
        key, value = plan.extend(layer, key, value)
        attended, weights = plan.attend(query, key, value, scale=self.scale)
        return self.output(_side_by_side(attended)), weights

    def remember(
        self, cache: KVCache, memory: Tensor, memory_positions: Tensor | None = None, *, token_mask: Tensor | None = None
    ) -> None:
        """Cross-attention: put keys and values of a memory into a cache, so that later calls need no `memory`.

        Args:
            cache: of this layer.
            memory: [B, S, memory_dim].
            memory_positions: [S] or [B, S]; by default 0, 1, 2, ...
            token_mask: bool [B, S], true where the memory is real.

        Raises:
            ArgumentError: a layer of self-attention, and as `KVCache.append`.
        """
        if self.memory_dim is None:
            raise ArgumentError("memory", expected="a layer built with memory_dim", got="self-attention", hint="call the layer")
        sizes = check_shape("memory", memory, "B S D", D=self.memory_dim)
        if memory_positions is None:
            memory_positions = torch.arange(sizes["S"], device=memory.device)
        key, value = self._memory_heads(memory)
        key = encode_key(self.encodings, key, memory_positions)
        cache.append(key, value, memory_positions, token_mask=token_mask)

    def new_cache(self, batch: int, *, capacity: int | None = None, window_keys: int | None = None, **settings: Any) -> KVCache:
        """An empty cache for this layer, of its heads, dtype and device; `settings` go to `KVCache`."""
        weight = self.output.weight
        return KVCache(
            batch,
            self.num_key_value_heads,
            cached_width(self.encodings, self.num_key_value_heads, self.head_dim, weight),
            capacity=capacity,
            window_keys=window_keys,
            value_dim=self.head_dim,
            axes=position_axes(self.encodings),
            dtype=weight.dtype,
            device=weight.device,
            **settings,
        )

    def _across(
        self,
        x: Tensor,
        positions: Tensor,
        memory: Tensor | None,
        memory_positions: Tensor | None,
        mask: Mask | None,
        cache: KVCache | None,
        return_weights: bool,
    ) -> Tensor | tuple[Tensor, Tensor]:
        batch, tokens, _ = x.shape
        if (memory is None) == (cache is None):
            raise ArgumentError(
                "memory",
                expected="a memory, or a cache that remembers one",
                got="both" if cache is not None else "neither",
                hint="call layer.remember(cache, memory) once and pass the cache alone, or pass the memory alone",
            )
        query = self.query(x).view(batch, tokens, self.num_heads, self.head_dim).transpose(1, 2)
        query = query if self.query_norm is None else self.query_norm(query)
        if mask is not None:
            check_mask(mask)
        if cache is not None:
            check_shape("x", x, "B T D", B=cache.batch)
            view = cache.contents()
            key, value, key_positions = view.keys, view.values, view.positions
            if view.visible is not None:
                mask = ExplicitMask(view.visible) if mask is None else mask & ExplicitMask(view.visible)
        else:
            assert memory is not None
            check_shape("memory", memory, "B S D", B=batch, D=self.memory_dim)  # type: ignore[arg-type]
            key, value = self._memory_heads(memory)
            key_positions = self._memory_positions(memory, memory_positions, mask)
        axes = position_axes(self.encodings)
        check_token_positions("positions", positions, axes, length=tokens, batch=batch)
        plan = AttentionPlan(
            self.encodings,
            mask,
            positions,
            key_positions,
            (batch, self.num_heads, tokens, key.shape[2]),
            impl=self.impl,
            return_weights=return_weights,
        )
        if cache is None:
            key = plan.encode_key(key, key_positions)
        attended, weights = plan.attend(plan.encode_query(query), key, value, scale=self.scale)
        output = self.output(_side_by_side(attended)).unflatten(0, (batch, tokens))
        return output if weights is None else (output, weights)

    def _memory_positions(self, memory: Tensor, memory_positions: Tensor | None, mask: Mask | None) -> Tensor:
        batch, keys, _ = memory.shape
        if memory_positions is not None:
            axes = position_axes(self.encodings)
            check_token_positions("memory_positions", memory_positions, axes, length=keys, batch=batch)
            return memory_positions
        if self.encodings or (mask is not None and mask.needs_positions):
            raise ArgumentError(
                "memory_positions", expected="the positions of the memory, [S] or [B, S]", hint="pass indices.consecutive(S)"
            )
        return torch.arange(keys, device=memory.device)

    def _memory_heads(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        batch, keys, _ = memory.shape
        projected = self.key_value(memory).view(batch, keys, 2 * self.num_key_value_heads, self.head_dim).transpose(1, 2)
        key, value = projected.chunk(2, dim=1)
        return key if self.key_norm is None else self.key_norm(key), value


def _side_by_side(output: Tensor) -> Tensor:
    """[B, H, T, V] to [B T, H V]."""
    return output.flatten(1) if output.shape[2] == 1 else output.transpose(1, 2).flatten(2).flatten(0, 1)
