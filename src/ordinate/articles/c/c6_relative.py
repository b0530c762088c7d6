"""C6. The article: relative encodings do not change under a shift of the text; they cost memory for every head.

What varies is the encoding, the shift and the number of heads. Outputs of attention are compared at positions p and p + shift
with the same content. Memory is what the term added to the scores holds at its peak while it is formed, counted as in B5; a
rotation, which adds no term, is counted beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ordinate.articles.live_bytes import LiveBytes
from ordinate.attention import attend
from ordinate.attention.attend import Implementation
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import ALiBi, MusicRelative, Rotary, ShawRelative, Sinusoidal, T5Bias, indices

__all__ = ["CLAIM", "encodings", "measure", "relative"]

CLAIM = Claim(
    id="C6",
    title="Relative encodings: blind to a shift, paid a head",
    place="C98-110",
    statement=(
        "A learned bias by distance makes attention blind to a shift; a matrix of distances for every head costs much memory."
    ),
    setup="none stated",
    varies="the encoding, the shift from 1 to 100,000, and the number of heads from 1 to 16",
    band="outputs equal to 1e-9; one more head adds at least one number for every pair of tokens, 4 bytes",
    budget_seconds=10,
)

_DIM, _TOKENS, _HEADS = 16, 256, (1, 2, 4, 8, 16)
_SHIFTS, _LONG = (1, 100, 100_000), 2048

Made = Callable[[int], Mapping[str, Any]]


def encodings(heads: int) -> dict[str, Any]:
    """Relative encodings that bias scores, for so many heads."""
    return {
        "Shaw": ShawRelative(_DIM, 16, values=False).double(),
        "Music Transformer": MusicRelative(heads, _DIM, _TOKENS - 1, bidirectional=True).double(),
        "T5": T5Bias(heads).double(),
        "ALiBi": ALiBi(heads),
    }


def measure(inputs: Inputs) -> Measurement:
    """Claim C6 on four relative encodings."""
    return relative(encodings, inputs.seeds[0])


def relative(biases: Made, seed: int) -> Measurement:
    """Claim C6 on any encodings that bias scores.

    Args:
        made: a number of heads to the encodings by name, of heads with 16 channels.
        seed: of queries, keys, values and tables.
    """
    torch.manual_seed(seed)
    query, key, value = torch.randn(3, 1, 8, 48, _DIM, dtype=torch.float64)
    with torch.no_grad():
        eight = biases(8)
        moved = {name: _moved(one, query, key, value) for name, one in eight.items()}
        absolute = _moved(Sinusoidal(_DIM), query, key, value)
        memory = {name: _held(one, biases) for name, one in (("RoPE", None), *eight.items())}
    in_blocks = _held_by_attention("blocked") / _held_by_attention("reference")
    a_head = {name: float(np.polyfit(_HEADS, amounts, 1)[0]) / _TOKENS**2 for name, amounts in memory.items()}
    learned = {
        name: [sum(parameter.numel() for parameter in _parameters(biases(heads)[name])) for heads in (1, 16)] for name in eight
    }
    least = min(a_head[name] for name in eight)
    checks = [
        *(Check.at_most(f"change of the output under a shift, {name}", value, 1e-9) for name, value in moved.items()),
        *(Check(f"bytes that one more head adds for each pair of tokens, {name}", a_head[name], 3.99, 64.0) for name in eight),
        Check.at_most("bytes that one more head adds for each pair of tokens, RoPE", a_head["RoPE"], 2.0, role=Role.LIMIT),
        Check.at_most(
            f"memory of attention with ALiBi in blocks over that of the formula, {_LONG:,} tokens",
            in_blocks,
            0.25,
            role=Role.LIMIT,
        ),
        Check.at_least("change of the output under a shift, sinusoids added", absolute, 0.01, role=Role.CONTROL),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"a shift changes outputs by {max(moved.values()):.1g} at most; each head adds {least:.0f} bytes and more "
        "for every pair of tokens",
        meaning={
            Verdict.REPRODUCED: "A shift of all positions changes nothing, since only differences are looked at. The price is "
            f"a number for every pair of tokens and head, {least:.0f} bytes at the least, so four times as much for twice the "
            "tokens. What is learned is cheap beside it, and whether it grows with the heads depends on the encoding: Shaw's "
            "table is shared, T5 and the Music Transformer have one a head, ALiBi has none. RoPE turns queries and keys "
            f"instead, which adds {a_head['RoPE']:.1f} bytes a pair here and grows with the tokens alone. The cost is not "
            "inevitable: formed block by block the term is never held as a whole, and all of attention with ALiBi takes "
            f"{in_blocks:.0%} of the formula's memory at {_LONG:,} tokens.",
        },
        inputs=f"heads of {_DIM} channels, float64; shifts {', '.join(f'{shift:,}' for shift in _SHIFTS)} on 48 tokens; memory "
        f"on {_TOKENS} tokens",
        tables=[
            Table(
                f"Memory at its peak for {_TOKENS} tokens, KiB, and learned numbers",
                ("encoding", "1 head", "4 heads", "16 heads", "learned, 1 head", "learned, 16 heads"),
                [
                    (name, *(round(amounts[place] / 2**10) for place in (0, 2, 4)), *learned.get(name, (0, 0)))
                    for name, amounts in memory.items()
                ],
            )
        ],
        figures=[_picture(memory)],
    )


def _moved(encoding: Any, query: Tensor, key: Tensor, value: Tensor) -> float:
    """The largest change of attention's output when all positions move on."""
    steps = indices.consecutive(query.shape[2])

    def output(shift: int) -> Tensor:
        return attend(query, key, value, query_positions=steps + shift, encoding=encoding, impl="reference")

    return max(float((output(shift) - output(0)).abs().max()) for shift in _SHIFTS)


