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
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ordinate.attention.masks import Mask
from ordinate.attention.score_terms import ScoreTerm, on_token_axis
from ordinate.errors import RefusedError
from ordinate.position.bias.distance import DistanceBias
from ordinate.position.protocols import reads_mask

__all__ = ["blocked_attention"]

_HIDDEN, _WHOLE = 0, 2  # states of a block; in between, some of its keys are visible
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
) -> tuple[Tensor, Tensor | None]:
    """Output [B, H, T, V] in the dtype of `query`; and which queries see a key, bool [B or 1, H or 1, T], None if all do.

    A row without a visible key has an output of zeros. Worked in float32 or wider. Differentiable once.

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
    # no graph holds as many turns of the loop as the lengths ask for
    run = torch.compiler.disable(_run) if torch.compiler.is_compiling() else _run
    return run(query, key, value, scale, tuple(terms), mask, positions)


def _run(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    terms: tuple[ScoreTerm, ...],
    mask: Mask | None,
    positions: tuple[Tensor, Tensor],
) -> tuple[Tensor, Tensor | None]:
    tiling = _Tiling(query, key, scale, terms, mask, positions)
    output, _ = _Blocked.apply(tiling, query, key, value, *(tensor for term in terms for tensor in _learned(term)))
    return output, tiling.seen


class _Tiling:
    """How the pairs of tokens are cut into blocks, and what stays the same over all of them.

    One look at the device says which blocks are hidden, wholly visible, or mixed, and where positions stand in unbroken order.

    Args:
        query: [B, H, T, D].
        key: [B, G, S, D].
        scale: factor on the products.
        terms: what is added to them.
        mask, positions: as in `blocked_attention`.
    """

    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        scale: float,
        terms: tuple[ScoreTerm, ...],
        mask: Mask | None,
        positions: tuple[Tensor, Tensor],
    ) -> None:
        self.scale, self.terms, self.mask, self.positions = scale, terms, mask, positions
        self.batch, self.heads, self.tokens, _ = query.shape
        self.groups, self.keys = key.shape[1:3]
        self.wide = torch.promote_types(query.dtype, torch.float32)
        each = max(_SCORES_AT_ONCE // max(self.batch * self.heads, 1), 1)
        block = min(max(1 << int(math.log2(each) / 2), 32), 512)
        queries, keys = block, block
        if any(term.query is not None for term in terms):  # a content bias may look along its whole row (CoPE counts gates)
            queries, keys = min(max(each // max(self.keys, 1), 1), 512), max(self.keys, 1)
        self.query_blocks, self.key_blocks = _blocks(self.tokens, queries), _blocks(self.keys, keys)
        self.seen: Tensor | None = None
        self._state: dict[tuple[int, int], int] = {}
        self._unbroken: list[set[int]] = []
        self._look()

    def fold(self, tensor: Tensor, tokens: slice) -> Tensor:
        """Some tokens of [B, H or G, ..., D] as [B G, heads of a group times tokens, D], in the working dtype."""
        part = tensor[:, :, tokens].to(self.wide)
        together = part.shape[1] // self.groups * part.shape[2]
        return part.reshape(self.batch * self.groups, together, tensor.shape[-1])

    def unfold(self, folded: Tensor, tokens: slice) -> Tensor:
        """The inverse of `fold` for queries: [B, H, tokens, ...]."""
        return folded.reshape(self.batch, self.heads, tokens.stop - tokens.start, *folded.shape[2:])

    def by_group(self, folded: Tensor) -> Tensor:
        """[B G, tokens, D] as [B, G, tokens, D]."""
        return folded.unflatten(0, (self.batch, self.groups))

    def visible(self, queries: slice, keys: slice) -> Tensor | None:
        """Bool that broadcasts to the block [B, H, queries, keys], or None where all of it is visible."""
        if self.mask is None or self._state[queries.start, keys.start] == _WHOLE:
            return None
        return self._ask(queries, keys)

    def scores(self, query: Tensor, key: Tensor, queries: slice, keys: slice) -> Tensor | None:
        """Scaled, biased and masked scores of one block, [B G, H / G times queries, keys]; None where no key is visible."""
        if self._state.get((queries.start, keys.start)) == _HIDDEN:
            return None
        visible = self.visible(queries, keys)
        scores = torch.bmm(query, key.transpose(1, 2))
        by_head = self.unfold(scores, queries)
        for term in self.terms:
            by_head += self.tile(term, queries, keys, visible).spread()
        if visible is not None:
            by_head.masked_fill_(~visible, float("-inf"))
        return scores

    def tile(self, term: ScoreTerm, queries: slice, keys: slice, visible: Tensor | None) -> _Tile:
        """One block of one term."""
        unbroken = queries.start in self._unbroken[0] and keys.start in self._unbroken[1]
        return _Tile(term.part(queries, keys), visible, on_a_line=unbroken and isinstance(term.encoding, DistanceBias))

    def _ask(self, queries: slice, keys: slice) -> Tensor:
        assert self.mask is not None
        at = on_token_axis(self.positions[0], queries), on_token_axis(self.positions[1], keys)
        return self.mask.part(queries, keys).visible(*at)

    def _look(self) -> None:
        """Which queries see a key, which blocks are hidden, whole or mixed, and where positions rise by one without a gap."""
        flags: list[Tensor] = []
        seen: list[Tensor] = []
        if self.mask is not None and self.key_blocks:
            for queries in self.query_blocks:
                any_key: Tensor | None = None
                for keys in self.key_blocks:
                    part = self._ask(queries, keys)
                    flags.append(part.any().int() + part.all().int())
                    any_key = part.any(-1) if any_key is None else any_key | part.any(-1)
                assert any_key is not None
                seen.append(any_key.expand(*any_key.shape[:-1], queries.stop - queries.start))
        if seen:
            self.seen = torch.cat(seen, dim=-1)
            flags.append(self.seen.all().int())
        term = next((term for term in self.terms if isinstance(term.encoding, DistanceBias)), None)
        runs: list[list[slice]] = [[], []]
        if term is not None and term.query_positions.ndim == term.key_positions.ndim == 1:
            for number, (positions, blocks) in enumerate(
                ((term.query_positions, self.query_blocks), (term.key_positions, self.key_blocks))
            ):
                if not positions.is_floating_point():
                    runs[number] = blocks
                    flags += [(positions[block].diff() == 1).all().int() for block in blocks]
        numbers = iter(torch.stack(flags).tolist() if flags else [])
        if seen:
            self._state = {(q.start, k.start): next(numbers) for q in self.query_blocks for k in self.key_blocks}
            self.seen = None if next(numbers) else self.seen
        self._unbroken = [{block.start for block in blocks if next(numbers)} for blocks in runs]


class _Blocked(torch.autograd.Function):
    """The two passes; `learned` holds, term by term, what `_learned` lists, so that autograd knows of it."""

    @staticmethod
    def forward(
        ctx: Any, tiling: _Tiling, query: Tensor, key: Tensor, value: Tensor, *learned: Tensor
    ) -> tuple[Tensor, Tensor]:
        output = query.new_empty(*query.shape[:3], value.shape[-1])
        log_sum = query.new_empty(query.shape[:3], dtype=tiling.wide)
        for queries in tiling.query_blocks:
            some = tiling.fold(query, queries) * tiling.scale
            top = some.new_full((*some.shape[:2], 1), float("-inf"))
            total, weighted = torch.zeros_like(top), some.new_zeros(*some.shape[:2], value.shape[-1])
            for keys in tiling.key_blocks:
                scores = tiling.scores(some, tiling.fold(key, keys), queries, keys)
                if scores is None:
                    continue
                higher = torch.maximum(top, scores.amax(-1, keepdim=True))
                shift = higher.masked_fill(higher == float("-inf"), 0.0)  # a row that has seen nothing yet
                weights = scores.sub_(shift).exp_()
                kept = (top - shift).exp()
                total = total * kept + weights.sum(-1, keepdim=True)
                weighted = torch.baddbmm(weighted * kept, weights, tiling.fold(value, keys))
                top = higher
            seen = total > 0
            output[:, :, queries] = tiling.unfold(weighted / total.where(seen, 1.0), queries).to(output.dtype)
            log_sum[:, :, queries] = tiling.unfold(top + total.log(), queries)[..., 0]
        ctx.tiling = tiling
        ctx.save_for_backward(query, key, value, output, log_sum)
        ctx.mark_non_differentiable(log_sum)
        return output, log_sum

    @staticmethod
    def backward(ctx: Any, output_grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise RefusedError(
                "impl",
                expected="one derivative: the backward pass in blocks is not differentiated itself",
                got="'blocked' with create_graph=True",
                hint="take impl='reference'",
            )
        tiling: _Tiling = ctx.tiling
        query, key, value, output, log_sum = ctx.saved_tensors
        query_grad = torch.zeros_like(query, dtype=tiling.wide)
        key_grad, value_grad = (torch.zeros_like(x, dtype=tiling.wide) for x in (key, value))
        tiles = [_TermGradient(term) for term in tiling.terms]
        for queries in tiling.query_blocks:
            some = tiling.fold(query, queries) * tiling.scale
            received = tiling.fold(output_grad, queries)
            pulled = (received * tiling.fold(output, queries)).sum(-1, keepdim=True)  # sum_j p_ij dp_ij of each row
            row_sum = tiling.fold(log_sum.unsqueeze(-1), queries)
            shift = row_sum.masked_fill(row_sum == float("-inf"), 0.0)
            for keys in tiling.key_blocks:
                some_keys = tiling.fold(key, keys)
                scores = tiling.scores(some, some_keys, queries, keys)
                if scores is None:
                    continue
                weights = scores.sub_(shift).exp_()
                value_grad[:, :, keys] += tiling.by_group(weights.transpose(1, 2) @ received)
                scores_grad = torch.bmm(received, tiling.fold(value, keys).transpose(1, 2)).sub_(pulled).mul_(weights)
                query_grad[:, :, queries] += tiling.unfold(torch.bmm(scores_grad, some_keys), queries)
                key_grad[:, :, keys] += tiling.by_group(scores_grad.transpose(1, 2) @ some)
                for tile in tiles:
                    tile.add(tiling.unfold(scores_grad, queries), queries, keys, tiling)
        query_grad *= tiling.scale
        learned = [grad for tile in tiles for grad in tile.result()]
        return None, query_grad.to(query.dtype), key_grad.to(key.dtype), value_grad.to(value.dtype), *learned


class _TermGradient:
    """The gradient of one term's content and parameters, gathered block by block, each block's graph made and used at once."""

    def __init__(self, term: ScoreTerm) -> None:
        self.term, self.parameters = term, list(term.parameters())
        content = [] if term.query is None or term.key is None else [term.query, term.key]
        self.content = [torch.zeros_like(tensor) for tensor in content]
        self.learned = [torch.zeros_like(parameter) for parameter in self.parameters]

    def add(self, scores_grad: Tensor, queries: slice, keys: slice, tiling: _Tiling) -> None:
        if not self.content and not self.parameters:
            return
        tile = tiling.tile(self.term, queries, keys, tiling.visible(queries, keys) if reads_mask(self.term.encoding) else None)
        with torch.enable_grad():
            seen = tile.detach_content()
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

    def __init__(self, term: ScoreTerm, visible: Tensor | None, *, on_a_line: bool) -> None:
        self.term, self.visible, self.on_a_line = term, visible, on_a_line

    def detach_content(self) -> list[Tensor]:
        """Cut what the term sees of queries and keys off their graph, and return these leaves of a new one."""
        if self.term.query is None or self.term.key is None:
            return []
        leaves = [tensor.detach().requires_grad_() for tensor in (self.term.query, self.term.key)]
        self.term = replace(self.term, query=leaves[0], key=leaves[1])
        return leaves

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


def _blocks(length: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]
