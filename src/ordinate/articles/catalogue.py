"""Every claim there is, found by id. One table an article; this file only joins them, so it stays short.

Imports nothing heavy: listing claims or naming one that does not exist must not wait for torch.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ordinate.articles.a import claims as article_a
from ordinate.articles.b import claims as article_b
from ordinate.articles.c import claims as article_c
from ordinate.articles.d import claims as article_d
from ordinate.articles.d import claims_logic as article_d_logic
from ordinate.articles.d import claims_reservoir as article_d_reservoir
from ordinate.errors import UnknownNameError
from ordinate.lab.claim import Claim

__all__ = ["CLAIMS", "choose"]

_TABLES = (article_a, article_b, article_c, article_d, article_d_reservoir, article_d_logic)

CLAIMS: dict[str, Claim] = {
    claim.id: claim
    for claim in sorted(
        (claim for table in _TABLES for claim in table.CLAIMS), key=lambda claim: (claim.id[0], int(claim.id[1:]))
    )
}


def choose(ids: Sequence[str] = (), *, full: bool = False) -> tuple[Claim, ...]:
    """The claims of the given ids in that order, or all quick ones (with `full`: all).

    Args:
        ids: such as "A3", in any case; a letter alone means the whole article. A claim named twice is run once.
        full: without ids, take the long ones as well.

    Raises:
        UnknownNameError: an id that no claim has.

    >>> [claim.id for claim in choose(["a5", "A1"])]
    ['A5', 'A1']
    """
    if not ids:
        return tuple(claim for claim in CLAIMS.values() if full or not claim.full_only)
    chosen: dict[str, Claim] = {}
    for given in ids:
        wanted = given.strip().upper()
        found = [claim for claim in CLAIMS.values() if wanted in (claim.id, claim.id[0])]
        if not found:
            near = difflib.get_close_matches(wanted, CLAIMS, n=1)
            raise UnknownNameError(
                "CLAIM",
                expected=f"one of {', '.join(CLAIMS)}",
                got=repr(given),
                hint=(f"did you mean {near[0]}? " if near else "") + "`ordinate lab --list` shows them all",
            )
        chosen.update((claim.id, claim) for claim in found)
    return tuple(chosen.values())
