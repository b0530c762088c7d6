"""Grids that are added to patches: sinusoids against loops and four published layouts, the learned grid against indexing."""

import math
import re

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ArgumentTypeError, PositionRangeError, RefusedError, ShapeError
from ordinate.position import LearnedGrid, SinusoidalGrid, indices
from ordinate.position.additive.grid import GRID_CONVENTIONS
from tests.position.timm_files import timm_layers


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("arrangement", ["halves", "alternating", "sines-first"])
def test_channels_are_sines_and_cosines_in_the_order_stated(axes, arrangement):
    size = (2, 3, 4)[:axes]
    found = SinusoidalGrid(12 * axes, axes=axes, arrangement=arrangement).table(*size, dtype=torch.float64)
    ladder = [10000 ** (-i / 6) for i in range(6)]
    for token, position in enumerate(np.ndindex(*size)):
        waves = [([math.sin(place * f) for f in ladder], [math.cos(place * f) for f in ladder]) for place in position]
        if arrangement == "halves":
            row = [value for sines, cosines in waves for value in sines + cosines]
        elif arrangement == "alternating":
            row = [value for sines, cosines in waves for pair in zip(sines, cosines, strict=True) for value in pair]
        else:
            row = [value for sines, _ in waves for value in sines] + [value for _, cosines in waves for value in cosines]
        assert_close(found[token], torch.tensor(row, dtype=torch.float64), rtol=0, atol=1e-14)


