"""From records to what a table shows: mean and spread over seeds, what ties, and nothing that ranks encodings over all.

A difference within two spreads is a tie. The spread of a difference is taken within seeds where both encodings have the same
ones (they share batches and tested rows), so what all seeds agree on counts. Scores of runs that did not learn the task, or
diverged, are kept apart and never averaged in.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Line", "Spread", "Table", "summarise", "ties"]


@dataclass(frozen=True)
class Spread:
    """Numbers of several seeds.

    Args:
        values: by seed.

    >>> Spread({0: 1.0, 1: 3.0}).mean
    2.0
    """

    values: dict[int, float]

    @property
    def mean(self) -> float:
        """Their mean; NaN for none."""
        return statistics.fmean(self.values.values()) if self.values else math.nan

    @property
    def spread(self) -> float:
        """Their sample standard deviation; NaN for fewer than two."""
        return statistics.stdev(self.values.values()) if len(self.values) > 1 else math.nan

    def __bool__(self) -> bool:
        return bool(self.values)


def ties(one: Spread, other: Spread) -> bool:
    """Whether two means lie within two spreads: of the differences by seed where the seeds are the same, else of both together.

    With a single seed there is no spread, and everything ties.

    >>> ties(Spread({0: 0.5, 1: 0.9}), Spread({0: 0.6, 1: 1.0}))  # 0.1 apart with every seed
    False
    >>> ties(Spread({0: 0.5, 1: 0.9}), Spread({2: 0.6, 3: 1.0}))
    True
    """
    shared = set(one.values) & set(other.values)
    if len(shared) > 1 and shared == set(one.values) == set(other.values):
        differences = Spread({seed: one.values[seed] - other.values[seed] for seed in shared})
        return abs(differences.mean) <= 2 * differences.spread + 1e-9
    if math.isnan(one.spread) or math.isnan(other.spread):
        return True
    return abs(one.mean - other.mean) <= 2 * math.hypot(one.spread, other.spread) / math.sqrt(2)


@dataclass(frozen=True)
class Line:
    """One encoding in a table.

    Args:
        encoding: its name.
        outcomes: how many seeds ended how: "scored", "not learned", "diverged", "cannot".
        reason: of the first that was not scored.
        last, whole, cut, clamped: by length, over the seeds that were scored.
        beyond: lengths that a learned table does not reach.
        tied_with_best: lengths past the first at which no encoding is better by more than two spreads.
        gains: by length past the first: "better", "worse" or "tie", the whole context against the cut one.
        temperature: by length, the mean of the tuned factors.
    """

    encoding: str
    outcomes: dict[str, int]
    reason: str
    last: dict[int, Spread]
    whole: dict[int, Spread]
    cut: dict[int, Spread]
    clamped: dict[int, Spread]
    beyond: tuple[int, ...]
    tied_with_best: tuple[int, ...]
    gains: dict[int, str]
    temperature: dict[int, float]


@dataclass(frozen=True)
class Table:
    """One task at one training length and one size of the model.

    Args:
        task, unit, train_length, lengths: what was measured.
        model: the sizes and the training, in words.
        chance: by length.
        learned_at: what counts as learned at the training length.
        lines: in the order of the encodings.
        depth: by encoding and length, the mean recall by parts of the context, where the task has it.
    """

    task: str
    unit: str
    train_length: int
    lengths: tuple[int, ...]
    model: str
    chance: dict[int, float]
    learned_at: float
    lines: tuple[Line, ...]
    depth: dict[str, dict[int, list[float]]]

    @property
    def higher_is_better(self) -> bool:
        """Whether a larger score is the better one."""
        return self.unit == "accuracy"


def summarise(records: Sequence[dict[str, Any]]) -> list[Table]:
    """One table for each task, training length and model among the records of the study "lengths", in their order."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in records:
        settings = record["settings"]
        if settings["study"] == "lengths":
            apart = {name: value for name, value in settings.items() if name not in ("encoding", "seed")}
            groups.setdefault(tuple(sorted((name, str(value)) for name, value in apart.items())), []).append(record)
    return [_table(group) for group in groups.values()]


