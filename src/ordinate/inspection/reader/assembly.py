"""From a section and the row of its family to a `Part`: layers grouped by kind, each with what tells it where tokens are.

What position costs is counted here too. A layer without a window keeps its width for every token, a layer with one for the last
`window_keys` at most, a recurrent layer a constant. One sequence of L tokens therefore costs

    bytes = bytes_per_value * sum over kinds of layer of: layers * (width * min(L, window) + state)

Sources: Shazeer 2019, arXiv 1911.02150 (one key-value head); Ainslie et al. 2023, arXiv 2305.13245 (groups); DeepSeek-AI 2024,
arXiv 2405.04434 (latents); Beltagy et al. 2020, arXiv 2004.05150 (windows).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ordinate.inspection.reader.heads import HEAD_DIM, HEADS, KV_HEADS, layer_without_attention
from ordinate.inspection.reader.layer_kinds import WITHOUT_ATTENTION, kinds_of_layers, window_keys
from ordinate.inspection.reader.row_types import Family, LayerGroup, PartSource, Stack
from ordinate.inspection.reader.section import Section, is_listed
from ordinate.inspection.records import Attention, Cache, CacheGroup, Contexts, LayerKind, Part, State, Value, unknown

__all__ = ["BYTES", "assemble", "bytes_per_value", "cache_of", "parameters_on_position"]

FULL = "full_attention"
LAYERS_LIMIT = 10_000
PASSES_LIMIT = 100


def assemble(source: PartSource, top: Section) -> Part:
    """Run the readers of a part's family; what is wrong with the settings they read goes to the section's findings.

    Args:
        source: the section with its family.
        top: the section of the whole file's main part, whose dtype holds where the part states none.
    """
    section, family = source.section, source.family
    layers: list[LayerKind] = []
    caching: list[LayerKind] = []
    num_layers, hidden, claimed = unknown(family.unknown), unknown(family.unknown), unknown(family.unknown)
    trained = section.integer(*family.trained) if family.trained else None
    dtype = family.cached_bytes or bytes_per_value(section, top)
    for stack in family.stacks:
        count = section.integer(*stack.layers, most=LAYERS_LIMIT) if stack.layers else unknown("the stages are listed apart")
        width = section.width(*stack.hidden)
        reach = _claimed(section, stack)
        if stack is family.stacks[0]:
            num_layers, hidden, claimed = count, width, reach
        elif not claimed.known or (stack.causal and reach.known):
            claimed = reach
        kinds = _layers(section, family, stack, count, width, reach, trained, dtype)
        layers += kinds
        if stack.causal:
            kept = _without_sharers(section, kinds, count)
            caching += [_once_a_pass(section, kind) for kind in kept if _keeps(kind)]
    layers.sort(key=_standing)
    cache = cache_of(caching, dtype, claimed)
    return Part(
        source.name,
        section.path,
        source.model_type,
        tuple(layers),
        num_layers,
        hidden,
        _contexts(layers, claimed, trained),
        cache,
        parameters_on_position(layers) if layers else unknown(family.unknown or "the encoding is unknown"),
    )


def _without_sharers(section: Section, kinds: list[LayerKind], count: Value) -> list[LayerKind]:
    """Layers that keep a cache of their own: the last of Gemma 3n and 4 read that of earlier ones (`num_kv_shared_layers`),
    and Hymba's read that of the first of their group (`kv_reuse_group`)."""
    groups = section.raw.get("kv_reuse_group")
    if isinstance(groups, list) and all(isinstance(group, list) for group in groups):
        readers = {index for group in groups for index in group[1:] if isinstance(index, int)}
        kinds = [part for kind in kinds for part in _split(kind, readers)]
    sharing = section.integer("num_kv_shared_layers", least=0)
    if not sharing.known or not sharing.value or not count.known:
        return kinds
    own = [replace(kind, indices=tuple(i for i in kind.indices if i < count.value - sharing.value)) for kind in kinds]
    return [kind for kind in own if kind.indices]


def _split(kind: LayerKind, readers: set[int]) -> list[LayerKind]:
    """A kind of layer in two: those with a cache, and `readers`, which keep at most a state."""
    own = replace(kind, indices=tuple(i for i in kind.indices if i not in readers))
    others = replace(kind, indices=tuple(i for i in kind.indices if i in readers), name=f"{kind.name} (shared)")
    nothing = Value(0, "family", "reads the cache of an earlier layer")
    others = replace(others, attention=replace(others.attention, cached_width=nothing))
    return [each for each in (own, others) if each.indices]


