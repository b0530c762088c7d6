"""A1. The article: shuffled tokens get the same attention weights, permuted, to rounding error.

What varies is the order of the tokens. For a permutation matrix P, softmax((P X)(P X)^T) = P softmax(X X^T) P^T, so weights
put back in order must agree to the last bits, and so must outputs. Measured beside it: heads with random projections, where
the same holds, and two cases where it must not: a causal mask, and positions added to the vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ordinate.articles.sentence import SENTENCE, plain_attention, sentence_vectors
from ordinate.attention import Causal, attend
from ordinate.data import word_vectors
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "measure", "order_blind"]

CLAIM = Claim(
    id="A1",
    title="Attention is blind to order",
    place="A14-26",
    statement=(
        "Shuffle the tokens of a sentence, and self-attention without positions gives the same weights and outputs, "
        "only permuted: put in one order they differ by 5.55e-17 and 8.88e-16 at most, which is rounding."
    ),
    remark=(
        "The article does not say how wide its vectors are. With 50 channels its later numbers come out to the digit "
        "(A5), so these are used."
    ),
    setup="same",
    setup_detail="the sentence and GloVe vectors; twenty shuffles instead of one",
    varies="the order of the twelve tokens: as written, and shuffled",
    band=(
        "rounding error of float64: weights, at most 1, within two units in the last place (4.4e-16), outputs, at most "
        "about 4, within 5e-15"
    ),
    seeds=20,
    budget_seconds=5,
    words="the animal did not cross the street because it was too tired",
)

_HEADS = 5
_ULP = 2.0**-52  # a unit in the last place of a float64 near 1

Attention = Callable[[Tensor], tuple[Tensor, Tensor]]


def measure(inputs: Inputs) -> Measurement:
    """Claim A1 on the article's sentence."""
    vectors = inputs.vectors or word_vectors()
    return order_blind(sentence_vectors(vectors), plain_attention, inputs.seeds, source=vectors.source)


def order_blind(embeddings: Tensor, attention: Attention, seeds: Sequence[int], source: str = "given vectors") -> Measurement:
    """Claim A1 on any vectors and any attention.

    Args:
        embeddings: [T, D], float64.
        attention: embeddings [T, D] to outputs [T, D] and weights [T, T]; what is claimed to be blind to order.
        seeds: of the shuffles.
        source: of the vectors, for the report.
    """
    shuffles = [torch.randperm(len(embeddings), generator=torch.Generator().manual_seed(seed)) for seed in seeds]
    heads = _random_heads(embeddings.shape[-1], seeds[0])
    encoding = Sinusoidal(embeddings.shape[-1]).encode(indices.consecutive(len(embeddings)), dtype=torch.float64)

    plain = _compare(attention, embeddings, shuffles)
    projected = _compare(heads, embeddings, shuffles)
    causal = _compare(lambda x: plain_attention(x, Causal()), embeddings, shuffles)
    with_positions = _compare(lambda x: plain_attention(x + encoding), embeddings, shuffles)
    moved = max(_moved(attention, embeddings, shuffle) for shuffle in shuffles)

    checks = [
        Check.at_most("largest difference of weights, put back in order", plain.weights, 2 * _ULP),
        Check.at_most("largest difference of outputs, put back in order", plain.outputs, 5e-15),
        Check.at_most(
            f"the same for outputs of {_HEADS} heads with random projections",
            projected.outputs,
            1e-13,
            role=Role.GENERALISATION,
        ),
        Check.at_least("weights moved by the shuffle, before they are put back", moved, 0.01, role=Role.CONTROL),
        Check.at_least("difference of weights under a causal mask", causal.weights, 0.01, role=Role.CONTROL),
        Check.at_least("difference of weights with sinusoids added", with_positions.weights, 0.01, role=Role.CONTROL),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"weights differ by {plain.weights:.2g}, outputs by {plain.outputs:.2g} at most",
        meaning={
            Verdict.REPRODUCED: "Attention without positions sees a bag of words: the shuffle changes nothing except where the "
            "numbers stand, up to the last bits of a float64, and learned projections do not help, as they act on each token "
            "alone. So whatever a model knows about order must be put in. Two ways work at once: adding a vector that depends "
            f"on the position changes weights by {with_positions.weights:.2f}, and a causal mask, which is often forgotten as "
            f"a source of order, by {causal.weights:.2f}.",
        },
        inputs=f"{len(embeddings)} tokens; {source}; {len(shuffles)} shuffles, the largest difference of all",
        tables=[
            Table(
                "Largest difference after putting the tokens back in order",
                ("attention", "weights", "outputs"),
                [
                    ("the article, one shuffle", 5.55e-17, 8.88e-16),
                    ("here", plain.weights, plain.outputs),
                    (f"{_HEADS} heads with random projections", projected.weights, projected.outputs),
                    ("with a causal mask", causal.weights, causal.outputs),
                    ("with sinusoids added", with_positions.weights, with_positions.outputs),
                ],
            )
        ],
        figures=[_picture(attention, embeddings, shuffles[0])],
    )


