"""Which keys a query may see: small frozen rules on positions that compose with `&`, `|` and `~`.

A rule looks at positions, never at row and column numbers, so a query of one token over a long cache, a packed row and a shard
of a long context all get the right mask from the same rule. `True` means visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.shapes import check_shape

__all__ = ["Causal", "Documents", "ExplicitMask", "Mask", "Padding", "Window", "check_mask", "check_visible", "rules"]


class Mask:
    """A rule for visibility. Subclasses answer `visible`.

    >>> (Causal() & Window(2)).visible(torch.arange(3), torch.arange(3)).squeeze()
    tensor([[ True, False, False],
            [ True,  True, False],
            [False,  True,  True]])
    """

    needs_positions: ClassVar[bool] = True

    def visible(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        """Bool that broadcasts to [B, H, T, S], for positions [T] or [B, T] and [S] or [B, S]."""
        raise NotImplementedError

    def part(self, queries: slice, keys: slice) -> Mask:
        """The same rule for some of the queries and keys, which come with their own positions.

        A rule on positions alone is its own part; one that holds a tensor cuts it.
        """
        raise RefusedError(
            "mask",
            expected="a rule that can be asked for a part of the pairs",
            got=f"{type(self).__name__}, which has no `part`",
            hint="write part(queries, keys), or take impl='reference' or 'sdpa'",
        )

    def __and__(self, other: Mask) -> Mask:
        return Both(self, check_mask(other))

    def __or__(self, other: Mask) -> Mask:
        return Either(self, check_mask(other))

    def __invert__(self) -> Mask:
        return Not(self)


@dataclass(frozen=True)
class Causal(Mask):
    """A query sees keys at its own position and before: key_position <= query_position.

    >>> Causal().visible(torch.tensor([3]), torch.arange(5)).squeeze().tolist()
    [True, True, True, True, False]
    """

    def visible(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return _distance(query_positions, key_positions) >= 0

    def part(self, queries: slice, keys: slice) -> Mask:
        return self


@dataclass(frozen=True)
class Window(Mask):
    """A query sees `window_keys` keys, itself and the nearest before: 0 <= distance < window_keys.

    The count is the number of visible keys, as in Mistral's and Gemma's sliding windows (a window of 1 is the token itself).
    With `both_sides` it holds on each side: |distance| < window_keys, so 2 * window_keys - 1 keys in all.

    Raises:
        ArgumentError: fewer than one key.

    >>> Window(window_keys=2).visible(torch.tensor([3]), torch.arange(5)).squeeze().tolist()
    [False, False, True, True, False]
    """

    window_keys: int
    both_sides: bool = False

    def __post_init__(self) -> None:
        check_integer("window_keys", self.window_keys, minimum=1)

    def visible(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        distance = _distance(query_positions, key_positions)
        if self.both_sides:
            return distance.abs() < self.window_keys
        return (distance >= 0) & (distance < self.window_keys)

    def part(self, queries: slice, keys: slice) -> Mask:
        return self


@dataclass(frozen=True, eq=False)
class Documents(Mask):
    """A query sees keys of its own document only.

    Args:
        query_documents: the document number of each query token, integers [T] or [B, T]; see
            `ordinate.position.indices.documents`.
        key_documents: of each key token, [S] or [B, S]; by default the same tensor.

    >>> Documents(torch.tensor([0, 0, 1])).visible(torch.arange(3), torch.arange(3)).squeeze().int().tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    """

    query_documents: Tensor
    key_documents: Tensor | None = None
    needs_positions: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("query_documents", "key_documents"):
            numbers = getattr(self, name)
            if numbers is not None:
                check_shape(name, numbers, "T | B T")
                if numbers.is_floating_point() or numbers.dtype is torch.bool:
                    raise ArgumentTypeError(
                        name,
                        expected="integers, one document number a token",
                        got=str(numbers.dtype),
                        hint="see indices.documents",
                    )

    def visible(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        keys = self.query_documents if self.key_documents is None else self.key_documents
        return _heads(self.query_documents.unsqueeze(-1) == keys.unsqueeze(-2))

    def part(self, queries: slice, keys: slice) -> Mask:
        of_keys = self.query_documents if self.key_documents is None else self.key_documents
        return Documents(self.query_documents[..., queries], of_keys[..., keys])


@dataclass(frozen=True, eq=False)
class Padding(Mask):
    """Real keys are visible, padding is not.

    Args:
        key_mask: bool, or integers 0 and 1, [S] or [B, S]; true where the key is a real token (a Hugging Face
            `attention_mask`). A mask of every key ever cached, not of the new tokens alone.

    Raises:
        ArgumentTypeError: floats: an additive mask is not a key mask.

    >>> Padding(torch.tensor([[0, 1, 1]])).visible(torch.arange(1), torch.arange(3)).shape
    torch.Size([1, 1, 1, 3])
    """

    key_mask: Tensor
    needs_positions: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_shape("key_mask", self.key_mask, "S | B S")
        if self.key_mask.is_floating_point():
            raise ArgumentTypeError(
                "key_mask",
                expected="bool or 0 and 1",
                got=str(self.key_mask.dtype),
                hint="pass tokens != pad_id, not an additive mask",
            )
        values = self.key_mask
        if values.dtype is not torch.bool and not torch.compiler.is_compiling() and bool(((values != 0) & (values != 1)).any()):
            raise ArgumentError("key_mask", expected="only 0 and 1", got=values.unique().tolist(), hint="pass tokens != pad_id")

    def visible(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return _heads(self.key_mask.bool().unsqueeze(-2))

    def part(self, queries: slice, keys: slice) -> Mask:
        return Padding(self.key_mask[..., keys].bool())


@dataclass(frozen=True, eq=False)
class ExplicitMask(Mask):
    """Visibility pair by pair, as a cache works it out.

    Args:
        pairs: bool [B or 1, T or 1, S].
    """

    pairs: Tensor
    needs_positions: ClassVar[bool] = False

    def visible(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return self.pairs.unsqueeze(1)

    def part(self, queries: slice, keys: slice) -> Mask:
        return ExplicitMask(self.pairs[:, slice(None) if self.pairs.shape[1] == 1 else queries, keys])


@dataclass(frozen=True)
class Both(Mask):
    """Visible under both rules; made by `&`."""

    first: Mask
    second: Mask

    @property
    def needs_positions(self) -> bool:  # type: ignore[override]
        return self.first.needs_positions or self.second.needs_positions

    def visible(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return self.first.visible(query_positions, key_positions) & self.second.visible(query_positions, key_positions)

    def part(self, queries: slice, keys: slice) -> Mask:
        return Both(self.first.part(queries, keys), self.second.part(queries, keys))


@dataclass(frozen=True)
class Either(Mask):
    """Visible under one rule or the other; made by `|`."""

    first: Mask
    second: Mask

    @property
    def needs_positions(self) -> bool:  # type: ignore[override]
        return self.first.needs_positions or self.second.needs_positions

    def visible(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return self.first.visible(query_positions, key_positions) | self.second.visible(query_positions, key_positions)

    def part(self, queries: slice, keys: slice) -> Mask:
        return Either(self.first.part(queries, keys), self.second.part(queries, keys))


@dataclass(frozen=True)
class Not(Mask):
    """Visible where the rule says hidden; made by `~`."""

    rule: Mask

    @property
    def needs_positions(self) -> bool:  # type: ignore[override]
        return self.rule.needs_positions

    def visible(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return ~self.rule.visible(query_positions, key_positions)

    def part(self, queries: slice, keys: slice) -> Mask:
        return Not(self.rule.part(queries, keys))


def rules(mask: Mask) -> Iterator[Mask]:
    """The plain rules that `mask` is joined from."""
    if isinstance(mask, Both | Either):
        yield from rules(mask.first)
        yield from rules(mask.second)
    elif isinstance(mask, Not):
        yield from rules(mask.rule)
    else:
        yield mask


def _distance(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    """Query minus key position, [1, 1, T, S] or [B, 1, T, S]."""
    return _heads(query_positions.unsqueeze(-1) - key_positions.unsqueeze(-2))


def _heads(pairs: Tensor) -> Tensor:
    """[T, S] or [B, T, S] to [1, 1, T, S] or [B, 1, T, S]."""
    return pairs.unsqueeze(-3) if pairs.ndim == 3 else pairs[None, None]


def check_mask(mask: object) -> Mask:
    """The mask, if it is one.

    Raises:
        ArgumentTypeError: a plain tensor, or anything else.
    """
    if not isinstance(mask, Mask):
        raise ArgumentTypeError(
            "mask",
            expected="a Mask (Causal(), Window(...), Documents(...), Padding(...), or some joined by & and |)",
            got=type(mask).__name__,
            hint="a tensor of real keys goes into Padding(key_mask)",
        )
    return mask


def check_visible(mask: Mask, visible: Tensor, shape: tuple[int, int, int, int]) -> Tensor:
    """What `mask` answered, with four axes, if it broadcasts to [B, H, T, S].

    Raises:
        ShapeError: it does not.
    """
    four = visible[(None,) * (4 - visible.ndim)]
    if four.ndim != 4 or any(
        size != 1 and size != full  # `in` would not compare symbolic sizes
        for size, full in zip(four.shape, shape, strict=True)
    ):
        raise ShapeError(
            "mask",
            expected=f"visibility that broadcasts to [B, H, T, S] = {shape}",
            got=f"shape {tuple(visible.shape)} of {type(mask).__name__}",
            hint="a key mask and document numbers cover every key, those in the cache included",
        )
    return four
