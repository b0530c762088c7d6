"""What a GGUF header is said to mean, against real models' numbers and against llama.cpp's own arithmetic written out."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.frequencies import YaRN, inverse_frequencies
from ordinate.inspection import inspect_gguf
from ordinate.inspection.comparison import difference
from ordinate.inspection.extension.plan import extend
from ordinate.inspection.families.llama_cpp import ARCHITECTURES
from ordinate.inspection.files import Document
from ordinate.inspection.gguf_header import Header, Tensor
from ordinate.inspection.inspect import inspect_header
from ordinate.inspection.records import Inspection
from tests.external import CONFIGS
from tests.inspection.memory import libllama

gguf = pytest.importorskip("gguf")
FACTS = CONFIGS / "facts.csv"

LLAMA = {
    "block_count": 32,
    "embedding_length": 4096,
    "attention.head_count": 32,
    "attention.head_count_kv": 8,
    "context_length": 131072,
    "rope.freq_base": 500000.0,
    "rope.dimension_count": 128,
}


def inspected(architecture: str, keys: dict[str, Any], tensors: dict[str, list[float]] | None = None) -> Inspection:
    metadata = {"general.architecture": architecture} | {f"{architecture}.{key}": value for key, value in keys.items()}
    entries = {name: Tensor((len(values),), 0, 0, tuple(values)) for name, values in (tensors or {}).items()}
    return inspect_header(Header(3, "little", metadata, entries), "model.gguf")


def fact(file: str, column: str) -> float:
    with FACTS.open(encoding="utf-8") as rows:
        return float(next(row[column] for row in csv.DictReader(rows) if row["file"] == file))


def llama3_divisors(base: float, dim: int, factor: float) -> list[float]:
    """`rope_freqs.weight` as llama.cpp's converter computes it for Llama 3.1 (convert_hf_to_gguf.py), in float32."""
    low, high, old_context = 1.0, 4.0, 8192
    divisors = []
    for frequency in base ** -(np.arange(0, dim, 2, dtype=np.float32) / dim):
        wavelength = 2 * math.pi / frequency
        if wavelength < old_context / high:
            divisors.append(1.0)
        elif wavelength > old_context / low:
            divisors.append(factor)
        else:
            smooth = (old_context / wavelength - low) / (high - low)
            divisors.append(float(np.float32(1 / ((1 - smooth) / factor + smooth))))
    return divisors


