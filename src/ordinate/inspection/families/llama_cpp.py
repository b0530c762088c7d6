"""What llama.cpp's code fixes for each architecture of a GGUF file and the file does not say: the layout, windows, NoPE layers.

One entry an architecture. Layouts follow `llama_model_rope_type` of llama.cpp (src/llama-model.cpp): NORM turns neighbouring
channels, NEOX channels half a head apart. They describe the weights IN THE FILE: the converter reorders query and key rows of
Llama-like models from "half" to "interleaved", so the same model's config.json rightly says "half".
Windows and NoPE layers follow `load_hparams` and the graph builders (src/models/*.cpp), as of llama.cpp in mid-2026; layouts,
and the nine architectures from cohere2moe to talkie, were compared with the copy in llama-cpp-python 0.3.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ordinate.inspection.families.latent import LATENT
from ordinate.inspection.reader.heads import heads_by_window, latent, multi_head
from ordinate.inspection.reader.input_encodings import learned
from ordinate.inspection.reader.rotary import NO_ROTATION, RotaryRule, rope
from ordinate.inspection.reader.row_types import Family, LayerGroup, Reader, Stack
from ordinate.inspection.reader.score_encodings import alibi, buckets
from ordinate.inspection.reader.section import Section
from ordinate.inspection.records import Attention, State, Value

__all__ = ["ARCHITECTURES", "Architecture", "Windows", "family_of_file"]

HeadReader = Callable[[Section, str, Value], Attention]
Kind = Literal["rope", "mrope", "learned", "alibi", "t5-bucket", "none", "unknown"]


NEVER = 10**6
"""A period longer than any model: no layer closes it."""


@dataclass(frozen=True)
class Windows:
    """Which layers of an architecture see a window only.

    Args:
        period: every period-th layer sees everything, the others a window; 0 where the file lists them.
        full_first: the unwindowed layer opens its period instead of closing it.
        keys: the window where the file has no key for it; 0 without one.
        fixed: whether it is `keys` also where the file has a key that is not 0.
        shape: "causal" (the last n keys), "symmetric" (n/2 on either side), "chunked" (the own block of n tokens).
        scaled: whether windowed layers get the scaling of frequencies too.
        base: the windowed layers' base where the file has no rope.freq_base_swa; 0 for the base of the others.
        only_with_layers: the one number of layers with which there are windows at all; 0 for any.
    """

    period: int
    full_first: bool = False
    keys: int = 0
    fixed: bool = False
    shape: Literal["causal", "symmetric", "chunked"] = "causal"
    scaled: bool = True
    base: float = 0.0
    only_with_layers: int = 0


@dataclass(frozen=True)
class Architecture:
    """One architecture's fixed facts.

    Args:
        kind: how layers encode position.
        layout: the pairs that turn in the file's weights; "" where nothing turns.
        windows: which layers have a window; None for none.
        nope: which layers have no encoding: "" none, "full" those without a window, "last of 4" and "first of 4" by index,
            "listed" those that attention.rope_pattern says.
        recurrent_but: 4 means that every 4th layer attends and the others are recurrent, unless the file says otherwise.
        causal: False where llama.cpp makes no cache: encoders, diffusion models, drafts that read their target's.
        hybrid: whether each layer keeps a recurrent state beside keys and values.
    """

    kind: Kind
    layout: Literal["half", "interleaved", ""] = ""
    windows: Windows | None = None
    nope: Literal["", "full", "last of 4", "first of 4", "listed"] = ""
    recurrent_but: int = 0
    causal: bool = True
    hybrid: bool = False


def _rope(layout: Literal["half", "interleaved"], names: str) -> dict[str, Architecture]:
    return {name: Architecture("rope", layout) for name in names.split()}


def _uncached(layout: Literal["half", "interleaved"], names: str) -> dict[str, Architecture]:
    return {name: Architecture("rope", layout, causal=False) for name in names.split()}


def _plain(kind: Kind, names: str) -> dict[str, Architecture]:
    return {name: Architecture(kind) for name in names.split()}


ARCHITECTURES: dict[str, Architecture] = {
    **_rope(
        "interleaved",
        "llama deci baichuan internlm2 minicpm xverse command-r olmo arctic deepseek deepseek2 deepseek2-ocr deepseek32 plm "
        "chatglm glm4 glm-dsa granite granitemoe granitehybrid chameleon bailingmoe  arcee ernie4_5 ernie4_5-moe "
        "mistral3 mistral4  maincoder  eagle3 nanbeige",
    ),
    **_rope(
        "half",
        "falcon  grok dbrx     stablelm bitnet qwen qwen2 qwen2moe  "
        "qwen3 qwen3moe   olmoe phi2 phi3 phimoe plamo plamo2 gemma starcoder2 openelm gptneox codeshell orion "
        "nemotron exaone minicpm3 bailingmoe2 dots1 hunyuan-moe hunyuan-dense jais2 lfm2moe seed_oss grovemoe apertus "
        "minimax-m2 cogvlm pangu-embedded glm4moe hunyuan_vl",
    ),
    **_uncached("interleaved", "neo-bert llada"),
    "llama-embed": Architecture("rope", "interleaved"),
    **_uncached("half", "jina-bert-v3 nomic-bert nomic-bert-moe eurobert dream llada-moe rnd1 dflash"),
    "falcon-h1": Architecture("rope", "half", hybrid=True),
    **_rope("half", "hy_v3 talkie hrm_text minimax-m3"),
    **_rope("interleaved", "pockettts graniteswitch bailingmoe3 hy_v4"),
    "minimax-01": Architecture("rope", "half", recurrent_but=8),
    "dots3note": Architecture("rope", "interleaved", Windows(0)),
    "granite_swa": Architecture("rope", "interleaved", Windows(0), nope="listed"),
    "muse-glimmer": Architecture("rope", "interleaved", Windows(4), nope="full"),
    "maple": Architecture("rope", "half", Windows(0), nope="full"),
    "spark2_5": Architecture("rope", "half", Windows(0)),
    "cohere2moe": Architecture("rope", "interleaved", Windows(4, full_first=True), nope="full"),
    "deepseek4": Architecture("rope", "interleaved"),
    "gemma4-assistant": Architecture("rope", "half", Windows(0, scaled=False, base=10000.0), causal=False),
    "laguna": Architecture("rope", "half", Windows(4, full_first=True, scaled=False)),
    "mellum": Architecture("rope", "half", Windows(4, scaled=False)),
    "step35": Architecture("rope", "half", Windows(0, scaled=False)),
    **_plain("learned", "gpt2 starcoder"),
    "bert": Architecture("learned", causal=False),
    **_plain("alibi", "mpt bloom refact jais"),
    "jina-bert-v2": Architecture("alibi", causal=False),
    "t5": Architecture("t5-bucket"),
    "t5encoder": Architecture("t5-bucket", causal=False),
    **_plain("none", "jamba nemotron_h nemotron_h_moe kimi-linear kimi-k3 glm5-next"),
    **dict.fromkeys(["mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"], Architecture("none", recurrent_but=NEVER)),
    "lfm2": Architecture("rope", "half", Windows(NEVER)),
    **_plain("unknown", "clip wavtokenizer-dec gptj"),
    "llama4": Architecture("rope", "interleaved", Windows(4, keys=8192, fixed=True, shape="chunked"), nope="last of 4"),
    "cohere2": Architecture("rope", "interleaved", Windows(4), nope="full"),
    "smollm3": Architecture("rope", "interleaved", nope="last of 4"),
    "afmoe": Architecture("rope", "half", Windows(4), nope="last of 4"),
    "smallthinker": Architecture("rope", "half", Windows(4, full_first=True, keys=4096, fixed=True), nope="first of 4"),
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
    "qwen3tts": Architecture("mrope", "half"),
    "qwen4exp": Architecture("mrope", "half", recurrent_but=4),
}

INTERLEAVED_AXES = frozenset({"qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "qwen3tts", "qwen4exp"})
"""LLAMA_ROPE_TYPE_IMROPE: the axes take turns along one schedule of frequencies instead of having a section each."""

HALF_PRECISION = Value(2, "assumed", "llama.cpp keeps float16 unless --cache-type-k and --cache-type-v say otherwise")
INDEXER_KEYS = {"glm5-next": 3, "minimax-m3": 0}
"""How many keys an indexer keeps of a token, where it is not one: pooled ones keep three, 0 stands for one a key-value head."""
DEEPSEEK = ("deepseek2", "deepseek2-ocr", "deepseek32", "glm-dsa", "mistral4")


def family_of_file(name: str, rules: Architecture, kind: str, config: Mapping[str, Any]) -> Family:
    """The row that reads a translated file.

    Args:
        name: its architecture.
        rules: what llama.cpp's code fixes for it.
        kind: how its layers encode position.
        config: the translated keys.
    """
    origin = f"llama.cpp's code of {name}"
    if kind == "unknown":
        return Family(origin=origin, unknown=f"the position code of {name or 'this file'} has not been read")
    windows = rules.windows
    local = windows is not None and (windows.base > 0 or "rope_local_base_freq" in config)
    defaults: dict[str, Any] = {"rope_theta": 10000.0}
    if windows is not None and windows.base:
        defaults["rope_local_base_freq"] = windows.base
    rule = RotaryRule(
        rules.layout or "half",
        local_base=("rope_local_base_freq",) if local else (),
        local_count=("swa_rotary_dim",) if windows is not None else (),
        scales=("full_attention", "full_attention/nope") if windows is not None and not windows.scaled else (),
        slice_key="qk_rope_head_dim" if "qk_rope_head_dim" in config else "",
        mscale_on_scores=name in DEEPSEEK,
        arrangement="interleaved" if name in INTERLEAVED_AXES else "sections",
    )
    if name == "deepseek4":
        row = LATENT["deepseek_v4"]
        defaults = {"rope_theta": 10000.0, "compress_rope_theta": 160000.0}
        return replace(row, origin=origin, defaults=defaults, cached_bytes=HALF_PRECISION, state_bytes=4)
    heads = latent() if "kv_lora_rank" in config else heads_by_window if windows is not None else multi_head()
    stack = Stack(
        (_reader(kind, rule, symmetric=not rules.causal or name == "jina-bert-v2"),),
        attention=_with_indexer(heads, INDEXER_KEYS.get(name, 1)),
        causal=rules.causal and config.get("attention_causal") is not False,
        state=_state,
        temperature=_temperature,
        window_of=_both_sides if windows is not None and windows.shape == "symmetric" else lambda keys: keys,
    )
    stacks: tuple[Stack, ...] = (stack,)
    if name == "t5":
        encoder = replace(stack, readers=(_reader(kind, rule, symmetric=True),), name="encoder", causal=False)
        layers = ("num_decoder_layers", "num_hidden_layers")
        stacks = encoder, replace(stack, readers=(_reader(kind, rule, symmetric=False),), name="decoder", layers=layers)
    return Family(stacks, defaults=defaults, origin=origin, cached_bytes=HALF_PRECISION, state_bytes=4)


def _with_indexer(heads: HeadReader, keys: int) -> HeadReader:
    """Layers with a sparse indexer keep its keys too; those with a window may keep a smaller latent (dots3)."""

    def read(section: Section, kind: str, hidden_size: Value) -> Attention:
        if kind.startswith("sliding") and section.has("swa_kv_lora_rank"):
            section = replace(section, raw={**section.raw, "kv_lora_rank": section.raw["swa_kv_lora_rank"]})
        attention, width = heads(section, kind, hidden_size), section.width("index_head_dim")
        if not kind.startswith("indexed_attention") or not width.known or not attention.cached_width.known:
            return attention
        count = keys or attention.num_kv_heads.value or 1
        numbers = attention.cached_width.value + count * width.value
        formula = f"{attention.cached_width.detail} + {count} indexer keys of {width.value}"
        return replace(attention, cached_width=Value(numbers, "derived", formula))

    return read


def _reader(kind: str, rule: RotaryRule, *, symmetric: bool) -> Reader:
    if kind in ("rope", "mrope"):
        return rope(rule, rotates=_rotates)
    if kind == "learned":
        return learned("position_rows", "max_position_embeddings")
    if kind == "alibi":
        return alibi(symmetric=symmetric)
    if kind == "t5-bucket":
        return buckets(bidirectional=symmetric, default_distance=128)
    return lambda group: NO_ROTATION


def _both_sides(keys: int) -> int:
    """Half of the window on either side, and the token itself."""
    return keys // 2 * 2 + 1


def _temperature(section: Section, kind: str) -> Value | None:
    """As the translation read it; Llama 4's acts on layers that do not rotate."""
    if not section.has("temperature") or (section.origin.endswith(" llama4") and not kind.endswith("/nope")):
        return None
    return section.text("temperature")


