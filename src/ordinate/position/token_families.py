"""Positions (time, height, width) read off the token ids of a row with images, videos and audio, for the families of models.

Split from `axes`, where the caller says what stands in a row, because here the row says so itself: each family has ids for the
patches of images and of videos, and its own way of writing a video down. Which rule holds where is a row of `TOKEN_FAMILIES`.

Sources: Wang et al. 2024, arXiv 2409.12191, section 2.1 (Qwen2-VL); Bai et al. 2025, arXiv 2502.13923, section 2.1.2 (frames at
their time); Xu et al. 2025, arXiv 2503.20215 (Qwen2.5-Omni, audio beside the frames of its time). Ids, merges and
whose frames stand apart as in the configs and `get_rope_index` of transformers 5.24.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from ordinate.arguments import check_choice
from ordinate.errors import ArgumentError, ShapeError
from ordinate.position.axes import Grid, patch_positions
from ordinate.shapes import check_shape

__all__ = ["AUDIO", "IMAGE", "TEXT", "TOKEN_FAMILIES", "VIDEO", "TokenFamily", "from_tokens"]

TEXT, IMAGE, VIDEO, AUDIO = 0, 1, 2, 3


@dataclass(frozen=True)
class TokenFamily:
    """How a family of models writes images, videos and audio into its tokens.

    Args:
        image, video, audio: ids of the tokens that stand for a patch of an image, of a video, for a step of audio. None where
            there are none.
        video_start, video_end: ids between which image tokens are a video's (GLM-4V writes its frames so, ERNIE's own code its
            videos).
        vision_start, audio_start: ids that open a picture and audio; side by side they open a video with its sound.
        marks_share: whether the two marks that open such a video share one number, and the two that close it (Qwen2.5-Omni).
        frames_apart: whether every frame is written for itself, behind its timestamp, and so starts like an image.
        spatial_merge: patches a side that become one token.
        temporal_merge: frames of a video that become one (ERNIE).
        tokens_per_second: numbers that a second lasts; None counts frames by one.
    """

    image: int
    video: int | None = None
    audio: int | None = None
    video_start: int | None = None
    video_end: int | None = None
    vision_start: int | None = None
    audio_start: int | None = None
    marks_share: bool = False
    frames_apart: bool = False
    spatial_merge: int = 2
    temporal_merge: int = 1
    tokens_per_second: float | None = None

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> TokenFamily:
        """The family of a model's config, as parsed JSON, with that config's ids, merges and times.

        Raises:
            UnknownNameError: a model type that belongs to no family here.

        >>> TokenFamily.from_config({"model_type": "qwen2_5_vl", "image_token_id": 7}).image
        7
        """
        model_type = str(config.get("model_type", ""))
        check_choice("model_type", model_type, tuple(_MODEL_TYPES))
        config = {**config, **config.get("thinker_config", {})}
        vision = config.get("vision_config", {})
        named = {ours: config.get(theirs, config.get(theirs.replace("_id", "_index"))) for ours, theirs in _IDS.items()}
        named |= {"spatial_merge": vision.get("spatial_merge_size"), "temporal_merge": vision.get("temporal_merge_size")}
        family = TOKEN_FAMILIES[_MODEL_TYPES[model_type]]
        if family.tokens_per_second is not None:
            named["tokens_per_second"] = config.get("position_id_per_seconds", vision.get("tokens_per_second"))
        if family.temporal_merge == 1:
            del named["temporal_merge"]
        return replace(family, **{name: value for name, value in named.items() if value is not None})

    def kinds(self, tokens: Tensor) -> Tensor:
        """What each token [T] stands for: 0 text, 1 a patch of an image, 2 of a video, 3 a step of audio.

        >>> TOKEN_FAMILIES["glm-4v"].kinds(torch.tensor([5, 151343, 151341, 151343, 151342])).tolist()
        [0, 1, 0, 2, 0]
        """
        kinds = torch.zeros_like(tokens)
        for kind, token in ((IMAGE, self.image), (VIDEO, self.video), (AUDIO, self.audio)):
            kinds = kinds if token is None else kinds.masked_fill(tokens == token, kind)
        if self.video_start is not None and self.video_end is not None:
            inside = ((tokens == self.video_start).long() - (tokens == self.video_end).long()).cumsum(-1) > 0
            kinds = kinds.masked_fill(inside & (kinds == IMAGE), VIDEO)
        return kinds


_IDS = {
    "image": "image_token_id",
    "video": "video_token_id",
    "audio": "audio_token_id",
    "video_start": "video_start_token_id",
    "video_end": "video_end_token_id",
    "vision_start": "vision_start_token_id",
    "audio_start": "audio_start_token_id",
}
_MODEL_TYPES = {
    "qwen2_vl": "qwen2-vl",
    "qwen2_5_vl": "qwen2.5-vl",
    "qwen3_vl": "qwen3-vl",
    "qwen3_vl_moe": "qwen3-vl",
    "qwen3_5": "qwen3.5",
    "qwen3_5_moe": "qwen3.5",
    "glm4v": "glm-4v",
    "glm4v_moe": "glm-4v",
    "glm46v": "glm-4v",
    "ernie4_5_vl": "ernie-vl",
    "ernie4_5_vl_moe": "ernie-vl",
    "ernie4_5_moe_vl": "ernie-vl",
    "qwen2_5_omni": "qwen2.5-omni",
    "qwen2_5_omni_thinker": "qwen2.5-omni",
    "qwen3_omni_moe": "qwen3-omni",
    "qwen3_omni_moe_thinker": "qwen3-omni",
}
_QWEN = TokenFamily(image=151655, video=151656, vision_start=151652)

TOKEN_FAMILIES: Mapping[str, TokenFamily] = {
    "qwen2-vl": _QWEN,
    "qwen2.5-vl": replace(_QWEN, tokens_per_second=2.0),
    "qwen3-vl": replace(_QWEN, frames_apart=True),
    "qwen3.5": TokenFamily(image=248056, video=248057, vision_start=248053, frames_apart=True),
    "glm-4v": TokenFamily(image=151343, video=151344, video_start=151341, video_end=151342, frames_apart=True),
    "ernie-vl": TokenFamily(image=100295, video=103367, video_start=101306, video_end=101307, temporal_merge=2),
    "qwen2.5-omni": replace(_QWEN, audio=151646, audio_start=151647, marks_share=True, tokens_per_second=25.0),
    "qwen3-omni": replace(_QWEN, audio=151646, audio_start=151647, tokens_per_second=25.0),
}
"""The families by name, with the defaults of transformers' configs (2 a second as in the released Qwen2.5-VL models);
`TokenFamily.from_config` reads what a model has."""


def from_tokens(
    tokens: Tensor,
    family: str | TokenFamily,
    *,
    image_grids: Tensor | Sequence[Sequence[int]] | None = None,
    video_grids: Tensor | Sequence[Sequence[int]] | None = None,
    seconds_per_frame: Tensor | Sequence[float] | None = None,
    mask: Tensor | None = None,
    documents: Tensor | None = None,
    start: int | Tensor = 0,
) -> Tensor:
    """Positions (time, height, width) of rows of text, images, videos and audio, from their token ids.

    Text and audio count by one, the same on every axis. A patch stands at start + frame, start + row, start + column, where
    start is one past the highest number before it on any axis; a frame with a time at start + floor(frame * seconds *
    tokens_per_second), floored after the product. A video with its sound is one block: frames and audio start together, each
    token where its time is, and what follows starts one past the highest of both. (transformers 5 counts on from the larger
    side of a frame, and from the last chunk alone where sound stands in a video: `ordinate verify --peers` shows both.)

    Tokens to come after prefill have `consecutive(n, start=following(positions))`. `following(positions)` less the number of
    real tokens is what transformers calls `mrope_position_deltas`. A later chunk takes `start=following(positions)`, if it does
    not begin inside an image or video; else build the whole row and take its end.

    Args:
        tokens: ids, [T] or [B, T].
        family: a name of `TOKEN_FAMILIES`, or a `TokenFamily`.
        image_grids, video_grids: patches (frames, height, width) before the merge, [N, 3], in the order of the tokens, row
            after row.
        seconds_per_frame: seconds from one frame to the next [N], for families with `tokens_per_second`.
        mask: [B, T], true where a token is real; padding may stand anywhere. It gets the number of the last real token before
            it, 0 where there is none, as in `from_mask`.
        documents: integers [T] or [B, T]: the document of each packed token; each counts from 0.
        start: the first number, or one for each row [B]; not together with documents.

    Returns:
        int64 [T, 3] or [B, T, 3].

    Raises:
        UnknownNameError: an unknown family.
        ShapeError: a mask or documents of another shape.
        ArgumentError: grids that do not fit the tokens, times where there are none or none where there should be.

    >>> family = TokenFamily(image=9)
    >>> from_tokens(torch.tensor([1, 9, 9, 2]), family, image_grids=[(1, 2, 4)]).tolist()
    [[0, 0, 0], [1, 1, 1], [1, 1, 2], [3, 3, 3]]
    """
    if isinstance(family, str):
        check_choice("family", family, tuple(TOKEN_FAMILIES))
        family = TOKEN_FAMILIES[family]
    check_shape("tokens", tokens, "T | B T")
    rows = tokens.reshape(-1, tokens.shape[-1])
    real = _like("mask", mask, rows, torch.ones_like(rows)).bool()
    packed = _like("documents", documents, rows, torch.zeros_like(rows))
    starts = torch.as_tensor(start).expand(len(rows)).tolist()
    if documents is not None and any(starts):
        raise ArgumentError("start", expected="0, since packed documents start there", got=start)
    left = _Grids(family, image_grids, video_grids, seconds_per_frame)
    positions = torch.zeros(*rows.shape, 3, dtype=torch.int64)
    for number, row in enumerate(rows.cpu()):
        of = packed[number].cpu()
        for document in dict.fromkeys(of[real[number].cpu()].tolist()):
            chosen = real[number].cpu() & (of == document)
            positions[number, chosen] = _row(row[chosen], family, left) + int(starts[number])
    left.check_used()
    behind = torch.where(real, torch.arange(rows.shape[1], device=rows.device), -1).cummax(-1).values.cpu()
    filled = positions.gather(1, behind.clamp_min(0).unsqueeze(-1).expand(-1, -1, 3))
    filled = filled.where((behind >= 0).unsqueeze(-1), 0)
    return filled.reshape(*tokens.shape, 3).to(tokens.device)


class _Grids:
    """The grids that are left, by kind."""

    def __init__(self, family: TokenFamily, images: Any, videos: Any, seconds: Any) -> None:
        self.family, self.taken = family, {IMAGE: 0, VIDEO: 0}
        of = {IMAGE: _listed("image_grids", images), VIDEO: _listed("video_grids", videos)}
        times = [float(value) for value in (seconds.flatten().tolist() if isinstance(seconds, Tensor) else seconds or ())]
        expected = len(of[VIDEO]) if family.tokens_per_second is not None and not family.frames_apart else 0
        if len(times) != expected:
            what = (
                f"{expected} times, one a video" if expected else "none: frames of this family count by one, or no video came"
            )
            raise ArgumentError("seconds_per_frame", expected=what, got=times)
        merge = family.temporal_merge
        self.of = {
            IMAGE: [Grid(frames, height, width) for frames, height, width in of[IMAGE]],
            VIDEO: [
                Grid(max(frames // merge, 1), height, width, times[number] if times else None)
                for number, (frames, height, width) in enumerate(of[VIDEO])
            ],
        }
        if family.frames_apart:
            self.of[VIDEO] = [grid._replace(frames=1) for grid in self.of[VIDEO] for _ in range(grid.frames)]

    def next(self, kind: int) -> Tensor:
        """Positions of the next image or video, from 0."""
        name = "image_grids" if kind == IMAGE else "video_grids"
        if self.taken[kind] == len(self.of[kind]):
            raise ArgumentError(
                name, expected="a grid for each that the tokens hold", got=f"{len(self.of[kind])}, and more tokens"
            )
        grid = self.of[kind][self.taken[kind]]
        self.taken[kind] += 1
        return patch_positions(grid, self.family.spatial_merge, self.family.tokens_per_second, None, name)

    def check_used(self) -> None:
        """Raise where a grid is left over."""
        for kind, name in ((IMAGE, "image_grids"), (VIDEO, "video_grids")):
            if self.taken[kind] < len(self.of[kind]):
                raise ArgumentError(
                    name,
                    expected=f"{self.taken[kind]} grids, as many as the tokens hold",
                    got=len(self.of[kind]),
                    hint="one for each image or video (a frame where frames stand apart), in patches before the merge",
                )


def _row(tokens: Tensor, family: TokenFamily, left: _Grids) -> Tensor:
    """Positions [T, 3] of one row or document without padding."""
    if not len(tokens):
        return torch.zeros(0, 3, dtype=torch.int64)
    kinds = family.kinds(tokens)
    visual = (kinds == IMAGE) | (kinds == VIDEO)
    mixed = _with_sound(tokens, kinds, family)
    group = torch.where(mixed, 3, torch.where(visual, kinds, 0))  # audio for itself counts like text
    bounds = [0, *(int(at) + 1 for at in group.diff().nonzero()), len(group)]
    parts, start = [], 0
    for first, last in pairwise(bounds):
        kind = int(group[first])
        if kind == TEXT:
            part = torch.arange(last - first).unsqueeze(-1).expand(-1, 3)
            if family.marks_share:
                part = part - _shared_marks(tokens, first, last, mixed, family).unsqueeze(-1)
        elif kind == 3:
            part = _sound(kinds[first:last], left)
        else:
            part = _pictures(kind, last - first, left)
        parts.append(part + start)
        start += int(part.max()) + 1
    return torch.cat(parts)


def _pictures(kind: int, count: int, left: _Grids) -> Tensor:
    """Positions of as many images or videos as `count` tokens hold, one after the other, from 0."""
    parts, start, have = [], 0, 0
    while have < count:
        part = left.next(kind)
        parts.append(part + start)
        start, have = start + int(part.max()) + 1, have + len(part)
    if have != count:
        name = "image_grids" if kind == IMAGE else "video_grids"
        raise ArgumentError(
            name, expected=f"grids that make the {count} tokens of a run", got=f"{have} tokens", hint="see spatial_merge"
        )
    return torch.cat(parts)


def _sound(kinds: Tensor, left: _Grids) -> Tensor:
    """Positions of a video's patches and of its sound, in the order of their tokens, from 0."""
    part = torch.zeros(len(kinds), 3, dtype=torch.int64)
    heard, seen = kinds == AUDIO, kinds == VIDEO
    part[seen] = _pictures(VIDEO, int(seen.sum()), left)
    part[heard] = torch.arange(int(heard.sum())).unsqueeze(-1).expand(-1, 3)
    return part


