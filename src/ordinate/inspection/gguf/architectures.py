"""What llama.cpp's code fixes for each architecture of a GGUF file and the file does not say: the layout, windows, NoPE layers.

One entry an architecture. Layouts follow `llama_model_rope_type` of llama.cpp (src/llama-model.cpp): NORM turns neighbouring
channels, NEOX channels half a head apart. They describe the weights IN THE FILE: the converter reorders query and key rows of
Llama-like models from "half" to "interleaved", so the same model's config.json rightly says "half".
Windows and NoPE layers follow `load_hparams` and the graph builders (src/models/*.cpp), as of llama.cpp in mid-2026.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ARCHITECTURES", "INTERLEAVED_AXES", "Architecture", "Windows"]

Kind = Literal["rope", "mrope", "learned", "alibi", "t5-bucket", "none", "unknown"]


@dataclass(frozen=True)
class Windows:
    """Which layers of an architecture see a window only.

    Args:
        period: every period-th layer sees everything, the others a window; 0 where the file lists them.
        full_first: the unwindowed layer opens its period instead of closing it.
        keys: the window where the file has no key for it; 0 without one.
        shape: "causal" (the last n keys), "symmetric" (n/2 on either side), "chunked" (the own block of n tokens).
        scaled: whether windowed layers get the scaling of frequencies too.
        base: the windowed layers' base where the file has no rope.freq_base_swa; 0 for the base of the others.
        only_with_layers: the one number of layers with which there are windows at all; 0 for any.
    """

    period: int
    full_first: bool = False
    keys: int = 0
    shape: Literal["causal", "symmetric", "chunked"] = "causal"
    scaled: bool = True
    base: float = 0.0
    only_with_layers: int = 0


@dataclass(frozen=True)
class Architecture:
    """One architecture's fixed facts.

    Args:
        kind: how layers are told where tokens are.
        layout: the pairs that turn in the file's weights; "" where nothing turns.
        windows: which layers have a window; None for none.
        nope: which layers have no encoding: "" none, "full" those without a window, "last of 4" and "first of 4" by index.
        recurrent_but: 4 means that every 4th layer attends and the others are recurrent, unless the file has an interval.
        causal: False for encoders.
    """

    kind: Kind
    layout: Literal["half", "interleaved", ""] = ""
    windows: Windows | None = None
    nope: Literal["", "full", "last of 4", "first of 4"] = ""
    recurrent_but: int = 0
    causal: bool = True


def _rope(layout: Literal["half", "interleaved"], names: str) -> dict[str, Architecture]:
    return {name: Architecture("rope", layout) for name in names.split()}


def _plain(kind: Kind, names: str) -> dict[str, Architecture]:
    return {name: Architecture(kind) for name in names.split()}


ARCHITECTURES: dict[str, Architecture] = {
    **_rope(
        "interleaved",
        "llama deci baichuan internlm2 minicpm xverse command-r olmo arctic deepseek deepseek2 deepseek2-ocr deepseek32 plm "
        "chatglm glm4 glm-dsa granite granitemoe granitehybrid chameleon bailingmoe neo-bert arcee ernie4_5 ernie4_5-moe "
        "mistral3 mistral4 llama-embed maincoder llada eagle3 nanbeige",
    ),
    **_rope(
        "half",
        "falcon falcon-h1 grok dbrx jina-bert-v3 nomic-bert nomic-bert-moe eurobert stablelm bitnet qwen qwen2 qwen2moe dream "
        "qwen3 qwen3moe llada-moe rnd1 olmoe phi2 phi3 phimoe plamo plamo2 gemma starcoder2 openelm gptneox codeshell orion "
        "nemotron exaone minicpm3 bailingmoe2 dots1 hunyuan-moe hunyuan-dense jais2 lfm2 lfm2moe seed_oss grovemoe apertus "
        "minimax-m2 cogvlm pangu-embedded glm4moe hunyuan_vl",
    ),
    **_plain("learned", "gpt2 starcoder bert"),
    **_plain("alibi", "mpt bloom refact jais jina-bert-v2"),
    **_plain("t5-bucket", "t5 t5encoder"),
    **_plain("none", "mamba mamba2 jamba rwkv6 rwkv6qwen2 rwkv7 arwkv7 nemotron_h nemotron_h_moe kimi-linear"),
    **_plain("unknown", "clip wavtokenizer-dec gptj"),
    "llama4": Architecture("rope", "interleaved", Windows(4, keys=8192, shape="chunked"), nope="last of 4"),
    "cohere2": Architecture("rope", "interleaved", Windows(4), nope="full"),
    "smollm3": Architecture("rope", "interleaved", nope="last of 4"),
    "afmoe": Architecture("rope", "half", Windows(4), nope="last of 4"),
    "smallthinker": Architecture("rope", "half", Windows(4, full_first=True), nope="first of 4"),
    "exaone4": Architecture("rope", "half", Windows(4, keys=4096, only_with_layers=64), nope="full"),
    "exaone-moe": Architecture("rope", "half", Windows(4, keys=128), nope="full"),
    "gemma2": Architecture("rope", "half", Windows(2, keys=4096)),
    "gemma3": Architecture("rope", "half", Windows(6, scaled=False, base=10000.0)),
    "gemma3n": Architecture("rope", "half", Windows(5, scaled=False, base=10000.0)),
    "gemma4": Architecture("rope", "half", Windows(0, scaled=False, base=10000.0)),
    "gemma-embedding": Architecture("rope", "half", Windows(6, shape="symmetric", scaled=False, base=10000.0), causal=False),
    "modern-bert": Architecture("rope", "half", Windows(3, full_first=True, shape="symmetric"), causal=False),
    "gpt-oss": Architecture("rope", "half", Windows(2)),
    "olmo2": Architecture("rope", "half", Windows(4, scaled=False)),
    "plamo3": Architecture("rope", "half", Windows(8, scaled=False, base=10000.0)),
    "mimo2": Architecture("rope", "half", Windows(0, scaled=False, base=10000.0)),
    "qwen3next": Architecture("rope", "half", recurrent_but=4),
    "qwen35": Architecture("mrope", "half", recurrent_but=4),
    "qwen35moe": Architecture("mrope", "half", recurrent_but=4),
    "qwen2vl": Architecture("mrope", "half"),
    "paddleocr": Architecture("mrope", "half"),
    "qwen3vl": Architecture("mrope", "half"),
    "qwen3vlmoe": Architecture("mrope", "half"),
}

INTERLEAVED_AXES = frozenset({"qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe"})
"""LLAMA_ROPE_TYPE_IMROPE: the axes take turns along one ladder of frequencies instead of having a section each."""
