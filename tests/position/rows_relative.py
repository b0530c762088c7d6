"""Rows of the relative, contextual and regrouped encodings.

Parameters are drawn anew with weight, so that no term is too small to be seen (CoPE starts at zero, DeBERTa near it).
"""

from collections.abc import Callable

from torch import nn

from ordinate.position import (
    DAPE,
    ALiBi,
    CoPE,
    DisentangledRelative,
    DualChunk,
    LeakyReRoPE,
    MusicRelative,
    ReRoPE,
    Rotary,
    SelfExtend,
    ShawRelative,
    StreamingLLM,
    TransformerXLRelative,
)
from tests.position.members import HEAD_DIM, HEADS, Member

FARTHEST = 255


def weighty(make: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    """The same module with every parameter drawn from N(0, 0.3^2), where it is not on the meta device."""

    def drawn() -> nn.Module:
        module = make()
        for parameter in module.parameters():
            if not parameter.is_meta:
                nn.init.normal_(parameter, std=0.3)
        return module

    return drawn


def rotary() -> Rotary:
    return Rotary(HEAD_DIM, layout="half")


ROWS = [
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
    Member("self-extend", lambda: SelfExtend(rotary(), 6, 3), "scores", shift_invariant=False),
    Member("rerope", lambda: ReRoPE(rotary(), 6), "scores"),
    Member("leaky-rerope", lambda: LeakyReRoPE(rotary(), 6, 4.0), "scores"),
    Member("dual-chunk", lambda: DualChunk(rotary(), 6, 3), "scores", shift_invariant=False),
    Member("streaming-llm", lambda: StreamingLLM(rotary(), 2, 8), "scores", shift_invariant=False),
]
