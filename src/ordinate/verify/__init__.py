"""Find the bug in anyone's position code: pass, or the smallest counterexample and the known fault that gives the same numbers.

Nothing heavy is imported before a check is asked for: pytest loads this package at its start, for the plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate.verify.checks import (
        check_attention,
        check_axial,
        check_bias,
        check_decoder,
        check_embedding,
        check_positions,
        check_rotary,
    )
    from ordinate.verify.model import check_model
    from ordinate.verify.verdict import Cause, Outcome, Verdict

__all__ = [
    "Cause",
    "Outcome",
    "Verdict",
    "check_attention",
    "check_axial",
    "check_bias",
    "check_decoder",
    "check_embedding",
    "check_model",
    "check_positions",
    "check_rotary",
]


def __getattr__(name: str) -> Any:
    """Checks and verdicts, imported when first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module = "checks" if name.startswith("check_") else "verdict"
    return getattr(importlib.import_module(f"ordinate.verify.{'model' if name == 'check_model' else module}"), name)
