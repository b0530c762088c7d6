"""Readers of encodings that act on scores: ALiBi, T5's buckets, and the relative encodings that need queries and keys.

Sources: Press et al. 2021, arXiv 2108.12409 (ALiBi); Raffel et al. 2019, arXiv 1910.10683 (buckets); Shaw et al. 2018,
arXiv 1803.02155; Dai et al. 2019, arXiv 1901.02860 (Transformer-XL); He et al. 2020, arXiv 2006.03654 (DeBERTa); Liu et al.
2021, arXiv 2103.14030 (Swin).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from ordinate.alibi_slopes import alibi_slopes
from ordinate.inspection.reader.row_types import LayerGroup, Reader
from ordinate.inspection.records import Encoding, Value, unknown
from ordinate.spec import PositionSpec

__all__ = ["alibi", "buckets", "disentangled", "image_bias", "shaw", "transformer_xl"]

Condition = Callable[[LayerGroup], bool]


def _always(group: LayerGroup) -> bool:
    return True


def _kind(name: str, group: LayerGroup) -> Value:
    return Value(name, "family", group.origin)


def alibi(*, symmetric: bool = False, before_scaling: bool = False, when: Condition = _always) -> Reader:
    """Linear biases: minus the head's slope times the distance; nothing learned.

    Args:
        symmetric: both ways alike.
        before_scaling: whether the code adds the bias to scores that it divides by sqrt(head_dim) afterwards, and rounds the
            slopes to bfloat16 first, as Falcon does.
        when: whether the file switches it on.
    """

    def read(group: LayerGroup) -> Encoding | None:
        if not when(group):
            return None
        heads, head_dim = group.attention.num_heads, group.attention.head_dim
        settings = {
            "symmetric": Value(symmetric, "family", group.origin),
            "parameters": Value(0, "family", "computed, not learned"),
        }
        slope_range = group.section.number("attn_config.alibi_bias_max", "alibi_bias_max", above=0)
        if slope_range.known:
            settings["bias_max"] = slope_range
        if not heads.known:
            return Encoding(_kind("alibi", group), "scores", settings=settings, spec=None)
        arguments: dict[str, Any] = {"num_heads": heads.value}
        formula = f"2^(-{slope_range.value or 8:g} h / {heads.value})"
        if slope_range.known and slope_range.value != 8:
            arguments["max_exponent"] = slope_range.value
        if symmetric:
            arguments["symmetric"] = True
        if before_scaling:
            formula += f" / sqrt({head_dim.value if head_dim.known else 'head width'})"
            if head_dim.known:
                arguments["slopes"] = [_in_bfloat16(slope) / math.sqrt(head_dim.value) for slope in alibi_slopes(heads.value)]
        settings["slopes"] = Value(formula, "family", "h = 1 ... heads")
        spec = None if before_scaling and not head_dim.known else PositionSpec("alibi", arguments)
        return Encoding(_kind("alibi", group), "scores", settings=settings, spec=spec)

    return read


def _in_bfloat16(value: float) -> float:
    """The nearest bfloat16, ties to even: the upper half of a float32.

    >>> _in_bfloat16(0.8408964276313782), _in_bfloat16(0.5)
    (0.83984375, 0.5)
    """
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    bits += 0x7FFF + (bits >> 16 & 1)
    return float(struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0])


def buckets(
    *,
    bidirectional: bool,
    every_layer: bool = False,
    count: tuple[str, ...] = ("relative_attention_num_buckets",),
    distance: tuple[str, ...] = ("relative_attention_max_distance",),
    default_distance: int | None = None,
    when: Condition = _always,
) -> Reader:
    """T5's learned bias, one number for each bucket of distances and head.

    Args:
        bidirectional: whether future and past have buckets of their own.
        every_layer: whether each layer has a table (UMT5), or the first one's is shared (T5).
        count, distance: keys.
        default_distance: what the code fixes where no key exists.
        when: whether the file switches it on.
    """

    def read(group: LayerGroup) -> Encoding | None:
        if not when(group):
            return None
        heads, number, furthest = group.attention.num_heads, group.section.integer(*count), group.section.integer(*distance)
        if not furthest.known and default_distance is not None and not group.section.has(*distance):
            furthest = Value(default_distance, "family", group.origin)
        settings = {
            "num_buckets": number,
            "max_distance": furthest,
            "bidirectional": Value(bidirectional, "family", group.origin),
            "tables": Value("one a layer" if every_layer else "one, shared by all layers", "family", group.origin),
        }
        spec = None
        if heads.known and number.known:
            tables = len(group.indices) if every_layer else 1
            formula = f"{tables} x {number.value} buckets x {heads.value} heads"
            settings["parameters"] = Value(tables * number.value * heads.value, "derived", formula)
            if furthest.known and furthest.value > number.value // (4 if bidirectional else 2):
                arguments = {"num_heads": heads.value, "num_buckets": number.value, "max_distance": furthest.value}
                spec = PositionSpec("t5", {**arguments, "bidirectional": bidirectional})
        return Encoding(_kind("t5-bucket", group), "scores", settings=settings, spec=spec)

    return read


def shaw(
    *,
    reach: tuple[str, ...] = (),
    left: tuple[str, ...] = (),
    right: tuple[str, ...] = (),
    less: int = 0,
    values: bool = False,
    per_layer: bool = True,
    when: Condition = _always,
) -> Reader:
    """Learned vectors for clipped distances, met by queries (and added to values where `values`); `less` below the key."""

    def read(group: LayerGroup) -> Encoding | None:
        if not when(group):
            return None
        before, after = (_less(group.section.integer(*(side or reach)), less) for side in (left, right))
        settings = {"clipped_before": before, "clipped_after": after}
        dim = group.attention.head_dim
        if before.known and after.known and dim.known:
            rows, tables = before.value + after.value + 1, 2 if values else 1
            layers = len(group.indices) if per_layer else 1
            formula = f"{layers} layers x {tables} x {rows} distances x {dim.value} channels, shared by heads"
            settings["parameters"] = Value(layers * tables * rows * dim.value, "derived", formula)
        spec = None
        if before.known and after.known and dim.known:
            arguments = {"head_dim": dim.value, "max_distance": before.value, "max_future": after.value, "values": values}
            spec = PositionSpec("shaw", arguments)
        where = "keys and values" if values else "scores"
        return Encoding(_kind("shaw", group), where, settings=settings, spec=spec, note="distances past the clip look alike")

    return read


def _less(stated: Value, less: int) -> Value:
    if not less or not stated.known:
        return stated
    return Value(stated.value - less, "derived", f"{stated.detail} - {less}")


def disentangled(*, when: Condition = _always) -> Reader:
    """DeBERTa's content-to-position and position-to-content terms over a table of relative positions."""

    def read(group: LayerGroup) -> Encoding | None:
        if not when(group):
            return None
        section = group.section
        spread = section.integer("position_buckets", least=-1)
        furthest = section.integer("max_relative_positions", least=-1)
        context = section.integer("max_position_embeddings")
        span = unknown("neither position_buckets nor a context is known")
        if spread.known and spread.value > 0:
            span = Value(spread.value, spread.source, f"{spread.detail}, spaced logarithmically")
        elif furthest.known and furthest.value > 0:
            span = furthest
        elif context.known:
            span = Value(context.value, "derived", f"{context.detail}: max_relative_positions is below 1")
        settings = {"span": span, "terms": _terms(group), "share_att_key": section.flag("share_att_key")}
        if span.known and group.hidden_size.known:
            formula = f"2 x {span.value} relative positions x {group.hidden_size.value} channels, shared by all layers"
            settings["parameters"] = Value(2 * span.value * group.hidden_size.value, "derived", formula)
        return Encoding(_kind("deberta", group), "scores", settings=settings, spec=_disentangled_spec(group, spread, settings))

    return read


