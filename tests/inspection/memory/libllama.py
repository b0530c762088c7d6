"""What libllama allocates for models that are nothing but a header: `python libllama.py NAME ...` prints a line of JSON each.

`write_header` writes a GGUF file of metadata; `llama_model_init_from_user` makes a model of it, with tensors of zeros in the
shapes that the metadata mean. Cache, states and buffers for computing are then what a real model of these sizes takes, and
libllama's log says how much. Each model has a process of its own, for libllama aborts where it does not like a header.
Needs the packages gguf and llama-cpp-python (measured with 0.3.36, which holds llama.cpp at commit 0c1e570).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WIDTH, HEADS, INNER, LAYERS, WORDS = 256, 4, 384, 4, 128
EVERY: dict[str, Any] = {"vocab_size": WORDS, "context_length": 8192, "embedding_length": WIDTH, "features_length": WIDTH}
EVERY |= {"block_count": LAYERS, "feed_forward_length": INNER, "leading_dense_block_count": 1}
EVERY |= {"attention.head_count": HEADS, "attention.head_count_kv": 2, "attention.layer_norm_epsilon": 1e-5}
EVERY |= {"attention.layer_norm_rms_epsilon": 1e-5, "attention.sliding_window": 300, "use_parallel_residual": False}
EVERY |= {"expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 64, "expert_gating_func": 2}
EVERY |= {"expert_shared_feed_forward_length": 64, "expert_shared_count": 1, "expert_weights_scale": 1.0, "logit_scale": 1.0}
EVERY |= {"residual_scale": 1.0, "embedding_scale": 1.0, "interleave_moe_layer_step": 2}
"""Keys that every file here has, beneath its own."""
MAMBA = {"ssm.conv_kernel": 4, "ssm.inner_size": 2 * WIDTH, "ssm.state_size": 16, "ssm.time_step_rank": 8}
GROUPED = {**MAMBA, "ssm.group_count": 2}
DELTA = {**GROUPED, "ssm.inner_size": 256, "ssm.state_size": 64, "ssm.time_step_rank": 4}
ALTERNATE = {"attention.head_count_kv": [0, 2, 0, 2]}
RWKV = {"time_mix_extra_dim": 32, "time_decay_extra_dim": 32, "wkv.head_size": 64}
RWKV |= {"attention.head_count": 0, "attention.head_count_kv": 0}
RWKV |= {"attention.decay_lora_rank": 32, "attention.iclr_lora_rank": 32, "attention.value_residual_mix_lora_rank": 32}
RWKV |= {"attention.gate_lora_rank": 32, "rescale_every_n_layers": 0}
LATENT = {"attention.key_length": 160, "attention.value_length": 128, "rope.dimension_count": 32, "attention.kv_lora_rank": 128}
LATENT |= {"attention.key_length_mla": 96, "attention.value_length_mla": 64, "attention.q_lora_rank": 64}
LATENT |= {"attention.head_count_kv": 1}
WHOLE_HEADS = {**LATENT, "attention.head_count_kv": HEADS, "attention.key_length": 96, "attention.value_length": 64}
WHOLE_HEADS = {key: value for key, value in WHOLE_HEADS.items() if not key.endswith("_mla")}
INDEXER = {"attention.indexer.head_count": 4, "attention.indexer.key_length": 64, "attention.indexer.top_k": 1024}
KDA = {**LATENT, "ssm.conv_kernel": 4, "kda.head_dim": 64, "kda.safe_gate": True, "kda.gate_lower_bound": -5.0}
KDA |= {"attention.head_count_kv": [0, 1, 0, 1]}
PATTERN = {"attention.sliding_window_pattern": [1, 1, 1, 0], "rope.freq_base_swa": 10000.0}
SECTIONS = {"rope.dimension_sections": [11, 11, 10, 0]}
STREAMS = {"hyper_connection.count": 4, "hyper_connection.epsilon": 1e-6, "hyper_connection.magnitude": 2.0}
STREAMS |= {"hyper_connection.low_rank": 8, "hyper_connection.sinkhorn_iterations": 2}
SPARSE = {**LATENT, **INDEXER, **STREAMS, "attention.indexer.types": [1, 0, 1, 0]}
KIMI = {**KDA, "attn_res.block_size": 4, "activation.situ_beta": 4.0, "activation.situ_linear_beta": 25.0}
DOTS = {**LATENT, **INDEXER, **PATTERN, "attention.kv_lora_rank_swa": 64, "attention.key_length_swa": 96}
DOTS |= {"attention.value_length_swa": 64, "attention.key_length_mla_swa": 96, "attention.value_length_mla_swa": 64}
DEEPSEEK_4 = {**INDEXER, **STREAMS, "attention.key_length": 128, "attention.value_length": 128, "rope.dimension_count": 32}
DEEPSEEK_4 |= {"attention.head_count_kv": 1, "attention.q_lora_rank": 64, "attention.output_group_count": 4}
DEEPSEEK_4 |= {"attention.output_lora_rank": 32, "attention.compress_ratios": [0, 0, 4, 128], "hash_layer_count": 0}
DEEPSEEK_4 |= {"attention.compress_rope_freq_base": 160000.0, "swiglu_clamp_exp": 10.0, "expert_weights_norm": True}
GEMMA_4 = {**PATTERN, "embedding_length_per_layer_input": 64, "attention.key_length_swa": 32, "attention.value_length_swa": 32}
BLOCKS = {**INDEXER, "attention.indexer.head_count": 2, "attention.indexer.block_size": 4, "attention.indexer.local_blocks": 1}
GROUPS = {"expert_group_scale": 1.0, "experts_per_group": 1, "expert_chunk_feed_forward_length": 64}
ADAPTERS = {"adapters.count": 1, "adapters.lora_rank": 4, "adapters.token_ids_activate": [1]}
SHORT, LONG = {"attention.key_length": 64, "attention.value_length": 64}, {"attention.head_count_kv": HEADS}
PLAIN = """
    afmoe arcee arctic baichuan bailingmoe bailingmoe2 bitnet bloom chatglm codeshell cogvlm cohere2 command-r deci deepseek
    ernie4_5 ernie4_5-moe exaone exaone-moe exaone4 falcon gemma gemma2 gemma3 gemma3n glm4 glm4moe gpt-oss gpt2 gptneox
    granite granitemoe grok hunyuan-dense hunyuan-moe hy_v3 internlm2 jais jais2 laguna llama llama-embed llama4
    maincoder mellum minicpm minimax-m2 mistral3 mpt nanbeige nemotron olmo olmo2 openelm orion pangu-embedded phi2 phi3
    phimoe plamo plamo3 pockettts qwen qwen2 qwen2moe qwen3 qwen3moe refact seed_oss smallthinker smollm3 stablelm
    starcoder starcoder2 talkie xverse