def test_a_file_written_by_the_converters_package_is_told_like_the_models_config(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(32)
    writer.add_embedding_length(4096)
    writer.add_head_count(32)
    writer.add_head_count_kv(8)
    writer.add_context_length(131072)
    writer.add_rope_freq_base(500000.0)
    writer.add_rope_dimension_count(128)
    writer.add_tensor("rope_freqs.weight", np.array(llama3_divisors(500000.0, 128, 8.0), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    told = inspect_gguf(path)
    rotation = told.layers[0].rotation
    assert rotation is not None
    ladder = rotation.inverse_frequencies()
    assert ladder is not None
    assert ladder[-1] == pytest.approx(fact("Meta-Llama-3.1-8B.json", "inv_freq_last"), rel=1e-6)
    assert (rotation.rule.value, rotation.layout.value) == ("llama3", "interleaved")  # the converter reorders rows
    assert (told.contexts.trained.value, told.contexts.claimed.value) == (8192, 131072)
    assert told.cache is not None
    assert told.cache.bytes_per_token.value == 2 * 32 * 2 * 8 * 128
    assert rotation.base.detail == "llama.rope.freq_base"
    assert told.spec is not None
    assert told.spec.settings["layout"] == "interleaved"


def ggml_yarn(dim: int, base: float, factor: float, original: int, fast: float, slow: float) -> list[float]:
    """The angle per position of each pair as ggml's rope_yarn computes it (ggml-cpu/ops.cpp), with ext_factor 1."""

    def corrected(turns: float) -> float:
        return dim * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))

    start, end = max(0.0, math.floor(corrected(fast))), min(dim - 1.0, math.ceil(corrected(slow)))
    thetas = []
    for i0 in range(0, dim, 2):
        extrapolated = base ** (-i0 / dim)
        ramp = 1 - min(1.0, max(0.0, (i0 / 2 - start) / max(0.001, end - start)))
        thetas.append(extrapolated / factor * (1 - ramp) + extrapolated * ramp)
    return thetas


def llama_context_magnitude(factor: float, log_multiplier: float, attn_factor: float) -> float:
    """The factor on cos and sin after llama_context and ggml have each multiplied theirs."""
    scale = 0.1 * math.log(factor) + 1
    chosen = scale / (0.1 * log_multiplier * math.log(factor) + 1) if log_multiplier else scale
    chosen *= 1 / scale  # cancels what ggml multiplies in
    return chosen * attn_factor * scale


@pytest.mark.parametrize(
    ("extra", "log_multiplier", "attn_factor"),
    [
        ({}, 0.0, 1.0),
        ({"rope.scaling.yarn_log_multiplier": 1.0}, 1.0, 1.0),  # Devstral: the factor is on the scores' side of the weights
        ({"rope.scaling.attn_factor": 0.5}, 0.0, 0.5),
        ({"rope.scaling.yarn_beta_fast": 16.0, "rope.scaling.yarn_beta_slow": 2.0}, 0.0, 1.0),
    ],
    ids=["plain", "log multiplier", "attention factor", "betas"],
)
def test_yarn_is_what_llama_cpp_computes(extra: dict[str, float], log_multiplier: float, attn_factor: float) -> None:
    keys = LLAMA | {
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 16.0,
        "rope.scaling.original_context_length": 8192,
        **extra,
    }
    rotation = inspected("mistral3", keys).layers[0].rotation
    assert rotation is not None
    ladder = rotation.inverse_frequencies()
    fast = extra.get("rope.scaling.yarn_beta_fast", 32.0)
    slow = extra.get("rope.scaling.yarn_beta_slow", 1.0)
    assert ladder == pytest.approx(ggml_yarn(128, 500000.0, 16.0, 8192, fast, slow), rel=1e-12)
    assert rotation.cos_sin_factor == pytest.approx(llama_context_magnitude(16.0, log_multiplier, attn_factor), rel=1e-12)


def test_deepseeks_multiplier_is_undone_as_llama_cpp_undoes_it() -> None:
    keys = {
        "block_count": 61,
        "embedding_length": 7168,
        "attention.head_count": 128,
        "attention.head_count_kv": 1,
        "attention.key_length": 576,
        "attention.value_length": 512,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.kv_lora_rank": 512,
        "rope.dimension_count": 64,
        "rope.freq_base": 10000.0,
        "context_length": 163840,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 40.0,
        "rope.scaling.original_context_length": 4096,
        "rope.scaling.yarn_log_multiplier": 0.1,
    }
    told = inspected("deepseek2", keys)
    layer = told.layers[0]
    rotation = layer.rotation
    assert rotation is not None
    ladder = rotation.inverse_frequencies()
    assert ladder is not None
    assert ladder[-1] == pytest.approx(fact("DeepSeek-V3.json", "inv_freq_last"), rel=1e-6)
    assert rotation.cos_sin_factor == pytest.approx(fact("DeepSeek-V3.json", "attention_factor"))
    assert rotation.softmax_factor == pytest.approx((0.1 * math.log(40) + 1) ** 2)
    assert layer.attention.cached_width.value == 512 + 64
    assert (layer.attention.sort.value, rotation.head_dim.value) == ("multi-head latent", 192)
    old = inspected("deepseek2", {key: value for key, value in keys.items() if not key.endswith("_mla")})
    assert old.layers[0].attention.cached_width.value == 128 * (576 + 512)
    assert "latent-cache-expanded" in [finding.id for finding in old.findings]


def test_gemma_3_scales_only_layers_that_see_everything() -> None:
    keys = LLAMA | {
        "block_count": 62,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.sliding_window": 1024,
        "rope.freq_base": 1000000.0,
        "rope.scaling.type": "linear",
        "rope.scaling.factor": 8.0,
    }
    full, sliding = inspected("gemma3", keys).layers
    assert (full.name, full.indices) == ("full attention", tuple(range(5, 62, 6)))
    assert full.rotation is not None
    assert sliding.rotation is not None
    frequencies, local = full.rotation.inverse_frequencies(), sliding.rotation.inverse_frequencies()
    assert frequencies is not None
    assert frequencies[0] == pytest.approx(fact("gemma-3-27b-it.json", "inv_freq_first"), rel=1e-6)
    assert frequencies[-1] == pytest.approx(fact("gemma-3-27b-it.json", "inv_freq_last"), rel=1e-6)
    assert local == pytest.approx([10000.0 ** (-pair / 64) for pair in range(64)])
    assert sliding.window_keys.value == 1024


def test_longrope_comes_from_its_tensors_and_its_factor_from_the_key() -> None:
    short, long = [1.0 + i / 100 for i in range(48)], [2.0 + i for i in range(48)]
    keys = LLAMA | {
        "embedding_length": 3072,
        "attention.head_count_kv": 32,
        "rope.dimension_count": 96,
        "rope.freq_base": 10000.0,
        "rope.scaling.attn_factor": 1.1902380714238083,
        "rope.scaling.original_context_length": 4096,
        "attention.sliding_window": 262144,
    }
    told = inspected("phi3", keys, {"rope_factors_short.weight": short, "rope_factors_long.weight": long})
    rotation = told.layers[0].rotation
    assert rotation is not None
    plain = [10000.0 ** (-pair / 48) for pair in range(48)]
    assert rotation.inverse_frequencies(4096) == pytest.approx([f / d for f, d in zip(plain, short, strict=True)])
    assert rotation.inverse_frequencies(4097) == pytest.approx([f / d for f, d in zip(plain, long, strict=True)])
    assert rotation.cos_sin_factor == 1.1902380714238083
    assert "window-not-applied" in [finding.id for finding in told.findings]


def test_pairs_that_the_converter_stops_are_a_proportional_rule() -> None:
    keys = LLAMA | {"attention.sliding_window_pattern": [False] * 32, "attention.sliding_window": 512}
    told = inspected("gemma4", keys, {"rope_freqs.weight": [1.0] * 16 + [1e30] * 48})
    rotation = told.layers[0].rotation
    assert rotation is not None
    assert rotation.inverse_frequencies() == pytest.approx([500000.0 ** (-p / 64) if p < 16 else 0.0 for p in range(64)])


@pytest.mark.parametrize(
    ("architecture", "unrotated"),
    [
        ("llama4", range(3, 32, 4)),
        ("smollm3", range(3, 32, 4)),
        ("smallthinker", range(0, 32, 4)),
        ("cohere2", range(3, 32, 4)),
    ],
)
def test_layers_without_encoding_are_where_the_code_of_the_architecture_has_them(architecture: str, unrotated: range) -> None:
    told = inspected(architecture, LLAMA | {"attention.sliding_window": 4096})
    without = [index for layer in told.layers if layer.kind == "none" for index in layer.indices]
    assert sorted(without) == list(unrotated)


def test_recurrent_layers_keep_a_state_and_no_keys() -> None:
    keys = LLAMA | {
        "block_count": 48,
        "full_attention_interval": 4,
        "ssm.inner_size": 4096,
        "ssm.state_size": 128,
        "ssm.conv_kernel": 4,
        "ssm.group_count": 16,
    }
    full, linear = inspected("qwen3next", keys).layers
    assert full.indices == tuple(range(3, 48, 4))
    assert (linear.name, linear.attention.cached_width.value) == ("linear attention", 0)
    assert linear.attention.state_width.value == 3 * (4096 + 2 * 16 * 128) + 4096 * 128
    mixed = inspected("lfm2", LLAMA | {"block_count": 3, "attention.head_count_kv": [0, 8, 0], "shortconv.l_cache": 3})
    assert [(layer.name, layer.indices) for layer in mixed.layers] == [("full attention", (1,)), ("conv", (0, 2))]
    assert mixed.layers[1].attention.state_width.value == 4096 * 2


def test_sections_make_positions_of_several_axes() -> None:
    told = inspected("qwen2vl", LLAMA | {"rope.dimension_sections": [16, 24, 24, 0]})
    rotation = told.layers[0].rotation
    assert rotation is not None
    assert (rotation.sections is not None and rotation.sections.value, rotation.sharing) == ([16, 24, 24], "sections")
    woven = inspected("qwen3vl", LLAMA | {"rope.dimension_sections": [24, 20, 20, 0]}).layers[0].rotation
    assert woven is not None
    assert woven.sharing == "interleaved"
    assert (told.kind, told.layers[0].kind) == ("mrope", "mrope")


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [("gpt2", "learned"), ("bloom", "alibi"), ("t5", "t5-bucket"), ("mamba", None), ("mpt", "alibi")],
)
def test_architectures_that_do_not_rotate_say_what_they_do(architecture: str, kind: str | None) -> None:
    heads = {"attention.head_count": 0} if architecture == "mamba" else {}
    told = inspected(architecture, LLAMA | heads)
    assert told.kind == kind
    assert all(layer.rotation is None for layer in told.layers)


