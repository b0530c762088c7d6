"""How strong the recurrence is: the true spectral radius of a directed matrix, and connectomes scaled to a gain."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph, linalg

from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir.connectome import Connectome

__all__ = ["normalise", "spectral_radius"]

_DENSE_UP_TO = 200


def spectral_radius(weights: Any) -> float:
    """The largest absolute eigenvalue of a sparse, directed matrix [N, N]."""
    matrix = sparse.csr_array(weights).astype(np.float64)
    _, member = csgraph.connected_components(matrix, directed=True, connection="strong")
    largest = 0.0
    diagonal = np.abs(matrix.diagonal())
    sizes = np.bincount(member)
    single = sizes[member] == 1
    if single.any():
        largest = float(diagonal[single].max())
    for component in np.flatnonzero(sizes > 1):
        inside = np.flatnonzero(member == component)
        largest = max(largest, _irreducible_radius(matrix[inside][:, inside]))
    return largest


def _irreducible_radius(matrix: sparse.csr_array) -> float:
    if matrix.shape[0] <= _DENSE_UP_TO:
        return float(np.abs(np.linalg.eigvals(matrix.toarray())).max())
    start = np.random.default_rng(0).random(matrix.shape[0])
    values = linalg.eigs(matrix, k=6, which="LM", v0=start, return_eigenvectors=False, maxiter=20 * matrix.shape[0])
    return float(np.abs(values).max())


def normalise(connectome: Connectome, by: str, value: float) -> Connectome:
    """Scale weights so that a chosen measure of gain is `value`.

    Args:
        connectome: whose weights are scaled; absent edges stay absent.
        by: "spectral_radius"; "output", the absolute weights each neuron sends add to `value`; "input", those that it
            receives do.
        value: the measure afterwards.
    """
    if by == "spectral_radius":
        radius = connectome.spectral_radius()
        if radius == 0:
            raise RefusedError(
                "connectome",
                expected="a matrix with a cycle",
                got="a nilpotent one: its spectral radius is 0, and no factor changes that",
                todo='normalise by "output" or "input"',
            )
        return connectome.with_weights(
            connectome.weights * (value / radius), name=f"{connectome.name}, spectral radius {value:g}"
        )
    if by in ("output", "input"):
        axis = 1 if by == "output" else 0
        sums = np.asarray(abs(connectome.weights.astype(np.float64)).sum(axis=axis)).ravel()
        factors = sparse.diags_array(np.divide(value, sums, out=np.zeros_like(sums), where=sums > 0))
        scaled = factors @ connectome.weights if axis else connectome.weights @ factors
        return connectome.with_weights(scaled, name=f"{connectome.name}, {by} {value:g}")
    raise ArgumentError("by", expected='"spectral_radius", "output", "input" or "effective_radius"', got=by, todo="choose one")
