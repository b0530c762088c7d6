"""Known faults of whole decoders. A decoder's weights are its own, so a fault is shown by using the decoder itself wrongly.

If giving it the wrong positions on purpose yields the very logits that it gave by itself, that is what it did.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.position.indices import appended, consecutive, from_mask
from ordinate.verify.adapters.decoder import DecoderSubject
from ordinate.verify.seen import unsupported
from ordinate.verify.signatures.signature import signature

__all__: list[str] = []

DECODING = ("prefill-equals-decode", "long-decode", "padded-decode-by-mask")


class _Misused(DecoderSubject):
    """The subject, given positions by this class where the caller gave none."""

    def __init__(self, subject: DecoderSubject) -> None:
        super().__init__(subject.native, subject.settings, subject.names)

    def fresh(self) -> DecoderSubject:
        return type(self)(super().fresh())

    def unless_given(self, positions: Tensor | None) -> None:
        """A decoder that is told positions has none of its own to get wrong."""
        if positions is not None:
            raise unsupported("positions were given")

    def counted(self, tokens: Tensor) -> Tensor:
        if not self.names.get("positions"):
            raise unsupported("it takes no positions")
        return torch.arange(tokens.shape[1]).expand_as(tokens)


@signature(
    "decoder-padding-counts",
    family="padding and packing",
    laws=("left-padding-by-mask", "padded-decode-by-mask"),
    kind="decoder",
    read=from_mask,
    says="padding counted as tokens: positions 0, 1, 2, ... over the whole row",
    seen="transformers#22161",
)
class _PaddingCounts(_Misused):
    def logits(self, tokens: Tensor, positions: Tensor | None = None, key_mask: Tensor | None = None) -> Tensor:
        if key_mask is None:
            return super().logits(tokens, positions, key_mask)
        self.unless_given(positions)
        if bool(key_mask[:, 0].all()):
            raise unsupported("no row is padded on the left")
        return super().logits(tokens, self.counted(tokens), key_mask)

    def decoded(  # type: ignore[override]
        self, tokens: Tensor, prefill: int, positions: Tensor | None = None, key_mask: Tensor | None = None
    ) -> Tensor:
        self.unless_given(positions)
        return super().decoded(tokens, prefill, self.counted(tokens), key_mask)


@signature(
    "decoder-steps-at-zero",
    family="offset and cache",
    laws=DECODING,
    kind="decoder",
    read=appended,
    says="single tokens decoded at position 0",
    seen="a decode step without its position",
)
class _StepsAtZero(_Misused):
    def decoded(  # type: ignore[override]
        self, tokens: Tensor, prefill: int, positions: Tensor | None = None, key_mask: Tensor | None = None
    ) -> Tensor:
        self.unless_given(positions)
        own = self.counted(tokens) if key_mask is None else (key_mask.long().cumsum(-1) - 1).clamp_min(0)
        return super().decoded(tokens, prefill, own, key_mask, torch.zeros_like(own))


@signature(
    "decoder-steps-one-ahead",
    family="offset and cache",
    laws=DECODING,
    kind="decoder",
    read=appended,
    says="single tokens decoded one position too far",
    seen="the cache counts the new token first",
)
class _StepsAhead(_Misused):
    def decoded(  # type: ignore[override]
        self, tokens: Tensor, prefill: int, positions: Tensor | None = None, key_mask: Tensor | None = None
    ) -> Tensor:
        self.unless_given(positions)
        own = self.counted(tokens) if key_mask is None else (key_mask.long().cumsum(-1) - 1).clamp_min(0)
        return super().decoded(tokens, prefill, own, key_mask, own + 1)


@signature(
    "decoder-steps-by-cache-length",
    family="padding and packing",
    laws=DECODING,
    kind="decoder",
    read=appended,
    says="single tokens decoded at the length of the cache, padding included",
    seen="cache_position for positions",
)
class _StepsByCache(_Misused):
    def decoded(  # type: ignore[override]
        self, tokens: Tensor, prefill: int, positions: Tensor | None = None, key_mask: Tensor | None = None
    ) -> Tensor:
        self.unless_given(positions)
        own = self.counted(tokens) if key_mask is None else (key_mask.long().cumsum(-1) - 1).clamp_min(0)
        return super().decoded(tokens, prefill, own, key_mask, self.counted(tokens))


@signature(
    "decoder-mask-ignored",
    family="padding and packing",
    laws=("left-padding", "left-padding-by-mask", "padded-decode", "padded-decode-by-mask"),
    kind="decoder",
    read=from_mask,
    says="the mask of keys ignored: padding is attended to",
    seen="",
)
class _MaskIgnored(_Misused):
    def logits(self, tokens: Tensor, positions: Tensor | None = None, key_mask: Tensor | None = None) -> Tensor:
        return super().logits(tokens, positions, None)

    def decoded(  # type: ignore[override]
        self, tokens: Tensor, prefill: int, positions: Tensor | None = None, key_mask: Tensor | None = None
    ) -> Tensor:
        return super().decoded(tokens, prefill, positions, None)


@signature(
    "decoder-without-cache",
    family="offset and cache",
    laws=(*DECODING, "padded-decode"),
    kind="decoder",
    read=consecutive,
    says="single tokens decoded without what came before: the cache has no effect",
    seen="",
)
class _Forgetful(_Misused):
    def decoded(  # type: ignore[override]
        self, tokens: Tensor, prefill: int, positions: Tensor | None = None, key_mask: Tensor | None = None
    ) -> Tensor:
        own = self.counted(tokens) if positions is None and self.names.get("positions") else positions
        parts = [super().logits(tokens[:, :prefill])]
        for t in range(prefill, tokens.shape[1]):
            parts.append(super().logits(tokens[:, t : t + 1], None if own is None else own[:, t : t + 1]))
        return torch.cat(parts, 1)
