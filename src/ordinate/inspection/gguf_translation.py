"""A GGUF header in the shape of a config, so that one reader reads both.

GGUF keys become the config keys that mean the same, llama.cpp's tensors of divisors become a scaling, and its rules for which
layer has a window, a rotation or a recurrence become one kind a layer. Beside each translated key stands where it came from: a
GGUF key, a tensor, a formula, or llama.cpp's code of that architecture ("family").

Sources: `load_hparams`, `llama_context` and the graphs in llama.cpp (src/llama-model.cpp, src/llama-context.cpp, src/models),
`ggml_rope_yarn` (ggml/src/ggml-cpu/ops.cpp), convert_hf_to_gguf.py; as of mid-2026.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ordinate.errors import OrdinateError
from ordinate.frequencies import Llama3, inverse_frequencies
from ordinate.inspection.families.llama_cpp import ARCHITECTURES, Architecture, family_of_file
from ordinate.inspection.gguf_header import Header, Skipped, Tensor
from ordinate.inspection.reader.assembly import LAYERS_LIMIT
from ordinate.inspection.reader.row_types import PartSource
from ordinate.inspection.reader.section import Findings, Section
from ordinate.inspection.records import Finding, Source, Value, unknown

__all__ = ["translate"]

PLAIN_KEYS = {
    "block_count": "num_hidden_layers",
    "decoder_block_count": "num_decoder_layers",
    "embedding_length": "hidden_size",
    "context_length": "max_position_embeddings",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.value_length": "v_head_dim",
    "attention.key_length_swa": "swa_head_dim",
    "attention.value_length_swa": "swa_v_head_dim",
    "attention.kv_lora_rank": "kv_lora_rank",
    "attention.kv_lora_rank_swa": "swa_kv_lora_rank",
    "attention.shared_kv_layers": "num_kv_shared_layers",
    "attention.relative_buckets_count": "relative_attention_num_buckets",
    "attention.max_alibi_bias": "alibi_bias_max",
    "rope.freq_base": "rope_theta",
    "rope.freq_base_swa": "rope_local_base_freq",
    "rope.dimension_count": "rotary_dim",
    "rope.dimension_count_swa": "swa_rotary_dim",
    "ssm.inner_size": "ssm_inner_size",
    "ssm.state_size": "ssm_state_size",
    "ssm.conv_kernel": "ssm_conv_kernel",
    "ssm.group_count": "ssm_group_count",
    "shortconv.l_cache": "shortconv_cache",
    "wkv.head_size": "wkv_head_size",
    "token_shift_count": "token_shift_count",
    "kda.head_dim": "kda_head_dim",
    "attention.indexer.key_length": "index_head_dim",
    "attention.compress_rope_freq_base": "compress_rope_theta",
    "attention.causal": "attention_causal",
}
"""GGUF keys, after the architecture's name, that mean what one key of a config means."""

OTHER_KEYS = {
    *("attention.sliding_window", "attention.sliding_window_pattern", "attention.key_length_mla", "attention.value_length_mla"),
    *("attention.causal", "attention.temperature_length", "attention.temperature_scale", "attention.compress_ratios"),
    *("rope.dimension_sections", "rope.scaling.type", "rope.scaling.factor", "rope.scale_linear", "rope.scaling.alpha"),
    *("rope.scaling.attn_factor", "rope.scaling.original_context_length", "rope.scaling.finetuned"),
    *("rope.scaling.yarn_log_multiplier", "rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor"),
    *("rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow", "nextn_predict_layers", "full_attention_interval"),
    *("attention.recurrent_layers", "attention.rope_pattern", "attention.indexer.types", "attention.key_length_mla_swa"),
    *("attention.value_length_mla_swa", "kda.safe_gate", "kda.gate_lower_bound"),
    # these say nothing about position or the cache
    *("attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon", "attention.group_norm_epsilon"),
    *("attention.group_norm_groups", "attention.clamp_kqv", "attention.q_lora_rank", "attention.scale"),
    *("attention.output_scale", "attention.decay_lora_rank", "attention.iclr_lora_rank", "attention.gate_lora_rank"),
    *("attention.value_residual_mix_lora_rank", "attention.indexer.head_count", "attention.indexer.top_k"),
    *("attention.output_lora_rank", "attention.output_group_count", "ssm.time_step_rank", "ssm.dt_b_c_rms"),
    *("attention.indexer.block_size", "attention.indexer.local_blocks", "attention.indexer.kpool"),
    *("attention.indexer.kpool_select_tail",),
}
"""Other keys under the groups that bear on position or the cache, read in their own way or known not to matter."""

