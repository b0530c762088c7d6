"""Records of cells that nobody ran: what tables and charts are made from, with numbers that a test can check by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ordinate.sweep.cell import FORMAT, Cell

Record = dict[str, Any]


@pytest.fixture
def record() -> Callable[..., Record]:
    """encoding, seed and scores by length ({length: last} or {length: {...}}) to a record; other settings by name."""

    def make(
        encoding: str,
        seed: int,
        scores: Mapping[int, Any] | None = None,
        *,
        status: str = "scored",
        reason: str = "",
        task: str = "k-back",
        **result: Any,
    ) -> Record:
        cell = Cell(task, encoding, seed, train_length=64, test_lengths=(64, 128), corpus="0" if task == "text" else "")
        told: Record = {"status": status, "reason": reason, **result}
        if scores is not None:
            full = {
                str(n): {"last": one, "whole": one, "cut": 0.5, "beyond": False} if not isinstance(one, Mapping) else dict(one)
                for n, one in scores.items()
            }
            told |= {"scores": full, "chance": {str(n): 0.0625 for n in scores}, "learned_at": 0.53}
        return {"format": FORMAT, "key": cell.key, "settings": cell.to_dict(), "result": told}

    return make
