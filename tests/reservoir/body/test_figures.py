"""Pictures of a drive show what happened, and land whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import ArgumentError, OutputError
from ordinate.reservoir.body.drive import Brain, Drive, Target, drive
from ordinate.reservoir.body.figures import path_figure, save_figures, traces_figure
from ordinate.reservoir.body.kinematic import KinematicFly
from ordinate.reservoir.connectome.connectome import Connectome


@pytest.fixture(scope="module")
def driven() -> Drive:
    brain = Brain(Connectome.synthetic(), "sensory", "descending")
    return drive(brain, KinematicFly(0.05), Target(10.0, 10.0), seconds=1.0)


def test_the_path_is_drawn_where_the_fly_went_and_the_target_where_it_is(driven: Drive) -> None:
    (axes,) = path_figure(driven).axes
    lines = [np.column_stack(line.get_data()) for line in axes.lines]
    assert np.allclose(lines[0], driven.path)
    assert lines[2].tolist() == [[10.0, 10.0]]
    assert axes.get_aspect() == 1.0


def test_traces_are_those_of_the_record(driven: Drive) -> None:
    axes = traces_figure(driven).axes
    for row, values in zip(axes, (driven.senses, driven.activity, driven.commands), strict=False):
        assert np.allclose([line.get_ydata() for line in row.lines[:2]], values.T)
    assert np.allclose(axes[3].images[0].get_array(), driven.cells.T)


def test_files_are_written_in_both_formats_and_nothing_else_is_left(driven: Drive, tmp_path: Path) -> None:
    written = save_figures(driven, tmp_path / "new")
    assert sorted(path.name for path in written) == ["path.png", "path.svg", "traces.png", "traces.svg"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(path.name for path in written)
    assert all(path.stat().st_size > 5000 for path in written)


def test_another_format_or_a_place_that_cannot_be_written_is_refused(driven: Drive, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"path: expected a name that ends in .png, .svg or .pdf, got .*gif"):
        save_figures(driven, tmp_path, ("gif",))
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="path: expected a file that can be written"):
        save_figures(driven, tmp_path / "file")
