"""`check_bias`: a bias on scores held to its laws and to its published rule."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from ordinate.verify.adapters.bias import BiasSubject, adapt_bias
from ordinate.verify.matching import diagnose
from ordinate.verify.names import chosen, name_of
from ordinate.verify.observe import observed_in_turn
from ordinate.verify.properties.bias import BIAS, BUCKETS
from ordinate.verify.references.biases import BiasSettings
from ordinate.verify.signatures import SIGNATURES, Signature
from ordinate.verify.verdict import Verdict

__all__ = ["check_bias", "judge_bias"]


def check_bias(
    subject: Any,
    *,
    num_heads: int = 8,
    rule: Literal["alibi", "t5"] | None = "alibi",
    slopes: Literal["reference", "geometric"] = "reference",
    causal: bool = True,
    symmetric: bool = False,
    num_buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
    only: Sequence[str] | None = None,
    seconds: float = 10.0,
    name: str | None = None,
) -> Verdict:
    """Hold a position bias to its laws; compared through softmax, so a constant per row is no fault.

    Args:
        subject: a function of (query_positions, key_positions), (query_length, key_length), (length), (num_heads, length),
            (attention_mask, num_heads, dtype), of distances (buckets), or of the number of heads alone (slopes).
        num_heads: query heads.
        rule: "alibi", "t5", or None for the laws alone.
        slopes: ALiBi's rule where the number of heads is no power of two.
        causal: whether keys ahead of a query are hidden.
        symmetric: ALiBi by the absolute distance.
        num_buckets, max_distance, bidirectional: T5's.
        only: ids of the properties to look at.
        seconds: time limit of one call.
        name: what to call it.

    Raises:
        ArgumentTypeError, ArgumentError: as `check_rotary`.

    >>> from ordinate.position import ALiBi
    >>> check_bias(ALiBi(8), num_heads=8).passed
    True
    """
    started = time.perf_counter()
    settings = BiasSettings.given(
        num_heads=num_heads,
        rule=rule,
        slopes=slopes,
        causal=causal,
        symmetric=symmetric,
        num_buckets=num_buckets,
        max_distance=max_distance,
        bidirectional=bidirectional,
    )
    adapted = adapt_bias(subject, settings, seconds=seconds)
    return replace(judge_bias(adapted, settings, name or name_of(subject), only), wall_seconds=time.perf_counter() - started)


def judge_bias(
    subject: BiasSubject,
    settings: BiasSettings,
    name: str,
    only: Sequence[str] | None = None,
    suspects: Iterable[Signature] | None = None,
) -> Verdict:
    """The verdict on a subject in its one shape."""
    buckets = subject.shape.gives == "buckets"
    observed = observed_in_turn(chosen(BUCKETS if buckets else BIAS, only), subject, settings)
    kind = "buckets" if buckets else "bias"

    def makers() -> Iterator[tuple[Signature, Callable[[], tuple[Any, Any]]]]:
        for signature in SIGNATURES.values() if suspects is None else suspects:
            if signature.kind == kind:
                yield signature, lambda s=signature: (BiasSubject.direct(s.make(settings), settings, subject), settings)  # type: ignore[misc]

    causes = diagnose(observed, makers())
    return Verdict(
        subject=name,
        kind="bias",
        adapter=subject.words,
        assumed=subject.assumed,
        identified={"rule": settings.rule, "gives": subject.shape.gives},
        outcomes=tuple(one.outcome(tuple(c.id for c in causes if one.law.id in c.explains)) for one in observed),
        causes=tuple(causes),
    )
