"""Attention by torch's FlexAttention: encodings and masks as functions of one pair of tokens, compiled into one kernel.

Nothing of size [T, S] is made. Which blocks of 128 by 128 pairs are hidden, visible or mixed is worked out one strip of
queries at a time. FlexAttention without compilation would form all scores, so the call is always compiled, and where that
fails it raises.

The kernel is compiled for fixed shapes: torch 2.13's CPU kernel does not build for varying ones (its C++ names a variable
that it never declares). Tokens are filled up to one of four lengths an octave, so that few kernels serve all lengths.

Source: Dong et al. 2024, arXiv 2412.05496 (FlexAttention); `torch.nn.attention.flex_attention`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from torch.nn.functional import pad

from ordinate.attention.masks import Both, Causal, Documents, Either, Mask, Not, Padding, Window
from ordinate.attention.score_terms import ScoreTerm, on_token_axis
from ordinate.errors import RefusedError
from ordinate.position.bias.distance import ScoreMod, one_position, pair_distance

if TYPE_CHECKING:  # torch's module brings in the compiler, which takes seconds: it is imported on first use
    from torch.nn.attention.flex_attention import BlockMask

__all__ = ["flex_attention_output"]

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""(batch, head, query index, key index) -> bool."""

_BLOCK = 128  # pairs of a block along each side: FlexAttention's own default


def flex_attention_output(
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
    """Output [B, H, T, V] in the dtype of `query`; and which queries see a key, bool that broadcasts to [B, H, T], or None.

    A row without a visible key has an output of zeros. None where nothing is masked.

    Args:
        query: [B, H, T, D].
        key, value: [B, G, S, D] and [B, G, S, V].
        scale: factor on the products.
        terms: biases whose encodings have a `score_mod`.
        product: what computes the scores in place of the product: refused.
        mask: which keys are visible; made of the rules in `ordinate.attention.masks`.
        positions: of queries and keys for the mask.

    Raises:
        RefusedError: gradients or float64 on a CPU, an encoding without `score_mod`, another kind of mask.
    """
    _refuse(query, key, value, terms, product)
    queries, keys = query.shape[2], key.shape[2]
    if 0 in (*query.shape, *value.shape):  # no kernel for nothing
        seen = torch.full((1, 1, queries), keys > 0, device=query.device)
        return query.new_zeros(*query.shape[:3], value.shape[-1]), None if mask is None else seen
    filled_queries, filled_keys = _filled(queries), _filled(keys)
    mods = []
    for term in terms:
        axes = getattr(term.encoding, "axes", None) is not None
        at = _fill(term.query_positions, filled_queries, axes=axes), _fill(term.key_positions, filled_keys, axes=axes)
        mods.append(term.encoding.score_mod(*at))  # type: ignore[union-attr]
    block_mask, seen = _block_mask(mask, positions, (queries, keys), (filled_queries, filled_keys), query.device)
    with torch._dynamo.config.patch(recompile_limit=256):  # a kernel for each shape, encoding and mask is no accident here
        output = _compiled()(
            pad(query, (0, 0, 0, filled_queries - queries)).contiguous(),
            pad(key, (0, 0, 0, filled_keys - keys)).contiguous(),
            pad(value, (0, 0, 0, filled_keys - keys)).contiguous(),
            score_mod=_one_after_another(mods) if mods else None,
            block_mask=block_mask,
            scale=scale,
            enable_gqa=query.shape[1] != key.shape[1],
        )
    output = cast(Tensor, output)[:, :, :queries]
    return (output, None) if mask is None else (output.masked_fill(~seen.unsqueeze(-1), 0.0), seen)


@functools.cache
def _compiled() -> Callable[..., Any]:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, fullgraph=True, dynamic=False)


def _refuse(query: Tensor, key: Tensor, value: Tensor, terms: Sequence[ScoreTerm], product: ScoreTerm | None) -> None:
    for term in (*terms, *(() if product is None else (product,))):
        if not hasattr(term.encoding, "score_mod"):
            raise RefusedError(
                "impl",
                expected="an encoding with a score_mod, a function of one pair of tokens",
                got=f"'flex' with {type(term.encoding).__name__}",
                hint="take impl='blocked', which needs no more memory, or 'reference'",
            )
    if query.device.type != "cpu":
        return
    learned = [parameter for term in terms for parameter in term.parameters()]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (query, key, value, *learned)):
        raise RefusedError(
            "impl",
            expected="no gradients: FlexAttention has no backward pass on a CPU",
            got="'flex' with a tensor or an encoding that requires them",
            hint="take impl='blocked', or run under torch.no_grad()",
        )
    if query.dtype is torch.float64:
        raise RefusedError(
            "impl",
            expected="float32 or narrower on a CPU",
            got="'flex' with float64",
            hint="take impl='blocked' or 'reference'",
        )