def test_yarn_without_its_original_context_is_a_finding_and_uses_what_llama_cpp_uses() -> None:
    told = inspected("qwen2", LLAMA | {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0})
    assert ("original-context-missing", "warning") in [(finding.id, finding.severity) for finding in told.findings]
    rotation = told.layers[0].rotation
    assert rotation is not None
    assert rotation.scaling == YaRN(4.0, 131072)


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    told = inspected("never-heard-of", LLAMA)
    assert told.layers == ()
    assert [finding.id for finding in told.findings] == ["model-type-unknown"]
    nameless = inspect_header(Header(3, "little", {"general.file_type": 1}), "vocabulary.gguf")
    assert not nameless.model_type.known
    empty = inspected("llama", {})
    assert not empty.main.num_layers.known
    headless = inspected("llama", {"block_count": 2, "context_length": 4096})
    assert headless.layers[0].spec is None
    assert headless.cache is not None
    assert not headless.cache.bytes_per_token.known


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("block_count", "many"),
        ("block_count", 10**6),
        ("rope.freq_base", float("nan")),
        ("rope.freq_base", float("inf")),
        ("rope.freq_base", 0.5),
        ("rope.dimension_count", 127),
        ("rope.dimension_count", 256),
        ("attention.head_count", [32, 32]),
        ("attention.head_count_kv", -1),
        ("context_length", 1.5),
        ("rope.scaling.factor", float("-inf")),
    ],
)
def test_a_value_that_cannot_be_is_a_finding_that_names_its_key(key: str, value: Any) -> None:
    told = inspected("llama", LLAMA | {"rope.scaling.type": "linear", key: value})
    worst = [finding for finding in told.findings if finding.severity == "error"]
    assert any(f"llama.{key}" in finding.evidence for finding in worst)


