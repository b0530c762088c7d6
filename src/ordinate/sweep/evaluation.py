"""What a trained model is asked: the same last targets at every length, the whole window, the cut context, and depth.

The score of the last targets with the whole context stands beside the score of the same targets when the context is cut to
the training length: an extrapolation that does not beat the second has gained nothing. The mean over the whole window is kept
too, because it is what is often published: it is better than the last targets where early tokens are easy, worse where the
start of a row is hard, and so says little about length.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ordinate.sweep.encodings import Entry
from ordinate.sweep.model import SweepDecoder
from ordinate.sweep.tasks import NOT_SCORED, Rows, Task
from ordinate.sweep.training import draw_positions

__all__ = ["DEPTHS", "TEMPERATURES", "Scored", "depth_scores", "evaluate", "score", "table_as_if"]

DEPTHS = 8
"""Parts that the context is divided into where recall is measured by depth."""
TEMPERATURES = (1.0, 1.1, 1.2, 1.35, 1.5)
"""Factors on the scores among which the tuned one is chosen, on validation rows."""
_CHUNK_TOKENS = 4096  # rows that are scored at once
_CHUNK_PAIRS = 1 << 18  # the same where every layer writes its scores several times: they should stay in the caches


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of one length, in the task's unit.

    Args:
        last: of the last targets.
        whole: of every target of the rows.
        right: float [B, last], for each of the last targets its accuracy or its bits; NaN where nothing was asked.
    """

    last: float
    whole: float
    right: Tensor


@torch.no_grad()
def score(model: SweepDecoder, task: Task, rows: Rows, positions: Tensor) -> Scored:
    """The scores of these rows, chunk by chunk."""
    length = rows.tokens.shape[1]
    by_content = any(getattr(one, "needs_content", False) for one in model.encodings)
    chunk = max(1, _CHUNK_PAIRS // length**2 if by_content else _CHUNK_TOKENS // length)
    parts = []
    for start in range(0, rows.tokens.shape[0], chunk):
        here = slice(start, start + chunk)
        logits, targets = model(rows.tokens[here], positions), rows.targets[here]
        if task.unit == "accuracy":
            right = (logits.argmax(-1) == targets).double()
        else:
            right = cross_entropy(logits.transpose(1, 2), targets, reduction="none").double() / math.log(2)
        parts.append(right.masked_fill(targets == NOT_SCORED, math.nan))
    each = torch.cat(parts)
    return Scored(float(each[:, -task.last :].nanmean()), float(each.nanmean()), each[:, -task.last :])


def evaluate(
    model: SweepDecoder, row: Entry, task: Task, lengths: Sequence[int], *, count: int, seed: int, longest: int
) -> dict[str, dict[str, Any]]:
    """Every score of a model by length, as plain JSON types.

    Returns:
        For each length: `last`, `whole`, `cut` (the last targets when the context is cut to the shortest length), `beyond`
        (true where a learned table does not reach: then `last` and `whole` are None and `clamped` is the score with the
        nearest learned vector in the place of the missing one), `temperature` where it is tuned, and `depth`, the accuracy by
        parts of the context from its beginning, where the task asks for one place.
    """
    scores: dict[str, dict[str, Any]] = {}
    generator = torch.Generator().manual_seed(seed + 5)
    shortest = lengths[0]
    for length in lengths:
        rows = task.rows(count, length, seed, "test")
        result: dict[str, Any] = {"last": None, "whole": None, "cut": None, "beyond": False}
        positions = draw_positions(row, length, longest, generator)
        if row.tuned_temperature:
            result["temperature"] = _tuned(model, task, length, seed, count=max(4, count // 8))
        with _at_temperature(model, result.get("temperature", 1.0)):
            if row.table is not None and length > shortest:
                result["beyond"] = True
                with table_as_if(model, row, length):
                    clamped = positions.clamp_max(shortest - 1) if row.table == "positions" else positions
                    scored = score(model, task, rows, clamped)
                result["clamped"] = scored.last
            else:
                scored = score(model, task, rows, positions)
                result["last"], result["whole"] = scored.last, scored.whole
        if length == shortest:
            result["cut"] = result["last"]
        else:
            at = draw_positions(row, shortest, longest, generator)
            result["cut"] = score(model, task, rows.cut(shortest), at).last
        if rows.depths is not None and not result["beyond"]:
            result["depth"] = depth_scores(scored, rows, task)
        scores[str(length)] = result
    return scores


def depth_scores(scored: Scored, rows: Rows, task: Task) -> list[float | None]:
    """Accuracy by parts of the context, from its beginning to its end; None for a part that nothing was asked about."""
    assert rows.depths is not None
    part = (rows.depths[:, -task.last :] * DEPTHS).long().clamp_max(DEPTHS - 1)
    means = []
    for number in range(DEPTHS):
        here = scored.right[part == number]
        means.append(float(here.nanmean()) if len(here) else None)
    return means


@contextmanager
def table_as_if(model: SweepDecoder, row: Entry, length: int) -> Iterator[None]:
    """The model with a table of distances that goes on with its last vector; a table of positions is clamped by positions."""
    before = model.encodings
    if row.table == "distances":
        model.replace_encodings([_longer(one, length) for one in before])
    try:
        yield
    finally:
        if row.table == "distances":
            model.replace_encodings(before)


def _longer(music: Any, length: int) -> nn.Module:
    """A Music Transformer's encoding for rows of `length`, farther distances all with the farthest learned vector."""
    longer: nn.Module = type(music)(music.num_heads, music.head_dim, length - 1, shared_heads=music.shared_heads)
    table = music.table.detach()  # from the farthest past to here
    with torch.no_grad():
        longer.table.copy_(torch.cat((table[:, :1].expand(-1, length - table.shape[1], -1), table), 1))  # type: ignore[operator]
    return longer


def _tuned(model: SweepDecoder, task: Task, length: int, seed: int, *, count: int) -> float:
    """The factor on the scores with the best last targets on validation rows of this length.

    Source: Wang et al. 2024, arXiv 2404.12224, section 3, one factor for all heads.
    """
    rows, positions = task.rows(count, length, seed, "validation"), torch.arange(length)
    scores = {}
    for temperature in TEMPERATURES:
        with _at_temperature(model, temperature):
            scores[temperature] = score(model, task, rows, positions).last
    return max(scores, key=lambda one: scores[one] if task.higher_is_better else -scores[one])


@contextmanager
def _at_temperature(model: SweepDecoder, temperature: float) -> Iterator[None]:
    model.temperature = temperature
    try:
        yield
    finally:
        model.temperature = 1.0