def _rotates(group: LayerGroup) -> Value:
    return Value(not group.kind.endswith("/nope"), "family", group.origin)


def _state(section: Section, kind: str, hidden_size: Value) -> State | str:
    """Numbers one recurrent layer keeps a sequence: llama.cpp's n_embd_r + n_embd_s (llama_hparams)."""
    if not hidden_size.known:
        return "the size of the state is unknown: no embedding_length"
    short = section.width("shortconv_cache")
    if short.known:
        return State(hidden_size.value * (short.value - 1), 0, f"embedding_length x ({short.detail} - 1)")
    head = section.width("wkv_head_size")
    if head.known:
        shifts = section.integer("token_shift_count").value or 2  # llama.cpp's default
        width = hidden_size.value * (head.value + shifts)
        return State(width, 0, f"embedding_length x ({head.detail} + {shifts} token shifts)")
    head, heads = section.width("lightning_head_dim"), section.width("num_attention_heads")
    if head.known and heads.known:  # MiniMax 01
        return State(0, heads.value * head.value**2, f"{heads.value} heads x {head.value} x {head.value}")
    kernel, head, heads = section.width("ssm_conv_kernel"), section.width("kda_head_dim"), section.width("num_attention_heads")
    if head.known and heads.known:
        inner, columns = heads.value * head.value, (kernel.value or 4) - 1
        formula = f"3 x {columns} x {inner} channels + {heads.value} heads x {head.value} x {head.value}"
        return State(3 * columns * inner + inner * head.value, 0, formula)
    inner, state = section.width("ssm_inner_size"), section.width("ssm_state_size")
    if not (inner.known and state.known and kernel.known):
        return "the size of the state is unknown: no ssm.inner_size, ssm.state_size and ssm.conv_kernel"
    groups = section.integer("ssm_group_count", least=0).value or 0
    rolled = (kernel.value - 1) * (inner.value + 2 * groups * state.value)
    formula = "(ssm.conv_kernel - 1) (ssm.inner_size + 2 ssm.group_count ssm.state_size) + ssm.inner_size ssm.state_size"
    return State(rolled + inner.value * state.value, 0, formula)