"""
"""Architectures that need no further keys."""
FURTHER: dict[str, dict[str, Any]] = {
    "mamba": MAMBA,
    "mamba2 falcon-h1": GROUPED,
    "jamba": {**MAMBA, **ALTERNATE},
    "granitehybrid": {**GROUPED, **ALTERNATE},
    "plamo2": {**MAMBA, **ALTERNATE, "ssm.group_count": 0},
    "nemotron_h nemotron_h_moe": {**GROUPED, **ALTERNATE, "feed_forward_length": [0, 0, INNER, 0]},
    "qwen3next qwen35 qwen35moe": {**DELTA, **SECTIONS},
    "rwkv6 rwkv7": RWKV,
    "arwkv7": {**RWKV, "token_shift_count": 1},
    "lfm2 lfm2moe": {**ALTERNATE, "shortconv.l_cache": 3},
    "kimi-linear bailingmoe3 kimi-k3": KIMI,
    "glm5-next": {
        **KDA,
        **INDEXER,
        **STREAMS,
        "rope.dimension_count": 0,
        "attention.key_length": 128,
        "attention.indexer.kpool": 4,
    },
    "dbrx": {"attention.clamp_kqv": 1.0},
    "grovemoe": GROUPS,
    "minicpm3": WHOLE_HEADS,
    "t5": {**LONG, "attention.relative_buckets_count": 8},
    "olmoe dots1": LONG,
    "minimax-01": {**SHORT, "full_attention_interval": 2},
    "minimax-m3": {**BLOCKS, "rope.dimension_count": 64},
    "dots3note": {**DOTS, "attention.indexer.types": [0, 0, 0, 1]},
    "deepseek4": {**DEEPSEEK_4, "expert_gating_func": 4},
    "graniteswitch": {**ADAPTERS, "adapters.token_ids_substitute": [2]},
    "hrm_text": {"block_count": 6, "hrm.layers_per_stack": 1, "hrm.h_cycles": 2, "hrm.l_cycles": 2},
    "qwen4exp": {**DELTA, **SECTIONS, **INDEXER, **STREAMS},
    "deepseek2 mistral4": LATENT,
    "deepseek32 glm-dsa hy_v4": SPARSE,
    "qwen2vl paddleocr qwen3vl qwen3vlmoe hunyuan_vl": SECTIONS,
    "cohere2moe mimo2 step35 spark2_5 muse-glimmer granite_swa": PATTERN,
    "gemma4": {**GEMMA_4, "attention.shared_kv_layers": 0},
    "qwen3tts": {**SECTIONS, "vocab_size": 3072},
    "maple": {**PATTERN, "swiglu_clamp_exp": 7.0},
}
MODELS = {name: keys for names, keys in {PLAIN: {}, **FURTHER}.items() for name in names.split()}
"""Architecture to the keys beyond `EVERY`."""


def write_header(path: Path, architecture: str, keys: dict[str, Any]) -> None:
    """A GGUF file of these keys and a vocabulary, without tensors."""
    import gguf

    writer = gguf.GGUFWriter(path, architecture)
    for key, value in {**EVERY, **keys}.items():
        name = f"{architecture}.{key}"
        if isinstance(value, bool):
            writer.add_bool(name, value)
        elif isinstance(value, list):
            writer.add_array(name, value)
        else:
            (writer.add_float32 if isinstance(value, float) else writer.add_uint32)(name, value)
    writer.add_tokenizer_model("none")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


class _Reading(ctypes.Structure):
    _fields_ = (("no_alloc", ctypes.c_bool), ("context", ctypes.c_void_p))


def allocated(path: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """MiB of "KV", "state", "compute" and "output" as libllama prints them, and of how many buffers, in such a context."""
    from llama_cpp import llama_cpp as library

    lines: list[str] = []
    keep = library.llama_log_callback(lambda level, text, data: lines.append(text.decode(errors="replace")))
    library.llama_log_set(keep, ctypes.c_void_p(0))
    library.llama_backend_init()
    ggml = ctypes.CDLL(str(Path(library._lib._name).with_name("libggml-base.so")))
    ggml.gguf_init_from_file.restype = ctypes.c_void_p
    ggml.gguf_init_from_file.argtypes = (ctypes.c_char_p, _Reading)
    metadata = ggml.gguf_init_from_file(str(path).encode(), _Reading(True, None))
    fill = library.llama_model_set_tensor_data_t(lambda tensor, data: None)
    model = library.llama_model_init_from_user(metadata, fill, None, library.llama_model_default_params())
    if not model:
        return {"error": "".join(lines)[-300:]}
    chosen = library.llama_context_default_params()
    chosen.swa_full = False
    for name, value in settings.items():
        setattr(chosen, name, value)
    lines.clear()
    if not library.llama_init_from_model(model, chosen):
        return {"error": "".join(lines)[-300:]}
    sizes = re.findall(r"(\w+) buffer size =\s+([\d.]+) MiB", "".join(lines))
    found: dict[str, Any] = {"KV": 0.0, "state": 0.0, "compute": 0.0, "output": 0.0, "buffers": len(sizes)}
    for kind, size in sizes:
        found["state" if kind == "RS" else kind] += float(size)
    return found


def measure(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """What libllama allocates for the model of this name, in a process of its own."""
    command = [sys.executable, __file__, "--settings", json.dumps(settings), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    with contextlib.suppress(ValueError, IndexError):
        return dict(json.loads(done.stdout.splitlines()[-1]))
    return {"error": (done.stderr or "nothing")[-300:]}


def main(arguments: list[str]) -> None:
    """Print what each named model takes."""
    settings = {"n_ctx": 4096}
    if arguments[:1] == ["--settings"]:
        settings, arguments = json.loads(arguments[1]), arguments[2:]
    for name in arguments or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.gguf"
            write_header(path, name.partition(":")[0], MODELS.get(name, {}))
            print(json.dumps(allocated(path, settings)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
