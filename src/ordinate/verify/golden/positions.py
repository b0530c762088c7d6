"""Golden vectors of what makes positions: padding, documents, caches, shards, grids, and rows of tokens by family of models.

Apart from `vectors`, since here everything is a whole number: no precisions, no tolerances.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from ordinate.position import indices
from ordinate.position.token_families import TOKEN_FAMILIES, TokenFamily
from ordinate.verify.references.multimodal import Part, row_of

__all__ = ["POSITION_CASES", "POSITION_SCHEMA", "PositionCase", "position_vectors"]

POSITION_SCHEMA = "ordinate.golden.positions/1"


@dataclass(frozen=True)
class PositionCase:
    """One call of a function of `ordinate.position.indices`.

    Args:
        id: its name, also of its file.
        builder: the function.
        inputs: arguments that are tensors, as nested lists of numbers.
        settings: the other arguments, of plain JSON types; `family` is the name of one.
    """

    id: str
    builder: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def position_vectors(case: PositionCase) -> dict[str, Any]:
    """Everything that a port is compared with for `case`, as plain JSON types.

    >>> position_vectors(POSITION_CASES["positions-documents"])["outputs"]["positions"]["data"]
    [0, 1, 2, 0, 0, 1]
    """
    build = getattr(indices, case.builder)
    settings = dict(case.settings)
    inputs = {name: torch.tensor(values) for name, values in case.inputs.items()}
    sizes = settings.pop("size", ())
    answer = build(*sizes, **inputs, **settings)
    family = settings.get("family")
    outputs = {"positions": answer} if isinstance(answer, Tensor) else {"tokens": answer[0], "positions": answer[1]}
    if case.builder == "from_tokens" and "documents" not in inputs:
        outputs["following"] = indices.following(answer)
    text = inspect.getdoc(build) or ""
    return {
        "schema": POSITION_SCHEMA,
        "id": case.id,
        "builder": case.builder,
        "says": text.split("\n")[0],
        "settings": dict(case.settings) | ({"family": {"name": family, **asdict(TOKEN_FAMILIES[family])}} if family else {}),
        "inputs": {name: _tensor(values) for name, values in inputs.items()},
        "outputs": {name: _tensor(values) for name, values in outputs.items()},
    }


def _tensor(values: Tensor) -> dict[str, Any]:
    kind = "float64" if values.is_floating_point() else "bool" if values.dtype is torch.bool else "int64"
    return {"shape": list(values.shape), "dtype": kind, "data": values.flatten().tolist()}


_LEFT, _HOLED = [[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]], [[1, 0, 1, 1, 0], [0, 1, 1, 1, 1]]
_PACKED = [[position for length in (4, 8) for position in range(length)]]
_HALF = 0.5  # of a second from frame to frame


def _of_family(name: str, family: TokenFamily) -> list[PositionCase]:
    """A row with all that the family has, and that row beside a shorter one, padded on the left."""
    timed = family.tokens_per_second is not None and not family.frames_apart
    video = Part("video", grid=(3 * family.temporal_merge, 4, 2), seconds=_HALF)
    parts = [Part("text", size=2), Part("image", grid=(1, 4, 6)), Part("text", size=1), video, Part("text", size=2)]
    if family.audio is not None:
        parts += [Part("audio", size=3), Part("text", size=1), Part("sound", size=8, grid=(2, 2, 4), seconds=_HALF)]
    rows = [
        row_of(family, [*parts, Part("text", size=1)]),
        row_of(family, [Part("text", size=2), Part("image", grid=(1, 2, 2))]),
    ]
    longest = len(rows[0].tokens)
    seconds = {"seconds_per_frame": list(rows[0].seconds)} if timed else {}
    grids = {"image_grids": list(rows[0].images), "video_grids": list(rows[0].videos), **seconds}
    missing = longest - len(rows[1].tokens)
    batch = {
        "tokens": [list(rows[0].tokens), [0] * missing + list(rows[1].tokens)],
        **grids,
        "image_grids": [*rows[0].images, *rows[1].images],
        "mask": [[1] * longest, [0] * missing + [1] * len(rows[1].tokens)],
    }
    return [
        PositionCase(f"positions-{name}", "from_tokens", {"tokens": [list(rows[0].tokens)], **grids}, {"family": name}),
        PositionCase(f"positions-{name}-padded", "from_tokens", batch, {"family": name}),
    ]


_ALL = [
    PositionCase("positions-consecutive", "consecutive", settings={"length": 5, "start": 3}),
    PositionCase("positions-left-padding", "from_mask", {"mask": _LEFT}),
    PositionCase("positions-holes", "from_mask", {"mask": _HOLED}),
    PositionCase("positions-documents", "from_lengths", {"lengths": [3, 1, 2]}),
    PositionCase("positions-boundaries", "from_cumulative", {"cumulative_lengths": [0, 3, 4, 6]}),
    PositionCase("positions-document-ids", "from_documents", {"documents": [[7, 7, 2, 2, 2], [1, 1, 1, 1, 1]]}),
    PositionCase("positions-behind-a-cache", "appended", {"cached_lengths": [0, 7]}, {"length": 3}),
    PositionCase("positions-in-cache", "in_cache", settings={"length": 9, "sinks": 2, "window": 4}),
    *(
        PositionCase(
            f"positions-shard-{name}-{rank}",
            "shard",
            {"positions": _PACKED, **({"lengths": [4, 8]} if name.startswith("document") else {})},
            {"rank": rank, "world_size": 2, "zigzag": name.endswith("zigzag")},
        )
        for name in ("plain", "zigzag", "document", "document-zigzag")
        for rank in (0, 1)
    ),
    PositionCase("positions-grid", "grid", settings={"size": [2, 3]}),
    PositionCase("positions-video", "grid", settings={"size": [2, 2, 3]}),
    PositionCase("positions-merged-grid", "grid", settings={"size": [4, 4], "merge": 2}),
    PositionCase("positions-flux", "text_and_image", settings={"text": 2, "height": 2, "width": 3}),
    PositionCase(
        "positions-qwen-image", "text_and_image", settings={"text": 2, "height": 3, "width": 2, "convention": "qwen-image"}
    ),
    *(case for name, family in TOKEN_FAMILIES.items() for case in _of_family(name, family)),
    PositionCase(
        "positions-packed-rows",
        "from_tokens",
        {
            "tokens": [[5, 151655, 151655, 5, 151655, 5]],
            "image_grids": [[1, 2, 4], [1, 2, 2]],
            "documents": [[0, 0, 0, 0, 1, 1]],
        },
        {"family": "qwen2-vl"},
    ),
    PositionCase(
        "positions-second-chunk",
        "from_tokens",
        {"tokens": [[5, 151655, 151655, 151655, 151655, 5]], "image_grids": [[1, 2, 8]]},
        {"family": "qwen2-vl", "start": 7},
    ),
]

POSITION_CASES: dict[str, PositionCase] = {case.id: case for case in _ALL}
"""Every case of positions by its id."""
