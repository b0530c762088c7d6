"""Correct code in the field's shapes, written out: all of it has to pass."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import itertools
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from ordinate.position import Rotary, indices
from ordinate.position.indices import TOKEN_FAMILIES
from ordinate.verify import check_attention, check_bias, check_decoder, check_embedding, check_positions, check_rotary
from ordinate.verify.checks import CHECKERS
from ordinate.verify.peers import rows_of
from ordinate.verify.verdict import Verdict
from tests.verify.proof.decoders import Decoder

__all__ = ["CHEAP", "CORRECT", "rotation"]

CHEAP = {kind: [one.id for one in checker.properties if one.cheap] for kind, checker in CHECKERS.items()}
"""Properties that every fault and every correct variant is checked for: all but compilation, which takes seconds each."""

CORRECT: list[tuple[str, str, Callable[[], Verdict]]] = []


def _enter(name: str, kind: str, check: Callable[[], Verdict]) -> None:
    CORRECT.append((name, kind, check))


def _rows(kind: str, rows: list[tuple[str, Any, dict[str, Any]]]) -> None:
    checks: dict[str, Callable[..., Verdict]] = {
        "rotary": check_rotary,
        "bias": check_bias,
        "embedding": check_embedding,
        "attention": check_attention,
    }
    for name, subject, settings in rows:
        _enter(name, kind, functools.partial(checks[kind], subject, **{"only": CHEAP[kind], **settings}))


def _frequencies(dim: int, base: float = 10000.0) -> Tensor:
    return 1.0 / base ** (torch.arange(0, dim, 2).float() / dim)


def _half(x: Tensor) -> Tensor:
    return torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), -1)


def _neighbours(x: Tensor) -> Tensor:
    return torch.stack((-x[..., 1::2], x[..., 0::2]), -1).flatten(-2)


def _broadcast(table: Tensor, order: str) -> Tensor:
    """[T, D] or [B, T, D] beside x of that order."""
    if order == "BHTD":
        return table if table.ndim == 2 else table[:, None]
    if order == "BTHD":
        return table[:, None] if table.ndim == 2 else table[:, :, None]
    return table[:, None, None] if table.ndim == 2 else table.transpose(0, 1)[:, :, None]


def _turned(x: Tensor, theta: Tensor, layout: str, sign: int, order: str) -> Tensor:
    full = torch.cat((theta, theta), -1) if layout == "half" else theta.repeat_interleave(2, -1)
    cos, sin = (_broadcast(table, order) for table in (full.cos(), full.sin()))
    swapped = _half(x) if layout == "half" else _neighbours(x)
    return (x * cos + sign * swapped * sin).to(x.dtype)


def _by_positions(layout: str, sign: int, order: str) -> Callable[[Tensor, Tensor], Tensor]:
    def rotate(x: Tensor, positions: Tensor) -> Tensor:
        theta = positions.float()[..., None] * _frequencies(x.shape[-1])
        return _turned(x, theta, layout, sign, order)

    return rotate


for _layout, _sign, _order in itertools.product(("half", "interleaved"), (1, -1), ("BHTD", "BTHD", "TBHD")):
    _enter(
        f"positions, {_layout}, {'plus' if _sign > 0 else 'minus'}, {_order}",
        "rotary",
        lambda layout=_layout, sign=_sign, order=_order: check_rotary(_by_positions(layout, sign, order), only=CHEAP["rotary"]),  # type: ignore[misc]
    )


def by_offset(x: Tensor, offset: int = 0) -> Tensor:
    """A function of an offset, heads first."""
    return _by_positions("interleaved", 1, "BHTD")(x, torch.arange(offset, offset + x.shape[2]))


def from_zero(x: Tensor) -> Tensor:
    """A function of nothing else."""
    return by_offset(x)


def both_by_start(xq: Tensor, xk: Tensor, start_pos: int) -> tuple[Tensor, Tensor]:
    """Complex numbers, tokens before heads, as in Meta's Llama."""
    steps = torch.arange(start_pos, start_pos + xq.shape[1])
    theta = torch.outer(steps.float(), _frequencies(xq.shape[-1]))
    turn = torch.polar(torch.ones_like(theta), theta)[:, None]

    def one(x: Tensor) -> Tensor:
        wide = torch.view_as_complex(x.to(torch.promote_types(x.dtype, torch.float32)).reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(wide * turn).flatten(-2).to(x.dtype)

    return one(xq), one(xk)


def with_full_tables(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Tables of full width, as in transformers."""
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return (q * cos + _half(q) * sin).to(q.dtype), (k * cos + _half(k) * sin).to(k.dtype)


def with_half_tables(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Tables of one value a pair."""
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), -1).to(x.dtype)


