"""The picture shows every score of every wiring, and is there whole or not at all."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from ordinate.errors import ArgumentError, OutputError
from ordinate.reservoir import Connectome
from ordinate.reservoir.tasks.base import Size
from ordinate.reservoir.tasks.card import WIRING_MARKS, WIRINGS, Plan, draw_card, draw_task, save_chart


@pytest.fixture(scope="module")
def card():
    plan = Plan(
        tasks=("memory",), normalisations=("input",), seeds=(0, 1, 2), gains=(0.9,), input_scalings=(0.5,),
        size=Size(washout=20, train=150, validation=60, test=80),
    )  # fmt: skip
    cut = {name: (lambda connectome, seed: connectome.with_weights(np.zeros((100, 100)), name="cut")) for name in WIRINGS}
    return draw_card(Connectome.synthetic(), plan, wirings={**cut, "connectome": WIRINGS["connectome"]})


def test_every_score_and_mean_is_drawn_and_a_star_stands_where_wirings_differ(card):
    axes = Figure().subplots()
    draw_task(axes, card, "memory")
    drawn = sorted(x for line in axes.lines if line.get_marker() in ("o", "s", "^") for x in line.get_xdata())
    np.testing.assert_allclose(drawn, sorted(score for scores in card.scores.values() for score in scores))
    stars = [text for text in axes.texts if text.get_text() == "*"]
    assert len(stars) == card.num_different > 0
    assert "better to the right" in axes.get_xlabel()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["positive,\ninput", "half inhibitory,\ninput"]


def test_every_wiring_has_its_own_colour_and_marker():
    assert set(WIRING_MARKS) == set(WIRINGS)
    for part in (0, 1):
        assert len({mark[part] for mark in WIRING_MARKS.values()}) == len(WIRING_MARKS)


@pytest.mark.parametrize(("suffix", "begins"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_a_picture_is_written_in_the_format_of_its_suffix(card, tmp_path, suffix, begins):
    save_chart(card, tmp_path / f"card{suffix}")
    assert (tmp_path / f"card{suffix}").read_bytes().startswith(begins)
    assert [path.name for path in tmp_path.iterdir()] == [f"card{suffix}"]


def test_other_suffixes_and_places_that_cannot_be_written_are_refused(card, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match=r"path: expected a name that ends in .png, .svg or .pdf"):
        save_chart(card, tmp_path / "card.gif")
    with pytest.raises(OutputError, match="path: expected a file that can be written"):
        save_chart(card, tmp_path / "file" / "card.png")
