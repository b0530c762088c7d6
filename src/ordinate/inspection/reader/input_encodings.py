"""Readers of encodings that are added to embeddings: learned tables, sinusoids, convolutions over neighbours.

How many rows a table has, and how many of them positions can use, is what configs blur most: OPT's table has two rows more
than its context, RoBERTa's context counts two rows that no position uses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ordinate.inspection.reader.row_types import LayerGroup, Reader
from ordinate.inspection.records import Encoding, Value, unknown
from ordinate.spec import PositionSpec

__all__ = ["convolution", "fixed", "image_table", "learned", "learned_axes", "sinusoidal"]

WIDTH = ("embedding_size",)


def learned(
    *rows: str,
    extra: int = 0,
    skipped: int = 0,
    width: tuple[str, ...] = (),
    when: Callable[[LayerGroup], bool] = lambda group: True,
) -> Reader:
    """A learned table for tokens in a row.

    Args:
        rows: keys of what the table is sized by.
        extra: rows that the code adds.
        skipped: rows before position 0, added or not (OPT and RoBERTa start at row 2).
        width: keys of the table's width where it is not the stream's (ALBERT).
        when: whether the file switches it on.
    """

    def read(group: LayerGroup) -> Encoding | None:
        if not when(group):
            return None
        stated = group.section.integer(*rows)
        dim = group.section.integer(*width) if width and group.section.integer(*width).known else group.hidden_size
        if not stated.known:
            return Encoding(_kind("learned", group), "input", settings={"rows": stated})
        count = stated.value + extra
        table = Value(
            count, stated.source if not extra else "derived", f"{stated.detail} + {extra}" if extra else stated.detail
        )
        usable = Value(max(count - skipped, 0), "derived", f"{count} rows - {skipped} before position 0")
        return _table(group, table, usable, dim, skipped)

    return read


def _table(group: LayerGroup, rows: Value, usable: Value, dim: Value, skipped: int) -> Encoding:
    settings = {"rows": rows, "positions": usable, "first_row": Value(skipped, "family", group.origin), "dim": dim}
    spec = None
    if dim.known:
        formula = f"{rows.value} rows x {dim.value} channels"
        settings["parameters"] = Value(rows.value * dim.value, "derived", formula)
        if usable.value > 0:
            settings_of_spec: dict[str, Any] = {"num_positions": usable.value, "dim": dim.value}
            spec = PositionSpec("learned", {**settings_of_spec, "row_offset": skipped} if skipped else settings_of_spec)
    return Encoding(_kind("learned", group), "input", settings=settings, spec=spec)


def _kind(name: str, group: LayerGroup) -> Value:
    return Value(name, "family", group.origin)


def image_table(
    *,
    image: tuple[str, ...] = ("image_size", "img_size"),
    patch: tuple[str, ...] = ("patch_size",),
    prefix: int = 0,
    rows: tuple[str, ...] = (),
    when: Callable[[LayerGroup], bool] = lambda group: True,
) -> Reader:
    """A learned table for the patches of an image, row by row, after `prefix` rows for class tokens.

    Rows: (image / patch)^2 + prefix, unless `rows` names a key that states them.
    """

    def read(group: LayerGroup) -> Encoding | None:
        if not when(group):
            return None
        count = group.section.integer(*rows) if rows else _patches(group, image, patch)
        if not count.known:
            return Encoding(_kind("learned", group), "input", settings={"rows": count})
        total = Value(count.value + prefix, "derived", f"{count.detail} + {prefix} class tokens" if prefix else count.detail)
        return _table(group, total, total, group.hidden_size, 0)

    return read


def _patches(group: LayerGroup, image: tuple[str, ...], patch: tuple[str, ...]) -> Value:
    sizes = [_sides(group, keys) for keys in (image, patch)]
    if sizes[0] is None or sizes[1] is None:
        return unknown("the size of the image or of its patches is unknown")
    (high, wide), (tall, broad) = sizes[0], sizes[1]
    formula = f"({high} // {tall}) x ({wide} // {broad}) patches"
    return Value((high // tall) * (wide // broad), "derived", formula)


def _sides(group: LayerGroup, keys: tuple[str, ...]) -> tuple[int, int] | None:
    """Height and width, from one number or two."""
    section = group.section
    entry = section.find(*keys)
    value = entry[1] if entry is not None else next((section.defaults[key] for key in keys if key in section.defaults), None)
    if isinstance(value, list):
        pair = section.numbers(*keys).value
        return (int(pair[0]), int(pair[1])) if pair is not None and len(pair) == 2 and min(pair) >= 1 else None
    side = section.integer(*keys).value
    return None if side is None else (side, side)


def learned_axes(*sizes: str, note: str = "", table: str = "learned") -> Reader:
    """Learned tables along axes, whose rows are summed or joined; no module of the catalogue makes them from a config."""

    def read(group: LayerGroup) -> Encoding | None:
        read_sizes = {key.rsplit(".", 1)[-1]: group.section.integer(key) for key in sizes}
        return Encoding(_kind(table, group), "input", settings=read_sizes, note=note)

    return read


def sinusoidal(
    layout: str,
    schedule: str,
    *,
    offset: int = 0,
    limit: tuple[str, ...] = (),
    when: Callable[[LayerGroup], bool] = lambda group: True,
) -> Reader:
    """Fixed sines and cosines of the position.

    Args:
        layout: "half" puts all sines before all cosines, "interleaved" alternates.
        schedule: "vaswani" or "tensor2tensor", see `ordinate.position.Sinusoidal`.
        offset: what the code adds to positions.
        limit: keys of the rows that the code precomputes, a cache rather than a limit.
        when: whether the file switches it on.
    """

    def read(group: LayerGroup) -> Encoding | None:
        if not when(group):
            return None
        settings = {
            "layout": Value(layout, "family", group.origin),
            "ladder": Value(schedule, "family", group.origin),
            "offset": Value(offset, "family", group.origin),
            "dim": group.hidden_size,
            "parameters": Value(0, "family", "computed, not learned"),
        }
        if limit:
            settings["rows_precomputed"] = group.section.integer(*limit)
        spec = None
        if group.hidden_size.known:
            spec = PositionSpec("sinusoidal", {"dim": group.hidden_size.value, "layout": layout, "schedule": schedule})
        note = f"positions are counted from {offset}" if offset else ""
        return Encoding(_kind("sinusoidal", group), "input", settings=settings, spec=spec, note=note)

    return read


def fixed(kind: str, where: str, note: str) -> Reader:
    """An encoding that is named and placed, but read no further: its details stand in code, not in the config."""

    def read(group: LayerGroup) -> Encoding | None:
        name = _kind(kind, group) if kind else unknown(note)
        return Encoding(name, where, spec=PositionSpec("none") if kind == "none" else None, note=note)

    return read


def convolution(
    kernel: tuple[str, ...] = ("num_conv_pos_embeddings",), groups: tuple[str, ...] = ("num_conv_pos_embedding_groups",)
) -> Reader:
    """A grouped convolution over neighbours, added to the input (wav2vec 2.0): C x C / groups x kernel weights and C biases.

    Source: Baevski et al. 2020, arXiv 2006.11477, section 2; Mohamed et al. 2019, arXiv 1904.11660.
    """

    def read(group: LayerGroup) -> Encoding | None:
        width, parts = group.section.integer(*kernel), group.section.integer(*groups)
        settings = {"kernel": width, "groups": parts}
        if width.known and parts.known and group.hidden_size.known:
            channels = group.hidden_size.value
            formula = f"{channels} x {channels} / {parts.value} x {width.value} weights + {channels} biases"
            numbers = channels * channels // parts.value * width.value + channels
            settings["parameters"] = Value(numbers, "derived", formula)
        return Encoding(_kind("conv", group), "input", settings=settings, note="no fixed length: neighbours tell the place")

    return read
