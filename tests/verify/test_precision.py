"""Bounds hold for correct code and are far below what wrong code does."""

from __future__ import annotations

import pytest
import torch

from ordinate.verify.precision import angle_error, rotation_error
from ordinate.verify.references.rotation import RotarySettings, frequencies


@pytest.mark.parametrize("base", [100.0, 10000.0, 5e5, 1e7])
@pytest.mark.parametrize("dim", [64, 128])
def test_angles_formed_in_float32_stay_below_the_bound_however_they_are_written(base, dim):
    settings = RotarySettings.checked(dim, None, base=base)
    exact, positions = frequencies(settings), torch.tensor([1, 255, 4095, 32_767, 131_071, 1_000_003])
    steps = torch.arange(0, dim, 2).float()
    written = (
        1.0 / base ** (steps / dim),
        torch.exp(-torch.log(torch.tensor(base)) * steps / dim),
        base ** -(steps / dim),
        torch.pow(torch.tensor(base), -steps / dim),
    )
    bound = angle_error(positions, exact)
    for rates in written:
        off = ((positions.float().unsqueeze(-1) * rates).double() - positions.double().unsqueeze(-1) * exact).abs()
        assert bool((off <= bound + 1e-12).all())


def test_the_bound_tells_bfloat16_from_float32_at_every_far_position():
    rates, positions = frequencies(RotarySettings.checked(128, None)), torch.tensor([4095, 131_071])
    rounded = (positions.double().unsqueeze(-1) * (rates.bfloat16().double() - rates)).abs()
    assert bool((rounded.amax(-1) > 10 * angle_error(positions, rates).amax(-1)).all())


def test_scores_shift_by_what_the_docs_say():
    """128 channels of unit variance, scores over sqrt(128), angles in float32: the figures of docs/verify.md, roughly."""
    settings = RotarySettings.checked(128, None)
    rates = frequencies(settings).float()
    x = torch.randn(64, 2, 128, generator=torch.Generator().manual_seed(0))

    def score(position: int) -> torch.Tensor:
        turned = []
        for vector, place in ((x[:, 0], position + 5), (x[:, 1], position)):
            angle = torch.tensor(float(place)) * rates
            a, b = vector.chunk(2, -1)
            turned.append(torch.cat((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1))
        return (turned[0] * turned[1]).sum(-1) / 128**0.5

    near = score(0)
    for position, told in ((4096, 3.3e-5), (131_072, 1.8e-3)):
        shift = float((score(position) - near).abs().max())
        assert told / 4 < shift < told * 4
        bound = 2 * rotation_error(torch.tensor([position]), frequencies(settings), torch.float32).max()
        assert shift < float(bound) * float((x[:, 0].norm(dim=-1) * x[:, 1].norm(dim=-1)).max()) / 128**0.5


def test_float64_angles_have_no_room_that_grows():
    rates = frequencies(RotarySettings.checked(64, None))
    near, far = (rotation_error(torch.tensor([p]), rates, torch.float32, "float64").max() for p in (0, 1_000_000))
    assert float(far) < 2 * float(near)
