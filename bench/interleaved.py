"""Timing that holds on a machine with neighbours: everything in one process, in turns, and only medians and ratios are told."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping

__all__ = ["median_seconds"]


def median_seconds(
    ways: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    before: Callable[[], object] = lambda: None,
    repeat: int = 1,
    clock: str = "wall",
) -> dict[str, float]:
    """Median time of one call of each way, the ways taking turns.

    Args:
        ways: what to time, by name. What a call returns is freed after its clock has stopped.
        rounds: how many turns; one more comes first and is not counted.
        before: runs before every turn, untimed.
        repeat: calls under one reading of the clock, for calls of microseconds.
        clock: "wall", or "cpu" for the time that this thread was given, where others use the machine too.
    """
    now = {"wall": time.perf_counter, "cpu": time.thread_time}[clock]
    taken: dict[str, list[float]] = {name: [] for name in ways}
    gc.disable()
    try:
        for turn in range(rounds + 1):
            before()
            names = list(ways)
            shift = turn % len(names)  # whoever comes first finds cold caches: each does in its turn
            for name in names[shift:] + names[:shift]:
                way = ways[name]
                start = now()
                for _ in range(repeat):
                    result = way()
                seconds = (now() - start) / repeat
                del result
                if turn:
                    taken[name].append(seconds)
            gc.collect()
    finally:
        gc.enable()
    return {name: statistics.median(times) for name, times in taken.items()}