def _table(records: Sequence[dict[str, Any]]) -> Table:
    settings = records[0]["settings"]
    lengths = tuple(settings["test_lengths"])
    names = list(dict.fromkeys(record["settings"]["encoding"] for record in records))
    of = {name: [record for record in records if record["settings"]["encoding"] == name] for name in names}
    scored = {name: [r for r in of[name] if r["result"]["status"] == "scored"] for name in names}
    measured = next((r["result"] for r in records if "chance" in r["result"]), None)
    unit = "bits per byte" if settings["task"] == "text" else "accuracy"
    higher = unit == "accuracy"
    last = {name: {n: _spread(scored[name], n, "last") for n in lengths} for name in names}
    lines = []
    for name in names:
        cut = {n: _spread(scored[name], n, "cut") for n in lengths}
        failed = [r["result"] for r in of[name] if r["result"]["status"] != "scored"]
        heats = [r["result"]["scores"][str(n)].get("temperature") for r in scored[name] for n in lengths]
        lines.append(
            Line(
                name,
                _count([r["result"]["status"] for r in of[name]]),
                failed[0]["reason"] if failed else "",
                last[name],
                {n: _spread(scored[name], n, "whole") for n in lengths},
                cut,
                {n: _spread(scored[name], n, "clamped") for n in lengths},
                tuple(n for n in lengths if any(r["result"]["scores"][str(n)]["beyond"] for r in scored[name])),
                tuple(n for n in lengths[1:] if _is_best(name, n, last, higher)),
                {n: _gain(last[name][n], cut[n], higher) for n in lengths[1:] if last[name][n]},
                {n: _spread(scored[name], n, "temperature").mean for n in lengths} if any(heats) else {},
            )
        )
    return Table(
        settings["task"],
        unit,
        settings["train_length"],
        lengths,
        f"{settings['layers']} layers of {settings['dim']} channels and {settings['heads']} heads, "
        f"{settings['steps']} steps of {settings['batch_rows']} rows",
        {n: measured["chance"][str(n)] if measured else math.nan for n in lengths},
        measured["learned_at"] if measured else math.nan,
        tuple(lines),
        {name: depth for name in names if (depth := _depth(scored[name], lengths))},
    )


def _spread(records: Sequence[dict[str, Any]], length: int, kind: str) -> Spread:
    values = {r["settings"]["seed"]: r["result"]["scores"][str(length)].get(kind) for r in records}
    return Spread({seed: value for seed, value in values.items() if value is not None})


def _count(statuses: Sequence[str]) -> dict[str, int]:
    return {status: statuses.count(status) for status in dict.fromkeys(statuses)}


def _is_best(name: str, length: int, last: dict[str, dict[int, Spread]], higher: bool) -> bool:
    """Whether no encoding is better by more than two spreads."""
    own = last[name][length]
    if not own:
        return False
    others = [spreads[length] for other, spreads in last.items() if other != name and spreads[length]]
    return not any((o.mean > own.mean) == higher and o.mean != own.mean and not ties(own, o) for o in others)


def _gain(last: Spread, cut: Spread, higher: bool) -> str:
    if ties(last, cut):
        return "tie"
    return "better" if (last.mean > cut.mean) == higher else "worse"


def _depth(records: Sequence[dict[str, Any]], lengths: Sequence[int]) -> dict[int, list[float]]:
    depth: dict[int, list[float]] = {}
    for n in lengths:
        rows = [r["result"]["scores"][str(n)].get("depth") for r in records]
        kept = [row for row in rows if row is not None]
        if kept:
            parts = [[value for value in column if value is not None] for column in zip(*kept, strict=True)]
            depth[n] = [statistics.fmean(part) if part else math.nan for part in parts]
    return depth
