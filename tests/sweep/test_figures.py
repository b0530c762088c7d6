"""Every chart is drawn from records alone and says in words what it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ordinate.sweep.encodings import ENCODINGS
from ordinate.sweep.figures import sweep_figures
from ordinate.sweep.summary import summarise

Make = Callable[..., dict[str, Any]]


@pytest.fixture
def rows(record: Make) -> list[dict[str, Any]]:
    def at(last: float) -> dict[str, Any]:
        return {"last": last, "whole": last, "cut": 0.5, "beyond": False, "depth": [last, 0.5, last]}

    found = [record(name, seed, {64: at(1.0), 128: at(0.3)}) for name in list(ENCODINGS)[:7] for seed in (0, 1)]
    found.append(record("sandwich", 0, status="cannot", reason="no"))
    extension = record(
        "rope", 0, task="text", truncated={"128": 2.5}, extended={"128": {"YaRN": {"zero_shot": 3.0, "fine_tuned": 2.0}}}
    )
    extension["settings"]["study"] = "extension"
    probe = record("none", 0, task="text", r2={"mask, trained": [0.0, 0.3]})
    probe["settings"]["study"] = "probe"
    return [*found, extension, probe]


def test_there_is_a_chart_for_lengths_depth_scalings_and_the_probe(rows: list[dict[str, Any]]) -> None:
    figures = {figure.name: figure for figure in sweep_figures(summarise(rows), rows)}
    assert list(figures) == ["k-back-64", "depth-64", "extension", "probe"]
    for figure in figures.values():
        assert figure.svg.count("<svg") == 1
        assert figure.caption
        assert figure.alt
    assert all(f">{name}<" in figures["k-back-64"].svg for name in list(ENCODINGS)[:7])
    assert "sinusoidal from 1.00 to 0.30" in figures["k-back-64"].alt
    assert "YaRN 3.00" in figures["extension"].alt
    assert "mask, trained 0.30" in figures["probe"].alt


def test_without_scores_there_is_no_chart(record: Make) -> None:
    rows = [record("rope", 0, {64: 0.1, 128: 0.1}, status="not learned", reason="no")]
    assert sweep_figures(summarise(rows), rows) == []
