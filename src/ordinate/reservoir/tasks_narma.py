"""NARMA10 and NARMA30: nonlinear autoregressive moving averages of random input, each with its own published constants.

The two differ in more than their order. Libraries that have one function with `order=30` and the constants as arguments give
neither of the two for `order=10`; here each has a name and nothing to set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, RefusedError

__all__ = ["Narma", "narma10", "narma30"]

FloatArray = npt.NDArray[np.float64]

_REDRAWS = 100
_LIMIT = 10.0
"""Far past the repelling point (1.0 of NARMA10, .5 of NARMA30, at the mean of the input): only an explosion comes here."""


@dataclass(frozen=True, eq=False)
class Narma:
    """Input and output of a NARMA system.

    Args:
        inputs: u, [T, 1], uniform in [0, 0.5).
        targets: y, [T, 1]; `targets[t]` is y(t + 1), the first value that `inputs[t]` has a part in.
        redrawn: inputs that were thrown away because their trajectory diverged.
    """

    inputs: FloatArray
    targets: FloatArray
    redrawn: int


def narma10(length: int, seed: int | np.random.Generator) -> Narma:
    """NARMA10: y(t+1) = .3 y(t) + .05 y(t) Σ_{i=0}^{9} y(t-i) + 1.5 u(t-9) u(t) + .1, with u uniform in [0, .5).

    The system starts at rest (y = 0, u = 0 before the first step). Some inputs make it explode; such a draw is thrown away
    whole and the next one taken, and `redrawn` counts them.

    Args:
        length: T, steps, at least 1.
        seed: of the inputs, or a generator.

    Raises:
        ArgumentError: a length below 1.
        RefusedError: a hundred draws in a row that diverged.

    Source: Atiya and Parlos 2000, "New results on recurrent network training", doi 10.1109/72.846741, equation 86.

    >>> series = narma10(3, seed=0)
    >>> [round(float(y), 4) for y in series.targets[:, 0]]  # .1, then .3 · .1 + .05 · .1 · .1 + .1
    [0.1, 0.1305, 0.1407]
    """
    return _narma(length, seed, order=10, decay=0.3, growth=0.05, drive=1.5, rest=0.1)


def narma30(length: int, seed: int | np.random.Generator) -> Narma:
    """NARMA30: y(t+1) = .2 y(t) + .04 y(t) Σ_{i=0}^{29} y(t-i) + 1.5 u(t-29) u(t) + .001, with u uniform in [0, .5).

    Starts and draws again as `narma10` does.

    Args:
        length: T, steps, at least 1.
        seed: of the inputs, or a generator.

    Raises:
        ArgumentError: a length below 1.
        RefusedError: a hundred draws in a row that diverged.

    Source: Schrauwen et al. 2008, "Improving reservoirs using intrinsic plasticity", doi 10.1016/j.neucom.2007.12.020.

    >>> [round(float(y), 6) for y in narma30(3, seed=0).targets[:, 0]]
    [0.001, 0.0012, 0.00124]
    """
    return _narma(length, seed, order=30, decay=0.2, growth=0.04, drive=1.5, rest=0.001)


def _narma(
    length: int,
    seed: int | np.random.Generator,
    *,
    order: int,
    decay: float,
    growth: float,
    drive: float,
    rest: float,
) -> Narma:
    if length < 1:
        raise ArgumentError("length", expected="at least 1 step", got=length, hint="ask for more")
    generator = np.random.default_rng(seed)
    for redrawn in range(_REDRAWS):
        inputs = generator.uniform(0.0, 0.5, length)
        earlier = [0.0] * (order - 1) + inputs.tolist()  # earlier[t] is u(t - (order - 1))
        recent = [0.0] * order  # the newest value comes last
        targets = []
        for now, before in zip(inputs.tolist(), earlier, strict=False):
            latest = recent[-1]
            latest = decay * latest + growth * latest * sum(recent) + drive * before * now + rest
            if latest > _LIMIT:
                break
            recent = [*recent[1:], latest]
            targets.append(latest)
        else:
            return Narma(inputs[:, None], np.array(targets)[:, None], redrawn)
    raise RefusedError(
        "length",
        expected="inputs whose trajectory stays below 10",
        got=f"{_REDRAWS} draws of {length} steps that diverged",
        hint="take a shorter series, or several of them",
    )
