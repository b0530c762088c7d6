"""rotary-embedding-torch, x-transformers, timm and positional-encodings, at whatever version is installed."""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.errors import MissingExtraError
from ordinate.frequencies import Linear
from ordinate.verify.attention import check_attention
from ordinate.verify.axial import check_axial
from ordinate.verify.bias import check_bias
from ordinate.verify.decoder import check_decoder
from ordinate.verify.embedding import check_embedding
from ordinate.verify.rotary import ROTARY, check_rotary
from ordinate.verify.verdict import Verdict

__all__ = ["OTHERS", "timm_layers"]


def _rotary_embedding(dim: int = 64, **settings: Any) -> Any:
    return importlib.import_module("rotary_embedding_torch").RotaryEmbedding(dim, **settings)


class _AxialFrequencies(nn.Module):
    """rotary-embedding-torch's frequencies of a grid, as a module so that it can be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.rotary = _rotary_embedding(16)

    def forward(self, size: Sequence[int], offset: Sequence[int] | None = None) -> Tensor:
        table: Tensor = self.rotary.get_axial_freqs(*size, offsets=offset)
        return table


class _XPosAttention(nn.Module):
    """Causal attention with rotary-embedding-torch's xPos, prefill and decoding as its README has them."""

    def __init__(self) -> None:
        super().__init__()
        self.rotary = _rotary_embedding(16, use_xpos=True)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if q.shape[2] == k.shape[2]:
            q, k = self.rotary.rotate_queries_and_keys(q, k)
        else:
            q, k = self.rotary.rotate_queries_with_cached_keys(q, k)
        hidden = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).triu(k.shape[2] - q.shape[2] + 1)
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(hidden, float("-inf"))
        return scores.softmax(-1) @ v


def _x(name: str) -> Any:
    return getattr(importlib.import_module("x_transformers.x_transformers"), name)


class _XRotary(nn.Module):
    """x-transformers' rotation, its tables and its application together."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = _x("RotaryEmbedding")(64)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        frequencies, _ = self.tables(positions)
        turned: Tensor = _x("apply_rotary_pos_emb")(x, frequencies)
        return turned


def _x_decoder(**settings: Any) -> nn.Module:
    torch.manual_seed(0)
    layers = _x("Decoder")(dim=32, depth=2, heads=4, attn_dim_head=8, **settings)
    model: nn.Module = _x("TransformerWrapper")(num_tokens=64, max_seq_len=128, attn_layers=layers)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(4)
    return model


def timm_layers(name: str) -> ModuleType:
    """The module `timm.layers.<name>` without `import timm`, which asks for torchvision even where nothing of it is used.

    Raises:
        MissingExtraError: timm is not installed.
    """
    spec = importlib.util.find_spec("timm")
    if spec is None or spec.origin is None:
        raise MissingExtraError("timm", expected="installed", got="nothing", hint="pip install --no-deps timm")
    before = {known: module for known, module in sys.modules.items() if known.split(".")[0] == "timm"}
    for known in before:
        del sys.modules[known]
    try:
        for package in ("timm", "timm.layers"):
            empty = ModuleType(package)
            empty.__path__ = [str(Path(spec.origin).parent.joinpath(*package.split(".")[1:]))]
            sys.modules[package] = empty
        return importlib.import_module(f"timm.layers.{name}")
    finally:
        for known in [known for known in sys.modules if known.split(".")[0] == "timm"]:
            del sys.modules[known]
        sys.modules.update(before)


class _TimmGrid(nn.Module):
    """timm's axial rotation: sines and cosines of a grid."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.rotary = timm_layers("pos_embed_sincos").RotaryEmbedding(32, **settings)

    def forward(self, size: Sequence[int]) -> tuple[Tensor, Tensor]:
        tables: tuple[Tensor, Tensor] = self.rotary.get_embed(list(size))
        return tables


