"""transformers, at whatever version is installed: rotations under every scaling, biases, tables, whole small models."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ordinate.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, Scaling, YaRN
from ordinate.verify.bias import check_bias
from ordinate.verify.decoder import check_decoder
from ordinate.verify.embedding import check_embedding
from ordinate.verify.model import check_model
from ordinate.verify.rotary import check_rotary
from ordinate.verify.verdict import Verdict

__all__ = ["TRANSFORMERS"]

TINY = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
DYNAMIC = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}


def _modeling(family: str, name: str) -> Any:
    return getattr(importlib.import_module(f"transformers.models.{family}.modeling_{family}"), name)


def _config(family: str, name: str, **settings: Any) -> Any:
    return getattr(importlib.import_module(f"transformers.models.{family}.configuration_{family}"), name)(**settings)


def _rotation(scaling: Scaling | None = None, trained: int = 4096, parameters: dict[str, Any] | None = None) -> Verdict:
    told = {"rope_type": "default", "rope_theta": 10000.0, **(parameters or {})}
    config = _config("llama", "LlamaConfig", head_dim=64, max_position_embeddings=trained, rope_parameters=told)
    module = _modeling("llama", "LlamaRotaryEmbedding")(config)
    return check_rotary(module, scaling=scaling, layout="half", name="transformers:LlamaRotaryEmbedding")


def _longrope() -> Verdict:
    short, long = [1.0 + 0.01 * pair for pair in range(32)], [1.5 + 0.1 * pair for pair in range(32)]
    told = {
        "rope_type": "longrope",
        "short_factor": short,
        "long_factor": long,
        "original_max_position_embeddings": 128,
        "factor": 4.0,
    }
    return _rotation(LongRoPE(tuple(short), tuple(long), 128, 512), 512, told)


def _loud(model: nn.Module) -> nn.Module:
    """Weights large enough that positions show in the logits of a model that was never trained."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(8)
    return model


def _llama(**settings: Any) -> nn.Module:
    torch.manual_seed(0)
    return _loud(_modeling("llama", "LlamaForCausalLM")(_config("llama", "LlamaConfig", **{**TINY, **settings})))


def _edited() -> Verdict:
    model = _llama()
    model.config.rope_parameters = {"rope_type": "linear", "factor": 8.0, "rope_theta": 10000.0}  # type: ignore[union-attr]
    return check_model(model, behaviour=False)


def _gpt2() -> nn.Module:
    torch.manual_seed(0)
    config = _config("gpt2", "GPT2Config", vocab_size=64, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)
    return _loud(_modeling("gpt2", "GPT2LMHeadModel")(config))


def _bloom() -> nn.Module:
    torch.manual_seed(0)
    config = _config("bloom", "BloomConfig", vocab_size=64, hidden_size=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)
    return _loud(_modeling("bloom", "BloomForCausalLM")(config))


def _gemma() -> nn.Module:
    torch.manual_seed(0)
    config = _config("gemma3", "Gemma3TextConfig", **{**TINY, "num_hidden_layers": 6, "head_dim": 16})
    model: nn.Module = _modeling("gemma3", "Gemma3ForCausalLM")(config)
    return model


def _t5_buckets() -> Verdict:
    return check_bias(_modeling("t5", "T5Attention")._relative_position_bucket, rule="t5")


LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}

_CASES: list[tuple[str, Callable[[], Verdict]]] = [
    ("LlamaRotaryEmbedding", _rotation),
    ("LlamaRotaryEmbedding, linear", lambda: _rotation(Linear(4.0), parameters={"rope_type": "linear", "factor": 4.0})),
    ("LlamaRotaryEmbedding, dynamic", lambda: _rotation(DynamicNTK(2.0, 128), 128, DYNAMIC)),
    ("LlamaRotaryEmbedding, longrope", _longrope),
    ("LlamaRotaryEmbedding, yarn", lambda: _rotation(YaRN(4.0, 4096), 16_384, YARN)),
    ("LlamaRotaryEmbedding, llama3", lambda: _rotation(Llama3(8.0, 1.0, 4.0, 8192), 131_072, LLAMA3)),
    ("llama apply_rotary_pos_emb", lambda: check_rotary(_modeling("llama", "apply_rotary_pos_emb"), layout="half")),
    ("cohere apply_rotary_pos_emb", lambda: check_rotary(_modeling("cohere", "apply_rotary_pos_emb"), layout="interleaved")),
    ("gptj apply_rotary_pos_emb", lambda: check_rotary(_modeling("gptj", "apply_rotary_pos_emb"), layout="interleaved")),
    ("bloom build_alibi_tensor", lambda: check_bias(_modeling("bloom", "build_alibi_tensor"))),
    ("bloom build_alibi_tensor, 12 heads", lambda: check_bias(_modeling("bloom", "build_alibi_tensor"), num_heads=12)),
    ("mpt build_mpt_alibi_tensor, 12 heads", lambda: check_bias(_modeling("mpt", "build_mpt_alibi_tensor"), num_heads=12)),
    ("t5 buckets", _t5_buckets),
    ("whisper sinusoids", lambda: check_embedding(_modeling("whisper", "sinusoids"))),
    ("Llama, a small model", lambda: check_model(_llama(), vocabulary=64)),
    ("Llama, dynamic, logits", lambda: check_decoder(_llama(max_position_embeddings=16, rope_parameters=dict(DYNAMIC)))),
    ("Llama, config edited after loading", _edited),
    ("Llama after .bfloat16()", lambda: check_model(_llama().bfloat16(), behaviour=False)),
    ("Gemma 3, a small model", lambda: check_model(_gemma(), behaviour=False)),
    ("GPT-2, a small model", lambda: check_model(_gpt2(), vocabulary=64)),
    ("Bloom, a small model", lambda: check_model(_bloom(), vocabulary=64)),
]

TRANSFORMERS = [("transformers", subject, check) for subject, check in _CASES]
