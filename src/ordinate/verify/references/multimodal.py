"""Positions (time, height, width) of rows with images, videos and audio, token by token in plain Python, and such rows.

The rule is that of Wang et al. 2024, arXiv 2409.12191, section 2.1: text counts on every axis, an image stays at one time,
what follows starts after the largest number so far. Bai et al. 2025, arXiv 2502.13923, section 2.1.2 puts frames at their time;
Xu et al. 2025, arXiv 2503.20215, lets a video's sound start with its frames. What is done with times, and where a row goes on,
can be replaced, since that is where builders go wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

from ordinate.position.token_families import AUDIO, IMAGE, TEXT, VIDEO, TokenFamily

__all__ = ["Part", "Position", "Row", "frame_times", "multimodal_positions", "row_of", "start_behind"]

Position = tuple[int, int, int]


def frame_times(frames: int, seconds: float, per_second: float) -> list[int]:
    """floor(frame * seconds * per_second), of the fraction that `seconds` was before it was a float."""
    exact = Fraction(seconds).limit_denominator(10_000)
    return [floor(frame * exact * Fraction(per_second)) for frame in range(frames)]


def start_behind(positions: Sequence[Position], kinds: Sequence[int]) -> int:
    """One past the largest number on any axis of what stands in front (an image, a video, a video with its sound)."""
    return max(map(max, positions)) + 1


def multimodal_positions(
    tokens: Sequence[int],
    family: TokenFamily,
    images: Sequence[Sequence[int]] = (),
    videos: Sequence[Sequence[int]] = (),
    seconds: Sequence[float] = (),
    *,
    times: Callable[[int, float, float], Sequence[int]] = frame_times,
    behind: Callable[[Sequence[Position], Sequence[int]], int] = start_behind,
) -> list[Position]:
    """Positions of one row without padding; grids as `ordinate.position.indices.from_tokens` takes them.

    >>> multimodal_positions([5, 9, 9, 5], TokenFamily(image=9), [(1, 2, 4)])
    [(0, 0, 0), (1, 1, 1), (1, 1, 2), (3, 3, 3)]
    """
    grids: dict[int, list[Sequence[Any]]] = {IMAGE: list(images), VIDEO: list(_frames(family, videos, seconds))}
    kinds = _kinds(tokens, family)
    result: list[Position] = []
    start, at, closing = 0, 0, 0
    while at < len(tokens):
        sound = at > 1 and family.audio is not None and [*tokens[at - 2 : at]] == [family.vision_start, family.audio_start]
        end = at
        while end < len(tokens) and kinds[end] in (VIDEO, AUDIO):
            end += 1
        if sound and {VIDEO, AUDIO} == set(kinds[at:end]):
            patches, heard = _patches(family, grids[VIDEO].pop(0), start, times), start
            block: list[Position] = []
            for kind in kinds[at:end]:
                block.append(patches.pop(0) if kind == VIDEO else (heard, heard, heard))
                heard += kind == AUDIO
            closing = 2
        elif kinds[at] in (IMAGE, VIDEO):
            block = _patches(family, grids[kinds[at]].pop(0), start, times)
            end = at + len(block)
        else:
            again = family.marks_share and (
                closing == 1  # the second of the marks behind a video with sound
                or (tokens[at] == family.audio_start and at > 0 and tokens[at - 1] == family.vision_start)
            )
            number = start - again
            result.append((number, number, number))
            start, at, closing = number + 1, at + 1, max(closing - 1, 0)
            continue
        result += block
        start, at = behind(block, kinds[at:end]), end
    return result


def _kinds(tokens: Sequence[int], family: TokenFamily) -> list[int]:
    kinds, inside = [], False
    for token in tokens:
        inside = token == family.video_start or (inside and token != family.video_end)
        if token == family.image:
            kinds.append(VIDEO if inside and family.video_start is not None else IMAGE)
        else:
            kinds.append(VIDEO if token == family.video else AUDIO if token == family.audio else TEXT)
    return kinds


def _frames(
    family: TokenFamily, videos: Sequence[Sequence[int]], seconds: Sequence[float]
) -> list[tuple[int, int, int, float | None]]:
    """The grids of videos as they stand in the row: merged in time, or frame by frame."""
    grids: list[tuple[int, int, int, float | None]] = []
    for number, (frames, height, width) in enumerate(videos):
        if family.frames_apart:
            grids += [(1, height, width, None)] * frames
        else:
            grids.append((max(frames // family.temporal_merge, 1), height, width, seconds[number] if seconds else None))
    return grids


def _patches(
    family: TokenFamily, grid: Sequence[Any], start: int, times: Callable[[int, float, float], Sequence[int]]
) -> list[Position]:
    frames, height, width, seconds = (*grid, None)[:4]
    per_second = family.tokens_per_second
    at = range(int(frames)) if seconds is None or per_second is None else times(int(frames), seconds, per_second)
    rows, columns = int(height) // family.spatial_merge, int(width) // family.spatial_merge
    return [(start + t, start + row, start + column) for t in at for row in range(rows) for column in range(columns)]


# rows -------------------------------------------------------------------------------------------------------------------

TEXT_ID = 11
"""A token that is text in every family, also behind the marks that close a picture or sound."""


@dataclass(frozen=True)
class Part:
    """A part of a row.

    Args:
        kind: "text", "image", "video", "audio", or "sound" for a video with its sound.
        size: tokens of text or audio.
        grid: patches (frames, height, width) before the merge.
        seconds: from one frame to the next.
    """

    kind: str
    size: int = 0
    grid: tuple[int, int, int] = (1, 2, 2)
    seconds: float = 1.0


@dataclass(frozen=True)
class Row:
    """A row as a processor writes it: tokens, grids and times, tokens of each audio in order, whether a video has its sound."""

    tokens: tuple[int, ...]
    images: tuple[tuple[int, int, int], ...] = ()
    videos: tuple[tuple[int, int, int], ...] = ()
    seconds: tuple[float, ...] = ()
    audios: tuple[int, ...] = ()
    sound: bool = False

    def positions(self, family: TokenFamily) -> list[Position]:
        """Where its tokens stand."""
        seconds = self.seconds if family.tokens_per_second is not None and not family.frames_apart else ()
        return multimodal_positions(self.tokens, family, self.images, self.videos, seconds)


def row_of(family: TokenFamily, parts: Sequence[Part]) -> Row:
    """The row that a family's processor writes for these parts: marks around pictures and sound, frames apart.

    >>> row_of(TokenFamily(image=9, video=8, frames_apart=True), [Part("video", grid=(2, 2, 2))]).tokens
    (11, 8, 11, 11, 8, 11)
    """
    opening = TEXT_ID if family.vision_start is None else family.vision_start
    tokens: list[int] = []
    for part in parts:
        frames, height, width = part.grid
        of_frame = (height // family.spatial_merge) * (width // family.spatial_merge)
        if part.kind == "text":
            tokens += [TEXT_ID] * part.size
        elif part.kind == "image":
            tokens += [opening, *[family.image] * of_frame, TEXT_ID]
        elif part.kind == "audio":
            assert family.audio is not None
            assert family.audio_start is not None
            tokens += [family.audio_start, *[family.audio] * part.size, TEXT_ID]
        elif part.kind == "sound":
            assert family.audio_start is not None
            tokens += [opening, family.audio_start, *_interleaved(family, part, of_frame), TEXT_ID, TEXT_ID]
        else:
            in_marks = family.video_start is not None and family.video_end is not None
            patch = family.image if in_marks else family.video
            assert patch is not None
            video = [token for _ in range(frames) for token in (opening, *[patch] * of_frame, TEXT_ID)]
            if not family.frames_apart:
                video = [opening, *[patch] * (max(frames // family.temporal_merge, 1) * of_frame), TEXT_ID]
            if in_marks:
                assert family.video_start is not None
                assert family.video_end is not None
                video = [family.video_start, *video, family.video_end]
            tokens += video
    moving = [part for part in parts if part.kind in ("video", "sound")]
    return Row(
        tuple(tokens),
        tuple(part.grid for part in parts if part.kind == "image"),
        tuple(part.grid for part in moving),
        tuple(part.seconds for part in moving),
        tuple(part.size for part in parts if part.kind in ("audio", "sound")),
        any(part.kind == "sound" for part in parts),
    )


def _interleaved(family: TokenFamily, part: Part, of_frame: int) -> list[int]:
    """Patches and sound in the order of their time: in stretches of two seconds, patches first, or token by token."""
    assert family.video is not None
    assert family.audio is not None
    assert family.tokens_per_second is not None
    seen = [time for time in frame_times(part.grid[0], part.seconds, family.tokens_per_second) for _ in range(of_frame)]
    stretch = int(2 * family.tokens_per_second) if family.marks_share else 1
    timed = [(time // stretch, 0, family.video) for time in seen]
    timed += [(time // stretch, 1, family.audio) for time in range(part.size)]
    return [token for _, _, token in sorted(timed)]
