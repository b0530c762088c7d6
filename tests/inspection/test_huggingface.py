"""Configs written for these tests, one a trap: what each family's code does that its file does not say.

Expected numbers come from the papers' formulas, worked out here by hand or by `math`, never from the reader.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ordinate.errors import ArgumentTypeError, DataError
from ordinate.inspection import inspect_config
from ordinate.inspection.records import Rotation

BASE: dict[str, Any] = {
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_hidden_layers": 8,
    "max_position_embeddings": 4096,
}


def rotation(told: dict[str, Any]) -> Rotation:
    turn = inspect_config(told).layers[0].rotation
    assert turn is not None
    return turn


def facts(told: dict[str, Any]) -> tuple[Any, ...]:
    """kind, layout, channels turned, channels of a head, base."""
    inspection = inspect_config(told)
    layer = inspection.layers[0]
    turn = layer.rotation
    head = layer.attention.head_dim.value
    if turn is None:
        return inspection.kind, None, None, head, None
    return inspection.kind, turn.layout.value, turn.rotary_dim.value, head, turn.base.value


FAMILIES: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
    # name, what the file says beyond BASE, (kind, layout, rotated channels, channels of a head, base)
    ("llama", {"rope_theta": 5e5}, ("rope", "half", 64, 64, 5e5)),
    ("mistral", {"sliding_window": None}, ("rope", "half", 64, 64, 1e4)),
    ("mixtral", {}, ("rope", "half", 64, 64, 1e6)),
    ("qwen3", {"head_dim": 128}, ("rope", "half", 128, 128, 1e4)),
    ("gemma", {}, ("rope", "half", 256, 256, 1e4)),
    ("cohere", {"rope_theta": 8e6}, ("rope", "interleaved", 64, 64, 8e6)),
    ("glm4", {}, ("rope", "interleaved", 64, 128, 1e4)),
    ("glm4_moe", {"head_dim": 128, "partial_rotary_factor": 0.5}, ("rope", "half", 64, 128, 1e4)),
    ("gpt_neox", {"rotary_pct": 0.25, "rotary_emb_base": 1e4}, ("rope", "half", 16, 64, 1e4)),
    ("gptj", {"n_embd": 1024, "n_head": 8, "rotary_dim": 64}, ("rope", "interleaved", 64, 64, 1e4)),
    ("codegen", {"n_embd": 1024, "n_head": 8, "rotary_dim": 32}, ("rope", "interleaved", 32, 64, 1e4)),
    ("phi", {"partial_rotary_factor": 0.5}, ("rope", "half", 32, 64, 1e4)),
    ("stablelm", {"partial_rotary_factor": 0.25}, ("rope", "half", 16, 64, 1e4)),
    ("persimmon", {}, ("rope", "half", 32, 64, 1e4)),
    ("falcon", {"multi_query": True, "alibi": False}, ("rope", "half", 64, 64, 1e4)),
    ("falcon", {"alibi": True}, ("alibi", None, None, 64, None)),
    ("minimax_m2", {"head_dim": 128, "rotary_dim": 64}, ("rope", "half", 64, 128, 5e6)),
    ("nemotron", {}, ("rope", "half", 32, 64, 1e4)),
    ("ernie4_5", {"head_dim": 64}, ("rope", "interleaved", 64, 64, 5e5)),
    ("helium", {"head_dim": 64}, ("rope", "interleaved", 64, 64, 1e5)),
    ("apertus", {"rope_scaling": {"rope_type": "default"}}, ("rope", "half", 64, 64, 12e6)),
    ("bamba", {"attn_layer_indices": [3, 7]}, ("rope", "half", 32, 64, 1e4)),
    ("qwen3_next", {"head_dim": 256}, ("rope", "half", 64, 256, 1e4)),
    ("granitemoehybrid", {"layer_types": ["attention"] * 8}, ("none", None, None, 64, None)),
    ("granitemoehybrid", {"layer_types": ["attention"] * 8, "position_embedding_type": "rope"}, ("rope", "half", 64, 64, 1e4)),
    ("zamba2", {"attention_head_dim": 64}, ("none", None, None, 64, None)),
    ("zamba2", {"attention_head_dim": 64, "use_mem_rope": True}, ("rope", "half", 64, 64, 1e4)),
    ("jamba", {"rope_theta": 1e4}, ("none", None, None, 64, None)),
    ("deepseek_v2", {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64}, ("rope", "interleaved", 64, 192, 1e4)),
    ("deepseek_v3", {"qk_rope_head_dim": 64, "rope_interleave": False}, ("rope", "half", 64, 192, 1e4)),
    ("minicpm3", {"qk_nope_head_dim": 64, "qk_rope_head_dim": 32}, ("rope", "half", 32, 96, 1e4)),
    ("kimi_linear", {}, ("none", None, None, 192, None)),
    ("qwen", {"seq_length": 2048, "rotary_emb_base": 1e4, "kv_channels": 128}, ("rope", "half", 128, 128, 1e4)),
    ("chatglm", {"rope_ratio": 50, "kv_channels": 128}, ("rope", "interleaved", 64, 128, 5e5)),
    ("chatglm", {"position_encoding_2d": True}, ("rope2d", "half", 64, 64, 1e4)),
    ("internlm2", {"rope_theta": 1e6}, ("rope", "half", 64, 64, 1e6)),
    ("minicpm", {}, ("rope", "half", 64, 64, 1e4)),
    ("baichuan", {}, ("rope", "half", 64, 64, 1e4)),
    ("baichuan", {"max_position_embeddings": None, "model_max_length": 4096}, ("alibi", None, None, 64, None)),
    ("minimax_text_01", {"head_dim": 128, "rotary_dim": 64, "rope_theta": 1e7}, ("rope", "half", 64, 128, 1e7)),
    ("kimi_k2", {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rope_theta": 5e4}, ("rope", "interleaved", 64, 192, 5e4)),
    ("moonvit", {}, ("rope2d", "interleaved", 64, 64, 1e4)),
    ("eurobert", {"rope_theta": 25e4}, ("rope", "half", 64, 64, 25e4)),
    ("nomic_bert", {}, ("rope", "half", 64, 64, 1e3)),
    ("roformer", {}, ("rope", "interleaved", 64, 64, 1e4)),
    ("esm", {"position_embedding_type": "rotary"}, ("rope", "half", 64, 64, 1e4)),
    ("bert", {}, ("learned", None, None, 64, None)),
    ("bert", {"position_embedding_type": "relative_key"}, ("mixed", None, None, 64, None)),
    ("roberta", {"max_position_embeddings": 514}, ("learned", None, None, 64, None)),
    ("mpnet", {}, ("mixed", None, None, 64, None)),
    ("opt", {}, ("learned", None, None, 64, None)),
    ("gpt2", {"n_embd": 1024, "n_head": 16}, ("learned", None, None, 64, None)),
    ("bloom", {"n_head": 16}, ("alibi", None, None, 64, None)),
    ("mpt", {"d_model": 1024, "n_heads": 16, "attn_config": {"alibi": True}}, ("alibi", None, None, 64, None)),
    ("t5", {"d_model": 1024, "num_heads": 16, "d_kv": 64}, ("t5-bucket", None, None, 64, None)),
    ("deberta-v2", {"relative_attention": True, "position_biased_input": False}, ("deberta", None, None, 64, None)),
    ("xlnet", {"d_model": 1024, "n_head": 16, "d_head": 64}, ("transformer-xl", None, None, 64, None)),
    ("m2m_100", {"d_model": 1024}, ("sinusoidal", None, None, 64, None)),
    ("whisper", {"d_model": 1024, "encoder_attention_heads": 16}, ("mixed", None, None, 64, None)),
    ("wav2vec2", {}, ("conv", None, None, 64, None)),
    ("vits", {"window_size": 4}, ("shaw", None, None, 64, None)),
    ("vit", {"image_size": 224, "patch_size": 16}, ("learned", None, None, 64, None)),
    ("pixtral", {"head_dim": 64}, ("rope2d", "half", 64, 64, 1e4)),
    ("qwen2_5_vl_vision", {"num_heads": 16, "depth": 8}, ("rope2d", "half", 64, 64, 1e4)),
]
"""One row a family; what is expected was read in the code of the family, or in the paper."""


@pytest.mark.parametrize(
    ("name", "more", "expected"), FAMILIES, ids=[f"{name}-{index}" for index, (name, _, _) in enumerate(FAMILIES)]
)
def test_each_family_is_read_as_its_code_runs(name: str, more: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert facts({"model_type": name, **BASE, **more}) == expected


def test_frequencies_are_the_geometric_ladder_of_the_paper() -> None:
    found = rotation({"model_type": "llama", **BASE, "rope_theta": 5e5}).inverse_frequencies()
    assert found is not None
    assert found == pytest.approx([5e5 ** (-2 * i / 64) for i in range(32)], rel=1e-15)


@pytest.mark.parametrize("key", ["rope_parameters", "rope_scaling"])
def test_both_dialects_of_a_scaling_mean_the_same(key: str) -> None:
    scaling = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    if key == "rope_parameters":
        told = {"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, **scaling}}
    else:
        told = {"rope_theta": 5e5, "rope_scaling": {"type": "llama3", **scaling}}
    turn = rotation({"model_type": "llama", **BASE, "head_dim": 128, "max_position_embeddings": 131072, **told})
    found, plain = turn.inverse_frequencies(), turn.unscaled_frequencies()
    assert found is not None
    assert plain is not None
    assert found[:29] == plain[:29]
    assert [a / b for a, b in zip(plain[35:], found[35:], strict=True)] == pytest.approx([8.0] * 29)
    ratios = [a / b for a, b in zip(plain[29:35], found[29:35], strict=True)]
    assert ratios == pytest.approx([1.207484, 1.553415, 2.026313, 2.69453, 3.684253, 5.257327], rel=1e-6)  # case llama3-8b


def test_yarn_reads_whether_the_ramp_is_truncated() -> None:
    scaling = {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096}
    told = {"model_type": "gpt_oss", **BASE, "head_dim": 64, "rope_theta": 150000, "max_position_embeddings": 131072}
    exact = rotation({**told, "rope_scaling": {**scaling, "truncate": False}}).inverse_frequencies()
    rounded = rotation({**told, "rope_scaling": scaling}).inverse_frequencies()
    assert exact is not None
    assert rounded is not None
    assert exact[17] == pytest.approx(0.00012931870125, rel=1e-9)  # case yarn-truncate
    assert exact[9] == pytest.approx(0.031705696185, rel=1e-9)
    assert rounded[17] == pytest.approx(2.2794780e-4, rel=1e-6)


def test_yarn_of_qwen_comes_out_as_published() -> None:
    scaling = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    told = {"model_type": "qwen2", **BASE, "head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 131072}
    turn = rotation({**told, "rope_scaling": scaling})
    found = turn.inverse_frequencies()
    assert found is not None
    assert found[30] == pytest.approx(0.0010643609812, rel=1e-9)  # case yarn-qwen
    assert found[39] == pytest.approx(6.4903943208e-05, rel=1e-9)
    assert turn.cos_sin_factor == pytest.approx(1.138629436111989, rel=1e-12)  # case yarn-attention-factor


def test_deepseek_puts_yarns_magnitude_on_the_scores_and_others_do_not() -> None:
    scaling = {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "mscale": 1.0, "mscale_all_dim": 1.0}
    more = {**BASE, "max_position_embeddings": 163840, "rope_scaling": scaling}
    deepseek, llama = rotation({"model_type": "deepseek_v3", **more}), rotation({"model_type": "llama", **more})
    assert deepseek.cos_sin_factor == llama.cos_sin_factor == 1.0
    assert deepseek.softmax_factor == pytest.approx(1.8738542070926265)  # case yarn-mscale-all
    assert llama.softmax_factor == 1.0


def test_longrope_switches_past_the_original_context() -> None:
    told = {
        "model_type": "phi3",
        **BASE,
        "max_position_embeddings": 131072,
        "original_max_position_embeddings": 4096,
        "rope_scaling": {"type": "su", "short_factor": [1.0] * 32, "long_factor": [2.0] * 32},
    }
    turn = rotation(told)
    short, at, past = (turn.inverse_frequencies(length) for length in (1, 4096, 4097))
    assert turn.rule.value == "longrope"
    assert short == at
    assert at is not None
    assert past is not None
    assert [a / b for a, b in zip(at, past, strict=True)] == pytest.approx([2.0] * 32)
    assert turn.cos_sin_factor == pytest.approx(1.1902380714238083)  # case longrope-switch


def test_gemma_3_keeps_a_base_and_a_scaling_for_each_kind_of_layer() -> None:
    told = {
        "model_type": "gemma3_text",
        **BASE,
        "num_hidden_layers": 12,
        "head_dim": 256,
        "rope_theta": 1e6,
        "rope_local_base_freq": 10000.0,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
        "sliding_window": 512,
    }
    layers = {layer.name: layer for layer in inspect_config(told).layers}
    wide, near = layers["full attention"], layers["sliding attention"]
    assert (wide.indices, near.window_keys.value) == ((5, 11), 512)
    assert wide.rotation is not None
    assert near.rotation is not None
    global_ladder, local_ladder = wide.rotation.inverse_frequencies(), near.rotation.inverse_frequencies()
    assert global_ladder is not None
    assert local_ladder is not None
    assert global_ladder[1] == pytest.approx(0.1122108916, rel=1e-9)  # case gemma3-layers
    assert local_ladder[1] == pytest.approx(0.9305720409, rel=1e-9)


def test_the_nested_spelling_of_transformers_5_says_the_same_as_the_old_one() -> None:
    old = {"global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "global_attn_every_n_layers": 3}
    new = {
        "layer_types": ["full_attention" if index % 3 == 0 else "sliding_attention" for index in range(8)],
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 160000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        },
    }
    read = [inspect_config({"model_type": "modernbert", **BASE, "local_attention": 128, **more}) for more in (old, new)]
    summaries = [
        [
            (layer.name, layer.indices, layer.window_keys.value, layer.rotation and layer.rotation.base.value)
            for layer in one.layers
        ]
        for one in read
    ]
    assert summaries[0] == summaries[1]
    assert summaries[0][0] == ("full attention", (0, 3, 6), None, 160000.0)
    assert summaries[0][1][2] == 129  # 64 keys on each side and itself


def test_a_base_in_one_dictionary_and_a_scaling_in_the_other_are_both_taken() -> None:
    told = {"rope_parameters": {"rope_theta": 1e6}, "rope_scaling": {"type": "linear", "factor": 4}}
    inspection = inspect_config({"model_type": "llama", **BASE, **told})
    turn = inspection.layers[0].rotation
    assert turn is not None
    assert (turn.base.value, turn.rule.value, turn.settings["factor"].value) == (1e6, "linear", 4)  # case theta-and-legacy
    assert "transformers-drops-rope-parameters" in {finding.id for finding in inspection.findings}


def test_null_is_absent() -> None:
    told = {"model_type": "llama", "head_dim": None, "hidden_size": 2048, "num_attention_heads": 32, "rope_scaling": None}
    head = inspect_config({**told, "num_hidden_layers": 2}).layers[0].attention.head_dim
    assert (head.value, head.source) == (64, "derived")  # case head-dim-null


@pytest.mark.parametrize("base", [0, -1, 1, float("nan"), float("inf")])
def test_a_base_that_cannot_be_meant_is_an_error_that_names_the_key(base: float) -> None:
    inspection = inspect_config({"model_type": "llama", **BASE, "rope_theta": base})  # case theta-bad
    assert inspection.severity == "error"
    assert any(finding.severity == "error" and "rope_theta" in finding.message for finding in inspection.findings)
    turn = inspection.layers[0].rotation
    assert turn is not None
    assert turn.inverse_frequencies() is None
    assert inspection.spec is None


def test_llama_4_rotates_three_of_four_layers_and_sees_chunks_there() -> None:
    layers = inspect_config({"model_type": "llama4_text", **BASE, "attention_chunk_size": 2048}).layers
    assert [(layer.name, layer.kind, layer.indices, layer.window_keys.value) for layer in layers] == [
        ("chunked attention", "rope", (0, 1, 2, 4, 5, 6), 2048),
        ("full attention without rotation", "none", (3, 7), None),
    ]


def test_smollm_3s_list_holds_ones_for_layers_that_rotate() -> None:
    layers = inspect_config({"model_type": "smollm3", **BASE, "no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0]}).layers
    assert [(layer.kind, layer.indices) for layer in layers] == [("rope", (0, 1, 2, 4, 5, 6)), ("none", (3, 7))]


def test_olmo_3_scales_only_layers_without_a_window() -> None:
    scaling = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192, "attention_factor": 1.2}
    told = {"model_type": "olmo3", **BASE, "rope_theta": 5e5, "rope_scaling": scaling, "max_position_embeddings": 65536}
    wide, near = inspect_config(told).layers
    assert wide.rotation is not None
    assert near.rotation is not None
    assert (wide.name, wide.rotation.rule.value, wide.rotation.cos_sin_factor) == ("full attention", "yarn", 1.2)
    assert (near.name, near.rotation.rule.value, near.rotation.cos_sin_factor) == ("sliding attention", "none", 1.0)


def test_deepseek_v4_turns_the_last_channels_by_two_bases() -> None:
    told = {
        "model_type": "deepseek_v4",
        **BASE,
        "num_key_value_heads": 1,
        "head_dim": 512,
        "qk_rope_head_dim": 64,
        "compress_ratios": [0, 0, 4, 128, 4, 128, 4, 0],
        "rope_theta": 10000,
        "compress_rope_theta": 160000,
        "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536},
        "max_position_embeddings": 1048576,
    }
    layers = {layer.name: layer.rotation for layer in inspect_config(told).layers}
    near, wide = layers["sliding attention"], layers["compressed sparse attention"]
    assert near is not None
    assert wide is not None
    assert near.reversed_channels
    assert (near.base.value, near.rule.value) == (10000, "none")
    assert (wide.base.value, wide.rule.value, wide.cos_sin_factor) == (160000, "yarn", 1.0)


def test_hunyuans_alpha_is_a_fixed_change_of_base() -> None:
    scaling = {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}
    turn = rotation({"model_type": "hunyuan_v1_dense", **BASE, "head_dim": 128, "rope_theta": 1e4, "rope_scaling": scaling})
    found = turn.inverse_frequencies()
    assert (turn.rule.value, turn.rule.source) == ("ntk", "derived")
    assert found is not None
    assert found[1] == pytest.approx((1e4 * 1000 ** (128 / 126)) ** (-2 / 128), rel=1e-12)


def test_the_first_qwen_grows_in_steps() -> None:
    told = {
        "model_type": "qwen",
        **BASE,
        "kv_channels": 128,
        "seq_length": 2048,
        "use_dynamic_ntk": True,
        "rotary_emb_base": 10000,
    }
    inspection = inspect_config(told)
    turn = inspection.layers[0].rotation
    assert turn is not None
    assert inspection.contexts.trained.value == 2048
    ladder = turn.inverse_frequencies(4096)
    assert ladder is not None
    stretch = 2 ** math.ceil(math.log2(4096 / 2048) + 1) - 1  # get_ntk_alpha of modeling_qwen.py
    assert ladder[-1] == pytest.approx((10000 * stretch ** (128 / 126)) ** (-126 / 128), rel=1e-12)


def test_rows_that_positions_cannot_use_are_told_apart() -> None:
    opt = inspect_config({"model_type": "opt", **BASE}).layers[0].encodings[0]
    roberta = inspect_config({"model_type": "roberta", **BASE, "max_position_embeddings": 514}).layers[0].encodings[0]
    assert (opt.settings["rows"].value, opt.settings["positions"].value, opt.settings["first_row"].value) == (4098, 4096, 2)
    assert (roberta.settings["rows"].value, roberta.settings["positions"].value) == (514, 512)


def test_a_class_tells_the_family_where_the_model_type_is_unknown() -> None:
    told = {"model_type": "phi4", "architectures": ["Phi3ForCausalLM"], **BASE}
    inspection = inspect_config(told)
    assert inspection.main.model_type.value == "phi3"
    assert inspection.main.model_type.source == "derived"
    assert "model-type-unknown" in {finding.id for finding in inspection.findings}


def test_a_disputed_default_is_unknown_and_never_guessed() -> None:
    told = {"model_type": "mixtral", "architectures": ["LlamaForCausalLM"], **BASE, "num_key_value_heads": 8}
    turn = inspect_config(told).layers[0].rotation
    assert turn is not None
    assert not turn.base.known
    assert "different" in turn.base.detail
    stated = inspect_config({**told, "rope_theta": 1e6}).layers[0].rotation
    assert stated is not None
    assert stated.base.value == 1e6


def test_an_unknown_type_that_rotates_is_read_but_for_its_layout() -> None:
    turn = rotation({"model_type": "brand-new", **BASE, "rope_theta": 5e5})
    assert (turn.base.value, turn.rotary_dim.value) == (5e5, 64)
    assert not turn.layout.known
    assert turn.inverse_frequencies() is not None
    assert inspect_config({"model_type": "brand-new", **BASE, "rope_theta": 5e5}).spec is None


def test_an_unknown_type_without_a_word_about_position_is_unknown_with_the_reason() -> None:
    part = inspect_config({"model_type": "brand-new", **BASE}).main
    assert part.kind is None
    assert (part.num_layers.value, part.num_layers.source) == (BASE["num_hidden_layers"], "assumed")
    assert "brand-new" in part.parameters_on_position.detail


def test_old_composite_files_keep_their_text_at_the_top_level() -> None:
    vision = {"depth": 4, "hidden_size": 256, "num_heads": 4, "patch_size": 14}
    told = {
        "model_type": "qwen2_5_vl",
        **BASE,
        "vision_config": vision,
        "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]},
    }
    inspection = inspect_config(told)
    assert [(part.name, part.kind) for part in inspection.parts] == [("text", "mrope"), ("vision", "rope2d")]
    assert not [finding for finding in inspection.findings if finding.severity != "info"]


def test_a_bare_composite_name_has_the_default_parts() -> None:
    assert [(part.name, part.path) for part in inspect_config({"model_type": "llava"}).parts] == [
        ("text", "text_config"),
        ("vision", "vision_config"),
    ]


def test_a_file_a_directory_and_a_dictionary_say_the_same(tmp_path: Path) -> None:
    told = {"model_type": "llama", **BASE}
    (tmp_path / "config.json").write_text(json.dumps(told), encoding="utf-8")
    from_file, from_directory = inspect_config(tmp_path / "config.json"), inspect_config(str(tmp_path))
    assert from_file.parts == from_directory.parts == inspect_config(told).parts


@pytest.mark.parametrize("wrong", [None, 5, ["config.json"]])
def test_what_is_neither_a_dictionary_nor_a_name_is_refused(wrong: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="source: expected a dictionary or the name of a file"):
        inspect_config(wrong)


def test_a_list_at_the_top_level_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[1, 2]", encoding="utf-8")
    with pytest.raises(DataError):
        inspect_config(tmp_path / "config.json")


def test_reading_changes_nothing_in_the_dictionary() -> None:
    told = {"model_type": "gemma3_text", **BASE, "rope_scaling": {"type": "linear", "factor": 8.0}}
    before = json.dumps(told)
    inspect_config(told)
    assert json.dumps(told) == before


DBRX = {"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "max_seq_len": 32768}


def test_a_base_in_a_nested_dictionary_is_read_and_said_to_be_ignored_by_the_stock_class() -> None:
    inspection = inspect_config({**DBRX, "attn_config": {"kv_n_heads": 8, "rope_theta": 500000}})
    rotation = inspection.layers[0].rotation
    assert rotation is not None
    assert (rotation.base.value, rotation.base.detail) == (500000, "attn_config.rope_theta")
    assert inspection.layers[0].attention.num_kv_heads.value == 8
    assert "transformers-drops-base" in [finding.id for finding in inspection.findings]


def test_a_class_that_encodes_otherwise_goes_before_the_stated_type() -> None:
    config = {"model_type": "git", "architectures": ["Grok1ForCausalLM"], "rope_theta": 208533496, **BASE}
    inspection = inspect_config(config)
    assert inspection.kind == "rope"
    assert inspection.layers[0].rotation is not None
    assert inspection.layers[0].rotation.base.value == 208533496
    assert ("class-contradicts-type", "warning") in [(each.id, each.severity) for each in inspection.findings]


@pytest.mark.parametrize(
    "block",
    [{"attention": {"n_heads_in_group": 8, "no_op": False}}, {"attention": {"num_key_value_heads": 8}}],
)
def test_heads_in_a_list_of_blocks_are_read_layer_by_layer(block: dict[str, Any]) -> None:
    config = {
        "model_type": "deci",
        "hidden_size": 8192,
        "num_attention_heads": 64,
        "num_hidden_layers": 80,
        "torch_dtype": "bfloat16",
        "block_configs": [block] * 80,
    }
    cache = inspect_config(config).cache
    assert cache is not None
    assert cache.bytes_per_token.value == 80 * 2 * 8 * 128 * 2 == 327680
    skipping = inspect_config({**config, "block_configs": [block] * 40 + [{"attention": {"no_op": True}}] * 40}).cache
    assert skipping is not None
    assert skipping.bytes_per_token.value == 327680 // 2


def test_a_list_of_heads_is_no_error_and_splits_the_layers() -> None:
    config = {"model_type": "llama", **BASE, "num_key_value_heads": [2, 2, 4, 4, 2, 2, 2, 2]}
    inspection = inspect_config(config)
    assert {layer.indices: layer.attention.num_kv_heads.value for layer in inspection.layers} == {
        (0, 1, 4, 5, 6, 7): 2,
        (2, 3): 4,
    }
    assert inspection.severity is None


@pytest.mark.parametrize(("keys", "heads"), [({"multi_query": True}, 1), ({"num_query_groups": 4}, 4), ({}, 16)])
def test_heads_of_an_unknown_type_are_read_by_their_names_and_never_called_derived(keys: dict[str, Any], heads: int) -> None:
    value = inspect_config({"model_type": "brand-new", **BASE, **keys}).layers[0].attention.num_kv_heads
    assert (value.value, value.source) == (heads, "assumed")


@pytest.mark.parametrize("key", ["rotary_pct", "partial_rotary_factor", "rope_pct"])
def test_a_spelling_that_the_family_ignores_changes_nothing_and_is_a_finding(key: str) -> None:
    inspection = inspect_config({"model_type": "llama", **BASE, key: 0.5})
    rotation = inspection.layers[0].rotation
    assert rotation is not None
    assert rotation.rotary_dim.value == 64
    assert [(each.id, each.severity) for each in inspection.findings] == [("spelling-ignored", "warning")]
    neox = inspect_config({"model_type": "gpt_neox", **BASE, "rotary_pct": 0.5}).layers[0].rotation
    assert neox is not None
    assert neox.rotary_dim.value == 32


@pytest.mark.parametrize(
    ("config", "formula"),
    [
        ({"model_type": "llama4_text", "attn_temperature_tuning": 4}, "1 + 0.1 ln(1 + floor((p + 1) / 8192))"),
        ({"model_type": "llama4_text"}, "1 + 0.1 ln(1 + floor((p + 1) / 8192))"),
        ({"model_type": "llama4_text", "floor_scale": 4096, "attn_scale": 0.2}, "1 + 0.2 ln(1 + floor((p + 1) / 4096))"),
        ({"model_type": "llama4_text", "attn_temperature_tuning": False}, None),
        (
            {
                "model_type": "ministral3",
                "rope_parameters": {"llama_4_scaling_beta": 0.1, "original_max_position_embeddings": 16384, "rope_theta": 1e6},
            },
            "1 + 0.1 ln(1 + floor(p / 16384))",
        ),
    ],
)
def test_a_temperature_is_read_where_the_code_applies_it(config: dict[str, Any], formula: str | None) -> None:
    layers = inspect_config({**BASE, **config}).layers
    factors = {layer.temperature.value for layer in layers} - {None}
    assert factors == ({formula} if formula else set())
    if config["model_type"] == "llama4_text" and formula:
        assert [layer.kind for layer in layers if layer.temperature.value] == ["none"]


def test_a_key_that_is_almost_known_is_asked_about() -> None:
    (finding,) = inspect_config({"model_type": "llama", **BASE, "rope_tehta": 5e5}).findings
    assert 'rope_tehta (did you mean "rope_theta"?)' in finding.message
    nested = inspect_config({"model_type": "llama", **BASE, "attention": {"rope_theta": 5e5}})
    assert [(each.id, list(each.evidence)) for each in nested.findings] == [("keys-unknown", ["attention.rope_theta"])]