@dataclass(frozen=True)
class _Difference:
    """The largest difference of weights, and of outputs, over all shuffles."""

    weights: float
    outputs: float


def _compare(attention: Attention, embeddings: Tensor, shuffles: Sequence[Tensor]) -> _Difference:
    outputs, weights = attention(embeddings)
    largest_weights = largest_outputs = 0.0
    for shuffle in shuffles:
        shuffled_outputs, shuffled_weights = attention(embeddings[shuffle])
        back = shuffle.argsort()
        difference = (shuffled_weights[..., back, :][..., back] - weights).abs().max().item()
        largest_weights = max(largest_weights, difference if math.isfinite(difference) else math.inf)
        difference = (shuffled_outputs[back] - outputs).abs().max().item()
        largest_outputs = max(largest_outputs, difference if math.isfinite(difference) else math.inf)
    return _Difference(largest_weights, largest_outputs)


def _moved(attention: Attention, embeddings: Tensor, shuffle: Tensor) -> float:
    return (attention(embeddings[shuffle])[1] - attention(embeddings)[1]).abs().max().item()


def _random_heads(width: int, seed: int) -> Attention:
    """Multi-head attention with projections drawn once: each token is projected by itself, whatever its place."""
    generator = torch.Generator().manual_seed(seed)
    head_dim = width // _HEADS
    inner = _HEADS * head_dim
    shapes = {"query": (width, inner), "key": (width, inner), "value": (width, inner), "output": (inner, width)}
    drawn = {
        name: torch.randn(shape, generator=generator, dtype=torch.float64) / math.sqrt(shape[0])
        for name, shape in shapes.items()
    }

    def heads(x: Tensor) -> tuple[Tensor, Tensor]:
        split = [(x @ drawn[name]).view(len(x), _HEADS, head_dim).transpose(0, 1)[None] for name in ("query", "key", "value")]
        outputs, weights = attend(*split, impl="reference", return_weights=True)
        return outputs[0].transpose(0, 1).reshape(len(x), inner) @ drawn["output"], weights[0]

    return heads


def _picture(attention: Attention, embeddings: Tensor, shuffle: Tensor) -> Figure:
    weights, back = attention(embeddings)[1], shuffle.argsort()
    returned = attention(embeddings[shuffle])[1][back][:, back]
    difference = (returned - weights).abs()
    words = list(SENTENCE) if len(embeddings) == len(SENTENCE) else [str(token) for token in range(len(embeddings))]
    with canvas(3, height=3.9) as (figure, (left, middle, right)):
        highest = weights.max().item()
        for axes, matrix, title in (
            (left, weights, "As written"),
            (middle, returned, "Shuffled, put back"),
            (right, difference, f"Difference, {difference.max().item():.0e}"),
        ):
            heat_map(axes, matrix.numpy(), x_labels=words, y_labels=words, lower=0, upper=highest, label="attention weight")
            axes.set(title=title, xlabel="key")
        left.set(ylabel="query")
    return Figure(
        "weights",
        to_svg(figure),
        caption="Attention weights of the sentence as written, those of the same words shuffled and put back in order, and the "
        "difference of the two on the same scale: nothing to see, for what remains is noise in the last bit.",
        alt="Three heat maps of twelve by twelve attention weights. The first two are alike, the third is evenly dark: no "
        f"difference is larger than {difference.max().item():.2g}.",
    )