def with_stacked_table(x: Tensor, rope_cache: Tensor) -> Tensor:
    """A table [T, D / 2, 2], tokens before heads, as in torchtune."""
    pairs = x.float().reshape(*x.shape[:-1], -1, 2) if x.dtype != torch.float64 else x.reshape(*x.shape[:-1], -1, 2)
    cos, sin = rope_cache[:, None, :, 0], rope_cache[:, None, :, 1]
    turned = torch.stack((pairs[..., 0] * cos - pairs[..., 1] * sin, pairs[..., 1] * cos + pairs[..., 0] * sin), -1)
    return turned.flatten(-2).to(x.dtype)


class EndingTable(nn.Module):
    """Rows of cosines and sines up to a last position, picked by positions, as in vLLM, or cut out behind a start."""

    def __init__(self, rows: int, dim: int) -> None:
        super().__init__()
        theta = torch.outer(torch.arange(rows).float(), _frequencies(dim))
        self.cos_sin = torch.cat((theta.cos(), theta.sin()), -1)

    def forward(self, positions: Tensor, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """[B, T, H, D] both; IndexError past the last row."""
        return with_packed_table(query, key, self.cos_sin[positions][..., None, :])


class EndingStretch(EndingTable):
    """The same for consecutive tokens."""

    def forward(self, xq: Tensor, xk: Tensor, start_pos: int) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """RuntimeError past the last row, where fewer rows are left than tokens."""
        return with_packed_table(xq, xk, self.cos_sin[start_pos : start_pos + xq.shape[1], None])


def with_packed_table(q: Tensor, k: Tensor, cos_sin_cache: Tensor) -> tuple[Tensor, Tensor]:
    """A table [T, D] of cosines before sines, as in vLLM."""
    cos, sin = cos_sin_cache.chunk(2, -1)
    return with_half_tables(q, cos, sin), with_half_tables(k, cos, sin)


def with_complex_table(x: Tensor, freqs_cis: Tensor) -> Tensor:
    """A complex table, heads first."""
    wide = torch.view_as_complex(x.to(torch.float32).reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(wide * freqs_cis).flatten(-2).to(x.dtype)


class Tables(nn.Module):
    """A module that returns cosine and sine, in float32 whatever it is cast to."""

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Tables [B, T, D]."""
        theta = position_ids[..., None].float() * _frequencies(64)
        full = torch.cat((theta, theta), -1)
        return full.cos().to(x.dtype), full.sin().to(x.dtype)


class Cached(nn.Module):
    """A table that grows, keyed rightly, outside the state dict and beyond the reach of casts."""

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        self.head_dim = head_dim
        self.grown = 0
        self.table: list[Tensor] = []

    def forward(self, q: Tensor, k: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Both turned."""
        last = int(position_ids.max()) + 1
        if last > self.grown:
            self.table = [torch.outer(torch.arange(last).double(), _frequencies(self.head_dim).double()).float()]
            self.grown = last
        theta = self.table[0][position_ids]
        return _turned(q, theta, "half", 1, "BHTD"), _turned(k, theta, "half", 1, "BHTD")


def partial(x: Tensor, positions: Tensor) -> Tensor:
    """A quarter of the head turns, as in GPT-NeoX."""
    return torch.cat((_by_positions("half", 1, "BHTD")(x[..., :16], positions), x[..., 16:]), -1)


def flattened(x: Tensor, positions: Tensor) -> Tensor:
    """[tokens, channels] of one head."""
    return _turned(x, positions.float()[:, None] * _frequencies(x.shape[-1]), "half", 1, "BHTD")


_rows(
    "rotary",
    [
        ("offset", by_offset, {}),
        ("from zero", from_zero, {}),
        ("start_pos, complex, BTHD", both_by_start, {}),
        ("full tables", with_full_tables, {}),
        ("half tables", with_half_tables, {}),
        ("stacked table", with_stacked_table, {}),
        ("packed table", with_packed_table, {}),
        ("module of tables", Tables(), {}),
        ("growing table", Cached(64), {}),
        ("table that ends at 1,024", EndingTable(1024, 64), {}),
        ("stretch of a table that ends at 1,024", EndingStretch(1024, 64), {}),
        ("partial", partial, {"rotary_dim": 16}),
        ("rows of one head", flattened, {}),
    ],
)
_enter(
    "complex table",
    "rotary",
    lambda: check_rotary(with_complex_table, only=[name for name in CHEAP["rotary"] if name != "answers-in-kind"]),
)


# biases -------------------------------------------------------------------------------------------------------------------


def _slopes(heads: int) -> Tensor:
    def power(count: int) -> list[float]:
        start = 2 ** (-(2 ** -(math.log2(count) - 3)))
        return [start * start**i for i in range(count)]

    if math.log2(heads).is_integer():
        return torch.tensor(power(heads))
    lower = 2 ** math.floor(math.log2(heads))
    return torch.tensor(power(lower) + power(2 * lower)[0::2][: heads - lower])


def distances(num_heads: int, seq_len: int) -> Tensor:
    """By the distance."""
    steps = torch.arange(seq_len)
    return _slopes(num_heads)[:, None, None] * (steps[None, :] - steps[:, None]).clamp_max(0)


def of_keys(num_heads: int, seq_len: int) -> Tensor:
    """By the key alone: a constant a row apart from the other, so the same through softmax."""
    return (_slopes(num_heads)[:, None] * torch.arange(seq_len))[:, None, :]


def with_mask(q_len: int, k_len: int) -> Tensor:
    """The causal mask already in it."""
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)[None]
    bias = _slopes(8)[:, None, None] * (key - query)
    return bias.masked_fill(key > query, float("-inf"))


def by_mask(attention_mask: Tensor, num_heads: int, dtype: torch.dtype) -> Tensor:
    """From a mask, rows and heads in one axis, formed in float32 from the end of the row."""
    count = attention_mask.cumsum(-1)
    from_the_end = (count - count[:, -1:]) * attention_mask
    bias = _slopes(num_heads)[None, :, None, None] * from_the_end[:, None, None, :]
    return bias.flatten(0, 1).to(dtype)


def positions_of_both(q_pos: Tensor, k_pos: Tensor) -> Tensor:
    """From positions."""
    return -_slopes(8)[:, None, None] * (q_pos[..., :, None] - k_pos[..., None, :]).unsqueeze(-3)


def buckets(relative_position: Tensor) -> Tensor:
    """T5's buckets of key minus query, by a float64 logarithm."""
    ahead = (relative_position > 0).long() * 16
    far = relative_position.abs()
    wide = 8 + (torch.log(far.clamp_min(1).double() / 8) / math.log(16) * 8 + 1e-9).long()
    return ahead + torch.where(far < 8, far, wide.clamp_max(15))


class T5(nn.Module):
    """T5's bias."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(32, 8)

    def forward(self, query_length: int, key_length: int) -> Tensor:
        """[1, H, T, S]."""
        query = torch.arange(key_length - query_length, key_length)[:, None]
        return self.table(buckets(torch.arange(key_length)[None] - query)).permute(2, 0, 1)[None]


_rows(
    "bias",
    [
        ("by distance", distances, {}),
        ("by distance, 12 heads", distances, {"num_heads": 12}),
        ("by key", of_keys, {}),
        ("mask included", with_mask, {}),
        ("from a mask", by_mask, {}),
        ("from positions", positions_of_both, {}),
        ("slopes alone", _slopes, {"num_heads": 12}),
        ("T5 buckets", buckets, {"rule": "t5", "only": CHEAP["buckets"]}),
        ("T5 bias", T5(), {"rule": "t5", "causal": False}),
    ],
)


# embeddings ---------------------------------------------------------------------------------------------------------------


def interleaved(seq_len: int, d_model: int) -> Tensor:
    """Sines and cosines in turn."""
    theta = torch.outer(torch.arange(seq_len).double(), _frequencies(d_model).double())
    return torch.stack((theta.sin(), theta.cos()), -1).flatten(-2).float()


def halved(positions: Tensor) -> Tensor:
    """All sines before all cosines, tensor2tensor's ladder."""
    rates = torch.exp(-math.log(10000.0) * torch.arange(32).double() / 31)
    theta = positions.double()[..., None] * rates
    return torch.cat((theta.sin(), theta.cos()), -1).float()


class Added(nn.Module):
    """Adds to its input, made when called."""

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """x [B, T, D] plus sinusoids."""
        vectors = interleaved(offset + x.shape[1], x.shape[2])[offset:]
        return x + vectors.to(x.dtype)


class Scaled(nn.Module):
    """Scales its input first, tokens first."""

    def forward(self, x: Tensor) -> Tensor:
        """x [T, B, D] times the root of D, plus sinusoids."""
        return x * math.sqrt(x.shape[-1]) + interleaved(x.shape[0], x.shape[2])[:, None].to(x.dtype)


_rows(
    "embedding",
    [
        ("interleaved", interleaved, {}),
        ("halved", halved, {}),
        ("added", Added(), {}),
        ("scaled, tokens first", Scaled(), {}),
        ("learned", nn.Embedding(512, 64), {"rule": None, "positions": 512}),
    ],
)


# attention ----------------------------------------------------------------------------------------------------------------


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal by torch's kernel, the mask aligned with the last key."""
    hidden = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).triu(k.shape[2] - q.shape[2] + 1)
    return scaled_dot_product_attention(q, k, v, attn_mask=~hidden, enable_gqa=True)


