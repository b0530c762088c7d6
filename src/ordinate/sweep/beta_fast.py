"""YaRN's beta_fast beside the context that a model was trained on: which value fits, and what to say of another.

Source: Peng et al. 2023, arXiv 2309.00071, section 3.2.
"""

from __future__ import annotations

import math

from ordinate.frequencies import YaRN

__all__ = ["beta_fast_warning", "fitting_beta_fast"]


def fitting_beta_fast(train_length: int) -> float:
    """A beta_fast that leaves some pairs untouched: 0.4 of the turns of the fastest pair, between 1 and the paper's 32.

    The fastest pair turns train_length / (2 pi) times in the trained context; where that is under beta_fast, even it is
    interpolated.

    >>> fitting_beta_fast(64), fitting_beta_fast(2048)
    (4.0, 32.0)
    """
    return float(min(32, max(1, math.floor(0.4 * train_length / (2 * math.pi)))))


def beta_fast_warning(scaling: YaRN) -> str | None:
    """A warning about a YaRN whose beta_fast assumes more context than there was, or None.

    >>> beta_fast_warning(YaRN(4.0, 64))
    'beta_fast 32 assumes pairs that turn 32 times in the trained context, but in 64 tokens the fastest turns 10 times: every pair is interpolated; 4 fits'
    >>> beta_fast_warning(YaRN(4.0, 4096)) is None
    True
    """  # noqa: E501
    turns = scaling.original_context / (2 * math.pi)
    if scaling.beta_fast <= turns:
        return None
    return (
        f"beta_fast {scaling.beta_fast:g} assumes pairs that turn {scaling.beta_fast:g} times in the trained context, but in "
        f"{scaling.original_context} tokens the fastest turns {turns:.0f} times: every pair is interpolated; "
        f"{fitting_beta_fast(scaling.original_context):g} fits"
    )
