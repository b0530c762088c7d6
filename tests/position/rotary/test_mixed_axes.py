"""Mixed rotations against complex numbers in float64, timm's implementation and the authors' initialisation."""

import re

import pytest
import torch
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position import MixedRotary, indices
from tests.position.timm_files import timm_layers


def heads(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("axes", [2, 3])
def test_every_head_turns_by_its_own_mix_of_the_axes(axes):
    mixed = MixedRotary(12, 4, axes=axes).double()
    positions = indices.grid(*(2, 3, 2)[:axes])
    x = heads(2, 4, len(positions), 12)
    angles = sum(positions[:, a, None].double() * mixed.weight[a, :, None].detach() for a in range(axes))
    expected = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * torch.exp(1j * angles)).flatten(-2)
    assert_close(mixed.rotate(x, positions), expected, rtol=0, atol=1e-12)


def test_timm_turns_by_the_same_mix():
    """timm and the authors have width before height, and one tensor for all layers; apply_rot_embed_cat pairs (2i, 2i + 1)."""
    layers = timm_layers("pos_embed_sincos")
    theirs = layers.RotaryEmbeddingMixed(64, depth=3, num_heads=4)
    ours = MixedRotary(16, 4)
    x = heads(1, 4, 15, 16).float()
    for depth in range(3):
        with torch.no_grad():
            ours.weight.copy_(theirs.freqs[:, depth].flip(0))
        expected = layers.apply_rot_embed_cat(x, theirs.get_embed([3, 5])[depth])
        assert_close(ours.rotate(x, indices.grid(3, 5)), expected, rtol=0, atol=3e-6)


def test_the_start_is_the_authors_ladder_along_two_turned_axes():
    """As in `init_random_2d_freqs`: magnitudes base^(-4 i / D), once along a direction and once across it."""
    weight = MixedRotary(32, 6).weight.detach()
    magnitudes = torch.tensor([10.0 ** (-4 * i / 32) for i in range(8)])
    assert_close(weight.square().sum(0).sqrt(), magnitudes.repeat(2).expand(6, -1))
    along, across = weight[..., :8], weight[..., 8:]
    assert_close((along * across).sum(0), torch.zeros(6, 8), rtol=0, atol=1e-6)
    assert_close(along[0] * across[1] - along[1] * across[0], magnitudes.square().expand(6, -1))  # turned by +90 degrees
    angles = torch.atan2(weight[1, :, 0], weight[0, :, 0])
    assert angles.unique().numel() == 6


def test_three_axes_start_along_three_orthogonal_directions():
    weight = MixedRotary(24, 5, axes=3).weight.detach().double()
    directions = weight[:, :, ::4].permute(1, 0, 2)  # [H, A, A], the highest frequency of each direction
    assert_close(directions.mT @ directions, torch.eye(3, dtype=torch.float64).expand(5, 3, 3), rtol=0, atol=1e-6)
    assert_close(torch.linalg.det(directions), torch.ones(5, dtype=torch.float64), rtol=0, atol=1e-6)


def test_directions_are_drawn_evenly():
    torch.manual_seed(0)
    weight = MixedRotary(4, 4000).weight.detach()[:, :, 0]
    for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        share = ((weight[0] * signs[0] > 0) & (weight[1] * signs[1] > 0)).float().mean()
        assert abs(float(share) - 0.25) < 0.03  # 4.4 standard deviations


def test_rows_of_a_batch_may_have_grids_of_their_own():
    mixed, x = MixedRotary(8, 3).double(), heads(2, 3, 6, 8)
    grids = [indices.grid(2, 3), indices.grid(3, 2)]
    together = mixed.rotate(x, torch.stack(grids))
    for row in (0, 1):
        assert_close(together[row : row + 1], mixed.rotate(x[row : row + 1], grids[row]), rtol=0, atol=1e-15)
    one_for_all = mixed.rotate(x, grids[0][None])
    assert_close(one_for_all, mixed.rotate(x, grids[0]), rtol=0, atol=1e-15)


def test_the_frequencies_learn():
    mixed, x = MixedRotary(8, 2).double(), heads(2, 2, 6, 8)

    def scores(weight):
        q, k = (torch.func.functional_call(mixed, {"weight": weight}, (each,)) for each in (x, x.flip(2)))
        return (q * k).sum(-1)

    mixed.forward = lambda each: mixed.rotate(each, indices.grid(2, 3))
    assert torch.autograd.gradcheck(scores, mixed.weight.detach().clone().requires_grad_())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: MixedRotary(10, 2), ArgumentError, "head_dim: expected a multiple of 4 channels, got 10"),
        (lambda: MixedRotary(16, 2, axes=3), ArgumentError, "head_dim: expected a multiple of 6 channels, got 16"),
        (lambda: MixedRotary(16, 2, axes=4), ArgumentError, "axes: expected 2 or 3, got 4"),
        (lambda: MixedRotary(16, 0), ArgumentError, "num_heads: expected an integer of at least 1, got 0"),
        (lambda: MixedRotary(16, 2.0), ArgumentTypeError, "num_heads: expected an integer"),
        (lambda: MixedRotary(16, 2, layout="x"), ArgumentError, "layout: expected 'half'"),
        (lambda: MixedRotary(16, 2).rotate(torch.zeros(1, 1, 4, 16), indices.grid(2, 2)), ShapeError, "with D=16, H=2"),
        (lambda: MixedRotary(16, 2).rotate(torch.zeros(1, 2, 4, 16), torch.arange(4)), ShapeError, "positions with 2 axes"),
    ],
)
def test_bad_settings_and_positions_are_refused_in_words(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()