def rotary_attention(
    q: Tensor, k: Tensor, v: Tensor, query_positions: Tensor, key_positions: Tensor, attention_mask: Tensor
) -> Tensor:
    """Tokens before heads, rotated inside."""
    rotate = _by_positions("half", 1, "BTHD")
    q, k = rotate(q, query_positions), rotate(k, key_positions)
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    seen = key_positions[..., None, :] <= query_positions[..., :, None]
    seen = (seen if seen.ndim == 3 else seen[None])[:, None] & attention_mask.bool()[:, None, None]
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return (scores.masked_fill(~seen, -1e30).softmax(-1) @ v).transpose(1, 2)


_rows(
    "attention",
    [
        ("torch's kernel", plain, {"encoding": "none"}),
        ("torch's kernel, shared heads", plain, {"encoding": "none", "num_kv_heads": 2}),
        ("rotary, BTHD", rotary_attention, {"encoding": "rotary"}),
        ("rotary, BTHD, shared heads", rotary_attention, {"encoding": "rotary", "num_kv_heads": 2}),
    ],
)

_enter("two layers with learned positions", "decoder", lambda: check_decoder(Decoder()))


# arrays of other libraries, and ONNX ----------------------------------------------------------------------------------------


def rotation(library: ModuleType, offset: int = 0, interleaved: bool = False, base: float = 10000.0) -> Callable[..., Any]:
    """A rotation in numpy or JAX, whose functions have the same names."""

    def rotate(x: Any, positions: Any) -> Any:
        exponents = library.arange(0, x.shape[-1], 2).astype("float32") / x.shape[-1]
        theta = (positions + offset).astype("float32")[..., None] * base**-exponents
        theta = theta if theta.ndim == 2 else theta[:, None]
        cos, sin = library.cos(theta), library.sin(theta)
        half = x.shape[-1] // 2
        a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
        turned = (a * cos - b * sin, a * sin + b * cos)
        joined = library.stack(turned, -1).reshape(x.shape) if interleaved else library.concatenate(turned, -1)
        return joined.astype(x.dtype)

    return rotate


