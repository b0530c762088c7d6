"""What the numbers were measured on: versions, processor, cores, system. A figure without these cannot be repeated."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

from ordinate import __version__

__all__ = ["machine", "versions"]


def versions() -> dict[str, str]:
    """Versions of Python, of this package, and of what the numbers depend on."""
    result = {"python": platform.python_version(), "ordinate": __version__}
    for package in ("torch", "numpy", "matplotlib"):
        try:
            result[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            result[package] = "not installed"
    return result


def machine() -> dict[str, str | int]:
    """Processor, usable cores and operating system."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {"processor": _processor(), "cores": cores, "system": f"{platform.system()} {platform.release()}"}


def _processor() -> str:
    """The processor's name; Linux keeps it where `platform` does not look."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown"
