"""The encodings over several axes and over time, built from plain JSON; no setting of theirs is without effect."""

import json

import pytest
import torch

from ordinate.position import build, indices
from ordinate.position.frequencies import Linear, YaRN
from ordinate.spec import PositionSpec

IMAGE, VIDEO = indices.grid(3, 4), indices.grid(2, 2, 3)
TEXT = indices.multimodal([3, (1, 2, 3), 3])
STEPS, TIMES = 100 + torch.arange(12), 1_764_000_000 + 3600 * torch.arange(12)

# name: settings, positions, and for each setting another value
CATALOGUE = {
    "sinusoidal-grid": (
        {"dim": 24},
        IMAGE,
        {"arrangement": "alternating", "base": 100.0, "order": [1, 0], "dim": 48},
    ),
    "learned-grid": ({"size": [3, 4], "dim": 8}, IMAGE, {"dim": 4, "size": [4, 5]}),
    "time": (
        {"dim": 12, "seasons": ["hour_of_day"]},
        TIMES,
        {
            "seasons": ["day_of_week"],
            "harmonics": 2,
            "shortest_seconds": 60.0,
            "longest_seconds": 1e6,
            "utc_offset_seconds": 7200,
            "dim": 16,
        },
    ),
    "time2vec": ({"dim": 8}, TIMES, {"origin": 1.7e9, "unit": 3600.0, "dim": 4}),
    "axial-rotary": (
        {"head_dim": 24, "layout": "half"},
        IMAGE,
        {
            "layout": "interleaved",
            "sections": [5, 6],
            "base": 100.0,
            "schedule": "dealt",
            "turns": True,
            "order": [1, 0],
        },
    ),
    "mixed-rotary": ({"head_dim": 24, "num_heads": 2}, IMAGE, {"layout": "half", "base": 100.0}),
    "multimodal-rotary": (
        {"head_dim": 24, "layout": "half", "sections": [4, 4, 4]},
        TEXT,
        {"layout": "interleaved", "sections": [2, 5, 5], "arrangement": "interleaved", "base": 100.0},
    ),
    "xpos": (
        {"head_dim": 24, "layout": "half"},
        STEPS,
        {"layout": "interleaved", "rotary_dim": 12, "base": 100.0, "scale_base": 64.0, "gamma": 0.8, "centre": 50},
    ),
    "pope": ({"head_dim": 24, "num_heads": 2}, STEPS, {"base": 100.0, "phase_init": "uniform"}),
}


def numbers(name, settings, positions):
    """What the encoding that the spec describes, read back from JSON, makes of some tokens."""
    spec = PositionSpec.from_dict(json.loads(json.dumps(PositionSpec(name, settings).to_dict())))
    torch.manual_seed(0)
    encoding = build(spec)
    if hasattr(encoding, "encode"):
        return encoding.encode(positions)
    x = torch.randn(1, 2, len(positions), settings["head_dim"], generator=torch.Generator().manual_seed(1))
    turn = encoding.rotate_query if hasattr(encoding, "rotate_query") else encoding.rotate
    return turn(x, positions)


@pytest.mark.parametrize(
    ("name", "setting"), [(name, setting) for name, (_, _, changes) in CATALOGUE.items() for setting in changes]
)
def test_every_setting_changes_what_comes_out(name, setting):
    settings, positions, changes = CATALOGUE[name]
    plain = numbers(name, settings, positions)
    changed = numbers(name, settings | {setting: changes[setting]}, positions)
    assert plain.shape != changed.shape or (plain - changed).abs().max() > 1e-4


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("sinusoidal-grid", {"dim": 24, "axes": 3}),
        ("learned-grid", {"size": [2, 2, 3], "dim": 8}),
        ("axial-rotary", {"head_dim": 24, "layout": "half", "axes": 3}),
        ("axial-rotary", {"head_dim": 24, "layout": "half", "axes": 3, "schedule": "linear", "resolution": 32.0}),
        ("mixed-rotary", {"head_dim": 24, "num_heads": 2, "axes": 3}),
    ],
)
def test_grids_have_three_axes_where_asked(name, settings):
    assert numbers(name, settings, VIDEO).isfinite().all()


def test_scalings_of_multimodal_rotations_stand_in_the_spec():
    for scaling in (Linear(4.0), YaRN(4.0, 64)):
        spec = PositionSpec("multimodal-rotary", {"head_dim": 24, "layout": "half", "sections": [4, 4, 4]}, scaling)
        assert build(PositionSpec.from_dict(json.loads(json.dumps(spec.to_dict())))).scaling == scaling


@pytest.mark.parametrize("coordinates", ["ordinal", "centred", "corners", "detr"])
def test_coordinates_change_what_an_encoding_makes_of_a_grid(coordinates):
    axial = build(PositionSpec("axial-rotary", {"head_dim": 24, "layout": "half", "coordinates": coordinates}))
    assert (axial.positions(3, 4) - IMAGE).abs().max() > 0.5
    grid = build(PositionSpec("sinusoidal-grid", {"dim": 24, "coordinates": coordinates}))
    assert torch.equal(grid.table(3, 4), grid.encode(indices.grid(3, 4, coordinates=coordinates)))
