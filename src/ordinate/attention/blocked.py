"""Attention in blocks of queries and keys: no [T, S] tensor is made, forward or backward, whatever the bias.

The softmax is taken online: a running maximum and sum per query, corrected as blocks of keys come in. The backward pass forms
every block of scores again from the queries, the keys and the row's log-sum, so that what is kept between the passes is linear
in the number of tokens. Gradients reach queries, keys, values and whatever an encoding learns.

Where a bias depends on the distance alone and both blocks stand in unbroken order, a block of it is one line of values, one for
each distance, read with a stride; its gradient is the sum along each diagonal.

Sources: Milakov and Gimelshein 2018, arXiv 1805.02867 (online softmax); Rabe and Staats 2021, arXiv 2112.05682; Dao et al.
2022, arXiv 2205.14135, algorithms 1 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ordinate.attention.masks import Mask
from ordinate.attention.terms import ScoreTerm, on_token_axis
from ordinate.position.bias.distance import DistanceBias
from ordinate.position.protocols import reads_mask

__all__ = ["blocked_attention"]

_SCORES_AT_ONCE = 2**19  # numbers in one block of scores, all heads and rows together: 2 MB, fastest from 2^18 to 2^20


def blocked_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    scale: float,
    terms: Sequence[ScoreTerm] = (),
    product: ScoreTerm | None = None,
    mask: Mask | None = None,
    positions: tuple[Tensor, Tensor],
) -> tuple[Tensor, Tensor]:
    """Output [B, H, T, V] in the dtype of `query`, and whether each query has seen a key, bool [B, H, T].

    A row without a visible key has an output of zeros. Worked in float32 or wider.

    Args:
        query: [B, H, T, D].
        key, value: [B, G, S, D] and [B, G, S, V]; each key-value head serves H / G query heads in a row.
        scale: factor on the products.
        terms: biases added after scaling.
        product: what computes the scores in place of the product, or None.
        mask: which keys are visible; it is asked block by block.
        positions: of queries and keys for the mask, [T] or [B, T] and [S] or [B, S].
    """
    if product is not None:  # its scores are one more term, beside a product that counts for nothing
        scale, terms = 0.0, (*terms, product)
    plan = _Plan.of(query, key, scale, tuple(terms), mask, positions)
    if torch.compiler.is_compiling():  # as many turns as the lengths ask for: no graph holds them
        return torch.compiler.disable(_run)(plan, query, key, value)
    return _run(plan, query, key, value)


def _run(plan: _Plan, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    learned = [tensor for term in plan.terms for tensor in _learned(term)]
    output, log_sum = _Blocked.apply(plan, query, key, value, *learned)
    return output, log_sum > float("-inf")


@dataclass(frozen=True)
class _Plan:
    """What stays the same over all blocks."""

    scale: float
    terms: tuple[ScoreTerm, ...]
    mask: Mask | None
    positions: tuple[Tensor, Tensor]
    shape: tuple[int, int, int, int, int]  # B, H, G, T, S
    block_queries: int
    block_keys: int
    wide: torch.dtype

    @classmethod
    def of(
        cls,
        query: Tensor,
        key: Tensor,
        scale: float,
        terms: tuple[ScoreTerm, ...],
        mask: Mask | None,
        positions: tuple[Tensor, Tensor],
    ) -> _Plan:
        batch, heads, length, _ = query.shape
        groups, keys = key.shape[1:3]
        each = max(_SCORES_AT_ONCE // max(batch * heads, 1), 1)
        block = min(max(1 << int(math.log2(each) / 2), 32), 512)
        if any(term.query is not None for term in terms):  # a content bias may look along its whole row (CoPE counts gates)
            block_queries, block_keys = min(max(each // max(keys, 1), 1), 512), max(keys, 1)
        else:
            block_queries, block_keys = block, block
        wide = torch.promote_types(query.dtype, torch.float32)
        shape = (batch, heads, groups, length, keys)
        return cls(scale, terms, mask, positions, shape, block_queries, block_keys, wide)

    def query_blocks(self) -> Iterator[slice]:
        return _blocks(self.shape[3], self.block_queries)

    def key_blocks(self) -> Iterator[slice]:
        return _blocks(self.shape[4], self.block_keys)

    def fold(self, tensor: Tensor, tokens: slice) -> Tensor:
        """Some tokens of [B, H, T, D] as [B G, H / G times tokens, D], the query heads that share keys side by side."""
        return tensor[:, :, tokens].to(self.wide).reshape(self.shape[0] * self.shape[2], -1, tensor.shape[-1])

    def unfold(self, folded: Tensor) -> Tensor:
        """The inverse of `fold`: [B, H, tokens, ...]."""
        batch, heads = self.shape[:2]
        return folded.reshape(batch, heads, -1, *folded.shape[2:])

    def groups(self, folded: Tensor) -> Tensor:
        """[B G, tokens, D] as [B, G, tokens, D]."""
        return folded.unflatten(0, (self.shape[0], self.shape[2]))

    def scores(self, query: Tensor, key: Tensor, queries: slice, keys: slice) -> Tensor | None:
        """Scaled, biased and masked scores of one block, [B G, H / G times queries, keys]; None where no key is visible."""
        visible = self.visible(queries, keys)
        if visible is not None and not bool(visible.any()):
            return None
        scores = torch.bmm(query, key.transpose(1, 2))
        by_head = self.unfold(scores)
        for term in self.terms:
            by_head += _Tile(term.part(queries, keys), visible).spread()
        if visible is not None and not bool(visible.all()):
            by_head.masked_fill_(~visible, float("-inf"))
        return scores

    def visible(self, queries: slice, keys: slice) -> Tensor | None:
        """Bool that broadcasts to the block [B, H, queries, keys], or None without a mask."""
        if self.mask is None:
            return None
        at = on_token_axis(self.positions[0], queries), on_token_axis(self.positions[1], keys)
        return self.mask.part(queries, keys).visible(*at)


class _Blocked(torch.autograd.Function):
    """The two passes; `learned` holds, term by term, what `_learned` lists, so that autograd knows of it."""

    @staticmethod
    def forward(ctx: Any, plan: _Plan, query: Tensor, key: Tensor, value: Tensor, *learned: Tensor) -> tuple[Tensor, Tensor]:
        output = query.new_empty(*query.shape[:3], value.shape[-1])
        log_sum = query.new_empty(query.shape[:3], dtype=plan.wide)
        for queries in plan.query_blocks():
            some = plan.fold(query, queries) * plan.scale
            top = some.new_full((*some.shape[:2], 1), float("-inf"))
            total, weighted = torch.zeros_like(top), some.new_zeros(*some.shape[:2], value.shape[-1])
            for keys in plan.key_blocks():
                scores = plan.scores(some, plan.fold(key, keys), queries, keys)
                if scores is None:
                    continue
                higher = torch.maximum(top, scores.amax(-1, keepdim=True))
                shift = higher.masked_fill(higher == float("-inf"), 0.0)  # a row that has seen nothing yet
                weights = scores.sub_(shift).exp_()
                kept = (top - shift).exp()
                total = total * kept + weights.sum(-1, keepdim=True)
                weighted = torch.baddbmm(weighted * kept, weights, plan.fold(value, keys))
                top = higher
            seen = total > 0
            output[:, :, queries] = plan.unfold(weighted / total.where(seen, 1.0)).to(output.dtype)
            log_sum[:, :, queries] = plan.unfold(top + total.log())[..., 0]
        ctx.plan = plan
        ctx.save_for_backward(query, key, value, output, log_sum)
        ctx.mark_non_differentiable(log_sum)
        return output, log_sum

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, output_grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        plan: _Plan = ctx.plan
        query, key, value, output, log_sum = ctx.saved_tensors
        query_grad = torch.zeros_like(query, dtype=plan.wide)
        key_grad, value_grad = (torch.zeros_like(x, dtype=plan.wide) for x in (key, value))
        tiles = [_TermGradient(term) for term in plan.terms]
        for queries in plan.query_blocks():
            some = plan.fold(query, queries) * plan.scale
            received = plan.fold(output_grad, queries)
            pulled = (received * plan.fold(output, queries)).sum(-1, keepdim=True)  # sum_j p_ij dp_ij of each row
            row_sum = plan.fold(log_sum.unsqueeze(-1), queries)
            shift = row_sum.masked_fill(row_sum == float("-inf"), 0.0)
            for keys in plan.key_blocks():
                some_keys = plan.fold(key, keys)
                scores = plan.scores(some, some_keys, queries, keys)
                if scores is None:
                    continue
                weights = scores.sub_(shift).exp_()
                value_grad[:, :, keys] += plan.groups(weights.transpose(1, 2) @ received)
                scores_grad = torch.bmm(received, plan.fold(value, keys).transpose(1, 2)).sub_(pulled).mul_(weights)
                query_grad[:, :, queries] += plan.unfold(torch.bmm(scores_grad, some_keys))
                key_grad[:, :, keys] += plan.groups(scores_grad.transpose(1, 2) @ some)
                for tile in tiles:
                    tile.add(plan.unfold(scores_grad), queries, keys, plan)
        query_grad *= plan.scale
        learned = [grad for tile in tiles for grad in tile.result()]
        return None, query_grad.to(query.dtype), key_grad.to(key.dtype), value_grad.to(value.dtype), *learned


class _TermGradient:
    """The gradient of one term's content and parameters, gathered block by block, each block's graph made and used at once."""

    def __init__(self, term: ScoreTerm) -> None:
        self.term, self.parameters = term, list(term.parameters())
        content = [] if term.query is None or term.key is None else [term.query, term.key]
        self.content = [torch.zeros_like(tensor) for tensor in content]
        self.learned = [torch.zeros_like(parameter) for parameter in self.parameters]

    def add(self, scores_grad: Tensor, queries: slice, keys: slice, plan: _Plan) -> None:
        if not self.content and not self.parameters:
            return
        part = self.term.part(queries, keys)
        with torch.enable_grad():
            seen = [tensor.detach().requires_grad_() for tensor in (part.query, part.key) if tensor is not None]
            part = replace(part, query=seen[0], key=seen[1]) if seen else part
            tile = _Tile(part, plan.visible(queries, keys) if reads_mask(part.encoding) else None)
            values = tile.values()
            if not values.requires_grad:
                return
            grads = torch.autograd.grad(values, [*seen, *self.parameters], tile.gather(scores_grad, values), allow_unused=True)
        for total, grad, tokens in zip(self.content, grads[: len(seen)], (queries, keys), strict=False):
            if grad is not None:
                total[:, :, tokens] += grad
        for total, grad in zip(self.learned, grads[len(seen) :], strict=True):
            if grad is not None:
                total += grad

    def result(self) -> list[Tensor]:
        """In the order of `_learned`."""
        return [*self.content, *self.learned]


class _Tile:
    """One block of one term: the values it is made of, how they spread over the block, and how a gradient comes back."""

    def __init__(self, term: ScoreTerm, visible: Tensor | None) -> None:
        self.term, self.visible = term, visible
        at, by = term.query_positions, term.key_positions
        self.on_a_line = isinstance(term.encoding, DistanceBias) and _unbroken(at) and _unbroken(by)

    def values(self) -> Tensor:
        """[H, queries + keys - 1], one for each distance, falling; or the whole block [1 or B, 1 or H, queries, keys]."""
        if not self.on_a_line:
            return self.term.form(self.visible)
        assert isinstance(self.term.encoding, DistanceBias)
        at, by = self.term.query_positions, self.term.key_positions
        farthest = at[-1].long() - by[0].long()
        return self.term.encoding.of_distance(farthest - torch.arange(len(at) + len(by) - 1, device=at.device))

    def spread(self) -> Tensor:
        """[1 or B, 1 or H, queries, keys]."""
        values = self.values()
        if not self.on_a_line:
            return values
        # window r of the line begins r distances nearer than the last query's first key: it is the row of query (last - r)
        return values.unfold(-1, len(self.term.key_positions), 1).flip(-2).unsqueeze(0)

    def gather(self, grad: Tensor, values: Tensor) -> Tensor:
        """The gradient of `values` from that of the block [B, H, queries, keys]."""
        if not self.on_a_line:
            return grad.sum_to_size(values.shape).to(values.dtype)
        rows, columns = grad.shape[-2:]
        # each row pushed one place further than the row above it, so that equal distances share a column
        pushed = torch.nn.functional.pad(grad.sum(0).flip(-2), (0, rows)).flatten(-2)[..., :-rows]
        return pushed.unflatten(-1, (rows, rows + columns - 1)).sum(-2).to(values.dtype)


def _learned(term: ScoreTerm) -> list[Tensor]:
    content = [] if term.query is None or term.key is None else [term.query, term.key]
    return [*content, *term.parameters()]


def _unbroken(positions: Tensor) -> bool:
    return positions.ndim == 1 and not positions.is_floating_point() and bool((positions.diff() == 1).all())


def _blocks(length: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, length)) for start in range(0, length, size))
