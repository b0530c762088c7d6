"""Known faults of rotations.

Most are right code with something changed on the way: the positions, the angles, the frequency schedule, the settings, or which
of queries and keys turns. Those are a lambda in their row; where more is computed or kept, a function or class stands above.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, NTKAware, Proportional, YaRN, inverse_frequencies
from ordinate.position.additive.absolute import LearnedTable
from ordinate.position.indices import appended, consecutive, from_lengths, from_mask
from ordinate.position.rotary import Rotary
from ordinate.position.rotary.layouts import convert_layout
from ordinate.position.rotary.rotation import angle_tables, reference_rotation, rotate_pairs
from ordinate.verify.faults.table import KnownFault
from ordinate.verify.references.frequency_schedules import cos_sin_factor
from ordinate.verify.references.frequency_schedules import inverse_frequencies as reference_frequencies
from ordinate.verify.references.rotation import RotarySettings, angles, frequencies, pairs, rotated

__all__ = ["ROTARY_FAULTS", "on_both", "turn"]

Settings = RotarySettings
Rotation = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]  # (query, key, positions) -> both turned
Make = Callable[[Settings], Any]

# what wrong rotations share with right ones -----------------------------------------------------------------------------


def turn(x: Tensor, positions: Tensor, s: Settings, theta: Tensor | None = None, factor: float | None = None) -> Tensor:
    """x turned as the reference does, by other angles where there are any, in the dtype of x."""
    return rotated(x, positions, s, theta=theta, factor=factor).to(x.dtype)


def on_both(one: Callable[[Tensor, Tensor], Tensor]) -> Rotation:
    """(x, positions) -> x' as (query, key, positions) -> (query', key')."""
    return lambda query, key, positions: (one(query, positions), one(key, positions))


def _each(one: Callable[[Settings, Tensor, Tensor], Tensor]) -> Make:
    """A function of (settings, x, positions), for queries and keys."""
    return lambda s: on_both(lambda x, positions: one(s, x, positions))


def _settings(change: Callable[[Settings], Settings]) -> Make:
    """Right code with other settings."""

    def make(s: Settings) -> Rotation:
        changed = change(s)
        return on_both(lambda x, positions: turn(x, positions, changed))

    return make


def _scaling(change: Callable[[Any], Any]) -> Make:
    """Right code with another scaling."""
    return _settings(lambda s: s.replace(scaling=change(s.scaling)))


def _positions(change: Callable[[Tensor], Tensor]) -> Make:
    """Right code at other positions."""
    return _each(lambda s, x, positions: turn(x, positions, s, theta=angles(s, change(positions), 1)))


def _length(length: Callable[[Any, Tensor], int]) -> Make:
    """Right code with the frequencies of a row of another length."""
    return _each(lambda s, x, positions: turn(x, positions, s, theta=angles(s, positions, length(s, positions))))


def _angles(change: Callable[[Settings, Tensor], Tensor]) -> Make:
    """Right code by other angles."""
    return _each(lambda s, x, positions: turn(x, positions, s, theta=change(s, angles(s, positions))))


def _schedule(rates: Callable[[Settings, Tensor], Tensor]) -> Make:
    """Position times other frequencies, made from the pairs' exponents 2 i / rotary_dim."""

    def make(s: Settings) -> Rotation:
        exponents = torch.arange(0, s.rotary_dim, 2, dtype=torch.float64) / s.rotary_dim
        per_position = rates(s, exponents)
        return on_both(lambda x, p: turn(x, p, s, theta=s.sign * p.double().unsqueeze(-1) * per_position))

    return make


def _base(s: Settings) -> float:
    return s.base or 10000.0


def _per_head(theta: Tensor) -> Tensor:
    return theta.unsqueeze(-3) if theta.ndim == 3 else theta


# conditions -------------------------------------------------------------------------------------------------------------


def _unscaled(s: Settings) -> bool:
    return s.scaling is None


def _partial(s: Settings) -> bool:
    return s.rotary_dim < s.head_dim


def _length_dependent(s: Settings) -> bool:
    return s.scaling is not None and s.scaling.depends_on_length


def _scaled_by(*kinds: type) -> Callable[[Settings], bool]:
    return lambda s: isinstance(s.scaling, kinds)


def _has_factor(s: Settings) -> bool:
    return cos_sin_factor(s.scaling) != 1.0


def _factor(s: Settings) -> float:
    return float(s.scaling.factor)  # type: ignore[union-attr]  # no factor: the fault has no meaning


# faults that compute something ------------------------------------------------------------------------------------------


def _halves_exchanged(s: Settings, x: Tensor, positions: Tensor) -> Tensor:
    first, second = pairs(s)
    result = turn(x, positions, s)
    swapped = result.clone()
    swapped[..., first], swapped[..., second] = result[..., second], result[..., first]
    return swapped


