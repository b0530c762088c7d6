"""Ridge regression on reservoir states that never need to be in memory together.

What a ridge readout needs of T states of N neurons is their mean, their centred second moments [N, N] and their moments with
the targets [N, K]. They are gathered block by block, so memory does not grow with T, and two gatherings can be merged (Chan,
Golub and LeVeque 1983, "Algorithms for computing the sample variance", equations 1.5). Blocks are centred before they are
multiplied: the textbook form, E[xx'] - mean mean', loses its digits where states sit far from 0.

A column far from 1 is scaled by a power of two before it is multiplied, which changes no digit and keeps moments of tiny, huge
or very different columns in range. Normal equations square the condition number, so directions whose eigenvalue is below
max(N, 64) · 2.2e-16 of the largest are rounding alone: they are left out, as a pseudo-inverse does (`rank` counts the others).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy.linalg import lapack

from ordinate.arguments import check_number
from ordinate.errors import ArgumentError, RefusedError, ShapeError
from ordinate.reservoir.dynamics.interface import real_array

__all__ = ["RidgeReadout"]

FloatArray = npt.NDArray[np.float64]

_BLOCK_STEPS = 4096
"""States are centred and widened to float64 in blocks of so many: the only memory beside the sums."""

_MOST_NEURONS = 40_000
"""The sums of more would take above 12 GiB, and solving them hours."""

_NEVER = np.iinfo(np.int64).min
"""In place of the exponent of a column that has been 0 throughout."""

_ROOM = 100
"""How many binary digits a column may outgrow its first block by."""

_NEAR_ONE = 8
"""Binary digits that the largest entry of a column may be from 1 without being scaled."""

_OVERBEARING = 16
"""Binary digits by which the penalty of a column may exceed the largest moment before the column is scaled down."""

_EPSILON = float(np.finfo(np.float64).eps)


class RidgeReadout:
    """A linear readout W, b that minimises Σ_t |y(t) - W' x(t) - b|² + ridge |W|², gathered as a stream.

    The intercept b is not penalised, and `ridge` is not multiplied by the number of steps: both as scikit-learn's `Ridge`.
    `ridge=0` gives the solution of least norm.

    Args:
        ridge: the penalty, at least 0.
        fit_intercept: fit b; else b = 0 and nothing is centred.

    Raises:
        ArgumentError: a negative or unreal ridge.

    Source: Hoerl and Kennard 1970, doi 10.1080/00401706.1970.10488634; for reservoirs Lukoševičius 2012, equation 9.

    >>> readout = RidgeReadout(ridge=0.0)
    >>> for block in ([[0.0], [1.0]], [[2.0]]):
    ...     _ = readout.partial_fit(block, 3 * np.array(block) + 1)
    >>> float(readout.predict([[10.0]])[0, 0].round(9))
    31.0
    """

    def __init__(self, ridge: float = 1e-6, *, fit_intercept: bool = True) -> None:
        _check_ridge(ridge)
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.steps = 0
        # of states scaled by 2^-exponent, column by column; [N, N], centred if there is an intercept
        self._moments: FloatArray | None = None
        self._solved: tuple[FloatArray, FloatArray] | None = None

    def partial_fit(self, states: npt.ArrayLike, targets: npt.ArrayLike) -> RidgeReadout:
        """Add states and their targets to the sums; memory stays as it is.

        Args:
            states: [T, N] or [B, T, N], any float type; the sums are float64.
            targets: [T, K] or [B, T, K].

        Raises:
            ShapeError: steps that differ, or other numbers of neurons or targets than before.
            ArgumentError: NaN or infinity.
            RefusedError: more neurons than moments can be kept of.
        """
        x, y = _flat("states", states), _flat("targets", targets)
        if len(x) != len(y):
            raise ShapeError(
                "targets", expected=f"one row for each of {len(x)} states", got=f"{len(y)} rows", hint="line the two up"
            )
        self._prepare(x.shape[1], y.shape[1])
        for start in range(0, len(x), _BLOCK_STEPS):
            block, target = (part[start : start + _BLOCK_STEPS].astype(np.float64) for part in (x, y))
            for name, values in (("states", block), ("targets", target)):
                with np.errstate(over="ignore", invalid="ignore"):
                    suspect = not np.isfinite(values.sum())  # a sum is NaN or infinite wherever one of its terms is
                if suspect and not np.isfinite(values).all():
                    raise ArgumentError(
                        name, expected="finite numbers", got="NaN or infinity", hint="a diverging reservoir needs less gain"
                    )
            self._add(block, target)
        return self

    def merge(self, other: RidgeReadout) -> RidgeReadout:
        """Add what another readout has gathered, as if its states had come here.

        Raises:
            ShapeError: other numbers of neurons or targets.
            ArgumentError: one of the two has an intercept and the other has none.
        """
        if other._moments is None:
            return self
        if other.fit_intercept != self.fit_intercept:
            raise ArgumentError(
                "other", expected=f"fit_intercept={self.fit_intercept}", got=other.fit_intercept, hint="gather both alike"
            )
        self._prepare(len(other._mean), len(other._target_mean))
        self._rescale(other._exponent)
        shift = np.where(other._known, other._exponent - self._exponent, 0)
        moments = np.ldexp(np.ldexp(other._moments, shift), shift[:, None])
        self._join(
            other.steps, np.ldexp(other._mean, shift), other._target_mean, moments, np.ldexp(other._cross, shift[:, None])
        )
        return self

    def solve(self, ridge: float | None = None) -> tuple[FloatArray, FloatArray]:
        """Weights [N, K] and intercept [K] from what was gathered so far.

        Args:
            ridge: instead of the readout's own.

        Raises:
            RefusedError: nothing was gathered.
            ArgumentError: a negative or unreal ridge.
        """
        if self._moments is None:
            raise RefusedError(
                "RidgeReadout", expected="states and targets to fit", got="none so far", hint="call partial_fit first"
            )
        if ridge is None:
            if self._solved is None:
                self._solved = self._solution(self.ridge)
            return self._solved
        _check_ridge(ridge)
        return self._solution(ridge)

    def solve_path(self, ridges: Iterable[float]) -> list[tuple[FloatArray, FloatArray]]:
        """`solve` for several ridges: the states are gathered once however many are tried."""
        return [self.solve(ridge) for ridge in ridges]

    def predict(self, states: npt.ArrayLike) -> FloatArray:
        """ŷ = W' x + b, [T, K] or [B, T, K]: as many steps as there are states.

        Raises:
            RefusedError: nothing was gathered.
            ShapeError: states of another number of neurons.
        """
        weights, intercept = self.solve()
        x = np.asarray(states)
        if x.ndim == 0 or x.shape[-1] != len(weights):
            raise ShapeError(
                "states",
                expected=f"{len(weights)} neurons on the last axis",
                got=f"shape {x.shape}",
                hint="read the same neurons",
            )
        return np.asarray(x @ weights + intercept)

    @property
    def num_bytes(self) -> int:
        """Memory of the sums, which does not depend on the number of steps.

        >>> readout = RidgeReadout().partial_fit(np.ones((10, 3)), np.ones((10, 1)))
        >>> readout.num_bytes == RidgeReadout().partial_fit(np.ones((1000, 3)), np.ones((1000, 1))).num_bytes
        True
        """
        if self._moments is None:
            return 0
        return self._moments.nbytes + self._cross.nbytes + self._mean.nbytes + self._target_mean.nbytes

    def _prepare(self, num_states: int, num_targets: int) -> None:
        if self._moments is None:
            if num_states > _MOST_NEURONS:
                raise RefusedError(
                    "states",
                    expected=f"at most {_MOST_NEURONS:,} neurons to read",
                    got=f"{num_states:,}, whose moments would take {8 * num_states**2 / 2**30:.0f} GiB",
                    hint="read some of them: record=..., or the estimators' readout=...",
                )
            self._moments = np.zeros((num_states, num_states))
            self._cross = np.zeros((num_states, num_targets))
            self._mean, self._target_mean = np.zeros(num_states), np.zeros(num_targets)
            self._exponent, self._known = np.zeros(num_states, dtype=np.int64), np.zeros(num_states, dtype=bool)
        for name, got, had in (
            ("states", num_states, len(self._mean)),
            ("targets", num_targets, len(self._target_mean)),
        ):
            if got != had:
                raise ShapeError(
                    name, expected=f"{had} columns, as before", got=f"{got}", hint="start a new readout for others"
                )

    def _add(self, block: FloatArray, target: FloatArray) -> None:
        largest = np.maximum(block.max(axis=0), -block.min(axis=0))
        exponent = np.frexp(largest)[1].astype(np.int64)
        exponent[np.abs(exponent) <= _NEAR_ONE] = 0  # as states of bounded units are: nothing to scale
        self._rescale(np.where(largest > 0, exponent, _NEVER))
        if not self._exponent.any():
            pass
        elif (self._exponent > -1000).all():
            block *= np.ldexp(1.0, -self._exponent)  # a product is quicker than ldexp, and as exact
        else:
            np.ldexp(block, -self._exponent, out=block)
        mean, target_mean = np.zeros(block.shape[1]), np.zeros(target.shape[1])
        if self.fit_intercept:
            mean, target_mean = block.mean(axis=0), target.mean(axis=0)
            block -= mean
            target -= target_mean
        self._join(len(block), mean, target_mean, block.T @ block, block.T @ target)

    def _join(self, steps: int, mean: FloatArray, target_mean: FloatArray, moments: FloatArray, cross: FloatArray) -> None:
        """Chan's update: moments about the common mean from those about two means."""
        assert self._moments is not None
        total = self.steps + steps
        self._moments += moments
        self._cross += cross
        if self.fit_intercept:
            apart, target_apart = mean - self._mean, target_mean - self._target_mean
            share = self.steps * steps / total
            self._moments += np.outer(share * apart, apart)
            self._cross += np.outer(share * apart, target_apart)
            self._mean += apart * (steps / total)
            self._target_mean += target_apart * (steps / total)
        self.steps = total
        self._solved = None

    def _rescale(self, exponent: npt.NDArray[np.int64]) -> None:
        """Make room for columns whose largest entry has this exponent; most often there is."""
        assert self._moments is not None
        new = (exponent != _NEVER) & (~self._known | (exponent > self._exponent + _ROOM))
        if not new.any():
            return
        shift = np.where(new & self._known, self._exponent - exponent, 0)
        if shift.any():
            self._moments = np.ldexp(np.ldexp(self._moments, shift), shift[:, None])
            self._cross, self._mean = np.ldexp(self._cross, shift[:, None]), np.ldexp(self._mean, shift)
        self._exponent = np.where(new, exponent, self._exponent)
        self._known |= new

    def _penalised(self, ridge: float) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """The matrix of the normal equations of the scaled states; the penalty is of the states as they came.

        Returns:
            The matrix, and by how many further binary digits each of its columns is scaled down: beside the penalty of a
            column that is nearly 0, as large as the inverse of its square, all the others would seem to be rounding.
        """
        assert self._moments is not None
        matrix, shift = self._moments.copy(), np.zeros(len(self._moments), dtype=np.int64)
        if ridge > 0:
            excess = np.log2(ridge) - 2.0 * self._exponent - np.log2(matrix.diagonal().max() or 1.0)
            shift = np.where(excess > _OVERBEARING, excess // 2, 0).astype(np.int64)
            if shift.any():
                matrix = np.ldexp(np.ldexp(matrix, -shift), -shift[:, None])
            matrix.flat[:: len(matrix) + 1] += np.ldexp(ridge, -2 * (self._exponent + shift))
        return matrix, shift

    @property
    def condition_number(self) -> float:
        """Largest eigenvalue over smallest of the scaled, penalised moments: above 1e13 or so, `rank` may be below N.

        >>> RidgeReadout(0.0).partial_fit(np.eye(2), np.ones((2, 1))).condition_number > 1e15  # centred, the columns are one
        True
        """
        values = self._spectrum()
        return float(values[-1] / values[0]) if values[0] > 0 else np.inf

    @property
    def rank(self) -> int:
        """Directions of the states that the weights use; fewer than N where the rest is rounding."""
        values = self._spectrum()
        return int((values > _floor(values)).sum())

    def _spectrum(self) -> FloatArray:
        self.solve()
        return np.asarray(linalg.eigvalsh(self._penalised(self.ridge)[0], check_finite=False))

    def _solution(self, ridge: float) -> tuple[FloatArray, FloatArray]:
        assert self._moments is not None
        matrix, shift = self._penalised(ridge)
        exponent = self._exponent + shift
        scaled = _solve(matrix, np.ldexp(self._cross, -shift[:, None]), exponent, float(np.ldexp(ridge, -2 * exponent).min()))
        with np.errstate(over="ignore"):
            weights = np.ldexp(scaled, -exponent[:, None])
        intercept = self._target_mean - np.ldexp(self._mean, -shift) @ scaled
        if not (np.isfinite(weights).all() and np.isfinite(intercept).all()):
            raise RefusedError(
                "RidgeReadout", expected="finite weights", got="states too small or targets too large", hint="scale the data"
            )
        return weights, intercept


def _solve(matrix: FloatArray, cross: FloatArray, exponent: npt.NDArray[np.int64], penalty: float) -> FloatArray:
    """Scaled weights: by Cholesky where that is safe, else by eigenvectors without those that are rounding.

    No eigenvalue is below the least penalty, and none above the norm: where the penalty alone is far above what is rounding
    beside the norm, nothing would be left out, and eigenvectors give what Cholesky gives.
    """
    try:
        factor, lower = linalg.cho_factor(matrix, lower=True, check_finite=False)
        norm = np.abs(matrix).sum(axis=0).max()
        if penalty > 10 * norm * max(len(matrix), 64) * _EPSILON:
            return np.asarray(linalg.cho_solve((factor, lower), cross, check_finite=False))
        reciprocal_condition, _ = lapack.dpocon(factor, norm, uplo="L")
        if reciprocal_condition > 100 * _EPSILON * len(matrix):
            return np.asarray(linalg.cho_solve((factor, lower), cross, check_finite=False))
    except linalg.LinAlgError:
        pass
    values, vectors = linalg.eigh(matrix, check_finite=False)
    kept = values > _floor(values)
    own = vectors[:, kept]
    scaled = (own / values[kept]) @ (own.T @ cross)
    if not kept.all():
        # of all weights that predict the same, those of least norm before scaling
        size = np.ldexp(1.0, -(exponent - exponent.max())[:, None])
        free = vectors[:, ~kept]
        change = linalg.lstsq(size * free, -size * scaled, check_finite=False)[0]
        scaled = scaled + free @ change
    return np.asarray(scaled)


def _floor(values: FloatArray) -> float:
    return float(max(values[-1], 0.0)) * max(len(values), 64) * _EPSILON


def _flat(name: str, values: npt.ArrayLike) -> npt.NDArray[np.floating]:
    array = np.asarray(values) if hasattr(values, "dtype") else real_array(name, values)  # float32 stays as it is
    if not np.issubdtype(array.dtype, np.floating):
        array = real_array(name, array)
    if array.ndim < 2 or 0 in array.shape:
        raise ShapeError(
            name, expected="[T, columns] or [B, T, columns], none of them 0", got=f"shape {array.shape}", hint="add the axis"
        )
    return array.reshape(-1, array.shape[-1])


def _check_ridge(ridge: float) -> None:
    check_number("ridge", ridge, minimum=0, hint="1e-6 is usual for states in (-1, 1)")
