"""Known faults of sinusoidal embeddings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.position.additive.absolute import LearnedTable, Sinusoidal
from ordinate.position.indices import appended, consecutive, from_mask
from ordinate.verify.faults.table import KnownFault
from ordinate.verify.references.sinusoids import EmbeddingSettings, rates, sinusoid

__all__ = ["EMBEDDING_FAULTS"]

Settings = EmbeddingSettings
Embedding = Callable[[Tensor, Tensor], Tensor]  # (positions, x) -> what is added to x
Make = Callable[[Settings], Any]

# what wrong embeddings share with right ones ----------------------------------------------------------------------------


def _settings(change: Callable[[Settings], Settings]) -> Make:
    """Right code with other settings."""
    return lambda s: lambda positions, x: sinusoid(positions, change(s)).to(x.dtype)


def _positions(change: Callable[[Tensor], Tensor]) -> Make:
    """Right code at other positions."""
    return lambda s: lambda positions, x: sinusoid(change(positions), s).to(x.dtype)


def _frequencies(change: Callable[[Tensor], Tensor]) -> Make:
    """Right code by other frequencies."""
    return lambda s: (
        lambda positions, x: sinusoid(positions, s, theta=positions.double().unsqueeze(-1) * change(rates(s))).to(x.dtype)
    )


def _result(change: Callable[[Tensor, Tensor], Tensor]) -> Make:
    """What is made of the right float64 vectors and the input."""
    return lambda s: lambda positions, x: change(sinusoid(positions, s), x)


def _frequency_per_channel(s: Settings) -> Embedding:
    def wrong(positions: Tensor, x: Tensor) -> Tensor:
        channels = torch.arange(s.dim, dtype=torch.float64)
        theta = positions.double().unsqueeze(-1) * s.base ** (-2 * channels / s.dim)
        even = (channels % 2 == 0).expand_as(theta)
        return ((s.scale or 1.0) * torch.where(even, theta.sin(), theta.cos())).to(x.dtype)

    return wrong


def _rows_for_tokens(s: Settings) -> Embedding:
    def wrong(positions: Tensor, x: Tensor) -> Tensor:
        return sinusoid(torch.arange(x.shape[0]), s).to(x.dtype)[:, None].expand(-1, x.shape[1], -1)

    return wrong


def _added_in_place(vectors: Tensor, x: Tensor) -> Tensor:
    x += vectors.to(x.dtype)
    return vectors.to(x.dtype)


class _CachedByShape:
    def __init__(self, s: Settings) -> None:
        self.s, self.cached, self.shape = s, torch.zeros(0), torch.Size()

    def __call__(self, positions: Tensor, x: Tensor) -> Tensor:
        if self.shape != x.shape:
            self.cached, self.shape = sinusoid(positions, self.s).to(x.dtype), x.shape
        return self.cached


class _BufferedTable(nn.Module):
    def __init__(self, s: Settings, persistent: bool = False) -> None:
        super().__init__()
        self.register_buffer("pe", sinusoid(torch.arange(5000), s).float(), persistent=persistent)
        self.pe: Tensor

    def forward(self, positions: Tensor, x: Tensor) -> Tensor:
        return self.pe[positions].to(x.dtype)


class _BufferedFrequencies(nn.Module):
    def __init__(self, s: Settings, persistent: bool = False) -> None:
        super().__init__()
        self.s = s
        self.register_buffer("inv_freq", rates(s).float(), persistent=persistent)
        self.inv_freq: Tensor

    def forward(self, positions: Tensor, x: Tensor) -> Tensor:
        return sinusoid(positions, self.s, theta=positions.double().unsqueeze(-1) * self.inv_freq.double()).to(x.dtype)


INTERLEAVED = {"layout": "interleaved"}
_row = partial(KnownFault, kind="embedding")


def _table_ends(rows: int) -> tuple[KnownFault, KnownFault]:
    end = f"positions past the end of a table of {rows:,} rows"
    return (
        _row(
            f"embedding-clamped-at-{rows}",
            "boundary",
            says=f"{end} given its last row",
            make=_positions(lambda positions: positions.clamp_max(rows - 1)),
            read=LearnedTable,
        ),
        _row(
            f"embedding-wrapped-at-{rows}",
            "boundary",
            says=f"{end} begun again at 0",
            make=_positions(lambda positions: positions % rows),
            read=LearnedTable,
        ),
    )


# fmt: off
EMBEDDING_FAULTS: tuple[KnownFault, ...] = (
    _row("sines-and-cosines-exchanged", "layout", says="cosines where sines belong and the reverse",
        make=_settings(lambda s: s.replace(sines_first=not s.sines_first)), read=Sinusoidal.encode, visible_with=INTERLEAVED),
    _row("other-embedding-layout", "layout", says="all sines before all cosines where they alternate (or the reverse)",
        make=_settings(lambda s: s.replace(layout="half" if s.layout == "interleaved" else "interleaved")), read=Sinusoidal,
        visible_with=INTERLEAVED),
    _row("other-ladder", "boundary",
        says="the frequency schedule that ends at exactly 1 / base where the other was stated (or the reverse)",
        make=_settings(lambda s: s.replace(schedule="tensor2tensor" if s.schedule == "vaswani" else "vaswani")),
        read=Sinusoidal, visible_with={**INTERLEAVED, "schedule": "vaswani"}, reported="tensor2tensor and its ports"),
    _row("embedding-base-ignored", "parsing", says="base 10000 though another was stated",
        make=_settings(lambda s: s.replace(base=10000.0)), read=Sinusoidal, needs=lambda s: s.base != 10000.0,
        visible_with={"base": 100.0}),
    _row("frequency-per-channel", "parsing",
        says="a frequency for each channel, so that a sine and its cosine turn apart (2 i taken twice)",
        make=_frequency_per_channel, read=Sinusoidal.frequencies, visible_with=INTERLEAVED, reported="many tutorials"),
    _row("embedding-exponent-halved", "parsing", says="exponents i / d where 2 i / d belongs",
        make=_frequencies(lambda frequencies: frequencies.sqrt()), read=Sinusoidal.frequencies),
    _row("embedding-offset-ignored", "offset and cache", says="every call starts at position 0: the offset has no effect",
        make=_positions(lambda positions: positions - positions[..., :1]), read=appended,
        reported="decode steps that all get the first vector"),
    _row("embedding-starts-at-one", "offset and cache", says="positions count from 1",
        make=_positions(lambda positions: positions + 1), read=consecutive,
        reported="fairseq's padding_idx + 1 without its padding"),
    _row("rows-for-tokens", "layout", says="rows of the batch counted as tokens: two axes confused", make=_rows_for_tokens,
        read=Sinusoidal.encode, reported="pe[: x.size(0)] with batch first"),
    _row("embedding-given-positions-ignored", "padding and packing",
        says="tokens counted 0, 1, 2, ... whatever positions are given",
        make=_positions(lambda positions: torch.arange(positions.shape[-1]).expand_as(positions)), read=from_mask),
    _row("embedding-first-row-for-all", "padding and packing", says="every row given the vectors of the first",
        make=_positions(lambda positions: positions[:1].expand_as(positions) if positions.ndim == 2 else positions),
        read=from_mask),
    _row("embedding-positions-in-input-dtype", "numeric",
        says="positions formed in the dtype of the input: in bfloat16 256 and 257 are one",
        make=lambda s: lambda positions, x: sinusoid(positions.to(x.dtype), s).to(x.dtype), read=Sinusoidal.encode),
    _row("embedding-in-degrees", "numeric", says="angles taken for degrees",
        make=_frequencies(lambda frequencies: frequencies * torch.pi / 180), read=Sinusoidal.encode),
    _row("embedding-dtype-missing-from-cache-key", "offset and cache",
        says="vectors kept by their shape alone, so that a bfloat16 call serves later float32 calls", make=_CachedByShape,
        read=Sinusoidal.encode, reported="positional-encodings 6.0.3, cached_penc"),
    *_table_ends(256),
    *_table_ends(2048),
    _row("embedding-in-a-buffer", "device and dtype",
        says="a table in a buffer outside the state dict: a cast rounds it, an empty device loses it", make=_BufferedTable,
        read=Sinusoidal, reported="many tutorials"),
    _row("embedding-in-the-state-dict", "device and dtype",
        says="a table in the state dict, which the settings say already and a cast rounds",
        make=partial(_BufferedTable, persistent=True), read=Sinusoidal, reported="PyTorch's own tutorial"),
    _row("embedding-frequencies-in-a-buffer", "device and dtype",
        says="frequencies in a buffer outside the state dict: a cast rounds them, an empty device loses them",
        make=_BufferedFrequencies, read=Sinusoidal, reported="x-transformers, ScaledSinusoidalEmbedding"),
    _row("embedding-frequencies-in-the-state-dict", "device and dtype",
        says="frequencies in the state dict, which the settings say already and a cast rounds",
        make=partial(_BufferedFrequencies, persistent=True), read=Sinusoidal, reported="positional-encodings 6.0.3"),
    _row("embeddings-overwritten", "device and dtype", says="the vectors added to the embeddings in place",
        make=_result(_added_in_place), read=Sinusoidal.encode, reported="x += pe"),
    _row("embedding-in-float32", "device and dtype", says="float32 whatever it is added to, which promotes half precision",
        make=_result(lambda vectors, x: vectors.float()), read=Sinusoidal.encode),
    _row("embedding-promotes", "device and dtype",
        says="vectors in float32 or wider, so that embeddings in half precision are promoted",
        make=_result(lambda vectors, x: vectors.to(torch.promote_types(x.dtype, torch.float32))), read=Sinusoidal.encode,
        reported="x + self.pe"),
)
# fmt: on
