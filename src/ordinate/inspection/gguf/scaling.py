"""How a GGUF file scales its rotary frequencies: by keys (linear, YaRN) or by small tensors of divisors (Llama 3, LongRoPE).

llama.cpp turns a pair by position * frequency / divisor, with the divisors in `rope_freqs.weight` (every length) or in
`rope_factors_short.weight` and `rope_factors_long.weight` (chosen by the context it was started with, not by the row). Its
YaRN and its factors on cos and sin are those of `llama_context` and `ggml_rope_yarn` in llama.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ordinate.errors import OrdinateError
from ordinate.frequencies import Linear, Llama3, LongRoPE, NTKAware, Proportional, Scaling, YaRN, inverse_frequencies
from ordinate.inspection.gguf.header import Tensor
from ordinate.inspection.provenance import Value, unknown

__all__ = ["ScalingRead", "read_scaling"]

_DEEPSEEK = ("deepseek2", "deepseek2-ocr", "deepseek32", "glm-dsa", "mistral4")
_STANDS_STILL = 1e20  # the converter writes 1e30 for pairs that shall not turn
_LLAMA3_RAMPS = ((1.0, 4.0),)
_LLAMA3_CONTEXTS = (8192, 4096, 16384, 32768)

Number = Callable[[str], Value | None]


@dataclass(frozen=True)
class ScalingRead:
    """What was made of a file's scaling.

    Args:
        rule, settings, scaling: as in `Rotation`.
        trouble: why no scaling could be made, "" where it could.
        original: the file's original context, if it has one.
    """

    rule: Value
    settings: Mapping[str, Value] = field(default_factory=dict)
    scaling: Scaling | None = None
    trouble: str = ""
    original: Value | None = None


def read_scaling(
    number: Number,
    text: Callable[[str], Value | None],
    tensors: Mapping[str, Tensor],
    architecture: str,
    rotary_dim: int,
    base: float,
    context: Value | None,
) -> ScalingRead:
    """The scaling that llama.cpp would apply to this file.

    Args:
        number, text: read a key of the architecture; None where the file has none.
        tensors: the header's, with the values of the small ones.
        architecture: as the file says.
        rotary_dim, base: of the layers that are scaled, to recognise Llama 3's divisors.
        context: the file's context length.
    """
    original = number("rope.scaling.original_context_length")
    told = text("rope.scaling.type")
    factor = number("rope.scaling.factor") or number("rope.scale_linear")
    divided = _read_divisors(tensors, rotary_dim, base, number, original, context)
    if divided is not None:
        return divided
    alpha = number("rope.scaling.alpha")
    try:
        if told is not None and told.value == "yarn":
            return _read_yarn(number, told, factor, original, context, architecture)
        if told is not None and told.value not in ("none", "linear"):
            return ScalingRead(
                Value(told.value, "file", told.detail),
                trouble=f"{told.detail} is {told.value!r}, but the file has no tensor rope_factors_long to go with it"
                if told.value == "longrope"
                else f"llama.cpp knows no scaling {told.value!r}",
                original=original,
            )
        if alpha is not None and alpha.value > 1:
            rule = Value("ntk", "family", "llama.cpp multiplies the base by alpha^(d/(d-2))")
            return ScalingRead(rule, {"factor": alpha}, NTKAware(float(alpha.value)), original=original)
        if factor is None or factor.value in (0, 1) or (told is not None and told.value == "none"):
            return ScalingRead(Value("none", "file", told.detail) if told is not None else _no_scaling(), original=original)
        rule = told or Value("linear", "family", "llama.cpp's scaling where a factor stands without a type")
        return ScalingRead(rule, {"factor": factor}, Linear(float(factor.value)), original=original)
    except OrdinateError as error:
        name = told.value if told is not None else "linear"
        rule = Value(name, "file", told.detail if told else factor.detail if factor else "rope.scaling.factor")
        return ScalingRead(rule, {} if factor is None else {"factor": factor}, trouble=str(error), original=original)


def _no_scaling() -> Value:
    return Value("none", "derived", "no rope.scaling.factor and no tensor of divisors")


def _read_yarn(
    number: Number, told: Value, factor: Value | None, original: Value | None, context: Value | None, architecture: str
) -> ScalingRead:
    factor = factor or Value(1.0, "family", "llama.cpp's default")
    reach = original or (
        Value(context.value, "family", "llama.cpp takes the context length where the original one is missing")
        if context is not None
        else unknown("neither rope.scaling.original_context_length nor context_length")
    )
    settings: dict[str, Value] = {"factor": factor, "original_context": reach}
    optional: dict[str, Any] = {}
    for name, key in (("beta_fast", "rope.scaling.yarn_beta_fast"), ("beta_slow", "rope.scaling.yarn_beta_slow")):
        value = number(key)
        if value is not None:
            settings[name] = value
            optional[name] = float(value.value)
    log_multiplier = number("rope.scaling.yarn_log_multiplier")
    extra = number("rope.scaling.attn_factor")
    if log_multiplier is not None and log_multiplier.value:
        # the converter of DeepSeek's family stores 0.1 * mscale_all_dim, and llama.cpp divides the 0.1 out again
        scale = float(log_multiplier.value) / (0.1 if architecture in _DEEPSEEK else 1.0)
        detail = f"{log_multiplier.detail}{' / 0.1' if architecture in _DEEPSEEK else ''}"
        if architecture in _DEEPSEEK:
            settings["mscale_all_dim"] = settings["mscale"] = Value(scale, "derived", detail)
            optional |= {"mscale": scale, "mscale_all_dim": scale}
        else:
            magnitude = _magnitude(factor.value, 1.0) / _magnitude(factor.value, scale) * (extra.value if extra else 1.0)
            settings["attention_factor"] = Value(magnitude, "derived", f"m(1) / m({detail}), m(c) = 0.1 c ln(factor) + 1")
            optional["attention_factor"] = magnitude
    elif extra is not None and extra.value != 1:
        magnitude = _magnitude(factor.value, 1.0) * extra.value
        settings["attention_factor"] = Value(magnitude, "derived", f"(0.1 ln(factor) + 1) * {extra.detail}")
        optional["attention_factor"] = magnitude
    if not reach.known:
        return ScalingRead(told, settings, trouble=reach.detail, original=original)
    scaling = YaRN(float(factor.value), int(reach.value), **optional)
    return ScalingRead(told, settings, scaling, original=original)


def _magnitude(factor: float, coefficient: float) -> float:
    return 0.1 * coefficient * math.log(factor) + 1.0 if factor > 1 else 1.0


def _read_divisors(
    tensors: Mapping[str, Tensor],
    rotary_dim: int,
    base: float,
    number: Number,
    original: Value | None,
    context: Value | None,
) -> ScalingRead | None:
    """What tensors of divisors say; None where there are none, or only ones."""
    every, short, long = (_find(tensors, name) for name in ("rope_freqs", "rope_factors_short", "rope_factors_long"))
    if long is not None and short is not None:
        return _read_longrope(long, short, number, original, context)
    if every is None:
        return None
    where = f"tensor {every[0]}"
    divisors = every[1].values
    if divisors is None:
        trouble = f"the values of {where} could not be read"
        return ScalingRead(Value("unknown divisors", "file", where), trouble=trouble, original=original)
    if len(divisors) < rotary_dim // 2 or not all(d > 0 for d in divisors):
        trouble = f"{where} has {len(divisors)} divisors from {min(divisors, default=0):g}, for {rotary_dim // 2} pairs"
        return ScalingRead(Value("unknown divisors", "file", where), trouble=trouble, original=original)
    divisors = divisors[: rotary_dim // 2]
    if all(d == 1 for d in divisors):
        return None
    told = Value(list(divisors), "file", where)
    turning = sum(d < _STANDS_STILL for d in divisors)
    if turning < len(divisors):
        if all(d == 1 for d in divisors[:turning]):
            fraction = Value(turning / len(divisors), "derived", f"{turning} of {len(divisors)} divisors in {where} are 1")
            rule = Value("proportional", "derived", f"the other divisors in {where} are above {_STANDS_STILL:g}")
            return ScalingRead(rule, {"fraction": fraction}, Proportional(fraction.value), original=original)
        return ScalingRead(Value("unknown divisors", "file", where), {"divisors": told}, trouble=f"{where} mixes rules")
    llama3 = _recognise_llama3(divisors, rotary_dim, base, original)
    if llama3 is not None:
        rule = Value("llama3", "derived", f"the divisors in {where} are those of this rule to 1e-5")
        settings = {name: Value(value, "derived", f"recognised in {where}") for name, value in llama3.settings().items()}
        return ScalingRead(rule, settings, llama3, original=original)
    reach = int((original or context or Value(1, "assumed", "")).value)
    rule = Value("longrope", "derived", f"one divisor a pair in {where}, whatever the length")
    scaling = LongRoPE(divisors, divisors, reach, reach, attention_factor=1.0)
    return ScalingRead(rule, {"short_factor": told, "long_factor": told}, scaling, original=original)


def _find(tensors: Mapping[str, Tensor], name: str) -> tuple[str, Tensor] | None:
    """Llama's converter names it once, newer ones once a layer (blk.0.rope_freqs.weight)."""
    for key in (f"{name}.weight", f"blk.0.{name}.weight"):
        if key in tensors:
            return key, tensors[key]
    return None