def _array_bias(library: ModuleType) -> Callable[..., Any]:
    def bias(query_length: int, key_length: int) -> Any:
        steps = library.arange(key_length)
        distance = steps[key_length - query_length :, None] - steps
        return -(2.0 ** -library.arange(1, 9).astype("float32"))[:, None, None] * distance.astype("float32")

    return bias


def _array_sinusoid(library: ModuleType) -> Callable[..., Any]:
    def embedding(positions: Any) -> Any:
        theta = positions.astype("float32")[..., None] * 10000.0 ** -(library.arange(0, 64, 2).astype("float32") / 64)
        return library.stack((library.sin(theta), library.cos(theta)), -1).reshape(*positions.shape, 64)

    return embedding


def _array_attention(library: ModuleType) -> Callable[..., Any]:
    def attend(q: Any, k: Any, v: Any) -> Any:
        steps = library.arange(k.shape[2])
        seen = steps <= steps[k.shape[2] - q.shape[2] :, None]
        scores = q @ library.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
        scores = library.where(seen, scores, -1e30)
        weights = library.exp(scores - scores.max(-1, keepdims=True))
        return ((weights / weights.sum(-1, keepdims=True)) @ v).astype(v.dtype)

    return attend


def _array_rows(name: str, library: ModuleType) -> None:
    arrays = {"arrays": name}
    sizes = [(64, 1e4), (128, 1e6)]
    _rows(
        "rotary",
        [
            (
                f"{name}, {'interleaved' if dealt else 'half'}, head {dim}, base {base:g}",
                rotation(library, 0, dealt, base),
                {"head_dim": dim, "base": base, "layout": "interleaved" if dealt else "half", **arrays},
            )
            for dealt in (False, True)
            for dim, base in sizes
        ],
    )
    _rows("bias", [(f"{name}, ALiBi", _array_bias(library), arrays)])
    _rows("embedding", [(f"{name}, sinusoids", _array_sinusoid(library), arrays)])
    _rows("attention", [(f"{name}, causal", _array_attention(library), {"encoding": "none", **arrays})])