GROUPS = ("attention.", "rope.", "ssm.", "kda.", "wkv.", "shortconv.", "recurrent", "position", "indexer", "compress")

DEEPSEEK = ("deepseek2", "deepseek2-ocr", "deepseek32", "glm-dsa", "mistral4")
"""Architectures whose converter stores 0.1 * mscale_all_dim as the multiplier of YaRN's logarithm."""

REORDERED = frozenset({"llama", "deci", "mistral3", "llama-embed", "smollm3", "granite", "granitemoe", "internlm2", "arcee"})
"""Architectures whose converter reorders query and key rows, so that the file says interleaved where the model said half."""

INDEXED = frozenset({"deepseek32", "glm-dsa", "hy_v4", "dots3note", "glm5-next", "minimax-m3", "qwen4exp"})
"""Architectures with a cache for a sparse indexer."""
SWITCHED = frozenset({"granite", "granitemoe", "granitehybrid", "graniteswitch"})
"""Architectures that rotate nothing where rope.scaling.finetuned is false."""

STANDS_STILL = 1e20
"""The converter writes 1e30 for pairs that do not turn."""
LLAMA3_CONTEXTS = (8192, 4096, 16384, 32768)


def translate(header: Header) -> tuple[PartSource, list[Finding]]:
    """The one part of a GGUF file, ready for the reader of configs, and what was odd about the header.

    Args:
        header: as `read_document` gives it.
    """
    return _Translation(header).part()


