"""A8. The article: what is made of positions is left to the trained projections.

What varies are the projections of one head: none, as in A5; fresh; trained so that "it" looks at "animal" wherever that word
stands; trained so that "it" looks at the token seven before it, whatever word that is. In the article's sentence "animal" is
both. Other orders of the same words tell the two apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import torch
from torch import Tensor

from ordinate.articles.sentence import SENTENCE, plain_attention, sentence_vectors
from ordinate.data import word_vectors
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "Attended", "it_with_projections", "measure"]

CLAIM = Claim(
    id="A8",
    title='"it" sees what projections make it see',
    place="A104-108",
    statement=(
        'Adding positions to GloVe vectors without projections leaves the weight of "it" on "animal" at 0.0310; the use of '
        "positions is left to trained projection matrices."
    ),
    remark="The article trains none. The two rules, by word and by place, and the bands are ours.",
    setup="same",
    setup_detail="the article's sentence and vectors, with the 50-wide encoding; the training is ours",
    varies="the projections of one head, and the order of the words",
    band='trained by either rule, "it" puts half of its weight on "animal"; in other orders each follows its own rule',
    seeds=2,
    budget_seconds=15,
    words="the animal did not cross the street because it was too tired",
)

_IT, _ANIMAL = SENTENCE.index("it"), SENTENCE.index("animal")
_BACK = _IT - _ANIMAL


@dataclass(frozen=True)
class Attended:
    """Weights of "it": `sentence` on every word of the article's sentence, and in other orders, on average, on `animal` and on
    the token `seven_back`."""

    sentence: Sequence[float]
    animal: float
    seven_back: float


def measure(inputs: Inputs) -> Measurement:
    """Claim A8 on some hundred steps a training, or with --full on ten times as many."""
    vectors = inputs.vectors or word_vectors()
    words = sentence_vectors(vectors).float()
    places = Sinusoidal(words.shape[-1]).encode(indices.consecutive(len(words)))
    plain = plain_attention((words + places).double())[1][_IT].tolist()
    results: dict[str, list[Attended]] = {"fresh projections": [], "trained by word": [], "trained by place": []}
    steps = 3000 if inputs.full else 300
    for seed in inputs.seeds:
        generator = torch.Generator().manual_seed(seed)
        tested = _orders(400, generator, apart=True)
        for name, targets in (("fresh projections", None), ("trained by word", 0), ("trained by place", 1)):
            weights = _fresh(words.shape[-1], seed)
            if targets is not None:
                _train(weights, words, places, targets, steps, generator)
            results[name].append(_attended(weights, words, places, tested))
    return it_with_projections(plain, results, f"{vectors.source}; {steps} steps of 64 orders; 400 other orders to test on")


def it_with_projections(plain: Sequence[float], results: Mapping[str, Sequence[Attended]], trained_on: str) -> Measurement:
    """Claim A8 on any weights.

    Args:
        plain: of "it" without projections, positions added.
        results: by kind of projections, one for each seed.
        trained_on: what was trained, in words.
    """
    fresh, word, place = (results[name] for name in ("fresh projections", "trained by word", "trained by place"))
    on_animal = {name: fmean(one.sentence[_ANIMAL] for one in runs) for name, runs in results.items()}
    checks = [
        *(
            Check.at_least(f'"it" on "animal" in the sentence, {name}', on_animal[name], 0.5)
            for name in ("trained by word", "trained by place")
        ),
        Check.at_most('"it" on "animal" without projections', plain[_ANIMAL], 0.1, role=Role.CONTROL),
        Check.at_most('"it" on "animal" with fresh projections', on_animal["fresh projections"], 0.3, role=Role.CONTROL),
        Check.at_least('other orders: on "animal", trained by word', fmean(one.animal for one in word), 0.5),
        Check.at_least("other orders: seven back, trained by place", fmean(one.seven_back for one in place), 0.5),
        Check.at_most("other orders: seven back, trained by word", fmean(one.seven_back for one in word), 0.2),
        Check.at_most('other orders: on "animal", trained by place', fmean(one.animal for one in place), 0.2),
    ]
    return Measurement(
        checks=checks,
        key_figure=f'"it" on "animal": {plain[_ANIMAL]:.3f} without projections, {on_animal["trained by word"]:.2f} trained by '
        f"word, {on_animal['trained by place']:.2f} trained by place",
        meaning={
            Verdict.REPRODUCED: 'The same vectors and positions, and two kinds of projections that make "it" look at "animal" '
            f"({on_animal['trained by word']:.0%} and {on_animal['trained by place']:.0%} of the weight) for different "
            f"reasons: in other orders the one goes to the word wherever it stands ({fmean(one.animal for one in word):.0%}), "
            f"the other to the place seven back, whatever stands there ({fmean(one.seven_back for one in place):.0%}). So the "
            "famous picture says nothing on how a model got there, and whether positions are used is the projections' choice.",
            Verdict.REFUTED: 'After this training the projections do not make "it" look where they were trained to.',
        },
        inputs=trained_on,
        tables=[
            Table(
                'Weight of "it", mean over the seeds',
                ("projections", '"animal", article\'s order', '"animal", other orders', "seven back, other orders"),
                [
                    (name, on_animal[name], fmean(one.animal for one in runs), fmean(one.seven_back for one in runs))
                    for name, runs in results.items()
                ],
            )
        ],
        figures=[_picture(plain, fresh, word, place)],
    )


def _orders(count: int, generator: torch.Generator, *, apart: bool) -> Tensor:
    """Orders [count, 12] of the words in which "it" has seven words before it; `apart`, "animal" is not the seventh of them."""
    size = len(SENTENCE)
    kept = torch.empty(0, size, dtype=torch.long)
    while len(kept) < count:
        orders = torch.rand(4 * count, size, generator=generator).argsort(1)
        it, animal = ((orders == word).long().argmax(1) for word in (_IT, _ANIMAL))
        kept = torch.cat((kept, orders[(it >= _BACK) & ((animal != it - _BACK) | (not apart))]))
    return kept[:count]


def _fresh(width: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed + 100)
    query, key = (torch.randn(width, width, generator=generator).mul_(width**-0.75).requires_grad_() for _ in range(2))
    return query, key


def _weights(projections: tuple[Tensor, Tensor], words: Tensor, places: Tensor, orders: Tensor) -> tuple[Tensor, Tensor]:
    """Weights of "it" [N, 12] over the places of each order, and where it stands [N]."""
    x = words[orders] + places
    it = (orders == _IT).long().argmax(1)
    query = x[torch.arange(len(x)), it] @ projections[0]
    scores = torch.einsum("nd,ntd->nt", query, x @ projections[1]) / query.shape[-1] ** 0.5
    return scores.softmax(-1), it


def _train(
    projections: tuple[Tensor, Tensor], words: Tensor, places: Tensor, by_place: int, steps: int, generator: torch.Generator
) -> None:
    optimiser = torch.optim.Adam(projections, lr=3e-3)
    for _ in range(steps):
        orders = _orders(64, generator, apart=False)
        weights, it = _weights(projections, words, places, orders)
        target = it - _BACK if by_place else (orders == _ANIMAL).long().argmax(1)
        loss = -weights.gather(1, target[:, None]).clamp_min(1e-12).log().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


@torch.no_grad()
def _attended(projections: tuple[Tensor, Tensor], words: Tensor, places: Tensor, orders: Tensor) -> Attended:
    sentence = _weights(projections, words, places, torch.arange(len(SENTENCE))[None])[0][0]
    weights, it = _weights(projections, words, places, orders)
    animal = (orders == _ANIMAL).long().argmax(1)
    return Attended(
        sentence.tolist(),
        float(weights.gather(1, animal[:, None]).mean()),
        float(weights.gather(1, (it - _BACK)[:, None]).mean()),
    )


def _picture(plain: Sequence[float], fresh: Sequence[Attended], word: Sequence[Attended], place: Sequence[Attended]) -> Figure:
    drawn = {
        "no projections": plain,
        "fresh": fresh[0].sentence,
        "trained by word": word[0].sentence,
        "trained by place": place[0].sentence,
    }
    with canvas(1, height=3.0) as (figure, axes):
        for number, (name, values) in enumerate(drawn.items()):
            axes.bar(
                [at + 0.2 * (number - 1.5) for at in range(len(SENTENCE))],
                values,
                width=0.2,
                color=SERIES[number]["color"],
                label=name,
            )
        axes.set_xticks(range(len(SENTENCE)), SENTENCE, rotation=40, ha="right")
        axes.set(ylabel='weight of "it"', title='What "it" looks at in the article\'s sentence')
        axes.grid(axis="y")
        axes.legend(ncols=2)
    return Figure(
        "it",
        to_svg(figure),
        caption='Weights of "it" on every word of the article\'s sentence, positions added, for four kinds of projections.',
        alt="; ".join(f"{name}: animal {values[_ANIMAL]:.2f}, it {values[_IT]:.2f}" for name, values in drawn.items()),
    )
