"""What position costs: bytes of the cache, learned numbers.

A layer without a window keeps its width for every token, a layer with one for the last `window_keys` at most, a recurrent
layer a constant. One sequence of L tokens therefore costs

    bytes = bytes_per_value * sum over kinds of layer of: layers * (width * min(L, window) + state)

Sources: Shazeer 2019, arXiv 1911.02150 (one key-value head); Ainslie et al. 2023, arXiv 2305.13245 (groups); DeepSeek-AI 2024,
arXiv 2405.04434 (latents); Beltagy et al. 2020, arXiv 2004.05150 (windows).
"""

from __future__ import annotations

from collections.abc import Sequence

from ordinate.inspection.reader.section import Section
from ordinate.inspection.records import Attention, Cache, CacheGroup, LayerKind, Value, unknown

__all__ = ["BYTES", "bytes_per_value", "cache_of", "parameters_on_position"]

BYTES = {"float64": 8, "float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}


def bytes_per_value(*sections: Section) -> Value:
    """Bytes of one cached number, from the dtype that the first of `sections` states.

    Raises nothing: a dtype that is missing or unknown is assumed to be 16 bits wide, which is how models are served.
    """
    for section in sections:
        for key in ("torch_dtype", "dtype"):
            name = section.raw.get(key)
            if isinstance(name, str) and name.removeprefix("torch.") in BYTES:
                return Value(BYTES[name.removeprefix("torch.")], "derived", f'{section.at(key)} "{name}"')
    return Value(2, "assumed", "no dtype in the file: 16 bits, as models are served")


def cache_of(layers: Sequence[LayerKind], width: Value, claimed: Value) -> Cache | None:
    """The cache of the layers that keep one.

    Args:
        layers: the kinds of layer that keep keys and values, or a state.
        width: bytes of one cached number.
        claimed: tokens to size it for.

    >>> from ordinate.inspection import inspect_config
    >>> config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    >>> inspect_config(config).cache.bytes_at(1000)  # 2 layers x 2 x 4 heads x 16 channels x 2 bytes x 1000 tokens
    512000
    """
    if not layers:
        return None
    missing = [layer for layer in layers if not layer.attention.cached_width.known or not layer.indices]
    if missing:
        reason = f"{missing[0].name}: {missing[0].attention.cached_width.detail}"
        absent = unknown(reason if missing[0].indices else f"{missing[0].name}: the number of layers is unknown")
        return Cache(width, absent, absent)
    unwindowed = [layer for layer in layers if not layer.window_keys.known]
    if unwindowed:
        absent = unknown(f"{unwindowed[0].name}: the window is unknown")
        return Cache(width, absent, absent)
    groups = tuple(
        CacheGroup(
            len(layer.indices),
            layer.attention.cached_width.value,
            layer.window_keys.value,
            layer.attention.state_bytes.value or 0,
            layer.name,
            _key_numbers(layer.attention),
            layer.attention.state_bytes.known,
            layer.state,
        )
        for layer in layers
    )
    numbers = sum(group.layers * group.width for group in groups)
    formula = " + ".join(
        f"{group.layers} {layer.name} layers x {group.width}" for group, layer in zip(groups, layers, strict=True)
    )
    per_token = Value(numbers * width.value, "derived", f"({formula}) x {width.value} bytes")
    states = [layer.name for layer in layers if not layer.attention.state_bytes.known]
    if not claimed.known:
        return Cache(width, per_token, unknown("no context is claimed"), groups, at_least=bool(states))
    whole = Cache(width, per_token, per_token, groups).bytes_at(claimed.value)
    besides = f", the states of {' and '.join(states)} layers not counted" if states else ""
    detail = (
        f"one sequence of {claimed.value} tokens{', windows kept' if any(group.window for group in groups) else ''}{besides}"
    )
    return Cache(width, per_token, Value(whole, "derived", detail), groups, at_least=bool(states))


def _key_numbers(attention: Attention) -> int:
    """Numbers that a token's keys take; a latent counts as keys, as llama.cpp keeps it."""
    width, groups = attention.cached_width.value, attention.num_kv_heads.value
    key, value = attention.head_dim.value, attention.value_head_dim.value
    whole = None not in (groups, key, value) and groups * (key + value) == width
    return int(groups * key if whole else width)


def parameters_on_position(layers: Sequence[LayerKind]) -> Value:
    """Learned numbers spent on position; tables shared by several kinds of layer count once."""
    counted: list[tuple[str, str, Value]] = []
    formulas: list[str] = []
    open_ends: list[str] = []
    for layer in layers:
        for encoding in layer.encodings:
            count = encoding.settings.get("parameters")
            if encoding.rotation is not None or encoding.kind.value in ("none", "alibi", "sinusoidal"):
                continue
            if count is None or not count.known:
                open_ends.append(encoding.note or encoding.kind.value)
            elif (layer.stack, encoding.kind.value, count) not in counted:
                counted.append((layer.stack, encoding.kind.value, count))
                formulas.append(count.detail)
    if open_ends:
        return unknown(f"not countable from the config: {open_ends[0]}")
    if not layers:
        return unknown("the encoding is unknown")
    total = sum(count.value for _, _, count in counted)
    return Value(total, "derived", "; ".join(formulas) if formulas else "nothing is learned about position")
