"""Pictures of left and right show the numbers they are given."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.laterality.experiment import laterality, sweep
from ordinate.reservoir.laterality.figures import laterality_figure, sweep_figure


def test_bars_are_the_table_and_points_the_draws() -> None:
    result = laterality(Connectome.synthetic(), nulls={"rewired": 5, "mirrored": 1})
    left, right = laterality_figure(result).axes
    heights = np.array([[bar.get_height() for bar in bars] for bars in left.containers if hasattr(bars, "patches")])
    assert pytest.approx(result.table) == heights.T
    drawn = [line.get_xdata() for line in right.lines]
    assert list(drawn[1]) == [result.index] * 2
    assert list(drawn[2]) == list(result.nulls[0].values)
    assert [tick.get_text() for tick in right.get_yticklabels()] == [f"rewired\nz = {result.nulls[0].z:+.1f}", "mirrored"]


def test_without_null_models_only_the_table_is_drawn() -> None:
    assert len(laterality_figure(laterality(Connectome.synthetic())).axes) == 1


def test_a_sweep_has_a_panel_for_each_normalisation_and_threshold_and_a_line_for_each_gain() -> None:
    result = sweep(
        Connectome.synthetic(), "sensory", "descending", normalisations=("output", "input"), thresholds=(1, 2, 3),
        gains=(0.5, 1.0), steps=(3, 6), nulls={"rewired": 3},
    )  # fmt: skip
    panels = sweep_figure(result).axes
    assert len(panels) == 6
    for place, axes in enumerate(panels):
        threshold, normalisation = divmod(place, 2)
        lines = [line.get_ydata() for line in axes.lines[1:]]
        assert np.array(lines) == pytest.approx(result.index[0, normalisation, threshold])
