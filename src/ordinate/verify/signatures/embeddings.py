"""Known faults of sinusoidal embeddings, over all families."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ordinate.position.absolute import LearnedTable, Sinusoidal
from ordinate.position.indices import appended, consecutive, from_mask
from ordinate.verify.references.sinusoids import EmbeddingSettings, rates, sinusoid
from ordinate.verify.signatures.signature import signature

__all__: list[str] = []

Wrong = Callable[[Tensor, Tensor], Tensor]
HALF_FAULTS = {"layout": "interleaved"}


def _of(s: EmbeddingSettings, change: Callable[[Tensor], Tensor]) -> Wrong:
    return lambda positions, x: sinusoid(change(positions), s).to(x.dtype)


def _at(s: EmbeddingSettings, frequencies: Callable[[Tensor], Tensor]) -> Wrong:
    made = frequencies(rates(s))
    return lambda positions, x: sinusoid(positions, s, theta=positions.double().unsqueeze(-1) * made).to(x.dtype)


@signature(
    "sines-and-cosines-exchanged",
    family="layout",
    kind="embedding",
    read=Sinusoidal.encode,
    shown=HALF_FAULTS,
    says="cosines where sines belong and the reverse",
    seen="",
)
def _(s: EmbeddingSettings) -> Wrong:
    return lambda positions, x: sinusoid(positions, s.but(sines_first=not s.sines_first)).to(x.dtype)


@signature(
    "other-embedding-layout",
    family="layout",
    kind="embedding",
    read=Sinusoidal,
    shown=HALF_FAULTS,
    says="all sines before all cosines where they alternate (or the reverse)",
    seen="",
)
def _(s: EmbeddingSettings) -> Wrong:
    other = s.but(layout="half" if s.layout == "interleaved" else "interleaved")
    return lambda positions, x: sinusoid(positions, other).to(x.dtype)


@signature(
    "other-ladder",
    family="boundary",
    kind="embedding",
    read=Sinusoidal,
    shown={"layout": "interleaved", "ladder": "vaswani"},
    says="the ladder that ends at exactly 1 / base where the other was stated (or the reverse)",
    seen="tensor2tensor and its ports",
)
def _(s: EmbeddingSettings) -> Wrong:
    other = s.but(ladder="tensor2tensor" if s.ladder == "vaswani" else "vaswani")
    return lambda positions, x: sinusoid(positions, other).to(x.dtype)


@signature(
    "embedding-base-ignored",
    family="parsing",
    kind="embedding",
    read=Sinusoidal,
    shown={"base": 100.0},
    says="base 10000 though another was stated",
    seen="",
)
def _(s: EmbeddingSettings) -> Wrong:
    assert s.base != 10000.0
    return lambda positions, x: sinusoid(positions, s.but(base=10000.0)).to(x.dtype)


@signature(
    "frequency-per-channel",
    family="parsing",
    kind="embedding",
    read=Sinusoidal.frequencies,
    shown=HALF_FAULTS,
    says="a frequency for each channel, so that a sine and its cosine turn apart (2 i taken twice)",
    seen="many tutorials",
)
def _(s: EmbeddingSettings) -> Wrong:
    def wrong(positions: Tensor, x: Tensor) -> Tensor:
        channels = torch.arange(s.dim, dtype=torch.float64)
        theta = positions.double().unsqueeze(-1) * s.base ** (-2 * channels / s.dim)
        even = (channels % 2 == 0).expand_as(theta)
        return ((s.scale or 1.0) * torch.where(even, theta.sin(), theta.cos())).to(x.dtype)

    return wrong


@signature(
    "embedding-exponent-halved",
    family="parsing",
    kind="embedding",
    read=Sinusoidal.frequencies,
    says="exponents i / d where 2 i / d belongs",
    seen="",
)
def _(s: EmbeddingSettings) -> Wrong:
    return _at(s, lambda frequencies: frequencies.sqrt())


@signature(
    "embedding-offset-ignored",
    family="offset and cache",
    kind="embedding",
    read=appended,
    says="every call starts at position 0: the offset has no effect",
    seen="decode steps that all get the first vector",
)
def _(s: EmbeddingSettings) -> Wrong:
    return _of(s, lambda positions: positions - positions[..., :1])


@signature(
    "embedding-starts-at-one",
    family="offset and cache",
    kind="embedding",
    read=consecutive,
    says="positions count from 1",
    seen="fairseq's padding_idx + 1 without its padding",
)
def _(s: EmbeddingSettings) -> Wrong:
    return _of(s, lambda positions: positions + 1)


@signature(
    "rows-for-tokens",
    family="layout",
    kind="embedding",
    read=Sinusoidal.encode,
    says="rows of the batch counted as tokens: two axes confused",
    seen="pe[: x.size(0)] with batch first",
)
def _(s: EmbeddingSettings) -> Wrong:
    def wrong(positions: Tensor, x: Tensor) -> Tensor:
        return sinusoid(torch.arange(x.shape[0]), s).to(x.dtype)[:, None].expand(-1, x.shape[1], -1)

    return wrong


@signature(
    "embedding-given-positions-ignored",
    family="padding and packing",
    kind="embedding",
    read=from_mask,
    says="tokens counted 0, 1, 2, ... whatever positions are given",
    seen="",
)
def _(s: EmbeddingSettings) -> Wrong:
    return _of(s, lambda positions: torch.arange(positions.shape[-1]).expand_as(positions))


@signature(
    "embedding-first-row-for-all",
    family="padding and packing",
    kind="embedding",
    read=from_mask,
    says="every row given the vectors of the first",
    seen="",
)
def _(s: EmbeddingSettings) -> Wrong:
    return _of(s, lambda positions: positions[:1].expand_as(positions) if positions.ndim == 2 else positions)


@signature(
    "embedding-positions-in-input-dtype",
    family="numeric",
    kind="embedding",
    read=Sinusoidal.encode,
    says="positions formed in the dtype of the input: in bfloat16 256 and 257 are one",
    seen="",
)
def _(s: EmbeddingSettings) -> Wrong:
    return lambda positions, x: sinusoid(positions.to(x.dtype), s).to(x.dtype)


@signature(
    "embedding-in-degrees", family="numeric", kind="embedding", read=Sinusoidal.encode, says="angles taken for degrees", seen=""
)
def _(s: EmbeddingSettings) -> Wrong:
    return _at(s, lambda frequencies: frequencies * torch.pi / 180)


@signature(
    "embedding-dtype-missing-from-cache-key",
    family="offset and cache",
    kind="embedding",
    read=Sinusoidal.encode,
    says="vectors kept by their shape alone, so that a bfloat16 call serves later float32 calls",
    seen="positional-encodings 6.0.3, cached_penc",
)
class _KeptByShape:
    def __init__(self, s: EmbeddingSettings) -> None:
        self.s, self.kept, self.shape = s, torch.zeros(0), torch.Size()

    def __call__(self, positions: Tensor, x: Tensor) -> Tensor:
        if self.shape != x.shape:
            self.kept, self.shape = sinusoid(positions, self.s).to(x.dtype), x.shape
        return self.kept


def _ended(rows: int) -> None:
    @signature(
        f"embedding-clamped-at-{rows}",
        family="boundary",
        kind="embedding",
        read=LearnedTable,
        says=f"positions past the end of a table of {rows:,} rows given its last row",
        seen="",
    )
    def _clamped(s: EmbeddingSettings) -> Wrong:
        return _of(s, lambda positions: positions.clamp_max(rows - 1))

    @signature(
        f"embedding-wrapped-at-{rows}",
        family="boundary",
        kind="embedding",
        read=LearnedTable,
        says=f"positions past the end of a table of {rows:,} rows begun again at 0",
        seen="",
    )
    def _wrapped(s: EmbeddingSettings) -> Wrong:
        return _of(s, lambda positions: positions % rows)


for size in (256, 2048):
    _ended(size)


@signature(
    "embedding-in-a-buffer",
    family="device and dtype",
    kind="embedding",
    read=Sinusoidal,
    says="a table in a buffer outside the state dict: a cast rounds it, an empty device loses it",
    seen="many tutorials",
)
class _Buffered(nn.Module):
    persistent = False

    def __init__(self, s: EmbeddingSettings) -> None:
        super().__init__()
        self.s = s
        self.register_buffer("pe", sinusoid(torch.arange(5000), s).float(), persistent=self.persistent)
        self.pe: Tensor

    def forward(self, positions: Tensor, x: Tensor) -> Tensor:
        return self.pe[positions].to(x.dtype)


@signature(
    "embedding-in-the-state-dict",
    family="device and dtype",
    kind="embedding",
    read=Sinusoidal,
    says="a table in the state dict, which the settings say already and a cast rounds",
    seen="PyTorch's own tutorial",
)
class _Saved(_Buffered):
    persistent = True


@signature(
    "embedding-frequencies-in-a-buffer",
    family="device and dtype",
    kind="embedding",
    read=Sinusoidal,
    says="frequencies in a buffer outside the state dict: a cast rounds them, an empty device loses them",
    seen="x-transformers, ScaledSinusoidalEmbedding",
)
class _Rates(nn.Module):
    persistent = False

    def __init__(self, s: EmbeddingSettings) -> None:
        super().__init__()
        self.s = s
        self.register_buffer("inv_freq", rates(s).float(), persistent=self.persistent)
        self.inv_freq: Tensor

    def forward(self, positions: Tensor, x: Tensor) -> Tensor:
        return sinusoid(positions, self.s, theta=positions.double().unsqueeze(-1) * self.inv_freq.double()).to(x.dtype)


@signature(
    "embedding-frequencies-in-the-state-dict",
    family="device and dtype",
    kind="embedding",
    read=Sinusoidal,
    says="frequencies in the state dict, which the settings say already and a cast rounds",
    seen="positional-encodings 6.0.3",
)
class _SavedRates(_Rates):
    persistent = True


@signature(
    "embeddings-overwritten",
    family="device and dtype",
    kind="embedding",
    read=Sinusoidal.encode,
    says="the vectors added to the embeddings in place",
    seen="x += pe",
)
def _(s: EmbeddingSettings) -> Wrong:
    def wrong(positions: Tensor, x: Tensor) -> Tensor:
        vectors = sinusoid(positions, s).to(x.dtype)
        x += vectors
        return vectors

    return wrong


@signature(
    "embedding-in-float32",
    family="device and dtype",
    kind="embedding",
    read=Sinusoidal.encode,
    says="float32 whatever it is added to, which promotes half precision",
    seen="",
)
def _(s: EmbeddingSettings) -> Wrong:
    return lambda positions, x: sinusoid(positions, s).float()


@signature(
    "embedding-promotes",
    family="device and dtype",
    kind="embedding",
    read=Sinusoidal.encode,
    says="vectors in float32 or wider, so that embeddings in half precision are promoted",
    seen="x + self.pe",
)
def _(s: EmbeddingSettings) -> Wrong:
    return lambda positions, x: sinusoid(positions, s).to(torch.promote_types(x.dtype, torch.float32))
