"""The unscaled story: what reaches the legs is the activity itself, forwards and backwards."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.reservoir import Connectome, KinematicFly, Reservoir, normalise
from ordinate.reservoir.body.drive import Brain, Schedule, drive
from ordinate.reservoir.body.story import episodes


def test_the_legs_get_the_mean_activity_of_each_side_as_it_is():
    connectome = Connectome.synthetic()
    brain = Brain(connectome, leak_rate=1.0, updates=1)
    walked = drive(brain, KinematicFly(0.05), Schedule([(0.0, 1.0, 0.0)]), seconds=3.0, scaled=False)
    np.testing.assert_array_equal(walked.commands, walked.activity)
    network = Reservoir(normalise(connectome, "output", 1.0), inputs=["sensory & left", "sensory & right"], gain=0.9)
    settled = network.run([[1.0, 0.0]] * 200)[-1]
    for at, side in enumerate(("left", "right")):
        assert walked.commands[-1, at] == pytest.approx(settled[connectome.select(f"descending & {side}")].mean(), abs=1e-5)


def test_backwards_is_the_transposed_matrix():
    connectome = Connectome.synthetic()
    turned = Connectome(connectome.weights.T, side=connectome.side, mate=connectome.mate, kind=connectome.kind)
    walks = {
        (one.side, one.normalisation): one
        for one in episodes(turned, lambda: KinematicFly(0.05), stimuli=["descending"], readout="sensory", seconds=1.0)
        if one.backwards
    }
    # a matrix that is turned round after its rows are normalised; the radius is that of either
    straight = episodes(connectome, lambda: KinematicFly(0.05), stimuli=["descending"], readout="sensory", seconds=1.0)
    for one in straight:
        if not one.backwards and one.normalisation == "spectral_radius":
            same = walks[one.side, one.normalisation]
            assert (same.left, same.right, bool(same.refused)) == (
                pytest.approx(one.left, abs=1e-6), pytest.approx(one.right, abs=1e-6), bool(one.refused),
            )  # fmt: skip


def test_what_cannot_be_driven_says_why():
    chain = Connectome(
        [[0, 0, 1, 0], [0, 0, 0, 1], [0] * 4, [0] * 4], kind=["sensory"] * 2 + ["descending"] * 2, side=["left", "right"] * 2
    )
    walks = episodes(chain, lambda: KinematicFly(0.05), seconds=0.2)
    assert {bool(one.refused) for one in walks if one.backwards} == {True}
    assert all("contrast" in one.refused for one in walks if one.backwards and one.normalisation == "output")
