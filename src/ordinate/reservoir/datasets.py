"""Series for benchmark tasks, each as `name(length, seed)` with `inputs` and `targets`: Mackey-Glass, Lorenz, NARMA, decisions.

A chaotic system magnifies a rounding error until nothing agrees. An adaptive solver, a fused multiply-add or another `pow`
therefore gives another series, and results on "Mackey-Glass" differ between libraries for no better reason. Here every
operation is a sum, product or quotient of Python floats in a fixed order, and the bits have a checksum. NARMA10 and NARMA30
differ in more than their order, so each has a name and nothing to set.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_integer, check_number
from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir.seeds import Seed, generator_of

__all__ = [
    "LORENZ_EXPONENT",
    "MACKEY_GLASS_EXPONENT",
    "ChaoticSeries",
    "DecisionTrials",
    "Narma",
    "context_decision",
    "decision",
    "delayed_match",
    "lorenz",
    "mackey_glass",
    "narma10",
    "narma30",
]

FloatArray = npt.NDArray[np.float64]

LORENZ_EXPONENT = 0.9056
"""Largest Lyapunov exponent of the Lorenz system at σ = 10, ρ = 28, β = 8/3, per unit of time (Viswanath 1998; Sprott 2003)."""

MACKEY_GLASS_EXPONENT = 0.0051
"""The same of the Mackey-Glass equation at delay 17, by our own estimate: .00514 ± .00005 from the linearised equation over
1.2 million time units, .0052 ± .0001 from pairs of trajectories. Values from .0056 to .007 are in circulation."""

State = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class ChaoticSeries:
    """Samples of a chaotic system at a fixed distance.

    Args:
        values: [T, F], float64.
        step: time between two samples.
        lyapunov_exponent: the largest, per unit of time; NaN where none is known for the settings.
    """

    values: FloatArray
    step: float
    lyapunov_exponent: float

    @property
    def inputs(self) -> FloatArray:
        """All samples but the last, [T - 1, F]: what a network hears that is to predict the next sample."""
        return self.values[:-1]

    @property
    def targets(self) -> FloatArray:
        """The sample after each input, [T - 1, F]."""
        return self.values[1:]

    @property
    def checksum(self) -> str:
        """SHA-256 of the samples as little-endian float64, in hexadecimal.

        >>> lorenz(100).checksum[:16]
        'be95caa87b092704'
        """
        return hashlib.sha256(np.ascontiguousarray(self.values, dtype="<f8").tobytes()).hexdigest()


def mackey_glass(
    length: int,
    seed: Seed = None,
    *,
    delay: float = 17.0,
    step: float = 1.0,
    substeps: int = 10,
    history: float = 1.2,
    discard: int = 1000,
) -> ChaoticSeries:
    """The Mackey-Glass series: dx/dt = .2 x(t - delay) / (1 + x(t - delay)^10) - .1 x(t), from a constant history.

    Runge-Kutta of order four at step / substeps; the delayed value between two grid points is the cubic through the values
    and slopes on both sides (Hermite), so the order is kept. Another series is another `history`, or one drawn from
    a seed, or a later part by `discard`.

    Args:
        length: T, samples to keep.
        seed: draws `history` evenly from .5 to 1.3 in place of the one below; None draws nothing.
        delay: in time units, a whole number of substeps; 17 is mildly chaotic, 30 more so.
        step: time between two samples.
        substeps: integration steps a sample.
        history: x(t) for t <= 0.
        discard: samples before the first that is kept.

    Raises:
        ArgumentError: a size below its least, or a delay that is not a whole number of integration steps.

    Source: Mackey and Glass 1977, doi 10.1126/science.267326; as a benchmark Jaeger and Haas 2004, doi 10.1126/science.1091277.

    >>> mackey_glass(3).values[:, 0].round(4).tolist()
    [0.9472, 0.9009, 0.8578]
    """
    if seed is not None:
        history = float(generator_of(seed).uniform(0.5, 1.3))
    _check_sizes(length, substeps, discard, step)
    h = step / substeps
    if not delay > 0 or not math.isclose(delay / h, round(delay / h), rel_tol=1e-9):
        raise ArgumentError(
            "delay",
            expected=f"a whole number of integration steps of {h:g}",
            got=delay,
            hint="change the delay, the step or the substeps",
        )
    lag = round(delay / h)
    values = [history] * (lag + 1)  # values[i] is x((i - lag) h)
    slopes = [0.0] * lag + [_mackey_glass_slope(history, history)]
    half, sixth = h / 2, h / 6
    for now in range(lag, lag + (discard + length - 1) * substeps):
        x, before, after = values[now], values[now - lag], values[now - lag + 1]
        # the slope at the left end belongs to the piece on its right: at t = 0 the history's own slope is 0, not this one
        left = 0.0 if now - lag < lag else slopes[now - lag]
        right = 0.0 if now - lag + 1 <= lag else slopes[now - lag + 1]
        middle = (before + after) / 2 + (left - right) * (h / 8)
        first = slopes[now]
        second = _mackey_glass_slope(x + half * first, middle)
        third = _mackey_glass_slope(x + half * second, middle)
        fourth = _mackey_glass_slope(x + h * third, after)
        x = x + sixth * (first + 2 * second + 2 * third + fourth)
        values.append(x)
        slopes.append(_mackey_glass_slope(x, after))
    samples = values[lag::substeps][discard:]
    return ChaoticSeries(np.array(samples)[:, None], step, MACKEY_GLASS_EXPONENT if delay == 17 else math.nan)


def lorenz(
    length: int,
    seed: Seed = None,
    *,
    step: float = 0.02,
    substeps: int = 4,
    start: Sequence[float] = (1.0, 1.0, 1.0),
    discard: int = 1000,
) -> ChaoticSeries:
    """The Lorenz series: x' = 10 (y - x), y' = x (28 - z) - y, z' = x y - (8/3) z.

    Runge-Kutta of order four at step / substeps.

    Args:
        length: T, samples to keep.
        seed: draws `start` from a box around (0, 0, 25) in place of the one below; None draws nothing.
        step: time between two samples.
        substeps: integration steps a sample.
        start: x, y and z at the first sample that is computed.
        discard: samples before the first that is kept, so that the series lies on the attractor.

    Raises:
        ArgumentError: a size below its least, or a start that is not three finite numbers.

    Source: Lorenz 1963, doi 10.1175/1520-0469(1963)020<0130:DNF>2.0.CO;2, equations 25 to 27.

    >>> lorenz(2).values.round(3).tolist()
    [[13.794, 12.954, 34.903], [13.429, 10.636, 36.228]]
    """
    if seed is not None:
        x, y, z = generator_of(seed).uniform(-5, 5, 3)
        start = (x, y, z + 25)
    _check_sizes(length, substeps, discard, step)
    if len(start) != 3 or not all(math.isfinite(value) for value in start):
        raise ArgumentError("start", expected="three finite numbers", got=tuple(start), hint="such as (1, 1, 1)")
    state: State = (float(start[0]), float(start[1]), float(start[2]))
    samples = [state]
    for _ in range(discard + length - 1):
        for _ in range(substeps):
            state = _runge_kutta(_lorenz_slope, state, step / substeps)
        samples.append(state)
    return ChaoticSeries(np.array(samples[discard:]), step, LORENZ_EXPONENT)


def _mackey_glass_slope(x: float, delayed: float) -> float:
    square = delayed * delayed
    fourth = square * square
    return 0.2 * delayed / (1.0 + fourth * fourth * square) - 0.1 * x  # products, because pow differs between C libraries


def _lorenz_slope(state: State) -> State:
    x, y, z = state
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z


def _runge_kutta(slope: Callable[[State], State], state: State, h: float) -> State:
    half, sixth = h / 2, h / 6
    x, y, z = state
    a = slope(state)
    b = slope((x + half * a[0], y + half * a[1], z + half * a[2]))
    c = slope((x + half * b[0], y + half * b[1], z + half * b[2]))
    d = slope((x + h * c[0], y + h * c[1], z + h * c[2]))
    return (
        x + sixth * (a[0] + 2 * b[0] + 2 * c[0] + d[0]),
        y + sixth * (a[1] + 2 * b[1] + 2 * c[1] + d[1]),
        z + sixth * (a[2] + 2 * b[2] + 2 * c[2] + d[2]),
    )


def _check_sizes(length: int, substeps: int, discard: int, step: float) -> None:
    for name, value, least in (("length", length, 1), ("substeps", substeps, 1), ("discard", discard, 0)):
        check_integer(name, value, minimum=least)
    check_number("step", step, above=0, hint="such as 1.0 for Mackey-Glass, 0.02 for Lorenz")


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


@dataclass(frozen=True, eq=False)
class DecisionTrials:
    """Trials of a cognitive task and their answers.

    Args:
        inputs: [trials, T, F]; for `decision` fixation cue, evidence for left, evidence for right.
        answers: such as "left" or "right", [trials].
        coherence: how clear the evidence of each trial is, above 0, [trials].
    """

    inputs: FloatArray
    answers: npt.NDArray[np.str_]
    coherence: FloatArray

    @property
    def targets(self) -> npt.NDArray[np.str_]:
        """The answers, under the name that every data set here has for what is to be predicted."""
        return self.answers


def decision(
    length: int,
    seed: int | np.random.Generator,
    *,
    cue: int = 5,
    evidence: int = 20,
    delay: int = 5,
    noise: float = 0.5,
    coherences: Sequence[float] = (0.032, 0.064, 0.128, 0.256, 0.512),
) -> DecisionTrials:
    """Trials of a perceptual decision: a cue, noisy evidence for left and right, a silent delay, and which side was stronger.

    At each of the `evidence` steps the channels carry (1 + c) / 2 and (1 - c) / 2, the first on the side of the answer, each
    plus normal noise.

    Args:
        length: how many trials, at least 1.
        seed: of the draw, or a generator.
        cue: steps with the fixation cue alone, which stays on until the delay has passed.
        evidence: steps of evidence.
        delay: silent steps afterwards.
        noise: standard deviation in each channel and step.
        coherences: c, drawn evenly.

    Raises:
        ArgumentError: fewer than one trial.

    Source: Gold and Shadlen 2007, doi 10.1146/annurev.neuro.29.051605.113038.

    >>> decision(4, seed=0).inputs.shape
    (4, 30, 3)
    """
    check_integer("length", length, minimum=1)
    generator = generator_of(seed)
    coherence, right = generator.choice(coherences, length), generator.integers(0, 2, length)
    inputs = np.zeros((length, cue + evidence + delay, 3))
    inputs[:, :, 0] = 1.0
    evident = slice(cue, cue + evidence)
    drawn = generator.normal(0.0, noise, (length, evidence, 2))
    for side in (0, 1):
        strength = (1 + np.where(right == side, coherence, -coherence)) / 2
        inputs[:, evident, 1 + side] = strength[:, None] + drawn[:, :, side]
    return DecisionTrials(inputs, np.where(right == 1, "right", "left"), coherence)


def context_decision(
    length: int,
    seed: int | np.random.Generator,
    *,
    cue: int = 5,
    evidence: int = 20,
    delay: int = 5,
    noise: float = 0.5,
    coherences: Sequence[float] = (0.064, 0.128, 0.256, 0.512),
) -> DecisionTrials:
    """Trials of a decision that depends on context: evidence of two sorts at once, and a cue that says which one counts.

    Args:
        length: how many trials, at least 1.
        seed: of the draw, or a generator.
        cue: steps with the cue alone, which stays on until the delay has passed.
        evidence: steps of evidence, each sort with a side and a coherence of its own.
        delay: silent steps afterwards.
        noise: standard deviation in each channel and step.
        coherences: drawn evenly; that of the sort which counts is the trial's.

    Returns:
        Inputs [trials, T, 6]: the cue for the first sort and for the second, then left and right of each.

    Raises:
        ArgumentError: fewer than one trial.

    Source: Mante, Sussillo, Shenoy and Newsome 2013, doi 10.1038/nature12742.

    >>> context_decision(4, seed=0).inputs.shape
    (4, 30, 6)
    """
    generator = generator_of(seed)
    sorts = [
        decision(length, generator, cue=cue, evidence=evidence, delay=delay, noise=noise, coherences=coherences)
        for _ in range(2)
    ]
    second = generator.integers(0, 2, length) == 1
    cues = np.stack([~second, second], axis=1).astype(np.float64)
    inputs = np.concatenate(
        [np.repeat(cues[:, None], cue + evidence + delay, axis=1), *(one.inputs[:, :, 1:] for one in sorts)], axis=2
    )
    answers, coherence = (
        np.where(second, getattr(sorts[1], name), getattr(sorts[0], name)) for name in ("answers", "coherence")
    )
    return DecisionTrials(inputs, answers, coherence)


def delayed_match(
    length: int,
    seed: int | np.random.Generator,
    *,
    sample: int = 5,
    delay: int = 10,
    test: int = 5,
    noise: float = 0.2,
) -> DecisionTrials:
    """Trials of matching to a sample: one of two stimuli, silence, one of two stimuli again, and whether the two were the same.

    No weighted sum of the inputs tells: the answer is an exclusive or of two moments.

    Args:
        length: how many trials, at least 1.
        seed: of the draw, or a generator.
        sample, delay, test: steps of each part.
        noise: standard deviation in each channel of a stimulus and step.

    Returns:
        Inputs [trials, T, 3]: a fixation cue, and the two stimuli; answers "match" and "other".

    Raises:
        ArgumentError: fewer than one trial, or parts shorter than a step (the delay may be 0).

    Source: the task of Miller, Erickson and Desimone 1996, doi 10.1523/JNEUROSCI.16-16-05154.1996, with two stimuli.

    >>> delayed_match(4, seed=0).inputs.shape
    (4, 20, 3)
    """
    for name, value, least in (("length", length, 1), ("sample", sample, 1), ("delay", delay, 0), ("test", test, 1)):
        check_integer(name, value, minimum=least)
    generator = generator_of(seed)
    first, second = generator.integers(0, 2, (2, length))
    inputs = np.zeros((length, sample + delay + test, 3))
    inputs[:, :, 0] = 1.0
    for stimulus, part in ((first, slice(0, sample)), (second, slice(sample + delay, None))):
        steps = range(*part.indices(inputs.shape[1]))
        seen = np.stack([stimulus == 0, stimulus == 1], axis=1)[:, None] + generator.normal(0.0, noise, (length, len(steps), 2))
        inputs[:, part, 1:] = seen
    return DecisionTrials(inputs, np.where(first == second, "match", "other"), np.ones(length))


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
    check_integer("length", length, minimum=1)
    generator = generator_of(seed)
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