def _once_a_pass(section: Section, kind: LayerKind) -> LayerKind:
    """Layers that run several times keep a cache for each pass (`loop_num_passes`, Ouro's `total_ut_steps`)."""
    looped = section.integer("loop_num_passes")
    passes = looped if looped.known else section.integer("total_ut_steps")
    high, low = section.integer("H_cycles"), section.integer("L_cycles")
    if high.known and low.known and not section.has("num_layers_per_stack"):  # HRM; with that key the file counts passes itself
        passes = Value(high.value * (low.value + 1), "derived", f"{high.detail} x ({low.detail} + 1)")
    if not passes.known or passes.value > PASSES_LIMIT:
        return kind
    first, last = section.integer("loop_layer_index_start", least=0), section.integer("loop_layer_index_end", least=0)
    inside = [i for i in kind.indices if not looped.known or (first.value or 0) <= i < (last.value or 0)]
    return replace(kind, indices=kind.indices + tuple(inside) * (passes.value - 1))


def _keeps(layer: LayerKind) -> bool:
    """Whether a layer keeps keys and values, or a state of a size that may be unknown."""
    cached, state = layer.attention.cached_width, layer.attention.state_width
    return cached.value != 0 or not state.known or state.value > 0


def _standing(layer: LayerKind) -> tuple[bool, bool, bool, int]:
    """Layers that rotate before those that do not, those without a window before the others."""
    return (
        layer.rotation is None,
        not layer.encodings,
        layer.window_keys.value is not None or not layer.window_keys.known,
        layer.indices[0] if layer.indices else 0,
    )


def _claimed(section: Section, stack: Stack) -> Value:
    if stack.claimed:
        return section.integer(*stack.claimed)
    if all(_is_number(section.raw.get(key, section.defaults.get(key))) for key in ("image_size", "patch_size")):
        image, patch = section.integer("image_size"), section.integer("patch_size")
        if image.known and patch.known and image.value >= patch.value:
            side = image.value // patch.value
            return Value(side * side, "derived", f"({image.detail} {image.value} // {patch.detail} {patch.value})^2 patches")
    return unknown("this stack has no longest context")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


PER_LAYER = (*HEADS, *KV_HEADS, *HEAD_DIM, "v_head_dim")
"""Keys under which some files list a value for each layer."""


def _layers(
    section: Section,
    family: Family,
    stack: Stack,
    count: Value,
    width: Value,
    claimed: Value,
    trained: Value | None,
    dtype: Value,
) -> list[LayerKind]:
    """The layers of a stack, those together that are of one kind and have the same heads."""
    kinds = kinds_of_layers(section, stack, count)
    if kinds is None:
        kinds = [FULL] * count.value if count.known else None
    if kinds is not None and stack.mark is not None:
        kinds = stack.mark(section, kinds)
    listed = [key for key in PER_LAYER if kinds is not None and is_listed(section.raw.get(key), len(kinds))]
    grouped: dict[tuple[str, str], list[int]] = {}
    for index, kind in enumerate(kinds if kinds is not None else [FULL]):
        heads = repr([section.raw[key][index] for key in listed])
        grouped.setdefault((kind, heads), []).append(index)
    layers = []
    for (kind, _), members in grouped.items():
        seen = section.of_layer(members[0], len(kinds), *listed) if kinds is not None else section
        indices = tuple(members) if kinds is not None else ()
        layers.append(_layer_kind(seen, family, stack, kind, indices, width, claimed, trained, dtype))
    return layers