class _Translation:
    """One header on its way to a section."""

    def __init__(self, header: Header) -> None:
        self.header = header
        stated = header.metadata.get("general.architecture")
        self.name = stated if isinstance(stated, str) else ""
        self.rules = ARCHITECTURES.get(self.name, Architecture("unknown"))
        self.origin = f"llama.cpp's code of {self.name}"
        self.findings = Findings()
        self.config: dict[str, Any] = {}
        self.sources: dict[str, tuple[Source, str]] = {}

    # what stands in the header

    def key(self, name: str) -> str:
        return f"{self.name}.{name}"

    def raw(self, name: str) -> Any:
        value = self.header.metadata.get(self.key(name))
        return f"{value.sort} of {value.items} items" if isinstance(value, Skipped) else value

    def count(self, name: str) -> int | None:
        value = self.raw(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None

    def number(self, name: str) -> float | None:
        value = self.raw(name)
        usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return value if usable else None

    def set(self, path: str, value: Any, source: Source, detail: str) -> None:
        """Put a value under a config key (a dot descends one level), with where it came from."""
        place, _, last = path.rpartition(".")
        (self.config.setdefault(place, {}) if place else self.config)[last] = value
        self.sources[path] = source, detail

    def copy(self, name: str, path: str) -> None:
        """Put what the GGUF key `name` holds under a config key, whatever it is: the reader judges it."""
        if (value := self.raw(name)) is not None:
            self.set(path, value, "file", self.key(name))

    # the parts of the translation

    def part(self) -> tuple[PartSource, list[Finding]]:
        for name, path in PLAIN_KEYS.items():
            self.copy(name, path)
        model_type = Value(self.name, "file", "general.architecture") if self.name else unknown("no general.architecture")
        if self.rules.kind == "unknown":
            self.findings.note(
                "model-type-unknown",
                "warning",
                f"what {self.header.metadata.get('general.architecture')!r} does with positions is not known here",
                {"general.architecture": self.name or None},
                "look at llama_model_rope_type in llama.cpp, and report the architecture",
            )
        self._layers()
        self._latent()
        self._compression()
        self._temperature()
        self._axes()
        self._halved()
        self._scaling()
        self._table()
        self._unread()
        kind = self._encoding()
        if kind in ("rope", "mrope") and self.name in REORDERED and self.count("block_count"):
            self.findings.note(
                "layout-reordered",
                "info",
                "the converter reordered query and key rows: interleaved here, half in the original checkpoint",
                {"general.architecture": self.name},
                'compare with a config.json by frequencies, and read these weights with layout="interleaved"',
            )
        family = family_of_file(self.name, self.rules, kind, self.config)
        section = Section(self.config, "", family.defaults, self.origin, Findings(), sources=self.sources, loader="llama.cpp")
        return PartSource("text", section, family, model_type), self.findings

    def _encoding(self) -> str:
        """The architecture's encoding, where one architecture holds models with several."""
        if self.name == "baichuan" and self.count("block_count") == 40:
            return "alibi"
        if self.name in SWITCHED and self.raw("rope.scaling.finetuned") is False:
            return "none"
        if self.name == "mpt" and "position_embd.weight" in self.header.tensors:
            return "learned"
        return self.rules.kind

    def _layers(self) -> None:
        """How many layers there are, and what each does."""
        blocks, extra = self.count("block_count"), self.count("nextn_predict_layers")
        if blocks is not None and extra is not None and 0 < extra < blocks:
            formula = f"{self.key('block_count')} - {self.key('nextn_predict_layers')}"
            blocks = blocks - extra
            self.set("num_hidden_layers", blocks, "derived", formula)
        window = self._window(blocks)
        if not blocks or blocks > LAYERS_LIMIT:
            return
        windowed = self._windowed(blocks, window)
        kinds = [self._kind(index, blocks, windowed[index], window) for index in range(blocks)]
        if self.name == "graniteswitch":  # one layer more, of one head, chooses the adapter
            kinds.append("full_attention/nope")
            self.set("num_hidden_layers", blocks + 1, "derived", f"{self.key('block_count')} + 1: {self.origin}")
            width, heads = self.count("embedding_length"), self.count("attention.head_count")
            if width and heads and "head_dim" not in self.config:
                self.set("head_dim", width // heads, "derived", f"{self.key('embedding_length')} / {heads} heads")
            for name in ("attention.head_count", "attention.head_count_kv"):
                heads = self.raw(name)
                self.set(
                    PLAIN_KEYS[name], [*(heads if isinstance(heads, list) else [heads] * blocks), 1], "file", self.key(name)
                )
        if self.name == "minimax-01":
            self.copy("attention.key_length", "lightning_head_dim")
        self.set("layer_types", kinds, "family", self.origin)

    def _kind(self, index: int, blocks: int, windowed: bool, window: int | None) -> str:
        if self.rules.hybrid:
            return "hybrid"
        if period := self.rules.recurrent_but:
            listed = self.raw("attention.recurrent_layers")
            flag = listed[index] if isinstance(listed, list) and len(listed) > index else listed
            period = self.count("full_attention_interval") or period
            recurrent = bool(flag) if isinstance(flag, bool | int) else (index + 1) % period != 0
            return "linear_attention" if recurrent else "indexed_attention" if self._indexed(index) else "full_attention"
        for name in ("attention.head_count", "attention.head_count_kv"):
            heads = self.raw(name)
            if (heads[index] if isinstance(heads, list) and len(heads) > index else heads) == 0:
                recurrence = "linear_attention" if self.raw("shortconv.l_cache") is None else "conv"
                return "no_attention" if self._is_idle(index) else recurrence
        windows = self.rules.windows
        kind = "indexed_attention" if self._indexed(index) else "full_attention"
        if windowed and windows is not None:
            kind = "chunked_attention" if windows.shape == "chunked" else "sliding_attention"
        return f"{kind}/nope" if self._unrotated(index, windowed, window) else kind

    def _indexed(self, index: int) -> bool:
        """Whether a layer keeps the keys of a sparse indexer: all, those that the file lists, or all but the dense ones."""
        if self.name not in INDEXED or not self.count("attention.indexer.key_length"):
            return False
        if self.name == "minimax-m3":
            return index >= (self.count("leading_dense_block_count") or 0)
        if self.name == "hy_v4" and not self.count("attention.indexer.top_k"):
            return False
        listed = None if self.name == "deepseek32" else self.raw("attention.indexer.types")
        if self.name == "glm-dsa" and listed is None and (self.count("context_length") or 0) >= 2**20:
            return index < 3 or index % 4 == 2  # what llama.cpp assumes of GLM 5.2
        return not isinstance(listed, list) or len(listed) <= index or bool(listed[index])

    def _is_idle(self, index: int) -> bool:
        """Whether a layer without key-value heads is no recurrence either but a feed-forward layer."""
        widths = self.raw("feed_forward_length")
        feeds = isinstance(widths, list) and len(widths) > index and bool(widths[index])
        return self.name == "deci" or (self.name.startswith("nemotron_h") and feeds)

    def _unrotated(self, index: int, windowed: bool, window: int | None) -> bool:
        rule = self.rules.nope
        if self.rules.windows is not None and window is None:  # no windows in this file: everything rotates
            return False
        if rule == "listed":
            pattern = self.raw("attention.rope_pattern")
            return isinstance(pattern, list) and len(pattern) > index and not pattern[index]
        if rule == "full":
            leading = self.count("leading_dense_block_count") if self.name == "cohere2moe" else None
            return not windowed and index >= (leading or 0)  # Cohere 2 MoE's leading dense layers turn all the same
        if rule == "last of 4":
            return (index + 1) % 4 == 0
        return rule == "first of 4" and index % 4 == 0

    def _window(self, blocks: int | None) -> int | None:
        """The window of the layers that have one, in keys; None where no layer can."""
        windows, stated = self.rules.windows, self.raw("attention.sliding_window")
        if windows is None:
            if stated and self.name != "deepseek4":
                self.findings.note(
                    "window-not-applied",
                    "info",
                    f"llama.cpp applies no window in {self.name}, whatever the file says",
                    {self.key("attention.sliding_window"): stated},
                    "expect full attention, and a full cache",
                )
            return None
        if windows.only_with_layers and blocks != windows.only_with_layers:
            return None
        target = "attention_chunk_size" if windows.shape == "chunked" else "sliding_window"
        if stated is not None:
            if stated == 0:
                return None
            if windows.fixed:
                self.set(target, windows.keys, "family", f"{self.origin}, whatever the file says")
                return windows.keys
            self.copy("attention.sliding_window", target)
            return self.count("attention.sliding_window")
        if windows.keys and not (windows.fixed and windows.shape == "causal"):  # SmallThinker: none without the key
            self.set(target, windows.keys, "family", f"{self.origin}: its window")
            return windows.keys
        return None

    def _windowed(self, blocks: int, window: int | None) -> list[bool]:
        windows = self.rules.windows
        if windows is None or window is None:
            return [False] * blocks
        stated = self.raw("attention.sliding_window_pattern")
        period = windows.period
        if isinstance(stated, list):
            if len(stated) >= blocks and all(flag in (0, 1) for flag in stated):
                return [bool(flag) for flag in stated[:blocks]]
            self._refuse("attention.sliding_window_pattern", stated, "a period, or one flag for each layer")
        elif stated is not None:
            if self.count("attention.sliding_window_pattern") is None:
                self._refuse("attention.sliding_window_pattern", stated, "a period, or one flag for each layer")
            else:
                period = stated
        if period == 0:  # llama.cpp: every layer
            return [isinstance(stated, int)] * blocks
        opening = 0 if windows.full_first else period - 1
        return [index % period != opening for index in range(blocks)]

    def _refuse(self, name: str, value: Any, expected: str) -> None:
        text = str(value)
        self.findings.note(
            "out-of-range",
            "error",
            f"{self.key(name)} is not {expected}",
            {self.key(name): value if len(text) <= 80 else text[:77] + "..."},
            "convert the model again",
        )

    def _latent(self) -> None:
        """DeepSeek's latent attention: newer files cache the latent, those without *_mla keys keep whole heads."""
        if self.raw("attention.kv_lora_rank") is None:
            return
        key, value, turned = (
            self.count(name) for name in ("attention.key_length_mla", "attention.value_length_mla", "rope.dimension_count")
        )
        self.copy("rope.dimension_count", "qk_rope_head_dim")
        if key is not None and value is not None and turned is not None and key >= turned:
            formula = f"{self.key('attention.key_length_mla')} - {self.key('rope.dimension_count')}"
            self.set("qk_nope_head_dim", key - turned, "derived", formula)
            self.copy("attention.value_length_mla", "v_head_dim")
            self.config.pop("head_dim", None)
            return
        self.config.pop("kv_lora_rank")
        if (heads := self.raw("attention.head_count")) is not None:
            self.set(
                "num_key_value_heads", heads, "family", f"{self.origin}: without *_length_mla keys each head is cached whole"
            )
        if self.name in DEEPSEEK:
            self.findings.note(
                "latent-cache-expanded",
                "info",
                "the file has no *_length_mla keys: llama.cpp caches whole heads instead of the latent",
                {self.key("attention.key_length_mla"): None},
                "convert again for a far smaller cache",
            )

    def _compression(self) -> None:
        """DeepSeek-V4: how much each layer compresses, and the slice of the head that turns."""
        ratios = self.raw("attention.compress_ratios")
        if self.name != "deepseek4" or ratios is None:
            return
        self.copy("attention.compress_ratios", "compress_ratios")
        self.copy("attention.sliding_window", "sliding_window")
        self.copy("rope.dimension_count", "qk_rope_head_dim")
        self.config.pop("layer_types", None)

    def _temperature(self) -> None:
        """A factor on queries that grows with the position: Llama 4's and Mistral's share two keys."""
        scale, length = self.number("attention.temperature_scale"), self.number("attention.temperature_length")
        if self.name == "llama4" and scale is None:
            scale = 0.1
        if self.name == "llama4" and length is None:
            length = 8192.0
        if not scale or not length:
            return
        stated = self.raw("attention.temperature_scale") is not None
        detail = self.key("attention.temperature_scale") if stated else f"{self.origin}: its temperature"
        position = "(p + 1)" if self.name == "llama4" else "p"
        self.set("temperature", f"1 + {scale:g} ln(1 + floor({position} / {length:g}))", "file" if stated else "family", detail)

    def _unread(self) -> None:
        """Keys under the groups that bear on position or the cache, and that nothing here reads."""
        prefix = f"{self.name}."
        unread = {}
        for key, value in self.header.metadata.items():
            name = key.removeprefix(prefix)
            known = name in PLAIN_KEYS or name in OTHER_KEYS
            if self.name and key.startswith(prefix) and name.startswith(GROUPS) and not known:
                unread[key] = f"{value.sort} of {value.items} items" if isinstance(value, Skipped) else value
        if unread:
            self.findings.note(
                "keys-unknown",
                "warning",
                "keys that bear on position or the cache and are not known here: " + ", ".join(sorted(unread)),
                {key: unread[key] if len(str(unread[key])) <= 80 else f"{str(unread[key])[:77]}..." for key in sorted(unread)},
                "what they change is not in this reading",
            )

    def _axes(self) -> None:
        sections = self.raw("rope.dimension_sections")
        if sections is None:
            return
        if not isinstance(sections, list) or not all(type(size) is int and 0 <= size < 2**20 for size in sections):
            self._refuse("rope.dimension_sections", sections, "a list of pairs")
            return
        used = [size for size in sections if size]
        if len(used) > 1:
            self.set("mrope_section", used, "file", self.key("rope.dimension_sections"))

    def _table(self) -> None:
        table = self.header.tensors.get("position_embd.weight")
        if table is not None and table.shape:
            self.set("position_rows", table.shape[-1], "file", "tensor position_embd.weight")

    # scaling

    def _scaling(self) -> None:
        """By keys (linear, YaRN, a larger base) or by small tensors of divisors (Llama 3, LongRoPE, a proportional rule)."""
        if self._divisors():
            return
        stated = self.raw("rope.scaling.type")
        factor = "rope.scaling.factor" if self.raw("rope.scaling.factor") is not None else "rope.scale_linear"
        value, alpha = self.raw(factor), self.number("rope.scaling.alpha")
        if stated == "yarn" and self.number("rope.scaling.yarn_ext_factor") == 0:
            self.set("rope_scaling.rope_type", "linear", "derived", f"{self.key('rope.scaling.yarn_ext_factor')} is 0: no ramp")
            self.set("rope_scaling.factor", 1.0, "family", "llama.cpp's default")
            self.copy(factor, "rope_scaling.factor")
        elif stated == "yarn":
            self._yarn(factor)
        elif stated is not None and stated not in ("none", "linear"):
            self.copy("rope.scaling.type", "rope_scaling.rope_type")
        elif alpha is not None and alpha > 1:
            self.set("rope_scaling.rope_type", "ntk", "family", "llama.cpp multiplies the base by alpha^(d/(d-2))")
            self.copy("rope.scaling.alpha", "rope_scaling.alpha")
        elif stated == "none":
            self.copy("rope.scaling.type", "rope_scaling.rope_type")
        elif value is not None and value not in (0, 1):
            self.set("rope_scaling.rope_type", "linear", "family", "llama.cpp's scaling where a factor stands without a type")
            if stated is not None:
                self.copy("rope.scaling.type", "rope_scaling.rope_type")
            self.copy(factor, "rope_scaling.factor")

    def _yarn(self, factor: str) -> None:
        self.copy("rope.scaling.type", "rope_scaling.rope_type")
        self.set("rope_scaling.factor", 1.0, "family", "llama.cpp's default")
        self.copy(factor, "rope_scaling.factor")
        self.copy("rope.scaling.original_context_length", "rope_scaling.original_max_position_embeddings")
        self.copy("rope.scaling.yarn_beta_fast", "rope_scaling.beta_fast")
        self.copy("rope.scaling.yarn_beta_slow", "rope_scaling.beta_slow")
        stretch, multiplier = self.number(factor) or 1.0, self.number("rope.scaling.yarn_log_multiplier")
        extra, further = self.number("rope.scaling.attn_factor"), self.number("rope.scaling.yarn_attn_factor")
        if further and further != 1:
            extra = (extra or 1.0) * further
        if multiplier and self.name in DEEPSEEK:
            detail = f"{self.key('rope.scaling.yarn_log_multiplier')} / 0.1"
            for key in ("mscale", "mscale_all_dim"):
                self.set(f"rope_scaling.{key}", multiplier / 0.1, "derived", detail)
        elif multiplier:
            magnitude = _magnitude(stretch, 1.0) / _magnitude(stretch, multiplier) * (extra or 1.0)
            detail = f"m(1) / m({self.key('rope.scaling.yarn_log_multiplier')}), m(c) = 0.1 c ln(factor) + 1"
            self.set("rope_scaling.attention_factor", magnitude, "derived", detail)
        elif extra and extra != 1:
            detail = f"(0.1 ln(factor) + 1) * {self.key('rope.scaling.attn_factor')}"
            self.set("rope_scaling.attention_factor", _magnitude(stretch, 1.0) * extra, "derived", detail)

    def _divisors(self) -> bool:
        """Whether tensors of divisors scale the frequencies; their rule goes into the config."""
        every, short, long = (
            _tensor(self.header.tensors, name) for name in ("rope_freqs", "rope_factors_short", "rope_factors_long")
        )
        if long is not None and short is not None:
            self._longrope(short, long)
            return True
        if every is None:
            return False
        where, divisors = f"tensor {every[0]}", every[1].values
        pairs = (self._rotated() or 0) // 2
        if divisors is None or len(divisors) < pairs or not pairs or not all(d > 0 for d in divisors):
            self.findings.note(
                "scaling-unusable",
                "warning",
                f"the divisors of {where} cannot be used" if divisors is None or pairs else f"{where}, and no pairs to divide",
                {where: None if divisors is None else f"{len(divisors)} divisors for {pairs} pairs"},
                "convert the model again",
            )
            self.set("rope_scaling.rope_type", "unknown divisors", "file", where)
            return True
        divisors = divisors[:pairs]
        if all(d == 1 for d in divisors):
            return False
        turning = sum(d < STANDS_STILL for d in divisors)
        if turning < len(divisors):
            if any(d != 1 for d in divisors[:turning]):
                self.set("rope_scaling.rope_type", "unknown divisors", "file", f"{where}, which mixes rules")
                return True
            detail = f"{turning} of {len(divisors)} divisors in {where} are 1"
            self.set("rope_scaling.rope_type", "proportional", "derived", f"the other divisors in {where} are above 1e20")
            self.set("rope_scaling.partial_rotary_factor", turning / len(divisors), "derived", detail)
            return True
        llama3 = self._llama3(divisors)
        if llama3 is not None:
            self.set("rope_scaling.rope_type", "llama3", "derived", f"the divisors in {where} are those of this rule to 1e-5")
            names = {"original_context": "original_max_position_embeddings"}
            for name, value in llama3.settings().items():
                self.set(f"rope_scaling.{names.get(name, name)}", value, "derived", f"recognised in {where}")
            return True
        self.set("rope_scaling.rope_type", "longrope", "derived", f"one divisor a pair in {where}, whatever the length")
        for name in ("short_factor", "long_factor"):
            self.set(f"rope_scaling.{name}", list(divisors), "file", where)
        self.set("rope_scaling.attention_factor", 1.0, "family", "llama.cpp leaves cos and sin alone")
        self._original()
        return True

    def _longrope(self, short: tuple[str, Tensor], long: tuple[str, Tensor]) -> None:
        self.set("rope_scaling.rope_type", "longrope", "file", f"tensors {short[0]} and {long[0]}")
        for name, (key, tensor) in (("short_factor", short), ("long_factor", long)):
            if tensor.values is not None:
                self.set(f"rope_scaling.{name}", list(tensor.values), "file", f"tensor {key}")
        # llama.cpp never computes sqrt(1 + ln s / ln L): what the converter did not store is 1
        self.set("rope_scaling.attention_factor", 1.0, "family", "llama.cpp's where rope.scaling.attn_factor is missing")
        self.copy("rope.scaling.attn_factor", "rope_scaling.attention_factor")
        self._original()

    def _original(self) -> None:
        """The context at which divisors change; llama.cpp takes the claimed one where the file states none."""
        self.copy("context_length", "rope_scaling.original_max_position_embeddings")
        self.copy("rope.scaling.original_context_length", "rope_scaling.original_max_position_embeddings")

    def _halved(self) -> None:
        """Step 3.5: layers without a window turn half of the stated channels."""
        turned = self.count("rope.dimension_count")
        if self.name == "step35" and turned and turned % 2 == 0:
            if "swa_rotary_dim" not in self.config:
                self.copy("rope.dimension_count", "swa_rotary_dim")
            self.set("rotary_dim", turned // 2, "derived", f"{self.key('rope.dimension_count')} / 2: {self.origin}")

    def _rotated(self) -> int | None:
        """Channels that turn in the layers without a window."""
        hidden, heads = self.count("embedding_length"), self.count("attention.head_count")
        derived = hidden // heads if hidden and heads else None
        return self.count("rope.dimension_count") or self.count("attention.key_length") or derived

    def _llama3(self, divisors: tuple[float, ...]) -> Llama3 | None:
        """The settings of Llama 3's rule that give these divisors to the float32 they are stored in, or None."""
        base, rotated = self.number("rope.freq_base") or 10000.0, self._rotated() or 0
        if base <= 1 or len(divisors) * 2 != rotated:
            return None
        original = self.count("rope.scaling.original_context_length")
        plain = inverse_frequencies(rotated, base)
        for context in (original,) if original else LLAMA3_CONTEXTS:
            try:
                rule = Llama3(max(divisors), 1.0, 4.0, context)
                scaled = rule.inverse_frequencies(rotated, base)
            except (OrdinateError, ArithmeticError):
                return None
            if all(s and math.isclose(p / s, d, rel_tol=1e-5) for p, s, d in zip(plain, scaled, divisors, strict=True)):
                return rule
        return None


def _magnitude(factor: float, coefficient: float) -> float:
    return 0.1 * coefficient * math.log(factor) + 1.0 if factor > 1 else 1.0


def _tensor(tensors: Mapping[str, Tensor], name: str) -> tuple[str, Tensor] | None:
    """Llama's converter names it once, newer ones once a layer (blk.0.rope_freqs.weight)."""
    for key in (f"{name}.weight", f"blk.0.{name}.weight"):
        if key in tensors:
            return key, tensors[key]
    return None