for _library in ("numpy", "jax"):
    if importlib.util.find_spec(_library):
        _array_rows(_library, importlib.import_module("jax.numpy" if _library == "jax" else _library))

_rows(
    "rotary",
    [
        (
            f"torch, {layout}, head {dim}, base {base:g}",
            Rotary(dim, layout=layout, base=base),
            {
                "head_dim": dim,
                "base": base,
                "layout": layout,
            },
        )
        for layout in ("half", "interleaved")
        for dim, base in ((128, 1e4), (64, 1e6), (128, 1e6))
    ],
)


# builders of positions --------------------------------------------------------------------------------------------------------


def _builder(name: str, subject: Callable[..., Any], **settings: Any) -> None:
    _enter(name, "positions", functools.partial(check_positions, subject, **settings))


_builder("positions of a mask", lambda attention_mask: indices.from_mask(attention_mask))
_builder("positions of a mask, numpy", lambda attention_mask: (attention_mask.cumsum(-1) - 1).clip(0), arrays="numpy")
_builder("positions of documents", lambda lengths: indices.from_lengths(lengths))
_builder("positions of boundaries", lambda cu_seqlens: indices.from_cumulative(cu_seqlens))
_builder("positions of document ids", lambda document_ids: indices.from_documents(document_ids))
_builder("positions behind a cache", lambda past_length, length: indices.appended(past_length, length))
_builder("zig-zag shards", lambda length, rank, world_size: indices.shard(torch.arange(length), rank, world_size, zigzag=True))
_builder(
    "zig-zag shards of documents",
    lambda lengths, rank, world_size: indices.shard(indices.from_lengths(lengths), rank, world_size, True, lengths=lengths),
)
_builder("positions of a grid", lambda height, width: indices.grid(height, width))
for _family in TOKEN_FAMILIES:
    _builder(f"rows of {_family}", rows_of(_family), family=_family)
