"""`check_attention`: attention held to the laws of code that knows where its tokens are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from ordinate.verify.adapters.attention import AttentionSubject, adapt_attention
from ordinate.verify.matching import diagnose
from ordinate.verify.names import chosen, name_of
from ordinate.verify.observe import observed_in_turn
from ordinate.verify.properties.attention import ATTENTION
from ordinate.verify.references.attention import AttentionSettings
from ordinate.verify.signatures import SIGNATURES, Signature
from ordinate.verify.verdict import Verdict

__all__ = ["check_attention", "judge_attention"]


def check_attention(
    subject: Any,
    *,
    num_heads: int = 4,
    num_kv_heads: int | None = None,
    head_dim: int = 16,
    causal: bool = True,
    encoding: Literal["rotary", "alibi", "none"] | None = None,
    layout: Literal["half", "interleaved"] = "half",
    base: float = 10000.0,
    window_keys: int | None = None,
    scale: float | None = None,
    order: str | None = None,
    only: Sequence[str] | None = None,
    seconds: float = 10.0,
    name: str | None = None,
) -> Verdict:
    """Hold attention to its laws: causality, order, shared heads, decoding, padding, neighbours.

    Args:
        subject: a function of (q, k, v), perhaps with positions (one row, or those of queries and of keys), an offset, a mask
            of keys (1 for real ones), `causal`. It applies its own encoding and its own causal mask.
        num_heads, num_kv_heads, head_dim: H, G (by default H) and D.
        causal: whether keys ahead are hidden.
        encoding: "rotary", "alibi" or "none": then the output is compared with the formula; None looks at the laws alone.
        layout, base: of the rotation.
        window_keys: keys that a query sees, itself included.
        scale: factor on products, by default 1 / sqrt(D).
        order: "BHTD" or "BTHD"; by default found.
        only: ids of the properties to look at.
        seconds: time limit of one call.
        name: what to call it.

    Raises:
        ArgumentTypeError, ArgumentError: as `check_rotary`.

    >>> from torch.nn.functional import scaled_dot_product_attention as sdpa
    >>> check_attention(lambda q, k, v: sdpa(q, k, v, is_causal=True), encoding="none", only=["causality"]).passed
    True
    """
    started = time.perf_counter()
    settings = AttentionSettings.given(
        num_heads=num_heads,
        num_kv_heads=num_kv_heads or num_heads,
        head_dim=head_dim,
        causal=causal,
        encoding=encoding,
        layout=layout,
        base=base,
        window_keys=window_keys,
        scale=scale,
    )
    adapted = adapt_attention(subject, settings, order=order, seconds=seconds)
    verdict = judge_attention(adapted, settings, name or name_of(subject), only)
    return replace(verdict, wall_seconds=time.perf_counter() - started)


def judge_attention(
    subject: AttentionSubject,
    settings: AttentionSettings,
    name: str,
    only: Sequence[str] | None = None,
    suspects: Iterable[Signature] | None = None,
) -> Verdict:
    """The verdict on a subject in its one shape."""
    observed = observed_in_turn(chosen(ATTENTION, only), subject, settings)

    def makers() -> Iterator[tuple[Signature, Callable[[], tuple[Any, Any]]]]:
        for signature in SIGNATURES.values() if suspects is None else suspects:
            if signature.kind == "attention":
                yield signature, lambda s=signature: (AttentionSubject.direct(s.make(settings), settings, subject), settings)  # type: ignore[misc]

    causes = diagnose(observed, makers())
    return Verdict(
        subject=name,
        kind="attention",
        adapter=subject.words,
        assumed=subject.assumed,
        identified={"encoding": settings.encoding},
        outcomes=tuple(one.outcome(tuple(c.id for c in causes if one.law.id in c.explains)) for one in observed),
        causes=tuple(causes),
    )
