"""Builders of positions: from a mask, documents, a cache, shards, a grid, or the tokens of text, images, videos and audio.

What a builder builds is read off its parameters' names. Rows with images are those that a family's processor writes, and are
compared with `references.multimodal`, which has the rule and its sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from ordinate.errors import ArgumentError
from ordinate.position.token_families import TEXT, TOKEN_FAMILIES, TokenFamily
from ordinate.verify.adapters.calling import ROLES, Call, Callee, Subject, calls, parameters
from ordinate.verify.observation import Comparison, Fact, Observation, Property, Unsupported, unchanged_facts
from ordinate.verify.references.multimodal import Part, Row, row_of

__all__ = [
    "BUILDERS",
    "Asked",
    "PositionsForm",
    "PositionsSettings",
    "PositionsSubject",
    "adapt_positions",
]

_KNOWN = (
    "key_mask",
    "lengths",
    "boundaries",
    "documents",
    "offset",
    "length",
    "rank",
    "world_size",
    "height",
    "width",
    "tokens",
    "token_types",
    "image_grids",
    "video_grids",
    "seconds",
    "audio_features",
    "sound",
)


@dataclass(frozen=True)
class PositionsSettings:
    """`family`: of the models whose rows a builder takes, where it takes rows of tokens and grids."""

    family: TokenFamily = TOKEN_FAMILIES["qwen2-vl"]


@dataclass(frozen=True)
class Asked:
    """What a known fault of builders is made for: what the subject builds positions from, and the family of its rows."""

    builds: str
    family: TokenFamily


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
        answer = self.callee.call(*self.form.call.arguments({"offset": 0, **values}))
        return self.callee.tensor(answer[0] if isinstance(answer, tuple | list) else answer)

    def row(self, **values: Any) -> Tensor:
        """One row of positions, int64 [T]."""
        positions = self.build(**values)
        positions = positions[0] if positions.ndim == 2 and positions.shape[0] == 1 else positions
        if positions.ndim != 1:
            raise Unsupported(f"it returned shape {tuple(positions.shape)}, not one row")
        return positions

    def rows(
        self, rows: Sequence[Row], *, side: str = "left", masked: bool = True, **others: Any
    ) -> tuple[list[Tensor], Tensor | None]:
        """Positions [T, 3] of each row's real tokens, and the offset of later tokens [B] where the builder returns one."""
        tokens, mask = _padded([row.tokens for row in rows], side)
        answer = self.callee.call(*self.form.call.arguments(self.values(rows, tokens, mask if masked else None) | others))
        delta = answer[1] if isinstance(answer, tuple | list) and len(answer) > 1 else None
        positions = self.callee.tensor(answer[0] if isinstance(answer, tuple | list) else answer)
        positions = positions.unsqueeze(-2) if positions.ndim == 2 and positions.shape[0] == 3 and len(rows) == 1 else positions
        if positions.ndim == 3 and positions.shape[0] == 3 and tuple(positions.shape[1:]) == tuple(tokens.shape):
            positions = positions.movedim(0, -1)
        if tuple(positions.shape) != (*tokens.shape, 3):
            raise Unsupported(f"it returned shape {tuple(positions.shape)} for tokens {tuple(tokens.shape)}")
        return (
            [row[real] for row, real in zip(positions, mask.bool(), strict=True)],
            None if delta is None else self.callee.tensor(delta).flatten(),
        )

    def values(self, rows: Sequence[Row], tokens: Tensor, mask: Tensor | None) -> dict[str, Any]:
        """What a builder takes, by role. None stands for grids that there are none of."""
        family = self.settings.family
        images, videos = [grid for row in rows for grid in row.images], [grid for row in rows for grid in row.videos]
        heard = [size for row in rows for size in row.audios]
        # the features that make so many tokens: two strides of two, or three in chunks of 100 that make 13 (Qwen3-Omni)
        features = [4 * size if family.marks_share else 100 * (size // 13) + 8 * (size % 13) for size in heard]
        timed = family.tokens_per_second is not None and not family.frames_apart
        return {
            "tokens": tokens,
            "token_types": torch.stack([family.kinds(row) for row in tokens]),
            "image_grids": torch.tensor(images) if images else None,
            "video_grids": torch.tensor(videos) if videos else None,
            "seconds": torch.tensor([one for row in rows for one in row.seconds] if timed else []),
            "audio_features": torch.tensor(features, dtype=torch.long),
            "sound": any(row.sound for row in rows),
            "key_mask": mask,
            "documents": None,
            "offset": 0,
        }


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
        expected="parameters named as one of: attention_mask; lengths; cu_seqlens; document_ids; past_length and length; "
        "height and width; length, lengths or input_ids with rank and world_size; input_ids and image_grid_thw",
        got=", ".join(parameter.name for parameter in parameters(callee.targets[0]) or []) or "no parameters",
    )


_NEEDED = {
    "tokens and grids": {"tokens", "image_grids"},
    "token shards": {"tokens", "rank", "world_size"},
    "document shards": {"lengths", "rank", "world_size"},
    "shards": {"length", "rank", "world_size"},
    "documents": {"documents"},
    "boundaries": {"boundaries"},
    "lengths": {"lengths"},
    "a cache": {"offset", "length"},
    "a grid": {"height", "width"},
    "a mask": {"key_mask"},
}


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


def _masked_cache(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
    """The mask is of the cached tokens and the new ones; positions of the new ones, or of all, are an answer."""
    if "offset" not in subject.roles:
        raise Unsupported("it takes no length of a cache")
    got, cached = subject.fresh().build(key_mask=_LEFT.clone(), offset=5), 5
    got = got[:, cached:] if got.shape == _LEFT.shape else got
    expected = (_LEFT.cumsum(-1) - 1)[:, cached:].double()
    return Observation([Comparison("positions of two tokens behind five", got, expected, 0.0, ("row", "token"))])


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
        values = {
            "lengths": torch.tensor(lengths),
            "boundaries": torch.tensor([0, *accumulate(lengths)], dtype=torch.int32),
            "documents": torch.tensor([_owners(lengths)]),
        }
        return _row_of(f"positions of documents of {lengths}", subject.fresh().row(**values), expected)

    return observe


def _owners(lengths: Sequence[int]) -> list[int]:
    return [number for number, length in enumerate(lengths) for _ in range(length)]


def _document_rows(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
    """Rows of a batch whose documents end elsewhere; a row may be one document."""
    rows = torch.tensor([_owners((3, 4, 2)), _owners((1, 8)), [5] * 9])
    expected = [[row[:place].count(owner) for place, owner in enumerate(row)] for row in rows.tolist()]
    got = subject.fresh().build(documents=rows.clone())
    return Observation(
        [Comparison("positions in a batch", got, torch.tensor(expected, dtype=torch.float64), 0.0, ("row", "token"))]
    )


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
    facts, traces = [], []
    for length, world in ((8, 1), (16, 2), (32, 4)):
        parts = [subject.fresh().row(length=length, rank=rank, world_size=world) for rank in range(world)]
        every = sorted(int(position) for part in parts for position in part)
        facts.append(Fact(every == list(range(length)), f"{world} shards of {length} tokens hold {every}"))
        sizes = [len(part) for part in parts]
        facts.append(Fact(len(set(sizes)) == 1, f"{world} shards of {length} tokens have {sizes}"))
        facts.append(Fact(all(bool((part.diff() > 0).all()) for part in parts), "a shard is out of order"))
        traces += parts
    return Observation(facts=facts, note="every position is in one shard, in order, in shards of one size", traces=traces)


def _document_partition(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
    lengths, facts, traces = (8, 16, 8), [], []
    for world in (1, 2, 4):
        parts = [subject.fresh().row(lengths=torch.tensor(lengths), rank=rank, world_size=world) for rank in range(world)]
        every = sorted(int(position) for part in parts for position in part)
        expected = sorted(position for length in lengths for position in range(length))
        facts.append(Fact(every == expected, f"{world} shards of documents of {lengths} hold {every}"))
        of_each = all(len(part) * world == sum(lengths) for part in parts)
        facts.append(Fact(of_each, f"{world} shards have {[len(part) for part in parts]} tokens"))
        restarts = [int((part.diff() <= 0).sum()) for part in parts]
        facts.append(
            Fact(max(restarts) < len(lengths), f"positions fall {restarts} times in the shards of {len(lengths)} documents")
        )
        traces += parts
    return Observation(facts=facts, note="every position of every document is in one shard, in order", traces=traces)


def _fit(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
    """Tokens 100, 101, ... so that each says its own position."""
    tokens, world = torch.arange(100, 116)[None], 2
    found, facts = [], []
    for rank in range(world):
        values = {"tokens": tokens.clone(), "rank": rank, "world_size": world}
        answer = subject.fresh().callee.call(*subject.form.call.arguments(values))
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise Unsupported("it does not return tokens and positions")
        held, positions = (subject.callee.tensor(part).flatten() for part in answer)
        facts.append(
            Fact(bool((held - 100 == positions).all()), f"rank {rank} has tokens {held.tolist()} at {positions.tolist()}")
        )
        found += positions.tolist()
    facts.append(Fact(sorted(found) == list(range(16)), f"two shards of 16 tokens hold {sorted(found)}"))
    return Observation(facts=facts, note="each token stands where it stood in the row")


def _grid(height: int, width: int) -> Callable[[PositionsSubject, PositionsSettings], Observation]:
    def observe(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
        got = subject.fresh().build(height=height, width=width)
        got = got.movedim(0, -1) if got.shape[0] == 2 and got.shape[-1] != 2 else got
        if got.numel() != 2 * height * width:
            raise Unsupported(f"it returned shape {tuple(got.shape)} for a grid of {height} by {width}")
        got = got.reshape(-1, 2)
        expected = torch.tensor([[row, column] for row in range(height) for column in range(width)], dtype=torch.float64)
        return Observation([Comparison(f"positions of a grid of {height} by {width}", got, expected, 0.0, ("patch", "axis"))])

    return observe


# text, images, videos, audio --------------------------------------------------------------------------------------------


def _padded(rows: Sequence[Sequence[int]], side: str) -> tuple[Tensor, Tensor]:
    """Tokens [B, T] and the mask of those that are real."""
    longest = max(map(len, rows))
    tokens, mask = torch.full((len(rows), longest), 1), torch.zeros(len(rows), longest, dtype=torch.long)
    for number, row in enumerate(rows):
        real = slice(longest - len(row), longest) if side == "left" else slice(0, len(row))
        tokens[number, real], mask[number, real] = torch.tensor(row), 1
    return tokens, mask


def _at_places(what: str, got: Tensor, expected: Tensor, places: Sequence[int]) -> Comparison:
    chosen = list(places)
    return Comparison(what, got[chosen], expected[chosen].double(), 0.0, (("token", chosen), ("axis", "thw")))


_TEXT = (Part("text", size=3),)
_IMAGES = (*_TEXT, Part("image", grid=(1, 4, 6)), Part("text", size=2), Part("image", grid=(1, 8, 4)), Part("text", size=2))


def _row_property(
    what: str,
    parts: Callable[[TokenFamily], Sequence[Part]],
    of: Callable[[Row, TokenFamily], Sequence[int]] = lambda row, family: range(len(row.tokens)),
    needs: tuple[str, ...] = (),
) -> Callable[[PositionsSubject, PositionsSettings], Observation]:
    """Positions of one row, at some of its tokens, beside those of the rule."""

    def observe(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
        for role in needs:
            if role not in subject.roles:
                raise Unsupported(f"it takes no {role.replace('_', ' ')}")
        row = row_of(settings.family, parts(settings.family))
        (got,), _ = subject.fresh().rows([row])
        expected = torch.tensor(row.positions(settings.family))
        return Observation([_at_places(f"positions of {what}", got, expected, of(row, settings.family))])

    return observe


def _video(frames: int, height: int, width: int, seconds: float = 1.0) -> Callable[[TokenFamily], Sequence[Part]]:
    def parts(family: TokenFamily) -> Sequence[Part]:
        if family.video is None and family.video_start is None:
            raise Unsupported("the family has no videos")
        grid = (frames * family.temporal_merge, height, width)
        return (*_TEXT, Part("video", grid=grid, seconds=seconds), Part("text", size=2))

    return parts


def _patches(row: Row, family: TokenFamily) -> list[int]:
    kinds = family.kinds(torch.tensor(row.tokens))
    return [place for place, kind in enumerate(kinds.tolist()) if kind != TEXT]


def _behind_patches(row: Row, family: TokenFamily) -> list[int]:
    return list(range(_patches(row, family)[-1] + 1, len(row.tokens)))


def _timed(frames: int, seconds: float) -> Callable[[TokenFamily], Sequence[Part]]:
    def parts(family: TokenFamily) -> Sequence[Part]:
        if family.tokens_per_second is None:
            raise Unsupported("the family counts frames by one")
        return _video(frames, 2, 2, seconds)(family)

    return parts


def _mixture(family: TokenFamily) -> Sequence[Part]:
    """Two images and a video no longer than its sides, so that only the order of the grids is asked."""
    return (
        *_IMAGES,
        Part("video", grid=(2 * family.temporal_merge, 8, 10)),
        Part("text", size=1),
        Part("image", grid=(1, 2, 4)),
    )


def _heard(*parts: Part) -> Callable[[TokenFamily], Sequence[Part]]:
    def of(family: TokenFamily) -> Sequence[Part]:
        if family.audio is None:
            raise Unsupported("the family hears nothing")
        return (*_TEXT, *parts, Part("text", size=2))

    return of


def _sound(family: TokenFamily) -> Sequence[Part]:
    """Frames that last as many numbers as they have patches a side and more, with a sound that ends before they do."""
    return _heard(Part("sound", size=10, grid=(2, 8, 4), seconds=1.2))(family)


_SOUND_OF_A_TALL_FRAME = Part("sound", size=1, grid=(1, 8, 2))


def _batch(*parts: Sequence[Part]) -> Callable[[TokenFamily], list[Row]]:
    return lambda family: [row_of(family, one) for one in parts]


_UNLIKE = _batch(_IMAGES, (*_TEXT, Part("image", grid=(1, 2, 4)), Part("text", size=4)))


def _beside(side: str) -> Callable[[PositionsSubject, PositionsSettings], Observation]:
    """Rows of a batch that is padded on one side, each beside the rule."""

    def observe(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
        if "key_mask" not in subject.roles:
            raise Unsupported("it takes no mask")
        rows = _UNLIKE(settings.family)
        got, _ = subject.fresh().rows(rows, side=side)
        expected = [torch.tensor(row.positions(settings.family)) for row in rows]
        what = f"positions of a batch padded on the {side}, row"
        return Observation(
            [
                _at_places(f"{what} {number}", one, right, range(len(right)))
                for number, (one, right) in enumerate(zip(got, expected, strict=True))
            ]
        )

    return observe


def _unmasked(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
    """Rows of one length need no mask."""
    optional = [one for one in parameters(subject.callee.targets[0]) or [] if one.default is None]
    if "key_mask" in subject.roles and not any(one.name in ROLES["key_mask"] for one in optional):
        raise Unsupported("its mask is no option")
    row = row_of(settings.family, _IMAGES)
    (got, _), _ = subject.fresh().rows([row, row], masked=False)
    expected = torch.tensor(row.positions(settings.family))
    return Observation([_at_places("positions without a mask", got, expected, range(len(expected)))])


def _following(rows: Callable[[TokenFamily], list[Row]]) -> Callable[[PositionsSubject, PositionsSettings], Observation]:
    """Where the next token of each row stands: its real tokens so far and the offset that the builder returns."""

    def observe(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
        asked = rows(settings.family)
        if len(asked) > 1 and "key_mask" not in subject.roles:
            raise Unsupported("it takes no mask")
        _, delta = subject.fresh().rows(asked)
        if delta is None:
            raise Unsupported("it returns no offset for later tokens")
        got = delta.double() + torch.tensor([len(row.tokens) for row in asked])
        right = [max(map(max, row.positions(settings.family))) + 1.0 for row in asked]
        return Observation([Comparison("the next token", got, torch.tensor(right, dtype=torch.float64), 0.0, ("row",))])

    return observe


def _chunked_rows(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
    if "offset" not in subject.roles:
        raise Unsupported("it takes no start")
    first, second = row_of(settings.family, _IMAGES), row_of(settings.family, (*_TEXT, Part("image", grid=(1, 6, 4))))
    whole = Row(first.tokens + second.tokens, first.images + second.images).positions(settings.family)
    running = subject.fresh()
    (one,), _ = running.rows([first])
    (two,), _ = running.rows([second], offset=int(one.max()) + 1)
    return Observation([_at_places("a row in two chunks", torch.cat((one, two)), torch.tensor(whole), range(len(whole)))])


def _packed_rows(subject: PositionsSubject, settings: PositionsSettings) -> Observation:
    if "documents" not in subject.roles:
        raise Unsupported("it takes no documents")
    rows = _UNLIKE(settings.family)
    packed = Row(sum((row.tokens for row in rows), ()), sum((row.images for row in rows), ()))
    owners = torch.tensor([_owners([len(row.tokens) for row in rows])])
    (got,), _ = subject.fresh().rows([packed], documents=owners)
    expected = torch.cat([torch.tensor(row.positions(settings.family)) for row in rows])
    return Observation([_at_places("positions of packed documents", got, expected, range(len(expected)))])


_OF_DOCUMENTS = (
    Property("one-document", "One document counts from 0 by one", _documents((5,))),
    Property("packing", "Packed documents restart at 0", _documents((3, 4, 2))),
    Property("one-token-documents", "Documents of one token restart too", _documents((1, 1, 3, 1))),
)

BUILDERS: dict[str, tuple[Property, ...]] = {
    "a mask": (
        Property("no-padding", "Tokens count from 0 by one", _of_mask(torch.ones(2, 5, dtype=torch.long), "without padding")),
        Property("left-padding", "Behind padding real tokens count from 0 by one", _of_mask(_LEFT, "padded on the left")),
        Property("right-padding", "Before padding real tokens count from 0 by one", _of_mask(_RIGHT, "padded on the right")),
        Property("holes", "Around holes real tokens count by one", _of_mask(_HOLED, "with holes")),
        Property("batch-neighbour", "A row does not depend on what stands beside it", _rows),
        Property("decode", "Behind a cache real tokens count on", _masked_cache),
        Property("input-untouched", "The mask is as before the call", _mask_untouched),
    ),
    "lengths": _OF_DOCUMENTS,
    "boundaries": _OF_DOCUMENTS,
    "documents": (*_OF_DOCUMENTS, Property("batch-neighbour", "Each row has its own documents", _document_rows)),
    "a cache": (
        Property("prefill", "Without a cache tokens count from 0", _behind(0, 6)),
        Property("decode", "A token behind a cache continues", _behind(7, 1)),
        Property("chunked-prefill", "Tokens behind a cache continue", _behind(7, 4)),
        Property("chunks", "Chunks on one object are the whole row", _chunks),
    ),
    "shards": (Property("partition", "Every position is in one shard, in order", _partition),),
    "document shards": (Property("partition", "Every document is shared out among the shards, in order", _document_partition),),
    "token shards": (Property("tokens-fit", "Tokens and positions of a shard belong together, shards are a partition", _fit),),
    "a grid": (
        Property("reading-order", "A grid is numbered as it is read, the column fastest", _grid(2, 3)),
        Property("tall-grid", "A grid of more rows than columns too", _grid(5, 2)),
        Property("one-row", "A grid of one row too", _grid(1, 4)),
    ),
    "tokens and grids": (
        Property("text-alone", "Text counts from 0 by one on every axis",
                 _row_property("text alone", lambda family: (Part("text", size=7),))),
        Property("images", "An image stays at one time, and text goes on after its largest axis",
                 _row_property("text and two images", lambda family: _IMAGES)),
        Property("short-video", "Frames stand behind each other",
                 _row_property("a video of two frames", _video(2, 4, 6), _patches)),
        Property("long-video", "Text goes on after the last frame of a long video",
                 _row_property("text behind a video of six frames", _video(6, 4, 4), _behind_patches)),
        Property("mixture", "Each image and video has its own grid", _row_property("images and a video", _mixture)),
        Property("frame-times", "A frame stands at its time, floored after the product",
                 _row_property("frames 0.7 s apart", _timed(4, 0.7), _patches, ("seconds",))),
        Property("whole-times", "A frame whose time is a whole number stands there, whatever its float",
                 _row_property("frames 2/41 s apart", _timed(42, 2 / 41), _patches, ("seconds",))),
        Property("audio", "Sound counts by one like text",
                 _row_property("audio and an image", _heard(Part("audio", size=5), Part("image", grid=(1, 4, 6))),
                               needs=("audio_features",))),
        Property("sound-of-video", "A video's sound starts with its frames",
                 _row_property("a video with its sound", _sound, _patches, ("sound",))),
        Property("behind-sound", "Text goes on after the last of frames and sound",
                 _row_property("text behind a video whose sound ends first", _sound, _behind_patches, ("sound",))),
        Property("behind-tall-frame", "Text goes on after the largest axis of a video with its sound",
                 _row_property("text behind a tall frame with its sound", _heard(_SOUND_OF_A_TALL_FRAME), _behind_patches,
                               ("sound",))),
        Property("left-padding", "Padding on the left changes nothing for real tokens", _beside("left")),
        Property("right-padding", "Padding on the right changes nothing for real tokens", _beside("right")),
        Property("no-mask", "Without a mask every token is real", _unmasked),
        Property("decode", "Tokens after prefill continue after the largest position",
                 _following(_batch(_IMAGES))),
        Property("decode-padded", "With padding too", _following(_UNLIKE)),
        Property("decode-text", "Tokens after text alone, and after one token beside padding, too",
                 _following(_batch((Part("text", size=5),), (Part("text", size=1),)))),
        Property("chunked-prefill", "Chunks that follow each other are the whole row", _chunked_rows),
        Property("packing", "Packed documents each count from 0", _packed_rows),
    ),
}  # fmt: skip
"""What a builder is asked, by what it builds positions from."""
