"""Numbers in narrower types keep every row on its side of every threshold, on real tables, or are refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from ordinate.errors import RefusedError
from ordinate.logic import FixedPoint, InputThresholds


@pytest.mark.parametrize("loader", [load_breast_cancer, load_wine, load_digits])
def test_a_fitted_format_keeps_all_rows_and_none_narrower_does(loader) -> None:
    x, _ = loader(return_X_y=True)
    codes = InputThresholds.thermometer(x[::4], 4)
    number, moved = FixedPoint.fitting(codes, x)
    sides = x[:, codes.feature] > codes.threshold

    def sent(fraction_bits: int) -> np.ndarray:
        return np.floor(x[:, codes.feature] * 2.0**fraction_bits)

    assert np.array_equal(sent(number.fraction_bits) > np.floor(moved.threshold * 2.0**number.fraction_bits), sides)
    assert sent(number.fraction_bits).max() < 2 ** (number.bits - number.signed)
    coarser = sent(number.fraction_bits - 1)
    assert any(
        coarser[~side, place].max(initial=-1) >= coarser[side, place].min(initial=np.inf) for place, side in enumerate(sides.T)
    )


def test_thresholds_move_only_where_they_must_and_never_past_a_row() -> None:
    rows = np.array([[0.1], [0.2], [0.3], [0.4]])
    codes = InputThresholds(1, [0, 0, 0, 0], [-5.0, 0.25, 0.3, 9.0])
    moved = codes.moved_for(rows, rows.astype(np.float32))
    assert moved.threshold[[0, 1, 3]].tolist() == [-5.0, 0.25, 9.0]
    assert moved.threshold[2] == np.float32(0.3)  # above 0.3 in double: the row would change its side
    with pytest.raises(RefusedError, match=r"0 on both sides of 0\.25 in column 1"):
        codes.moved_for(rows, np.floor(rows))