def test_the_table_covers_the_architectures_that_the_witness_knows() -> None:
    known = set(gguf.MODEL_ARCH_NAMES.values())
    newer = {"dflash", "gemma4-assistant", "eagle3", "gptj"} | set(libllama.MODELS)  # those that libllama itself loads
    assert set(ARCHITECTURES) - known <= newer
    assert len(known & set(ARCHITECTURES)) >= 0.9 * len(known)


junk = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.booleans(),
    st.text(max_size=6),
    st.lists(st.integers(-2, 300), max_size=40),
    st.lists(st.booleans(), max_size=40),
)
names = [
    *LLAMA,
    *("attention.key_length", "attention.value_length", "attention.sliding_window", "attention.sliding_window_pattern"),
    *("attention.kv_lora_rank", "attention.key_length_mla", "rope.dimension_sections", "rope.scaling.type"),
    *("rope.scaling.factor", "rope.scaling.original_context_length", "rope.scaling.yarn_beta_fast", "rope.scaling.alpha"),
    *("rope.scaling.yarn_log_multiplier", "rope.scaling.attn_factor", "full_attention_interval", "nextn_predict_layers"),
    *("ssm.inner_size", "ssm.state_size", "ssm.conv_kernel", "feed_forward_length", "rope.freq_base_swa"),
]


@settings(max_examples=150, deadline=None)
@given(
    architecture=st.sampled_from(sorted(ARCHITECTURES)),
    changes=st.dictionaries(st.sampled_from(names), junk, max_size=5),
    divisors=st.lists(st.floats(), max_size=70),
    scaling=st.sampled_from(["yarn", "linear", "longrope", "none", "magic"]),
)
def test_any_metadata_gives_an_inspection_a_comparison_and_a_judgement(
    architecture: str, changes: dict[str, Any], divisors: list[float], scaling: str
) -> None:
    tensors = {name: divisors for name in ("rope_freqs.weight", "rope_factors_short.weight") if divisors}
    told = inspected(architecture, LLAMA | {"rope.scaling.type": scaling} | changes, tensors)
    assert json.loads(json.dumps(told.to_dict(), allow_nan=False))["model_type"]["value"] == architecture
    assert difference(told, told).positions != "different"
    metadata = {"general.architecture": architecture}
    extend(Document("model.gguf", None, header=Header(3, "little", metadata)), told, 10**6)


