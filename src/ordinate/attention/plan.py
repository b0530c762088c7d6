"""Everything that is decided before queries, keys and values meet: positions, encodings, visibility, implementation.

`attend` is a plan that one call uses; a layer makes one for each forward; the layers of a decoder share one, so that rotation
tables, masks and biases are made once. New keys and values may be joined by those of a cache, or by those of the other
processes among which a row is split.

What a mask hides is worked out once for all layers, with one look at the device. A kernel is quickest without a mask, then with
its own causal one, then with a tensor [B, H, T, S]. Which of them is right is seen from the positions; whether a query is left
without any key comes out of the same look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ordinate.attention.backend_selection import Implementation, NamedImplementation, choose
from ordinate.attention.blocked import blocked_attention
from ordinate.attention.cache import Chunk, KVCache
from ordinate.attention.encodings import (
    Encoding,
    acts_on_heads,
    acts_on_scores,
    check_token_positions,
    encode_heads,
    encode_key,
    encode_query,
    position_axes,
    shared_rotation,
)
from ordinate.attention.flex import flex_attention_output
from ordinate.attention.masks import Causal, ExplicitMask, Mask, Padding, Window, check_visible, rules
from ordinate.attention.reference import reference_attention
from ordinate.attention.score_terms import ScoreTerm, on_token_axis, sum_of_biases
from ordinate.attention.transforms import in_full_precision, kernel_obstacle, readable, under_transform
from ordinate.errors import ArgumentError, RefusedError, ShapeError
from ordinate.position.axes import on_every_axis, reading_order
from ordinate.position.protocols import adds_to_values, biases_scores, computes_scores
from ordinate.position.rotary.rotation import PairRotation

__all__ = ["AttentionPlan", "Visibility", "mask_order", "refuse_empty", "resolve_visibility", "self_attention_plans"]

Extend = Callable[[int, Tensor, Tensor], tuple[Tensor, Tensor]]
Gather = Callable[[Tensor, int], Tensor]


def _unchanged(layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    return key, value


class AttentionPlan:
    """How queries at some positions attend to keys at others.

    Args:
        encodings: those that act on queries and keys act in their order, before those that concern scores.
        mask: all rules together, or None.
        query_positions, key_positions: checked, [T] or [B, T] and [S] or [B, S] (with axes last); of no tokens where nobody
            needs them.
        shape: B, H, T, S.
        impl: as in `attend`.
        return_weights: whether weights will be asked for.
        may_be_empty: whether a query may see no key, whose output is then zero; or bool [B, 1, T, 1], which of them may.
        aligned: queries and keys are known to be the same tokens in rising order.
        behind: the queries are known to stand behind all other keys, in rising order.
        rotation: turns heads at `query_positions`, where that is all there is to do to queries and keys.
        extend: keys and values of a layer to those that its queries see.
        close: to be called when every layer is done.

    Raises:
        ShapeError: a mask for other sizes.
        ArgumentError: a query without a visible key.
        RefusedError: encodings over different axes; a window over positions with axes.
    """

    def __init__(
        self,
        encodings: tuple[Encoding, ...],
        mask: Mask | None,
        query_positions: Tensor,
        key_positions: Tensor,
        shape: tuple[int, int, int, int],
        *,
        impl: Implementation = "auto",
        return_weights: bool = False,
        may_be_empty: bool | Tensor = False,
        aligned: bool = False,
        behind: bool = False,
        rotation: PairRotation | None = None,
        extend: Extend = _unchanged,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.mask, self.shape, self.impl, self.return_weights = mask, shape, impl, return_weights
        self.query_positions, self.key_positions, self.may_be_empty = query_positions, key_positions, may_be_empty
        self.acting = tuple(one for one in encodings if acts_on_heads(one))
        self.scoring = tuple(one for one in encodings if acts_on_scores(one))
        self.rotation, self.extend, self.close = rotation, extend, close
        self.order = mask_order(query_positions, key_positions, mask, position_axes(encodings))
        # the kernel does all of it
        self.plain = len(self.scoring) == 0 and impl in ("auto", "sdpa") and not return_weights and kernel_obstacle() is None
        self.visibility = Visibility()
        self._bias: Tensor | None = None
        if impl not in ("blocked", "flex"):
            self.visibility = resolve_visibility(
                mask,
                self.order,
                shape,
                may_be_empty=may_be_empty,
                causal_kernel=self.plain,
                aligned=aligned,
                behind=behind,
            )

    def encode(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """Queries [B, H, T, D] and keys [B, G, S, D] after every encoding that adds or turns."""
        if self.query_positions is self.key_positions:
            return encode_heads(self.acting, query, key, self.query_positions)
        return self.encode_query(query), self.encode_key(key, self.key_positions)

    def encode_new(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys of the same new tokens, before a cache or other processes add keys."""
        return encode_heads(self.acting, query, key, self.query_positions)

    def encode_query(self, query: Tensor) -> Tensor:
        """Queries [B, H, T, D] after every encoding that adds or turns."""
        return encode_query(self.acting, query, self.query_positions)

    def encode_key(self, key: Tensor, positions: Tensor) -> Tensor:
        """Keys [B, G, S, D] at positions of their own after every encoding that adds or turns."""
        return encode_key(self.acting, key, positions)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, *, scale: float) -> tuple[Tensor, Tensor | None]:
        """Output [B, H, T, V] for encoded queries and keys, and the weights [B, H, T, S] where they are asked for."""
        if self.plain:
            return self._kernel(query, key, value, scale, self.visibility.pairs), None
        impl = choose(self.scoring, dtype=query.dtype, impl=self.impl, return_weights=self.return_weights).impl
        terms, product = self._score_terms(query, key, scale)
        if impl in ("blocked", "flex"):
            return self._in_parts(impl, query, key, value, scale, terms, product), None
        pairs = self.visibility.pairs
        bias = self._sum_of_biases(terms)
        if impl == "sdpa":
            added = pairs if bias is None else bias.to(query.dtype)
            if bias is not None and added is not None and pairs is not None:
                added = added.masked_fill(~pairs, float("-inf"))
            return self._kernel(query, key, value, scale, added), None
        scores = None if product is None else product.form(pairs)
        with in_full_precision(query.device):
            output, weights = reference_attention(query, key, value, scale=scale, bias=bias, visible=pairs, scores=scores)
            for one in self.scoring:
                if adds_to_values(one):
                    output = output + one.value_term(weights, self.query_positions, self.key_positions).to(output.dtype)
        return output, weights if self.return_weights else None

    def _kernel(self, query: Tensor, key: Tensor, value: Tensor, scale: float, added: Tensor | None) -> Tensor:
        """torch's kernel. A row without a visible key comes out as zeros, as in the reference."""
        batch, heads, length, _ = query.shape
        shared = key.shape[1]
        alone = length == 1 and heads != shared
        if alone:  # the queries that share a key-value head become its queries, one below the other: no head is repeated
            query = query.reshape(batch, shared, heads // shared, -1)
            if added is not None and added.shape[1] != 1:
                added = added.reshape(added.shape[0], shared, heads // shared, -1)
        output = scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=added,
            is_causal=self.visibility.causal,
            scale=scale,
            enable_gqa=heads != shared and not alone,
        )
        if not torch.compiler.is_compiling() and output.requires_grad and _is_differentiable_once(output):
            output.register_hook(_refuse_second_derivative)
        if alone:
            output = output.reshape(batch, heads, 1, -1)
        if self.visibility.empty is not None:
            output = output.masked_fill(self.visibility.empty, 0.0)
        return output

    def _score_terms(self, query: Tensor, key: Tensor, scale: float) -> tuple[list[ScoreTerm], ScoreTerm | None]:
        """Biases yet to be formed, and what computes the scores, if an encoding does."""
        terms: list[ScoreTerm] = []
        product: ScoreTerm | None = None
        at = self.query_positions, self.key_positions
        for one in self.scoring:
            if biases_scores(one):
                content = (query, key) if one.needs_content else (None, None)
                terms.append(ScoreTerm(one, *at, query=content[0], key=content[1], scale=scale))
            if computes_scores(one):
                if product is not None:
                    raise ArgumentError("encoding", expected="one that computes scores", got="two", hint="drop one of them")
                product = ScoreTerm(one, *at, query, key, scale)
        return terms, product

    def _sum_of_biases(self, terms: Sequence[ScoreTerm]) -> Tensor | None:
        """The whole bias, [1 or B, 1 or H, T, S]; formed once for all layers where it does not depend on their content."""
        if self._bias is not None:
            return self._bias
        bias = sum_of_biases(terms, self.visibility.pairs)
        if bias is not None:
            self._check_bias_heads(bias.shape[1])
            if all(term.query is None for term in terms):
                self._bias = bias
        return bias

    def _check_bias_heads(self, count: int) -> None:
        if count != 1 and count != self.shape[1]:  # `in` would not compare symbolic sizes
            raise ShapeError(
                "encoding", expected=f"a bias for {self.shape[1]} heads", got=f"{count}", hint="build it with num_heads=H"
            )

    def _in_parts(
        self,
        impl: NamedImplementation,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        scale: float,
        terms: Sequence[ScoreTerm],
        product: ScoreTerm | None,
    ) -> Tensor:
        """The implementations that make no [T, S] tensor: biases are formed, and the mask asked, part by part."""
        if under_transform() or torch.compiler.is_exporting():
            raise RefusedError(
                "impl",
                expected="neither a transform (vmap, grad, jvp) nor torch.export",
                got=f"'{impl}' under one of them",
                hint="take impl='reference'",
            )
        tokens, keys = query.shape[2], key.shape[2]
        if tokens and keys:
            self._check_corners(terms)
        if query.device.type == "meta":
            return query.new_empty(*query.shape[:3], value.shape[-1])
        run = flex_attention_output if impl == "flex" else blocked_attention
        with in_full_precision(query.device):
            output, seen = run(
                query, key, value, scale=scale, terms=terms, product=product, mask=self.mask, positions=self.order
            )
        if seen is not None and self.may_be_empty is not True and readable(seen) and not bool(seen.all()):
            refuse_empty(~seen.unsqueeze(-1), self.may_be_empty)
        return output

    def _check_corners(self, terms: Sequence[ScoreTerm]) -> None:
        """Heads of the biases and sizes of the mask, seen from one row and one column of the pairs."""
        first, every = slice(0, 1), slice(None)
        for term in terms:
            if term.query is None:
                self._check_bias_heads(term.part(first, first).form().shape[1])
        if self.mask is None:
            return
        batch, heads, tokens, keys = self.shape
        for queries, some_keys, shape in ((first, every, (1, keys)), (every, first, (tokens, 1))):
            at = on_token_axis(self.order[0], queries), on_token_axis(self.order[1], some_keys)
            check_visible(self.mask, self.mask.part(queries, some_keys).visible(*at), (batch, heads, *shape))


_ONCE = ("ScaledDotProductFlashAttentionForCpuBackward0",)  # kernels whose backward pass torch cannot differentiate


def _is_differentiable_once(output: Tensor) -> bool:
    return output.grad_fn is not None and output.grad_fn.name() in _ONCE and not under_transform()


def _refuse_second_derivative(grad: Tensor) -> None:
    if torch.is_grad_enabled():
        raise RefusedError(
            "impl",
            expected="one derivative: torch does not differentiate its kernel's backward pass",
            got="'sdpa' with create_graph=True",
            hint="take impl='reference'",
        )


def self_attention_plans(
    encodings: tuple[Encoding, ...],
    masks: Sequence[Mask | None],
    positions: Tensor | None,
    *,
    batch: int,
    heads: int,
    tokens: int,
    dtype: torch.dtype,
    impl: Implementation = "auto",
    return_weights: bool = False,
    token_mask: Tensor | None = None,
    cache: KVCache | None = None,
    gather: Gather | None = None,
) -> list[AttentionPlan]:
    """Plans of one forward, one for each mask among the layers; when the last layer is done, one of them is closed.

    Args:
        encodings: of the layers.
        masks: the rules that layers differ in.
        positions: of the new tokens, [T] or [B, T], or with the encoding's axes last; None for those that follow in the cache.
        batch, heads, tokens: rows B, query heads H, new tokens T.
        dtype: of queries and keys.
        impl, return_weights: of the layers, as in `attend`.
        token_mask: bool [B, T], true where a new token is real, or None.
        cache: where keys and values of earlier tokens are.
        gather: what joins a tensor with its shards on other processes, along the axis named.

    Raises:
        ArgumentError: positions that fall in a cache, a full cache, a query that sees no key.
        ShapeError: positions that fit neither tokens nor batch.
    """
    axes = position_axes(encodings)
    if positions is not None and axes is not None and positions.ndim == 1:
        positions = on_every_axis(positions, axes)
    if positions is not None and cache is None:  # a cache looks at them itself
        check_token_positions("positions", positions, axes, length=tokens, batch=batch)
    extra, real, aligned = None, None, False
    extend: Extend = _unchanged
    close: Callable[[], None] = lambda: None  # noqa: E731
    if cache is not None:
        chunk = (
            cache.open_following(tokens) if positions is None else cache.open(positions, tokens=tokens, token_mask=token_mask)
        )
        positions, key_positions, extra, aligned = chunk.new_positions, chunk.positions, chunk.visible, chunk.first
        extend, close = _through(cache, chunk), lambda: cache.close(chunk)
    else:
        assert positions is not None
        key_positions, real = positions, token_mask
        if gather is not None:
            key_positions, extend = gather(positions, -1 if axes is None else -2), _across(gather)
            real = None if token_mask is None else gather(token_mask, -1)
    keys = key_positions.shape[-1 if axes is None else -2]
    may_be_empty: bool | Tensor = False if token_mask is None else ~token_mask.bool()[:, None, :, None]
    rotation = shared_rotation(encodings, positions, dtype)
    plans = []
    for mask in masks:
        for rule in (None if real is None else Padding(real.bool()), None if extra is None else ExplicitMask(extra)):
            if rule is not None:
                mask = rule if mask is None else mask & rule
        plans.append(
            AttentionPlan(
                encodings,
                mask,
                positions,
                key_positions,
                (batch, heads, tokens, keys),
                impl=impl,
                return_weights=return_weights,
                may_be_empty=may_be_empty,
                aligned=aligned,
                behind=cache is not None,
                rotation=rotation,
                extend=extend,
                close=close,
            )
        )
    return plans


def _through(cache: KVCache, chunk: Chunk) -> Extend:
    def extend(layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if layer == 0:  # the other layers are like the first
            cache.check(key, value)
        return cache.write(layer, chunk, key, value)

    return extend


def _across(gather: Gather) -> Extend:
    def extend(layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        both = gather(torch.cat((key, value), dim=-1), 2)
        return both[..., : key.shape[-1]], both[..., key.shape[-1] :]

    return extend


@dataclass(frozen=True)
class Visibility:
    """Which keys the queries of all heads see.

    Args:
        causal: the kernel's own causal mask says it: query i sees keys 0 to i.
        pairs: bool that broadcasts to [B, H, T, S], or None where nothing is hidden or `causal` says it.
        empty: bool that broadcasts to [B, H, T, 1], queries without a visible key; None where there are none.
    """

    causal: bool = False
    pairs: Tensor | None = None
    empty: Tensor | None = None


def mask_order(query_positions: Tensor, key_positions: Tensor, mask: Mask | None, axes: int | None) -> tuple[Tensor, Tensor]:
    """What the mask compares: the positions, or the order in which positions with axes are read.

    Raises:
        RefusedError: a window over positions with axes.
    """
    both_text = query_positions.ndim == 1 and key_positions.ndim == 1
    if axes is None or mask is None or not mask.needs_positions or both_text:
        return query_positions, key_positions
    if any(isinstance(rule, Window) for rule in rules(mask)):
        raise RefusedError(
            "mask",
            expected="rules that compare positions with axes (Causal), or that hold a tensor of their own",
            got="a Window, which counts positions along one axis",
            hint="make windows with Documents, one number for each window",
        )
    with_axes = (on_every_axis(each, axes) if each.ndim == 1 else each for each in (query_positions, key_positions))
    return reading_order(*with_axes)


def resolve_visibility(
    mask: Mask | None,
    order: tuple[Tensor, Tensor],
    shape: tuple[int, int, int, int],
    *,
    may_be_empty: bool | Tensor,
    causal_kernel: bool,
    aligned: bool = False,
    behind: bool = False,
) -> Visibility:
    """What `mask` hides of the pairs [B, H, T, S].

    Args:
        mask: all rules together, or None.
        order: of queries and keys, what the mask compares.
        shape: B, H, T, S.
        may_be_empty: whether a query may see no key; or bool [B, 1, T, 1], which of them may.
        causal_kernel: whether the caller can use `causal`.
        aligned: queries and keys are known to be the same tokens in rising order.
        behind: the queries are known to stand behind all keys but their own, in rising order.

    Raises:
        ShapeError: a mask for other sizes.
        ArgumentError: a query without a visible key that may not be so.
    """
    if mask is None:
        return Visibility()
    tokens, keys = shape[2:]
    if isinstance(mask, Causal):
        if behind and tokens == 1:
            return Visibility()
        if aligned and causal_kernel:
            return Visibility(causal=True)
    looks = readable(*order) and tokens > 0 and keys > 0
    at, by = order
    maybe_causal = looks and causal_kernel and at.shape == by.shape
    if maybe_causal and isinstance(mask, Causal):
        none_behind, some_before = (by.amax(-1) <= at.amin(-1)).all(), (at.amin(-1) < by.amin(-1)).any()
        same_rising, all_visible, some_empty = torch.stack((_same_rising(at, by), none_behind, some_before)).tolist()
        if same_rising or all_visible:
            return Visibility(causal=same_rising)
        pairs = check_visible(mask, mask.visible(at, by), shape)
        return Visibility(pairs=pairs, empty=refuse_empty(_empty(pairs), may_be_empty) if some_empty else None)
    pairs = check_visible(mask, mask.visible(at, by), shape)
    empty = _empty(pairs)
    if not looks:
        return Visibility(pairs=pairs, empty=empty)
    flags = [pairs.all(), empty.any()]
    if maybe_causal and isinstance(mask, Window) and not mask.both_sides:
        flags.append(_same_rising(at, by) & (at.amax() - by.amin() < mask.window_keys))  # wider than the row: only order counts
    all_visible, some_empty, *is_causal = torch.stack(flags).tolist()
    if all_visible or is_causal == [True]:
        return Visibility(causal=not all_visible)
    return Visibility(pairs=pairs, empty=refuse_empty(empty, may_be_empty) if some_empty else None)


def refuse_empty(empty: Tensor, may_be_empty: bool | Tensor) -> Tensor:
    """`empty`, bool [B or 1, H or 1, T, 1], if all of these queries may see no key; it is known that there are some.

    Raises:
        ArgumentError: one of them may not.
    """
    if may_be_empty is True:
        return empty
    refused = empty if may_be_empty is False else empty & ~may_be_empty
    where = refused.nonzero()
    if len(where):
        row, _, query, _ = where[0].tolist()
        raise ArgumentError(
            "mask",
            expected="at least one visible key for every query",
            got=f"none for query {query} of row {row}",
            hint="drop rows that are all padding, or pass empty_rows='zeros'"
            if may_be_empty is False
            else "drop rows that are all padding, or mark padding with token_mask",
        )
    return empty


def _empty(pairs: Tensor) -> Tensor:
    return ~pairs.any(-1, keepdim=True)


def _same_rising(at: Tensor, by: Tensor) -> Tensor:
    """Whether these are the same tokens in rising order, so that causal by position is causal by index."""
    rising = (at.diff(dim=-1) > 0).all()
    return rising if at is by else rising & (at == by).all()
