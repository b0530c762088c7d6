"""Stretched tables against separable interpolation written out in numpy."""

import re

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.position.additive.resampling import resample


def along(table, axis, cells, mode):
    """One axis of a numpy table stretched to `cells`, from the definition: taps beyond the ends repeat the end."""
    n = table.shape[axis]
    at = (np.arange(cells) + 0.5) * n / cells - 0.5
    if mode == "linear":
        at = np.clip(at, 0, n - 1)
    base = np.floor(at).astype(int)

    def kernel(x):
        x = np.abs(x)
        if mode == "linear":
            return np.clip(1 - x, 0, None)
        a = -0.75
        near = (a + 2) * x**3 - (a + 3) * x**2 + 1
        far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
        return np.where(x <= 1, near, np.where(x < 2, far, 0))

    out = 0
    for tap in range(-1, 3):
        weight = kernel(at - (base + tap))
        rows = np.take(table, np.clip(base + tap, 0, n - 1), axis=axis)
        out = out + rows * weight.reshape([-1 if d == axis else 1 for d in range(table.ndim)])
    return out


SIZES = [((7,), (12,)), ((7,), (3,)), ((4, 6), (9, 6)), ((4, 6), (3, 11)), ((2, 3, 4), (5, 2, 7))]


@pytest.mark.parametrize(
    ("old", "new", "mode"),
    [(old, new, mode) for old, new in SIZES for mode in ("linear", "cubic") if len(old) < 3 or mode == "linear"],
)
def test_every_axis_is_interpolated_between_cell_centres(old, new, mode):
    table = torch.randn(*old, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = table.numpy()
    for axis, cells in enumerate(new):
        expected = along(expected, axis, cells, mode)
    assert_close(resample(table, new, mode=mode), torch.from_numpy(expected), rtol=0, atol=1e-12)


def test_a_shrunken_table_averages_where_antialiased():
    """Halving an alternating row: the plain rule keeps one of two cells' mix, the wide kernel sees the average."""
    row = torch.tensor([0.0, 1.0]).repeat(8).unsqueeze(-1)
    wide = resample(row, [4], mode="linear", antialias=True)
    assert_close(wide, torch.full((4, 1), 0.5), rtol=0, atol=0.04)
    spike = torch.zeros(16, 1)
    spike[5] = 1.0
    assert_close(resample(spike, [2], mode="linear").sum(), torch.tensor(0.0))
    assert float(resample(spike, [2], mode="linear", antialias=True).sum()) > 0.1


def test_the_same_size_changes_no_bit_and_half_precision_is_worked_wide():
    table = torch.randn(4, 4, 8, generator=torch.Generator().manual_seed(0)).bfloat16()
    assert resample(table, (4, 4), mode="cubic") is table
    stretched = resample(table, (6, 5), mode="cubic")
    assert stretched.dtype is torch.bfloat16
    assert torch.equal(stretched, resample(table.float(), (6, 5), mode="cubic").bfloat16())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda t: resample(t, [4], mode="linear"),
            ShapeError,
            "size: expected 2 sizes for a table of shape (2, 3, 4), got (4,)",
        ),
        (lambda t: resample(t[0, 0], [], mode="linear"), ShapeError, "expected 0 sizes"),
        (lambda t: resample(t, [4, 0], mode="linear"), ArgumentError, "size: expected whole numbers of 1 or more, got (4, 0)"),
        (
            lambda t: resample(t, [4, 2.0], mode="linear"),
            ArgumentTypeError,
            "size: expected whole numbers of 1 or more, got 2.0",
        ),
        (lambda t: resample(t, [4, 4], mode="nearest"), ArgumentError, "mode: expected 'linear' or 'cubic', got nearest"),
        (lambda t: resample(t[None], [2, 4, 4], mode="cubic"), RefusedError, "'linear' without antialias along three axes"),
        (lambda t: resample(t[None], [2, 4, 4], mode="linear", antialias=True), RefusedError, "got 'linear', antialias=True"),
    ],
)
def test_what_cannot_be_stretched_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call(torch.zeros(2, 3, 4))