def _read_longrope(
    long: tuple[str, Tensor], short: tuple[str, Tensor], number: Number, original: Value | None, context: Value | None
) -> ScalingRead:
    rule = Value("longrope", "file", f"tensors {short[0]} and {long[0]}")
    settings = {
        name: Value(list(tensor.values), "file", f"tensor {key}")
        for name, (key, tensor) in (("short_factor", short), ("long_factor", long))
        if tensor.values is not None
    }
    reach = original or context
    if len(settings) < 2 or reach is None:
        lacking = "the values of its tensors" if len(settings) < 2 else "its context"
        return ScalingRead(rule, settings, trouble=f"{lacking} could not be read", original=original)
    claimed = context or reach
    settings |= {"original_context": reach, "claimed_context": claimed}
    # llama.cpp never computes sqrt(1 + ln s / ln L): what the converter did not store is 1
    factor = number("rope.scaling.attn_factor") or Value(1.0, "family", "llama.cpp's where rope.scaling.attn_factor is missing")
    settings["attention_factor"] = factor
    try:
        scaling = LongRoPE(
            tuple(settings["short_factor"].value),
            tuple(settings["long_factor"].value),
            int(reach.value),
            int(claimed.value),
            float(factor.value),
        )
    except OrdinateError as error:
        return ScalingRead(rule, settings, trouble=str(error), original=original)
    return ScalingRead(rule, settings, scaling, original=original)


def _recognise_llama3(divisors: tuple[float, ...], rotary_dim: int, base: float, original: Value | None) -> Llama3 | None:
    """The settings of Llama 3's rule that give these divisors to the float32 they are stored in, or None."""
    factor = max(divisors)
    plain = inverse_frequencies(rotary_dim, base)
    contexts = (int(original.value),) if original is not None else _LLAMA3_CONTEXTS
    for reach in contexts:
        for low, high in _LLAMA3_RAMPS:
            try:
                rule = Llama3(factor, low, high, reach)
            except OrdinateError:
                return None
            scaled = rule.inverse_frequencies(rotary_dim, base)
            if all(math.isclose(p / s, d, rel_tol=1e-5) for p, s, d in zip(plain, scaled, divisors, strict=True)):
                return rule
    return None
