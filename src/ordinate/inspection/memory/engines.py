"""How much of a cache each program allocates for so many tokens and sequences: cells, pages, blocks, and what a number takes.

- transformers (cache_utils.py, read in 5.24): a dynamic cache holds each token, and of layers with a window the last w - 1; a
  static one has room for the whole context from the start, and for w.
- llama.cpp (src/llama-kv-cache-iswa.cpp, read at commit 02c28f5): cells in multiples of 256; layers with a window have
  w + micro-batch cells; states are float32. Its context is for each sequence (`--ctx-size` divided by `--parallel`). In a
  unified cache all sequences share the cells, and layers with a window have w for each sequence and one micro-batch.
- vLLM (vllm/v1/kv_cache_interface.py and vllm/v1/core/kv_cache_utils.py, read at commit 001cabc): pages of 16 tokens; a
  window's pages cover w - 1 and the batch, and one page more; a recurrent layer takes one page a sequence. Where kinds of
  layer differ, all pages have equal bytes: an attention page as many times 16 tokens as a recurrent state needs, and layers
  are put into groups of equally many, the last of a kind padded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

__all__ = ["CACHE_TYPES", "ENGINES", "LAYOUTS", "Engine", "KeptLayers", "cache_bytes", "cross_bytes", "mask_cells"]

Engine = Literal["transformers", "vllm", "llama.cpp"]
ENGINES: tuple[Engine, ...] = ("transformers", "vllm", "llama.cpp")

CACHE_TYPES: Mapping[str, Fraction] = {
    "f32": Fraction(4),
    "f16": Fraction(2),
    "bf16": Fraction(2),
    "fp8": Fraction(1),
    "q8_0": Fraction(34, 32),
    "q5_1": Fraction(24, 32),
    "q5_0": Fraction(22, 32),
    "q4_1": Fraction(20, 32),
    "q4_0": Fraction(18, 32),
    "iq4_nl": Fraction(18, 32),
}
"""Bytes of a cached number; ggml's block types carry a scale for each 32 numbers."""

TYPES_OF: Mapping[Engine, tuple[str, ...]] = {
    "transformers": ("f32", "f16", "bf16"),
    "vllm": ("f32", "f16", "bf16", "fp8"),
    "llama.cpp": ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"),
}

LAYOUTS: Mapping[Engine, tuple[str, ...]] = {
    "transformers": ("dynamic", "static"),
    "vllm": ("paged",),
    "llama.cpp": ("separate", "unified"),
}
"""How each program lays a cache out, its own default first."""

MICRO_BATCH = 512
"""Tokens that llama.cpp computes at once by default (`--ubatch-size`)."""
LOGICAL_BATCH = 2048
"""Tokens that llama.cpp takes at once by default (`--batch-size`), in micro-batches."""
VLLM_BATCH = 8192
"""Tokens that vLLM schedules at once by default (`--max-num-batched-tokens`)."""
CELLS, PAGE = 256, 16
GROUP_RATIO = 1.5
"""Where no kind of layer is this much more frequent than another, vLLM's groups are as large as the more frequent kind."""


@dataclass(frozen=True)
class KeptLayers:
    """Layers that keep equally much.

    Args:
        name: their kind.
        layers: how many.
        keys, values: numbers that a token leaves in each.
        window: keys that a query sees at most; None for all.
        state: bytes that each keeps for a sequence whatever its length.
        stated: whether the size of the state is known.
        ratio: tokens that one entry stands for (DeepSeek-V4's compressed caches).
        apart: whether each sequence has its own cells, as many as all share, also where the cache is unified.
    """

    name: str
    layers: int
    keys: int
    values: int
    window: int | None
    state: int
    stated: bool = True
    ratio: int = 1
    apart: bool = False


