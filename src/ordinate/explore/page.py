"""Puts the page together: text, style, script and data in one file, without anything to fetch."""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any

from ordinate.explore.presets import PRESETS, facts
from ordinate.inspection import inspect_config
from ordinate.inspection.records import Inspection

__all__ = ["page_html"]


def page_html(inspection: Inspection | None = None) -> str:
    """The page as text.

    Args:
        inspection: of a file to begin with; by default the first preset.

    >>> page_html().startswith("<!doctype html>")
    True
    """
    models = [facts(inspect_config(config), name) for name, config in PRESETS.items()]
    if inspection is not None:
        models.insert(0, facts(inspection))
    data = {"models": models, "circuit": _circuit(), "reservoir": _reservoir()}
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    page = _asset("explore.html")
    for name, content in (
        ("/* style */", _asset("explore.css")),
        ("/* script */", _asset("explore.js")),
        ("/* data */", text.replace("<", "\\u003c")),  # no text of a file can end the element that holds it
    ):
        before, after = page.split(name)
        page = before + content + after
    return page


def _asset(name: str) -> str:
    return resources.files("ordinate.explore").joinpath("page", name).read_text(encoding="utf-8")


def _circuit() -> dict[str, Any]:
    """A circuit grown on scikit-learn's digits, and one test image of each, as bits."""
    circuit: dict[str, Any] = json.loads(_asset("digits.json"))
    return circuit


@functools.cache
def _reservoir() -> dict[str, Any]:
    """The synthetic connectome: who sends how many synapses to whom, on which side and of which kind."""
    from ordinate.reservoir import Connectome

    brain = Connectome.synthetic()
    entries = brain.weights.tocoo()
    return {
        "name": brain.name,
        "side": [str(side) for side in brain.side],
        "kind": [str(kind) for kind in brain.kind],
        "labels": [sorted(labels) for labels in brain.labels],
        "pre": entries.coords[0].tolist(),
        "post": entries.coords[1].tolist(),
        "count": entries.data.tolist(),
    }
