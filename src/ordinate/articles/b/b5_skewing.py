"""B5. The article: a learned correction by distance and word is added to the scores; Huang et al. made it more efficient.

What varies is the word, the way and the number of tokens. The direct way lays a vector out for every pair; skewing is
`MusicRelative`. Memory is counted while they run: every tensor that torch makes, from its making to its end, beyond the scores.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ordinate.articles.live_bytes import LiveBytes
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import MusicRelative, indices

__all__ = ["CLAIM", "directly", "measure", "skewed", "skewing"]

CLAIM = Claim(
    id="B5",
    title="Relative scores, from the query",
    place="B151-161",
    statement=(
        "In relative encoding a matrix S_rel is added to Q K^T: the product of Q and a learned table of distances, so "
        "that the correction at distance 1 differs from word to word. It costs parameters. Shaw et al. (2018) proposed "
        "it, Huang et al. (2018) made it more efficient."
    ),
    remark=(
        "The article gives no cost. What efficiency means is taken from Huang et al. (arXiv 1809.04281, section 3.4): "
        "O(n d) memory by skewing instead of O(n^2 d)."
    ),
    setup="none stated",
    varies="the word, the way the scores are formed, and the number of tokens from 128 to 1,024",
    band=("two words differ at distance 1; skewed and direct scores equal to 1e-10; skewing needs less than half the memory"),
    budget_seconds=20,
)

_HEADS, _HEAD_DIM, _SIZES = 2, 32, (128, 256, 512, 1024)

Way = Callable[[MusicRelative, Tensor], Tensor]


def skewed(music: MusicRelative, query: Tensor) -> Tensor:
    """Scores [1, H, n, n] by skewing."""
    steps = indices.consecutive(query.shape[2])
    return music.bias(steps, steps, query, query, scale=1.0)


def directly(music: MusicRelative, query: Tensor) -> Tensor:
    """The same with a vector laid out for every pair, [H, n, n, D]."""
    steps = torch.arange(query.shape[2])
    rows = music.max_distance - (steps[:, None] - steps)
    return torch.einsum("bhtd,htsd->bhts", query, music.table[:, rows])


def music_of(seed: int, size: int) -> MusicRelative:
    """The encoding for rows of so many tokens, with its table drawn."""
    torch.manual_seed(seed)
    return MusicRelative(_HEADS, _HEAD_DIM, size - 1, bidirectional=True).double()


def measure(inputs: Inputs) -> Measurement:
    """Claim B5 on our skewing against the direct form."""
    return skewing(skewed, directly, inputs.seeds[0])


def skewing(skew: Way, direct: Way, seed: int) -> Measurement:
    """Claim B5 on any two ways to form the scores.

    Args:
        skew, direct: a table and queries [1, H, n, D] to scores [1, H, n, n].
        seed: of the table and the queries.
    """
    ways = {"direct": direct, "skewed": skew}
    used: dict[str, list[float]] = {name: [] for name in ways}
    took: dict[str, list[float]] = {name: [] for name in ways}
    off = 0.0
    for size in _SIZES:
        music = music_of(seed, size)
        query = torch.randn(1, _HEADS, size, _HEAD_DIM, dtype=torch.float64)
        results = {}
        with torch.no_grad():
            for name, way in ways.items():
                begin = time.perf_counter()
                results[name] = way(music, query)
                took[name].append(time.perf_counter() - begin)
                with LiveBytes() as live:
                    way(music, query)
                used[name].append(live.peak - results[name].nbytes)
        off = max(off, float((results["direct"] - results["skewed"]).abs().max()))
    growth = {name: float(np.polyfit(np.log(_SIZES), np.log(used[name]), 1)[0]) for name in ways}
    saved = used["direct"][-1] / used["skewed"][-1]
    same = query[:, :, :1].expand(-1, -1, 3, -1)
    with torch.no_grad():
        by_word, by_distance = skew(music_of(seed, 3), query[:, :, :3]), skew(music_of(seed, 3), same)
    words_alike = float((by_distance[:, :, 1, 0] - by_distance[:, :, 2, 1]).abs().max())
    words_apart = float((by_word[:, :, 1, 0] - by_word[:, :, 2, 1]).abs().max())
    table_size = (2 * _SIZES[-1] - 1) * _HEAD_DIM * _HEADS
    checks = [
        Check.at_least("correction at distance 1, one word less another", words_apart, 0.1),
        Check.at_least("parameters that it costs", table_size, 1),
        Check.at_most("largest difference between the direct form and skewing", off, 1e-10),
        Check.at_least("memory of the direct form over that of skewing, n = 1,024", saved, 2),
        Check.at_most("correction at distance 1, the same word in two places", words_alike, 1e-12),
        Check("growth of the direct form's memory, exponent of n", growth["direct"], 1.9, 2.1, 2.0, role=Role.LIMIT),
        Check.at_most("growth of skewing's memory, exponent of n", growth["skewed"], 1.2, role=Role.LIMIT),
        Check.at_least(
            "size of the scores, so that equality says something", float(results["direct"].abs().max()), 0.1, role=Role.CONTROL
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"memory beyond the scores grows like n^{growth['direct']:.2f} directly and n^{growth['skewed']:.2f} skewed",
        meaning={
            Verdict.REPRODUCED: "The correction depends on the word and on the distance. Both ways to form it give "
            "the same scores, and skewing is the more efficient, as the papers say and the article reports. At n = 1,024 "
            f"with {_HEADS} heads the direct form takes {used['direct'][-1] / 2**20:,.0f} MiB beyond the scores and skewing "
            f"{used['skewed'][-1] / 2**20:.1f} MiB, {saved:,.0f} times less. The scores themselves are n by n either way: "
            f"linear memory is what comes on top. The table in both directions has (2n - 1) d numbers a head, {table_size:,} "
            "in all here, and it ends. A longer row has no vector.",
        },
        inputs=f"{_HEADS} heads of {_HEAD_DIM} channels, float64, both directions, n = {', '.join(f'{n:,}' for n in _SIZES)}",
        tables=[
            Table(
                "Memory beyond the scores, and time of one call",
                ("tokens", "direct, MiB", "skewed, MiB", "direct, ms", "skewed, ms"),
                [
                    (n, d / 2**20, s / 2**20, 1e3 * td, 1e3 * ts)
                    for n, d, s, td, ts in zip(
                        _SIZES, used["direct"], used["skewed"], took["direct"], took["skewed"], strict=True
                    )
                ],
            )
        ],
        figures=[_picture(used)],
    )


def _picture(used: dict[str, list[float]]) -> Figure:
    orders = math.log10(used["direct"][-1] / used["skewed"][-1])
    with canvas(height=3.0) as (figure, axes):
        for (name, amounts), series in zip(used.items(), SERIES, strict=False):
            axes.plot(_SIZES, np.array(amounts) / 2**20, **series, label=name)
        axes.set(title="Memory beyond the scores", xlabel="tokens n", ylabel="MiB", xscale="log", yscale="log")
        axes.set_xticks(_SIZES, [f"{n:,}" for n in _SIZES])
        axes.minorticks_off()
        axes.grid(axis="y")
        axes.legend(loc="upper left")
    return Figure(
        "memory",
        to_svg(figure),
        caption="What each way holds at its peak beyond the scores, both axes logarithmic.",
        alt=f"Two rising lines: the direct form climbs twice as steeply as skewing and ends {orders:.1f} orders of magnitude "
        "above it.",
    )