def _filled(length: int) -> int:
    """The next length that has a kernel: a multiple of an eighth of its octave, and of the mask's block."""
    step = max(_BLOCK, 1 << max((length - 1).bit_length() - 3, 0))
    return -(-length // step) * step


def _fill(tensor: Tensor, length: int, *, axes: bool = False) -> Tensor:
    """A tensor over tokens, [T] or [B, T] (or with axes last), its last token repeated up to `length`."""
    dim = -2 if axes else -1
    last = tensor.shape[dim] - 1
    return tensor.index_select(tensor.ndim + dim, torch.arange(length, device=tensor.device).clamp_max(last))


def _one_after_another(mods: Sequence[ScoreMod]) -> ScoreMod:
    def mod(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        for one in mods:
            score = one(score, batch, head, query, key)
        return score

    return mod


def _block_mask(
    mask: Mask | None,
    positions: tuple[Tensor, Tensor],
    lengths: tuple[int, int],
    filled: tuple[int, int],
    device: torch.device,
) -> tuple[BlockMask, Tensor]:
    """Which blocks of pairs a kernel has to visit and which of them it has to ask pair by pair; and which queries see a key."""
    from torch.nn.attention.flex_attention import BlockMask

    queries, keys = lengths
    unfilled = slice(0, keys)
    some, whole, seen = [], [], []
    for start in range(0, filled[0], _BLOCK):
        strip = slice(start, min(start + _BLOCK, queries))
        if mask is None:
            visible = torch.ones(1, 1, max(strip.stop - start, 0), keys, dtype=torch.bool, device=device)
        else:
            at = on_token_axis(positions[0], strip), on_token_axis(positions[1], unfilled)
            visible = mask.part(strip, unfilled).visible(*at)
            visible = visible.expand(*visible.shape[:2], max(strip.stop - start, 0), keys)
        blocks = pad(visible, (0, filled[1] - keys)).unflatten(-1, (-1, _BLOCK))
        some.append(blocks.any(-1).any(-2))
        whole.append(blocks.all(-1).all(-2))
        seen.append(visible.any(-1))
    some_blocks, whole_blocks = torch.stack(some, dim=-2), torch.stack(whole, dim=-2)
    return (
        BlockMask.from_kv_blocks(
            *_listed(some_blocks & ~whole_blocks),
            *_listed(whole_blocks),
            BLOCK_SIZE=_BLOCK,
            mask_mod=_within(torch.tensor(keys, device=device), None if mask is None else _mask_mod(mask, positions, filled)),
            seq_lengths=filled,
        ),
        torch.cat(seen, dim=-1),
    )


def _listed(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """For each block of queries [b, h, q], how many blocks of keys are true in [b, h, q, k], and their numbers, those first."""
    order = torch.argsort(blocks.int(), dim=-1, descending=True, stable=True)
    return blocks.sum(-1, dtype=torch.int32), order.int()


def _within(keys: Tensor, rule: MaskMod | None) -> MaskMod:
    """Hides the keys that only fill up the length."""
    if rule is None:
        return lambda batch, head, query, key: key < keys
    return lambda batch, head, query, key: (key < keys) & rule(batch, head, query, key)


def _mask_mod(mask: Mask, positions: tuple[Tensor, Tensor], filled: tuple[int, int]) -> MaskMod:
    """The rule for one pair of tokens."""

    def of(rule: Mask) -> MaskMod:
        return _mask_mod(rule, positions, filled)

    match mask:
        case Causal():
            distance_of = pair_distance(_fill(positions[0], filled[0]), _fill(positions[1], filled[1]))
            return lambda batch, head, query, key: distance_of(batch, query, key) >= 0
        case Window(window_keys, both_sides):
            distance_of = pair_distance(_fill(positions[0], filled[0]), _fill(positions[1], filled[1]))
            if both_sides:
                return lambda batch, head, query, key: distance_of(batch, query, key).abs() < window_keys
            return lambda batch, head, query, key: (
                (distance_of(batch, query, key) >= 0) & (distance_of(batch, query, key) < window_keys)
            )
        case Documents(query_documents, key_documents):
            of_query = one_position(_fill(query_documents, filled[0]))
            of_key = one_position(_fill(query_documents if key_documents is None else key_documents, filled[1]))
            return lambda batch, head, query, key: of_query(batch, query) == of_key(batch, key)
        case Padding(key_mask):
            real = one_position(_fill(key_mask.bool(), filled[1]))
            return lambda batch, head, query, key: real(batch, key)
        case Both(first, second):
            one, other = of(first), of(second)
            return lambda batch, head, query, key: one(batch, head, query, key) & other(batch, head, query, key)
        case Either(first, second):
            one, other = of(first), of(second)
            return lambda batch, head, query, key: one(batch, head, query, key) | other(batch, head, query, key)
        case Not(rule):
            inverted = of(rule)
            return lambda batch, head, query, key: ~inverted(batch, head, query, key)
    raise RefusedError(
        "mask",
        expected="rules of ordinate.attention.masks, which 'flex' knows for one pair",
        got=type(mask).__name__,
        hint="take impl='blocked', which asks a rule for its part",
    )