def _disentangled_spec(group: LayerGroup, spread: Value, settings: dict[str, Value]) -> PositionSpec | None:
    heads, dim, width, context = (
        group.attention.num_heads,
        group.attention.head_dim,
        group.hidden_size,
        group.section.integer("max_relative_positions", least=-1),
    )
    if not context.known or context.value < 1:
        context = group.section.integer("max_position_embeddings")
    terms = settings["terms"]
    if not (heads.known and dim.known and width.known and context.known and terms.known and terms.value):
        return None
    if not set(terms.value) <= {"c2p", "p2c"}:
        return None
    newer = "v2" in group.origin  # the first DeBERTa has no bias on the table's keys and no norm
    arguments: dict[str, object] = {"num_heads": heads.value, "head_dim": dim.value, "max_distance": context.value}
    arguments |= {"terms": list(terms.value), "hidden_size": width.value}
    if spread.known and spread.value > 0:
        if spread.value % 2 or context.value <= spread.value // 2:
            return None
        arguments["num_buckets"] = spread.value
    arguments["shared_projections"] = bool(settings["share_att_key"].value)
    arguments["key_bias"] = newer
    arguments["norm"] = group.section.text("norm_rel_ebd").value == "layer_norm"
    return PositionSpec("disentangled", arguments)