def _held(encoding: Any, biases: Made) -> list[int]:
    """Bytes at the peak for each number of heads: of the bias, or of turning queries and keys where there is none."""
    steps, amounts = indices.consecutive(_TOKENS), []
    for heads in _HEADS:
        query, key = torch.randn(2, 1, heads, _TOKENS, _DIM, dtype=torch.float64)
        if encoding is None:
            rotary = Rotary(_DIM, layout="half")
            rotary.rotate_both(query, key, steps)  # the tables are computed once and kept
            with LiveBytes() as live:
                kept = rotary.rotate_both(query, key, steps)
        else:
            (one,) = [other for other in biases(heads).values() if type(other) is type(encoding)]
            content = (query, key) if getattr(one, "needs_content", False) else ()
            with LiveBytes() as live:
                kept = one.bias(steps, steps, *content)
        amounts.append(live.peak)
        del kept
    return amounts


def _held_by_attention(impl: Implementation) -> int:
    """Bytes at the peak of all of attention with ALiBi, two heads."""
    query, key, value = torch.randn(3, 1, 2, _LONG, _DIM)
    with torch.no_grad(), LiveBytes() as live:
        attend(query, key, value, query_positions=indices.consecutive(_LONG), encoding=ALiBi(2), impl=impl)
    return live.peak


def _parameters(module: Any) -> list[Tensor]:
    return list(module.parameters()) if isinstance(module, torch.nn.Module) else []


def _picture(memory: Mapping[str, list[int]]) -> Figure:
    with canvas(height=3.1) as (figure, axes):
        for (name, amounts), series in zip(memory.items(), SERIES, strict=False):
            axes.plot(_HEADS, np.array(amounts) / 2**10, **series, label=name)
        axes.set(title=f"Memory of the encoding's work, {_TOKENS} tokens", xlabel="heads", ylabel="KiB at the peak")
        axes.set(xscale="log", yscale="log")
        axes.set_xticks(_HEADS, [str(heads) for heads in _HEADS])
        axes.minorticks_off()
        axes.grid(axis="y")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return Figure(
        "memory",
        to_svg(figure),
        caption="What each encoding holds at its peak, both axes logarithmic: the term added to the scores for the relative "
        "ones, turned queries and keys for RoPE.",
        alt="Five lines that rise in proportion to the number of heads; the four relative encodings lie well above RoPE.",
    )
