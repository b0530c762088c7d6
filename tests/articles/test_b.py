"""The claims of article B come out as foreseen, and doctored inputs change the verdict."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ordinate.articles.b import b1_norm, b2_inner_product, b3_four_terms, b4_one_sine, b5_skewing, b6_picture
from ordinate.articles.live_bytes import LiveBytes
from ordinate.articles.sentence import sentence_vectors
from ordinate.data import word_vectors
from ordinate.lab.claim import Inputs
from ordinate.lab.measurement import Role, Verdict, judge
from ordinate.position import Sinusoidal


def verdict(measurement) -> Verdict:
    return judge(measurement.checks)[0]


def paper(width, positions):
    return Sinusoidal(width).encode(positions, dtype=torch.float64)


def drawn(*shape, seed=3):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


WORDS = sentence_vectors(word_vectors())
EMBEDDINGS = drawn(2000, 512) / 512**0.5


@pytest.mark.parametrize(
    "encode",
    [
        lambda width, positions: paper(2 * width, positions)[:, 0::2],
        lambda width, positions: paper(width, positions).float().double(),
    ],
    ids=["sines alone", "single precision"],
)
def test_b1_vectors_of_other_lengths_refute_it(encode):
    assert verdict(b1_norm.norms(encode, EMBEDDINGS, WORDS)) is Verdict.REFUTED


def test_b1_embeddings_that_need_no_scaling_refute_it():
    assert verdict(b1_norm.norms(paper, 20 * EMBEDDINGS, WORDS)) is Verdict.REFUTED


def test_b1_without_spread_among_drawn_norms_nothing_can_be_said():
    level = torch.nn.functional.normalize(EMBEDDINGS, dim=-1)
    assert verdict(b1_norm.norms(paper, level, WORDS)) is Verdict.NOT_TESTABLE


@pytest.mark.parametrize(
    "encode",
    [
        lambda width, positions: Sinusoidal(width, base=5000.0).encode(positions, dtype=torch.float64),
        lambda width, positions: paper(width, positions).abs(),
        lambda width, positions: paper(width, positions * positions),
    ],
    ids=["another base", "signs lost", "squared positions"],
)
def test_b2_other_encodings_refute_it(encode):
    assert verdict(b2_inner_product.inner_products(encode, drawn(200, 128))) is Verdict.REFUTED


def test_b2_a_control_that_is_the_encoding_itself_takes_its_word_away():
    assert verdict(b2_inner_product.inner_products(paper, paper(128, torch.arange(200)))) is Verdict.NOT_TESTABLE


def test_b3_vectors_without_content_refute_it():
    places = paper(50, torch.arange(12))
    assert verdict(b3_four_terms.four_terms(1e-3 * WORDS, places)) is Verdict.NOT_TESTABLE  # the mixed terms can be dropped
    assert verdict(b3_four_terms.four_terms(0.1 * WORDS, places)) is Verdict.REFUTED


def test_b3_positions_that_vanish_beside_the_words_refute_it():
    assert verdict(b3_four_terms.four_terms(WORDS * 50**0.5, paper(50, torch.arange(12)))) is Verdict.REFUTED


def test_b4_a_ladder_that_comes_near_itself_refutes_it():
    assert verdict(b4_one_sine.uniqueness(lambda positions: paper(64, positions % 1000))) is Verdict.REFUTED


def test_b4_a_channel_that_rises_evenly_in_place_of_the_slow_sine_refutes_it():
    def even(positions):
        table = paper(64, positions)
        table[:, 36] = positions / 1000
        return table

    assert verdict(b4_one_sine.uniqueness(even)) is Verdict.REFUTED


def test_b5_counts_the_bytes_of_a_tensor_that_is_known():
    with LiveBytes() as live:
        first = torch.ones(1000, dtype=torch.float64)
        second = first + 1
        del first
        third = second * 2
    assert live.peak == 2 * 8000
    assert third.numel() == 1000


def test_b5_a_skew_without_the_saving_refutes_it():
    assert verdict(b5_skewing.skewing(b5_skewing.directly, b5_skewing.directly, 0)) is Verdict.REFUTED


def test_b5_a_skew_that_is_off_by_one_refutes_it():
    def late(music, query):
        return b5_skewing.skewed(music, query).roll(1, dims=-1)

    measured = b5_skewing.skewing(late, b5_skewing.directly, 0)
    assert verdict(measured) is Verdict.REFUTED
    assert not next(check for check in measured.checks if "direct form and skewing" in check.name).holds


@pytest.mark.parametrize(
    "grid",
    [b6_picture.formula().T, np.sin(np.mgrid[0:501, 0:501][0] / 1000.0 ** (np.mgrid[0:501, 0:501][1] / 500))],
    ids=["axes exchanged", "another base"],
)
def test_b6_other_pictures_refute_it(grid):
    assert verdict(b6_picture.picture(grid)) is Verdict.REFUTED


def test_every_role_that_can_take_its_word_away_is_there():
    for module in (b1_norm, b2_inner_product, b6_picture):
        assert any(check.role is Role.CONTROL for check in module.measure(Inputs()).checks)
