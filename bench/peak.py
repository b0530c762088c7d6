"""Peak memory of one call, by the kernel's own count, and how a measured amount grows with the size."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["exponent", "in_fresh_process", "peak_bytes"]

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_bytes(call: Callable[[], object]) -> int:
    """Bytes that this process holds at most during `call`, beyond what it held before. Linux only."""
    _CLEAR.write_text("5")  # the high-water mark starts from here
    before = _resident("VmRSS")
    call()
    return _resident("VmHWM") - before


def in_fresh_process(script: str, *arguments: str, runs: int = 1) -> list[int]:
    """The numbers that `script`, run with these arguments in a process of its own, prints last: each the median of `runs`."""
    # glibc otherwise keeps freed blocks of up to 32 MiB, more or fewer of them from run to run
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    command = [sys.executable, script, *arguments]
    # and the kernel may drop pages of libraries while it runs, so small amounts want the middle of several
    told = [subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout for _ in range(runs)]
    return [int(statistics.median(each)) for each in zip(*(json.loads(lines.splitlines()[-1]) for lines in told), strict=True)]


def exponent(sizes: Sequence[int], amounts: Sequence[float]) -> float:
    """Slope of log amount over log size by least squares."""
    x, y = [math.log(size) for size in sizes], [math.log(max(amount, 1)) for amount in amounts]
    mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)


def _resident(name: str) -> int:
    """Bytes that the kernel counts under VmRSS or VmHWM."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024
