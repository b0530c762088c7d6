"""A1 comes out as published, and other inputs change the verdict."""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.articles.a.a1_order_blind import order_blind
from ordinate.articles.sentence import plain_attention, sentence_vectors
from ordinate.attention import Causal
from ordinate.data import word_vectors
from ordinate.lab.measurement import Measurement, Verdict, judge

SEEDS = range(4)


def verdict(measurement: Measurement) -> Verdict:
    return judge(measurement.checks)[0]


def values(measurement: Measurement) -> dict[str, float]:
    return {check.name: check.value for check in measurement.checks}


def by_hand(x: Tensor) -> tuple[Tensor, Tensor]:
    weights = torch.softmax(x @ x.T / x.shape[1] ** 0.5, dim=-1)
    return weights @ x, weights


def test_the_sentence_reproduces_the_article() -> None:
    embeddings = sentence_vectors(word_vectors())
    assert verdict(order_blind(embeddings, plain_attention, SEEDS)) is Verdict.REPRODUCED
    torch.testing.assert_close(plain_attention(embeddings), by_hand(embeddings), rtol=0, atol=1e-14)


def test_a_batch_of_sentences_is_attended_to_one_by_one() -> None:
    embeddings = sentence_vectors(word_vectors())
    outputs, weights = plain_attention(torch.stack([embeddings, embeddings.flip(0)]))
    torch.testing.assert_close((outputs[1], weights[1]), by_hand(embeddings.flip(0)), rtol=0, atol=1e-14)


def test_a_causal_mask_refutes_it() -> None:
    embeddings = sentence_vectors(word_vectors())
    assert verdict(order_blind(embeddings, lambda x: plain_attention(x, Causal()), SEEDS)) is Verdict.REFUTED


def test_weights_that_depend_on_the_place_refute_it() -> None:
    tilt = torch.linspace(0, 1e-12, 12, dtype=torch.float64)  # far below what a reader would see in a picture

    def tilted(x: Tensor) -> tuple[Tensor, Tensor]:
        outputs, weights = by_hand(x)
        return outputs, weights + tilt

    assert verdict(order_blind(sentence_vectors(word_vectors()), tilted, SEEDS)) is Verdict.REFUTED


def test_float32_is_not_enough_for_the_articles_figure() -> None:
    embeddings = sentence_vectors(word_vectors())

    def rounded(x: Tensor) -> tuple[Tensor, Tensor]:
        outputs, weights = by_hand(x.float())
        return outputs.double(), weights.double()

    assert verdict(order_blind(embeddings, rounded, SEEDS)) is Verdict.REFUTED


def test_one_word_repeated_tells_nothing() -> None:
    same = sentence_vectors(word_vectors(), ("the",) * 12)
    assert verdict(order_blind(same, plain_attention, SEEDS)) is Verdict.NOT_TESTABLE