def _with_sound(tokens: Tensor, kinds: Tensor, family: TokenFamily) -> Tensor:
    """Whether a token is of a video with its sound, or of that sound: its run stands behind both marks and holds both."""
    mixed = torch.zeros(len(tokens), dtype=torch.bool)
    if family.audio_start is None or family.vision_start is None:
        return mixed
    opened = ((tokens[1:] == family.audio_start) & (tokens[:-1] == family.vision_start)).nonzero().flatten() + 2
    for first in opened.tolist():
        ends = (kinds[first:] < VIDEO).nonzero()
        last = first + int(ends[0]) if len(ends) else len(tokens)
        mixed[first:last] = bool((kinds[first:last] == VIDEO).any() and (kinds[first:last] == AUDIO).any())
    return mixed


def _shared_marks(tokens: Tensor, first: int, last: int, mixed: Tensor, family: TokenFamily) -> Tensor:
    """How far a text token lies back because two marks before it share a number."""
    again = torch.zeros(last - first, dtype=torch.int64)
    if first and bool(mixed[first - 1]) and last - first > 1:
        again[1] += 1
    if last < len(tokens) and bool(mixed[last]):
        again[-1] += 1
    return again.cumsum(0)


def _listed(name: str, grids: Any) -> list[tuple[int, ...]]:
    listed = [tuple(grid) for grid in (grids.tolist() if isinstance(grids, Tensor) else grids or ())]
    if any(len(grid) != 3 for grid in listed):
        raise ShapeError(name, expected="[N, 3]: frames, height, width of each", got=listed)
    return listed


def _like(name: str, given: Tensor | None, rows: Tensor, default: Tensor) -> Tensor:
    """The argument as [B, T]."""
    if given is None:
        return default
    if given.shape[-1:] != rows.shape[-1:] or given.ndim > 2 or (given.ndim == 2 and len(given) not in (1, len(rows))):
        raise ShapeError(name, expected=f"shape [T] or [B, T] of the tokens, {tuple(rows.shape)}", got=tuple(given.shape))
    return given.to(rows.device).expand_as(rows)