def _layer_kind(
    section: Section,
    family: Family,
    stack: Stack,
    kind: str,
    indices: tuple[int, ...],
    width: Value,
    claimed: Value,
    trained: Value | None,
    dtype: Value,
) -> LayerKind:
    name = kind.replace("_", " ").replace("/nope", " without rotation")
    name = f"{stack.name} {name}".strip() if stack.name and kind != FULL else stack.name or name
    no_window = Value(None, "family", "no window in these layers")
    if kind in WITHOUT_ATTENTION:
        sort = WITHOUT_ATTENTION[kind]
        numbers, size, state = _state(section, family, stack, kind, sort, width, dtype)
        attention = layer_without_attention(sort, (numbers, size), family.origin)
        return LayerKind(name, indices, (), attention, no_window, state=state)
    attention = stack.attention(section, kind, width) if stack.attention is not None else _no_heads()
    if kind == "cross_attention":
        return LayerKind(name, indices, (), _crossing(attention), no_window)
    state = None
    if attention.state_width.value and not attention.state_bytes.value:
        size = Value(
            attention.state_width.value * dtype.value, "derived", f"{attention.state_width.detail}; {dtype.value} bytes each"
        )
        attention = replace(attention, state_bytes=size)
    if kind in stack.stateful:
        numbers, size, state = _state(section, family, stack, kind, "hybrid", width, dtype)
        attention = replace(attention, state_width=numbers, state_bytes=size)
    group = LayerGroup(section, stack, family.origin, kind, indices, attention, width, claimed, trained)
    encodings = tuple(encoding for reader in stack.readers if (encoding := reader(group)) is not None)
    window = window_keys(section, stack, kind.removesuffix("/nope"))
    temperature = None if stack.temperature is None else stack.temperature(section, kind)
    layer = LayerKind(name, indices, encodings, attention, window, stack.name, state=state)
    return layer if temperature is None else replace(layer, temperature=temperature)


def _state(
    section: Section, family: Family, stack: Stack, kind: str, sort: str, width: Value, dtype: Value
) -> tuple[Value, Value, State | None]:
    """Numbers and bytes that a layer keeps whatever the length, and how they come about."""
    if not sort.startswith(("linear", "conv", "hybrid")):
        return Value(0, "family", ""), Value(0, "family", ""), None
    state = "the size of the state is not modelled" if stack.state is None else stack.state(section, kind, width)
    if isinstance(state, str):
        return unknown(state), unknown(state), None
    named = section.find("mamba_ssm_dtype", "mamba_ssm_cache_dtype")
    if named is not None and str(named[1]) in BYTES:
        state = replace(state, recurrence_bytes=BYTES[str(named[1])])
    numbers = state.model_numbers + state.float_numbers
    engine = family.state_bytes
    size = engine * numbers if engine else dtype.value * state.model_numbers + 4 * state.float_numbers
    formula = state.formula
    each = f"{engine} bytes each" if engine else f"{dtype.value} bytes for the others"
    return Value(numbers, "derived", formula), Value(size, "derived", f"{formula}; {each}"), state


def _no_heads() -> Attention:
    absent = unknown("no heads are described here")
    return Attention(absent, absent, absent, absent, absent, absent, absent, absent)


def _crossing(attention: Attention) -> Attention:
    none = Value(0, "family", "keys and values are the other stream's, whatever the text's length")
    return Attention(
        Value("cross", "family", "queries meet another stream"),
        attention.num_heads,
        attention.num_kv_heads,
        attention.head_dim,
        attention.value_head_dim,
        none,
        unknown("the length of the other stream is not in the config"),
        unknown("the length of the other stream is not in the config"),
    )


def _contexts(layers: list[LayerKind], claimed: Value, stated: Value | None) -> Contexts:
    """Trained and claimed context of a part, and one sentence on how they relate."""
    turns = [layer.rotation for layer in layers if layer.rotation is not None]
    scaled = next((turn for turn in turns if turn.rule.value != "none"), None)
    if stated is not None and stated.known:
        trained = stated
    elif scaled is not None:
        original = scaled.settings.get("original_context")
        if original is not None:
            trained = original
        elif scaled.rule.value == "linear" and scaled.settings["factor"].value == 1:
            trained = Value(claimed.value, claimed.source, claimed.detail)
        else:
            trained = unknown(f"{scaled.rule.value} scaling states no context before scaling")
    else:
        trained = _unscaled_context(layers, claimed)
    return Contexts(trained, claimed, _relation(trained, claimed))


def _unscaled_context(layers: list[LayerKind], claimed: Value) -> Value:
    for layer in layers:
        for encoding in layer.encodings:
            usable = encoding.settings.get("positions")
            if encoding.kind.value == "learned" and encoding.where == "input" and usable is not None and usable.value:
                return usable
    if not claimed.known:
        return unknown("the file states no context")
    return Value(claimed.value, "derived", f"no scaling: {claimed.detail}")


def _relation(trained: Value, claimed: Value) -> str:
    if not trained.known or not claimed.known:
        return "unknown: one of the two is"
    if trained.value == claimed.value:
        return "equal"
    if trained.value > claimed.value:
        return f"the file claims less ({claimed.value}) than the context before scaling ({trained.value})"
    return f"claimed is {claimed.value / trained.value:.4g} times the context before scaling"


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
            layer.indices,
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
