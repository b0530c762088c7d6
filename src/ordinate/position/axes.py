"""Positions with several axes: patches of an image or a video, and text that stands between them.

One convention everywhere: a token's position is a row, so positions with A axes are [T, A], or [B, T, A] where rows of a batch
differ. The axes are (height, width), or (frames, height, width), in that order, and tokens run in reading order, the last axis
fastest. `ordinate.position.indices` offers these functions under its own name.

Sources: Wang et al. 2024, arXiv 2409.12191, section 2.1 (M-RoPE, Qwen2-VL); Bai et al. 2025, arXiv 2502.13923, section 2.1.2
(absolute time, Qwen2.5-VL); Carion et al. 2020, arXiv 2005.12872 and Simeoni et al. 2025, arXiv 2508.10104 (coordinates).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from ordinate.arguments import check_choice, check_integer, check_number
from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.shapes import check_shape

__all__ = [
    "Coordinates",
    "Grid",
    "circle",
    "following",
    "grid",
    "multimodal",
    "on_every_axis",
    "padded",
    "patch_positions",
    "reading_order",
    "text_and_image",
]

Coordinates = Literal["pixel", "ordinal", "centred", "corners", "detr"]


class Grid(NamedTuple):
    """The patches of an image (one frame) or a video: frames, height, width, and the seconds from one frame to the next."""

    frames: int
    height: int
    width: int
    seconds_per_frame: float | None = None


def grid(
    *size: int,
    coordinates: Coordinates = "pixel",
    reference: Sequence[int] | None = None,
    normalise: Literal["separate", "max", "min"] = "separate",
    merge: int = 1,
    prefix: int = 0,
    device: torch.device | str | None = None,
) -> Tensor:
    """Positions of a grid of patches: `grid(height, width)` or `grid(frames, height, width)`, in reading order.

    An axis of n patches has, for i = 0, ..., n - 1, the coordinates

    - "pixel": i; with a `reference` of r patches i r / n, which stretches a pretrained grid over another (EVA-02);
    - "ordinal": i + 1, so that no patch shares 0 with a class token (Llama 4's images);
    - "centred": 2 (i + 1/2) / n - 1, the patches' centres in (-1, 1) (DINOv3);
    - "corners": n equal steps from -1 to 1, both ends included (Perceiver, timm's pixel frequencies);
    - "detr": 2 pi (i + 1) / (n + 1e-6) (DETR with `normalize`).

    Args:
        size: patches along each axis, two or three numbers.
        coordinates: one of the above.
        reference: for "pixel", the size of the grid that the model was trained on.
        normalise: for "centred", divide every axis by its own size, by the largest, or by the smallest.
        merge: read height and width in squares of so many patches a side, one square after the other, which is the order that
            the vision towers of Qwen-VL and its kin take (spatial_merge_size); 1 reads row by row.
        prefix: tokens in front (class token, registers) that belong to no patch. They stand at 0 on every axis, where a
            rotation leaves them as they are; encodings with a vector for them take the grid without them.
        device: where the result lives.

    Returns:
        [prefix + product of size, A]: int64 for "ordinal" and plain "pixel", else float64.

    Raises:
        ArgumentError: sizes below 1, other than two or three axes, unknown coordinates, a reference where it has no meaning, a
            merge that does not divide height and width.

    >>> grid(2, 3).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    >>> grid(1, 2, coordinates="centred", prefix=1).tolist()
    [[0.0, 0.0], [0.0, -0.5], [0.0, 0.5]]
    """
    _check_sides("size", size)
    check_coordinates(coordinates)
    if normalise not in ("separate", "max", "min"):
        raise ArgumentError("normalise", expected="'separate', 'max' or 'min'", got=normalise, hint="leave it out")
    if reference is not None:
        _check_sides("reference", tuple(reference))
        if coordinates != "pixel" or len(reference) != len(size):
            raise ArgumentError(
                "reference",
                expected=f"{len(size)} sizes, with coordinates='pixel'",
                got=f"{tuple(reference)} with {coordinates!r}",
                hint="the other coordinates do not depend on the size of the grid in training",
            )
    check_integer("prefix", prefix, minimum=0)
    _check_merge("size", size, merge)

    along = []
    for axis, length in enumerate(size):
        steps = torch.arange(length, device=device)
        if coordinates == "centred":
            over = {"separate": length, "max": max(size), "min": min(size)}[normalise]
            along.append(2 * (steps.double() + 0.5) / over - 1)
        elif coordinates == "corners":
            along.append(torch.linspace(-1, 1, length, dtype=torch.float64, device=device))
        elif coordinates == "detr":
            along.append(2 * math.pi * (steps.double() + 1) / (length + 1e-6))
        elif coordinates == "ordinal":
            along.append(steps + 1)
        else:
            along.append(steps if reference is None else steps.double() * reference[axis] / length)
    patches = torch.stack(torch.meshgrid(*along, indexing="ij"), dim=-1)
    if merge > 1:
        patches = patches.unflatten(-2, (-1, merge)).unflatten(-4, (-1, merge)).transpose(-4, -3)
    patches = patches.reshape(-1, len(size))
    return torch.cat((patches.new_zeros(prefix, len(size)), patches)) if prefix else patches


def multimodal(
    parts: Sequence[int | Grid | tuple[int, ...]],
    *,
    spatial_merge: int = 1,
    tokens_per_second: float | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Positions (time, height, width) of a row of text, images and videos.

    A text token has the same number on every axis. A patch has start + frame, start + row, start + column. Every part starts
    one past the highest number before it on any axis, as the paper says. (transformers 5 continues behind a video at
    start + max(height, width), so that the times of a long video come again in the text behind it. transformers 4, vLLM and
    the models' authors have the rule used here.)

    Args:
        parts: in order, a number of text tokens, or a `Grid` (frames, height, width) of patches; a fourth number is the
            seconds from one frame to the next (second_per_grid_ts).
        spatial_merge: patches along each side that the model merges into one token; height and width are divided by it (2 in
            the Qwen-VL models, whose processors report grids before the merge).
        tokens_per_second: with it, a frame with a time stands at floor(frame * seconds * tokens_per_second) (2 or 4 in
            Qwen2.5-VL, 25 in Qwen2.5-Omni). Frames without a time count by one.
        device: where the result lives.

    Returns:
        int64 [T, 3]. The next token's number is `following(positions)`.

    Raises:
        ArgumentError: a size below 1, a side that the merge does not divide, seconds without tokens_per_second.
        ArgumentTypeError: a part of another kind.

    Source: Wang et al. 2024, arXiv 2409.12191, section 2.1; Bai et al. 2025, arXiv 2502.13923, section 2.1.2.

    >>> multimodal([2, Grid(1, 2, 2), 1]).T.tolist()
    [[0, 1, 2, 2, 2, 2, 4], [0, 1, 2, 2, 3, 3, 4], [0, 1, 2, 3, 2, 3, 4]]
    """
    check_integer("spatial_merge", spatial_merge, minimum=1)
    if tokens_per_second is not None and not (math.isfinite(tokens_per_second) and tokens_per_second > 0):
        raise ArgumentError("tokens_per_second", expected="a positive number", got=tokens_per_second, hint="see the config")
    rows, start = [torch.zeros(0, 3, dtype=torch.int64, device=device)], 0
    for part in parts:
        if isinstance(part, int) and not isinstance(part, bool):
            check_integer("parts", part, minimum=0)
            row = torch.arange(part, device=device).unsqueeze(-1).expand(-1, 3)
        else:
            row = patch_positions(part, spatial_merge, tokens_per_second, device)
        rows.append(row + start)
        start += int(row.max()) + 1 if row.numel() else 0
    return torch.cat(rows)


def text_and_image(
    text: int,
    height: int,
    width: int,
    *,
    frames: int = 1,
    convention: Literal["flux", "qwen-image"] = "flux",
    device: torch.device | str | None = None,
) -> Tensor:
    """Positions (frame, row, column) of a prompt and of the image that is made from it, the prompt first.

    - "flux": every text token stands at (0, 0, 0), a patch at (frame, row, column).
    - "qwen-image": a patch at (frame, row - ceil(height / 2), column - ceil(width / 2)), so that the middle of the image is at
      0; text token t at m + t on every axis, with m = max(height // 2, width // 2).

    Args:
        text: tokens of the prompt.
        height, width: patches of the image, after the model's own patching.
        frames: of a video.
        convention: see above.
        device: where the result lives.

    Returns:
        int64 [text + frames * height * width, 3].

    Raises:
        ArgumentError: a size below 1, an unknown convention.

    Source: Black Forest Labs 2024, `prepare_img_ids` of flux; Wu et al. 2025, arXiv 2508.02324 (Qwen-Image), section 2.4.

    >>> text_and_image(2, 2, 2, convention="qwen-image").tolist()
    [[1, 1, 1], [2, 2, 2], [0, -1, -1], [0, -1, 0], [0, 0, -1], [0, 0, 0]]
    """
    check_integer("text", text, minimum=0)
    if convention not in ("flux", "qwen-image"):
        raise ArgumentError("convention", expected="'flux' or 'qwen-image'", got=convention)
    patches = grid(frames, height, width, device=device)
    if convention == "flux":
        return torch.cat((patches.new_zeros(text, 3), patches))
    middle = torch.tensor([0, -(-height // 2), -(-width // 2)], device=device)
    prompt = torch.arange(text, device=device) + max(height // 2, width // 2)
    return torch.cat((on_every_axis(prompt, 3), patches - middle))


def circle(
    height: int, width: int, *, radius: float = 10.0, alpha: float = 0.5, device: torch.device | str | None = None
) -> Tensor:
    """Places (time, row, column) of an image's patches on a circle around the line of text, which runs along (1, 1, 1).

    Every text token is as far from one patch as from another; the circle tells patches apart. The angle of a patch is alpha
    times that of its place as seen from the middle, stretched to the whole turn, plus (1 - alpha) times its share of the
    row-major order. Add the number of the text token that the image stands at: `positions = n + circle(h, w)`.

    Args:
        height, width: patches.
        radius: of the circle, in positions.
        alpha: between 0, the order alone, and 1, the place alone.
        device: where the result lives.

    Returns:
        float64 [height * width, 3].

    Raises:
        ArgumentError: a size below 1, a radius that is not positive, alpha outside of 0 to 1.

    Source: Wang et al. 2025, arXiv 2505.16416 (Circle-RoPE), whose layers may also take turns with M-RoPE's grid; read in the
    authors' config at commit 899b24a of lose4578/CircleRoPE, and in JJJYmmm/Multimodal-RoPEs at commit 1c8ae64.

    >>> (7 + circle(2, 3)).sum(-1)  # the same height along the line of text as token 7
    tensor([21., 21., 21., 21., 21., 21.], dtype=torch.float64)
    """
    _check_sides("circle", (height, width))
    check_number("radius", radius, above=0)
    check_number("alpha", alpha, minimum=0, maximum=1)
    row, column = grid(height, width, device=device).double().unbind(-1)
    seen = torch.atan2(row - (height - 1) / 2, column - (width - 1) / 2)
    spread = seen.max() - seen.min()
    seen = torch.where(spread > 0, (seen - seen.min()) / spread.clamp_min(1e-300) * 2 * math.pi, seen)
    order = torch.arange(height * width, dtype=torch.float64, device=device) / (height * width) * 2 * math.pi
    angle = alpha * seen + (1 - alpha) * order
    across, along = radius * angle.cos(), radius * angle.sin()
    # (column, row, time) = across (-1, 1, 0) / sqrt(2) + along (1, 1, -2) / -sqrt(6): both at right angles to (1, 1, 1)
    by_column = -across / math.sqrt(2) - along / math.sqrt(6)
    by_row = across / math.sqrt(2) - along / math.sqrt(6)
    return torch.stack((2 * along / math.sqrt(6), by_row, by_column), dim=-1)


def following(positions: Tensor) -> Tensor:
    """The number of the next text token behind positions with axes: one past the highest on any axis.

    Padding made by `padded` does not count. With an image before, this is not the number of tokens: the difference is what
    Qwen's code calls `mrope_position_delta`.

    Args:
        positions: integers [T, A] or [B, T, A], at least one token.

    Returns:
        int64 [], or [B]; `consecutive(n, start=following(positions))` are the next n positions.

    Raises:
        ShapeError: positions without axes, or without tokens.

    >>> following(multimodal([3, Grid(1, 2, 3), 2])).item() - 11
    -3
    """
    sizes = check_shape("positions", positions, "T A | B T A")
    if sizes["T"] == 0:
        raise ShapeError("positions", expected="at least one token", got="none", hint="an empty row continues at 0")
    return positions.long().amax((-2, -1)) + 1


def on_every_axis(positions: Tensor, axes: int) -> Tensor:
    """Text positions [T] or [B, T] as positions [T, A] or [B, T, A] with the same number on every axis.

    >>> on_every_axis(torch.tensor([4, 5]), 3).tolist()
    [[4, 4, 4], [5, 5, 5]]
    """
    check_shape("positions", positions, "T | B T")
    check_integer("axes", axes, minimum=1)
    return positions.unsqueeze(-1).expand(*positions.shape, axes)


def padded(rows: Sequence[Tensor], side: Literal["left", "right"] = "left") -> tuple[Tensor, Tensor]:
    """Rows of different lengths as one batch, and the mask of its real tokens.

    Padding stands at 0 on the left, at the last real position on the right, as in `from_mask`.

    Args:
        rows: positions [T] or [T, A], at least one row, each with at least one token.
        side: where the padding goes.

    Returns:
        Positions [B, T] or [B, T, A], and a bool mask [B, T] for `ordinate.attention.Padding`.

    Raises:
        ArgumentError: no rows, an empty row, an unknown side.

    >>> padded([torch.tensor([0, 1, 2]), torch.tensor([0])])[0].tolist()
    [[0, 1, 2], [0, 0, 0]]
    """
    if side not in ("left", "right"):
        raise ArgumentError("side", expected="'left' or 'right'", got=side, hint="generation pads on the left")
    if not rows or any(len(row) == 0 for row in rows):
        raise ArgumentError("rows", expected="at least one row, none empty", got=[len(row) for row in rows], hint="drop it")
    longest = max(len(row) for row in rows)
    filled, real = [], []
    for row in rows:
        missing = longest - len(row)
        fill = torch.zeros_like(row[:1]) if side == "left" else row[-1:]
        fill = fill.expand(missing, *row.shape[1:])
        tokens = torch.arange(longest, device=row.device)
        filled.append(torch.cat((fill, row) if side == "left" else (row, fill)))
        real.append(tokens >= missing if side == "left" else tokens < len(row))
    return torch.stack(filled), torch.stack(real)


def reading_order(query_positions: Tensor, key_positions: Tensor) -> tuple[Tensor, Tensor]:
    """Integers that order positions with axes as they are read: by time, then row, then column.

    Queries and keys are ranked together, so that a causal mask can compare them. In a row made by `multimodal` or `grid` this
    is the order of the tokens.

    Args:
        query_positions, key_positions: [T, A] and [S, A], or [B, T, A] and [B, S, A].

    Returns:
        int64 [T] and [S], or [B, T] and [B, S]; equal positions have equal ranks.

    >>> order, _ = reading_order(torch.tensor([[1, 0], [0, 2], [0, 1]]), torch.tensor([[0, 0]]))
    >>> order.tolist()
    [3, 2, 1]
    """
    if query_positions.ndim != key_positions.ndim:
        batch = max(query_positions, key_positions, key=lambda positions: positions.ndim).shape[0]
        query_positions, key_positions = (
            positions if positions.ndim == 3 else positions.expand(batch, *positions.shape)
            for positions in (query_positions, key_positions)
        )
    elif query_positions.ndim == 3 and query_positions.shape[0] != key_positions.shape[0]:
        batch = max(query_positions.shape[0], key_positions.shape[0])
        query_positions, key_positions = (each.expand(batch, -1, -1) for each in (query_positions, key_positions))
    both = torch.cat((query_positions, key_positions), dim=-2)
    order = torch.arange(both.shape[-2], device=both.device).expand(both.shape[:-1])
    for axis in reversed(range(both.shape[-1])):  # stable sorts, last axis first, give the lexicographic order
        order = order.gather(-1, both[..., axis].gather(-1, order).argsort(dim=-1, stable=True))
    ordered = both.gather(-2, order.unsqueeze(-1).expand(both.shape))
    ranks = (ordered.diff(dim=-2, prepend=ordered[..., :1, :]) != 0).any(-1).cumsum(-1)
    ranks = torch.zeros_like(ranks).scatter(-1, order, ranks)
    return ranks[..., : query_positions.shape[-2]], ranks[..., query_positions.shape[-2] :]


def check_coordinates(coordinates: str) -> None:
    """Raise unless `coordinates` is a name that `grid` knows."""
    check_choice("coordinates", coordinates, get_args(Coordinates), hint="leave it out for 'pixel'")


def patch_positions(
    part: object, merge: int, tokens_per_second: float | None, device: torch.device | str | None, name: str = "parts"
) -> Tensor:
    """Positions [T, 3] of one image or video whose first patch stands at 0; `name` is the argument that errors speak of."""
    if not isinstance(part, tuple | list) or len(part) not in (3, 4):
        raise ArgumentTypeError(
            name,
            expected="a number of text tokens, or Grid(frames, height, width) with or without seconds per frame",
            got=part if isinstance(part, tuple | list) else type(part).__name__,
            hint="an image is Grid(1, height, width)",
        )
    frames, height, width, seconds = Grid(*part)
    _check_sides(name, (frames, height, width))
    _check_merge(name, (height, width), merge)
    patches = grid(frames, height // merge, width // merge, device=device)
    if seconds is None:
        return patches
    if tokens_per_second is None:
        raise ArgumentError(
            "tokens_per_second",
            expected="a number, since a part says how many seconds a frame lasts",
            got=None,
            hint="take it from vision_config, or drop the seconds (Qwen2-VL counts frames)",
        )
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ArgumentError(name, expected="seconds per frame, 0 or more", got=seconds, hint="temporal_patch_size / fps")
    # 2/3 of a second is no float: without the guard, of float32's rounding too, frame 15 could fall just below its whole number
    times = torch.arange(frames, dtype=torch.float64) * (seconds * tokens_per_second)
    times = (times * (1 + 2**-22) + 1e-9).floor().long()
    return torch.cat((times.to(patches)[patches[:, :1]], patches[:, 1:]), dim=-1)


def _check_merge(name: str, size: Sequence[int], merge: int) -> None:
    check_integer("merge", merge, minimum=1)
    if size[-2] % merge or size[-1] % merge:
        raise ArgumentError(
            name,
            expected=f"a height and width that the merge ({merge}) divides",
            got=tuple(size[-2:]),
            hint="pass the grid of patches before the merge, or a merge of 1",
        )


def _check_sides(name: str, size: Sequence[int]) -> None:
    if len(size) not in (2, 3):
        raise ArgumentError(
            name, expected="(height, width) or (frames, height, width)", got=tuple(size), hint="pass two or three sizes"
        )
    for cells in size:
        check_integer(name, cells, minimum=1)
