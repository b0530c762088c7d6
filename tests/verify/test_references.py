"""The verifier's own formulas against transformers, against the encodings of this package, and against published numbers."""

from __future__ import annotations

import importlib
import json
import math

import pytest
import torch
from torch.testing import assert_close

from ordinate.attention import Causal, Padding, attend
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
from ordinate.position import ALiBi, Rotary, Sandwich, Sinusoidal, T5Bias, alibi_slopes
from ordinate.verify.references.attention import AttentionSettings, attention
from ordinate.verify.references.biases import BiasSettings, bias, bucket, sandwich, slopes
from ordinate.verify.references.frequency_schedules import cos_sin_factor, inverse_frequencies
from ordinate.verify.references.rotation import RotarySettings, rotated
from ordinate.verify.references.sinusoids import ARRANGEMENTS, EmbeddingSettings, sinusoid
from tests.external import CASES

SHORT, LONG = tuple(1 + 0.01 * pair for pair in range(32)), tuple(1.5 + 0.1 * pair for pair in range(32))
SCALED = [
    Linear(4.0),
    NTKAware(8.0),
    DynamicNTK(2.0, 2048),
    SteppedNTK(2048),
    YaRN(4.0, 4096),
    YaRN(32.0, 4096, truncate=False),
    YaRN(40.0, 4096, mscale=1.0, mscale_all_dim=0.707),
    YaRN(4.0, 4096, attention_factor=1.25),
    Llama3(8.0, 1.0, 4.0, 8192),
    LongRoPE(SHORT, LONG, 4096, 131072),
    Proportional(0.25, 2.0),
    Clipped(20),
    Clipped(5, soft=False),
]


@pytest.mark.parametrize("scaling", SCALED, ids=repr)
@pytest.mark.parametrize("length", [1, 2048, 2049, 5000, 131072])
def test_ladders_are_those_of_the_encodings(scaling, length):
    ours = scaling.inverse_frequencies(64, 150000.0, length)
    got, expected = (
        torch.tensor(rates, dtype=torch.float64) for rates in (inverse_frequencies(64, 150000.0, scaling, length), ours)
    )
    assert_close(got, expected, rtol=1e-12, atol=1e-16)
    assert math.isclose(cos_sin_factor(scaling), scaling.cos_sin_factor, rel_tol=1e-12)


def test_every_scaling_of_the_package_has_a_formula_here():
    assert {type(scaling) for scaling in SCALED} == set(SCALINGS.values())


TOLD = {
    "linear": (Linear(4.0), {"factor": 4.0}),
    "yarn": (YaRN(4.0, 4096), {"factor": 4.0, "original_max_position_embeddings": 4096}),
    "llama3": (
        Llama3(8.0, 1.0, 4.0, 8192),
        {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192},
    ),
}


@pytest.mark.parametrize("rule", TOLD)
def test_ladders_are_those_of_transformers(rule):
    rope = pytest.importorskip("transformers.modeling_rope_utils")
    llama = importlib.import_module("transformers.models.llama.configuration_llama")
    scaling, told = TOLD[rule]
    parameters = {"rope_type": rule, "rope_theta": 10000.0, **told}
    config = llama.LlamaConfig(head_dim=64, max_position_embeddings=16384, rope_parameters=parameters)
    theirs, factor = rope.ROPE_INIT_FUNCTIONS[rule](config, "cpu")
    assert_close(
        torch.tensor(inverse_frequencies(64, 10000.0, scaling), dtype=torch.float64), theirs.double(), rtol=1e-6, atol=1e-12
    )
    assert math.isclose(cos_sin_factor(scaling), factor, rel_tol=1e-9)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize(("rotary_dim", "place"), [(16, "first"), (8, "first"), (8, "last")])
def test_a_turned_vector_is_that_of_the_encoding(layout, rotary_dim, place):
    x, positions = torch.randn(2, 3, 5, 16, dtype=torch.float64), torch.tensor([[0, 1, 2, 3, 4], [7, 7, 0, 90_000, 5]])
    settings = RotarySettings.checked(16, rotary_dim, layout=layout, rotated_channels=place)
    ours = Rotary(16, layout=layout, rotary_dim=rotary_dim, rotated_channels=place).rotate(x, positions)
    assert_close(rotated(x, positions, settings), ours, rtol=0, atol=1e-10)  # float64 angles of position 90,000


def test_a_published_case_of_both_layouts():
    cases = json.loads((CASES / "position-cases.json").read_text())
    case = next(one for one in cases if one["id"] == "rotary-layouts")
    x = torch.tensor(case["given"]["x"], dtype=torch.float64).reshape(1, 1, 1, 8)
    for layout in ("half", "interleaved"):
        got = rotated(x, torch.tensor([case["given"]["position"]]), RotarySettings.checked(8, None, layout=layout))
        assert_close(got.flatten(), torch.tensor(case["expect"][layout], dtype=torch.float64), rtol=0, atol=1e-9)


@pytest.mark.parametrize("heads", [1, 2, 3, 8, 12, 20, 71])
def test_slopes_and_biases_are_those_of_the_encodings(heads):
    assert_close(torch.tensor(slopes(heads)), torch.tensor(alibi_slopes(heads)))
    queries, keys = torch.tensor([7, 8]), torch.arange(9)
    for symmetric in (False, True):
        ours = ALiBi(heads, symmetric=symmetric).bias(queries, keys)
        assert_close(bias(queries, keys, BiasSettings(heads, symmetric=symmetric)).float(), ours)
    assert_close(sandwich(queries, keys, heads, 16).float(), Sandwich(heads, dim=16).bias(queries, keys))


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (8, 16), (20, 100), (64, 1024)])
def test_buckets_are_those_of_the_encoding(bidirectional, buckets, farthest):
    settings = BiasSettings(rule="t5", num_buckets=buckets, max_distance=farthest, bidirectional=bidirectional)
    distances = torch.arange(-farthest - 5, farthest + 6)
    ours = T5Bias(1, num_buckets=buckets, max_distance=farthest, bidirectional=bidirectional).buckets(distances)
    assert [bucket(int(distance), settings) for distance in distances] == ours.tolist()


@pytest.mark.parametrize("arrangement", [one for one in ARRANGEMENTS if one[2]])
@pytest.mark.parametrize("dim", [16, 5])
def test_sinusoids_are_those_of_the_encoding(arrangement, dim):
    layout, ladder_name, _ = arrangement
    positions = torch.tensor([0, 1, 5, 70_000])
    ours = Sinusoidal(dim, layout=layout, schedule=ladder_name).encode(positions, dtype=torch.float64)
    settings = EmbeddingSettings(dim, layout=layout, schedule=ladder_name)
    assert_close(sinusoid(positions, settings), ours, rtol=0, atol=1e-10)


@pytest.mark.parametrize("encoding", ["none", "rotary", "alibi"])
def test_attention_is_that_of_attend(encoding):
    s = AttentionSettings(4, 2, 16, encoding=encoding)
    q = torch.randn(2, 4, 5, 16, dtype=torch.float64)
    k, v = torch.randn(2, 2, 2, 5, 16, dtype=torch.float64)
    steps, mask = torch.arange(5), torch.tensor([[1, 1, 1, 1, 1], [1, 0, 1, 1, 1]])
    made = {"none": None, "rotary": Rotary(16, layout="half"), "alibi": ALiBi(4)}[encoding]
    ours = attend(q, k, v, query_positions=steps, encoding=made, mask=Causal() & Padding(mask), impl="reference")
    assert_close(attention(q, k, v, steps, steps, s, mask), ours, rtol=0, atol=1e-6)
