"""How kinds of layer alternate in a stack, and how far a windowed layer sees.

New files list `layer_types`; older ones leave it to the code, or keep a number, a string of letters, a list of indices. Each
function here takes the settings and the number of layers and gives one kind for each, or None where all are alike.
"""

from __future__ import annotations

from collections.abc import Callable

from ordinate.inspection.reader.row_types import Stack
from ordinate.inspection.reader.section import Section
from ordinate.inspection.records import Value, unknown

__all__ = [
    "WITHOUT_ATTENTION",
    "all_windowed",
    "at_flags",
    "at_indices",
    "by_index",
    "by_letters",
    "every",
    "kinds_of_layers",
    "leading",
    "nested",
    "periodic",
    "repeated",
    "window_keys",
]

FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"

NAMES = {
    "attention": FULL,
    "full": FULL,
    "global": FULL,
    "sliding": SLIDING,
    "local": SLIDING,
    "mamba": LINEAR,
    "mamba2": LINEAR,
    "recurrent": LINEAR,
    "linear": LINEAR,
    "kda": LINEAR,
    "m": LINEAR,
}
"""Names of older files for the kinds that transformers 5 lists."""

WINDOWED = {SLIDING, "reference_sliding_attention", "hybrid_sliding"}

WITHOUT_ATTENTION = {
    LINEAR: "linear or state space",
    "conv": "convolution",
    "mlp": "feed-forward",
    "moe": "feed-forward",
    "no_attention": "feed-forward",
}
"""Kinds of layer in which no token looks at another by position."""


def kinds_of_layers(section: Section, stack: Stack, num_layers: Value) -> list[str] | None:
    """The kind of each layer: as the file lists it, else as the family's code alternates; None where all are alike."""
    count = num_layers.value if num_layers.known else None
    for key in ("layer_types", "layers_block_type"):
        if not section.has(key):
            continue
        listed = section.strings(key)
        if not listed.known:
            break
        kinds = [NAMES.get(name.lower(), name) for name in listed.value]
        if count is not None and len(kinds) != count:
            section.note(
                "layer-list-length",
                "info" if len(kinds) > count else "warning",
                f"{section.at(key)} lists {len(kinds)} layers, the file counts {count}",
                {section.at(key): len(kinds), num_layers.detail: count},
                "list one kind for each layer; surplus entries are usually prediction heads",
            )
            kinds = kinds[:count]
        return kinds
    if count is None or stack.pattern is None:
        return None
    return stack.pattern(section, count)


def every(
    keys: tuple[str, ...], default: int | None, *, often: str = SLIDING, seldom: str = FULL, shift: int = 1
) -> Callable[[Section, int], list[str] | None]:
    """`seldom` in each n-th layer, the last of each n (`shift` 1) or the first (`shift` 0); n from `keys`."""

    def pattern(section: Section, count: int) -> list[str] | None:
        entry = section.find(*keys)
        if entry is not None and isinstance(entry[1], str) and set(entry[1]) <= set("LG"):
            return repeated(entry[1], {"L": often, "G": seldom})(section, count)
        period = section.integer(*keys) if entry is not None else Value(default, "family", section.origin)
        if not period.value:
            return None
        return [seldom if (index + shift) % period.value == 0 else often for index in range(count)]

    return pattern


def by_index(kind: Callable[[int, int], str]) -> Callable[[Section, int], list[str] | None]:
    """A rule of the layer's index and the number of layers."""
    return lambda section, count: [kind(index, count) for index in range(count)]


def repeated(letters: str, meaning: dict[str, str]) -> Callable[[Section, int], list[str] | None]:
    """A row of letters, over and over; the last layer is of the last letter's kind."""

    def pattern(section: Section, count: int) -> list[str] | None:
        kinds = [meaning[letters[index % len(letters)]] for index in range(count)]
        if kinds:
            kinds[-1] = meaning[letters[-1]]
        return kinds

    return pattern


