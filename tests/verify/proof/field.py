"""Known faults written once more as they stand in the field's code: other idioms, other shapes, nothing of the library's."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from ordinate.frequencies import Linear, YaRN
from ordinate.verify import check_attention, check_bias, check_embedding, check_rotary
from ordinate.verify.verdict import Verdict
from tests.verify.proof.correct import CHEAP, _by_positions, _frequencies, _half, _slopes, _turned

__all__ = ["FIELD"]

FIELD: list[tuple[str, str, str, Callable[[], Verdict]]] = []


def _rotary(name: str, expected: str, subject: object, **settings: object) -> None:
    FIELD.append((name, "rotary", expected, lambda: check_rotary(subject, only=CHEAP["rotary"], **settings)))  # type: ignore[arg-type]


class DefaultTheta(nn.Module):
    """A config's theta that never arrives."""

    def forward(self, q: Tensor, k: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        theta = position_ids[..., None].float() * _frequencies(q.shape[-1], 10000.0)
        return _turned(q, theta, "half", 1, "BHTD"), _turned(k, theta, "half", 1, "BHTD")


def forgets_start(xq: Tensor, xk: Tensor, start_pos: int) -> tuple[Tensor, Tensor]:
    theta = torch.outer(torch.arange(xq.shape[1]).float(), _frequencies(xq.shape[-1]))
    freqs_cis = torch.polar(torch.ones_like(theta), theta)[:, None]

    def one(x: Tensor) -> Tensor:
        pairs = torch.view_as_complex(x.to(torch.promote_types(x.dtype, torch.float32)).reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * freqs_cis).flatten(3).to(x.dtype)

    return one(xq), one(xk)


def two_layouts(q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    theta = (positions.float()[..., None] * _frequencies(q.shape[-1])).repeat_interleave(2, dim=-1)
    theta = theta if theta.ndim == 2 else theta[:, None]
    return tuple((x * theta.cos() + _half(x) * theta.sin()).to(x.dtype) for x in (q, k))  # type: ignore[return-value]


def neox_with_whole_ladder(x: Tensor, positions: Tensor) -> Tensor:
    inv_freq = (1.0 / 10000 ** (torch.arange(0, 64, 2).float() / 64))[:8]
    theta = positions.float()[..., None] * inv_freq
    return torch.cat((_turned(x[..., :16], theta, "half", 1, "BHTD"), x[..., 16:]), -1)


class KeepsByLength(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[int, Tensor] = {}

    def forward(self, q: Tensor, k: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        n = q.shape[-2]
        if n not in self.cache:
            self.cache[n] = torch.outer(torch.arange(offset, offset + n).float(), _frequencies(q.shape[-1]))
        return _turned(q, self.cache[n], "interleaved", 1, "BHTD"), _turned(k, self.cache[n], "interleaved", 1, "BHTD")


def arange_like_input(x: Tensor, offset: int = 0) -> Tensor:
    t = torch.arange(x.shape[-2], device=x.device, dtype=x.dtype) + offset
    return _turned(x, t.float()[:, None] * _frequencies(x.shape[-1]), "half", 1, "BHTD")


class BufferedFrequencies(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("inv_freq", _frequencies(64), persistent=False)
        self.inv_freq: Tensor

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        freqs = position_ids[..., None].float() * self.inv_freq.float()
        emb = torch.cat((freqs, freqs), -1)
        return emb.cos().to(x.dtype), emb.sin().to(x.dtype)


def no_minus(x: Tensor, positions: Tensor) -> Tensor:
    theta = positions.float()[..., None] * _frequencies(x.shape[-1])
    theta = torch.cat((theta, theta), -1)
    theta = theta if theta.ndim == 2 else theta[:, None]
    swapped = torch.cat((x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), -1)
    return (x * theta.cos() + swapped * theta.sin()).to(x.dtype)


def only_queries(q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    return _by_positions("half", 1, "BHTD")(q, positions), k.clone()


def in_degrees(x: Tensor, positions: Tensor) -> Tensor:
    theta = torch.deg2rad(positions.float()[..., None] * _frequencies(x.shape[-1]))
    return _turned(x, theta, "interleaved", 1, "BHTD")


def first_row(x: Tensor, position_ids: Tensor) -> Tensor:
    row = position_ids[0] if position_ids.ndim == 2 else position_ids
    return _by_positions("half", 1, "BHTD")(x, row)


def multiplied(x: Tensor, positions: Tensor) -> Tensor:
    return _turned(x, (positions.float() * 8.0)[..., None] * _frequencies(x.shape[-1]), "half", 1, "BHTD")


def yarn_without_temperature(x: Tensor, positions: Tensor) -> Tensor:
    plain = _frequencies(64)
    low, high = (64 * math.log(4096 / (turns * 2 * math.pi)) / (2 * math.log(10000)) for turns in (32, 1))
    ramp = ((torch.arange(32) - math.floor(low)) / (math.ceil(high) - math.floor(low))).clamp(0, 1)
    inv_freq = plain / 4.0 * ramp + plain * (1 - ramp)
    return _turned(x, positions.float()[..., None] * inv_freq, "half", 1, "BHTD")


def clamped(x: Tensor, positions: Tensor) -> Tensor:
    return _by_positions("interleaved", 1, "BHTD")(x, positions.clamp(max=2047))


def cat_for_stack(x: Tensor, positions: Tensor) -> Tensor:
    theta = positions.float()[..., None] * _frequencies(x.shape[-1])
    theta = theta if theta.ndim == 2 else theta[:, None]
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.cat((even * theta.cos() - odd * theta.sin(), even * theta.sin() + odd * theta.cos()), -1).to(x.dtype)


def in_place(x: Tensor, positions: Tensor) -> Tensor:
    turned = _by_positions("half", 1, "BHTD")(x, positions)
    x.data.copy_(turned)
    return turned


def conjugated_keys(q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    return _by_positions("half", 1, "BHTD")(q, positions), _by_positions("half", -1, "BHTD")(k, positions)


def off_by_one(x: Tensor, offset: int = 0) -> Tensor:
    return _by_positions("half", 1, "BHTD")(x, torch.arange(1, x.shape[2] + 1) + offset)


def arange_for_positions(q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    steps = torch.arange(q.shape[2])
    return _by_positions("half", 1, "BHTD")(q, steps), _by_positions("half", 1, "BHTD")(k, steps)


_rotary("theta never arrives", "base-ignored", DefaultTheta(), base=500000.0)
_rotary("start_pos forgotten, complex", "offset-ignored", forgets_start)
_rotary("repeat_interleave with rotate_half", "mismatched-tables", two_layouts)
_rotary("a quarter turns, ladder of the head", "ladder-of-head-dim", neox_with_whole_ladder, rotary_dim=16)
_rotary("tables kept by length", "offset-missing-from-cache-key", KeepsByLength())
_rotary("arange in the input's dtype", "positions-in-input-dtype", arange_like_input)
_rotary("inv_freq buffer", "frequencies-in-a-buffer", BufferedFrequencies())
_rotary("rotate_half without minus", "minus-missing", no_minus)
_rotary("only queries", "keys-not-turned", only_queries)
_rotary("deg2rad", "degrees", in_degrees)
_rotary("position_ids[0]", "first-row-for-all", first_row)
_rotary("factor multiplied", "factor-multiplied", multiplied, scaling=Linear(8.0))
_rotary("YaRN without its factor", "magnitude-missing", yarn_without_temperature, scaling=YaRN(4.0, 4096))
_rotary("clamp to 2,048 rows", "table-clamped-at-2048", clamped)
_rotary("cat for stack", "neighbours-come-back-as-halves", cat_for_stack, layout="interleaved")
_rotary("written over the input", "input-overwritten", in_place)
_rotary("keys conjugated", "keys-turned-backwards", conjugated_keys)
_rotary("arange from 1", "starts-at-one", off_by_one)
_rotary("arange whatever positions", "given-positions-ignored", arange_for_positions)
_rotary("the other layout", "other-layout", _by_positions("interleaved", 1, "BHTD"), layout="half")


def one_ladder(num_heads: int, seq_len: int) -> Tensor:
    rates = torch.tensor([2 ** (-8 / num_heads * (head + 1)) for head in range(num_heads)])
    steps = torch.arange(seq_len)
    return -rates[:, None, None] * (steps[:, None] - steps[None]).abs()


def favours_far(seq_len: int) -> Tensor:
    steps = torch.arange(seq_len)
    return _slopes(8)[:, None, None] * (steps[:, None] - steps[None])


def absolute_in_half(attention_mask: Tensor, num_heads: int, dtype: torch.dtype) -> Tensor:
    keys = ((attention_mask.cumsum(-1) - 1) * attention_mask)[:, None, :]
    return (_slopes(num_heads)[..., None] * keys).reshape(-1, 1, keys.shape[-1]).to(dtype)


FIELD += [
    ("one ladder of slopes for 12 heads", "bias", "slopes-geometric", lambda: check_bias(one_ladder, num_heads=12)),
    ("distance of the wrong sign", "bias", "distance-sign", lambda: check_bias(favours_far)),
    (
        "Bloom's form in bfloat16",
        "bias",
        "bias-of-absolute-positions-in-input-dtype",
        lambda: check_bias(absolute_in_half),
    ),
]


class BatchFirstSlip(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        theta = torch.outer(torch.arange(x.shape[0]).float(), _frequencies(x.shape[-1]))
        return x + torch.stack((theta.sin(), theta.cos()), -1).flatten(-2)[:, None].to(x.dtype)


def frequency_each(seq_len: int, d_model: int) -> Tensor:
    table = torch.zeros(seq_len, d_model)
    for channel in range(d_model):
        angle = torch.arange(seq_len).double() / 10000 ** (2 * channel / d_model)
        table[:, channel] = angle.sin() if channel % 2 == 0 else angle.cos()
    return table


class Tutorial(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        theta = torch.outer(torch.arange(5000).float(), torch.exp(torch.arange(0, 64, 2) * (-math.log(10000.0) / 64)))
        table = torch.zeros(5000, 64)
        table[:, 0::2], table[:, 1::2] = theta.sin(), theta.cos()
        self.register_buffer("pe", table)
        self.pe: Tensor

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[: x.shape[1]].to(x.dtype)


FIELD += [
    ("pe[: x.size(0)], batch first", "embedding", "rows-for-tokens", lambda: check_embedding(BatchFirstSlip(), order="BTD")),
    (
        "a frequency for each channel",
        "embedding",
        "frequency-per-channel",
        lambda: check_embedding(frequency_each, layout="interleaved"),
    ),
    ("a buffer in the state dict", "embedding", "embedding-in-the-state-dict", lambda: check_embedding(Tutorial())),
]


def dealt_out(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    times = q.shape[1] // k.shape[1]
    hidden = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).triu(k.shape[2] - q.shape[2] + 1)
    return scaled_dot_product_attention(q, k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1), attn_mask=~hidden)


def top_left(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled_dot_product_attention(q, k, v, is_causal=True)


def one_ahead(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    hidden = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).triu(k.shape[2] - q.shape[2] + 2)
    return scaled_dot_product_attention(q, k, v, attn_mask=~hidden)


def blind(q: Tensor, k: Tensor, v: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
    seen = key_positions[None, :] <= query_positions[:, None]
    return scaled_dot_product_attention(q, k, v, attn_mask=seen)


FIELD += [
    (
        "k.repeat for shared heads",
        "attention",
        "groups-dealt-out",
        lambda: check_attention(dealt_out, num_kv_heads=2, encoding="none"),
    ),
    ("is_causal in decoding", "attention", "mask-from-the-top-left", lambda: check_attention(top_left, encoding="none")),
    ("triu one too high", "attention", "sees-one-ahead", lambda: check_attention(one_ahead, encoding="none")),
    ("positions ignored", "attention", "positions-without-effect", lambda: check_attention(blind, encoding="rotary")),
]
