"""The radius is that of the directed matrix, and the leading mode says who carries it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ordinate.errors import RefusedError
from ordinate.reservoir import Connectome
from ordinate.reservoir.connectome.spectrum import leading_eigenvalue, spectral_radius
from ordinate.reservoir.connectome.summary import leading_mode


@given(st.integers(0, 10**6), st.floats(0.02, 0.5), st.booleans())
@settings(max_examples=30, deadline=None)
def test_the_radius_is_that_of_a_dense_solver(seed, density, signed):
    generator = np.random.default_rng(seed)
    matrix = (generator.random((40, 40)) < density) * generator.integers(1, 9, (40, 40))
    if signed:
        matrix = matrix * generator.choice([-1, 1], (40, 40))
    assert spectral_radius(sparse.csr_array(matrix)) == pytest.approx(np.abs(np.linalg.eigvals(matrix)).max(), abs=1e-3)


@pytest.mark.parametrize("signed", [False, True])
def test_large_components_go_through_arnoldi_and_agree_too(signed):
    generator = np.random.default_rng(1)
    matrix = (generator.random((400, 400)) < 0.05) * generator.integers(1, 9, (400, 400)).astype(float)
    if signed:
        matrix *= generator.choice([-1, 1], (400, 400))
    expected = np.abs(np.linalg.eigvals(matrix)).max()
    assert spectral_radius(sparse.csr_array(matrix)) == pytest.approx(expected, rel=1e-9)


def test_complex_eigenvalues_count():
    """A ring of four that inhibits once: eigenvalues on the circle at 45 degrees, none of them real."""
    ring = np.roll(np.eye(4), 1, axis=1)
    ring[3, 0] = -1
    assert spectral_radius(ring) == pytest.approx(1)
    assert abs(leading_eigenvalue(ring).imag) == pytest.approx(np.sqrt(0.5))


def test_a_matrix_without_cycles_has_radius_zero_exactly():
    """Rounding gives a dense solver 1e-3 here: a nilpotent matrix of depth 60 is as badly conditioned as can be."""
    chain = np.triu(np.random.default_rng(0).integers(0, 9, (60, 60)), k=1)
    assert spectral_radius(chain) == 0
    assert Connectome(chain).spectral_radius() == 0


def test_self_loops_are_cycles():
    assert spectral_radius([[0, 1, 0], [0, 3, 1], [0, 0, 0]]) == 3


def test_the_larval_radius_is_297(larval):
    assert larval.spectral_radius() == pytest.approx(297.14, abs=0.005)


@pytest.mark.slow
def test_a_symmetric_solver_says_417(larval):
    """What `eigvalsh` and its like make of a matrix of which they read one triangle: not the radius."""
    dense = larval.weights.toarray().astype(float)
    assert np.abs(np.linalg.eigvalsh(dense)).max() == pytest.approx(417, abs=0.5)


def test_local_neurons_of_the_antennal_lobe_carry_the_leading_mode_and_the_mushroom_body_does_not(larval):
    mode = leading_mode(larval)
    assert next(iter(mode.by_kind)) == "LN"
    assert mode.by_kind["LN"] == pytest.approx(0.68, abs=0.005)
    assert mode.by_kind["KC"] == pytest.approx(0.017, abs=0.0005)
    assert mode.shares.sum() == pytest.approx(1)
    without = larval.restrict("!KC & !MBON & !MBIN")
    assert without.spectral_radius() == pytest.approx(296.69, abs=0.005)


def test_the_leading_mode_is_what_activity_settles_into():
    brain = Connectome.synthetic()
    x = np.ones(100)
    for _ in range(200):
        x = brain.propagate(x)
        x /= np.linalg.norm(x)
    mode = leading_mode(brain)
    assert x**2 == pytest.approx(mode.shares, abs=1e-6)
    assert mode.num_carriers == pytest.approx(1 / (x**4).sum())
    assert sum(mode.by_kind.values()) == pytest.approx(1)
    assert sum(mode.by_side.values()) == pytest.approx(1)


def test_a_nilpotent_connectome_has_no_leading_mode():
    with pytest.raises(RefusedError, match="nilpotent"):
        leading_mode(Connectome([[0, 1], [0, 0]]))
