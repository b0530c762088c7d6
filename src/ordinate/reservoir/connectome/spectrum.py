"""The leading eigenvalue of a directed matrix, and its spectral radius.

A connectome is not symmetric. A symmetric solver (`eigsh`, `eigvalsh`) reads half of it and returns another number
without a word: 417 in place of 297 for the larval brain. Here it is always the general problem, solved on the sparse matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph, linalg

from ordinate.errors import RefusedError

__all__ = ["cyclic_components", "in_range", "leading_eigenvalue", "leading_pair", "spectral_radius", "times"]

try:  # not public, so that it may be gone one day
    from scipy.sparse._sparsetools import csr_matvec as _csr_matvec
except ImportError:
    _csr_matvec = None

_DENSE_UP_TO = 200

_DENSE_RESCUE_UP_TO = 4000

# (eigenvalues, basis, restarts): one alone converges soon where it stands apart from a dense disc of others, as in any large
# random graph; several, where the leading ones come in rings of one size
_TRIES = ((1, 40, 300), (6, 20, None), (6, 120, None))


def spectral_radius(weights: Any) -> float:
    """The largest absolute eigenvalue of a sparse, directed matrix [N, N]; complex ones count; 0 for a nilpotent matrix.

    The eigenvalues of a matrix are those of its strongly connected components together, so each is solved on its own: what
    leads nowhere back (sensory inputs, descending outputs) costs nothing, and a matrix without cycles gives exactly 0.

    Raises:
        RefusedError: a large matrix whose leading eigenvalues Arnoldi does not separate.

    Source: implicitly restarted Arnoldi, Lehoucq, Sorensen and Yang 1998, ARPACK Users' Guide.

    >>> spectral_radius([[0.0, 1.0], [0.0, 0.0]])  # a chain has no cycle
    0.0
    """
    return abs(leading_eigenvalue(weights))


def leading_eigenvalue(weights: Any) -> complex:
    """The eigenvalue of largest absolute value of a sparse, directed matrix [N, N].

    >>> abs(leading_eigenvalue([[0.0, 1.0], [-1.0, 0.0]]))  # a rotation: plus and minus i
    1.0
    """
    matrix, exponent = in_range(sparse.csr_array(weights).astype(np.float64))
    leading: complex = 0.0
    for inside in cyclic_components(matrix):
        eigenvalue = (
            complex(matrix[inside[0], inside[0]]) if inside.size == 1 else leading_pair(matrix[inside][:, inside], False)[0]
        )
        if abs(eigenvalue) > abs(leading):
            leading = eigenvalue
    return complex(np.ldexp(leading.real, exponent), np.ldexp(leading.imag, exponent)) if exponent else leading


def in_range(matrix: sparse.csr_array) -> tuple[sparse.csr_array, int]:
    """The matrix over a power of two, where its weights are so large or small that products leave float64, and the exponent."""
    largest = float(np.abs(matrix.data).max(initial=0.0))
    exponent = int(np.frexp(largest)[1])
    if abs(exponent) < 200:
        return matrix, 0
    return sparse.csr_array((np.ldexp(matrix.data, -exponent), matrix.indices, matrix.indptr), shape=matrix.shape), exponent


def cyclic_components(matrix: sparse.csr_array) -> list[npt.NDArray[np.int64]]:
    """Strongly connected components that have a cycle."""
    count, member = csgraph.connected_components(matrix, directed=True, connection="strong")
    order = np.argsort(member, kind="stable")
    bounds = np.searchsorted(member[order], np.arange(count + 1))
    sizes = np.diff(bounds)
    looped = matrix.diagonal()[order[bounds[:-1]]] != 0
    return [order[bounds[at] : bounds[at + 1]] for at in np.flatnonzero((sizes > 1) | looped)]


def leading_pair(matrix: sparse.csr_array, vectors: bool) -> tuple[complex, npt.NDArray[Any] | None]:
    """The leading eigenvalue and, if asked, its right eigenvector."""
    count = matrix.shape[0]
    if count <= _DENSE_UP_TO:
        return _dense(matrix, vectors)
    start = np.random.default_rng(0).random(count)  # a start of ones is blind to what adds up to nothing
    for number, basis, restarts in _TRIES:
        limit = restarts or 10 * count
        try:
            solution = linalg.eigs(
                linalg.LinearOperator(matrix.shape, matvec=lambda x: times(matrix, np.ravel(x)), dtype=matrix.dtype),
                k=number,
                which="LM",
                v0=start,
                ncv=basis,
                maxiter=limit,
                return_eigenvectors=vectors,
            )
        except linalg.ArpackNoConvergence:
            continue
        values, right = solution if vectors else (solution, None)
        at = int(np.argmax(np.abs(values)))
        return complex(values[at]), None if right is None else right[:, at]
    if count <= _DENSE_RESCUE_UP_TO:
        return _dense(matrix, vectors)
    raise RefusedError(
        "weights",
        expected="a matrix whose leading eigenvalues Arnoldi separates",
        got=f"none within {10 * count:,} iterations at {count:,} neurons",
        hint='normalise by "output" or "input"',
    )


def times(matrix: sparse.csr_array, vector: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`matrix @ vector` by scipy's own kernel: at a few hundred neurons the operator's checks take longer than the sum."""
    if _csr_matvec is None or vector.dtype != matrix.dtype or not vector.flags.c_contiguous:
        return np.asarray(matrix @ vector)
    rows, columns = matrix.shape
    result = np.zeros(rows, dtype=matrix.dtype)
    _csr_matvec(rows, columns, matrix.indptr, matrix.indices, matrix.data, vector, result)
    return result


def _dense(matrix: sparse.csr_array, vectors: bool) -> tuple[complex, npt.NDArray[Any] | None]:
    if not vectors:
        values = np.linalg.eigvals(matrix.toarray())
        return complex(values[np.argmax(np.abs(values))]), None
    values, right = np.linalg.eig(matrix.toarray())
    at = int(np.argmax(np.abs(values)))
    return complex(values[at]), right[:, at]
