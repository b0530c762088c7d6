"""What the tests of claims share."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave charts undrawn: doctored inputs are about numbers, and most of a small claim's time is the layout of its chart."""
    monkeypatch.setattr(Figure, "savefig", lambda *arguments, **options: None)
