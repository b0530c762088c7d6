"""What positions do to attention in sentences other than article A's: its own words in other orders, its form with other words,
and English prose. Each gives the factor by which a weight of attention without projections changes when positions are added.

The prose is the reference manual that the running Python carries as help topics, so it is on every machine and nobody chose it
for the result.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ordinate.articles.a.sentence import plain_attention, sentence_vectors
from ordinate.data import WordVectors

__all__ = ["Factors", "in_other_orders", "in_prose", "of_same_form", "prose_sentences", "sentences_of_same_form"]

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
