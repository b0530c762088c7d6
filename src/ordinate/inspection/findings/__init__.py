"""What deserves a look in a file as a whole, beyond what its readers note on the way."""

from __future__ import annotations


def judge(raw, name, found, parts, log):  # type: ignore[no-untyped-def]
    """Placeholder until the checks move in."""
