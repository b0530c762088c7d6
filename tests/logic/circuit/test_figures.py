"""Pictures of circuits show every gate, class and pixel that is read."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from ordinate.errors import ArgumentError, OutputError
from ordinate.logic import InputThresholds
from ordinate.logic.circuit.figures import draw_accuracy, draw_circuit, draw_pixels, pixel_uses, save_circuit_picture
from tests.logic.circuits import random_circuit


def test_uses_count_every_read_by_a_gate_or_a_vote() -> None:
    circuit = random_circuit(1, 6, 30)
    reads = [*circuit.inputs_a, *circuit.inputs_b, *(one for vote in circuit.votes for one in vote.signals)]
    assert pixel_uses(circuit).tolist() == [sum(int(one) == place for one in reads) for place in range(6)]
    twice = random_circuit(1, 6, 30, thresholds=InputThresholds(3, [0, 0, 1, 1, 2, 2], range(6)))
    assert pixel_uses(twice).tolist() == pixel_uses(circuit).reshape(3, 2).sum(1).tolist()


def test_every_gate_and_class_is_drawn() -> None:
    circuit = random_circuit(2, 6, 30).simplify()
    axes = Figure().subplots()
    draw_circuit(axes, circuit)
    points = {part.get_label().split(",")[0]: len(part.get_offsets()) for part in axes.collections}
    inputs = points.pop("input")
    assert sum(points.values()) == circuit.num_gates
    assert inputs == int((pixel_uses(circuit) > 0).sum())
    assert [text.get_text() for text in axes.texts] == ["0", "1", "2", "3"]
    assert len(axes.lines) == 2 * circuit.num_gates + circuit.num_votes


def test_pixels_lie_as_in_the_image() -> None:
    circuit = random_circuit(3, 6, 30)
    axes = Figure().subplots()
    draw_pixels(axes, circuit, (2, 3))
    assert np.array_equal(axes.images[0].get_array(), pixel_uses(circuit).reshape(2, 3))
    with pytest.raises(ArgumentError, match="size: expected 6 pixels"):
        draw_pixels(axes, circuit, (3, 3))


def test_pixels_are_square_whatever_the_settings_of_matplotlib(tmp_path: Path) -> None:
    with matplotlib.rc_context({"image.aspect": "auto"}):
        figure = Figure(figsize=(9, 3))
        axes = figure.subplots()
        draw_pixels(axes, random_circuit(3, 6, 30), (2, 3))
        figure.savefig(tmp_path / "pixels.png")
        drawn = axes.get_window_extent()
    assert drawn.width / 3 == pytest.approx(drawn.height / 2)


def test_accuracy_is_drawn_against_gates() -> None:
    axes = Figure().subplots()
    draw_accuracy(axes, {"grown": [(10, 0.9), (100, 0.95)], "trained": [(100, 0.9)]})
    assert axes.get_xscale() == "log"
    assert axes.lines[0].get_xydata().tolist() == [[10, 0.9], [100, 0.95]]
    assert [line.get_label() for line in axes.lines] == ["grown", "trained"]


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_picture_is_written_whole(tmp_path: Path, ending: str) -> None:
    save_circuit_picture(random_circuit(4, 6, 20), tmp_path / f"circuit.{ending}", size=(2, 3))
    assert [path.name for path in tmp_path.iterdir()] == [f"circuit.{ending}"]
    start = (tmp_path / f"circuit.{ending}").read_bytes()[:60]
    assert start.startswith(b"<?xml" if ending == "svg" else b"\x89PNG")


def test_a_picture_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match=r"ends in .png, .svg or .pdf"):
        save_circuit_picture(random_circuit(4), tmp_path / "circuit.txt")
    with pytest.raises(OutputError, match="expected a file that can be written"):
        save_circuit_picture(random_circuit(4), tmp_path / "file" / "circuit.svg")