def test_plain_frequencies_are_the_geometric_ladder() -> None:
    rotation = inspected("qwen2", LLAMA).layers[0].rotation
    assert rotation is not None
    assert rotation.inverse_frequencies() == inverse_frequencies(128, 500000.0)
    assert rotation.layout.value == "half"


def test_layers_that_share_an_earlier_cache_keep_none_of_their_own() -> None:
    """Gemma 4 E2B: 15 of 35 layers keep keys and values, one head of 512 channels in 3 of them, of 256 in the other 12."""
    keys = {
        "block_count": 35,
        "embedding_length": 1536,
        "attention.head_count": 8,
        "attention.head_count_kv": 1,
        "attention.key_length": 512,
        "attention.value_length": 512,
        "attention.key_length_swa": 256,
        "attention.value_length_swa": 256,
        "attention.sliding_window": 512,
        "attention.sliding_window_pattern": [(index + 1) % 5 != 0 for index in range(35)],
        "attention.shared_kv_layers": 20,
        "context_length": 131072,
    }
    cache = inspected("gemma4", keys).cache
    assert cache is not None
    assert cache.bytes_per_token.value == (3 * 2 * 512 + 12 * 2 * 256) * 2 == 18432


def test_kimis_layers_keep_what_llama_cpp_allocates() -> None:
    """n_embd_r = 3 (d_conv - 1) n_head d and n_embd_s = d^2 n_head, in float32 (llama-hparams.cpp); latents for the others."""
    keys = LLAMA | {
        "block_count": 4,
        "attention.head_count_kv": [0, 0, 0, 1],
        "attention.key_length": 576,
        "attention.value_length": 512,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.kv_lora_rank": 512,
        "rope.dimension_count": 64,
        "kda.head_dim": 128,
        "ssm.conv_kernel": 4,
    }
    full, linear = inspected("kimi-linear", keys).layers
    assert full.attention.cached_width.value == 512 + 64
    assert linear.attention.state_width.value == 3 * 3 * 32 * 128 + 128 * 128 * 32
    assert linear.attention.state_bytes.value == 4 * linear.attention.state_width.value


def test_an_indexer_caches_its_keys_beside_the_latent() -> None:
    keys = LLAMA | {
        "attention.head_count_kv": 1,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.kv_lora_rank": 512,
        "rope.dimension_count": 64,
        "attention.indexer.key_length": 128,
        "attention.indexer.head_count": 64,
        "attention.indexer.top_k": 2048,
    }
    assert inspected("deepseek32", keys).layers[0].attention.cached_width.value == 512 + 64 + 128


@pytest.mark.parametrize(
    "architecture", ["bert", "nomic-bert", "jina-bert-v3", "eurobert", "dream", "llada", "gemma-embedding"]
)
def test_models_for_which_llama_cpp_makes_no_cache_show_none(architecture: str) -> None:
    assert inspected(architecture, LLAMA).cache is None
    assert inspected("llama", LLAMA | {"attention.causal": False}).cache is None


def test_a_layer_with_attention_and_a_recurrence_keeps_both() -> None:
    ssm = {"ssm.inner_size": 4096, "ssm.state_size": 256, "ssm.conv_kernel": 4, "ssm.group_count": 1}
    (layer,) = inspected("falcon-h1", LLAMA | ssm).layers
    assert layer.attention.cached_width.value == 2 * 8 * 128
    assert layer.attention.state_width.value == 3 * (4096 + 2 * 256) + 4096 * 256
    unknown = inspected("falcon-h1", LLAMA).cache
    assert unknown is not None
    assert unknown.at_least


