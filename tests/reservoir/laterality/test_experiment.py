"""Laterality of connectomes whose answer can be worked out by hand, of the synthetic one, and of the larval fly's."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from ordinate.errors import ArgumentError, RefusedError, UnknownNameError
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.connectome.nulls import mirrored, rewired
from ordinate.reservoir.laterality.experiment import Laterality, laterality, sweep


def two_lines(own: float, other: float, through: int = 1) -> Connectome:
    """Two senses, two output cells, a chain of `through` cells between them on each side; `other` synapses cross at its end."""
    count = 2 * (through + 2)
    weights = np.zeros((count, count))
    for side in (0, 1):
        chain = [side, *(2 + 2 * step + side for step in range(through))]
        for pre, post in pairwise(chain):
            weights[pre, post] = 1.0
        weights[chain[-1], count - 2 + side] = own
        weights[chain[-1], count - 1 - side] = other
    kind = ["sensory"] * 2 + ["inter"] * (2 * through) + ["descending"] * 2
    mate = [place ^ 1 for place in range(count)]
    return Connectome.from_array(weights, side=["left", "right"] * (count // 2), kind=kind, mate=mate)


def measured(connectome: Connectome, **settings: Any) -> Laterality:
    return laterality(connectome, **{"steps": 3, "activation": "identity", "normalisation": "none", **settings})


def test_the_table_is_what_the_paths_carry() -> None:
    result = measured(two_lines(3.0, 1.0))
    assert result.table.tolist() == [[3.0, 1.0], [1.0, 3.0]]
    assert result.index == pytest.approx(-0.5)
    assert not result.crosses
    assert measured(two_lines(1.0, 4.0)).index == pytest.approx(0.6)


def test_nothing_arrives_before_the_path_is_walked() -> None:
    with pytest.raises(RefusedError, match="readout: expected cells that 'sensory' reaches within 2 steps, got no activity"):
        measured(two_lines(3.0, 1.0), steps=2)


def test_a_pulse_passes_and_a_held_stimulus_stays() -> None:
    assert measured(two_lines(3.0, 1.0), steps=6).table[0, 0] == 3.0
    with pytest.raises(RefusedError):
        measured(two_lines(3.0, 1.0), steps=6, sustained=False)
    assert measured(two_lines(3.0, 1.0), steps=3, sustained=False).table[0, 0] == 3.0


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({"gain": 2.0}, 12.0),
        ({"amplitude": 2.0}, 6.0),
        ({"activation": "tanh"}, math.tanh(3 * math.tanh(math.tanh(1.0)))),
        ({"leak_rate": 0.5}, 0.5**3 * 3.0),
        ({"normalisation": "output"}, 0.75),
        ({"normalisation": "input"}, 0.75),
    ],
)
def test_every_setting_does_what_it_says(settings: dict[str, Any], value: float) -> None:
    assert measured(two_lines(3.0, 1.0), **settings).table[0, 0] == pytest.approx(value)


def test_a_threshold_leaves_out_weak_edges_before_the_normalisation() -> None:
    result = laterality(two_lines(3.0, 1.0, through=0), steps=2, activation="identity", normalisation="output", threshold=2)
    assert result.table.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_backwards_signals_run_from_output_cells_to_senses() -> None:
    ahead = two_lines(3.0, 1.0)
    assert measured(ahead.reversed(), backwards=True).table.tolist() == measured(ahead).table.tolist()
    with pytest.raises(RefusedError):
        measured(ahead, backwards=True)  # nobody sends to the senses, so backwards they reach nobody


def test_a_side_that_is_louder_is_bias() -> None:
    weights = two_lines(3.0, 1.0).weights.toarray()
    weights[:, -1] *= 3
    result = measured(two_lines(3.0, 1.0).with_weights(weights, name="louder on the right"))
    assert result.side_bias == pytest.approx(0.5)
    assert result.table.tolist() == [[3.0, 3.0], [1.0, 9.0]]


def test_cells_without_a_side_are_neither_stimulated_nor_read() -> None:
    brain = two_lines(3.0, 1.0)
    padded = Connectome(
        sparse.block_diag([brain.weights, np.ones((2, 2))]).tocsr(),
        side=[*brain.side, "unknown", "unknown"],
        kind=[*brain.kind, "sensory", "descending"],
    )
    result = measured(padded)
    assert result.table.tolist() == [[3.0, 1.0], [1.0, 3.0]]
    assert (result.stimulated, result.read) == ((1, 1), (1, 1))
    assert result.pairs is None


@pytest.fixture(scope="module")
def brain() -> Connectome:
    return Connectome.synthetic()


def test_the_synthetic_senses_stay_on_their_side_and_its_body_senses_cross(brain: Connectome) -> None:
    assert laterality(brain).index < -0.3
    assert laterality(brain, "ascending").index > 0.1


def test_mates_are_compared_as_pairs(brain: Connectome) -> None:
    result = laterality(brain)
    assert result.pairs is not None
    assert result.pairs.count == 8
    left = brain.select("descending & left")
    size = {cell: result.activity[:, place] for place, cell in enumerate(brain.select("descending"))}
    by_hand = [(size[one][1] + size[brain.mate[one]][0]) / 2 - (size[one][0] + size[brain.mate[one]][1]) / 2 for one in left]
    assert result.pairs.mean_difference == pytest.approx(np.mean(by_hand))


def test_carriers_are_named_by_their_ids(brain: Connectome) -> None:
    result = laterality(brain)
    assert result.carriers is not None
    assert len(result.carrier_ids) == result.carriers.half <= result.carriers.most
    assert set(result.carrier_ids) <= set(brain.ids[brain.select("descending")])


def test_a_crossing_that_wiring_makes_stands_out_of_rewired_networks_and_one_by_chance_does_not(brain: Connectome) -> None:
    nulls = {"rewired": 20, "relabelled": 20}
    assert all(one.z < -3 and one.p < 0.1 for one in laterality(brain, nulls=nulls).nulls)
    chance = Connectome.synthetic(symmetry=0.0, seed=3)
    one = laterality(rewired(chance, seed=99), nulls={"rewired": 30}).nulls[0]
    assert abs(one.z) < 3


def test_z_and_p_are_those_of_the_draws(brain: Connectome) -> None:
    result = laterality(brain, nulls={"rewired": 9})
    (one,) = result.nulls
    draws = np.array(one.values)
    assert one.z == pytest.approx((result.index - draws.mean()) / draws.std(ddof=1))
    farther = (abs(draws - draws.mean()) >= abs(result.index - draws.mean())).sum()
    assert one.p == pytest.approx((1 + farther) / 10)


def test_a_mirrored_network_keeps_the_index_and_loses_the_bias(brain: Connectome) -> None:
    result = laterality(mirrored(brain))
    assert result.side_bias == pytest.approx(0.0, abs=1e-6)
    assert result.table == pytest.approx(result.table[::-1, ::-1], abs=1e-6)
    (one,) = laterality(brain, nulls={"mirrored": 1}).nulls
    assert math.isnan(one.z)
    assert one.values[0] == pytest.approx(result.index)


def test_the_same_seed_draws_the_same_nulls_and_another_others(brain: Connectome) -> None:
    def draws(seed: int) -> tuple[float, ...]:
        return laterality(brain, nulls={"rewired": 3}, seed=seed).nulls[0].values

    assert draws(0) == draws(0)
    assert set(draws(0)).isdisjoint(draws(10))


def test_numbers_come_as_strict_json(brain: Connectome) -> None:
    result = json.loads(json.dumps(laterality(brain, nulls={"mirrored": 1}).to_dict(), allow_nan=False))
    assert np.array(result["table"]).shape == (2, 2)
    assert result["z_scores"] == {"mirrored": None}
    assert result["settings"]["direction"] == "pre to post"
    assert result["assumptions"]


# --- sweeps


def test_a_sweep_holds_what_each_setting_gives_alone(brain: Connectome) -> None:
    swept = sweep(
        brain,
        "sensory",
        "descending",
        normalisations=("output", "input", "spectral_radius"),
        thresholds=(1, 3),
        gains=(0.5, 1.5),
        steps=(4, 9),
        nulls={"rewired": 2},
    )
    assert swept.tables.shape == (3, 3, 2, 2, 2, 2, 2)
    assert swept.origins == ("real", "rewired", "rewired")
    for a, normalisation in enumerate(swept.normalisations):
        for b, threshold in enumerate(swept.thresholds):
            for c, gain in enumerate(swept.gains):
                for d, steps in enumerate(swept.steps):
                    alone = laterality(brain, normalisation=normalisation, threshold=threshold, gain=gain, steps=steps)
                    assert swept.tables[0, a, b, c, d] == pytest.approx(alone.table, rel=1e-5)


def test_a_sweep_tells_its_rows(brain: Connectome) -> None:
    swept = sweep(brain, "sensory", "descending", gains=(0.5, 1.0), nulls={"rewired": 3, "mirrored": 1})
    rows = json.loads(json.dumps(swept.to_rows(), allow_nan=False))
    assert [row["gain"] for row in rows] == [0.5, 1.0]
    assert rows[0]["index"] == pytest.approx(swept.index[0, 0, 0, 0, 0])
    assert rows[0]["z_scores"]["rewired"] == pytest.approx(swept.z_scores("rewired")[0, 0, 0, 0])
    assert rows[0]["z_scores"]["mirrored"] is None


def test_silence_in_a_sweep_is_nan_and_the_rest_is_kept() -> None:
    swept = sweep(two_lines(3.0, 1.0), "sensory", "descending", steps=(1, 3))
    assert math.isnan(swept.index[0, 0, 0, 0, 0])
    assert swept.index[0, 0, 0, 0, 1] < 0


def test_progress_counts_every_matrix(brain: Connectome) -> None:
    seen: list[tuple[int, int]] = []
    sweep(brain, "sensory", "descending", nulls={"rewired": 2}, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_z_scores_of_the_bias_are_there_too_and_other_names_are_refused(brain: Connectome) -> None:
    swept = sweep(brain, "sensory", "descending", nulls={"rewired": 5})
    drawn = swept.side_bias[1:].ravel()
    by_hand = (swept.side_bias[0].item() - drawn.mean()) / drawn.std(ddof=1)
    assert swept.z_scores("rewired", "side_bias").item() == pytest.approx(by_hand)
    with pytest.raises(UnknownNameError, match=r"name: expected one of \['rewired'\], got random"):
        swept.z_scores("random")
    with pytest.raises(UnknownNameError, match="measure: expected 'index' or 'side_bias', got 'mean'"):
        swept.z_scores("rewired", "mean")


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"steps": (0,)}, ArgumentError, "steps: expected whole numbers of steps, at least 1, got 0"),
        ({"steps": ()}, ArgumentError, "steps: expected whole numbers of steps, at least 1, got none"),
        ({"gains": (math.nan,)}, ArgumentError, "gains: expected finite gains, 0 or more, got nan"),
        ({"thresholds": (-1,)}, ArgumentError, "thresholds: expected numbers of synapses, 0 or more, got -1"),
        ({"amplitude": 0.0}, ArgumentError, "amplitude: expected a positive stimulus, got 0.0"),
        ({"nulls": {"rewired": 0}}, ArgumentError, "nulls: expected at least one draw of each null model, got 0"),
        ({"nulls": {"scrambled": 3}}, UnknownNameError, "null: expected one of .*rewired.*, got 'scrambled'"),
        ({"normalisations": ("rows",)}, UnknownNameError, "normalisation: expected one of .*output.*, got 'rows'"),
    ],
)
def test_settings_out_of_range_are_refused(
    brain: Connectome, settings: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        sweep(brain, "sensory", "descending", **settings)


def test_queries_must_name_cells_on_both_sides(brain: Connectome) -> None:
    with pytest.raises(ArgumentError, match="stimulus: expected cells on either side, got none on the right"):
        laterality(brain, "sensory & left")
    with pytest.raises(UnknownNameError, match="sensorry"):
        laterality(brain, "sensorry")


# --- the larval fly


def test_the_larval_senses_are_ipsilateral_and_its_ascending_senses_cross(larval: Connectome) -> None:
    senses, body = laterality(larval, "sensory", "DN-VNC"), laterality(larval, "ascending", "DN-VNC")
    assert (senses.stimulated, senses.read) == ((211, 219), (91, 91))
    assert senses.index < -0.2
    assert body.index == pytest.approx(0.4, abs=0.05)
    assert body.pairs is not None and body.pairs.crossing > 70  # noqa: PT018


def test_signals_that_run_backwards_cross_by_these_numbers(larval: Connectome) -> None:
    """.0114/.0117 for the left senses and .0161/.0099 for the right ones, at row normalisation 1.0 and 20 steps."""
    backwards = laterality(larval, "sensory", "DN-VNC", steps=20, backwards=True)
    assert backwards.table == pytest.approx(np.array([[0.0114, 0.0117], [0.0161, 0.0099]]), abs=5e-5)
    forwards = laterality(larval, "sensory", "DN-VNC", steps=20)
    assert forwards.table[1, 1] > forwards.table[1, 0]  # the right senses drive the right descending neurons more


def test_the_table_is_that_of_a_plain_loop_over_a_dense_matrix(larval: Connectome) -> None:
    counts = larval.weights.toarray().astype(float)
    sent = counts.sum(axis=1, keepdims=True)
    rows = np.divide(counts, sent, out=np.zeros_like(counts), where=sent > 0)
    read = [np.flatnonzero((larval.kind == "DN-VNC") & (larval.side == side)) for side in ("left", "right")]
    by_hand = []
    for side in ("left", "right"):
        stimulus = ((larval.kind == "sensory") & (larval.side == side)).astype(float)
        state = np.zeros(len(counts))
        for _ in range(7):
            state = np.tanh(state @ rows + stimulus)
        by_hand.append([state[cells].mean() for cells in read])
    assert laterality(larval, "sensory", "DN-VNC", steps=7).table == pytest.approx(np.array(by_hand), rel=1e-4)