def mae_authors(dim, size, class_token):
    """Their rule, told anew: "here w goes first" (facebookresearch/mae, util/pos_embed.py); the class token gets zeros."""

    def one(places):
        angles = np.outer(places, 1 / 10000 ** (np.arange(dim // 4) / (dim / 4)))
        return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

    columns, rows = np.meshgrid(np.arange(size[1], dtype=float), np.arange(size[0], dtype=float))
    patches = np.concatenate([one(columns.ravel()), one(rows.ravel())], axis=1)
    return np.concatenate([np.zeros((1, dim)), patches]) if class_token else patches


@pytest.mark.parametrize("size", [(4, 4), (3, 5)])
def test_mae_puts_width_first_and_zeros_for_the_class_token(size):
    ours = SinusoidalGrid.named("mae", 32).table(*size, class_tokens=1, dtype=torch.float64)
    assert_close(ours, torch.from_numpy(mae_authors(32, size, True)), rtol=0, atol=1e-12)


def test_aimv2_has_height_first_where_mae_has_width_first():
    model = pytest.importorskip("transformers.models.aimv2.modeling_aimv2")
    theirs = model.build_2d_sinusoidal_position_embedding(3, 5, 32, cls_token=True)
    ours = SinusoidalGrid.named("aimv2", 32).table(3, 5, class_tokens=1)
    assert_close(ours, theirs, rtol=0, atol=1e-7)
    mae = SinusoidalGrid.named("mae", 32)
    assert not torch.allclose(mae.table(3, 5), theirs[1:], atol=1e-2)
    assert_close(mae.encode(indices.grid(3, 5).flip(-1)), theirs[1:], rtol=0, atol=1e-7)


def test_timm_puts_all_sines_before_all_cosines():
    build = timm_layers("pos_embed_sincos").build_sincos2d_pos_embed
    assert_close(SinusoidalGrid.named("timm", 32).table(3, 5), build([3, 5], 32), rtol=0, atol=1e-6)
    assert_close(SinusoidalGrid(32).table(3, 5), build([3, 5], 32, interleave_sin_cos=True), rtol=0, atol=1e-6)


def test_detr_alternates_and_normalises():
    model = pytest.importorskip("transformers.models.detr.modeling_detr")
    theirs = model.DetrSinePositionEmbedding(16, normalize=True)(torch.Size((1, 3, 5, 7)), "cpu", torch.float32)
    ours = SinusoidalGrid.named("detr", 32).table(5, 7)
    assert_close(ours, theirs[0].flatten(1).T, rtol=0, atol=2e-6)
    plain = model.DetrSinePositionEmbedding(16)(torch.Size((1, 3, 5, 7)), "cpu", torch.float32)
    counted = SinusoidalGrid.named("detr", 32, coordinates="ordinal").table(5, 7)
    assert_close(counted, plain[0].flatten(1).T, rtol=0, atol=2e-6)


@pytest.mark.parametrize("convention", sorted(GRID_CONVENTIONS))
def test_a_named_grid_is_the_call_that_it_prints(convention):
    made = SinusoidalGrid.named(convention, 16)
    again = eval(repr(made), {"SinusoidalGrid": SinusoidalGrid})
    assert torch.equal(again.table(2, 3), made.table(2, 3))


def test_a_learned_grid_gives_the_cells_at_the_positions():
    grid = LearnedGrid((2, 3), 4)
    at = torch.tensor([[[1, 2], [0, 0]], [[1, 0], [1, 0]]])
    assert torch.equal(grid.encode(at), torch.stack([torch.stack([grid.weight[y, x] for y, x in row]) for row in at.tolist()]))
    assert torch.equal(grid.encode(indices.grid(2, 3)), grid.table())
    video = LearnedGrid((2, 3, 2), 4)
    assert torch.equal(video.encode(torch.tensor([[1, 2, 0]]))[0], video.weight[1, 2, 0])


def test_class_tokens_are_kept_apart_and_no_resize_touches_them():
    grid = LearnedGrid((3, 4), 8, class_tokens=2)
    assert torch.equal(grid.table()[:2], grid.class_weight)
    stretched = grid.resized(5, 6)
    assert torch.equal(stretched.class_weight, grid.class_weight)
    assert_close(stretched.table(), grid.table(5, 6), rtol=0, atol=0)
    assert (repr(stretched), stretched.table().shape) == ("LearnedGrid((5, 6), 8, class_tokens=2)", (32, 8))


def test_vit_stretches_its_checkpoint_to_another_image_in_the_same_way():
    model = pytest.importorskip("transformers.models.vit.modeling_vit")
    config = model.ViTConfig(hidden_size=16, num_attention_heads=2, image_size=64, patch_size=16)
    theirs = model.ViTEmbeddings(config)
    torch.nn.init.normal_(theirs.position_embeddings)
    ours = LearnedGrid.from_table(theirs.position_embeddings.detach(), (4, 4), class_tokens=1)
    for height, width in ((96, 48), (32, 80), (64, 64)):
        patches = height * width // 256
        expected = theirs.interpolate_pos_encoding(torch.zeros(1, patches + 1, 16), height, width)
        assert_close(ours.table(height // 16, width // 16), expected[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("antialias", [True, False])
def test_timm_stretches_non_square_grids_in_the_same_way(antialias):
    resize = timm_layers("pos_embed").resample_abs_pos_embed
    table = torch.randn(1, 2 + 15, 8, generator=torch.Generator().manual_seed(0))
    ours = LearnedGrid.from_table(table, (3, 5), class_tokens=2)
    for new in ((7, 4), (2, 2), (6, 10)):
        expected = resize(table, list(new), [3, 5], num_prefix_tokens=2, antialias=antialias)
        assert_close(ours.table(*new, antialias=antialias), expected[0], rtol=0, atol=1e-6)


def test_a_video_grid_is_stretched_along_three_axes():
    grid = LearnedGrid((2, 2, 2), 1)
    with torch.no_grad():
        grid.weight.copy_(torch.arange(8.0).reshape(2, 2, 2, 1))
    assert_close(grid.table(4, 2, 2).reshape(4, 4)[:, 0], torch.tensor([0.0, 1.0, 3.0, 4.0]))
    with pytest.raises(RefusedError, match="'linear' without antialias along three axes"):
        grid.table(4, 2, 2, mode="cubic")


def test_gradients_reach_the_trained_grid_through_a_resize():
    grid = LearnedGrid((3, 3), 4, class_tokens=1)
    grid.table(6, 5).sum().backward()
    assert_close(grid.class_weight.grad, torch.ones(1, 4))
    assert_close(grid.weight.grad.sum(), torch.tensor(30.0 * 4))


@pytest.mark.parametrize(
    ("positions", "error", "words"),
    [
        (torch.tensor([[2, 0]]), PositionRangeError, "expected positions from 0 to 1 along axis 0 of the grid (2, 3), got 2"),
        (torch.tensor([[0, -1]]), PositionRangeError, "expected positions from 0 to 2 along axis 1 of the grid (2, 3), got -1"),
        (torch.tensor([[0.0, 1.0]]), ArgumentTypeError, "expected positions as integers, got torch.float32"),
        (torch.tensor([0, 1]), ShapeError, "expected positions with 2 axes"),
        (torch.tensor([[0, 1, 1]]), ShapeError, "expected positions with 2 axes"),
    ],
)
def test_a_grid_ends_and_says_so(positions, error, words):
    with pytest.raises(error, match=re.escape(words)):
        LearnedGrid((2, 3), 4).encode(positions)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: SinusoidalGrid(6), ArgumentError, "dim: expected a multiple of 4, a sine and a cosine for each axis, got 6"),
        (lambda: SinusoidalGrid(8, axes=3), ArgumentError, "dim: expected a multiple of 6"),
        (lambda: SinusoidalGrid(8.0), ArgumentTypeError, "dim: expected an integer"),
        (lambda: SinusoidalGrid(8, axes=1), ArgumentError, "axes: expected 2 or 3, got 1"),
        (lambda: SinusoidalGrid(8, arrangement="mixed"), ArgumentError, "arrangement: expected one of halves"),
        (lambda: SinusoidalGrid(8, order=(1, 1)), ArgumentError, "order: expected each of [0, 1] once"),
        (lambda: SinusoidalGrid(8, base=1), ArgumentError, "base: expected a finite number above 1"),
        (lambda: SinusoidalGrid(8, coordinates="unit"), ArgumentError, "coordinates: expected one of"),
        (lambda: SinusoidalGrid(8).table(4), ShapeError, "size: expected 2 sizes, got (4,)"),
        (
            lambda: SinusoidalGrid(8).table(2, 2, class_tokens=-1),
            ArgumentError,
            "class_tokens: expected an integer",
        ),
        (lambda: SinusoidalGrid.named("vit", 8), ArgumentError, "convention: expected one of aimv2, detr, mae, timm"),
        (lambda: LearnedGrid((2,), 4), ArgumentError, "size: expected (height, width) or (frames, height, width), got (2,)"),
        (lambda: LearnedGrid((2, 0), 4), ArgumentError, "size: expected an integer of at least 1, got 0"),
        (lambda: LearnedGrid((2, 2), 0), ArgumentError, "dim: expected an integer of at least 1, got 0"),
        (
            lambda: LearnedGrid((2, 2), 4, class_tokens=-1),
            ArgumentError,
            "class_tokens: expected an integer",
        ),
        (lambda: LearnedGrid((2, 2), 4).table(4), ShapeError, "size: expected 2 sizes"),
        (
            lambda: LearnedGrid.from_table(torch.zeros(6, 4), (2, 3), class_tokens=1),
            ShapeError,
            "table: expected [7, D]: 1 class tokens and 6 cells, got shape (6, 4)",
        ),
    ],
)
def test_bad_settings_are_refused_in_words(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()