def by_letters(key: str, meaning: dict[str, str], otherwise: str) -> Callable[[Section, int], list[str] | None]:
    """One letter a layer, as hybrids write them: "M" a state space, "*" attention, "-" feed-forward."""

    def pattern(section: Section, count: int) -> list[str] | None:
        letters = section.text(key)
        if not letters.known:
            return None
        return [meaning.get(letter, otherwise) for letter in letters.value if not letter.isspace()][:count]

    return pattern


def periodic(
    period: str, offset: str, *, often: str = LINEAR, seldom: str = FULL
) -> Callable[[Section, int], list[str] | None]:
    """`seldom` in layers whose index leaves `offset` after division by `period` (Jamba)."""

    def pattern(section: Section, count: int) -> list[str] | None:
        step, start = section.integer(period), section.integer(offset, least=0)
        if not step.known or not start.known:
            return None
        return [seldom if index % step.value == start.value else often for index in range(count)]

    return pattern


def at_indices(
    key: str, there: str, elsewhere: str, *, without: str | None = None
) -> Callable[[Section, int], list[str] | None]:
    """`there` in the layers that a list names; where the file has no list, `without` everywhere."""

    def pattern(section: Section, count: int) -> list[str] | None:
        listed = section.numbers(key)
        if not listed.known:
            return None if without is None else [without] * count
        named = {int(index) for index in listed.value}
        return [there if index in named else elsewhere for index in range(count)]

    return pattern


def at_flags(key: str, on: str, off: str) -> Callable[[Section, int], list[str] | None]:
    """One flag a layer."""

    def pattern(section: Section, count: int) -> list[str] | None:
        flags = section.numbers(key)
        if not flags.known or len(flags.value) != count:
            return None
        return [on if flag else off for flag in flags.value]

    return pattern


def nested(section: Section, count: int) -> list[str] | None:
    """GPT-Neo's list of [kinds, times]."""
    entry = section.find("attention_types")
    if entry is None or not isinstance(entry[1], list):
        return [FULL if index % 2 == 0 else SLIDING for index in range(count)]
    kinds: list[str] = []
    for item in entry[1]:
        if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], list) and isinstance(item[1], int)):
            return None
        kinds += [NAMES.get(str(name), FULL) for name in item[0]] * max(0, min(item[1], count))
    return kinds[:count] if len(kinds) >= count else None


def all_windowed(section: Section, count: int) -> list[str] | None:
    """Windows in all layers, where the file has a window."""
    if section.find("use_sliding_window") == ("use_sliding_window", False) or not _stated_window(section):
        return None
    return [SLIDING] * count


def leading(section: Section, count: int) -> list[str] | None:
    """Windows from layer `max_window_layers` on, where `use_sliding_window` asks for them (Qwen2)."""
    if section.find("use_sliding_window") != ("use_sliding_window", True) or not _stated_window(section):
        return None
    first = section.integer("max_window_layers", least=0)
    if not first.known or first.value >= count:
        return None
    return [FULL if index < first.value else SLIDING for index in range(count)]


def _stated_window(section: Section) -> bool:
    if "sliding_window" in section.raw:
        return section.has("sliding_window")
    return "sliding_window" in section.defaults


def window_keys(section: Section, stack: Stack, kind: str) -> Value:
    """Keys that a query of this kind of layer sees, itself included; value None without a window."""
    if kind == "chunked_attention":
        chunk = section.integer("attention_chunk_size")
        return chunk if chunk.known else unknown("no attention_chunk_size in the file")
    if kind == "window_attention":
        return unknown("attention inside windows of the image, whose number of patches the config does not state")
    if kind not in WINDOWED:
        return Value(None, "family", "no window in these layers")
    width = section.integer(*stack.window)
    if not width.known:
        return width
    seen = stack.window_of(width.value)
    return (
        width if seen == width.value else Value(seen, "derived", f"{width.detail} = {width.value}, which reaches {seen} keys")
    )
