"""Whatever stands in a config: an inspection comes back, or an error of the house, and never anything else."""

from __future__ import annotations

import contextlib
import copy
import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ordinate.errors import OrdinateError
from ordinate.inspection import extend, inspect_config, inspect_document
from ordinate.inspection.files import Document
from ordinate.inspection.records import Inspection
from tests.external import CONFIGS

FILES = sorted(CONFIGS.glob("*.json"))
LAYERS = ["full_attention", "sliding_attention", "linear_attention", "full_attention"]
SYNTHETIC: list[dict[str, Any]] = [
    {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 2048,
        "num_attention_heads": 32,
        "num_hidden_layers": 4,
        "head_dim": 64,
        "max_position_embeddings": 32768,
        "rope_theta": 1e6,
        "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192, "truncate": True},
    },
    {
        "model_type": "phi3",
        "hidden_size": 1024,
        "num_attention_heads": 16,
        "num_hidden_layers": 2,
        "max_position_embeddings": 8192,
        "original_max_position_embeddings": 4096,
        "rope_scaling": {"type": "su", "short_factor": [1.0] * 32, "long_factor": [2.0] * 32},
    },
    {
        "model_type": "gemma3",
        "text_config": {
            "model_type": "gemma3_text",
            "num_hidden_layers": 4,
            "layer_types": LAYERS,
            "rope_parameters": {"full_attention": {"rope_theta": 1e6}, "sliding_attention": {"rope_theta": 1e4}},
        },
        "vision_config": {"model_type": "siglip_vision_model", "image_size": 224, "patch_size": 14},
    },
    {
        "model_type": "deepseek_v4",
        "num_hidden_layers": 4,
        "compress_ratios": [0, 4, 128, 4],
        "head_dim": 512,
        "qk_rope_head_dim": 64,
        "rope_scaling": {"rope_type": "yarn", "factor": 16, "original_max_position_embeddings": 65536},
    },
    {"model_type": "smollm3", "num_hidden_layers": 4, "no_rope_layers": [1, 0, 1, 1], "sliding_window": 512},
    {"model_type": "muse_spark_text", "num_hidden_layers": 4, "layer_rope_theta": [1e4, 0, 1e4, None], "layer_types": LAYERS},
    {"model_type": "whisper", "d_model": 512, "encoder_layers": 2, "decoder_layers": 2, "max_source_positions": 1500},
    {"model_type": "gpt_neo", "attention_types": [[["global", "local"], 2]], "num_layers": 4, "window_size": 256},
    {"model_type": "nemotron_h", "hybrid_override_pattern": "M*-E", "num_hidden_layers": 4},
    {"vision_cfg": {"rope": True, "layers": 2, "width": 256, "head_width": 64}, "text_cfg": {"context_length": 77}},
    {"pos_att_type": "p2c|c2p", "relative_attention": True, "position_buckets": 256, "max_relative_positions": -1},
    {"model_type": "embedding_gemma2_text", "per_layer_config": {"5": {"head_dim": 512}}, "num_hidden_layers": 6},
]
SHARED = [json.loads(path.read_text(encoding="utf-8")) for path in FILES]

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, -1, 1, 2, 7, 10**9, 10**30, 10**400, -(10**400)]),
    st.floats(),
    st.sampled_from([1e308, -5e-324, math.inf, math.nan, 0.5, 1e-9]),
    st.text(max_size=6),
    st.sampled_from(["10000", "1e400", "nan", "full_attention", "yarn", "su", "mrope", "LLLG", "|", "M*"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["rope_type", "type", "factor", "rope_theta", "model_type", "x"]), inner, max_size=3),
    ),
    max_leaves=6,
)