def _mismatched_tables(s: Settings, x: Tensor, positions: Tensor) -> Tensor:
    first, second = pairs(s)
    theta = _per_head(angles(s, positions))
    full = theta.repeat_interleave(2, -1) if s.layout_or_half == "half" else torch.cat((theta, theta), -1)
    at_first, at_second = full[..., first - s.start], full[..., second - s.start]
    a, b, result = x[..., first].double(), x[..., second].double(), x.clone()
    result[..., first] = (a * at_first.cos() - b * at_first.sin()).to(x.dtype)
    result[..., second] = (b * at_second.cos() + a * at_second.sin()).to(x.dtype)
    return result


def _minus_missing(s: Settings, x: Tensor, positions: Tensor) -> Tensor:
    first, second = pairs(s)
    theta = _per_head(angles(s, positions))
    result = rotated(x, positions, s)
    result[..., first] = x[..., first].double() * theta.cos() + x[..., second].double() * theta.sin()
    return result.to(x.dtype)


def _pairs_across_the_head(s: Settings, x: Tensor, positions: Tensor) -> Tensor:
    theta = angles(s, positions)
    still = theta.new_zeros(*theta.shape[:-1], (s.head_dim - s.rotary_dim) // 2)
    return turn(x, positions, s.replace(layout="half", rotary_dim=s.head_dim), theta=torch.cat((theta, still), -1))


def _proportional_for_partial(s: Settings, x: Tensor, positions: Tensor) -> Tensor:
    """Frequencies and pairs of the whole head, of which only the first turn."""
    rates = torch.tensor(reference_frequencies(s.head_dim, _base(s)), dtype=torch.float64)
    rates[s.rotary_dim // 2 :] = 0
    whole = s.replace(rotary_dim=s.head_dim, scaling=None)
    return turn(x, positions, whole, theta=s.sign * positions.double().unsqueeze(-1) * rates)


def _partial_for_proportional(s: Any) -> Settings:
    """The pairs that turn taken for the first channels, with frequencies of their own."""
    turning = 2 * int(s.scaling.fraction * s.rotary_dim // 2)
    changed: Settings = s.replace(rotary_dim=turning, scaling=None)
    return changed


def _later_rows(value: Callable[[Tensor], Tensor]) -> Make:
    """Where every row has one token, rows after the first are not computed."""

    def one(s: Settings, x: Tensor, positions: Tensor) -> Tensor:
        result = turn(x, positions, s)
        return torch.cat((result[:1], value(x[1:]))) if x.shape[-2] == 1 else result

    return _each(one)


def _neighbours_as_halves(s: Settings, x: Tensor, positions: Tensor) -> Tensor:
    neighbours = s.replace(layout="interleaved")
    first, second = pairs(neighbours)
    result = turn(x, positions, neighbours)
    moved = result.clone()
    moved[..., s.start : s.start + s.rotary_dim] = torch.cat((result[..., first], result[..., second]), -1)
    return moved


def _heads_for_tokens(s: Settings, x: Tensor, positions: Tensor) -> Tensor:
    return turn(x.transpose(1, 2), torch.arange(x.shape[1]), s).transpose(1, 2)


def _tables_in_bfloat16(s: Settings, x: Tensor, positions: Tensor) -> Tensor:
    theta = _per_head(angles(s, positions))
    cos, sin = theta.cos().bfloat16().double(), theta.sin().bfloat16().double()
    first, second = pairs(s)
    a, b, result = x[..., first].double(), x[..., second].double(), x.clone()
    result[..., first] = (cos_sin_factor(s.scaling) * (a * cos - b * sin)).to(x.dtype)
    result[..., second] = (cos_sin_factor(s.scaling) * (a * sin + b * cos)).to(x.dtype)
    return result


def _second_from_turned_first(s: Settings, x: Tensor, positions: Tensor) -> Tensor:
    first, second = pairs(s)
    theta = _per_head(angles(s, positions))
    result = rotated(x, positions, s)
    result[..., second] = result[..., first] * theta.sin() + x[..., second].double() * theta.cos()
    return result.to(x.dtype)


def _reversed_ramp(s: Settings, exponents: Tensor) -> Tensor:
    plain = reference_frequencies(s.rotary_dim, _base(s))
    mixed = reference_frequencies(s.rotary_dim, _base(s), s.scaling)
    return torch.tensor([p + p / _factor(s) - m for p, m in zip(plain, mixed, strict=True)], dtype=torch.float64)


def _rounded_frequencies(dtype: torch.dtype) -> Make:
    return _schedule(lambda s, exponents: frequencies(s).to(dtype).double())


def _keys_divided(s: Settings) -> Rotation:
    factor = cos_sin_factor(s.scaling) / s.head_dim**0.5
    return lambda query, key, positions: (turn(query, positions, s), turn(key, positions, s, factor=factor))


def _angles_in_dtype(s: Settings, x: Tensor, positions: Tensor) -> Tensor:
    return angles(s, positions.to(x.dtype), 1)


def _input_overwritten(s: Settings, x: Tensor, positions: Tensor) -> Tensor:
    result = turn(x, positions, s)
    with torch.no_grad():
        x.copy_(result)
    return result


class _GradientTurnedForwards(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, positions: Tensor, s: Settings) -> Tensor:
        ctx.saved = positions, s
        return turn(x, positions, s, factor=cos_sin_factor(s.scaling))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        positions, s = ctx.saved
        return turn(gradient, positions, s), None, None


def _gradient_not_turned_back(s: Settings, x: Tensor, positions: Tensor) -> Tensor:
    result: Tensor = _GradientTurnedForwards.apply(x, positions, s)
    return result


# faults that keep something between calls -------------------------------------------------------------------------------


class _BufferedFrequencies(nn.Module):
    """Inverse frequencies in a buffer or a parameter, so they follow every cast."""

    def __init__(self, s: Settings, persistent: bool = False, parameter: bool = False) -> None:
        super().__init__()
        self.s = s
        rates = frequencies(s).float()
        self.inv_freq: Tensor
        if parameter:
            self.inv_freq = nn.Parameter(rates, requires_grad=False)
        else:
            self.register_buffer("inv_freq", rates, persistent=persistent)

    def forward(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        theta = self.s.sign * positions.double().unsqueeze(-1) * self.inv_freq.double()
        return turn(query, positions, self.s, theta=theta), turn(key, positions, self.s, theta=theta)


class _BufferedTables(nn.Module):
    """Cosine and sine in buffers."""

    def __init__(self, s: Settings) -> None:
        super().__init__()
        self.s = s
        theta = angles(s, torch.arange(32_768), 1)
        self.register_buffer("cos", theta.cos().float(), persistent=False)
        self.register_buffer("sin", theta.sin().float(), persistent=False)
        self.cos: Tensor
        self.sin: Tensor

    def forward(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        cos, sin = self.cos[positions].double(), self.sin[positions].double()
        factor = _per_head((cos.square() + sin.square()).sqrt())
        first, second = pairs(self.s)

        def one(x: Tensor) -> Tensor:
            result = rotated(x, positions, self.s, theta=torch.atan2(sin, cos))
            result[..., first], result[..., second] = result[..., first] * factor, result[..., second] * factor
            return result.to(x.dtype)

        return one(query), one(key)


class _CachedAngles:
    """Keeps angles by a key; what the key forgets is the fault."""

    def __init__(
        self,
        s: Settings,
        key: Callable[[Tensor], object],
        compute: Callable[[Settings, Tensor, Tensor], Tensor] = lambda s, x, positions: angles(s, positions),
    ) -> None:
        self.s, self.key, self.compute = s, key, compute
        self.cache: dict[object, Tensor] = {}

    def __call__(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        name = self.key(positions)
        if name not in self.cache:
            self.cache[name] = self.compute(self.s, query, positions)
        theta = self.cache[name]
        return turn(query, positions, self.s, theta=theta), turn(key, positions, self.s, theta=theta)


class _GrowingTable:
    """A table that is made anew only for a longer row, in the dtype of the call that needed it."""

    def __init__(self, s: Settings) -> None:
        self.s, self.table = s, torch.zeros(0, s.rotary_dim // 2, dtype=torch.float64)

    def __call__(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        last = int(positions.max()) + 1 if positions.numel() else 0
        if last > len(self.table):
            theta = angles(self.s, positions.to(query.dtype), 1)
            if bool((positions == torch.arange(positions.shape[-1])).all()):
                self.table = theta if theta.ndim == 2 else theta[0]
        else:
            theta = self.table[positions]
        return turn(query, positions, self.s, theta=theta), turn(key, positions, self.s, theta=theta)


class _LongestSoFar:
    """Remembers the longest row: its last rows are returned, or its length decides the frequencies."""

    def __init__(self, s: Settings, from_the_end: bool) -> None:
        self.s, self.from_the_end, self.longest = s, from_the_end, 0

    def __call__(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        self.longest = max(self.longest, int(positions.max()) + 1)
        if self.from_the_end:
            positions = torch.arange(self.longest - positions.shape[-1], self.longest)
            theta = angles(self.s, positions, 1)
        else:
            theta = angles(self.s, positions, self.longest)
        return turn(query, positions, self.s, theta=theta), turn(key, positions, self.s, theta=theta)


def _first_row(positions: Tensor, row: slice = slice(0, 1)) -> Tensor:
    return positions[row].expand_as(positions) if positions.ndim == 2 else positions


def _single_token_moved(positions: Tensor, by: int) -> Tensor:
    if positions.shape[-1] != 1 or (by > 0 and not bool((positions > 0).all())):
        return positions
    return (positions + by).clamp_min(0)


PARTIAL = {"rotary_dim": 32}
YARN = {"scaling": YaRN(4.0, 4096)}
DYNAMIC = {"scaling": DynamicNTK(2.0, 64)}
LLAMA3 = {"scaling": Llama3(8.0, 1.0, 4.0, 8192)}

_row = partial(KnownFault, kind="rotary")


def _table_ends(rows: int) -> tuple[KnownFault, KnownFault]:
    end = f"positions past the end of a table of {rows:,} rows"
    return (
        _row(
            f"table-clamped-at-{rows}",
            "boundary",
            says=f"{end} given its last row",
            make=_positions(lambda positions: positions.clamp_max(rows - 1)),
            read=LearnedTable,
            reported="clamp, mode='clip'",
        ),
        _row(
            f"table-wrapped-at-{rows}",
            "boundary",
            says=f"{end} begun again at 0",
            make=_positions(lambda positions: positions % rows),
            read=LearnedTable,
            reported="position % max_len",
        ),
    )


# fmt: off
ROTARY_FAULTS: tuple[KnownFault, ...] = (
    _row("last-pair-left-out", "boundary", says="the last pair never turned",
        make=_angles(lambda s, theta: torch.cat((theta[..., :-1], torch.zeros_like(theta[..., -1:])), -1)),
        read=inverse_frequencies, reported="range(0, d - 2, 2)"),
    _row("first-pair-left-out", "boundary", says="the frequency schedule begun at the second frequency",
        make=_schedule(lambda s, exponents: _base(s) ** -(exponents + 2 / s.rotary_dim)), read=inverse_frequencies,
        needs=_unscaled, reported="arange(2, d + 2, 2) for the exponents"),
    _row("ladder-to-the-end", "boundary", says="exponents i / (P - 1), so that the last frequency is exactly 1 / base",
        make=_schedule(lambda s, exponents: _base(s) ** -(exponents * (s.rotary_dim // 2) / max(s.rotary_dim // 2 - 1, 1))),
        read=inverse_frequencies, needs=_unscaled, reported="tensor2tensor's schedule in a rotation"),
    _row("ladder-reversed", "boundary", says="the frequencies in reverse order: the first pair is the slowest",
        make=_angles(lambda s, theta: theta.flip(-1)), read=inverse_frequencies),
    *_table_ends(512),
    *_table_ends(2048),
    *_table_ends(4096),
    *_table_ends(32768),
    _row("frequencies-in-a-buffer", "device and dtype",
        says="inverse frequencies in a buffer outside the state dict: a cast rounds them, an empty device loses them",
        make=_BufferedFrequencies, read=Rotary,
        reported="transformers 5.24: cosine off by 1.99; transformers#45902, gpt-neox#1168"),
    _row("frequencies-in-the-state-dict", "device and dtype",
        says="inverse frequencies in the state dict: a cast rounds them, and a checkpoint brings back another base's",
        make=partial(_BufferedFrequencies, persistent=True), read=Rotary, reported="x-transformers, older Llama checkpoints"),
    _row("frequencies-in-a-parameter", "device and dtype",
        says="inverse frequencies kept as a parameter, which a cast rounds for good",
        make=partial(_BufferedFrequencies, parameter=True), read=Rotary, reported="rotary-embedding-torch 0.9.1"),
    _row("tables-in-a-buffer", "device and dtype",
        says="tables of cosine and sine in a buffer outside the state dict: a cast rounds them, an empty device loses them",
        make=_BufferedTables, read=Rotary),
    _row("comes-back-in-float32", "device and dtype", says="a half-precision input promoted to float32 on its way out",
        make=_each(lambda s, x, positions: rotated(x, positions, s).to(torch.promote_types(x.dtype, torch.float32))),
        read=rotate_pairs, reported="float32 tables times bfloat16 queries"),
    _row("comes-back-in-float64", "device and dtype", says="every result in float64",
        make=_each(lambda s, x, positions: rotated(x, positions, s)), read=rotate_pairs, reported="tables made with numpy"),
    _row("input-overwritten", "device and dtype", says="the result written over the input", make=_each(_input_overwritten),
        read=Rotary.rotate, reported="in-place kernels without out="),
    _row("gradient-lost", "device and dtype", says="the right numbers without a gradient",
        make=_each(lambda s, x, positions: turn(x.detach(), positions, s)), read=rotate_pairs,
        reported="torch.no_grad or .data around the rotation"),
    _row("gradient-not-turned-back", "device and dtype", says="a backward pass that turns the gradient forwards once more",
        make=_each(_gradient_not_turned_back), read=rotate_pairs, reported="custom autograd functions"),
    _row("other-layout", "layout", says="the other layout than the one stated",
        make=_settings(lambda s: s.replace(layout="interleaved" if s.stated_layout == "half" else "half")),
        read=convert_layout, needs=lambda s: s.stated_layout is not None, visible_with={"layout": "half"}, of_settings=True,
        reported="nanochat#264"),
    _row("halves-exchanged", "layout", says="halves swapped: what belongs to the first of a pair stands at the second",
        make=_each(_halves_exchanged), read=rotate_pairs),
    _row("mismatched-tables", "layout",
        says="halves turned by tables made for neighbours (or neighbours by tables made for halves)",
        make=_each(_mismatched_tables), read=reference_rotation, reported="cos.repeat_interleave(2) with rotate_half"),
    _row("minus-missing", "layout", says="the minus missing in (a cos - b sin): no rotation, lengths change",
        make=_each(_minus_missing), read=rotate_pairs, reported="rotate_half without the sign"),
    _row("keys-turned-backwards", "layout", says="keys turned by minus the angle, so scores depend on the sum of positions",
        make=lambda s: lambda query, key, p: (turn(query, p, s), turn(key, p, s.replace(sign=-s.sign))), read=Rotary.rotate,
        reported="a conjugate too many"),
    _row("queries-not-turned", "layout", says="keys rotated, queries not",
        make=lambda s: lambda query, key, positions: (query.clone(), turn(key, positions, s)), read=Rotary.rotate),
    _row("keys-not-turned", "layout", says="queries rotated, keys not",
        make=lambda s: lambda query, key, positions: (turn(query, positions, s), key.clone()), read=Rotary.rotate),
    _row("nothing-turned", "layout", says="the input, untouched: positions have no effect",
        make=lambda s: lambda query, key, positions: (query.clone(), key.clone()), read=Rotary.rotate,
        reported="a course whose tests pass it"),
    _row("turned-twice", "layout", says="everything turned twice",
        make=_each(lambda s, x, positions: turn(turn(x, positions, s), positions, s)), read=Rotary.re_rotate,
        reported="keys rotated on their way into the cache and out of it"),
    _row("last-channels-turned", "layout",
        says="the other end of the head turned: last channels for first, or first for last",
        make=_settings(lambda s: s.replace(rotated_channels="last" if s.rotated_channels == "first" else "first")),
        read=Rotary, needs=_partial, visible_with=PARTIAL, reported="DeepSeek's latent attention"),
    _row("pairs-across-the-head", "layout",
        says="channel i paired with i + head_dim / 2 though only rotary_dim channels turn",
        make=_each(_pairs_across_the_head), read=rotate_pairs, needs=_partial, visible_with={**PARTIAL, "layout": "half"},
        reported="partial rotations of layout half"),
    _row("neighbours-come-back-as-halves", "layout",
        says="neighbours turned and put back as halves (a cat where a stack belongs)", make=_each(_neighbours_as_halves),
        read=reference_rotation, visible_with={"layout": "interleaved"}),
    _row("heads-for-tokens", "layout", says="turned by the number of the head instead of the token: two axes confused",
        make=_each(_heads_for_tokens), read=Rotary.rotate, reported="x.shape[1] for the length"),
    _row("cosine-and-sine-exchanged", "layout", says="cosine and sine exchanged: a quarter turn at position 0",
        make=_angles(lambda s, theta: torch.pi / 2 - theta), read=rotate_pairs, reported="(sin, cos) unpacked as (cos, sin)"),
    _row("keys-divided-by-root-of-head", "layout",
        says="keys divided by the square root of the head, as if that were part of the rotation",
        make=_keys_divided,
        read=Rotary.rotate),
    _row("positions-in-input-dtype", "numeric",
        says="positions formed in the dtype of the input: in bfloat16 256 and 257 are one",
        make=_each(lambda s, x, positions: turn(x, positions, s, theta=angles(s, positions.to(x.dtype), 1))),
        read=angle_tables, reported="rotary-embedding-torch 0.9.1: 513 of 1,024 distinct"),
    _row("positions-in-bfloat16", "numeric", says="positions formed in bfloat16 whatever the input",
        make=_positions(lambda positions: positions.bfloat16()), read=angle_tables, reported="a default dtype of bfloat16"),
    _row("positions-in-float16", "numeric",
        says="positions formed in float16 whatever the input: 2,048 and 2,049 are one, 65,520 is infinite",
        make=_positions(lambda positions: positions.half()), read=angle_tables),
    _row("frequencies-in-bfloat16", "numeric", says="inverse frequencies rounded to bfloat16",
        make=_rounded_frequencies(torch.bfloat16), read=Rotary, reported="transformers 5.24 after model.bfloat16()"),
    _row("frequencies-in-float16", "numeric", says="inverse frequencies rounded to float16",
        make=_rounded_frequencies(torch.float16), read=Rotary, reported="model.half()"),
    _row("angles-in-bfloat16", "numeric", says="angles rounded to bfloat16 before cosine and sine",
        make=_angles(lambda s, theta: theta.bfloat16().double()), read=angle_tables,
        reported="autocast around the outer product"),
    _row("angles-in-input-dtype", "numeric", says="angles rounded to the dtype of the input before cosine and sine",
        make=_each(lambda s, x, positions: turn(x, positions, s, theta=angles(s, positions).to(x.dtype).double())),
        read=angle_tables),
    _row("tables-in-bfloat16", "numeric", says="cosine and sine rounded to bfloat16 though the input is wider",
        make=_each(_tables_in_bfloat16), read=angle_tables, reported="a table built under autocast"),
    _row("degrees", "numeric", says="angles taken for degrees: 180 / pi times too slow",
        make=_angles(lambda s, theta: theta * math.pi / 180), read=Rotary),
    _row("turns", "numeric", says="angles taken for turns: 2 pi times too fast",
        make=_angles(lambda s, theta: theta * 2 * math.pi), read=Rotary, reported="wavelengths and frequencies confused"),
    _row("integer-exponent", "numeric", says="an integer division in the exponent, so that every pair turns at 1 radian",
        make=_schedule(lambda s, exponents: _base(s) ** -exponents.floor()), read=Rotary, needs=_unscaled),
    _row("positions-in-int16", "numeric", says="positions in int16: 32,768 is -32,768",
        make=_positions(lambda positions: positions.to(torch.int16)), read=angle_tables),
    _row("positions-in-uint8", "numeric", says="positions in uint8: 256 is 0",
        make=_positions(lambda positions: positions.to(torch.uint8)), read=angle_tables),
    _row("overwritten-in-place", "numeric", says="the second of each pair computed from the first one already turned",
        make=_each(_second_from_turned_first), read=rotate_pairs, reported="in-place kernels"),
    _row("offset-ignored", "offset and cache", says="every call starts at position 0: the offset does not reach the angles",
        make=_positions(lambda positions: positions - positions[..., :1]), read=appended,
        reported="decode steps rotated at 0"),
    _row("offset-for-queries-only", "offset and cache", says="the offset reaches queries, while keys start at 0",
        make=lambda s: lambda query, key, p: (turn(query, p, s), turn(key, p - p[..., :1], s)), read=Rotary.rotate,
        reported="rotary-embedding-torch, rotate_queries_with_cached_keys"),
    _row("offset-for-keys-only", "offset and cache", says="the offset reaches keys, while queries start at 0",
        make=lambda s: lambda query, key, p: (turn(query, p - p[..., :1], s), turn(key, p, s)), read=Rotary.rotate),
    _row("starts-at-one", "offset and cache", says="positions count from 1", make=_positions(lambda positions: positions + 1),
        read=consecutive, reported="a mask's cumulative sum without the minus one"),
    _row("decode-one-ahead", "offset and cache", says="a single new token stands one position too far",
        make=_positions(lambda positions: _single_token_moved(positions, 1)), read=appended,
        reported="the cache counts the new token before it is turned"),
    _row("decode-one-behind", "offset and cache", says="a single new token stands one position behind",
        make=_positions(lambda positions: _single_token_moved(positions, -1)), read=appended),
    _row("offset-missing-from-cache-key", "offset and cache",
        says="the offset missing from the cache key: a table made for one offset is given for another of the same length",
        make=partial(_CachedAngles, key=lambda positions: positions.shape), read=Rotary.tables,
        reported="rotary-embedding-torch#11"),
    _row("dtype-missing-from-cache-key", "offset and cache",
        says="the dtype missing from the cache key: a table formed for a bfloat16 call serves later float32 calls",
        make=partial(_CachedAngles, key=lambda positions: tuple(positions.flatten().tolist()), compute=_angles_in_dtype),
        read=Rotary.tables, reported="rotary-embedding-torch 0.9.1, reproduced"),
    _row("dtype-missing-from-growing-table", "offset and cache",
        says="a growing table of positions formed in the dtype of the call that made it, kept for calls in other dtypes",
        make=_GrowingTable, read=Rotary.tables, reported="rotary-embedding-torch 0.9.1: cached_freqs"),
    _row("table-cut-from-the-end", "offset and cache",
        says="the last rows of a table kept from a longer call instead of the rows of these positions",
        make=partial(_LongestSoFar, from_the_end=True), read=Rotary.tables, reported="freqs[-seq_len:]"),
    _row("stretch-never-goes-back", "offset and cache", says="frequencies of the longest row seen so far, for short rows too",
        make=partial(_LongestSoFar, from_the_end=False), read=DynamicNTK, needs=_length_dependent, visible_with=DYNAMIC,
        reported="dynamic scaling that keeps its buffer"),
    _row("length-decides-step-by-step", "offset and cache",
        says="frequencies of the row's length so far, while cached keys keep those of the length they came at",
        make=_settings(lambda s: s), read=Rotary.re_rotate, needs=_length_dependent, visible_with=DYNAMIC, of_settings=True,
        reported="dynamic scaling by row"),
    _row("first-row-for-all", "padding and packing", says="every row turned at the positions of the first",
        make=_positions(_first_row), read=from_mask, reported="position_ids[0]"),
    _row("last-row-for-all", "padding and packing", says="every row turned at the positions of the last",
        make=_positions(partial(_first_row, row=slice(-1, None))), read=from_mask),
    _row("given-positions-ignored", "padding and packing",
        says="tokens counted 0, 1, 2, ... whatever positions are given, so padding counts and packed documents run on",
        make=_positions(lambda positions: torch.arange(positions.shape[-1])), read=from_mask,
        reported="transformers#22161, OLMo-core#591"),
    _row("counted-from-the-first", "padding and packing",
        says="tokens counted on from the first position given, whatever the others are",
        make=_positions(lambda positions: positions[..., :1] + torch.arange(positions.shape[-1])), read=from_lengths,
        reported="arange(start, start + length)"),
    _row("later-rows-unwritten", "padding and packing",
        says="rows after the first left at zero where every row has one token", make=_later_rows(torch.zeros_like),
        read=Rotary.rotate, reported="decode kernels launched for one row"),
    _row("later-rows-as-they-came", "padding and packing",
        says="rows after the first left as they came where every row has one token", make=_later_rows(lambda x: x),
        read=Rotary.rotate, reported="decode kernels launched for one row"),
    _row("longest-row-decides", "padding and packing",
        says="the longest row of a call decides every row's frequencies, while cached keys keep those they came at",
        make=_length(lambda s, positions: int(positions.max()) + 1), read=Rotary.tables, needs=_length_dependent,
        visible_with=DYNAMIC,
        reported="transformers 5.24: 1.02 to 1.79 in the logits beside a padded neighbour, 0.71 between prefill and decode"),
    _row("ladder-of-head-dim", "parsing", says="frequencies computed with head_dim instead of rotary_dim",
        make=_schedule(lambda s, exponents: _base(s) ** -(exponents * s.rotary_dim / s.head_dim)), read=Rotary,
        needs=lambda s: _partial(s) and _unscaled(s), visible_with=PARTIAL,
        reported="partial rotations ported from full ones"),
    _row("partial-ignored", "parsing", says="the whole head turned though only rotary_dim channels should",
        make=_settings(lambda s: s.replace(rotary_dim=s.head_dim)), read=Rotary, needs=_partial, visible_with=PARTIAL,
        reported="partial_rotary_factor not read"),
    _row("partial-as-proportional", "parsing",
        says="the first pairs of the whole head turned, with its frequencies, though rotary_dim channels turn by themselves",
        make=_each(_proportional_for_partial), read=Rotary, needs=lambda s: _partial(s) and _unscaled(s),
        visible_with={**PARTIAL, "layout": "half"}, reported="partial_rotary_factor read as proportional scaling"),
    _row("proportional-as-partial", "parsing",
        says="the first channels turned by themselves though the first pairs of the whole head were to turn",
        make=_settings(_partial_for_proportional), read=Proportional,
        needs=lambda s: isinstance(s.scaling, Proportional) and 0 < s.scaling.fraction < 1,
        visible_with={"scaling": Proportional(0.5), "layout": "half"},
        reported="proportional read as partial_rotary_factor"),
    _row("base-ignored", "parsing", says="base 10000 though another was stated",
        make=_settings(lambda s: s.replace(base=10000.0)), read=Rotary, visible_with={"base": 500000.0},
        reported="rope_theta under another key"),
    _row("scaling-ignored", "parsing", says="frequencies without the scaling that was stated",
        make=_scaling(lambda rule: None), read=Rotary, visible_with={"scaling": Linear(4.0)},
        reported="a config edited after the model was built"),
    _row("factor-multiplied", "parsing", says="positions multiplied by the factor of linear scaling instead of divided",
        make=_each(lambda s, x, p: turn(x, p, s, theta=_factor(s) * angles(s.replace(scaling=None), p))), read=Linear,
        needs=lambda s: hasattr(s.scaling, "factor"), visible_with={"scaling": Linear(4.0)}),
    _row("linear-for-ntk", "parsing", says="all frequencies divided by the factor though NTK-aware scaling was stated",
        make=_scaling(lambda rule: Linear(rule.factor)), read=NTKAware, needs=_scaled_by(NTKAware),
        visible_with={"scaling": NTKAware(4.0)}),
    _row("ntk-for-linear", "parsing", says="NTK-aware scaling of the base though linear scaling was stated",
        make=_scaling(lambda rule: NTKAware(rule.factor)), read=Linear, needs=_scaled_by(Linear),
        visible_with={"scaling": Linear(4.0)}),
    _row("ntk-exponent-missing", "parsing", says="base times factor, without the exponent d / (d - 2) of NTK-aware scaling",
        make=_settings(lambda s: s.replace(scaling=None, base=_base(s) * _factor(s))), read=NTKAware,
        needs=_scaled_by(NTKAware), visible_with={"scaling": NTKAware(4.0)}),
    _row("exponent-halved", "parsing",
        says="exponents i / d where 2 i / d belongs, so that the slowest pair turns at base^-1/2",
        make=_schedule(lambda s, exponents: _base(s) ** -(exponents / 2)), read=Rotary,
        needs=lambda s: _unscaled(s) and 2 * s.rotary_dim != s.head_dim),
    _row("exponent-doubled", "parsing", says="exponents 4 i / d where 2 i / d belongs (an index that was doubled already)",
        make=_schedule(lambda s, exponents: _base(s) ** -(exponents * 2)), read=Rotary, needs=_unscaled),
    _row("magnitude-missing", "parsing", says="the right frequencies without the scaling's factor on cosine and sine",
        make=_each(lambda s, x, positions: turn(x, positions, s, factor=1.0)), read=YaRN, needs=_has_factor,
        visible_with=YARN, reported="exllamav3#259"),
    _row("magnitude-twice", "parsing", says="the scaling's factor on cosine and sine applied twice",
        make=_each(lambda s, x, positions: turn(x, positions, s, factor=cos_sin_factor(s.scaling) ** 2)), read=YaRN,
        needs=_has_factor, visible_with=YARN, reported="tables scaled where the tables are made and where used"),
    _row("yarn-ramp-reversed", "parsing", says="YaRN's ramp the wrong way round: slow pairs kept, fast ones interpolated",
        make=_schedule(_reversed_ramp), read=YaRN, needs=_scaled_by(YaRN), visible_with=YARN),
    _row("yarn-truncate-ignored", "parsing", says="the ends of YaRN's ramp rounded to whole pairs though truncate is false",
        make=_scaling(lambda yarn: replace(yarn, truncate=True)), read=YaRN,
        needs=lambda s: isinstance(s.scaling, YaRN) and not s.scaling.truncate,
        visible_with={"scaling": YaRN(32.0, 4096, truncate=False)}, reported="vllm#27722"),
    _row("llama3-as-linear", "parsing",
        says="all frequencies divided by the factor though Llama 3's rule keeps the fast ones",
        make=_scaling(lambda rule: Linear(rule.factor)), read=Llama3, needs=_scaled_by(Llama3), visible_with=LLAMA3,
        reported="mlx-examples#907"),
    _row("llama3-in-radians", "parsing", says="Llama 3's borders compared with radians instead of turns (2 pi missing)",
        make=_scaling(lambda rule: replace(rule, original_context=round(rule.original_context * 2 * math.pi))), read=Llama3,
        needs=_scaled_by(Llama3), visible_with=LLAMA3),
    _row("longrope-long-always", "parsing", says="LongRoPE's long factors for short rows too",
        make=_length(lambda s, positions: s.scaling.original_context + 1), read=LongRoPE, needs=_scaled_by(LongRoPE),
        visible_with={"scaling": LongRoPE((1.0,) * 32, (4.0,) * 32, 128, 512)}, reported="llama.cpp#24875"),
    _row("dynamic-from-the-start", "parsing", says="dynamic scaling applied at its full factor to short rows",
        make=_scaling(lambda rule: NTKAware(rule.factor)), read=DynamicNTK, needs=_scaled_by(DynamicNTK),
        visible_with={"scaling": DynamicNTK(4.0, 64)}, reported="dynamic read as static NTK"),
)
# fmt: on
