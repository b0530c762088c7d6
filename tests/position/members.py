"""One table of encodings: every contract in `test_contracts.py` runs on every row.

A row says how to make the encoding and which properties its mathematics promises. Where one does not hold, `exempt` names the
contract and the reason. An encoding of the registry without a row here gets one from its registry row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from ordinate.encodings import REGISTRY, Row
from ordinate.position import (
    DAPE,
    FIRE,
    ALiBi,
    AxialRotary,
    ContinuousWindowBias2D,
    CoPE,
    DisentangledRelative,
    DualChunk,
    Kerple,
    LeakyReRoPE,
    LearnedGrid,
    LearnedRotary,
    LearnedTable,
    LogTemperature,
    MixedRotary,
    MultimodalRotary,
    MusicRelative,
    NoPosition,
    PoPE,
    ReRoPE,
    Rotary,
    Sandwich,
    SelfExtend,
    ShawRelative,
    Sinusoidal,
    SinusoidalGrid,
    SteppedTemperature,
    StreamingLLM,
    T5Bias,
    Time2Vec,
    TimeEncoding,
    TransformerXLRelative,
    WindowBias2D,
    XPos,
    build,
)
from ordinate.position.catalogue import ENCODINGS
from ordinate.position.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, NTKAware, Proportional, SteppedNTK, YaRN
from ordinate.spec import PositionSpec

HEADS, HEAD_DIM = 4, 16


@dataclass(frozen=True)
class Member:
    """One row: a name, a maker with HEADS heads of HEAD_DIM channels, and where it stands apart."""

    name: str
    make: Callable[[], nn.Module]
    interface: str  # "adds", "rotates" or "biases"
    shift_invariant: bool = True  # the score depends on the distance alone
    exempt: Mapping[str, str] = field(default_factory=dict)
    positions: Callable[[Tensor], Tensor] = lambda steps: steps  # from 0, 1, 2, ... to what the encoding takes


def image(steps: Tensor) -> Tensor:
    """A token of an image 20 patches wide; a shift by 100 steps is one by 5 rows."""
    return torch.stack((steps // 20, steps % 20), dim=-1)


def video(steps: Tensor) -> Tensor:
    """A token of frames of 4 by 5 patches."""
    return torch.stack((steps // 20, steps // 5 % 4, steps % 5), dim=-1)


def scattered(steps: Tensor) -> Tensor:
    """Time that rises with every token, height and width that wander; a shift by 100 steps shifts all three alike."""
    return torch.stack((steps, steps + steps % 4, steps + steps % 5), dim=-1)


def hourly(steps: Tensor) -> Tensor:
    """Timestamps one hour apart, from November 2025 on."""
    return 1_764_000_000 + 3600 * steps


def multimodal(**settings: object) -> MultimodalRotary:
    return MultimodalRotary(HEAD_DIM, **settings)  # type: ignore[arg-type]


def weighty(make: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    """The same module with every parameter drawn from N(0, 0.3^2), where it is not on the meta device.

    So no term is too small to be seen (CoPE starts at zero, DeBERTa near it).
    """

    def drawn() -> nn.Module:
        module = make()
        for parameter in module.parameters():
            if not parameter.is_meta:
                nn.init.normal_(parameter, std=0.3)
        return module

    return drawn


def plain_rotary() -> Rotary:
    return Rotary(HEAD_DIM, layout="half")


def rotary(layout: str, **settings: object) -> Callable[[], nn.Module]:
    return lambda: Rotary(HEAD_DIM, layout=layout, **settings)  # type: ignore[arg-type]


LENGTH = {
    "shift": "frequencies change with the row's length, which a shift of positions lengthens",
    "decode": "keys turned at one length do not compare with queries at another: refused past the trained context",
    "offset": "positions that start past 0 and reach past the trained context are refused without a length",
    "far": "as offset",
}

XPOS = {"far": "factors leave the range of the dtype at `reach` positions from the centre, and an error says so"}
WINDOW_ENDS = {"far": "a window has no patch 200,000"}
FARTHEST = 255

ROWS = [
    Member("none", NoPosition, "rotates"),
    Member("sinusoidal", lambda: Sinusoidal(HEAD_DIM), "adds", shift_invariant=False),
    Member("sinusoidal-half", lambda: Sinusoidal(HEAD_DIM, layout="half"), "adds", shift_invariant=False),
    Member("learned", lambda: LearnedTable(256, HEAD_DIM), "adds", shift_invariant=False),
    Member("rotary-half", rotary("half"), "rotates"),
    Member("rotary-interleaved", rotary("interleaved"), "rotates"),
    Member("rotary-partial", rotary("half", rotary_dim=8), "rotates"),
    Member("rotary-linear", rotary("half", scaling=Linear(4.0)), "rotates"),
    Member("rotary-ntk", rotary("half", scaling=NTKAware(4.0)), "rotates"),
    Member("rotary-dynamic", rotary("interleaved", scaling=DynamicNTK(2.0, 16)), "rotates", exempt=LENGTH),
    Member("rotary-stepped", rotary("half", scaling=SteppedNTK(16)), "rotates", exempt=LENGTH),
    Member("rotary-yarn", rotary("half", scaling=YaRN(4.0, 32)), "rotates"),
    Member("rotary-longrope", rotary("half", scaling=LongRoPE([1.0] * 8, [2.0] * 8, 16, 256)), "rotates", exempt=LENGTH),
    Member("rotary-llama3", rotary("half", scaling=Llama3(8.0, 1.0, 4.0, 32)), "rotates"),
    Member("rotary-proportional", rotary("half", scaling=Proportional(0.25)), "rotates"),
    Member("alibi", lambda: ALiBi(HEADS), "biases"),
    Member("alibi-symmetric", lambda: ALiBi(HEADS, symmetric=True), "biases"),
    Member("rotary-last-channels", rotary("interleaved", rotary_dim=6, rotated_channels="last"), "rotates"),
    Member("rotary-one-pair", rotary("half", rotary_dim=2), "rotates"),
    Member("rotary-learned", lambda: LearnedRotary(HEAD_DIM, layout="half"), "rotates"),
    Member(
        "rotary-learned-partial",
        lambda: LearnedRotary(HEAD_DIM, layout="interleaved", rotary_dim=8, rotated_channels="last"),
        "rotates",
    ),
    Member("temperature-stepped", lambda: SteppedTemperature(8, 0.1), "rotates", shift_invariant=False),
    Member("temperature-ministral", lambda: SteppedTemperature(8, 0.1, ahead=0), "rotates", shift_invariant=False),
    Member("temperature-log", lambda: LogTemperature(16), "rotates", shift_invariant=False),
    Member("sinusoidal-grid", lambda: SinusoidalGrid(HEAD_DIM), "adds", shift_invariant=False, positions=image),
    Member("learned-grid", lambda: LearnedGrid((16, 20), HEAD_DIM), "adds", shift_invariant=False, positions=image),
    Member(
        "time",
        lambda: TimeEncoding(HEAD_DIM, seasons=["hour_of_day", "day_of_year"]),
        "adds",
        shift_invariant=False,
        positions=hourly,
    ),
    Member("time2vec", lambda: Time2Vec(HEAD_DIM, origin=1.764e9), "adds", shift_invariant=False, positions=hourly),
    Member("axial-half", lambda: AxialRotary(HEAD_DIM, layout="half"), "rotates", positions=image),
    Member(
        "axial-dinov3",
        lambda: AxialRotary.named("dinov3", HEAD_DIM),
        "rotates",
        positions=lambda steps: image(steps).double() / 16 - 1,
    ),
    Member(
        "axial-video",
        lambda: AxialRotary(HEAD_DIM, layout="interleaved", axes=3, sections=(3, 2, 2)),
        "rotates",
        positions=video,
    ),
    Member("mixed", lambda: MixedRotary(HEAD_DIM, HEADS), "rotates", positions=image),
    Member("multimodal", lambda: multimodal(layout="half", sections=(2, 3, 3)), "rotates", positions=scattered),
    Member(
        "multimodal-interleaved",
        lambda: multimodal(layout="interleaved", sections=(2, 2, 2), arrangement="interleaved", rotary_dim=12),
        "rotates",
        positions=scattered,
    ),
    Member("xpos", lambda: XPos(HEAD_DIM, layout="interleaved"), "rotates", exempt=XPOS),
    Member("xpos-half", lambda: XPos(HEAD_DIM, layout="half", rotary_dim=8, centre=64), "rotates", exempt=XPOS),
    Member("pope", lambda: PoPE(HEAD_DIM, HEADS, phase_init="uniform"), "rotates"),
    Member("alibi-learned", lambda: ALiBi(HEADS, learned=True), "biases"),
    Member("t5", lambda: T5Bias(HEADS), "biases"),
    Member("t5-decoder", lambda: T5Bias(HEADS, num_buckets=8, max_distance=20, bidirectional=False), "biases"),
    Member("kerple-log", lambda: Kerple(HEADS), "biases"),
    Member("kerple-power", lambda: Kerple(HEADS, kernel="power"), "biases"),
    Member("sandwich", lambda: Sandwich(HEADS, dim=32, base=1000.0), "biases"),
    # within its threshold FIRE is a bias on the distance; past it the query's own position counts
    Member("fire", lambda: FIRE(HEADS), "biases"),
    Member("fire-past-threshold", lambda: FIRE(HEADS, hidden_dim=8, initial_threshold=6.0), "biases", shift_invariant=False),
    Member(
        "window-class", lambda: WindowBias2D(HEADS, (12, 20), class_token=True), "biases", exempt=WINDOW_ENDS, positions=image
    ),
    Member(
        "window-continuous",
        lambda: ContinuousWindowBias2D(HEADS, (12, 20), trained_window=(8, 8), hidden_dim=16),
        "biases",
        exempt=WINDOW_ENDS,
        positions=image,
    ),
    Member("shaw", weighty(lambda: ShawRelative(HEAD_DIM, 6)), "biases"),
    Member("shaw-keys-asymmetric", weighty(lambda: ShawRelative(HEAD_DIM, 7, max_future=2, values=False)), "biases"),
    Member("music", weighty(lambda: MusicRelative(HEADS, HEAD_DIM, FARTHEST)), "biases"),
    Member("music-bidirectional", weighty(lambda: MusicRelative(HEADS, HEAD_DIM, FARTHEST, bidirectional=True)), "biases"),
    Member("transformer-xl", weighty(lambda: TransformerXLRelative(HEADS, HEAD_DIM, layout="half")), "biases"),
    Member(
        "transformer-xl-clamped",
        weighty(lambda: TransformerXLRelative(HEADS, HEAD_DIM, layout="interleaved", max_distance=9)),
        "biases",
    ),
    Member("deberta-v1", weighty(lambda: DisentangledRelative(HEADS, HEAD_DIM, max_distance=12, key_bias=False)), "biases"),
    Member(
        "deberta-v3",
        weighty(lambda: DisentangledRelative(HEADS, HEAD_DIM, max_distance=32, num_buckets=8, norm=True)),
        "biases",
    ),
    Member("cope", weighty(lambda: CoPE(HEAD_DIM, 8)), "biases"),
    Member("dape-alibi", weighty(lambda: DAPE(ALiBi(HEADS))), "biases"),
    Member("self-extend", lambda: SelfExtend(plain_rotary(), 6, 3), "scores", shift_invariant=False),
    Member("rerope", lambda: ReRoPE(plain_rotary(), 6), "scores"),
    Member("leaky-rerope", lambda: LeakyReRoPE(plain_rotary(), 6, 4.0), "scores"),
    Member("dual-chunk", lambda: DualChunk(plain_rotary(), 6, 3), "scores", shift_invariant=False),
    Member("streaming-llm", lambda: StreamingLLM(plain_rotary(), 2, 8), "scores", shift_invariant=False),
]


POSITIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "tokens": lambda steps: steps,
    "image": image,
    "time height width": scattered,
    "seconds": hourly,
}


def from_registry(row: Row) -> Member:
    """The row of an encoding that has none above: its example, for HEADS heads of HEAD_DIM channels."""
    sizes = {"num_heads": HEADS, "head_dim": HEAD_DIM, "dim": HEAD_DIM}
    settings = {name: sizes.get(name, value) for name, value in row.example.items()}

    def make() -> nn.Module:
        return build(PositionSpec(row.name, settings))

    return Member(row.name, weighty(make), row.interface, row.shift_invariant, row.exempt, POSITIONS[row.positions])


_COVERED = {type(member.make()) for member in ROWS}
MEMBERS = ROWS + [
    from_registry(row)
    for row in REGISTRY.values()
    if ENCODINGS[row.name] not in _COVERED and row.interface != "mixes"  # these are no part of attention
]
