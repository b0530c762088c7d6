"""Builders of positions: from a mask, from document lengths, behind a cache, for shards, from token types and grids.

What a builder builds is read off its parameters' names. Source of the rule for images and videos: Wang et al. 2024, arXiv
2409.12191, section 2.1: text counts on every axis, an image stays at one time, and what follows starts after its largest axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ordinate.errors import ArgumentError
from ordinate.verify.adapters.calling import Call, Callee, Subject, calls, parameters
from ordinate.verify.observation import Comparison, Fact, Observation, Property, Unsupported, unchanged_facts

__all__ = [
    "BUILDERS",
    "PositionsForm",
    "PositionsSettings",
    "PositionsSubject",
    "adapt_positions",
    "multimodal_positions",
]

TEXT, IMAGE, VIDEO = 0, 1, 2
_KNOWN = (
    "key_mask",
    "lengths",
    "offset",
    "length",
    "rank",
    "world_size",
    "tokens",
    "token_types",
    "image_grids",
    "video_grids",
)


@dataclass(frozen=True)
class PositionsSettings:
    """`merge`: patches of each side of an image that become one token."""

    merge: int = 2


@dataclass(frozen=True)
class PositionsForm:
    """How a builder is called, and what it builds positions from, one of `BUILDERS`."""

    call: Call
    builds: str

    def __str__(self) -> str:
        return f"{self.call}, builds from {self.builds}"


class PositionsSubject(Subject):
    """A builder: `build(values by role)` to int64 positions."""

    def build(self, **values: Any) -> Tensor:
        """The positions, as they came but for a batch axis of one row."""
        answer = self.callee.call(*self.form.call.arguments(values))
        return self.callee.tensor(answer[0] if isinstance(answer, tuple | list) else answer)

    def row(self, **values: Any) -> Tensor:
        """One row of positions, int64 [T]."""
        positions = self.build(**values)
        positions = positions[0] if positions.ndim == 2 and positions.shape[0] == 1 else positions
        if positions.ndim != 1:
            raise Unsupported(f"it returned shape {tuple(positions.shape)}, not one row")
        return positions

    def axes(self, types: Tensor, grids: Sequence[tuple[int, int, int]], mask: Tensor | None = None) -> tuple[Tensor, Any]:
        """Positions [B, T, 3] of text and images or videos, and the offset of later tokens where it returns one."""
        kinds = [kind for kind in (IMAGE, VIDEO) if bool((types == kind).any())]
        of = {kind: torch.tensor(grids) if kind in kinds else None for kind in (IMAGE, VIDEO)}
        if len(kinds) > 1:
            raise Unsupported("images and videos are looked at apart")
        values = {
            "tokens": types + 1,
            "token_types": types,
            "image_grids": of[IMAGE],
            "video_grids": of[VIDEO],
            "key_mask": torch.ones_like(types) if mask is None else mask,
        }
        answer = self.callee.call(*self.form.call.arguments(values))
        delta = answer[1] if isinstance(answer, tuple | list) and len(answer) > 1 else None
        positions = self.callee.tensor(answer[0] if isinstance(answer, tuple | list) else answer)
        if positions.ndim == 3 and positions.shape[0] == 3 and tuple(positions.shape[1:]) == tuple(types.shape):
            positions = positions.movedim(0, -1)
        if tuple(positions.shape) != (*types.shape, 3):
            raise Unsupported(f"it returned shape {tuple(positions.shape)} for tokens {tuple(types.shape)}")
        return positions, delta


def adapt_positions(subject: Any, settings: PositionsSettings, **calling: Any) -> PositionsSubject:
    """The builder, by its parameters' names.

    Raises:
        ArgumentError: the names of its parameters do not say what it builds positions from.
    """
    callee = Callee(subject, **calling)
    for call in calls(callee.targets[0], _KNOWN, ()):
        roles = set(call.roles)
        for builds, needed in _NEEDED.items():
            if needed <= roles:
                return PositionsSubject(callee, PositionsForm(call, builds), settings)
    raise ArgumentError(
        "subject",
        expected="parameters named as one of: attention_mask; lengths; past_length and length; length, rank and world_size; "
        "input_ids, token_types and image_grids",
        got=", ".join(parameter.name for parameter in parameters(callee.targets[0]) or []) or "no parameters",
    )


_NEEDED = {
    "tokens and grids": {"token_types", "image_grids"},
    "shards": {"length", "rank", "world_size"},
    "lengths": {"lengths"},
    "a cache": {"offset", "length"},
    "a mask": {"key_mask"},
}


def multimodal_positions(
    types: Sequence[int], grids: Sequence[tuple[int, int, int]], merge: int = 2
) -> list[tuple[int, int, int]]:
    """Positions (time, height, width) of a row of text (0), images (1) and videos (2), by the published rule.

    >>> multimodal_positions([0, 1, 1, 0], [(1, 2, 4)])
    [(0, 0, 0), (1, 1, 1), (1, 1, 2), (3, 3, 3)]
    """
    result: list[tuple[int, int, int]] = []
    start, at, left = 0, 0, list(grids)
    while at < len(types):
        if types[at] == TEXT:
            result.append((start, start, start))
            start, at = start + 1, at + 1
            continue
        frames, height, width = left.pop(0)
        height, width = height // merge, width // merge
        result += [(start + t, start + h, start + w) for t in range(frames) for h in range(height) for w in range(width)]
        start, at = start + max(frames, height, width), at + frames * height * width
    return result


# from a mask ------------------------------------------------------------------------------------------------------------

_LEFT = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1]])
_RIGHT = torch.tensor([[1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1]])
_HOLED = torch.tensor([[0, 1, 1, 0, 1, 1, 0], [1, 1, 1, 1, 1, 1, 1]])


def _integers(positions: Tensor) -> Fact:
    whole = not positions.is_floating_point() or bool((positions == positions.round()).all())
    return Fact(whole, "positions of tokens are not whole numbers")


def _of_mask(mask: Tensor, what: str) -> Callable[[PositionsSubject, PositionsSettings], Observation]:
    def observe(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
        got = subject.fresh().build(key_mask=mask.clone())
        if got.shape != mask.shape:
            return Observation(facts=[Fact(False, f"it returned shape {tuple(got.shape)} for a mask {tuple(mask.shape)}")])
        expected = (mask.cumsum(-1) - 1).double()
        real = mask.bool()
        compared = Comparison(f"positions of a row {what}", got.where(real, 0), expected.where(real, 0), 0.0, ("row", "token"))
        return Observation([compared], [_integers(got)])

    return observe


def _rows(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
    whole = subject.fresh().build(key_mask=_LEFT.clone())
    alone = torch.cat([subject.fresh().build(key_mask=_LEFT[row : row + 1].clone()).reshape(1, -1) for row in range(2)])
    return Observation([Comparison("positions beside each row alone", whole, alone.double(), 0.0, ("row", "token"))])


def _mask_untouched(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
    mask = _LEFT.clone()
    subject.fresh().build(key_mask=mask)
    return unchanged_facts(("the mask was",), (mask,), (_LEFT,), "the mask is as it was")


# documents, caches, shards ----------------------------------------------------------------------------------------------


def _row_of(what: str, got: Tensor, expected: Sequence[int]) -> Observation:
    compared = Comparison(what, got, torch.tensor(expected, dtype=torch.float64), 0.0, (("token", range(len(got))),))
    return Observation([compared], [_integers(got)])


def _documents(lengths: tuple[int, ...]) -> Callable[[PositionsSubject, PositionsSettings], Observation]:
    def observe(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
        expected = [position for length in lengths for position in range(length)]
        return _row_of(f"positions of documents of {lengths}", subject.fresh().row(lengths=torch.tensor(lengths)), expected)

    return observe


def _behind(past: int, length: int) -> Callable[[PositionsSubject, PositionsSettings], Observation]:
    def observe(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
        got = subject.fresh().row(offset=past, length=length)
        return _row_of(f"positions of {length} tokens behind {past}", got, range(past, past + length))

    return observe


def _chunks(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
    running = subject.fresh()
    got = torch.cat([running.row(offset=start, length=size) for start, size in ((0, 5), (5, 3), (8, 1), (9, 1))])
    return _row_of("positions of a row in chunks", got, range(10))


def _partition(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
    facts = []
    for length, world in ((8, 1), (16, 2), (32, 4)):
        parts = [subject.fresh().row(length=length, rank=rank, world_size=world) for rank in range(world)]
        every = sorted(int(position) for part in parts for position in part)
        facts.append(Fact(every == list(range(length)), f"{world} shards of {length} tokens hold {every}"))
        sizes = [len(part) for part in parts]
        facts.append(Fact(len(set(sizes)) == 1, f"{world} shards of {length} tokens have {sizes}"))
        facts.append(Fact(all(bool((part.diff() > 0).all()) for part in parts), "a shard is out of order"))
    return Observation(facts=facts, note="every position is in one shard, in order, in shards of one size")


# text, images and videos ------------------------------------------------------------------------------------------------


def _multimodal(kind: int, grids: list[tuple[int, int, int]], what: str) -> Callable[[Any, PositionsSettings], Observation]:
    def observe(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
        types = _types(kind, grids, settings.merge)
        got = subject.fresh().axes(torch.tensor([types]), grids)[0][0]
        expected = torch.tensor(multimodal_positions(types, grids, settings.merge), dtype=torch.float64)
        return Observation([Comparison(f"positions of {what}", got, expected, 0.0, (("token", range(len(got))), "axis"))])

    return observe


def _types(kind: int, grids: Sequence[tuple[int, int, int]], merge: int) -> list[int]:
    types = [TEXT] * 3
    for frames, height, width in grids:
        types += [kind] * (frames * (height // merge) * (width // merge)) + [TEXT] * 2
    return types


_STILL = [(1, 4, 6), (1, 8, 4)]


def _padded_rows(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
    if "key_mask" not in subject.roles:
        raise Unsupported("it takes no mask")
    types = _types(IMAGE, _STILL, settings.merge)
    mask = torch.ones(2, len(types) + 4, dtype=torch.long)
    mask[1, :4] = 0
    rows = torch.tensor([types + [TEXT] * 4, [TEXT] * 4 + types])
    got = subject.fresh().axes(rows, [*_STILL, *_STILL], mask)[0][1, 4:]
    expected = torch.tensor(multimodal_positions(types, _STILL, settings.merge), dtype=torch.float64)
    what = "positions of a row behind four tokens of padding"
    return Observation([Comparison(what, got, expected, 0.0, (("token", range(len(got))), "axis"))])


def _delta(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
    types = _types(IMAGE, _STILL, settings.merge)
    delta = subject.fresh().axes(torch.tensor([types]), _STILL)[1]
    if delta is None:
        raise Unsupported("it returns no offset for later tokens")
    following = len(types) + float(subject.callee.tensor(delta).flatten()[0])
    last = max(max(position) for position in multimodal_positions(types, _STILL, settings.merge))
    return Observation(facts=[Fact(following == last + 1, f"the next token stands at {following:g}, after {last}")])


BUILDERS: dict[str, tuple[Property, ...]] = {
    "a mask": (
        Property("no-padding", "Tokens count from 0 by one", _of_mask(torch.ones(2, 5, dtype=torch.long), "without padding")),
        Property("left-padding", "Behind padding real tokens count from 0 by one", _of_mask(_LEFT, "padded on the left")),
        Property("right-padding", "Before padding real tokens count from 0 by one", _of_mask(_RIGHT, "padded on the right")),
        Property("holes", "Around holes real tokens count by one", _of_mask(_HOLED, "with holes")),
        Property("batch-neighbour", "A row does not depend on what stands beside it", _rows),
        Property("input-untouched", "The mask is as before the call", _mask_untouched),
    ),
    "lengths": (
        Property("one-document", "One document counts from 0 by one", _documents((5,))),
        Property("packing", "Packed documents restart at 0", _documents((3, 4, 2))),
        Property("one-token-documents", "Documents of one token restart too", _documents((1, 1, 3, 1))),
    ),
    "a cache": (
        Property("prefill", "Without a cache tokens count from 0", _behind(0, 6)),
        Property("decode", "A token behind a cache continues", _behind(7, 1)),
        Property("chunked-prefill", "Tokens behind a cache continue", _behind(7, 4)),
        Property("chunks", "Chunks on one object are the whole row", _chunks),
    ),
    "shards": (Property("partition", "Every position is in one shard, in order", _partition),),
    "tokens and grids": (
        Property("text-alone", "Text counts from 0 by one on every axis", _multimodal(IMAGE, [], "text alone")),
        Property("images", "An image stays at one time, and text goes on after its largest axis",
                 _multimodal(IMAGE, _STILL, "text and two images")),
        Property("short-video", "Frames count by one", _multimodal(VIDEO, [(2, 4, 6)], "a video of two frames")),
        Property("long-video", "Text goes on after the last frame of a long video",
                 _multimodal(VIDEO, [(6, 4, 4)], "a video of six frames")),
        Property("left-padding", "Padding on the left changes nothing for real tokens", _padded_rows),
        Property("decode", "Tokens after prefill continue after the largest position", _delta),
    ),
}  # fmt: skip
"""What a builder is asked, by what it builds positions from."""
