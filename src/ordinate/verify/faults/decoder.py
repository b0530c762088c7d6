"""Known faults of whole decoders. A decoder's weights are its own, so a fault is shown by using the decoder itself wrongly.

If passing it the wrong positions on purpose yields the very logits that it gave by itself, that is what it did.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from ordinate.position.indices import appended, consecutive, from_mask
from ordinate.verify.adapters.decoder import DecoderSubject
from ordinate.verify.faults.table import KnownFault
from ordinate.verify.observation import Unsupported

__all__ = ["DECODER_FAULTS"]

DECODING = ("prefill-equals-decode", "long-decode", "padded-decode-by-mask")
PADDING = ("left-padding-by-mask", "padded-decode-by-mask")


class _Misused(DecoderSubject):
    """The subject, with positions from this class where the caller gave none."""

    def __init__(self, subject: DecoderSubject) -> None:
        super().__init__(subject.callee, subject.settings, subject.names)

    def counted(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        """0, 1, 2, ...; a decoder that takes no positions, or was given some, has none of its own to get wrong."""
        if positions is not None:
            raise Unsupported("positions were given")
        if not self.names.get("positions"):
            raise Unsupported("it takes no positions")
        return torch.arange(tokens.shape[1]).expand_as(tokens)


class _PaddingCounts(_Misused):
    def logits(self, tokens: Tensor, positions: Tensor | None = None, key_mask: Tensor | None = None) -> Tensor:
        if key_mask is None:
            return super().logits(tokens, positions, key_mask)
        counted = self.counted(tokens, positions)
        if bool(key_mask[:, 0].all()):
            raise Unsupported("no row is padded on the left")
        return super().logits(tokens, counted, key_mask)

    def decoded(  # type: ignore[override]
        self, tokens: Tensor, prefill: int, positions: Tensor | None = None, key_mask: Tensor | None = None
    ) -> Tensor:
        return super().decoded(tokens, prefill, self.counted(tokens, positions), key_mask)


class _StepsElsewhere(_Misused):
    """Single tokens are decoded at `step(own, counted)`."""

    step: Callable[[Tensor, Tensor], Tensor]

    def decoded(  # type: ignore[override]
        self, tokens: Tensor, prefill: int, positions: Tensor | None = None, key_mask: Tensor | None = None
    ) -> Tensor:
        counted = self.counted(tokens, positions)
        own = counted if key_mask is None else (key_mask.long().cumsum(-1) - 1).clamp_min(0)
        return super().decoded(tokens, prefill, own, key_mask, type(self).step(own, counted))


class _StepsAtZero(_StepsElsewhere):
    step = staticmethod(lambda own, counted: torch.zeros_like(own))


class _StepsAhead(_StepsElsewhere):
    step = staticmethod(lambda own, counted: own + 1)


class _StepsByCacheLength(_StepsElsewhere):
    step = staticmethod(lambda own, counted: counted)


class _MaskIgnored(_Misused):
    def logits(self, tokens: Tensor, positions: Tensor | None = None, key_mask: Tensor | None = None) -> Tensor:
        return super().logits(tokens, positions, None)

    def decoded(  # type: ignore[override]
        self, tokens: Tensor, prefill: int, positions: Tensor | None = None, key_mask: Tensor | None = None
    ) -> Tensor:
        return super().decoded(tokens, prefill, positions, None)


class _WithoutCache(_Misused):
    def decoded(  # type: ignore[override]
        self, tokens: Tensor, prefill: int, positions: Tensor | None = None, key_mask: Tensor | None = None
    ) -> Tensor:
        own = self.counted(tokens) if positions is None and self.names.get("positions") else positions
        parts = [super().logits(tokens[:, :prefill])]
        for t in range(prefill, tokens.shape[1]):
            parts.append(super().logits(tokens[:, t : t + 1], None if own is None else own[:, t : t + 1]))
        return torch.cat(parts, 1)


_row = partial(KnownFault, kind="decoder")

# fmt: off
DECODER_FAULTS: tuple[KnownFault, ...] = (
    _row("decoder-padding-counts", "padding and packing",
        says="padding counted as tokens: positions 0, 1, 2, ... over the whole row", make=_PaddingCounts, read=from_mask,
        properties=PADDING, reported="transformers#22161"),
    _row("decoder-steps-at-zero", "offset and cache", says="single tokens decoded at position 0", make=_StepsAtZero,
        read=appended, properties=DECODING, reported="a decode step without its position"),
    _row("decoder-steps-one-ahead", "offset and cache", says="single tokens decoded one position too far", make=_StepsAhead,
        read=appended, properties=DECODING, reported="the cache counts the new token first"),
    _row("decoder-steps-by-cache-length", "padding and packing",
        says="single tokens decoded at the length of the cache, padding included", make=_StepsByCacheLength, read=appended,
        properties=DECODING, reported="cache_position for positions"),
    _row("decoder-mask-ignored", "padding and packing", says="the mask of keys ignored: padding is attended to",
        make=_MaskIgnored, read=from_mask,
        properties=("left-padding", "left-padding-by-mask", "padded-decode", "padded-decode-by-mask")),
    _row("decoder-without-cache", "offset and cache",
        says="single tokens decoded without what came before: the cache has no effect", make=_WithoutCache, read=consecutive,
        properties=(*DECODING, "padded-decode")),
)
# fmt: on