def _terms(group: LayerGroup) -> Value:
    entry = group.section.find("pos_att_type")
    if entry is None:
        return unknown("no pos_att_type in the file")
    path = group.section.at("pos_att_type")
    if isinstance(entry[1], str):  # the authors' repository writes "p2c|c2p"
        return Value([term for term in entry[1].split("|") if term and term != "none"], "file", path)
    return group.section.strings("pos_att_type")


def transformer_xl(layout: str = "", *, when: Condition = _always, note: str = "") -> Reader:
    """Sinusoids of the distance, projected and met by queries and two learned biases; `layout` of the sinusoid's channels."""

    def read(group: LayerGroup) -> Encoding | None:
        if not when(group):
            return None
        settings: dict[str, Value] = {}
        clamp = group.section.integer("clamp_len", least=-1)
        if clamp.known:
            settings["clamp"] = clamp
        heads, dim, width = group.attention.num_heads, group.attention.head_dim, group.hidden_size
        if heads.known and dim.known and width.known and group.indices:
            one = width.value * heads.value * dim.value + 2 * heads.value * dim.value
            formula = f"{len(group.indices)} layers x ({width.value} x {heads.value} x {dim.value} projection + 2 biases)"
            settings["parameters"] = Value(len(group.indices) * one, "derived", formula)
        spec = None
        if layout and heads.known and dim.known and width.known and width.value % 2 == 0:
            arguments = {"num_heads": heads.value, "head_dim": dim.value, "layout": layout, "hidden_size": width.value}
            spec = PositionSpec(
                "transformer-xl",
                arguments if not clamp.known or clamp.value < 1 else {**arguments, "max_distance": clamp.value},
            )
        return Encoding(_kind("transformer-xl", group), "scores", settings=settings, spec=spec, note=note)

    return read


def image_bias(*, window: tuple[str, ...] = ("window_size",), when: Condition = _always, note: str = "") -> Reader:
    """Swin's learned bias for each displacement inside a window: (2 w - 1)^2 numbers a head and layer."""

    def read(group: LayerGroup) -> Encoding | None:
        if not when(group):
            return None
        width = group.section.integer(*window)
        settings = {"window": width}
        if width.known:
            table = (2 * width.value - 1) ** 2
            settings["displacements"] = Value(table, "derived", f"(2 x {width.value} - 1)^2")
            heads, depths = group.section.numbers("num_heads", "num_attention_heads"), group.section.numbers("depths")
            if heads.known and depths.known and len(heads.value) == len(depths.value):
                pairs = sum(int(head) * int(depth) for head, depth in zip(heads.value, depths.value, strict=True))
                formula = f"{table} displacements x {pairs} heads over all layers"
                settings["parameters"] = Value(table * pairs, "derived", formula)
        return Encoding(_kind("learned", group), "scores", settings=settings, note=note)

    return read
