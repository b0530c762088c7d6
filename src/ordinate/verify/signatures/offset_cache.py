"""Faults of decoding: an offset that gets lost, a table that was made for something else, a state that never goes back."""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.frequencies import DynamicNTK
from ordinate.position.indices import appended, consecutive
from ordinate.position.rotary import Rotary
from ordinate.verify.references.rotation import RotarySettings, angles
from ordinate.verify.signatures.rotations import Both, alike, angles_by, turn
from ordinate.verify.signatures.signature import signature

__all__: list[str] = []

CACHE = "offset and cache"


@signature(
    "offset-ignored",
    family=CACHE,
    kind="rotary",
    read=appended,
    says="every call starts at position 0: the offset does not reach the angles",
    seen="decode steps rotated at 0",
)
def _(s: RotarySettings) -> Both:
    return angles_by(s, lambda positions: positions - positions[..., :1])


@signature(
    "offset-for-queries-only",
    family=CACHE,
    kind="rotary",
    read=Rotary.rotate,
    says="the offset reaches queries, while keys start at 0",
    seen="rotary-embedding-torch, rotate_queries_with_cached_keys",
)
def _(s: RotarySettings) -> Both:
    return lambda query, key, positions: (turn(query, positions, s), turn(key, positions - positions[..., :1], s))


@signature(
    "offset-for-keys-only",
    family=CACHE,
    kind="rotary",
    read=Rotary.rotate,
    says="the offset reaches keys, while queries start at 0",
    seen="",
)
def _(s: RotarySettings) -> Both:
    return lambda query, key, positions: (turn(query, positions - positions[..., :1], s), turn(key, positions, s))


@signature(
    "starts-at-one",
    family=CACHE,
    kind="rotary",
    read=consecutive,
    says="positions count from 1",
    seen="a mask's cumulative sum without the minus one",
)
def _(s: RotarySettings) -> Both:
    return angles_by(s, lambda positions: positions + 1)


@signature(
    "decode-one-ahead",
    family=CACHE,
    kind="rotary",
    read=appended,
    says="a single new token stands one position too far",
    seen="the cache counts the new token before it is turned",
)
def _(s: RotarySettings) -> Both:
    return angles_by(
        s, lambda positions: positions + 1 if positions.shape[-1] == 1 and bool((positions > 0).all()) else positions
    )


@signature(
    "decode-one-behind",
    family=CACHE,
    kind="rotary",
    read=appended,
    says="a single new token stands one position behind",
    seen="",
)
def _(s: RotarySettings) -> Both:
    return angles_by(s, lambda positions: (positions - 1).clamp_min(0) if positions.shape[-1] == 1 else positions)


class _Remembering:
    """Keeps angles by a key; what the key forgets is the fault."""

    def __init__(self, s: RotarySettings) -> None:
        self.s = s
        self.kept: dict[object, Tensor] = {}

    def key(self, x: Tensor, positions: Tensor) -> object:
        raise NotImplementedError

    def made(self, x: Tensor, positions: Tensor) -> Tensor:
        return angles(self.s, positions)

    def __call__(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        name = self.key(query, positions)
        if name not in self.kept:
            self.kept[name] = self.made(query, positions)
        theta = self.kept[name]
        return turn(query, positions, self.s, theta=theta), turn(key, positions, self.s, theta=theta)


@signature(
    "offset-missing-from-cache-key",
    family=CACHE,
    kind="rotary",
    read=Rotary.tables,
    says="the offset missing from the cache key: a table made for one offset is given for another of the same length",
    seen="rotary-embedding-torch#11",
)
class _KeyedByLength(_Remembering):
    def key(self, x: Tensor, positions: Tensor) -> object:
        return positions.shape


@signature(
    "dtype-missing-from-cache-key",
    family=CACHE,
    kind="rotary",
    read=Rotary.tables,
    says="the dtype missing from the cache key: a table formed for a bfloat16 call serves later float32 calls",
    seen="rotary-embedding-torch 0.9.1, reproduced",
)
class _KeyedByPositions(_Remembering):
    def key(self, x: Tensor, positions: Tensor) -> object:
        return tuple(positions.flatten().tolist())

    def made(self, x: Tensor, positions: Tensor) -> Tensor:
        return angles(self.s, positions.to(x.dtype), 1)


@signature(
    "dtype-missing-from-growing-table",
    family=CACHE,
    kind="rotary",
    read=Rotary.tables,
    says="a growing table of positions formed in the dtype of the call that made it, kept for calls in other dtypes",
    seen="rotary-embedding-torch 0.9.1: cached_freqs",
)
class _Growing:
    def __init__(self, s: RotarySettings) -> None:
        self.s, self.kept = s, torch.zeros(0, s.rotary_dim // 2, dtype=torch.float64)

    def __call__(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        last = int(positions.max()) + 1 if positions.numel() else 0
        from_zero = bool((positions == torch.arange(positions.shape[-1])).all())
        if last > len(self.kept):
            theta = angles(self.s, positions.to(query.dtype), 1)
            if from_zero:
                self.kept = theta if theta.ndim == 2 else theta[0]
        else:
            theta = self.kept[positions]
        return turn(query, positions, self.s, theta=theta), turn(key, positions, self.s, theta=theta)


@signature(
    "table-cut-from-the-end",
    family=CACHE,
    kind="rotary",
    read=Rotary.tables,
    says="the last rows of a table kept from a longer call instead of the rows of these positions",
    seen="freqs[-seq_len:]",
)
class _FromTheEnd:
    def __init__(self, s: RotarySettings) -> None:
        self.s, self.longest = s, 0

    def __call__(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        self.longest = max(self.longest, int(positions.max()) + 1)
        steps = torch.arange(self.longest - positions.shape[-1], self.longest)
        theta = angles(self.s, steps, 1)
        return turn(query, steps, self.s, theta=theta), turn(key, steps, self.s, theta=theta)


@signature(
    "stretch-never-goes-back",
    family=CACHE,
    kind="rotary",
    read=DynamicNTK,
    shown={"scaling": DynamicNTK(2.0, 64)},
    says="frequencies of the longest row seen so far, for short rows too",
    seen="dynamic scaling that keeps its buffer",
)
class _Longest:
    def __init__(self, s: RotarySettings) -> None:
        assert s.scaling is not None
        assert s.scaling.depends_on_length
        self.s, self.longest = s, 0

    def __call__(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        self.longest = max(self.longest, int(positions.max()) + 1)
        theta = angles(self.s, positions, self.longest)
        return turn(query, positions, self.s, theta=theta), turn(key, positions, self.s, theta=theta)


@signature(
    "length-decides-step-by-step",
    family=CACHE,
    kind="rotary",
    read=Rotary.re_rotate,
    shown={"scaling": DynamicNTK(2.0, 64)},
    of_settings=True,
    says="frequencies of the row's length so far, while cached keys keep those of the length they came at",
    seen="dynamic scaling by row",
)
def _(s: RotarySettings) -> Both:
    assert s.scaling is not None
    assert s.scaling.depends_on_length
    return alike(lambda x, positions: turn(x, positions, s))
