"""What `ordinate --version` prints: the versions of the package and of torch, and the extras that are installed.

Versions are read from the metadata of the installed distributions, without importing any of them.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from ordinate import __version__
from ordinate.extras import EXTRAS

__all__ = ["version_text"]


def version_text() -> str:
    """A line for the package, one for what it runs on, one for the extras.

    >>> version_text().splitlines()[0].split()[0]
    'ordinate'
    """
    installed = [name for name, parts in EXTRAS.items() if all(_version(part) for part in parts)]
    missing = [name for name in EXTRAS if name not in installed]
    lines = [
        f"ordinate {__version__}",
        f"Python {platform.python_version()}, torch {_version('torch') or 'not installed'}, numpy {_version('numpy')}",
        f"extras: {', '.join(installed) or 'none'}",
    ]
    if missing:
        lines[-1] += f"; not installed: {', '.join(missing)}"
    return "\n".join(lines)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
