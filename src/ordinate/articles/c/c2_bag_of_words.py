"""C2. The article: "the dog bit the man" and "the man bit the dog" are the same without positions.

What varies is the order of the five words. Each token's output goes with its token, so a pooled output cannot change. Measured
for plain attention, for heads with learned projections and for pooling by attention, over embeddings drawn several times; and
beside it what breaks the tie: sinusoids, RoPE, and a causal mask alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from ordinate.articles.sentence import plain_attention
from ordinate.attention import AttentionPooling, Causal, Mask, MeanPooling, MultiHeadAttention
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Rotary, Sinusoidal, indices

__all__ = ["CLAIM", "bag_of_words", "drawn_embeddings", "measure", "ways"]

CLAIM = Claim(
    id="C2",
    title="Without positions a sentence is a bag of words",
    place="C13-19",
    statement=(
        '"the dog bit the man" and "the man bit the dog" mean different things, yet to self-attention without positions '
        "a sentence is a bag of words."
    ),
    setup="none stated",
    setup_detail="drawn vectors for the four words",
    varies="the order of the five words, the attention, and what tells it about order",
    band="pooled outputs equal to 1e-13; at least 0.001 apart once something tells the order",
    seeds=10,
    budget_seconds=5,
)

_FORTH = ("the", "dog", "bit", "the", "man")
_BACK = ("the", "man", "bit", "the", "dog")
_DIM, _HEADS = 32, 4

Way = Callable[[Tensor], Tensor]


def drawn_embeddings(seed: int) -> dict[str, Tensor]:
    """A vector [32] for each of the four words."""
    generator = torch.Generator().manual_seed(seed)
    return {word: torch.randn(_DIM, generator=generator, dtype=torch.float64) for word in ("the", "dog", "bit", "man")}


def ways(seed: int) -> dict[str, Way]:
    """From embeddings [1, T, 32] to one vector; the first three know nothing of order, the others do."""
    torch.manual_seed(seed)
    plain = MultiHeadAttention(_DIM, _HEADS).double()
    turned = MultiHeadAttention(_DIM, _HEADS, encoding=Rotary(_DIM // _HEADS, layout="half")).double()
    turned.load_state_dict(plain.state_dict())
    mean, by_attention = MeanPooling(), AttentionPooling(_DIM, num_heads=_HEADS).double()
    torch.nn.init.normal_(by_attention.queries)  # untrained they are near zero, which is mean pooling

    def heads(x: Tensor, layer: MultiHeadAttention = plain, mask: Mask | None = None) -> Tensor:
        return layer(x, indices.consecutive(x.shape[1]), mask=mask)

    def placed(x: Tensor) -> Tensor:
        return x + Sinusoidal(_DIM).encode(indices.consecutive(x.shape[1]), dtype=x.dtype)

    return {
        "plain attention": lambda x: mean(plain_attention(x)[0]),
        "heads with projections": lambda x: mean(heads(x)),
        "pooled by attention": lambda x: by_attention(heads(x)),
        "with a causal mask": lambda x: mean(heads(x, mask=Causal())),
        "with sinusoids added": lambda x: mean(heads(placed(x))),
        "with RoPE": lambda x: mean(heads(x, turned)),
    }


def measure(inputs: Inputs) -> Measurement:
    """Claim C2 on drawn embeddings and layers."""
    return bag_of_words(drawn_embeddings, ways, inputs.seeds)


def bag_of_words(
    embeddings: Callable[[int], Mapping[str, Tensor]], created: Callable[[int], Mapping[str, Way]], seeds: Sequence[int]
) -> Measurement:
    """Claim C2 on any embeddings and any ways to one vector.

    Args:
        embeddings: a seed to a vector for each word.
        made: a seed to the ways, under the names that `ways` has.
        seeds: of the draws; blind ways are reported by their largest difference, the others by their smallest.
    """
    differences: dict[str, list[float]] = {}
    for seed in seeds:
        vectors = embeddings(seed)
        forth, back = (torch.stack([vectors[word] for word in words])[None] for words in (_FORTH, _BACK))
        with torch.no_grad():
            for name, way in created(seed).items():
                differences.setdefault(name, []).append(float((way(forth) - way(back)).abs().max()))
    names = list(differences)
    blind = {name: max(differences[name]) for name in names[:3]}
    seeing = {name: min(differences[name]) for name in names[3:]}
    checks = [
        *(
            Check.at_most(
                f"largest difference, {name}", value, 1e-13, role=Role.AS_STATED if place < 2 else Role.GENERALISATION
            )
            for place, (name, value) in enumerate(blind.items())
        ),
        *(Check.at_least(f"smallest difference, {name}", value, 1e-3, role=Role.CONTROL) for name, value in seeing.items()),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"pooled outputs differ by {max(blind.values()):.1g} without positions, by {min(seeing.values()):.2g} and "
        "more with them",
        meaning={
            Verdict.REPRODUCED: "Who bit whom is lost: both sentences give the same vector, to the last bits of a float64, "
            "whether pooled by a mean or by learned weights. What tells them apart need not be an encoding: a causal mask "
            f"alone makes a difference of {seeing.get('with a causal mask', 0.0):.2g} or more, since then each word sees only "
            "those before it. So the claim holds for encoders; a decoder has an order even without an encoding.",
        },
        inputs=f"five words, embeddings of {_DIM} channels and layers drawn {len(seeds)} times, float64",
        tables=[
            Table(
                "Difference between the two sentences over the draws",
                ("way to one vector", "least", "largest"),
                [(name, min(values), max(values)) for name, values in differences.items()],
            )
        ],
        figures=[_picture(differences)],
    )


def _picture(differences: Mapping[str, Sequence[float]]) -> Figure:
    names = list(differences)
    with canvas(height=2.7) as (figure, axes):
        for row, name in enumerate(names):
            series = SERIES[0] if row < 3 else SERIES[1]
            axes.plot(
                [max(value, 1e-17) for value in differences[name]],
                [row] * len(differences[name]),
                color=series["color"],
                marker=series["marker"],
                linestyle="none",
                markersize=5,
                alpha=0.7,
            )
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set(title="Difference of the two pooled sentences", xlabel="largest absolute difference", xscale="log")
        axes.set_xlim(5e-18, 10)
        axes.grid(axis="x")
    return Figure(
        "difference",
        to_svg(figure),
        caption="Each dot is one draw of embeddings and layers; zero is drawn at the left edge. Three ways are blind to order, "
        "three are not.",
        alt="Dots in six rows on a logarithmic axis: the first three rows lie at rounding error near 1e-16, the last three "
        "between 0.01 and 1.",
    )
