"""Parameters counted from a config: published counts of real models, and transformers' own models on the meta device."""

from __future__ import annotations

from typing import Any

import pytest

from ordinate.inspection import estimate_memory, inspect_config
from ordinate.inspection.memory.parameters import count_parameters, counted_families
from tests.inspection.parameter_shapes import SETS, config_of, shapes, total

LLAMA_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "num_hidden_layers": 32,
    "intermediate_size": 14336,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
PUBLISHED: dict[str, tuple[dict[str, Any], int]] = {
    "Llama 3.1 8B": (LLAMA_8B, 8_030_261_248),
    "Mistral 7B v0.1": ({**LLAMA_8B, "model_type": "mistral", "vocab_size": 32000}, 7_241_732_096),
    "Qwen2.5 7B": (
        {
            "model_type": "qwen2",
            "hidden_size": 3584,
            "num_attention_heads": 28,
            "num_key_value_heads": 4,
            "num_hidden_layers": 28,
            "intermediate_size": 18944,
            "vocab_size": 152064,
            "tie_word_embeddings": False,
        },
        7_615_616_512,
    ),
    "Qwen3 30B-A3B": (
        {
            "model_type": "qwen3_moe",
            "hidden_size": 2048,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
            "head_dim": 128,
            "num_hidden_layers": 48,
            "intermediate_size": 6144,
            "moe_intermediate_size": 768,
            "num_experts": 128,
            "vocab_size": 151936,
            "tie_word_embeddings": False,
        },
        30_532_122_624,
    ),
    "GPT-2": (
        {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257},
        124_439_808,
    ),
}


def counted(config: dict[str, Any]) -> int | str:
    return count_parameters(config, inspect_config(config))


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_models_have_as_many_parameters_as_their_cards_say(name: str) -> None:
    config, number = PUBLISHED[name]
    assert counted(config) == number


def test_the_weights_of_an_estimate_are_the_parameters_in_the_files_dtype() -> None:
    assert estimate_memory(LLAMA_8B, context=8192).size_of("weights") == 2 * 8_030_261_248


def test_what_the_table_does_not_count_is_unknown_with_the_reason() -> None:
    assert "never-heard-of" in str(counted({"model_type": "never-heard-of", "hidden_size": 64}))
    assert "decoder_sparse_step" in str(counted({**PUBLISHED["Qwen3 30B-A3B"][0], "decoder_sparse_step": 2}))
    assert "vocab_size" in str(counted({**LLAMA_8B, "vocab_size": "many"}))


EVERYDAY = ("llama", "qwen3_moe", "gemma3_text", "gpt_neox", "phi")


@pytest.mark.parametrize(
    "model_type", [pytest.param(name, marks=() if name in EVERYDAY else pytest.mark.slow) for name in counted_families()]
)
@pytest.mark.filterwarnings("ignore")
def test_a_family_has_as_many_parameters_as_its_model_on_the_meta_device(model_type: str) -> None:
    transformers = pytest.importorskip("transformers")
    sizes = {**SETS[1], "L": 6, "H": 192, "A": 12, "G": 4, "I": 332}
    config, _ = config_of(type(transformers.AutoConfig.for_model(model_type)), sizes)
    assert counted({**config.to_dict(), "model_type": model_type}) == total(shapes(config))
