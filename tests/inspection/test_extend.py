"""Stretching a model: the judgement, the edit in every dialect, its proof, and the edit as transformers itself reads it."""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.errors import ArgumentError, OrdinateError, OutputError, RefusedError
from ordinate.frequencies import Llama3, YaRN
from ordinate.inspection import inspect_config
from ordinate.inspection.comparison import difference
from ordinate.inspection.extension.methods import METHODS, Method, assess
from ordinate.inspection.extension.plan import Extension, extend, write
from ordinate.inspection.files import Document, read_document
from ordinate.inspection.gguf_header import Header
from ordinate.inspection.inspect import inspect_document
from ordinate.inspection.records import Rotation
from tests.external import CASES, CONFIGS, needs

with_configs = needs("configs")

QWEN: dict[str, Any] = {
    "model_type": "qwen2",
    "hidden_size": 1024,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "num_hidden_layers": 4,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
    "use_sliding_window": False,
    "vocab_size": 1000,
}


MISTRAL = {key: value for key, value in QWEN.items() if key != "use_sliding_window"} | {
    "model_type": "mistral",
    "sliding_window": 4096,
}


def document_of(config: dict[str, Any]) -> Document:
    text = json.dumps(config, indent=2)
    return Document("config.json", None, config=json.loads(text), text=text)


def extended(config: dict[str, Any], length: int, method: Method | None = None, trained: int | None = None) -> Extension:
    document = document_of(config)
    return extend(document, inspect_document(document), length, method=method, trained=trained)


def shown(found: Extension, dialect: str) -> str:
    return next(each for each in found.spellings if each.dialect == dialect).text


def turning(found: Extension) -> Rotation:
    assert found.after is not None
    rotation = next(layer.rotation for layer in found.after.layers if layer.rotation is not None)
    assert rotation is not None
    return rotation


def test_yarn_is_spelled_as_each_program_documents_it() -> None:
    found = extended(QWEN, 131072)
    words = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    assert found.chosen is not None
    assert found.chosen.method == "yarn"
    assert json.loads(shown(found, "transformers-4")) == {"rope_scaling": words, "max_position_embeddings": 131072}
    parameters = {**words, "rope_theta": 1000000.0}
    assert json.loads(shown(found, "transformers-5")) == {"rope_parameters": parameters, "max_position_embeddings": 131072}
    assert shlex.split(shown(found, "vllm")) == [
        "--hf-overrides",
        json.dumps({"rope_parameters": parameters}),
        "--max-model-len",
        "131072",
    ]
    flags = "--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 32768 -c 131072"
    assert shown(found, "llama.cpp") == flags


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


def test_a_trained_factor_is_never_lowered_and_a_covered_length_changes_only_the_claim() -> None:
    result = extended(QWEN | {"rope_scaling": YARN}, 65536)
    assert result.assessment.need == "length"
    assert "131,072" in result.assessment.why
    assert json.loads(shown(result, "transformers-4")) == {"max_position_embeddings": 65536}
    scaling = turning(result).scaling
    assert scaling is not None
    assert scaling.settings()["factor"] == 4.0


def test_the_reach_of_a_yarn_is_factor_times_original_whatever_the_file_claims() -> None:
    result = extended(QWEN | {"rope_scaling": YARN, "max_position_embeddings": 262144}, 262144)
    assert result.assessment.need == "scaling"
    assert json.loads(shown(result, "transformers-4"))["rope_scaling"]["factor"] == 8.0


def test_without_an_original_context_both_readings_are_said_and_none_is_taken() -> None:
    silent = QWEN | {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}, "max_position_embeddings": 131072}
    result = extended(silent, 262144)
    assert result.assessment.need == "impossible"
    for number in ("131,072", "524,288", "32,768", "--trained 131072", "--trained 32768"):
        assert number in result.assessment.why
    small, large = (extended(silent, 262144, trained=trained) for trained in (32768, 131072))
    assert json.loads(shown(small, "transformers-4"))["rope_scaling"] == YARN | {"factor": 8.0}
    stated = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 131072}
    assert json.loads(shown(large, "transformers-4"))["rope_scaling"] == stated


