"""How many channels of a head turn: a count, a share of the head, a slice kept apart, or the whole head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ordinate.inspection.frame import Frame
from ordinate.inspection.provenance import Value, unknown
from ordinate.inspection.scaling import ScalingRead
from ordinate.inspection.section import Section

if TYPE_CHECKING:
    from ordinate.inspection.rotary import RotaryRule

__all__ = ["rotated_channels"]

SHARE_LIMIT = 16
"""No share of a head above 1 makes sense; the few above it in use come from code that divides first."""


def rotated_channels(frame: Frame, rule: RotaryRule, held: list[Section], scaling: ScalingRead) -> Value:
    """The number of channels that turn.

    Args:
        frame: what is known of these layers.
        rule: the family's, with the keys it keeps the number under.
        held: the dictionaries of the file that speak about rotation, the newest dialect first.
        scaling: a proportional one spans the whole head, and lets the rest of it stand still.
    """
    section, head_dim = frame.section, frame.attention.head_dim
    if rule.slice_key:
        return _even(section, section.width(rule.slice_key))
    if not head_dim.known:
        return unknown("the width of a head is unknown")
    proportional = scaling.rule.value == "proportional"
    counts = [section.width(key) for key in rule.count if section.has(key)]
    shares = [
        place.number("partial_rotary_factor", above=0, most=SHARE_LIMIT) for place in held if place.has("partial_rotary_factor")
    ]
    shares += [section.number(key, above=0, most=SHARE_LIMIT) for key in rule.partial if section.has(key)]
    shares = [value for value in shares if value.known]
    counts = [value for value in counts if value.known]
    if proportional:
        return Value(head_dim.value, "derived", "proportional: the ladder spans the whole head, the rest of it stands still")
    if shares:
        dims = {value.detail: int(head_dim.value * value.value) for value in shares}
        dims |= {value.detail: value.value for value in counts}
        if len(set(dims.values())) > 1:
            section.log.note(
                "spellings-disagree",
                "warning",
                "the file states more than one number of rotated channels",
                {value.detail: value.value for value in [*shares, *counts]},
                f"keep one; {shares[0].detail} is taken here",
            )
        share = shares[0]
        formula = f"{head_dim.value} head channels x {share.value:g} ({share.detail})"
        return _even(section, Value(int(head_dim.value * share.value), "derived", formula))
    if counts:
        return _even(section, counts[0])
    default = _default_share(frame, rule)
    if default.value == 1:
        return _even(section, Value(head_dim.value, "derived", "the whole head turns"))
    formula = f"{head_dim.value} head channels x {default.value:g} ({default.detail})"
    return _even(section, Value(int(head_dim.value * default.value), "derived", formula))


def _default_share(frame: Frame, rule: RotaryRule) -> Value:
    count = next((frame.section.defaults[key] for key in rule.count if key in frame.section.defaults), None)
    if count:
        return Value(count / frame.attention.head_dim.value, "family", f"default of {frame.origin}")
    parameters = frame.section.defaults.get("rope_parameters")
    if isinstance(parameters, Mapping):
        nested = parameters.get(rule.label(frame.kind))
        where = nested if isinstance(nested, Mapping) else parameters
        share = where.get("partial_rotary_factor")
        if isinstance(share, int | float):
            return Value(float(share), "family", f"default of {frame.origin}")
    return Value(rule.share, "family", frame.origin)


def _even(section: Section, dim: Value) -> Value:
    if not dim.known or (dim.value % 2 == 0 and dim.value > 0):
        return dim
    section.log.note(
        "rotated-channels-odd",
        "error",
        f"{dim.value} rotated channels: a rotation turns pairs",
        {dim.detail: dim.value},
        "state an even number of rotated channels",
    )
    return unknown(f"{dim.value} channels ({dim.detail}) do not make pairs")
