"""Find the bug in anyone's position code: pass, or the smallest counterexample and the known fault that gives the same numbers.

Nothing heavy is imported before a check is asked for: pytest loads this package at its start, for the plugin.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ordinate.verify.verdict import Cause, Outcome, Verdict

if TYPE_CHECKING:
    from ordinate.verify.attention import check_attention
    from ordinate.verify.axial import check_axial
    from ordinate.verify.bias import check_bias
    from ordinate.verify.decoder import check_decoder
    from ordinate.verify.embedding import check_embedding
    from ordinate.verify.model import check_model
    from ordinate.verify.rotary import check_rotary

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
    "check_rotary",
]


def __getattr__(name: str) -> Any:
    """The checks, imported when first asked for."""
    if not name.startswith("check_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"ordinate.verify.{name.removeprefix('check_')}")
    return getattr(module, name)
