"""From what failed to a likely cause: every known fault is asked the same questions, and its numbers compared.

A fault explains a failed property where it fails there too with the same numbers. It is a cause only if it fails nowhere that
the subject holds; it is a complete one if it explains all that failed. Two faults at once are two causes, each for its part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from ordinate.verify.faults.table import KnownFault
from ordinate.verify.observation import Result, observe
from ordinate.verify.verdict import Cause

__all__ = ["diagnose"]

SCREENED = 8


def diagnose(
    results: Sequence[Result],
    suspects: Iterable[tuple[KnownFault, Callable[[], Any]]],
    case: Any,
    by_settings: Sequence[str] = (),
    keep: int = 3,
) -> list[Cause]:
    """The causes of what failed, the likeliest first.

    Args:
        results: all properties of the subject.
        suspects: known faults, each with what makes a subject of it.
        case: what the properties are asked with.
        by_settings: failed properties that right code fails too, with the settings identified in place of those stated.
        keep: how many to name at most.
    """
    failed = [one for one in results if one.status == "failed" and one.observation is not None and one.asked.cheap]
    passed = [one for one in results if one.status == "passed" and one.asked.cheap]
    if not failed:
        return []
    causes: dict[str, tuple[Cause, int]] = {}
    for fault, make in suspects:
        try:
            suspect = make()
        except Exception:
            continue  # a fault that has no meaning for these settings
        asked = [one for one in failed if not fault.properties or one.asked.id in fault.properties]
        explained, contradicted = _explains(asked, suspect, case)
        if not any((name in by_settings) == fault.of_settings for name in explained):
            continue
        if any(observe(one.asked, suspect, case).status == "failed" for one in passed):
            continue
        cause = Cause(fault.id, fault.says, fault.read_at(), tuple(explained), len(explained) == len(failed))
        known = causes.get(fault.id)
        if known is None or len(explained) > len(known[0].explains):
            causes[fault.id] = cause, contradicted
    ranked = sorted(causes.values(), key=lambda pair: (not pair[0].complete, -len(pair[0].explains), pair[1]))
    return _needed([cause for cause, _ in ranked])[:keep]


def _explains(failed: Sequence[Result], suspect: Any, case: Any) -> tuple[list[str], int]:
    """Ids of what the fault explains, and how many failed properties it contradicts (fails there too, in other numbers)."""
    explained: list[str] = []
    contradicted = 0
    for number, one in enumerate(failed):
        if number == SCREENED and not explained:
            return [], contradicted  # what resembles none of the first will not resemble the rest
        own = observe(one.asked, suspect, case)
        if own.status != "failed" or own.observation is None or one.observation is None:
            continue
        facts = [[fact.holds for fact in each.facts] for each in (one.observation, own.observation)]
        if _same(one.observation.tensors, own.observation.tensors) and facts[0] == facts[1]:
            explained.append(one.asked.id)
        else:
            contradicted += 1
    return explained, contradicted


def _same(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    """Equal up to a thousandth of the scale, where float32 angles of two implementations may differ; NaN equals NaN.

    One number in a hundred may be off by a rounding of bfloat16: two implementations round to different neighbours where they
    differ in the last bit.
    """
    if len(one) != len(other):
        return False
    for a, b in zip(one, other, strict=True):
        if a.shape != b.shape or not torch.equal(a.isnan(), b.isnan()):
            return False
        if a.numel() == 0:
            continue
        x, y = a.detach().double().nan_to_num(), b.detach().double().nan_to_num()
        tolerance = 2e-2 if torch.bfloat16 in (a.dtype, b.dtype) else 1e-3
        scale = max(1e-3, min(1.0, float(x.abs().max())))
        off = (x - y).abs() > tolerance * (scale + y.abs())
        if float(off.double().mean()) > 0.01 or bool(((x - y).abs()[off] > 2.0**-7 * (scale + y.abs()[off])).any()):
            return False
    return True


def _needed(ranked: list[Cause]) -> list[Cause]:
    """Without those that explain nothing that a better one does not."""
    covered: set[str] = set()
    kept: list[Cause] = []
    for cause in ranked:
        ties = [other for other in kept if other.explains == cause.explains]
        if set(cause.explains) - covered or ties:
            kept.append(cause)
            covered |= set(cause.explains)
    return kept
