"""`check_rotary`: a rotation held to every property, and what failed compared with every known fault."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from ordinate.frequencies import Scaling
from ordinate.verify.adapters.rotary import RotarySubject, adapt_rotary
from ordinate.verify.adapters.trying import SILENT
from ordinate.verify.limits import Overtime
from ordinate.verify.matching import diagnose
from ordinate.verify.names import chosen, name_of
from ordinate.verify.observe import observe, observed_in_turn
from ordinate.verify.properties.rotary_case import RotaryCase, measured
from ordinate.verify.properties.rotary_context import CONTEXT
from ordinate.verify.properties.rotary_dtype import DTYPE
from ordinate.verify.properties.rotary_near import NEAR
from ordinate.verify.references.rotation import Layout, RotarySettings
from ordinate.verify.signatures import SIGNATURES, Signature
from ordinate.verify.signatures.rotations import alike, turn
from ordinate.verify.verdict import Verdict

__all__ = ["ROTARY", "check_rotary", "judge_rotary"]

ROTARY = NEAR + CONTEXT + DTYPE

_REFUSABLE = (
    "distance-alone",
    "prefill-equals-decode",
    "offsets",
    "left-padding",
    "packing",
    "far-positions",
    "half-precision",
    "module-cast",
)


def check_rotary(
    subject: Any,
    *,
    head_dim: int = 64,
    rotary_dim: int | None = None,
    base: float | None = 10000.0,
    layout: Layout | None = None,
    scaling: Scaling | None = None,
    rotated_channels: Literal["first", "last"] = "first",
    num_heads: int = 4,
    angles: Literal["float32", "float64"] = "float32",
    positions: int = 131_072,
    order: str | None = None,
    takes: str | None = None,
    only: Sequence[str] | None = None,
    seconds: float = 10.0,
    name: str | None = None,
) -> Verdict:
    """Hold a rotary position embedding to what its mathematics promises, and name the fault where it breaks.

    Args:
        subject: a function of (x, positions), (x, offset), (x), the same for query and key, with cos and sin (full or half
            width), stacked, packed, complex tables or angles; a module that does so, or that returns tables; an object with
            `rotate`. How to call it is found by its parameters' names and by trying.
        head_dim: channels D of a head.
        rotary_dim: how many channels turn; by default all.
        base: of the ladder of frequencies; None takes the one that is found.
        layout: "half", "interleaved", or None where any will do: it is then identified.
        scaling: a record of `ordinate.position.frequencies`.
        rotated_channels: "first" or "last", where not all turn.
        num_heads: heads of the probes.
        angles: "float32" allows angles formed in float32 the error that they must have; "float64" does not.
        positions: the farthest position to look at.
        order: the subject's axes, such as "BTHD"; by default found.
        takes: "positions", "offset", "nothing" or "tables"; by default found.
        only: ids of the properties to look at; by default all.
        seconds: time limit of one call of the subject.
        name: what to call it.

    Returns:
        A verdict: `.passed`, every property with its outcome, causes, what was assumed.

    Raises:
        ArgumentTypeError: nothing that can be called.
        ArgumentError: settings that make no sense; no adapter fits (the message shows what was tried); an unknown property.

    >>> from ordinate.position import Rotary
    >>> check_rotary(Rotary(16, layout="half"), head_dim=16, only=["layout", "frequencies", "offsets"]).passed
    True
    """
    started = time.perf_counter()
    settings = RotarySettings.given(
        head_dim,
        rotary_dim,
        base=base,
        layout=layout,
        scaling=scaling,
        rotated_channels=rotated_channels,
        num_heads=num_heads,
        angles=angles,
        positions=positions,
    )
    adapted = adapt_rotary(subject, settings, order=order, takes=takes, seconds=seconds)
    verdict = judge_rotary(adapted, settings, name or name_of(subject), only)
    return replace(verdict, wall_seconds=time.perf_counter() - started)


def judge_rotary(
    subject: RotarySubject,
    settings: RotarySettings,
    name: str,
    only: Sequence[str] | None = None,
    suspects: Iterable[Signature] | None = None,
) -> Verdict:
    """The verdict on a subject in its one shape."""
    laws = chosen(ROTARY, only)
    found = None
    if SILENT not in subject.remembered:
        try:
            _, found = measured(subject, RotaryCase.of(settings, None))
        except (Exception, Overtime):
            found = None
    case = RotaryCase.of(settings, found)
    refusable = _REFUSABLE if case.trained is not None else ()
    observed = observed_in_turn(laws, subject, case, refusable)
    right = RotarySubject.direct(alike(lambda x, steps: turn(x, steps, case.known)), case.known, like=subject)
    by_settings = [
        one.law.id
        for one in observed
        if one.law.id in ("layout", "prefill-equals-decode") and observe(one.law, right, case).status == "failed"
    ]
    asked = observed if _finite(subject) else observed[:1]  # numbers that are none resemble nothing
    causes = diagnose(asked, _suspects(subject, case, suspects), by_settings)
    explained = {law: tuple(cause.id for cause in causes if law in cause.explains) for law in (one.law.id for one in observed)}
    return Verdict(
        subject=name,
        kind="rotary",
        adapter=subject.words,
        assumed=subject.assumed,
        identified={} if found is None else found.told(settings.rotary_dim),
        outcomes=tuple(one.outcome(explained[one.law.id]) for one in observed),
        causes=tuple(causes),
    )


def _finite(subject: RotarySubject) -> bool:
    turned = subject.remembered.get("turned")
    return turned is None or bool(turned.isfinite().all())


def _suspects(
    subject: RotarySubject, case: RotaryCase, among: Iterable[Signature] | None
) -> Iterator[tuple[Signature, Callable[[], tuple[Any, Any]]]]:
    found = subject.remembered.get("found")
    layouts = [case.known.as_built] if found is not None and found.layout else ["half", "interleaved"]
    signs = [case.known.sign] if found is not None and found.layout and not found.mixed_signs else [1, -1]
    for signature in SIGNATURES.values() if among is None else among:
        if signature.kind != "rotary":
            continue
        for layout in layouts:
            for sign in signs:
                yield signature, _maker(signature, subject, case, case.known.but(layout=layout, sign=sign))


def _maker(
    signature: Signature, subject: RotarySubject, case: RotaryCase, settings: RotarySettings
) -> Callable[[], tuple[Any, Any]]:
    return lambda: (RotarySubject.direct(signature.make(settings), settings, like=subject), case)
