"""Caches that transformers makes for small models with an encoder and a decoder, and its static caches, to the byte."""

from __future__ import annotations

from typing import Any

import pytest

from ordinate.errors import RefusedError
from ordinate.inspection import estimate_memory

BART = {"encoder_layers": 2, "decoder_layers": 3, "decoder_attention_heads": 4, "encoder_attention_heads": 4}
BART |= {"encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "d_model": 32, "vocab_size": 64, "max_position_embeddings": 64}
FAMILIES: dict[str, dict[str, Any]] = {
    "bart": BART,
    "m2m_100": BART,
    "t5": {"d_model": 32, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4, "d_kv": 16, "d_ff": 64, "vocab_size": 64},
    "whisper": {**BART, "num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 64},
}


def held(cache: Any) -> int:
    """Bytes of the keys and values of both caches."""
    sides = (cache.self_attention_cache, cache.cross_attention_cache)
    return sum(
        each.numel() * each.element_size() for side in sides for layer in side.layers for each in (layer.keys, layer.values)
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model_type", FAMILIES)
def test_a_decoder_keeps_its_own_tokens_and_its_encoders(model_type: str) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    settings = {**FAMILIES[model_type], "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2}
    model = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(model_type, **settings)).eval()
    decoded = torch.arange(5)[None] + 4
    heard = {"input_features": torch.zeros(1, 8, 40)} if model_type == "whisper" else {"input_ids": torch.arange(9)[None] + 4}
    with torch.no_grad():
        cache = model(**heard, decoder_input_ids=decoded, use_cache=True).past_key_values
    told = {} if model_type == "whisper" else {"encoder_tokens": 9}  # sound is as long as its table
    config = {"model_type": model_type, "dtype": "float32", **FAMILIES[model_type]}
    assert estimate_memory(config, context=5, **told).size_of("cache") == held(cache)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model_type", ["llama", "gemma3_text"])
def test_a_static_cache_has_room_for_the_whole_context_and_the_whole_window(model_type: str) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "num_hidden_layers": 6}
    sizes |= {"intermediate_size": 64, "vocab_size": 64}
    sizes |= {"sliding_window": 6} if model_type == "gemma3_text" else {}
    settings = transformers.AutoConfig.for_model(model_type, **sizes)
    model = transformers.AutoModelForCausalLM.from_config(settings).eval()
    cache = transformers.StaticCache(config=settings, max_cache_len=16)
    with torch.no_grad():
        model(input_ids=torch.arange(3)[None], past_key_values=cache, use_cache=True)
    made = sum(each.numel() * each.element_size() for layer in cache.layers for each in (layer.keys, layer.values))
    told = {"model_type": model_type, "dtype": "float32", **sizes}
    assert estimate_memory(told, context=16, layout="static").size_of("cache") == made
    assert (estimate_memory(told, context=16).size_of("cache") < made) == (model_type == "gemma3_text")


def test_llama_cpp_keeps_nothing_of_an_encoder_and_vllm_whole_pages() -> None:
    told = {"model_type": "bart", "dtype": "float16", **BART}
    token = 3 * 2 * 32 * 2
    alone = {"context": 16, "encoder_tokens": 17}
    assert estimate_memory(told, engine="llama.cpp", **alone).size_of("cache") == 256 * token
    assert estimate_memory(told, engine="vllm", **alone).size_of("cache") == (16 + 32) * token


def test_a_unified_cache_has_a_window_for_each_sequence_and_one_batch() -> None:
    # size_swa = GGML_PAD(min(size_base, n_swa * n_seq_max + n_ubatch), 256), src/llama-kv-cache-iswa.cpp
    told = {"model_type": "gemma3_text", "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    told |= {"num_hidden_layers": 6, "sliding_window": 1024}
    token = 2 * 2 * 8 * 2
    apart, together = (
        estimate_memory(told, context=8192, sequences=4, engine="llama.cpp", layout=layout).size_of("cache")
        for layout in ("separate", "unified")
    )
    assert apart == 4 * (8192 + 5 * 1536) * token
    assert together == (4 * 8192 + 5 * (4 * 1024 + 512)) * token
    with pytest.raises(RefusedError, match="dynamic or static"):
        estimate_memory(told, context=8, layout="unified")
