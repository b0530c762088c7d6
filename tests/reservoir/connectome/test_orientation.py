"""Totals counted apart from a matrix prove which way round it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import DataError
from ordinate.reservoir.connectome.orientation import prove_orientation

FAN = np.array([[0, 5, 4], [0, 0, 1], [0, 0, 0]])  # 0 sends 9, 2 receives 5


def test_a_matrix_within_its_totals_is_proved_and_its_transpose_refused():
    outputs, inputs = [10, 2, 0], [0, 5, 6]
    result = prove_orientation(FAN, outputs=outputs, inputs=inputs)
    assert (result.proved, result.row_excess, result.column_excess) == (True, 0, 0)
    with pytest.raises(DataError, match="a transposed matrix"):
        prove_orientation(FAN.T, outputs=outputs, inputs=inputs)


def test_totals_of_another_brain_fit_neither_way():
    with pytest.raises(DataError, match="different neurons or versions"):
        prove_orientation(FAN, outputs=[1, 1, 1], inputs=[1, 1, 1])


def test_generous_totals_prove_nothing():
    result = prove_orientation(FAN, outputs=[99] * 3, inputs=[99] * 3)
    assert result.fits
    assert result.fits_transposed
    assert not result.proved


def test_neurons_without_totals_are_left_out():
    result = prove_orientation(FAN, outputs=[np.nan, 2, 0], inputs=[0, 5, 6])
    assert result.compared == 2


@given(st.integers(0, 10**6))
def test_true_totals_never_refuse_a_matrix(seed):
    generator = np.random.default_rng(seed)
    matrix = generator.poisson(0.5, (9, 9))
    more = generator.integers(0, 3, (2, 9))
    assert prove_orientation(matrix, outputs=matrix.sum(1) + more[0], inputs=matrix.sum(0) + more[1]).fits
