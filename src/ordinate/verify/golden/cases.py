"""Which encodings, settings and positions the golden vectors are of: a row for every encoding and scaling of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ordinate.encodings import REGISTRY

__all__ = ["CASES", "Case"]

HEADS, HEAD_DIM = 2, 8
NEAR = (0, 1, 2, 7, 11)
FAR = (0, 1, 257, 4_097, 131_071)
IMAGE = ((0, 0), (0, 1), (1, 0), (2, 3), (3, 2))
TEXT_AND_IMAGE = ((0, 0, 0), (1, 1, 1), (2, 2, 2), (2, 2, 3), (2, 3, 2))
HOURS = (1_764_000_000, 1_764_003_600, 1_764_061_200, 1_767_225_599, 1_767_225_600)


@dataclass(frozen=True)
class Case:
    """One set of vectors.

    Args:
        id: its name, also of its file.
        encoding: a name of the catalogue.
        settings: the encoding's own, of plain JSON types.
        scaling: rule and settings of a scaling, or None.
        positions: of the tokens; where keys differ from queries, of the queries.
        key_positions: of the keys, where there are others.
        length: tokens of the row, for scalings that look at it.
    """

    id: str
    encoding: str
    settings: Mapping[str, Any]
    scaling: Mapping[str, Any] | None = None
    positions: Sequence[Any] = NEAR
    key_positions: Sequence[Any] | None = None
    length: int | None = None
    tags: Sequence[str] = field(default_factory=tuple)

    def spec(self) -> dict[str, Any]:
        """What `PositionSpec.from_dict` takes."""
        return {"encoding": self.encoding, "settings": dict(self.settings), "scaling": self.scaling}


HALF = {"head_dim": HEAD_DIM, "layout": "half"}
WIDE = {"head_dim": 16, "layout": "half"}
TURNED = {"encoding": "rotary", "settings": HALF, "scaling": None}
BEHIND = (7, 8)  # two queries behind a cache
KEYS = (0, 1, 2, 3, 4, 5, 6, 7, 8)


def _scaled(name: str, scaling: dict[str, Any], **others: Any) -> Case:
    return Case(f"rotary-{name}", "rotary", {**WIDE, **others.pop("settings", {})}, scaling, FAR, **others)


_ALL = [
    Case("none", "none", {}),
    Case("sinusoidal", "sinusoidal", {"dim": 8}, positions=FAR),
    Case("sinusoidal-half", "sinusoidal", {"dim": 8, "layout": "half"}, positions=FAR),
    Case("sinusoidal-marian", "sinusoidal", {"dim": 8, "layout": "half", "ladder": "vaswani"}, positions=FAR),
    Case("sinusoidal-odd", "sinusoidal", {"dim": 5}),
    Case("learned", "learned", {"num_positions": 12, "dim": 4}),
    Case("learned-opt", "learned", {"num_positions": 12, "dim": 4, "row_offset": 2}),
    Case("sinusoidal-grid", "sinusoidal-grid", {"dim": 8}, positions=IMAGE),
    Case("learned-grid", "learned-grid", {"size": [4, 4], "dim": 4}, positions=IMAGE),
    Case("time", "time", {"dim": 12, "seasons": ["hour_of_day", "day_of_year"]}, positions=HOURS),
    Case("time2vec", "time2vec", {"dim": 4, "origin": 1_764_000_000}, positions=HOURS),
    Case("rotary-half", "rotary", HALF, positions=FAR),
    Case("rotary-interleaved", "rotary", {**HALF, "layout": "interleaved"}, positions=FAR),
    Case("rotary-base-500000", "rotary", {**HALF, "base": 500000.0}, positions=FAR),
    Case("rotary-partial", "rotary", {**HALF, "rotary_dim": 4}, positions=FAR),
    Case("rotary-last-channels", "rotary", {**HALF, "rotary_dim": 4, "rotated_channels": "last"}, positions=FAR),
    _scaled("linear", {"rule": "linear", "factor": 4.0}),
    _scaled("ntk", {"rule": "ntk", "factor": 4.0}),
    _scaled("dynamic-within", {"rule": "dynamic", "factor": 2.0, "original_context": 2048}, length=2048),
    _scaled("dynamic-beyond", {"rule": "dynamic", "factor": 2.0, "original_context": 2048}, length=131_072),
    _scaled("stepped-ntk", {"rule": "stepped-ntk", "original_context": 2048}, length=131_072),
    _scaled("yarn", {"rule": "yarn", "factor": 32.0, "original_context": 4096}),
    _scaled(
        "yarn-gpt-oss",
        {"rule": "yarn", "factor": 32.0, "original_context": 4096, "truncate": False},
        settings={"base": 150000.0},
    ),
    _scaled("yarn-deepseek", {"rule": "yarn", "factor": 40.0, "original_context": 4096, "mscale": 1.0, "mscale_all_dim": 1.0}),
    _scaled(
        "llama3",
        {"rule": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_context": 8192},
        settings={"base": 500000.0},
    ),
    *(
        _scaled(
            f"longrope-{name}",
            {
                "rule": "longrope",
                "short_factor": [1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.3, 1.5],
                "long_factor": [1.0, 1.2, 1.7, 3.0, 8.0, 20.0, 32.0, 40.0],
                "original_context": 4096,
                "claimed_context": 131_072,
            },
            length=length,
        )
        for name, length in (("short", 4096), ("long", 131_072))
    ),
    _scaled("proportional", {"rule": "proportional", "fraction": 0.25}),
    _scaled("clipped", {"rule": "clipped", "pairs": 5}),
    Case("learned-rotary", "learned-rotary", HALF),
    Case("stepped-temperature", "stepped-temperature", {"step_tokens": 4, "strength": 0.1}),
    Case("log-temperature", "log-temperature", {"trained_context": 4}),
    Case("axial-rotary", "axial-rotary", HALF, positions=IMAGE),
    Case("axial-rotary-dealt", "axial-rotary", {**HALF, "ladder": "dealt", "layout": "interleaved"}, positions=IMAGE),
    Case("mixed-rotary", "mixed-rotary", {"head_dim": HEAD_DIM, "num_heads": HEADS}, positions=IMAGE),
    Case("multimodal-rotary", "multimodal-rotary", {**HALF, "sections": [2, 1, 1]}, positions=TEXT_AND_IMAGE),
    Case("xpos", "xpos", {**HALF, "layout": "interleaved"}, positions=(0, 1, 2, 300, 2_000)),
    Case("pope", "pope", {"head_dim": 4, "num_heads": HEADS}),
    Case("alibi", "alibi", {"num_heads": 8}, positions=BEHIND, key_positions=KEYS),
    Case("alibi-12-heads", "alibi", {"num_heads": 12}, positions=BEHIND, key_positions=KEYS),
    Case("alibi-symmetric", "alibi", {"num_heads": 2, "symmetric": True}, positions=NEAR),
    Case("t5-encoder", "t5", {"num_heads": 2, "num_buckets": 8, "max_distance": 16}, positions=(0, 3, 9, 20, 40)),
    Case(
        "t5-decoder",
        "t5",
        {"num_heads": 2, "num_buckets": 8, "max_distance": 16, "bidirectional": False},
        positions=(0, 3, 9, 20, 40),
    ),
    Case("kerple", "kerple", {"num_heads": 2}, positions=BEHIND, key_positions=KEYS),
    Case("kerple-power", "kerple", {"num_heads": 2, "kernel": "power"}, positions=BEHIND, key_positions=KEYS),
    Case("sandwich", "sandwich", {"num_heads": 2, "dim": 8}, positions=BEHIND, key_positions=KEYS),
    Case("fire", "fire", {"num_heads": 2, "hidden_dim": 4, "initial_threshold": 4.0}, positions=BEHIND, key_positions=KEYS),
    Case("window", "window", {"num_heads": 2, "window": [4, 4]}, positions=IMAGE),
    Case("continuous-window", "continuous-window", {"num_heads": 2, "window": [4, 4], "hidden_dim": 4}, positions=IMAGE),
    Case("shaw", "shaw", {"head_dim": 4, "max_distance": 3}, positions=BEHIND, key_positions=KEYS),
    Case("music", "music", {"num_heads": HEADS, "head_dim": 4, "max_distance": 12}, positions=BEHIND, key_positions=KEYS),
    Case(
        "transformer-xl",
        "transformer-xl",
        {"num_heads": HEADS, "head_dim": 4, "layout": "half"},
        positions=BEHIND,
        key_positions=KEYS,
    ),
    Case("disentangled", "disentangled", {"num_heads": HEADS, "head_dim": 4, "max_distance": 8}, positions=NEAR),
    Case("cope", "cope", {"head_dim": 4, "num_positions": 6}, positions=BEHIND, key_positions=KEYS),
    Case(
        "dape",
        "dape",
        {"base": {"encoding": "alibi", "settings": {"num_heads": HEADS}, "scaling": None}, "hidden_size": 4},
        positions=BEHIND,
        key_positions=KEYS,
    ),
    Case("self-extend", "self-extend", {"rotary": TURNED, "window": 4, "group": 2}, positions=BEHIND, key_positions=KEYS),
    Case("rerope", "rerope", {"rotary": TURNED, "window": 4}, positions=BEHIND, key_positions=KEYS),
    Case("leaky-rerope", "leaky-rerope", {"rotary": TURNED, "window": 4, "factor": 4.0}, positions=BEHIND, key_positions=KEYS),
    Case("dual-chunk", "dual-chunk", {"rotary": TURNED, "chunk": 4, "local": 2}, positions=BEHIND, key_positions=KEYS),
    Case("streaming-llm", "streaming-llm", {"rotary": TURNED, "sinks": 2, "window": 3}, positions=BEHIND, key_positions=KEYS),
]

_POSITIONS: dict[str, Sequence[Any]] = {"tokens": NEAR, "image": IMAGE, "time height width": TEXT_AND_IMAGE, "seconds": HOURS}
# an encoding of the registry without a row above: its example
_ALL += [
    Case(row.name, row.name, row.example, positions=_POSITIONS[row.positions])
    for row in REGISTRY.values()
    if row.name not in {case.encoding for case in _ALL}
]

CASES: dict[str, Case] = {case.id: case for case in _ALL}
"""Every case by its id."""
