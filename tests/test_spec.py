"""The record between reading and building."""

import json

import pytest

from ordinate.errors import ArgumentError, ArgumentTypeError, UnknownNameError
from ordinate.frequencies import (
    SCALINGS,
    Clipped,
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKAware,
    Proportional,
    SteppedNTK,
    YaRN,
)
from ordinate.position import build
from ordinate.spec import PositionSpec

SCALED = [
    None,
    Linear(2.0),
    NTKAware(2.0),
    DynamicNTK(2.0, 2048),
    SteppedNTK(2048),
    YaRN(4.0, 4096, truncate=False, mscale=1.0, mscale_all_dim=0.707),
    LongRoPE([1.0] * 32, [4.0] * 32, 4096, 131072),
    Llama3(8.0, 1.0, 4.0, 8192),
    Proportional(0.25),
    Clipped(8, soft=False),
]


def test_every_scaling_is_tried_here():
    assert {type(scaling) for scaling in SCALED if scaling} == set(SCALINGS.values())


@pytest.mark.parametrize("scaling", SCALED, ids=repr)
def test_a_spec_survives_json_and_builds_the_same_module(scaling):
    spec = PositionSpec("rotary", {"head_dim": 64, "layout": "half", "base": 500000.0}, scaling)
    again = PositionSpec.from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again == spec
    assert hash(again) == hash(spec)
    assert repr(build(again)) == repr(build(spec))
    assert build(spec).scaling == scaling


def test_specs_are_frozen_and_do_not_share_their_settings():
    settings = {"head_dim": 64, "layout": "half"}
    spec = PositionSpec("rotary", settings)
    settings["head_dim"] = 32
    assert spec.settings["head_dim"] == 64
    with pytest.raises(AttributeError):
        spec.encoding = "alibi"


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: PositionSpec(3), ArgumentTypeError, "encoding: expected a catalogue name"),
        (lambda: PositionSpec("rotary", {}, "yarn"), ArgumentTypeError, "scaling: expected a record of ordinate.frequencies"),
        (lambda: PositionSpec.from_dict({"encoding": "rotary", "scaling": {"rule": "yam"}}), ArgumentError, "scaling.rule"),
        (lambda: PositionSpec.from_dict({"encoding": "rotary", "scaling": {"rule": "linear"}}), ArgumentError, "factor"),
        (lambda: build("rotary"), ArgumentTypeError, "spec: expected a PositionSpec"),
        (lambda: build(PositionSpec("ropes")), UnknownNameError, "encoding: expected one of"),
        (lambda: build(PositionSpec("rotary", {"head_dim": 64})), ArgumentError, "settings: .*'layout'"),
        (lambda: build(PositionSpec("alibi", {"num_heads": 8, "heads": 8})), ArgumentError, "settings: .*'heads'"),
        (lambda: build(PositionSpec("rotary", {"head_dim": "64", "layout": "half"})), ArgumentTypeError, "head_dim"),
    ],
)
def test_a_spec_that_means_nothing_is_refused_in_words(make, error, words):
    with pytest.raises(error, match=words):
        make()
