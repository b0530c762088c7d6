"""How much of a cache each program allocates for so many tokens and sequences: cells, pages, blocks, and what a number takes.

- transformers (cache_utils.py, read in 5.24): a dynamic cache holds each token, and of layers with a window the last w - 1.
- llama.cpp (src/llama-kv-cache-iswa.cpp, read at commit 02c28f5): cells in multiples of 256; layers with a window have
  w + micro-batch cells; states are float32. Its context is for each sequence (`--ctx-size` divided by `--parallel`); a unified
  cache, where all sequences share the cells, is not modelled.
- vLLM (vllm/v1/kv_cache_interface.py, read at commit 001cabc): pages of 16 tokens; a window's pages cover w - 1 and the batch,
  and one page more; a recurrent layer takes one page a sequence. That in hybrids a page is made as large as a recurrent state,
  and that layers are put into groups of equally many, the last of a kind padded, follows its hybrid allocator as it is
  documented; its source was not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

__all__ = ["CACHE_TYPES", "ENGINES", "Engine", "KeptLayers", "cache_bytes"]

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

MICRO_BATCH = 512
"""Tokens that llama.cpp computes at once by default (`--ubatch-size`)."""
VLLM_BATCH = 8192
"""Tokens that vLLM schedules at once by default (`--max-num-batched-tokens`)."""
CELLS, PAGE = 256, 16


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
    """

    name: str
    layers: int
    keys: int
    values: int
    window: int | None
    state: int
    stated: bool = True


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
) -> dict[str, tuple[int, str]]:
    """Bytes and formula of each kind of layer's cache, and of its states as "... state".

    Args:
        kept: the layers that keep something.
        engine: whose rules.
        context: tokens of each sequence.
        sequences: how many at once.
        batch: tokens that are computed at once.
        key_bytes, value_bytes: of a cached number.
    """
    result: dict[str, tuple[int, str]] = {}
    pages = _vllm_pages(kept, key_bytes, value_bytes) if engine == "vllm" else None
    for layers in kept:
        per_token = layers.keys * key_bytes + layers.values * value_bytes
        if layers.keys or layers.values:
            if pages is not None:
                tokens = _vllm_tokens(layers, context, batch, pages.tokens)
                count = _padded(layers.layers, pages.group)
            else:
                tokens, count = _tokens(layers, engine, context, batch), layers.layers
            size = int(count * sequences * tokens * per_token)
            each = f"{float(per_token):g} bytes"
            result[layers.name] = size, f"{count} layers x {sequences} sequences x {tokens:,} tokens x {each}"
        if layers.state:
            if pages is not None and pages.bytes:
                count = _padded(layers.layers, pages.group)
                size = count * sequences * max(pages.bytes, layers.state)
                formula = f"{count} layers x {sequences} sequences x a page of {max(pages.bytes, layers.state):,} bytes"
            else:
                size = layers.layers * sequences * layers.state
                formula = f"{layers.layers} layers x {sequences} sequences x {layers.state:,} bytes"
            result[f"{layers.name} state"] = size, formula
    return result


def _tokens(layers: KeptLayers, engine: Engine, context: int, batch: int) -> int:
    if engine == "llama.cpp":
        cells = _padded(context, CELLS)
        return cells if layers.window is None else min(cells, _padded(min(cells, layers.window + batch), CELLS))
    return context if layers.window is None else min(context, layers.window - 1)


@dataclass(frozen=True)
class _Pages:
    tokens: int
    bytes: int
    group: int


def _vllm_pages(kept: Sequence[KeptLayers], key_bytes: Fraction, value_bytes: Fraction) -> _Pages:
    """Tokens of a page, its bytes where states share it, and layers of a group."""
    state = max((layers.state for layers in kept), default=0)
    widths = [layers.keys * key_bytes + layers.values * value_bytes for layers in kept if layers.keys or layers.values]
    width = max(widths, default=Fraction(0))
    tokens = PAGE
    if state and width:
        tokens = PAGE * -(-state // int(PAGE * width))
    counts = [layers.layers for layers in kept]
    group = min(counts, default=1)
    if counts and max(counts) < 1.25 * group:
        group = max(counts)
    group = group if len(counts) > 1 else 1
    return _Pages(tokens, int(tokens * width) if state else 0, group)


def _vllm_tokens(layers: KeptLayers, context: int, batch: int, page: int) -> int:
    if layers.window is None:
        return _padded(context, page)
    covered = min(layers.window - 1 + batch, context)
    return (-(-covered // page) + 1) * page
