"""The memory that a model takes: weights, cache by kind of layer, recurrent state, logits and activations; and what fits.

Weights are summed from files where there are any; the cache follows the program that runs the model (`engines`); logits and
activations are bounds, each with its formula:

    logits       rows x vocabulary x bytes of a number, and 4 more where the sampler's float32 copy is made
    activations  tokens computed at once x (4 width + 3 inner) x bytes of a number
    mask         llama.cpp's: cells of a sequence x tokens computed at once x 2 bytes

with the inner width of the feed-forward layer, four times the stream's where the file does not state it; 2 inner without a
gate, 4 where one matrix makes both halves, 5 width where attention and feed-forward run side by side. Scores are never kept
whole by the fused attention that all three programs use. The tests hold activations and logits to the peak that torch's
profiler sees in transformers on small models, within 5 %, and all three to the buffers that libllama allocates.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ordinate.arguments import check_choice, check_integer
from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError
from ordinate.inspection.files import Document, read_document
from ordinate.inspection.gguf_header import Header
from ordinate.inspection.inspect import inspect_document
from ordinate.inspection.memory.engines import (
    CACHE_TYPES,
    ENGINES,
    LAYOUTS,
    LOGICAL_BATCH,
    MICRO_BATCH,
    TYPES_OF,
    VLLM_BATCH,
    Engine,
    KeptLayers,
    cache_bytes,
    cross_bytes,
    mask_cells,
)
from ordinate.inspection.memory.parameters import count_parameters
from ordinate.inspection.memory.weights import HOST, Places, Weights, mapped_places, split_places, weights_beside
from ordinate.inspection.records import CacheGroup, Finding, Inspection

__all__ = ["SCHEMA", "Fit", "Item", "MemoryEstimate", "estimate_memory"]

SCHEMA = "ordinate.memory/1"
"""Name and version of what `MemoryEstimate.to_dict` returns."""

UNGATED = frozenset(
    {
        *("gpt_neox", "starcoder2", "gpt2", "gptj", "gpt_neo", "opt", "bloom", "falcon", "phi", "codegen", "mpt"),
        *("gpt_bigcode", "persimmon", "nemotron", "xglm", "biogpt"),
    }
)
FUSED = frozenset({"phi3", "glm", "glm4", "phi4_multimodal"})
PARALLEL = frozenset({"gpt_neox", "cohere", "cohere2", "gptj", "codegen", "phi"})
"""Types whose feed-forward layer has no gate, or one matrix for gate and input, or runs beside attention (read in 5.24)."""

SCALED_LOGITS = ("final_logit_softcapping", "logit_scale", "logits_scaling")
"""Keys with which the logits are scaled or capped, so that two copies are alive."""

COMPRESSED = {"compressed sparse attention": 4, "heavily compressed attention": 128}

MOST_TOKENS, MOST_SEQUENCES = 10**9, 10**6


@dataclass(frozen=True)
class Item:
    """One part of the memory.

    Args:
        name: "weights", "full attention", "linear attention state", "logits", "activations" ...
        group: "weights", "cache", "state" or "working memory".
        size: bytes; None where unknown.
        formula: how they come about, or why they are unknown.
        bound: whether it is an upper bound rather than what is allocated.
        place: where it lies ("GPU", "CPU" ...); empty where nothing is offloaded.
    """

    name: str
    group: str
    size: int | None
    formula: str
    bound: bool = False
    place: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "name": self.name,
            "group": self.group,
            "bytes": self.size,
            "formula": self.formula,
            "bound": self.bound,
            "place": self.place,
        }


@dataclass(frozen=True)
class Fit:
    """What fits into a memory.

    Args:
        limit: bytes there are, of each accelerator where parts are offloaded.
        fits: whether the asked context and sequences do; None where a part is unknown and the others do.
        context: the longest context at the asked number of sequences; 0 where not even one token fits.
        sequences: the most sequences at the asked context.
        advice: what would change most, the largest saving first: what to do, and the bytes it saves.
        gpu_layers: with llama.cpp and a file of weights, the most layers that fit on the GPU (`--gpu-layers`).
    """

    limit: int
    fits: bool | None
    context: int
    sequences: int
    advice: tuple[tuple[str, int], ...]
    gpu_layers: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "limit": self.limit,
            "fits": self.fits,
            "longest_context": self.context,
            "most_sequences": self.sequences,
            "gpu_layers": self.gpu_layers,
            "advice": [{"what": what, "saves": saved} for what, saved in self.advice],
        }


@dataclass(frozen=True)
class MemoryEstimate:
    """What running a model takes.

    Args:
        source: the file's name.
        engine: whose rules for the cache.
        context: tokens of each sequence.
        sequences: how many run at once.
        batch: tokens that are computed at once.
        cache_types: of keys and of values.
        items: the parts.
        weights: the weights' own sums, where files were summed.
        findings: what deserves a look, worst first.
        at_least: whether some part is unknown, so that the total is a lower bound.

    >>> config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    >>> estimate_memory(config, context=100).size_of("cache") == 2 * 100 * (64 + 64) * 2
    True
    """

    source: str
    engine: Engine
    context: int
    sequences: int
    batch: int
    cache_types: tuple[str, str]
    items: tuple[Item, ...]
    weights: Weights | None
    findings: tuple[Finding, ...]
    at_least: bool
    _again: Callable[..., MemoryEstimate] = dataclasses.field(repr=False, compare=False)

    @property
    def total(self) -> int:
        """Bytes of all parts that are known."""
        return sum(item.size for item in self.items if item.size is not None)

    @property
    def on_accelerator(self) -> int:
        """Bytes that must fit into an accelerator's memory: all, or those on the fullest where some are offloaded."""
        filled: dict[str, int] = {}
        for item in self.items:
            if item.size is not None and item.place not in HOST:
                filled[item.place] = filled.get(item.place, 0) + item.size
        return max(filled.values(), default=0)

    def size_of(self, group: str) -> int:
        """Bytes of the parts of a group: "weights", "cache", "state" or "working memory"."""
        return sum(item.size for item in self.items if item.size is not None and item.group == group)

    def fits(self, limit: int) -> Fit:
        """What fits into `limit` bytes: the longest context, the most sequences, and what would change most.

        Raises:
            ArgumentError: no positive number of bytes.
        """
        limit = check_integer("limit", limit, minimum=1)
        context = _largest(lambda n: self._again(context=n).on_accelerator <= limit, MOST_TOKENS)
        sequences = _largest(lambda n: self._again(sequences=n).on_accelerator <= limit, MOST_SEQUENCES)
        fits = None if self.at_least and self.on_accelerator <= limit else self.on_accelerator <= limit
        layers = None
        if self.engine == "llama.cpp" and self.weights is not None:
            layers = _largest(lambda n: self._again(gpu_layers=n).on_accelerator <= limit, self.weights.layers + 1)
        return Fit(limit, fits, context, sequences, self._advice(), layers)

    def _advice(self) -> tuple[tuple[str, int], ...]:
        advice: list[tuple[str, int]] = []
        smaller = {"transformers": (), "vllm": ("fp8",), "llama.cpp": ("q8_0", "q4_0")}[self.engine]
        for kind in smaller:
            advice.append((f"a cache of {kind}", self._saved(cache_type=kind, value_cache_type=kind)))
        if self.sequences > 1:
            advice.append(("one sequence fewer", self._saved(sequences=self.sequences - 1)))
        if self.context > 1:
            advice.append(("half of the context", self._saved(context=self.context // 2)))
        if self.engine == "llama.cpp" and self.weights is not None and "experts" in self.weights.by_group:
            advice.append(("all experts on the CPU (--cpu-moe all)", self._saved(cpu_moe=self.weights.layers)))
        wide = self.weights is not None and any(kind in self.weights.by_type for kind in ("F32", "F16", "BF16"))
        if wide or self.weights is None:
            weights = self.size_of("weights")
            if weights:
                advice.append(("weights of 8 bits", weights // 2))
        return tuple(sorted((each for each in advice if each[1] > 0), key=lambda each: -each[1]))

    def _saved(self, **changes: Any) -> int:
        return self.on_accelerator - self._again(**changes).on_accelerator

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; `docs/memory.md` describes it."""
        return {
            "schema": SCHEMA,
            "source": self.source,
            "engine": self.engine,
            "context": self.context,
            "sequences": self.sequences,
            "batch": self.batch,
            "cache_types": list(self.cache_types),
            "total": self.total,
            "on_accelerator": self.on_accelerator,
            "at_least": self.at_least,
            "items": [item.to_dict() for item in self.items],
            "weights": None if self.weights is None else self.weights.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest number from 0 to `most` that fits, by bisection: more never takes less."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while high < most and fits(high):
        low, high = high, high * 2
    high = min(high, most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def estimate_memory(
    source: str | os.PathLike[str] | Mapping[str, Any] | Document,
    *,
    context: int | None = None,
    sequences: int = 1,
    batch: int | None = None,
    cache_type: str | None = None,
    value_cache_type: str | None = None,
    engine: str | None = None,
    layout: str | None = None,
    encoder_tokens: int | None = None,
    logits: str = "last",
    gpu_layers: int | None = None,
    cpu_moe: int | None = None,
    device_map: Mapping[str, Any] | None = None,
) -> MemoryEstimate:
    """Estimate what running a model takes in memory.

    Args:
        source: a config.json, a directory with one and perhaps its weights, a GGUF file (the first of a split one), the
            dictionary of a config, or what `read_document` gave.
        context: tokens of each sequence; by default the context that the file claims.
        sequences: how many run at once.
        batch: tokens that are computed at once; by default the program's own (512 in llama.cpp, 8,192 in vLLM, the whole
            context in transformers).
        cache_type: of cached keys, and of values too unless `value_cache_type` says otherwise: "f16", "q8_0", "fp8" ...; by
            default the program's own.
        value_cache_type: of cached values.
        engine: "transformers", "vllm" or "llama.cpp"; by default llama.cpp for GGUF files, transformers for others.
        layout: of the cache: "dynamic" or "static" in transformers, "separate" or "unified" in llama.cpp; by default the first.
        encoder_tokens: of each sequence, where a decoder keeps keys and values of its encoder; by default what the encoder
            claims (1,500 in Whisper), or as many as `context`.
        logits: "last" for one row a sequence, as generating takes; "all" for one a token, as perplexities take.
        gpu_layers: llama.cpp's `--gpu-layers`: so many of the last layers lie on the GPU, the output as one more; by default
            all, and then nothing is told apart.
        cpu_moe: llama.cpp's `--n-cpu-moe`: experts of so many of the first layers lie on the CPU.
        device_map: module to device, as transformers' `model.hf_device_map`: which weights and caches lie where.

    Raises:
        ArgumentError: a number out of range, no context where the file claims none.
        UnknownNameError: an engine or a cache type that there is not.
        RefusedError: a cache type or a way of offloading that the engine does not have, or no weights to offload.
        DataError, MissingDataError: a file that cannot be read, or a shard that is missing.

    >>> config = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8}
    >>> config |= {"num_hidden_layers": 32, "intermediate_size": 14336, "vocab_size": 128256, "torch_dtype": "bfloat16"}
    >>> estimate = estimate_memory(config, context=8192)
    >>> estimate.size_of("cache") / 2**20
    1024.0
    """
    document = _document(source)
    inspection = inspect_document(document)
    weights = weights_beside(document)
    name = check_choice("engine", engine or ("llama.cpp" if document.header is not None else "transformers"), ENGINES)

    def again(**changes: Any) -> MemoryEstimate:
        settings: dict[str, Any] = {
            "context": context,
            "sequences": sequences,
            "batch": batch,
            "cache_type": cache_type,
            "value_cache_type": value_cache_type,
            "layout": layout,
            "encoder_tokens": encoder_tokens,
            "logits": check_choice("logits", logits, ("last", "all")),
            "gpu_layers": gpu_layers,
            "cpu_moe": cpu_moe,
            "device_map": device_map,
        }
        return _estimate(document, inspection, weights, name, again=again, **{**settings, **changes})  # type: ignore[arg-type]

    return again()


def _document(source: str | os.PathLike[str] | Mapping[str, Any] | Document) -> Document:
    if isinstance(source, Document):
        return source
    if isinstance(source, Mapping):
        return Document("<dict>", None, config=dict(source))
    if not isinstance(source, str | os.PathLike):
        raise ArgumentTypeError("source", expected="a dictionary or the name of a file", got=type(source).__name__)
    return read_document(source)


def _estimate(
    document: Document,
    inspection: Inspection,
    weights: Weights | None,
    engine: Engine,
    *,
    context: int | None,
    sequences: int,
    batch: int | None,
    cache_type: str | None,
    value_cache_type: str | None,
    layout: str | None,
    encoder_tokens: int | None,
    logits: str,
    gpu_layers: int | None,
    cpu_moe: int | None,
    device_map: Mapping[str, Any] | None,
    again: Callable[..., MemoryEstimate],
) -> MemoryEstimate:
    claimed = inspection.contexts.claimed.value
    if context is None:
        if not isinstance(claimed, int):
            raise ArgumentError("context", expected="a number of tokens", got="none, and the file claims no context")
        context = claimed
    context = check_integer("context", context, minimum=1, maximum=MOST_TOKENS)
    sequences = check_integer("sequences", sequences, minimum=1, maximum=MOST_SEQUENCES)
    usual = {"llama.cpp": MICRO_BATCH, "vllm": VLLM_BATCH, "transformers": context}[engine]
    batch = usual if batch is None else check_integer("batch", batch, minimum=1, maximum=MOST_TOKENS)
    own = "f16" if engine == "llama.cpp" else _own_type(inspection)
    key_type = _cache_type("cache_type", cache_type or own, engine)
    value_type = _cache_type("value_cache_type", value_cache_type or cache_type or own, engine)
    places = _places(weights, engine, gpu_layers, cpu_moe, device_map)
    items = _weights_items(document, inspection, weights, places)
    layout = check_choice("layout", layout or LAYOUTS[engine][0], tuple(name for names in LAYOUTS.values() for name in names))
    if layout not in LAYOUTS[engine]:
        raise RefusedError("layout", expected=f"a layout of {engine}: {' or '.join(LAYOUTS[engine])}", got=layout)
    items += _cache_items(inspection, engine, context, sequences, batch, key_type, value_type, layout, places)
    if encoder_tokens is not None:
        encoder_tokens = check_integer("encoder_tokens", encoder_tokens, minimum=1, maximum=MOST_TOKENS)
    items += _cross_items(inspection, engine, encoder_tokens or context, encoder_tokens is None, sequences, key_type)
    work = "" if places is None else places.work
    items += [
        dataclasses.replace(item, place=work)
        for item in _working_items(document, inspection, engine, context, sequences, batch, layout, logits)
    ]
    findings = list(_findings(inspection, context, claimed))
    cache = inspection.cache
    at_least = any(item.size is None for item in items) or (cache is not None and cache.at_least)
    return MemoryEstimate(
        *(inspection.source, engine, context, sequences, batch, (key_type, value_type)),
        *(tuple(items), weights, tuple(findings), at_least, again),
    )


def _own_type(inspection: Inspection) -> str:
    width = inspection.cache.bytes_per_value.value if inspection.cache is not None else 2
    return {4: "f32", 1: "bf16"}.get(width, "bf16")  # weights of 8 bits are computed with 16


def _cache_type(argument: str, name: str, engine: Engine) -> str:
    name = check_choice(argument, name, CACHE_TYPES)
    if name not in TYPES_OF[engine]:
        raise RefusedError(argument, expected=f"a type that {engine} keeps a cache in: {', '.join(TYPES_OF[engine])}", got=name)
    return name


def _places(
    weights: Weights | None,
    engine: Engine,
    gpu_layers: int | None,
    cpu_moe: int | None,
    device_map: Mapping[str, Any] | None,
) -> Places | None:
    """Where parts lie, if anything is offloaded."""
    for argument, value, program in (
        ("gpu_layers", gpu_layers, "llama.cpp"), ("cpu_moe", cpu_moe, "llama.cpp"), ("device_map", device_map, "transformers"),
    ):  # fmt: skip
        if value is not None and engine != program:
            raise RefusedError(argument, expected=f"none, as it is an option of {program}", got=f"the engine {engine}")
        if value is not None and weights is None:
            raise RefusedError(argument, expected="a file of weights, whose tensors say what lies where", got="a config alone")
    if weights is None or (gpu_layers is None and cpu_moe is None and device_map is None):
        return None
    if device_map is not None:
        if not isinstance(device_map, Mapping) or not device_map:
            raise ArgumentTypeError(
                "device_map", expected="names of modules, each with a device", got=type(device_map).__name__
            )
        return mapped_places(weights, device_map)
    layers = weights.layers + 1 if gpu_layers is None else check_integer("gpu_layers", gpu_layers, minimum=0)
    return split_places(weights, layers, 0 if cpu_moe is None else check_integer("cpu_moe", cpu_moe, minimum=0))


def _weights_items(document: Document, inspection: Inspection, weights: Weights | None, places: Places | None) -> list[Item]:
    item = _weights_item(document, inspection, weights)
    if places is None:
        return [item]
    return [
        dataclasses.replace(item, size=size, formula=item.formula if index == 0 else "", place=place)
        for index, (place, size) in enumerate((place, size) for place, size in places.sizes.items() if size)
    ]


def _weights_item(document: Document, inspection: Inspection, weights: Weights | None) -> Item:
    if weights is not None:
        types = ", ".join(f"{size / 2**20:,.1f} MiB of {kind}" for kind, size in weights.by_type.items())
        files = f"{weights.files} file{'s' if weights.files > 1 else ''}"
        tied = "; the output reads the embedding's table" if weights.tied else ""
        return Item("weights", "weights", weights.total, f"summed from the headers of {files}: {types}{tied}")
    counted = count_parameters(document.config or {}, inspection)
    if isinstance(counted, str):
        return Item("weights", "weights", None, counted)
    width = inspection.cache.bytes_per_value.value if inspection.cache is not None else 2
    return Item(
        "weights", "weights", counted * width, f"{counted:,} parameters of {inspection.model_type.value} x {width} bytes"
    )


def _cache_items(
    inspection: Inspection,
    engine: Engine,
    context: int,
    sequences: int,
    batch: int,
    key_type: str,
    value_type: str,
    layout: str,
    places: Places | None,
) -> list[Item]:
    cache = inspection.cache
    if cache is None:
        return []
    if not cache.bytes_per_token.known:
        return [Item("cache", "cache", None, cache.bytes_per_token.detail)]
    items = []
    for place, groups in _by_place(cache.groups, places):
        kept = _kept(groups, engine, cache.bytes_per_value.value)
        sizes = cache_bytes(
            kept,
            engine,
            context,
            sequences,
            batch=batch,
            key_bytes=CACHE_TYPES[key_type],
            value_bytes=CACHE_TYPES[value_type],
            layout=layout,
        )
        for name, (size, formula) in sizes.items():
            items.append(Item(name, "state" if name.endswith(" state") else "cache", size, formula, place=place))
        for each in kept:
            if not each.stated:
                items.append(Item(f"{each.name} state", "state", None, "its size is unknown", place=place))
    return items


def _kept(groups: Sequence[CacheGroup], engine: Engine, width: int) -> list[KeptLayers]:
    plain = next((group for group in groups if group.window), None)
    if engine == "llama.cpp" and plain is not None and any(group.name in COMPRESSED for group in groups):
        return _compressed(groups, plain)
    return [
        KeptLayers(
            *(group.name, group.layers, group.keys, group.width - group.keys, group.window),
            *(_state_bytes(group, engine, width), group.state_known),
        )
        for group in groups
    ]


def _compressed(groups: Sequence[CacheGroup], plain: CacheGroup) -> list[KeptLayers]:
    """DeepSeek-V4 in llama.cpp: every layer has a window's cells, and those that compress a cache of fewer cells beside it.

    Half-made entries are kept in float32, values and scores (src/llama-kv-cache-dsv4.cpp, read at commit 0c1e570).
    """
    dim = plain.width
    kept = [KeptLayers(plain.name, sum(group.layers for group in groups), dim, 0, plain.window, 0, apart=True)]
    for group in groups:
        if group.name in COMPRESSED:
            ratio = COMPRESSED[group.name]
            width = group.width * ratio if ratio == 4 else dim
            open_entries = 2 * 2 * width * 2 * ratio if ratio == 4 else 2 * dim * ratio
            kept.append(KeptLayers(group.name, group.layers, width, 0, None, 4 * open_entries, ratio=ratio, apart=True))
    return kept


def _by_place(groups: Sequence[CacheGroup], places: Places | None) -> list[tuple[str, list[CacheGroup]]]:
    """The layers of each place; a layer that no tensor names lies where the work is done."""
    if places is None:
        return [("", list(groups))]
    found: dict[str, list[CacheGroup]] = {}
    for group in groups:
        homes = [places.layers.get(index, places.work) for index in group.indices]
        for place in dict.fromkeys(homes):
            found.setdefault(place, []).append(dataclasses.replace(group, layers=homes.count(place)))
    return list(found.items())


def _cross_items(
    inspection: Inspection, engine: Engine, tokens: int, guessed: bool, sequences: int, key_type: str
) -> list[Item]:
    """What a decoder keeps of the encoder beside it: as wide as its own cache, of a length that it does not change."""
    part = inspection.main
    if not any(layer.stack == "encoder" for layer in part.layers) or inspection.cache is None:
        return []
    limits = [
        encoding.settings["rows_precomputed"].value
        for layer in part.layers
        for encoding in layer.encodings
        if layer.stack == "encoder" and encoding.settings.get("rows_precomputed") is not None
    ]
    if guessed and part.name == "speech" and limits and isinstance(limits[0], int):
        tokens = limits[0]  # sound is padded to a fixed length
    items = []
    for group in inspection.cache.groups:
        if group.width:
            layers = KeptLayers(group.name, group.layers, group.keys, group.width - group.keys, None, 0)
            size, formula = cross_bytes(layers, engine, tokens, sequences, CACHE_TYPES[key_type])
            items.append(Item("cross attention", "cache", size, formula))
    return items


def _state_bytes(group: CacheGroup, engine: Engine, width: int) -> int:
    """Bytes of a layer's state: llama.cpp and vLLM drop a convolution's oldest column; llama.cpp keeps all in float32.

    vLLM keeps recurrences in the model's dtype too, except Kimi's delta attention and where the file says otherwise
    (`mamba_ssm_dtype`; vllm/model_executor/layers/mamba/mamba_utils.py, read at commit 02d7108).
    """
    state = group.state_numbers
    if state is None or engine == "transformers":
        return group.state
    rolled = state.model_numbers * (state.columns - 1) // state.columns if state.columns else state.model_numbers
    if engine == "llama.cpp":
        return 4 * (rolled + state.float_numbers)
    return rolled * width + state.float_numbers * (state.recurrence_bytes or width)


def _working_items(
    document: Document,
    inspection: Inspection,
    engine: Engine,
    context: int,
    sequences: int,
    batch: int,
    layout: str,
    logits: str,
) -> list[Item]:
    config = document.config or {}
    part = config.get("text_config") if isinstance(config.get("text_config"), Mapping) else config
    assert isinstance(part, Mapping)
    vocabulary, inner = _count(part, "vocab_size", "n_vocab"), _count(part, "intermediate_size", "n_inner", "ffn_dim", "d_ff")
    if document.header is not None:
        architecture = document.header.metadata.get("general.architecture")
        width = document.header.metadata.get(f"{architecture}.feed_forward_length")
        inner = width if isinstance(width, int) else inner
        tokens = document.header.metadata.get("tokenizer.ggml.tokens")
        vocabulary = getattr(tokens, "items", None) if not isinstance(tokens, list) else len(tokens)
        if not isinstance(vocabulary, int):
            vocabulary = _count(document.header.metadata, f"{architecture}.vocab_size")
    items = []
    number = 4 if engine == "llama.cpp" or _own_type(inspection) == "f32" else 2
    if vocabulary:
        rows = sequences
        if engine == "llama.cpp":  # it reserves a row for each token of a micro-batch, and those that it hands out
            handed_out = sequences if logits == "last" else min(LOGICAL_BATCH, context * sequences)
            rows, each = min(batch, context * sequences) + handed_out, 4
        elif logits == "all":
            rows *= min(batch, context)
            each = number * (2 if any(part.get(key) for key in SCALED_LOGITS) else 1)
        else:
            each = number + 4
        formula = f"{rows:,} rows x {vocabulary:,} tokens x {each} bytes"
        items.append(Item("logits", "working memory", rows * vocabulary * each, formula, bound=True))
    width = inspection.main.hidden_size.value
    if width:
        inner = inner or 4 * width
        model_type = str(inspection.main.model_type.value)
        streams, inners = 5 if model_type in PARALLEL else 4, 2 if model_type in UNGATED else 4 if model_type in FUSED else 3
        computed = min(batch, context) * (sequences if engine == "transformers" else 1)
        numbers, text = streams * width + inners * inner, f"{streams} x {width:,} + {inners} x {inner:,}"
        if engine == "llama.cpp" and document.header is not None:
            numbers, text = max([(numbers, text), *_other_layers(document.header, width, inner)])
        size = computed * numbers * number
        formula = f"{computed:,} tokens x ({text}) x {number} bytes"
        items.append(Item("activations", "working memory", size, formula, bound=True))
    if engine == "llama.cpp" and inspection.cache is not None:
        computed = min(batch, context * sequences)
        cells = mask_cells(_kept(inspection.cache.groups, engine, 2), context, sequences, batch, layout)
        if cells:
            formula = f"{cells:,} cells x {computed:,} tokens x 2 bytes"
            items.append(Item("attention mask", "working memory", cells * computed * 2, formula))
    return items


def _other_layers(header: Header, width: int, inner: int) -> list[tuple[int, str]]:
    """Numbers a token takes in llama.cpp's layers with experts and with a recurrence, as measured with libllama."""
    architecture = header.metadata.get("general.architecture")

    def read(key: str) -> int:
        value = header.metadata.get(f"{architecture}.{key}")
        return value if type(value) is int and 0 < value < 10**7 else 0

    found = []
    if read("expert_count") and (used := read("expert_used_count")):
        each = read("expert_feed_forward_length") or inner
        found.append((4 * width + used * (3 * each + width), f"4 x {width:,} + {used} experts x (3 x {each:,} + {width:,})"))
    if read("wkv.head_size"):
        found.append((20 * width, f"20 x {width:,}"))
    heads = read("attention.head_count")
    if recurrence := read("ssm.inner_size") or read("kda.head_dim") * heads:
        found.append((4 * width + 7 * recurrence, f"4 x {width:,} + 7 x {recurrence:,}"))
    return found


def _count(section: Mapping[str, Any], *keys: str) -> int | None:
    values = [section.get(key) for key in keys]
    return next((value for value in values if type(value) is int and 0 < value < 10**9), None)


def _findings(inspection: Inspection, context: int, claimed: Any) -> list[Finding]:
    findings = []
    if isinstance(claimed, int) and context > claimed:
        findings.append(
            Finding(
                "context-past-claim",
                "warning",
                f"{context:,} tokens are more than the {claimed:,} that the file claims",
                {inspection.contexts.claimed.detail: claimed},
                f"see `ordinate extend --to {context}`",
            )
        )
    return findings + [finding for finding in inspection.findings if finding.severity == "error"]
