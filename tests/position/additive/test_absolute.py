"""Sinusoids against the formula in float64, published values and other libraries; the learned table against indexing."""

import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ArgumentTypeError, PositionRangeError, ShapeError
from ordinate.position import LearnedTable, NoPosition, Sinusoidal, build, indices
from ordinate.spec import PositionSpec
from tests.position.timm_files import timm_layers


def test_the_last_channel_of_an_odd_width_is_a_sine():
    """Case sinusoid-odd."""
    row = Sinusoidal(5).encode(torch.tensor([1]), dtype=torch.float64)[0]
    assert_close(row.tolist(), [0.8414709848, 0.5403023059, 0.0251162229, 0.9996845379, 0.0006309573], rtol=0, atol=5e-11)


def test_cosine_similarity_falls_with_distance_but_not_monotonically():
    """Case sinusoid-similarity: from any position on, and the same for every position."""
    rows = Sinusoidal(64).encode(indices.consecutive(200), dtype=torch.float64)
    unit = rows / rows.norm(dim=-1, keepdim=True)
    for distance, expected in zip([1, 5, 10, 20, 40, 79], [0.9662, 0.7345, 0.6579, 0.59, 0.4812, 0.4664], strict=True):
        along = (unit[:-distance] * unit[distance:]).sum(-1)
        assert_close(along, along[0].expand_as(along), rtol=0, atol=1e-12)
        assert round(float(along[0]), 4) == expected
    assert float(unit[0] @ unit[43]) > float(unit[0] @ unit[40]) + 0.1


@pytest.mark.parametrize("dim", [1, 2, 5, 64])
def test_interleaved_sinusoids_are_the_formula_of_the_paper(dim):
    positions = [0, 1, 17, 4095, 1_000_000]
    expected = np.empty((len(positions), dim))
    for row, position in enumerate(positions):
        for channel in range(dim):
            angle = position / 10000 ** ((channel - channel % 2) / dim)
            expected[row, channel] = math.cos(angle) if channel % 2 else math.sin(angle)
    found = Sinusoidal(dim).encode(torch.tensor(positions), dtype=torch.float64)
    assert_close(found, torch.from_numpy(expected), rtol=0, atol=1e-9)  # 1e6 radians are known to 1e-10
    assert_close(Sinusoidal(dim).encode(torch.tensor(positions)), torch.from_numpy(expected).float(), rtol=0, atol=6e-8)


def test_the_halved_ladder_ends_exactly_at_one_over_the_base():
    assert Sinusoidal(64, layout="half").frequencies()[-1] == pytest.approx(1e-4, rel=1e-14)
    assert Sinusoidal(64, layout="half", schedule="vaswani").frequencies()[-1] == pytest.approx(10000 ** (-62 / 64), rel=1e-14)


def test_whisper_has_the_halved_sinusoids():
    whisper = pytest.importorskip("transformers.models.whisper.modeling_whisper")
    theirs = whisper.sinusoids(1500, 384)  # float32 throughout, so the far rows carry its rounding
    assert_close(Sinusoidal(384, layout="half").encode(indices.consecutive(1500)), theirs, rtol=0, atol=2e-4)


def test_marian_has_the_halved_sinusoids_with_the_ladder_of_the_paper():
    marian = pytest.importorskip("transformers.models.marian.modeling_marian")
    theirs = marian.MarianSinusoidalPositionalEmbedding(128, 36).create_weight()
    ours = Sinusoidal(36, layout="half", schedule="vaswani").encode(indices.consecutive(128))
    assert_close(ours, theirs, rtol=0, atol=1e-6)


def test_fractional_and_negative_positions_lie_on_the_same_curves():
    encoding = Sinusoidal(8)
    ahead, behind = (encoding.encode(torch.tensor([t], dtype=torch.float64), dtype=torch.float64) for t in (2.5, -2.5))
    assert_close(ahead[:, 0], torch.tensor([math.sin(2.5)], dtype=torch.float64))
    assert_close(behind[:, 0::2], -ahead[:, 0::2])
    assert_close(behind[:, 1::2], ahead[:, 1::2])


@given(st.integers(0, 2**40), st.integers(0, 2**40), st.sampled_from([2, 6, 64]))
def test_the_product_of_two_sinusoids_is_a_sum_of_cosines_of_the_distance(m, n, dim):
    encoding = Sinusoidal(dim)
    a, b = encoding.encode(torch.tensor([m, n]), dtype=torch.float64)
    expected = sum(math.cos(f * (m - n)) for f in encoding.frequencies())
    assert abs(float(a @ b) - expected) < dim * 1e-3  # a frequency of 1 is known to 2^40 * 2^-53 radians


def test_no_position_passes_heads_as_they_are():
    x = torch.randn(1, 2, 3, 4)
    assert NoPosition().rotate(x, torch.arange(3)) is x


def test_a_table_gives_the_rows_at_the_positions():
    table = LearnedTable(8, 4)
    at = torch.tensor([[0, 7], [3, 3]])
    assert torch.equal(table.encode(at), table.weight[at])


def test_roberta_rows_start_behind_the_padding_row():
    roberta = pytest.importorskip("transformers.models.roberta.modeling_roberta")
    tokens = torch.tensor([[1, 1, 5, 6, 7], [4, 5, 6, 7, 8]])  # padding_idx is 1
    rows = roberta.RobertaEmbeddings.create_position_ids_from_input_ids(tokens, padding_idx=1)
    table, real = LearnedTable(10, 4, row_offset=2), tokens != 1
    assert torch.equal(table.encode(indices.from_mask(real))[real], table.weight[rows][real])


