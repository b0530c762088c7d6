"""`check_embedding`: a position embedding held to its laws and, where it is one, to the sinusoid it should be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from ordinate.verify.adapters.embedding import EmbeddingSubject, adapt_embedding
from ordinate.verify.adapters.trying import SILENT
from ordinate.verify.limits import Overtime
from ordinate.verify.matching import diagnose
from ordinate.verify.names import chosen, name_of
from ordinate.verify.observe import observed_in_turn
from ordinate.verify.properties.embedding import EMBEDDING, EmbeddingCase, arranged
from ordinate.verify.references.sinusoids import EmbeddingSettings
from ordinate.verify.signatures import SIGNATURES, Signature
from ordinate.verify.verdict import Verdict

__all__ = ["check_embedding", "judge_embedding"]


def check_embedding(
    subject: Any,
    *,
    dim: int = 64,
    rule: Literal["sinusoidal"] | None = "sinusoidal",
    base: float = 10000.0,
    layout: Literal["interleaved", "half"] | None = None,
    ladder: Literal["vaswani", "tensor2tensor"] | None = None,
    scale: float | None = None,
    positions: int = 5000,
    order: str | None = None,
    only: Sequence[str] | None = None,
    seconds: float = 10.0,
    name: str | None = None,
) -> Verdict:
    """Hold a position embedding to its laws; which arrangement of sines and cosines it has is found where it is not stated.

    Args:
        subject: a function of positions, of a length (and a width), of the embeddings it is added to, perhaps with an offset.
        dim: channels D.
        rule: "sinusoidal", or None for a learned table.
        base: of the ladder.
        layout: "interleaved" or "half"; None takes what is found.
        ladder: "vaswani" or "tensor2tensor"; None takes what is found.
        scale: a factor on all values; None takes what is found.
        positions: how many it can tell apart.
        order: "BTD" or "TBD", the axes of the embeddings; by default found.
        only: ids of the properties to look at.
        seconds: time limit of one call.
        name: what to call it.

    Raises:
        ArgumentTypeError, ArgumentError: as `check_rotary`.

    >>> from ordinate.position import Sinusoidal
    >>> check_embedding(Sinusoidal(16), dim=16).passed
    True
    """
    started = time.perf_counter()
    settings = EmbeddingSettings.given(
        dim=dim, rule=rule, base=base, layout=layout, ladder=ladder, scale=scale, positions=positions
    )
    adapted = adapt_embedding(subject, settings, order=order, seconds=seconds)
    verdict = judge_embedding(adapted, settings, name or name_of(subject), only)
    return replace(verdict, wall_seconds=time.perf_counter() - started)


def judge_embedding(
    subject: EmbeddingSubject,
    settings: EmbeddingSettings,
    name: str,
    only: Sequence[str] | None = None,
    suspects: Iterable[Signature] | None = None,
) -> Verdict:
    """The verdict on a subject in its one shape."""
    try:
        known = settings.arrangements()[0] if SILENT in subject.remembered else arranged(subject, settings)
    except (Exception, Overtime):
        known = settings.arrangements()[0]
    case = EmbeddingCase(settings, known)
    observed = observed_in_turn(chosen(EMBEDDING, only), subject, case)

    def makers() -> Iterator[tuple[Signature, Callable[[], tuple[Any, Any]]]]:
        for signature in SIGNATURES.values() if suspects is None else suspects:
            if signature.kind == "embedding":
                for option in _plausible(settings, known):
                    yield signature, lambda s=signature, o=option: (EmbeddingSubject.direct(s.make(o), o, subject), case)  # type: ignore[misc]

    causes = diagnose(observed, makers())
    identified = {"layout": known.layout, "ladder": known.ladder, "sines_first": known.sines_first, "scale": known.scale}
    return Verdict(
        subject=name,
        kind="embedding",
        adapter=subject.words,
        assumed=subject.assumed,
        identified=identified if settings.rule else {},
        outcomes=tuple(one.outcome(tuple(c.id for c in causes if one.law.id in c.explains)) for one in observed),
        causes=tuple(causes),
    )


def _plausible(settings: EmbeddingSettings, known: EmbeddingSettings) -> list[EmbeddingSettings]:
    """The arrangement found, and the others that fit what was stated: a fault may have made the finding wrong."""
    others = [option.but(scale=settings.scale or 1.0) for option in settings.arrangements()]
    return [known, *(option for option in others if option != known)][:4]
