"""Known faults of builders of positions. Each takes the values by role, as `PositionsSubject` passes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import floor
from typing import Any

import torch
from torch import Tensor

from ordinate.position.axes import following, grid
from ordinate.position.index_orders import shard
from ordinate.position.indices import appended, from_cumulative, from_documents, from_lengths, from_mask
from ordinate.position.token_families import VIDEO, TokenFamily, from_tokens
from ordinate.verify.faults.table import KnownFault
from ordinate.verify.references.multimodal import Position, frame_times, multimodal_positions, start_behind

__all__ = ["POSITION_FAULTS"]


def _from(*builds: str) -> Callable[[Any], bool]:
    return lambda asked: asked.builds in builds


def _of_mask(change: Callable[[Tensor], Tensor]) -> Callable[[Any], Any]:
    return lambda asked: lambda key_mask, **others: change(key_mask)


def _of_documents(change: Callable[[list[int]], list[int]]) -> Callable[[Any], Any]:
    """Of documents by their lengths, boundaries, or an id for each token."""

    def make(asked: Any) -> Any:
        if asked.builds == "documents":
            return lambda documents, **others: torch.tensor([change(_runs(row)) for row in documents.tolist()])
        if asked.builds == "boundaries":
            return lambda boundaries, **others: torch.tensor(change(boundaries.diff().tolist()))
        return lambda lengths, **others: torch.tensor(change(lengths.tolist()))

    return make


def _runs(owners: list[int]) -> list[int]:
    return [owners.count(owner) for owner in dict.fromkeys(owners)]


def _behind(change: Callable[[int, int], int]) -> Callable[[Any], Any]:
    return lambda asked: lambda offset, length, **others: torch.arange(length) + change(offset, length)


def _restarts_late(lengths: list[int]) -> list[int]:
    """Each document after the first begins at 1."""
    return [position + (number > 0) for number, length in enumerate(lengths) for position in range(length)]


# shards -----------------------------------------------------------------------------------------------------------------


def _shards(change: Callable[[Tensor, int, int], Tensor]) -> Callable[[Any], Any]:
    """Of a row of positions: those of its documents, of its length, or of its tokens, which are right."""

    def make(asked: Any) -> Any:
        if asked.builds == "document shards":
            return lambda lengths, rank, world_size, **others: change(from_lengths(lengths), rank, world_size)
        if asked.builds == "shards":
            return lambda length, rank, world_size, **others: change(torch.arange(length), rank, world_size)

        def both(tokens: Tensor, rank: int, world_size: int, **others: Any) -> tuple[Tensor, Tensor]:
            return shard(tokens, rank, world_size), change(torch.arange(tokens.shape[-1]), rank, world_size)

        return both

    return make


# text, images, videos, audio --------------------------------------------------------------------------------------------


def _rows(
    *,
    times: Callable[[int, float, float], Sequence[Any]] = frame_times,
    behind: Callable[[Sequence[Position], Sequence[int]], Any] = start_behind,
    place: Callable[[Position], Position] = lambda position: position,
    counts_padding: bool = False,
    delta_counts_padding: bool = False,
    deltas: Callable[[list[list[float]]], list[list[float]]] = lambda right: right,
    grids_of_the_first: bool = False,
) -> Callable[[Any], Any]:
    """A builder of rows whose times, continuation, axes or padding are wrong."""

    def make(asked: Any) -> Any:
        def build(
            tokens: Tensor, key_mask: Tensor | None = None, image_grids: Any = None, video_grids: Any = None, **others: Any
        ) -> tuple[Tensor, Tensor]:
            family: TokenFamily = asked.family
            mask = torch.ones_like(tokens) if key_mask is None else key_mask
            mask = torch.ones_like(tokens) if counts_padding else mask
            positions, delta = torch.zeros(3, *tokens.shape), []
            left = _Left(image_grids, video_grids, others.get("seconds"))
            for number, row in enumerate(tokens):
                real = mask[number].bool()
                grids = left.copy() if grids_of_the_first else left
                placed = multimodal_positions(
                    row[real].tolist(), family, grids.images, grids.videos, grids.seconds, times=times, behind=behind
                )
                if not grids_of_the_first:
                    left.use(row[real], family)
                positions[:, number, real] = torch.tensor([place(one) for one in placed], dtype=torch.float32).T
                counted = len(row) if delta_counts_padding else int(real.sum())
                delta.append([float(positions[:, number, real].max()) + 1 - counted])
            return positions, torch.tensor(deltas(delta))

        return build

    return make


def _as_text(asked: Any) -> Any:
    """All tokens counted by one on every axis."""

    def build(tokens: Tensor, key_mask: Tensor | None = None, **others: Any) -> tuple[Tensor, Tensor]:
        positions = from_mask(torch.ones_like(tokens) if key_mask is None else key_mask)
        return positions.expand(3, *tokens.shape), torch.zeros(len(tokens), 1)

    return build


class _Left:
    """Grids and times that are left for the rows to come."""

    def __init__(self, images: Any, videos: Any, seconds: Any) -> None:
        self.images, self.videos, self.seconds = ([] if one is None else one.tolist() for one in (images, videos, seconds))

    def copy(self) -> _Left:
        return _Left(*(torch.tensor(one) for one in (self.images, self.videos, self.seconds)))

    def use(self, tokens: Tensor, family: TokenFamily) -> None:
        """Take away what the row holds."""
        kinds = family.kinds(tokens)
        for grids, kind in ((self.images, 1), (self.videos, VIDEO)):
            count = int((kinds == kind).sum()) * family.spatial_merge**2
            while count > 0 and grids:
                frames, height, width = grids.pop(0)
                count -= max(frames // (family.temporal_merge if kind == VIDEO else 1), 1) * height * width
                if kind == VIDEO and self.seconds:
                    self.seconds.pop(0)


def _larger_side(positions: Sequence[Position], kinds: Sequence[int]) -> int:
    return max(max(row, column) for _, row, column in positions) + 1


def _last_piece(positions: Sequence[Position], kinds: Sequence[int]) -> int:
    """Behind the last token where a video has its sound, else behind the largest number."""
    return max(positions[-1]) + 1 if len(set(kinds)) > 1 else start_behind(positions, kinds)


def _counted(positions: Sequence[Position], kinds: Sequence[int]) -> int:
    return min(row for _, row, _ in positions) + len(positions)


def _in_float32(frames: int, seconds: float, per_second: float) -> list[int]:
    times: list[int] = (torch.arange(frames) * (torch.tensor(seconds) * per_second)).long().tolist()
    return times


def _unfloored(frames: int, seconds: float, per_second: float) -> list[float]:
    times: list[float] = (torch.arange(frames) * torch.tensor(seconds) * per_second).tolist()
    return times


_row = partial(KnownFault, kind="positions")
_of_tokens = partial(_row, needs=_from("tokens and grids"), read=from_tokens)
_DOCUMENTS = _from("lengths", "boundaries", "documents")

# fmt: off
POSITION_FAULTS: tuple[KnownFault, ...] = (
    _row("builder-padding-counts", "padding and packing", says="padding counted as tokens: 0, 1, 2, ... over the whole row",
        make=_of_mask(lambda mask: torch.arange(mask.shape[-1]).expand_as(mask)), read=from_mask,
        needs=_from("a mask"), reported="transformers#22161"),
    _row("builder-counts-from-one", "offset and cache", says="real tokens counted from 1: the mask's sum without the minus one",
        make=_of_mask(lambda mask: mask.cumsum(-1)), read=from_mask, needs=_from("a mask")),
    _row("builder-reads-the-first-row", "padding and packing", says="every row given the positions of the first",
        make=_of_mask(lambda mask: (mask.cumsum(-1) - 1)[:1].expand_as(mask)), read=from_mask, needs=_from("a mask")),
    _row("builder-only-moves-the-start", "padding and packing", says="tokens counted on from the first real one, holes too",
        make=_of_mask(lambda mask: torch.arange(mask.shape[-1]) - mask.argmax(-1, keepdim=True)), read=from_mask,
        needs=_from("a mask")),
    _row("documents-run-on", "padding and packing", says="packed documents counted on as one row",
        make=_of_documents(lambda lengths: list(range(sum(lengths)))), read=from_cumulative, needs=_DOCUMENTS,
        reported="OLMo-core#591"),
    _row("documents-restart-at-one", "padding and packing", says="documents after the first begun at 1",
        make=_of_documents(_restarts_late), read=from_cumulative, needs=_DOCUMENTS),
    _row("documents-count-from-one", "offset and cache", says="every document begun at 1",
        make=_of_documents(lambda lengths: [position + 1 for length in lengths for position in range(length)]),
        read=from_cumulative, needs=_DOCUMENTS),
    _row("documents-of-the-first-row", "padding and packing", says="every row of a batch given the documents of the first",
        make=lambda asked: lambda documents, **others: from_documents(documents[:1]).expand_as(documents),
        read=from_documents, needs=_from("documents")),
    _row("builder-forgets-the-cache", "offset and cache", says="new tokens counted from 0 whatever the cache holds",
        make=_behind(lambda past, length: 0), read=appended, needs=_from("a cache")),
    _row("builder-one-ahead", "offset and cache", says="new tokens one position too far behind a cache",
        make=_behind(lambda past, length: past + (past > 0)), read=appended, needs=_from("a cache")),
    _row("builder-stands-still", "offset and cache", says="every new token given the position of the first of them",
        make=lambda asked: lambda offset, length, **others: torch.full((length,), offset), read=appended,
        needs=_from("a cache")),
    _row("shards-count-from-zero", "offset and cache", says="every shard counted from 0 for itself",
        make=_shards(lambda row, rank, world: torch.arange(len(row) // world)), read=shard,
        needs=_from("shards", "document shards", "token shards")),
    _row("shards-dealt-one-by-one", "padding and packing", says="positions dealt to the ranks in turn, tokens in stretches",
        make=_shards(lambda row, rank, world: row[rank::world]), read=shard, needs=_from("token shards")),
    _row("grid-by-columns", "layout", says="a grid numbered column by column",
        make=lambda asked: lambda height, width, **others: grid(width, height).flip(-1), read=grid, needs=_from("a grid")),
    _row("grid-axes-exchanged", "layout", says="rows given as columns and columns as rows",
        make=lambda asked: lambda height, width, **others: grid(height, width).flip(-1), read=grid, needs=_from("a grid")),
    _of_tokens("text-behind-the-larger-side", "offset and cache",
        says="text behind a video started after the larger side of a frame, inside the video's times",
        make=_rows(behind=_larger_side), read=following, reported="transformers 5.24"),
    _of_tokens("text-behind-the-token-count", "offset and cache", says="text behind an image started after the image's tokens",
        make=_rows(behind=_counted), read=following),
    _of_tokens("text-behind-the-last-piece", "offset and cache",
        says="text behind a video with its sound started after the last piece of the two",
        make=_rows(behind=_last_piece), read=following, reported="transformers 5.24, Qwen-Omni"),
    _of_tokens("times-floored-before-the-product", "numeric", says="the seconds between frames floored before the product",
        make=_rows(times=lambda frames, seconds, rate: [frame * floor(seconds * rate) for frame in range(frames)])),
    _of_tokens("frames-count-by-one", "offset and cache", says="frames counted by one, whatever their times",
        make=_rows(times=lambda frames, seconds, rate: range(frames))),
    _of_tokens("times-in-float32", "numeric", says="times multiplied in float32, just below whole numbers",
        make=_rows(times=_in_float32), reported="transformers 5.24"),
    _of_tokens("times-not-floored", "numeric", says="times left as fractions, and the text behind them",
        make=_rows(times=_unfloored), reported="transformers 5.24, Qwen3-Omni"),
    _of_tokens("axes-exchanged", "layout", says="height and width of an image exchanged",
        make=_rows(place=lambda position: (position[0], position[2], position[1]))),
    _of_tokens("builder-counts-padding-in-rows", "padding and packing", says="padding counted as text before the row",
        make=_rows(counts_padding=True)),
    _of_tokens("delta-counts-padding", "padding and packing", says="the offset of later tokens taken from the padded length",
        make=_rows(delta_counts_padding=True), read=following),
    _of_tokens("delta-missing", "offset and cache", says="the offset of later tokens left at 0, whatever images took",
        make=_rows(deltas=lambda right: [[0.0] for _ in right]), read=following, reported="sglang#8219, mlx-vlm#1621"),
    _of_tokens("delta-of-the-first-row", "padding and packing", says="every row given the offset of the first",
        make=_rows(deltas=lambda right: [right[0] for _ in right]), read=following),
    _of_tokens("images-counted-as-text", "layout", says="every token counted by one on all axes, images like text",
        make=_as_text, reported="AReaL#217"),
    _of_tokens("grids-of-the-first-row", "padding and packing", says="every row given the grids of the first",
        make=_rows(grids_of_the_first=True)),
)
# fmt: on
