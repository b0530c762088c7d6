"""A summary counts what is there, as an independent count does, and can be drawn."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ordinate.atomic_io import save_figure
from ordinate.reservoir import Connectome
from ordinate.reservoir.connectome.summary import summarise, summary_figure


def test_it_counts_what_is_there():
    brain = Connectome(
        [[1, 2, 3, 0], [0, 0, 4, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
        side=["left", "left", "right", "unknown"],
        mate=[2, -1, 0, -1],
        kind=["a", "b", "a", ""],
    )
    result = summarise(brain)
    assert (result.neurons, result.edges, result.synapses, result.self_loops) == (4, 4, 10, 1)
    assert (result.no_outputs, result.no_inputs, result.pairs) == (2, 1, 1)
    assert result.sides == {"left": 2, "right": 1, "unknown": 1}
    assert result.kinds["a"] == {"left": 1, "right": 1, "unknown": 0}
    assert result.synapses_crossing == pytest.approx(7 / 10)
    assert result.spectral_radius == 1


def test_it_is_json_even_without_sides_or_cycles():
    result = summarise(Connectome([[0, 1], [0, 0]])).to_dict()
    assert json.loads(json.dumps(result, allow_nan=False))["synapses_crossing"] is None
    assert result["leading_mode"] is None
    assert json.loads(json.dumps(summarise(Connectome.synthetic()).to_dict()))["leading_mode"]["num_carriers"] > 1


def test_the_picture_shows_rows_as_presynaptic(tmp_path):
    brain = Connectome([[0, 8], [0, 0]], kind=["from", "to"])
    figure = summary_figure(brain, summarise(brain))
    visible = figure.axes[0].images[0].get_array()
    kinds = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert visible[kinds.index("from"), kinds.index("to")] == 8
    assert np.ma.count(np.ma.masked_invalid(visible)) == 1
    assert save_figure(figure, tmp_path / "a.png").stat().st_size > 5000