def test_opt_rows_start_behind_two_unused_rows():
    opt = pytest.importorskip("transformers.models.opt.modeling_opt")
    theirs = opt.OPTLearnedPositionalEmbedding(10, 4)
    table, mask = LearnedTable(10, 4, row_offset=2), torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]])
    table.load_state_dict(theirs.state_dict())
    real = mask.bool()
    assert torch.equal(table.encode(indices.from_mask(mask))[real], theirs(mask)[real])


@pytest.mark.parametrize(
    ("positions", "error", "words"),
    [
        (torch.tensor([8]), PositionRangeError, "expected positions below num_positions (8), got 8; shorten the input"),
        (torch.tensor([[0, 2049]]), PositionRangeError, "positions below num_positions (8), got 2049"),
        (torch.tensor([3, -1]), PositionRangeError, "expected positions of 0 or more, got -1"),
        (torch.tensor([1.0]), ArgumentTypeError, "expected positions as integers, got torch.float32"),
        (torch.tensor([True]), ArgumentTypeError, "expected positions as integers, got torch.bool"),
        (torch.zeros(1, 1, 1).long(), ShapeError, "got shape (1, 1, 1)"),
    ],
)
def test_a_table_ends_and_says_so(positions, error, words):
    with pytest.raises(error, match=re.escape(words)):
        LearnedTable(8, 4, row_offset=2).encode(positions)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: LearnedTable(0, 4), ArgumentError, "num_positions: expected an integer of at least 1, got 0"),
        (lambda: LearnedTable(4, 4.0), ArgumentTypeError, "dim: expected an integer"),
        (lambda: LearnedTable(4, 4, row_offset=-1), ArgumentError, "row_offset: expected an integer of at least 0, got -1"),
        (lambda: Sinusoidal(0), ArgumentError, "dim: expected an integer of at least 1, got 0"),
        (lambda: Sinusoidal(4, layout="halves"), ArgumentError, "layout: expected 'interleaved' or 'half', got halves"),
        (lambda: Sinusoidal(4, schedule="whisper"), ArgumentError, "schedule: expected 'vaswani' or 'tensor2tensor'"),
        (lambda: Sinusoidal(4, base=1.0), ArgumentError, "base: expected a finite number above 1"),
        (lambda: Sinusoidal(4).encode(torch.tensor([1.0], dtype=torch.float16)), ArgumentTypeError, "got torch.float16"),
        (lambda: LearnedTable(4, 4).resized(0), ArgumentError, "num_positions: expected an integer of at least 1, got 0"),
        (lambda: LearnedTable(4, 4).resized(8, mode="bicubic"), ArgumentError, "mode: expected 'linear' or 'cubic'"),
    ],
)
def test_bad_settings_are_refused_in_words(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()


def test_a_stretched_table_interpolates_between_cell_centres_and_keeps_the_front_rows():
    table = LearnedTable(7, 3, row_offset=2)
    longer = table.resized(19)
    old = table.weight.detach()[2:].numpy()
    at = (np.arange(19) + 0.5) * 7 / 19 - 0.5
    expected = np.stack([np.interp(at, np.arange(7), old[:, channel]) for channel in range(3)], axis=-1)
    assert_close(longer.encode(indices.consecutive(19)), torch.from_numpy(expected).float(), rtol=0, atol=1e-6)
    assert torch.equal(longer.weight[:2], table.weight[:2])
    assert repr(longer) == "LearnedTable(19, 3, row_offset=2)"


@pytest.mark.parametrize("antialias", [False, True])
def test_a_row_is_stretched_as_timm_stretches_a_grid_of_height_one(antialias):
    resize = timm_layers("pos_embed").resample_abs_pos_embed
    table = LearnedTable(16, 8)
    for new in (5, 16, 40):
        theirs = resize(
            table.weight.detach()[None], [1, new], [1, 16], num_prefix_tokens=0, interpolation="bicubic", antialias=antialias
        )
        ours = table.resized(new, mode="cubic", antialias=antialias).weight
        assert_close(ours, theirs[0], rtol=0, atol=1e-6)


def test_a_resize_to_the_same_length_changes_no_bit_and_leaves_the_old_table_alone():
    table = LearnedTable(6, 4).bfloat16()
    before = table.weight.detach().clone()
    same = table.resized(6)
    assert torch.equal(same.weight, before)
    assert same.weight.dtype is torch.bfloat16
    with torch.no_grad():
        same.weight.zero_()
    assert torch.equal(table.weight, before)


def test_the_frequency_schedule_had_another_name_which_warns():
    with pytest.warns(DeprecationWarning, match="ladder= is now schedule="):
        old = Sinusoidal(8, layout="half", ladder="vaswani")
    assert repr(old) == "Sinusoidal(8, layout='half', schedule='vaswani')"
    assert build(PositionSpec("sinusoidal", {"dim": 8, "ladder": "tensor2tensor"})).schedule == "tensor2tensor"
    with pytest.raises(ArgumentTypeError, match="laddr: expected a known argument"):
        Sinusoidal(8, laddr="vaswani")