def _padded(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def cache_bytes(
    kept: Sequence[KeptLayers],
    engine: Engine,
    context: int,
    sequences: int,
    *,
    batch: int,
    key_bytes: Fraction,
    value_bytes: Fraction,
    layout: str = "",
) -> dict[str, tuple[int, str]]:
    """Bytes and formula of each kind of layer's cache, and of its states as "... state".

    Args:
        kept: the layers that keep something.
        engine: whose rules.
        context: tokens of each sequence.
        sequences: how many at once.
        batch: tokens that are computed at once.
        key_bytes, value_bytes: of a cached number.
        layout: one of the program's `LAYOUTS`; empty for its default.
    """
    result: dict[str, tuple[int, str]] = {}
    pages = _vllm_pages(kept, key_bytes, value_bytes) if engine == "vllm" else None
    for layers in kept:
        per_token = layers.keys * key_bytes + layers.values * value_bytes
        if layers.keys or layers.values:
            if pages is not None:
                tokens = _vllm_tokens(layers, context, batch, pages.tokens(per_token))
                count = _padded(layers.layers, pages.group)
            elif layout == "unified" and layers.apart:
                tokens, count = _tokens(layers, engine, context * sequences, batch, layout), layers.layers
            elif layout == "unified":
                tokens, count = _unified(layers, context, sequences, batch), layers.layers
            else:
                tokens, count = _tokens(layers, engine, context, batch, layout), layers.layers
            each = f"{float(per_token):g} bytes"
            streams, words = (1, "") if layout == "unified" and not layers.apart else (sequences, f"{sequences} sequences x ")
            size = int(count * streams * tokens * per_token)
            result[layers.name] = size, f"{count} layers x {words}{tokens:,} tokens x {each}"
        if layers.state:
            if pages is not None and pages.shared:
                count = _padded(layers.layers, pages.group)
                size = count * sequences * int(pages.bytes)
                formula = f"{count} layers x {sequences} sequences x a page of {int(pages.bytes):,} bytes"
            else:
                size = layers.layers * sequences * layers.state
                formula = f"{layers.layers} layers x {sequences} sequences x {layers.state:,} bytes"
            result[f"{layers.name} state"] = size, formula
    return result


def mask_cells(kept: Sequence[KeptLayers], context: int, sequences: int, batch: int, layout: str) -> int:
    """Cells that llama.cpp's masks have for each token that is computed: one mask for all layers with a window, one without."""
    cells = {
        layers.window is None: _unified(layers, context, sequences, batch)
        if layout == "unified"
        else _tokens(layers, "llama.cpp", context, batch, layout)
        for layers in kept
        if layers.keys or layers.values
    }
    return sum(cells.values())


def cross_bytes(layers: KeptLayers, engine: Engine, tokens: int, sequences: int, width: Fraction) -> tuple[int, str]:
    """Bytes and formula of the keys and values that a decoder keeps of its encoder's `tokens`.

    transformers keeps as many, vLLM whole pages; llama.cpp keeps none and computes them from the encoder's output each time.
    """
    kept = 0 if engine == "llama.cpp" else _padded(tokens, PAGE) if engine == "vllm" else tokens
    each = (layers.keys + layers.values) * width
    formula = f"{layers.layers} layers x {sequences} sequences x {kept:,} tokens of the encoder x {float(each):g} bytes"
    return int(layers.layers * sequences * kept * each), formula


def _unified(layers: KeptLayers, context: int, sequences: int, batch: int) -> int:
    """Cells that all sequences share in llama.cpp (`--kv-unified`)."""
    cells = _padded(context * sequences, CELLS)
    if layers.window is None:
        return cells
    return min(cells, _padded(min(cells, layers.window * sequences + batch), CELLS))


def _tokens(layers: KeptLayers, engine: Engine, context: int, batch: int, layout: str) -> int:
    if engine == "llama.cpp":
        cells = _padded(-(-context // layers.ratio), CELLS)
        return cells if layers.window is None else min(cells, _padded(min(cells, layers.window + batch), CELLS))
    if layers.window is None:
        return context
    return min(context, layers.window if layout == "static" else layers.window - 1)


@dataclass(frozen=True)
class _Pages:
    """Pages of equal bytes, and layers of a group; a group of one where all layers are of one kind."""

    bytes: Fraction
    group: int
    shared: bool

    def tokens(self, width: Fraction) -> int:
        """Tokens of a page of a layer whose tokens take `width` bytes."""
        return int(self.bytes / width) if self.shared else PAGE


def _vllm_pages(kept: Sequence[KeptLayers], key_bytes: Fraction, value_bytes: Fraction) -> _Pages:
    widths = [layers.keys * key_bytes + layers.values * value_bytes for layers in kept]
    counts: dict[tuple[object, ...], int] = {}
    for layers, width in zip(kept, widths, strict=True):
        for spec in ((layers.window, width), ("state", layers.state)):
            if spec[1]:
                counts[spec] = counts.get(spec, 0) + layers.layers
    widest, state = max(widths, default=Fraction(0)), max((layers.state for layers in kept), default=0)
    if len({spec[0] for spec in counts}) < 2 or not widest:
        return _Pages(Fraction(0), 1, False)
    tokens = PAGE * max(1, -(-state // int(PAGE * widest)))
    least, most = min(counts.values()), max(counts.values())
    return _Pages(tokens * widest, most if most < GROUP_RATIO * least else least, True)


def _vllm_tokens(layers: KeptLayers, context: int, batch: int, page: int) -> int:
    if layers.window is None:
        return _padded(context, page)
    covered = min(layers.window - 1 + batch, context)
    return (-(-covered // page) + 1) * page