def _timm_offset(size: Sequence[int], offset: Sequence[int] = (0, 0)) -> Any:
    """timm's grid with its own offset, which it has one of for all axes."""
    layers = timm_layers("pos_embed_sincos")
    if len(set(offset)) != 1:
        larger = layers.build_rotary_pos_embed([s + o for s, o in zip(size, offset, strict=True)], dim=32, in_pixels=False)
        return [t.reshape(*(s + o for s, o in zip(size, offset, strict=True)), -1)[offset[0] :, offset[1] :] for t in larger]
    return layers.build_rotary_pos_embed(list(size), dim=32, in_pixels=False, grid_offset=float(offset[0]))


def _timm_apply(x: Tensor, sin_emb: Tensor, cos_emb: Tensor) -> Tensor:
    turned: Tensor = timm_layers("pos_embed_sincos").apply_rot_embed(x, sin_emb, cos_emb)
    return turned


def _encodings(name: str, *arguments: Any) -> Any:
    return getattr(importlib.import_module("positional_encodings.torch_encodings"), name)(*arguments)


class _Grid2D(nn.Module):
    """positional-encodings' grid, asked with an empty image."""

    def __init__(self) -> None:
        super().__init__()
        self.encoding = _encodings("PositionalEncoding2D", 16)

    def forward(self, size: Sequence[int]) -> Tensor:
        table: Tensor = self.encoding(torch.zeros(1, *size, 16))
        return table[0]


_WITHOUT_OFFSETS = ("answers-in-kind", "every-axis", "nested", "earlier-calls")
_RET, _XT, _PE = "rotary-embedding-torch", "x-transformers", "positional-encodings"

OTHERS: list[tuple[str, str, Callable[[], Verdict]]] = [
    (_RET, "RotaryEmbedding", lambda: check_rotary(_rotary_embedding(), layout="interleaved")),
    (
        _RET,
        "RotaryEmbedding, interpolated",
        lambda: check_rotary(_rotary_embedding(interpolate_factor=2.0), scaling=Linear(2.0), layout="interleaved"),
    ),
    (
        _RET,
        "rotate_queries_with_cached_keys",
        lambda: check_rotary(_rotary_embedding().rotate_queries_with_cached_keys, layout="interleaved"),
    ),
    (_RET, "get_axial_freqs", lambda: check_axial(_AxialFrequencies())),
    (_RET, "xPos in attention", lambda: check_attention(_XPosAttention())),
    (_XT, "RotaryEmbedding", lambda: check_rotary(_XRotary(), layout="interleaved")),
    (_XT, "AlibiPositionalBias, 12 heads", lambda: check_bias(_x("AlibiPositionalBias")(12), num_heads=12)),
    (_XT, "RelativePositionBias", lambda: check_bias(_x("RelativePositionBias")(scale=1.0), rule="t5", causal=False)),
    (_XT, "ScaledSinusoidalEmbedding", lambda: check_embedding(_x("ScaledSinusoidalEmbedding")(64))),
    (_XT, "decoder with rotary", lambda: check_decoder(_x_decoder(rotary_pos_emb=True))),
    (_XT, "decoder with ALiBi", lambda: check_decoder(_x_decoder(alibi_pos_bias=True))),
    (
        "timm",
        "apply_rot_embed",  # uncompiled: the compiler would import all of timm, which asks for torchvision
        lambda: check_rotary(_timm_apply, layout="interleaved", only=[law.id for law in ROTARY if law.id != "compile"]),
    ),
    ("timm", "RotaryEmbedding, index", lambda: check_axial(_TimmGrid(in_pixels=False), only=_WITHOUT_OFFSETS)),
    (
        "timm",
        "RotaryEmbedding, pixel",
        lambda: check_axial(_TimmGrid(), normalised=True),
    ),
    ("timm", "build_rotary_pos_embed, grid_offset", lambda: check_axial(_timm_offset)),
    (_PE, "PositionalEncoding1D", lambda: check_embedding(_encodings("PositionalEncoding1D", 64))),
    (_PE, "Summer", lambda: check_embedding(_encodings("Summer", _encodings("PositionalEncoding1D", 64)))),
    (_PE, "PositionalEncoding2D", lambda: check_axial(_Grid2D(), only=_WITHOUT_OFFSETS)),
]
