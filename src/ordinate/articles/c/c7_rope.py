"""C7. The article: RoPE keeps norms and makes scores depend on the distance alone; sinusoids change norm and direction.

What varies is the position and the encoding. A rotation R(p) is orthogonal and R(m)^T R(n) = R(n - m), so both properties are
exact; they are measured on drawn vectors up to a million positions out, for both layouts of channels (Su et al. 2021, arXiv
2104.09864, eqs. 14-16).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import INK, SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Rotary, Sinusoidal, indices

__all__ = ["CLAIM", "Place", "measure", "rope", "sinusoids_added"]

CLAIM = Claim(
    id="C7",
    title="RoPE turns, sinusoids push",
    place="C119-135",
    statement=(
        "RoPE turns each pair of channels by an angle set by the absolute position: it keeps the magnitude, and the inner "
        "product of a query and a key depends on the relative angle alone. A sinusoid changes magnitude and direction."
    ),
    setup="none stated",
    varies="the position up to a million, the shift of both tokens, and the encoding",
    band="norms to 1e-12, scores to 1e-8; with sinusoids norms move by at least 5 %",
    seeds=5,
    budget_seconds=5,
)

_DIM, _DISTANCES = 64, 60
_SHIFTS = (0, 10, 100, 1000, 1_000_000)
_FAR = torch.tensor([0, 1, 2, 3, 5, 10, 100, 1000, 10_000, 100_000, 1_000_000])

Place = Callable[[Tensor, Tensor], Tensor]


def sinusoids_added(x: Tensor, positions: Tensor) -> Tensor:
    """x [T, 64] with sinusoids added."""
    return x + Sinusoidal(_DIM).encode(positions, dtype=x.dtype)


def measure(inputs: Inputs) -> Measurement:
    """Claim C7 on both layouts of RoPE, beside added sinusoids."""

    def turned(layout: str) -> Place:
        rotary = Rotary(_DIM, layout=layout)  # type: ignore[arg-type]
        return lambda x, positions: rotary.rotate(x[None, None], positions)[0, 0]

    return rope({"half": turned("half"), "interleaved": turned("interleaved")}, sinusoids_added, inputs.seeds)


def rope(turned: dict[str, Place], added: Place, seeds: Sequence[int]) -> Measurement:
    """Claim C7 on any encodings.

    Args:
        turned: by layout, vectors [T, 64] at positions [T] to vectors [T, 64]; claimed to keep norms and distances.
        added: the same for the encoding that should not.
        seeds: of the vectors.
    """
    pairs = [_drawn(seed) for seed in seeds]
    checks, norms, spreads = [], {}, {}
    for name, place in turned.items():
        norms[name] = max(float((_norms(place, query) - 1).abs().max()) for query, _ in pairs)
        spreads[name] = max(_spread(place, query, key) for query, key in pairs)
        checks += [
            Check.at_most(f"largest change of a norm, RoPE, layout {name}", norms[name], 1e-12),
            Check.at_most(f"spread of scores at one distance, RoPE, layout {name}", spreads[name], 1e-8),
        ]
    moved_norm = max(float((_norms(added, query) - 1).abs().max()) for query, _ in pairs)
    added_spread = max(_spread(added, query, key) for query, key in pairs)
    bent = {
        name: torch.cat([_angles(place, query) for query, _ in pairs]) for name, place in (*turned.items(), ("added", added))
    }
    first = next(iter(turned))
    distinct = min(float(_scores(turned[first], *pair, 0).std()) for pair in pairs)
    checks += [
        Check.at_least("largest change of a norm, sinusoids added", moved_norm, 0.05),
        Check.at_least("largest change of direction, sinusoids added, degrees", float(bent["added"].max()), 5.0),
        Check.at_least("largest change of direction, RoPE, degrees", float(bent[first].max()), 5.0, role=Role.LIMIT),
        Check.at_least("spread of scores at one distance, sinusoids added", added_spread, 0.5, role=Role.CONTROL),
        Check.at_least("spread of scores over the distances, RoPE", distinct, 0.1, role=Role.CONTROL),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"norms change by {max(norms.values()):.0e} under RoPE and by up to {moved_norm:.0%} under sinusoids",
        meaning={
            Verdict.REPRODUCED: "Both properties are exact, a million tokens out too, in both layouts of channels. Sinusoids "
            f"move norms by up to {moved_norm:.0%} and bend a vector by up to {float(bent['added'].max()):.0f} degrees. One "
            f"word on directions: RoPE changes them as well, by up to {float(bent[first].max()):.0f} degrees, that is how it "
            "works. The difference is that it turns query and key by angles whose difference is all that the score sees. "
            "Values are not turned, so what is passed on does not depend on the position at all.",
        },
        inputs=f"{len(seeds)} drawn queries and keys of {_DIM} channels, float64; distances 0 to {_DISTANCES - 1}, shifts up "
        f"to {_SHIFTS[-1]:,}",
        tables=[
            Table(
                "What the position does to a vector and to a score",
                (
                    "encoding",
                    "largest change of norm",
                    "largest change of direction, degrees",
                    "spread of scores at one distance",
                ),
                [
                    *((f"RoPE, {name}", norms[name], float(bent[name].max()), spreads[name]) for name in turned),
                    ("sinusoids added", moved_norm, float(bent["added"].max()), added_spread),
                ],
            )
        ],
        figures=[_arrows(), _norm_picture(turned[first], added, pairs[0][0]), _score_picture(turned[first], added, *pairs[0])],
    )


def _drawn(seed: int) -> tuple[Tensor, Tensor]:
    query, key = torch.randn(2, _DIM, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return query, key


def _norms(place: Place, x: Tensor) -> Tensor:
    """The norm at each far position, over that of the vector itself."""
    return place(x.expand(len(_FAR), _DIM), _FAR).norm(dim=-1) / x.norm()


def _angles(place: Place, x: Tensor) -> Tensor:
    """Degrees between the vector and itself at each far position."""
    cosine = torch.cosine_similarity(place(x.expand(len(_FAR), _DIM), _FAR), x.expand(len(_FAR), _DIM), dim=-1)
    return cosine.clamp(-1, 1).acos().rad2deg()


def _scores(place: Place, query: Tensor, key: Tensor, shift: int) -> Tensor:
    """Scores of the query at shift + distance with the key at shift, for each distance."""
    distances = indices.consecutive(_DISTANCES)
    return place(query.expand(_DISTANCES, _DIM), distances + shift) @ place(key[None], torch.tensor([shift]))[0]


def _spread(place: Place, query: Tensor, key: Tensor) -> float:
    """The widest range that the scores of one distance have over the shifts."""
    scores = torch.stack([_scores(place, query, key, shift) for shift in _SHIFTS])
    return float((scores.amax(0) - scores.amin(0)).max())


def _arrows() -> Figure:
    """One vector of two channels at positions 0 to 4, with a sinusoid added and turned by RoPE, as the article draws it."""
    vector = torch.tensor([[1.6, 0.9]], dtype=torch.float64)
    steps = indices.consecutive(5)
    sinusoid = Sinusoidal(2).encode(steps, dtype=torch.float64)
    rotary = Rotary(2, layout="interleaved", base=10_000.0)
    turned = rotary.rotate(vector.expand(5, 2)[None, None], steps)[0, 0]
    with canvas(2, height=3.7) as (figure, panels):
        for axes, ends, title in ((panels[0], vector + sinusoid, "A sinusoid added"), (panels[1], turned, "Turned by RoPE")):
            for place, (x, y) in enumerate(ends.tolist()):
                series = SERIES[place]
                axes.annotate(
                    "",
                    (x, y),
                    (0, 0),
                    arrowprops={"arrowstyle": "->", "color": series["color"], "linewidth": 1.6, "shrinkB": 0},
                )
                axes.annotate(str(place), (1.12 * x, 1.12 * y), ha="center", va="center", color=series["color"])
            angle = torch.linspace(0, 2 * torch.pi, 200)
            length = float(vector.norm())
            axes.plot(length * angle.cos(), length * angle.sin(), color=INK, linewidth=0.7, linestyle=":")
            axes.plot([0, vector[0, 0]], [0, vector[0, 1]], color=INK, linewidth=1.0, linestyle="--")
            axes.set(title=title, xlim=(-2.9, 3.1), ylim=(-2.4, 2.7), xlabel="first channel")
            axes.set_aspect("equal")
            axes.grid()
        panels[0].set_ylabel("second channel")
    return Figure(
        "arrows",
        to_svg(figure),
        caption="The same vector (dashed) at positions 0 to 4. Added, a sinusoid changes its length and its direction; RoPE "
        "turns it and keeps its tip on the dotted circle.",
        alt="Two planes with five numbered arrows each. Left they have different lengths, right all end on one "
        "circle, a radian apart.",
    )


def _norm_picture(turn: Place, added: Place, x: Tensor) -> Figure:
    steps = indices.consecutive(200)
    with canvas(height=2.7) as (figure, axes):
        for place, series, label in ((added, SERIES[1], "sinusoids added"), (turn, SERIES[0], "RoPE")):
            norms = place(x.expand(len(steps), _DIM), steps).norm(dim=-1) / x.norm()
            axes.plot(norms.numpy(), color=series["color"], linestyle=series["linestyle"], linewidth=1.5, label=label)
        axes.set(title="Norm of one vector", xlabel="position (tokens)", ylabel="of that without position")
        axes.grid(axis="y")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.08))
    return Figure(
        "norm",
        to_svg(figure),
        caption="The norm of one vector at positions 0 to 199, over its norm without a position.",
        alt="A level line at 1 for RoPE, and a wavy line well away from it for added sinusoids.",
    )


def _score_picture(turn: Place, added: Place, query: Tensor, key: Tensor) -> Figure:
    with canvas(2, height=3.1) as (figure, axes):
        for one, place, title in zip(axes, (turn, added), ("RoPE", "Sinusoids added"), strict=True):
            for shift, series in zip(_SHIFTS[:4], SERIES, strict=False):
                scores = _scores(place, query, key, shift).numpy()
                one.plot(scores, color=series["color"], linestyle=series["linestyle"], linewidth=1.5, label=f"key at {shift:,}")
            one.set(title=title, xlabel="distance (tokens)")
            one.grid(axis="y")
        axes[0].set_ylabel("score, query . key")
        axes[1].legend(loc="upper right")
    return Figure(
        "score",
        to_svg(figure),
        caption="The score of one query and one key by their distance, with the key at four positions. Under RoPE the four "
        "curves are one.",
        alt="Left, four curves that lie on each other exactly. Right, four curves of like shape that run apart.",
    )
