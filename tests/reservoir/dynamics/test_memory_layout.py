"""Laid out for speed, edges are the same edges; whole counts behind factors are found and kept in one byte."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ordinate.reservoir import Connectome
from ordinate.reservoir.connectome.gain import normalise
from ordinate.reservoir.connectome.signs import dale
from ordinate.reservoir.dynamics.compiled import PAD, lay_out


def unpacked(incoming):
    """The dense matrix that a layout stands for."""
    layout = lay_out(incoming)
    dense = np.zeros(incoming.shape)
    for row, neuron in enumerate(layout.order):
        for edge in range(layout.starts[row], layout.stops[row]):
            dense[neuron, layout.indices[edge]] += float(layout.counts[edge]) * layout.scale[neuron]
        assert (layout.counts[layout.stops[row] : layout.starts[row + 1]] == 0).all()
    assert (layout.starts % PAD == 0).all()
    return layout, dense


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(["counts", "spectral_radius", "input", "output", "none"]), st.booleans())
def test_no_edge_is_lost_or_changed(seed, by, signed):
    generator = np.random.default_rng(seed)
    weights = (generator.random((25, 25)) < 0.3) * np.minimum(generator.geometric(0.3, (25, 25)), 60).astype(float)
    weights[0, 1] = weights[1, 0] = 1  # a cycle
    brain = Connectome(weights if by != "none" else weights * generator.random((25, 25)))
    brain = dale(brain, 0.4, seed=seed) if signed else brain
    brain = brain if by in ("counts", "none") else normalise(brain, by, 0.9)
    layout, dense = unpacked(brain.incoming)
    assert dense == pytest.approx(brain.weights.toarray().T, rel=1e-6)
    if by in ("counts", "spectral_radius", "input"):
        assert layout.counts.dtype == (np.int8 if (brain.weights.data < 0).any() else np.uint8)


def test_the_larval_brain_takes_three_bytes_an_edge(larval):
    for by in ("spectral_radius", "input"):
        layout = lay_out(normalise(larval, by, 0.9).incoming)
        assert (layout.indices.dtype, layout.counts.dtype) == (np.uint16, np.uint8)
    assert lay_out(normalise(larval, "output", 0.9).incoming).counts.dtype == np.float32


def test_counts_too_large_for_a_byte_and_many_neurons_are_kept_whole():
    big = sparse.csr_array(np.array([[0.0, 300.0, 7.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    layout, dense = unpacked(big)
    assert layout.counts.dtype == np.float32
    assert (dense == big.toarray()).all()
    wide = sparse.csr_array(([1.0], ([69_999], [65_537])), shape=(70_000, 70_000))
    layout = lay_out(wide)
    assert layout.indices.dtype == np.uint32
    assert layout.indices[0] == 65_537


def test_a_network_without_edges_has_a_layout():
    layout = lay_out(sparse.csr_array((4, 4)))
    assert layout.indices.size == 0
    assert sorted(layout.order) == [0, 1, 2, 3]