def test_a_stretch_past_any_that_was_measured_is_refused() -> None:
    result = extended(QWEN | {"max_position_embeddings": 4096}, 4096 * 64)
    assert result.assessment.need == "impossible"
    assert {option.suits for option in result.assessment.options} == {"no"}
    yarn = next(option for option in result.assessment.options if option.method == "yarn")
    assert "2309.00071" in yarn.why


@pytest.mark.parametrize("method", ["linear", "ntk", "dynamic", "yarn"])
def test_the_edited_file_read_again_gives_the_formula_of_the_method(method: Method) -> None:
    length, start, base, dim = 131072, 32768, 1000000.0, 128
    ladder = turning(extended(QWEN, length, method)).inverse_frequencies(length)
    plain = [base ** (-2 * i / dim) for i in range(dim // 2)]
    if method == "linear":
        expected = [f / 4 for f in plain]
    elif method in ("ntk", "dynamic"):  # dynamic with factor 1 stretches by length / start
        expected = [(base * 4 ** (dim / (dim - 2))) ** (-2 * i / dim) for i in range(dim // 2)]
    else:

        def pair_of(turns: float) -> float:
            return dim * math.log(start / (turns * 2 * math.pi)) / (2 * math.log(base))

        low, high = math.floor(pair_of(32)), math.ceil(pair_of(1))
        ramps = [min(max((i - low) / (high - low), 0), 1) for i in range(dim // 2)]
        expected = [f / 4 * ramp + f * (1 - ramp) for f, ramp in zip(plain, ramps, strict=True)]
    assert ladder == pytest.approx(expected, rel=1e-12)


def test_only_what_was_meant_changes_in_the_file() -> None:
    found = extended(QWEN, 131072)
    edited = json.loads(found.edited)
    assert {key: value for key, value in edited.items() if key in QWEN} == QWEN | {"max_position_embeddings": 131072}
    assert list(edited) == [*QWEN, "rope_scaling"]


def test_sections_partial_factors_and_the_files_own_spelling_are_kept() -> None:
    vision = {
        **QWEN,
        "model_type": "qwen2_vl",
        "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
    }
    found = extended(vision, 131072)
    kept = json.loads(shown(found, "transformers-4"))["rope_scaling"]
    assert kept == {
        "type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 32768,
        "mrope_section": [16, 24, 24],
    }
    rotation = turning(found)
    assert rotation.sections is not None
    assert rotation.sections.value == [16, 24, 24]
    partial = {key: value for key, value in QWEN.items() if key != "rope_theta"} | {
        "model_type": "glm4_moe",
        "head_dim": 128,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0, "partial_rotary_factor": 0.5},
    }
    found = extended(partial, 131072)
    assert found.own == "transformers-5"
    assert json.loads(shown(found, "transformers-5"))["rope_parameters"]["partial_rotary_factor"] == 0.5
    moved = json.loads(shown(found, "transformers-4").split("\nand take out")[0])
    assert (moved["partial_rotary_factor"], moved["rope_theta"]) == (0.5, 1000000.0)
    assert turning(found).rotary_dim.value == 64


def test_of_two_bases_only_the_layers_that_see_everything_are_stretched() -> None:
    gemma = {
        "model_type": "gemma3_text",
        "hidden_size": 1024,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "head_dim": 256,
        "num_hidden_layers": 12,
        "max_position_embeddings": 32768,
        "rope_theta": 1000000,
        "rope_local_base_freq": 10000,
        "sliding_window": 512,
        "sliding_window_pattern": 6,
    }
    found = extended(gemma, 131072)
    parameters = json.loads(shown(found, "transformers-5").split("\nand take out")[0])["rope_parameters"]
    assert parameters["full_attention"]["rope_type"] == "yarn"
    assert parameters["full_attention"]["rope_theta"] == 1000000
    assert parameters["sliding_attention"] == {"rope_type": "default", "rope_theta": 10000}
    assert found.after is not None
    rotations = {layer.name: layer.rotation for layer in found.after.layers}
    full, sliding = rotations["full attention"], rotations["sliding attention"]
    assert full is not None
    assert sliding is not None
    assert isinstance(full.scaling, YaRN)
    assert sliding.inverse_frequencies() == pytest.approx([10000.0 ** (-i / 128) for i in range(128)])
    nested = {key: value for key, value in gemma.items() if not key.startswith("rope")} | {"rope_parameters": parameters}
    nested["max_position_embeddings"] = 131072
    again = extended(nested, 262144)
    assert json.loads(shown(again, "transformers-5"))["rope_parameters"]["full_attention"]["factor"] == 8.0
    assert "no dictionary for each kind of layer" in next(e.refused for e in again.spellings if e.dialect == "transformers-4")


def test_a_scaling_that_weights_were_trained_with_is_continued_and_never_replaced() -> None:
    llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    trained = QWEN | {
        "model_type": "llama",
        "max_position_embeddings": 131072,
        "rope_scaling": llama3 | {"original_max_position_embeddings": 8192},
    }
    found = extended(trained, 262144)
    assert {option.method: option.suits for option in found.assessment.options} == {
        "ntk": "possible",
        "yarn": "no",
        "linear": "no",
        "dynamic": "no",
        "longrope": "no",
        "drop": "possible",
    }
    rotation = turning(found)
    assert isinstance(rotation.scaling, Llama3)
    assert rotation.base.value == pytest.approx(1000000.0 * 2 ** (128 / 126))
    with pytest.raises(RefusedError, match="it would replace the llama3 scaling"):
        extended(trained, 262144, "yarn")
    yarn = QWEN | {
        "max_position_embeddings": 131072,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768, "beta_fast": 16.0},
    }
    assert turning(extended(yarn, 262144)).scaling == YaRN(8.0, 32768, beta_fast=16.0)
    linear = QWEN | {"rope_scaling": {"type": "linear", "factor": 4.0}}
    ladder = turning(extended(linear, 65536)).inverse_frequencies()
    assert ladder is not None
    assert ladder[0] == 1 / 8


def test_a_length_that_the_file_claims_asks_for_nothing() -> None:
    found = extended(QWEN, 16384)
    assert (found.assessment.need, found.spellings, found.edited) == ("nothing", (), "")
    assert found.cache_bytes == 16384 * 2 * 2 * 128 * 4 * 2


@pytest.mark.parametrize(
    ("config", "need", "told"),
    [
        (
            {"model_type": "gpt2", "n_embd": 64, "n_head": 2, "n_layer": 2, "n_positions": 1024},
            "impossible",
            "1,024 learned rows",
        ),
        ({"model_type": "bloom", "hidden_size": 64, "n_head": 2, "n_layer": 2}, "unscalable", "ALiBi"),
        ({"model_type": "t5", "d_model": 64, "num_heads": 2, "num_layers": 2}, "unscalable", "relative buckets"),
        ({"model_type": "mamba", "hidden_size": 64, "num_hidden_layers": 2}, "unscalable", "a recurrence"),
        ({"model_type": "never-heard-of", "hidden_size": 64}, "impossible", "unknown"),
        (QWEN | {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "nothing", "follows the row's length"),
        (MISTRAL, "length", "4,096 keys at most"),
    ],
    ids=["learned", "alibi", "t5", "state space", "unknown", "dynamic", "all windowed"],
)
def test_models_that_cannot_or_need_not_be_stretched_say_why(config: dict[str, Any], need: str, told: str) -> None:
    found = extended(config, 131072)
    assert found.assessment.need == need
    assert told in found.assessment.why
    if need != "length":
        with pytest.raises(RefusedError):
            extended(config, 131072, "yarn")


def test_where_only_the_claim_grows_only_the_claim_is_edited() -> None:
    found = extended(MISTRAL, 131072)
    assert json.loads(shown(found, "transformers-4")) == {"max_position_embeddings": 131072}
    assert found.cost is not None
    assert found.cost.untouched
    assert shown(found, "llama.cpp") == "-c 131072"


def test_longrope_cannot_be_made_from_nothing() -> None:
    with pytest.raises(RefusedError, match="searched"):
        extended(QWEN, 131072, "longrope")


def test_a_family_whose_code_reads_no_scaling_gets_no_edit() -> None:
    found = extended({"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_layer": 2, "rotary_dim": 64}, 8192)
    assert found.edited == ""
    assert all(each.refused for each in found.spellings if each.dialect != "llama.cpp")


def test_the_trained_context_can_be_stated_where_the_file_understates_it() -> None:
    short = QWEN | {"max_position_embeddings": 512}
    assert turning(extended(short, 131072, trained=32768)).scaling == YaRN(4.0, 32768)
    with pytest.raises(ArgumentError, match="--trained"):
        extended(short, 131072, trained=0)
    with pytest.raises(ArgumentError, match="--to"):
        extended(QWEN, 0)


def test_the_cost_on_short_inputs_is_measured_on_the_frequencies() -> None:
    linear = extended(QWEN, 131072, "linear").cost
    assert linear is not None
    assert (linear.pairs, linear.pairs_moved, linear.score_factor) == (64, 64, 1.0)
    assert linear.largest_divisor == pytest.approx(4.0)
    plain = [1000000.0 ** (-i / 64) for i in range(64)]
    near = next(each.cosine for each in linear.agreement if each.distance == 4)
    assert near == pytest.approx(math.fsum(math.cos(4 * f * 0.75) for f in plain) / 64)
    yarn = extended(QWEN, 131072, "yarn").cost
    assert yarn is not None
    assert yarn.pairs_moved < 64
    assert yarn.score_factor == pytest.approx((0.1 * math.log(4) + 1) ** 2)
    dynamic = extended(QWEN, 131072, "dynamic").cost
    assert dynamic is not None
    assert dynamic.untouched


def test_an_edit_that_reads_back_otherwise_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    import ordinate.inspection.extension.plan

    real = inspect_config

    def forgetful(source: Any, **kwargs: Any) -> Any:
        return real({key: value for key, value in source.items() if key != "rope_scaling"}, **kwargs)

    monkeypatch.setattr(ordinate.inspection.extension.plan, "inspect_config", forgetful)
    document = document_of(QWEN)
    found = extend(document, real(QWEN), 131072)
    refused = {each.dialect: each.refused for each in found.spellings}
    assert "does not say what was meant" in refused["transformers-4"]
    assert refused["transformers-5"] == ""
    assert found.own == "transformers-5"


def test_writing_keeps_the_old_file_its_rights_and_its_shape(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    text = json.dumps(QWEN, indent=4) + "\n"
    path.write_text(text)
    path.chmod(0o640)
    document = read_document(path)
    found = extend(document, inspect_document(document), 131072)
    assert path.read_text() == text  # planning writes nothing
    kept = write(found, path)
    assert kept.read_text() == text
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.read_text() == found.edited
    assert inspect_config(path).contexts.claimed.value == 131072
    document = read_document(path)
    second = write(extend(document, inspect_document(document), 262144), path)
    assert second != kept
    assert kept.read_text() == text
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["config.json", "config.json.bak", "config.json.bak.2"]


def test_writing_where_it_is_not_allowed_says_so_and_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(QWEN))
    document = read_document(path)
    found = extend(document, inspect_document(document), 131072)

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", denied)
    with pytest.raises(OutputError, match="Permission denied"):
        write(found, path)
    assert json.loads(path.read_text()) == QWEN
    with pytest.raises(RefusedError, match="an edit"):
        write(extend(document, inspect_document(document), 1024), path)


def test_a_gguf_file_gets_flags_only() -> None:
    keys = {
        "general.architecture": "qwen2",
        "qwen2.block_count": 4,
        "qwen2.embedding_length": 1024,
        "qwen2.attention.head_count": 8,
        "qwen2.context_length": 32768,
        "qwen2.rope.freq_base": 1000000.0,
    }
    document = Document("model.gguf", None, header=Header(3, "little", keys))
    found = extend(document, inspect_document(document), 65536)
    assert [(each.dialect, each.text) for each in found.spellings] == [
        ("llama.cpp", "--rope-scaling yarn --rope-scale 2 --yarn-orig-ctx 32768 -c 65536")
    ]
    assert found.edited == ""


def test_an_option_says_what_tuning_its_method_needs_and_cites_who_measured_it() -> None:
    options = assess(inspect_config(QWEN).main, 131072).options
    assert {option.method for option in options} == set(METHODS)
    assert all("20" in option.tuning for option in options)


def test_dropping_the_rotations_is_a_warning_and_no_edit() -> None:
    document = Document("config.json", None, config=QWEN, text=json.dumps(QWEN))
    found = extend(document, inspect_document(document), 131072, method="drop")
    assert found.chosen is not None
    assert "Warning: until it has been trained on" in found.chosen.why
    assert "at the trained length" in found.chosen.tuning
    assert found.edited == ""
    assert len(found.spellings) == 4
    assert all("no setting takes rotations out" in each.refused for each in found.spellings)
    assert extend(document, inspect_document(document), 131072).chosen.method == "yarn"
    with pytest.raises(RefusedError, match="8 times the trained length"):
        extend(document, inspect_document(document), 32768 * 16, method="drop")


@with_configs
def test_every_real_config_is_judged_and_no_offered_edit_loses_a_base_or_a_section() -> None:
    offered = 0
    for path in sorted(CONFIGS.glob("*.json")):
        document = read_document(path)
        before = inspect_document(document)
        found = extend(document, before, 4 * (before.contexts.claimed.value or 4096))
        json.dumps(found.to_dict(), allow_nan=False)
        if found.after is None:
            continue
        offered += 1
        for old, new in zip(before.layers, found.after.layers, strict=True):
            if old.rotation is None or new.rotation is None:
                assert old.rotation is new.rotation, path.name
                continue
            assert old.rotation.rotary_dim.value == new.rotation.rotary_dim.value, path.name
            if found.chosen is None or found.chosen.method != "ntk":
                assert old.rotation.base.value == new.rotation.base.value, path.name
            assert (old.rotation.sections is None) == (new.rotation.sections is None), path.name
    assert offered >= 55


@settings(max_examples=60, deadline=None)
@given(
    base=st.floats(1.5, 1e9),
    heads=st.sampled_from([(8, 64), (4, 128), (16, 40)]),
    start=st.integers(256, 2**18),
    stretch=st.floats(1.1, 300),
    method=st.sampled_from(["linear", "ntk", "dynamic", "yarn"]),
)
def test_any_model_and_length_gives_a_proved_edit_or_one_line(
    base: float, heads: tuple[int, int], start: int, stretch: float, method: Method
) -> None:
    config = QWEN | {
        "rope_theta": base,
        "num_attention_heads": heads[0],
        "head_dim": heads[1],
        "max_position_embeddings": start,
    }
    length = int(start * stretch) + 1
    try:
        found = extended(config, length, method)
    except OrdinateError as error:
        refused = str(error)
        assert "\n" not in refused
        return
    assert found.after is not None
    assert method == "dynamic" or found.after.contexts.claimed.value == length


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.lists(st.integers(-1, 9) | st.floats(0, 2), max_size=4),
    st.dictionaries(
        st.sampled_from(["rope_type", "type", "factor", "full_attention", "rope_theta"]), st.integers(0, 9), max_size=3
    ),
    st.sampled_from(["yarn", "linear", "dynamic", "llama3", "longrope", "default", "llama", "gemma3_text", 4.0, 1e30, 65536]),
)
TELLING = re.compile(
    r"rope|theta|max_pos|n_pos|seq|head|window|layer|hidden|model_type|partial|config|factor|original|base|scal"
)


def places(config: dict[str, Any], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of all members whose names bear on position."""
    found = []
    for key, value in config.items():
        if TELLING.search(key):
            found.append((*above, key))
        if isinstance(value, dict):
            found += places(value, (*above, key))
    return found


@with_configs
@settings(max_examples=120, deadline=None)
@given(name=st.sampled_from(sorted(path.name for path in CONFIGS.glob("*.json")) or [""]), draw=st.data())
def test_real_configs_with_members_replaced_never_end_in_another_error(name: str, draw: st.DataObject) -> None:
    config = json.loads((CONFIGS / name).read_text(encoding="utf-8"))
    for _ in range(draw.draw(st.integers(1, 3))):
        path = draw.draw(st.sampled_from(places(config)))
        place = config
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = draw.draw(JUNK)
    try:
        document = document_of(config)
        inspection = inspect_document(document)
        json.dumps(difference(inspection, inspect_config(CONFIGS / name)).to_dict(), allow_nan=False)
        found = extend(
            document, inspection, draw.draw(st.integers(1, 10**7)), method=draw.draw(st.sampled_from([None, *METHODS]))
        )
        json.dumps(found.to_dict(), allow_nan=False)
    except OrdinateError as error:
        refused = str(error)
        assert "\n" not in refused


CLASSES = {
    "Qwen2-72B-Instruct.json": "qwen2.modeling_qwen2.Qwen2RotaryEmbedding",
    "Meta-Llama-3.1-8B.json": "llama.modeling_llama.LlamaRotaryEmbedding",
    "Qwen2.5-VL-7B-Instruct.json": "qwen2_5_vl.modeling_qwen2_5_vl.Qwen2_5_VLRotaryEmbedding",
    "Qwen3-VL-4B.json": "qwen3_vl.modeling_qwen3_vl.Qwen3VLTextRotaryEmbedding",
    "gemma-3-27b-it.json": "gemma3.modeling_gemma3.Gemma3RotaryEmbedding",
    "DeepSeek-V3.json": "deepseek_v3.modeling_deepseek_v3.DeepseekV3RotaryEmbedding",
    "GLM-4.5.json": "glm4_moe.modeling_glm4_moe.Glm4MoeRotaryEmbedding",
    "Olmo-3.1-32B-Instruct.json": "olmo3.modeling_olmo3.Olmo3RotaryEmbedding",
    "gpt-oss-20b.json": "gpt_oss.modeling_gpt_oss.GptOssRotaryEmbedding",
    "phi-1.json": "phi.modeling_phi.PhiRotaryEmbedding",
    "stablelm-test.json": "stablelm.modeling_stablelm.StableLmRotaryEmbedding",
    "falcon-7b-test.json": "falcon.modeling_falcon.FalconRotaryEmbedding",
    "modernbert-cls.json": "modernbert.modeling_modernbert.ModernBertRotaryEmbedding",
    "MiniCPM-V-4_6.json": "qwen3_5.modeling_qwen3_5.Qwen3_5TextRotaryEmbedding",
}


def library_ladders(text: str, name: str, length: int, directory: Path) -> dict[str, tuple[list[float], float]]:
    """Inverse frequencies and the factor on cos and sin that transformers computes from a config's text, by kind of layer."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    (directory / "config.json").write_text(text)
    config = transformers.AutoConfig.from_pretrained(directory).get_text_config()
    module_name, class_name = CLASSES[name].rsplit(".", 1)
    module = importlib.import_module(f"transformers.models.{module_name}")
    rotary = getattr(module, class_name)(config)
    kinds = getattr(rotary, "layer_types", None) or [""]
    ladders = {}
    for kind in kinds:
        prefix = f"{kind}_" if kind else ""
        if not hasattr(rotary, f"{prefix}inv_freq"):
            continue
        if "dynamic" in str(getattr(rotary, "rope_type", "")):
            # it changes its frequencies when it sees the length
            rotary(torch.zeros(1, 1, 8), torch.arange(length)[None], *([kind] if kind else []))
        frequencies = getattr(rotary, f"{prefix}inv_freq")
        ladders[kind] = (frequencies.double().tolist(), float(getattr(rotary, f"{prefix}attention_scaling")))
    return ladders


@pytest.mark.slow
@with_configs
@pytest.mark.parametrize("name", sorted(CLASSES))
def test_transformers_reads_every_offered_edit_as_this_reader_does(name: str, tmp_path: Path) -> None:
    document = read_document(CONFIGS / name)
    before = inspect_document(document)
    claimed = before.contexts.claimed.value
    length = 4 * claimed
    checked = 0
    for method in METHODS:
        try:
            found = extend(document, before, length, method=method)
        except RefusedError:
            continue
        from ordinate.inspection.extension.editing import apply

        for spelling in found.spellings:
            if not spelling.edits:
                continue
            text = apply(document.text, spelling.edits)
            ours = inspect_config(json.loads(text))
            ladders = library_ladders(text, name, length, tmp_path)
            for layer in ours.layers:
                if layer.rotation is None:
                    continue
                theirs = ladders.get(layer.name.replace(" ", "_")) or ladders.get("")
                assert theirs is not None, (method, spelling.dialect, layer.name, list(ladders))
                mine = layer.rotation.inverse_frequencies(length)
                assert mine == pytest.approx(theirs[0], rel=2e-5), (method, spelling.dialect, layer.name)
                assert layer.rotation.cos_sin_factor == pytest.approx(theirs[1], rel=1e-6), (method, spelling.dialect)
                checked += 1
    assert checked


def yarn_of_a_release(config: dict[str, Any], release: int) -> list[float]:
    """YaRN's frequencies as transformers 4.`release` forms them: the arithmetic of its `modeling_rope_utils.py`, in floats."""
    scaling, dim, base = config["rope_scaling"], 128, config["rope_theta"]
    factor, trained = scaling["factor"], config["max_position_embeddings"]
    if release >= 51 and "original_max_position_embeddings" in scaling:
        trained = scaling["original_max_position_embeddings"]
        if release < 56:
            factor = config["max_position_embeddings"] / trained

    def pair(turns: float) -> float:
        return dim * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = max(math.floor(pair(32)), 0), min(math.ceil(pair(1)), dim - 1)
    plain = [base ** (-2 * i / dim) for i in range(dim // 2)]
    kept = [1 - min(max((i - low) / (high - low), 0), 1) for i in range(dim // 2)]
    return [f * share + f / factor * (1 - share) for f, share in zip(plain, kept, strict=True)]


@pytest.mark.parametrize("release", [43, 45, 50, 51, 55, 56, 57])
def test_the_yarn_edit_is_right_for_the_releases_that_it_names_and_older_ones_get_their_own(release: int) -> None:
    model = json.loads((Path(__file__).parents[2] / "docs" / "examples" / "model.json").read_text())
    found = extended(model | {"transformers_version": f"4.{release}.1"}, 131072, "yarn")
    (edit,) = [each for each in found.spellings if each.dialect == "transformers-4"]
    edited = json.loads(found.edited)
    meant = pytest.approx(YaRN(4.0, 32768).inverse_frequencies(128, 1e6), rel=1e-6)
    assert edit.since.startswith("for transformers 4.51 and later")
    assert (yarn_of_a_release(edited, release) == meant) == (release >= 51)
    if release < 51:
        assert f"the file names 4.{release}.1: in 4.43 to 4.50 leave max_position_embeddings at 32,768" in edit.since
        assert yarn_of_a_release(edited | {"max_position_embeddings": 32768}, release) == meant


def test_a_release_without_yarn_is_named_and_other_scalings_are_spelled_in_its_word() -> None:
    model = {"model_type": "llama", "max_position_embeddings": 4096, "transformers_version": "4.37.2"}
    since = {each.dialect: each.since for each in extended(model, 8192, "yarn").spellings}
    assert since["transformers-4"].endswith("the file names 4.37.2, which has no YaRN: no edit makes it")
    assert since["transformers-5"] == "for transformers 5.0 and later"
    linear = extended(model, 8192, "linear")
    assert json.loads(linear.edited)["rope_scaling"] == {"type": "linear", "factor": 2.0}
    assert linear.to_dict()["edits"]["transformers-4"]["since"].startswith("for the transformers 4.37.2 that the file names")
    later = extended(model | {"transformers_version": "4.57.1"}, 8192, "linear")
    assert json.loads(later.edited)["rope_scaling"] == {"rope_type": "linear", "factor": 2.0}


def test_a_factor_near_zero_costs_nothing_that_json_cannot_say() -> None:
    config = json.loads((CASES / "configs" / "DeepSeek-V2-test.json").read_text(encoding="utf-8"))
    config["rope_scaling"]["factor"] = 1e-308
    document = Document("config.json", None, config=config, text=json.dumps(config))
    for tokens in (1, 8192, 10**6):
        json.dumps(extend(document, inspect_document(document), tokens).to_dict(), allow_nan=False)