def test_an_encoder_and_a_decoder_have_their_own_numbers_of_layers() -> None:
    keys = LLAMA | {"decoder_block_count": 6, "attention.relative_buckets_count": 32}
    encoder, decoder = inspected("t5", keys).layers
    assert (len(encoder.indices), len(decoder.indices)) == (32, 6)
    assert (encoder.encodings[0].settings["bidirectional"].value, decoder.encodings[0].settings["bidirectional"].value) == (
        True,
        False,
    )


def test_a_ramp_that_is_switched_off_is_plain_interpolation() -> None:
    keys = LLAMA | {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.yarn_ext_factor": 0.0}
    rotation = inspected("qwen2", keys).layers[0].rotation
    assert rotation is not None
    assert rotation.inverse_frequencies() == pytest.approx([500000.0 ** (-pair / 64) / 4 for pair in range(64)])


def test_a_temperature_is_read_and_compared() -> None:
    keys = LLAMA | {"attention.temperature_scale": 0.1, "attention.temperature_length": 16384}
    on, off = inspected("mistral3", keys), inspected("mistral3", LLAMA)
    assert on.layers[0].temperature.value == "1 + 0.1 ln(1 + floor(p / 16384))"
    assert difference(on, off).positions == "different"
    nope = [layer for layer in inspected("llama4", LLAMA).layers if layer.temperature.value]
    assert [layer.kind for layer in nope] == ["none"]


def test_keys_that_bear_on_the_cache_and_are_not_known_are_reported() -> None:
    found = inspected("llama", LLAMA | {"attention.shrink_every": 4, "rope.magic": 1.0, "expert_count": 8}).findings
    (unread,) = [finding for finding in found if finding.id == "keys-unknown"]
    assert sorted(unread.evidence) == ["llama.attention.shrink_every", "llama.rope.magic"]


def test_step_turns_half_of_the_stated_channels_in_layers_without_a_window() -> None:
    keys = LLAMA | {"attention.sliding_window": 512, "attention.sliding_window_pattern": [False, True] * 16}
    full, sliding = inspected("step35", keys).layers
    assert full.rotation is not None
    assert sliding.rotation is not None
    assert (full.rotation.rotary_dim.value, sliding.rotation.rotary_dim.value) == (64, 128)


def test_what_each_layer_compresses_decides_its_cache() -> None:
    keys = {
        "block_count": 4,
        "embedding_length": 4096,
        "attention.head_count": 64,
        "attention.head_count_kv": 1,
        "attention.key_length": 512,
        "attention.value_length": 512,
        "rope.dimension_count": 64,
        "attention.sliding_window": 128,
        "attention.compress_ratios": [0, 128, 4, 128],
        "attention.compress_rope_freq_base": 160000.0,
        "attention.indexer.key_length": 128,
        "context_length": 1048576,
    }
    inspection = inspected("deepseek4", keys)
    assert {layer.name: layer.attention.cached_width.value for layer in inspection.layers} == {
        "sliding attention": 512,
        "heavily compressed attention": 512 // 128,
        "compressed sparse attention": (512 + 128) // 4,
    }


def test_where_the_unwindowed_layers_of_the_newer_architectures_stand() -> None:
    # src/models/{cohere2moe,laguna,mellum}.cpp: load_swa_pattern(ml, 4, dense_first) where the file has no pattern
    windowed = LLAMA | {"attention.sliding_window": 512, "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}
    windowed |= {"rope.scaling.original_context_length": 2048}
    whole = {}
    for name in ("cohere2moe", "laguna", "mellum"):
        layers = inspected(name, windowed).layers
        whole[name] = sorted(i for layer in layers if layer.window_keys.value is None for i in layer.indices)
    assert whole["cohere2moe"] == whole["laguna"] == list(range(0, 32, 4))
    assert whole["mellum"] == list(range(3, 32, 4))
    for name in ("laguna", "mellum"):  # layers with a window turn without YaRN
        rules = {
            layer.window_keys.value: layer.rotation.rule.value for layer in inspected(name, windowed).layers if layer.rotation
        }
        assert rules == {None: "yarn", 512: "none"}


def test_leading_dense_layers_of_cohere_turn_without_a_window_too() -> None:
    keys = LLAMA | {"attention.sliding_window": 512, "leading_dense_block_count": 1}
    turning = {i for layer in inspected("cohere2moe", keys).layers if layer.rotation is not None for i in layer.indices}
    assert turning == {i for i in range(32) if i % 4} | {0}
