"""The layers of a GGUF file, kind by kind: what turns, what has a window, what has no encoding at all.

Provenance names GGUF keys and tensors; "family" stands for llama.cpp's code of that architecture.
"""

from __future__ import annotations

import math
from typing import Any

from ordinate.inspection.gguf.architectures import INTERLEAVED_AXES, Architecture
from ordinate.inspection.gguf.heads import Heads
from ordinate.inspection.gguf.keys import Keys, is_count
from ordinate.inspection.gguf.scaling import ScalingRead, read_scaling
from ordinate.inspection.provenance import Value, unknown
from ordinate.inspection.record import Attention, Cache, Contexts, Encoding, LayerKind, Part
from ordinate.inspection.rotary import RotaryRule, rotation_spec
from ordinate.inspection.rotation import Rotation
from ordinate.spec import PositionSpec

__all__ = ["Stack"]

_MOST_LAYERS = 4096
_PERMUTED = frozenset({"llama", "deci", "mistral3", "llama-embed", "smollm3", "granite", "granitemoe", "internlm2", "arcee"})
"""Architectures whose converter reorders query and key rows, so that the file says interleaved where the model said half."""


class Stack:
    """The layers of the file, kind by kind."""

    def __init__(self, keys: Keys, architecture: Architecture, model_type: Value) -> None:
        self.keys, self.facts, self.model_type = keys, architecture, model_type
        self.name = keys.architecture
        self.hidden = keys.count("embedding_length") or unknown("no embedding_length")
        self.context = keys.count("context_length")
        self.num_layers = self._count_layers()
        layers = self.num_layers.value or 0
        self.heads = Heads(keys, layers, self.hidden)
        self.window = self._window_keys()
        self.windowed = self._windowed(layers)

    def family(self, value: Any, what: str) -> Value:
        return Value(value, "family", f"llama.cpp's code of {self.name}: {what}")

    def _count_layers(self) -> Value:
        blocks, extra = self.keys.count("block_count", 0), self.keys.count("nextn_predict_layers", 0)
        if blocks is None:
            return unknown("no block_count")
        if blocks.value > _MOST_LAYERS:
            self.keys.find(
                "out-of-range",
                "error",
                f"{blocks.detail} is beyond any model",
                {blocks.detail: blocks.value},
                "convert the model again",
            )
            return unknown(f"{blocks.detail} is {blocks.value}")
        if extra is not None and 0 < extra.value < blocks.value:
            return Value(blocks.value - extra.value, "derived", f"{blocks.detail} - {extra.detail}")
        return blocks

    def _window_keys(self) -> Value | None:
        """The window of the layers that have one; None where no layer can."""
        windows = self.facts.windows
        told = self.keys.count("attention.sliding_window", 0)
        if windows is None:
            if told is not None and told.value:
                self.keys.find(
                    "window-not-applied",
                    "info",
                    f"llama.cpp applies no window in {self.name}, whatever the file says",
                    {told.detail: told.value},
                    "expect full attention, and a full cache",
                )
            return None
        if windows.only_with_layers and self.num_layers.value != windows.only_with_layers:
            return None
        if told is not None:
            return told if told.value else None
        return self.family(windows.keys, "its window") if windows.keys else None

    def _windowed(self, layers: int) -> tuple[bool, ...]:
        windows = self.facts.windows
        if windows is None or self.window is None:
            return (False,) * layers
        period = windows.period
        told = self.keys.read(
            "attention.sliding_window_pattern",
            lambda value: (
                (is_count(value) and value >= 0)
                or (isinstance(value, list) and len(value) >= layers and all(item in (0, 1) for item in value))
            ),
            "a period, or one flag for each layer",
        )
        if told is not None and isinstance(told.value, list):
            return tuple(bool(flag) for flag in told.value[:layers])
        period = told.value if told is not None else period
        if period == 0:  # llama.cpp: every layer
            return (told is not None,) * layers
        open_at = 0 if windows.full_first else period - 1
        return tuple(index % period != open_at for index in range(layers))

    def part(self) -> Part:
        layers = self._kinds()
        contexts = self._contexts(layers)
        table = self.keys.header.tensors.get("position_embd.weight")
        spent = (
            Value(math.prod(table.shape), "file", "tensor position_embd.weight")
            if table is not None
            else Value(0, "derived", "no tensor position_embd.weight")
        )
        decodes = bool(layers) and self.facts.causal and self.facts.kind != "unknown"
        return Part(
            name="text",
            path="",
            model_type=self.model_type,
            layers=layers,
            num_layers=self.num_layers,
            hidden_size=self.hidden,
            contexts=contexts,
            cache=self._cache(layers, contexts) if decodes else None,
            parameters_on_position=spent,
        )

    def _kinds(self) -> tuple[LayerKind, ...]:
        """Layers that agree in all that matters are one kind; the one that reaches farthest comes first."""
        if self.num_layers.value is None or self.facts.kind == "unknown":
            return ()
        groups: dict[tuple[Any, ...], list[int]] = {}
        for index in range(self.num_layers.value):
            key = (
                self._recurrent(index),
                self.windowed[index],
                self._nope(index),
                self.heads.counted(index),
            )
            groups.setdefault(key, []).append(index)
        ordered = sorted(groups.items(), key=lambda item: (item[0][0] != "", item[0][1], item[0][2], item[1]))
        return tuple(self._kind(tuple(indices), *key[:3]) for key, indices in ordered)

    def _recurrent(self, index: int) -> str:
        """What the layer is if it does not attend, else ""."""
        if self.facts.recurrent_but:
            told = self.keys.count("full_attention_interval")
            period = told.value if told is not None else self.facts.recurrent_but
            return "" if (index + 1) % period == 0 else "linear attention"
        if 0 in self.heads.counted(index):
            feeding = self.keys.counts("feed_forward_length", self.num_layers.value)
            idle = self.name == "deci" or (self.name.startswith("nemotron_h") and feeding is not None and feeding[0][index])
            return "no attention" if idle else "recurrent"
        return ""

    def _nope(self, index: int) -> bool:
        rule = self.facts.nope
        if self.facts.windows is not None and self.window is None:  # no windows in this file: everything rotates
            return False
        if rule == "full":
            return not self.windowed[index]
        if rule == "last of 4":
            return (index + 1) % 4 == 0
        return rule == "first of 4" and index % 4 == 0

    def _kind(self, indices: tuple[int, ...], recurrent: str, windowed: bool, nope: bool) -> LayerKind:
        if recurrent:
            attention = self.heads.of(indices[0], recurrent, windowed)
            return LayerKind(recurrent, indices, (), attention, _no_window())
        attention = self.heads.of(indices[0], recurrent, windowed)
        windows = self.facts.windows
        window, name = _no_window(), "full attention"
        if windowed and windows is not None and self.window is not None:
            window, name = self.window, "chunked attention" if windows.shape == "chunked" else "sliding attention"
            if windows.shape == "symmetric":
                window = Value(window.value // 2 * 2 + 1, "derived", f"{window.detail} / 2 on either side, and itself")
        return LayerKind(name, indices, self._encodings(attention, windowed, nope), attention, window)

    def _encodings(self, attention: Attention, windowed: bool, nope: bool) -> tuple[Encoding, ...]:
        if nope:
            kind = self.family("none", "these layers have no encoding")
            return (Encoding(kind, "queries and keys", spec=PositionSpec("none")),)
        kind = self.family(self.facts.kind, "its encoding")
        if self.name == "baichuan" and self.num_layers.value == 40:
            kind = self.family("alibi", "the model of 40 layers has ALiBi")
        if kind.value in ("rope", "mrope"):
            return (self._rotary(attention, windowed),)
        table = self.keys.header.tensors.get("position_embd.weight")
        if kind.value == "alibi" and self.name == "mpt" and table is not None:
            kind = Value("learned", "file", "tensor position_embd.weight")
        if kind.value == "learned":
            rows = (
                Value(table.shape[-1], "file", "tensor position_embd.weight")
                if table is not None and table.shape
                else self.context or unknown("no tensor position_embd.weight")
            )
            spec = None
            if rows.known and self.hidden.known:
                spec = PositionSpec("learned", {"num_positions": rows.value, "dim": self.hidden.value})
            return (Encoding(kind, "input", settings={"rows": rows}, spec=spec),)
        if kind.value == "alibi":
            steepest = self.keys.number("attention.max_alibi_bias") or self.family(8.0, "its steepest slope is 2^-(8/H)")
            heads = attention.num_heads
            plain = heads.known and steepest.value == 8
            spec = PositionSpec("alibi", {"num_heads": heads.value}) if plain else None
            return (Encoding(kind, "scores", settings={"max_bias": steepest}, spec=spec),)
        if kind.value == "t5-bucket":
            buckets = self.keys.count("attention.relative_buckets_count") or unknown("no attention.relative_buckets_count")
            farthest = self.family(128, "distances from 128 on share the last bucket")
            return (Encoding(kind, "scores", settings={"num_buckets": buckets, "max_distance": farthest}),)
        return (Encoding(kind, "queries and keys", spec=PositionSpec("none")),)

    def _rotary(self, attention: Attention, windowed: bool) -> Encoding:
        keys, windows = self.keys, self.facts.windows
        own = windowed and windows is not None
        base = (
            (keys.number("rope.freq_base_swa") if own else None)
            or (
                self.family(windows.base, "its base in windowed layers")
                if own and windows is not None and windows.base
                else None
            )
            or keys.number("rope.freq_base")
            or Value(10000.0, "family", "llama.cpp's default where rope.freq_base is missing")
        )
        head = attention.head_dim
        rotary = (
            (keys.count("rope.dimension_count_swa") if own else None)
            or keys.count("rope.dimension_count")
            or (
                Value(head.value, "derived", f"all of the head ({head.detail})")
                if head.known
                else unknown("no rope.dimension_count and no head width")
            )
        )
        if rotary.known and (rotary.value % 2 or (head.known and rotary.value > head.value)):
            keys.find(
                "out-of-range",
                "error",
                f"{rotary.value} channels of a head of {head.value} cannot turn in pairs",
                {rotary.detail: rotary.value, head.detail: head.value},
                "convert the model again",
            )
            rotary = unknown(f"{rotary.detail} is {rotary.value}")
        scaled = self._scaling(rotary, base) if not own or windows is None or windows.scaled else None
        scaling = scaled or ScalingRead(self.family("none", "windowed layers are not scaled"))
        sections = keys.read(
            "rope.dimension_sections",
            lambda value: isinstance(value, list) and all(is_count(item) and item >= 0 for item in value),
            "a list of pairs",
        )
        several = sections is not None and sum(item > 0 for item in sections.value) > 1
        if sections is not None and several:
            sections = Value([item for item in sections.value if item], "file", sections.detail)
        layout = self.family(self.facts.layout, "llama_model_rope_type, of the weights in this file")
        if self.name in _PERMUTED:
            keys.find(
                "layout-reordered",
                "info",
                "the converter reordered query and key rows: interleaved here, half in the original checkpoint",
                {"general.architecture": self.name},
                'compare with a config.json by frequencies, and read these weights with layout="interleaved"',
            )
        rotation = Rotation(
            layout=layout,
            head_dim=head,
            rotary_dim=rotary,
            base=base,
            rule=scaling.rule,
            settings=scaling.settings,
            scaling=scaling.scaling,
            axes=("time", "height", "width")[: len(sections.value)] if sections is not None and several else ("tokens",),
            sharing=("interleaved" if self.name in INTERLEAVED_AXES else "sections") if several else "",
            sections=sections if several else None,
        )
        rule = RotaryRule(slice_key="attention.kv_lora_rank" if self._latent() else "")  # a latent head turns a slice apart
        kind = self.family("mrope" if several else "rope", "its encoding")
        return Encoding(kind, "queries and keys", rotation, spec=rotation_spec(rotation, rule))

    def _scaling(self, rotary: Value, base: Value) -> ScalingRead:
        keys = self.keys
        if not rotary.known or not base.value > 1:
            keys.find("out-of-range", "error", "no frequencies follow", {base.detail: base.value}, "convert the model again")
            return ScalingRead(unknown("rotary_dim or base is unusable"))
        tensors = keys.header.tensors
        read = read_scaling(keys.number, keys.text, tensors, self.name, rotary.value, base.value, self.context)
        if read.trouble:
            keys.find(
                "scaling-unusable", "warning", read.trouble, {read.rule.detail: read.rule.value}, "convert the model again"
            )
        if read.rule.value == "yarn" and read.original is None:
            keys.find(
                "original-context-missing",
                "warning",
                "YaRN without its original context: llama.cpp takes the context length, which is already the extended one",
                {f"{self.name}.rope.scaling.original_context_length": None},
                "start llama.cpp with --yarn-orig-ctx",
            )
        return read

    def _latent(self) -> bool:
        return self.keys.count("attention.kv_lora_rank") is not None and self.facts.kind == "rope"

    def _contexts(self, layers: tuple[LayerKind, ...]) -> Contexts:
        claimed = self.context or unknown("no context_length")
        rotation = next((layer.rotation for layer in layers if layer.rotation is not None), None)
        original = self.keys.count("rope.scaling.original_context_length")
        factor = None if rotation is None else rotation.settings.get("factor")
        if original is not None:
            trained = original
        elif rotation is not None and rotation.rule.value in ("linear", "ntk") and factor is not None and claimed.known:
            trained = Value(max(1, int(claimed.value / factor.value)), "assumed", "context_length / factor of the scaling")
        elif rotation is not None and rotation.rule.value == "llama3":
            trained = rotation.settings["original_context"]
        else:
            trained = claimed
        if not trained.known or not claimed.known:
            return Contexts(trained, claimed, "unknown")
        ratio = claimed.value / trained.value
        relation = "claimed is trained" if ratio == 1 else f"claimed is {ratio:g} times trained"
        if rotation is not None and factor is not None and rotation.rule.value == "yarn" and ratio > factor.value * 1.001:
            self.keys.find(
                "factor-context-mismatch",
                "warning",
                f"the context is {ratio:g} times the original one, the factor {factor.value:g}",
                {factor.detail: factor.value, claimed.detail: claimed.value, trained.detail: trained.value},
                "run at the context that the factor covers, or convert again",
            )
        return Contexts(trained, claimed, relation)

    def _cache(self, layers: tuple[LayerKind, ...], contexts: Contexts) -> Cache:
        size = Value(2, "assumed", "llama.cpp keeps float16 unless --cache-type-k and --cache-type-v say otherwise")
        widths = [layer.attention.cached_width for layer in layers]
        states = [layer.attention.state_width for layer in layers]
        lacking = next((value for value in (*widths, *states) if not value.known), None)
        if lacking is not None:
            return Cache(size, lacking, lacking)
        groups = tuple(
            # recurrent states are float32 in llama.cpp: two numbers' worth
            (len(layer.indices), width.value, layer.window_keys.value, 2 * state.value)
            for layer, width, state in zip(layers, widths, states, strict=True)
        )
        token = Value(sum(n * width for n, width, _, _ in groups) * 2, "derived", "sum of cached widths * 2 bytes")
        cache = Cache(size, token, unknown("no claimed context"), groups)
        if not contexts.claimed.known:
            return cache
        whole = Value(cache.bytes_at(contexts.claimed.value), "derived", "each layer's width * min(context, window), + states")
        return Cache(size, token, whole, groups)


def _no_window() -> Value:
    return Value(None, "derived", "no window")
