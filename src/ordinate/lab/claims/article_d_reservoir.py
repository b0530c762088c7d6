"""The claims of article D's posts on connectome reservoirs: what they say, condensed. Imports nothing heavy."""

from __future__ import annotations

from ordinate.lab.claim import Claim

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = ()