def places(told: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a config where something can be put instead."""
    found: list[tuple[Any, ...]] = []
    steps: Any = told.items() if isinstance(told, dict) else enumerate(told[:3]) if isinstance(told, list) else ()
    for step, value in steps:
        if step not in ("id2label", "label2id"):
            found += [(*at, step), *places(value, (*at, step))]
    return found


def mutated(data: st.DataObject, pool: list[dict[str, Any]]) -> dict[str, Any]:
    told = copy.deepcopy(data.draw(st.sampled_from(pool)))
    for _ in range(data.draw(st.integers(1, 3))):
        open_places = places(told)
        if not open_places:
            break
        *path, last = data.draw(st.sampled_from(open_places))
        held: Any = told
        for step in path:
            held = held[step]
        if isinstance(held, dict) and data.draw(st.booleans()):
            del held[last]
        else:
            held[last] = data.draw(VALUES)
    return told


def survives(told: Any) -> None:
    try:
        inspection = inspect_config(told)
    except OrdinateError:
        return
    assert isinstance(inspection, Inspection)
    text = json.dumps(inspection.to_dict(), allow_nan=False)
    assert json.loads(text)["schema"] == "ordinate.inspection/1"
    for _, layer in inspection.walk():
        frequencies = layer.rotation.inverse_frequencies(100_000) if layer.rotation is not None else None
        assert frequencies is None or all(math.isfinite(f) and f >= 0 for f in frequencies)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_mutated_config_is_read_or_refused_by_the_house(data: st.DataObject) -> None:
    survives(mutated(data, SYNTHETIC))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_mutated_real_config_is_read_or_refused_by_the_house(data: st.DataObject) -> None:
    survives(mutated(data, SHARED))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_ten_thousand_mutants_are_read_or_refused_by_the_house(data: st.DataObject) -> None:
    survives(mutated(data, SHARED + SYNTHETIC))


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(max_size=12), VALUES, max_size=5))
def test_any_dictionary_is_read_or_refused_by_the_house(told: dict[str, Any]) -> None:
    survives(told)


def test_deep_nesting_is_no_trouble() -> None:
    told: dict[str, Any] = {"model_type": "llama"}
    for _ in range(200):
        told = {"text_config": told, "rope_scaling": {"type": "yarn"}}
    survives(told)


@pytest.mark.parametrize("layers", [10**6, 10**9, 10**30])
def test_an_absurd_number_of_layers_is_a_finding_and_takes_no_memory(layers: int) -> None:
    inspection = inspect_config({"model_type": "llama", "num_hidden_layers": layers})
    assert "out-of-range" in {finding.id for finding in inspection.findings}
    assert not inspection.main.num_layers.known


@pytest.mark.parametrize("width", [10**12, 2.5, -8, "wide", [], {}])
def test_an_unusable_width_is_named_and_what_depends_on_it_is_unknown(width: Any) -> None:
    inspection = inspect_config({"model_type": "llama", "hidden_size": width})
    assert any("hidden_size" in finding.message for finding in inspection.findings)
    assert not inspection.layers[0].attention.head_dim.known


@pytest.mark.parametrize("key", ["head_dim", "hidden_size", "rotary_dim", "num_attention_heads", "num_key_value_heads"])
def test_an_absurd_width_takes_no_time(key: str) -> None:
    inspection = inspect_config({"model_type": "llama", key: 10**8})
    assert any(key in finding.message for finding in inspection.findings if finding.id == "out-of-range")


@pytest.mark.parametrize("base", [10**400, 0.5, True, "10000", math.nan, None])
def test_a_list_of_bases_with_an_unusable_one_gives_none(base: Any) -> None:
    told = {"model_type": "granite_swa", "num_hidden_layers": 2, "rope_theta": [base, base], "layer_rope_theta": [base, 1e4]}
    survives(told)
    survives({**told, "layer_rope_theta": None})


def test_a_divisor_that_makes_a_frequency_infinite_is_named() -> None:
    told = {
        "model_type": "phi3",
        "hidden_size": 1024,
        "num_attention_heads": 16,
        "max_position_embeddings": 8192,
        "original_max_position_embeddings": 4096,
        "rope_scaling": {"type": "su", "short_factor": [1.0] * 32, "long_factor": [5e-324] * 32},
    }
    inspection = inspect_config(told)
    assert inspection.severity == "error"
    turn = inspection.layers[0].rotation
    assert turn is not None
    assert turn.inverse_frequencies(8192) is None


def test_numbers_past_every_scale_are_answered_not_raised() -> None:
    base = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    base |= {"max_position_embeddings": 131072, "rope_theta": 5e5}
    llama3 = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    yarn = {"rope_type": "yarn", "factor": 1e308, "original_max_position_embeddings": 8192}
    wide = {"model_type": "hymba", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "mamba_expand": 1e308}
    small = {**yarn, "factor": 1e-9}
    for told in (
        *({**base, "rope_scaling": scaling} for scaling in ({**llama3, "factor": 1e-308}, yarn, small)),
        wide,
    ):
        document = Document("config.json", None, config=told, text=json.dumps(told))
        inspection = inspect_document(document)
        json.dumps(inspection.to_dict(), allow_nan=False)
        with contextlib.suppress(OrdinateError):
            json.dumps(extend(document, inspection, 10**6).to_dict(), allow_nan=False)


LONG = "x" * 500
"""No word of a file makes a message run on."""
BENT: list[Any] = [LONG, -1, 0, 1e300, [1.0] * 200, {LONG: 1}, True]


@pytest.mark.parametrize("config", SYNTHETIC)
def test_no_message_is_longer_than_a_few_lines(config: dict[str, Any]) -> None:
    scaling = config.get("rope_scaling") or config.get("rope_parameters") or {}
    changed = [{**config, key: value} for key in ("model_type", "hidden_size", "rope_theta") for value in BENT]
    changed += [{**config, "rope_scaling": {**scaling, key: value}} for key in scaling for value in BENT]
    for each in changed:
        texts: list[str] = []
        document = Document("config.json", None, config=each, text=json.dumps(each))
        try:
            read = inspect_document(document)
            texts += [text for finding in read.findings for text in (finding.message, finding.hint)]
            for method in (None, "longrope"):
                plan = extend(document, read, 10**6, method=method)  # type: ignore[arg-type]
                texts += [*plan.proof, *(option.why for option in plan.assessment.options)]
        except OrdinateError as error:
            texts.append(str(error))
        assert [text for text in texts if len(text) > 340] == []
