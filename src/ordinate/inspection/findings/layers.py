"""Checks of kinds of layer: lists with the wrong polarity, scalings that reach only some of them, axes that nobody reads."""

from __future__ import annotations

from collections.abc import Iterator

from ordinate.inspection.findings.checked_part import CheckedPart
from ordinate.inspection.records import Finding

__all__ = ["CHECKS"]


def nope_polarity(checked: CheckedPart) -> Iterator[Finding]:
    """`no_rope_layers` holds 1 where a layer DOES rotate; a list of few ones was probably written the other way round."""
    flags = checked.keys.get("no_rope_layers")
    if not isinstance(flags, list) or not flags:
        return
    path = checked.section.at("no_rope_layers")
    if any(flag not in (0, 1) for flag in flags):
        yield Finding(
            "nope-polarity",
            "warning",
            f"{path} should hold a 0 or 1 a layer, not indices",
            {path: flags[:8]},
            "write one flag a layer, 1 where it rotates",
        )
    elif sum(flags) * 2 < len(flags):
        yield Finding(
            "nope-polarity",
            "warning",
            f"{path}: only {sum(flags)} of {len(flags)} layers rotate; a 1 means that a layer DOES rotate, despite the name",
            {path: flags[:8]},
            "turn the flags over if most layers should rotate",
        )


def scaling_partial(checked: CheckedPart) -> Iterator[Finding]:
    """A scaling given for the whole file that only some kinds of layer take, without the file saying so."""
    scaled = [layer for layer in checked.part.layers if layer.rotation is not None and layer.rotation.rule.value != "none"]
    plain = [layer for layer in checked.part.layers if layer.rotation is not None and layer.rotation.rule.value == "none"]
    still = [layer for layer in checked.part.layers if layer.encodings and layer.rotation is None]
    stated = checked.present("rope_scaling")
    if not scaled or not stated or not (plain or still):
        return
    others = " and ".join(layer.name for layer in (*plain, *still))
    yield Finding(
        "scaling-partial",
        "info",
        f"the scaling reaches {' and '.join(layer.name for layer in scaled)} only; {others} take none of it",
        {path: value.get("rope_type", value.get("type")) for path, value in stated.items() if isinstance(value, dict)},
        "code fixes this, the file does not say it: an engine that scales all layers is wrong",
    )


def sections_ignored(checked: CheckedPart) -> Iterator[Finding]:
    """Sections for several axes in a file whose stock class knows one axis."""
    turn = next((turn for turn in checked.turns if turn.sections is not None), None)
    stated = checked.stated_type
    if turn is None or turn.sections is None or stated not in ONE_AXIS:
        return
    yield Finding(
        "sections-ignored",
        "warning",
        f'the stock class of "{stated}" counts one axis: mrope_section is ignored, or its rope type refused',
        {"model_type": stated, **checked.stated(turn.sections), **checked.present("target_model_type")},
        "serve it with the engine that it was made for; text alone comes out the same",
    )


def scores_have_a_temperature(checked: CheckedPart) -> Iterator[Finding]:
    """A factor on the scores that grows with the query's position, beside what the encoding does."""
    factors = {layer.temperature.detail: layer.temperature.value for layer in checked.part.layers if layer.temperature.value}
    if factors:
        yield Finding(
            "scores-have-a-temperature",
            "info",
            "queries far into the text are multiplied by a factor that grows with their position",
            factors,
            "an engine without it drifts past the trained context; `ordinate.position` has both temperatures",
        )


ONE_AXIS = {"llama", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "mistral", "gemma", "gemma2", "phi3"}

CHECKS = (nope_polarity, scaling_partial, sections_ignored, scores_have_a_temperature)
