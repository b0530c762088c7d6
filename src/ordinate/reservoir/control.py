"""Does the wiring matter? A task on a connectome, on null models of it, and on what needs no wiring at all.

Every candidate gets the same data, seeds and search budget; differences are paired over draws, corrected by Holm's method, and
called "not different" where that is what they are. What needs no wiring: the input itself, a linear read-out of its past of
equal size, and a small trained network with as many free parameters. A result that these reach as well is none about a brain.

A connectome is one wiring, and single wirings vary: a mean over enough draws would call any one of them different from the
average of its null model. So against null models that are drawn, the question is whether the wiring lies outside what such
wirings vary by among themselves: the standard error of the difference is s √(1 + 1/n), that of one more draw, not s / √n.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice, check_integer
from ordinate.atomic_io import atomic_write
from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir.body.drive import Brain, Target, drive
from ordinate.reservoir.body.kinematic import KinematicFly
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.connectome.gain import normalise
from ordinate.reservoir.connectome.nulls import NULLS
from ordinate.reservoir.readout.metrics import nrmse_by_std
from ordinate.reservoir.seeds import generator_of
from ordinate.reservoir.tasks.base import Outcome, ReadTask, Size, Task
from ordinate.reservoir.tasks.card import DYNAMICS, SIGNS, Plan, best_outcomes, read_neurons, stream
from ordinate.reservoir.tasks.comparison import holm, interval, paired
from ordinate.reservoir.tasks.registry import task_named, tasks

__all__ = ["BASELINES", "WIRINGS", "ClosedLoopTask", "Contrast", "Control", "control", "kinds_relabelled", "turn_task"]

FloatArray = npt.NDArray[np.float64]

LEAST_DRAWS = 10


def kinds_relabelled(connectome: Connectome, *, seed: int) -> Connectome:
    """The same graph, its kinds and labels dealt anew among the neurons: whom a query names is then chance.

    >>> null = kinds_relabelled(Connectome.synthetic(), seed=0)
    >>> sorted(null.kind) == sorted(Connectome.synthetic().kind)
    True
    """
    order = generator_of(seed).permutation(connectome.num_neurons)
    labels = tuple(connectome.labels[at] for at in order)
    return replace(connectome, kind=connectome.kind[order], labels=labels, name=f"{connectome.name}, kinds relabelled ({seed})")


WIRINGS: dict[str, Callable[..., Connectome]] = {
    "rewired": NULLS["rewired"],
    "shuffled": NULLS["shuffled"],
    "kinds": kinds_relabelled,
    "mirrored": NULLS["mirrored"],
    "random": NULLS["random"],
    "modular": NULLS["modular"],
}
"""What wiring is compared with: exact-degree rewiring, weights or kinds dealt anew, the mirrored graph, random edges, and
rewiring that keeps the edges between kinds too."""

_DEFAULT_WIRINGS = tuple(name for name in WIRINGS if name != "modular")

BASELINES = ("input", "past", "network")
"""What needs no wiring: the input itself, a linear read-out of its past, a small trained network."""


@dataclass(frozen=True)
class ClosedLoopTask:
    """A task that is a score of a connectome, such as how well it steers; baselines without wiring do not apply to it.

    Args:
        name: for tables.
        score: from a connectome and a seed to a number.
        higher_is_better: the direction of the score.
        metric: what the score is.
    """

    name: str
    score: Callable[[Connectome, int], float]
    higher_is_better: bool = True
    metric: str = "score"


def turn_task(stimulus: str = "sensory", readout: str = "descending") -> ClosedLoopTask:
    """The fly's turn: how near a connectome steers a light fly to a target at an angle that the seed draws, in mm.

    >>> turn_task().metric
    'closest_mm'
    """

    def score(connectome: Connectome, seed: int) -> float:
        angle = generator_of(seed).uniform(-math.pi / 2, math.pi / 2)
        target = Target(20 * math.cos(angle), 20 * math.sin(angle))
        try:
            brain = Brain(connectome, stimulus, readout)
            walked = drive(brain, KinematicFly(0.02), target, seconds=4.0, axons="same" if brain.crosses else "crossed")
        except (RefusedError, ArgumentError):  # output cells that do not tell left from right steer nowhere
            return 20.0
        return float(walked.closest_mm or 0.0)

    return ClosedLoopTask("turn", score, higher_is_better=False, metric="closest_mm")


@dataclass(frozen=True)
class Contrast:
    """The wiring against one other candidate.

    Args:
        other: which.
        mean, other_mean: scores, means over draws.
        difference: wiring minus other, mean over draws; lower, upper: its 95 % interval, by Student's t, with the standard
            error of one more draw against null models that are drawn.
        effect_size: the mean difference in standard deviations of the differences (Cohen's d_z).
        p, p_adjusted: two-sided, of no difference; after Holm's correction for all contrasts.
        verdict: "wiring better", "wiring worse" or "not different", by the adjusted p at .05.
    """

    other: str
    mean: float
    other_mean: float
    difference: float
    lower: float
    upper: float
    effect_size: float
    p: float
    p_adjusted: float
    verdict: str


@dataclass(frozen=True)
class Control:
    """What came of a control.

    Args:
        connectome: its name.
        task, metric: what was scored; higher_is_better: its direction.
        draws: how many, each with data, input weights and null models of its own.
        scores: of each candidate, "wiring" among them, one a draw.
        contrasts: the wiring against each other candidate.
        not_applicable: candidates that this task or connectome does not have, with the reason.
        seconds: all it took.
    """

    connectome: str
    task: str
    metric: str
    higher_is_better: bool
    draws: int
    scores: dict[str, tuple[float, ...]]
    contrasts: tuple[Contrast, ...]
    not_applicable: dict[str, str]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {**asdict(self), "scores": {name: list(values) for name, values in self.scores.items()}}


def control(
    connectome: Connectome,
    task: str | Task | ClosedLoopTask | Callable[[int, int], tuple[FloatArray, FloatArray]],
    *,
    draws: int = 10,
    seed: int = 0,
    wirings: Sequence[str] = _DEFAULT_WIRINGS,
    baselines: Sequence[str] = BASELINES,
    size: Size | None = None,
    signs: str = "positive",
    normalisation: str = "input",
    dynamics: str = "leaky",
    stimulus: Any = None,
    readout: Any = None,
    most_read: int = 100,
    few: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Control:
    """Score a task on a connectome, on null models of it, and without wiring, and compare.

    Args:
        connectome: its absolute weights are taken, and signs assigned.
        task: the name of one of ours, or "turn"; a task object; a function from a number of steps and a seed to inputs [T, F]
            and targets [T, K] (one channel may be [T]), scored by `nrmse_by_std`; or a `ClosedLoopTask`.
        draws: data, input weights and null models are drawn anew for each; at least 10.
        seed: of the first draw.
        wirings: which of `WIRINGS`; all but "modular" by default.
        baselines: which of `BASELINES`.
        size: of the stretches of a prediction task.
        signs: of `tasks.card.SIGNS`.
        normalisation: of the weights, to 1, before the gains that are tried.
        dynamics: of the units, of `tasks.card.DYNAMICS`: "leaky", or "spiking" for a liquid-state machine.
        stimulus: which neurons hear the input: a query or indices; None means all.
        readout: which neurons may be read; None means all.
        most_read: at most so many of them, drawn by each seed.
        few: allow fewer than ten draws.
        progress: called with candidates done and all.

    Raises:
        ArgumentError: fewer than ten draws without `few`, fewer than two anyway.
        UnknownNameError: another task, wiring, baseline or sign.
    """
    check_integer("draws", draws, minimum=2 if few else LEAST_DRAWS, hint="" if few else "few=True allows two or more")
    for name in wirings:
        check_choice("wirings", name, WIRINGS)
    for name in baselines:
        check_choice("baselines", name, BASELINES)
    check_choice("signs", signs, SIGNS)
    check_choice("dynamics", dynamics, DYNAMICS)
    started = time.perf_counter()
    chosen = _task(task)
    missing: dict[str, str] = {}
    if "mirrored" in wirings and not (connectome.mate >= 0).any():
        missing["mirrored"] = "the connectome has no homologous pairs"
    if "modular" in wirings and np.unique(connectome.kind).size < 2:
        missing["modular"] = "all neurons are of one kind"
    if "kinds" in wirings and not isinstance(chosen, ClosedLoopTask) and not (_is_query(stimulus) or _is_query(readout)):
        missing["kinds"] = "no query chooses neurons by kind"
    if not isinstance(chosen, ReadTask):
        missing |= dict.fromkeys(baselines, "the task is not a prediction step by step")
    wirings = [name for name in wirings if name not in missing]
    baselines = [name for name in baselines if name not in missing]
    plan = Plan(size=size or Size(), stimulus=stimulus, readout=readout, most_read=most_read, dynamics=dynamics)
    scores: dict[str, list[float]] = {name: [] for name in ("wiring", *wirings, *baselines)}
    for draw in range(draws):
        own = seed + draw
        data = None if isinstance(chosen, ClosedLoopTask) else chosen.draw(plan.size, own)
        for number, name in enumerate(("wiring", *wirings)):
            wired = connectome if name == "wiring" else WIRINGS[name](connectome, seed=stream(own, 4))
            scores[name].append(_scored(wired, chosen, data, plan, own, signs, normalisation))
            progress(draw * len(scores) + number + 1, draws * len(scores))
        if isinstance(chosen, ReadTask):
            count = read_neurons(connectome, plan, own).size
            for name in baselines:
                scores[name].append(_baseline(name, chosen, data, plan, count, own).test)
        progress((draw + 1) * len(scores), draws * len(scores))
    better = chosen.higher_is_better
    contrasts = _contrasts(scores, better)
    fixed = {name: tuple(values) for name, values in scores.items()}
    seconds = time.perf_counter() - started
    return Control(connectome.name, chosen.name, chosen.metric, better, draws, fixed, contrasts, missing, seconds)


def _task(task: Any) -> Any:
    if isinstance(task, str):
        return turn_task() if task == "turn" else task_named(task)
    if isinstance(task, ClosedLoopTask) or hasattr(task, "outcomes"):
        return task
    if callable(task):
        series = partial(_series, task)
        name = getattr(task, "__name__", type(task).__name__)
        return ReadTask(name, name, "nrmse_by_std", False, series, nrmse_by_std, num_channels=series(50, 0)[0].shape[1])
    raise ArgumentError("task", expected=f"a function, a task, turn or one of {', '.join(tasks())}", got=repr(task))


def _series(task: Callable[[int, int], Any], steps: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """What a function of the user's returns, as inputs [T, F] and targets [T, K]."""
    wanted = f"a function that returns inputs [{steps}, F] and targets [{steps}, K] when asked for {steps} steps"
    result = task(steps, seed)
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise ArgumentError("task", expected=wanted, got=f"one that returns {type(result).__name__}")
    try:
        inputs, targets = (np.asarray(part, dtype=np.float64) for part in result)
    except (TypeError, ValueError) as error:
        raise ArgumentError("task", expected=wanted, got=f"what is no array of numbers: {error}") from None
    inputs, targets = (part[:, None] if part.ndim == 1 else part for part in (inputs, targets))
    for part in (inputs, targets):
        if part.ndim != 2 or len(part) != steps or not part.shape[1]:
            raise ArgumentError("task", expected=wanted, got=f"shapes {inputs.shape} and {targets.shape}")
        if not np.isfinite(part).all():
            raise ArgumentError("task", expected="finite numbers from the function", got="NaN or infinity")
    return inputs, targets


def _is_query(neurons: Any) -> bool:
    return isinstance(neurons, str)


def _scored(connectome: Connectome, task: Any, data: Any, plan: Plan, seed: int, signs: str, normalisation: str) -> float:
    if isinstance(task, ClosedLoopTask):
        return float(task.score(connectome, seed))
    scaled = normalise(SIGNS[signs](connectome, stream(seed, 5)), normalisation, 1.0)
    ((_, outcome),) = best_outcomes(scaled, [(task, data)], plan, seed, read_neurons(connectome, plan, seed))
    return outcome.test


def _baseline(name: str, task: ReadTask, data: Any, plan: Plan, count: int, seed: int) -> Outcome:
    """The best of as many settings as a wiring may try, on features that need no wiring."""
    inputs = np.asarray(data[0], dtype=np.float64)
    if name == "input":
        return task.outcome(inputs, data, plan.size, plan.ridges)
    delays = max(1, count // inputs.shape[1])
    if name == "past":
        return task.outcome(_past(inputs, delays), data, plan.size, plan.ridges)
    outcomes = []
    budget = len(plan.settings)
    parameters = (count + 1) * data[1].shape[1]
    for number, window in enumerate(np.unique(np.geomspace(1, delays, budget).astype(int))[:budget]):
        outcomes.append(_network(task, data, plan, _past(inputs, int(window)), parameters, seed + number))
    scores = [outcome.validation for outcome in outcomes]
    return outcomes[int(np.argmax(scores) if task.higher_is_better else np.argmin(scores))]


def _past(inputs: FloatArray, delays: int) -> FloatArray:
    """The input now and at the delays - 1 steps before, zeros before the first step."""
    result = np.zeros((len(inputs), delays * inputs.shape[1]))
    for delay in range(min(delays, len(inputs))):
        part = slice(delay * inputs.shape[1], (delay + 1) * inputs.shape[1])
        result[delay:, part] = inputs[: len(inputs) - delay]
    return result


def _network(task: ReadTask, data: Any, plan: Plan, features: FloatArray, parameters: int, seed: int) -> Outcome:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    train, validation, test = plan.size.stretches
    targets = np.asarray(data[1], dtype=np.float64)
    units = max(1, (parameters - targets.shape[1]) // (features.shape[1] + 1 + targets.shape[1]))
    model = MLPRegressor(
        hidden_layer_sizes=(units,), activation="tanh", solver="lbfgs", max_iter=200, random_state=seed % 2**32
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(features[train], targets[train] if targets.shape[1] > 1 else targets[train, 0])
    predicted = [np.reshape(model.predict(features[part]), (-1, targets.shape[1])) for part in (validation, test)]
    return Outcome(task.score(targets[validation], predicted[0]), task.score(targets[test], predicted[1]), 0.0)


def _contrasts(scores: dict[str, list[float]], higher_is_better: bool) -> tuple[Contrast, ...]:
    others = [name for name in scores if name != "wiring"]
    rows = [_difference(scores["wiring"], scores[name], drawn=name in WIRINGS and name != "mirrored") for name in others]
    adjusted = holm([row[-1] for row in rows])
    result = []
    for name, (mean, lower, upper, effect, p), after in zip(others, rows, adjusted, strict=True):
        verdict = "not different"
        if after < 0.05:
            verdict = "wiring better" if (mean > 0) == higher_is_better else "wiring worse"
        means = float(np.mean(scores["wiring"])), float(np.mean(scores[name]))
        result.append(Contrast(name, *means, mean, lower, upper, effect, p, after, verdict))
    return tuple(result)


def _difference(own: list[float], other: list[float], *, drawn: bool) -> tuple[float, float, float, float, float]:
    """Mean difference, its interval, effect size and p."""
    from scipy import stats

    mean, lower, upper, p = paired(own, other)
    spread, count = float(np.std(np.subtract(own, other), ddof=1)), len(own)
    if not spread:
        return mean, lower, upper, math.copysign(math.inf, mean) if mean else 0.0, p
    if drawn:
        error = spread * math.sqrt(1 + 1 / count)
        lower, upper = (float(end) for end in stats.t.interval(0.95, count - 1, loc=mean, scale=error))
        p = float(2 * stats.t.sf(abs(mean) / error, count - 1))
    return mean, lower, upper, mean / spread, p


def figure(result: Control) -> Any:
    """Every score as a mark, every mean with its interval, a row for each candidate, as a matplotlib figure."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(6.4, 0.9 + 0.42 * len(result.scores)), layout="constrained")
    axes = picture.subplots()
    verdicts = {one.other: one.verdict for one in result.contrasts}
    colours = {"wiring better": "#0072b2", "wiring worse": "#d55e00", "not different": "#8a8d91"}
    for row, (name, values) in enumerate(result.scores.items()):
        colour = "#1b1c1e" if name == "wiring" else colours[verdicts[name]]
        mean, lower, upper = interval(values)
        axes.plot(values, [row] * len(values), linestyle="none", marker="o", markersize=3.5, alpha=0.5, color=colour)
        axes.plot([lower, upper], [row, row], color=colour, linewidth=1.5)
        axes.plot([mean], [row], marker="|", markersize=11, color=colour)
    labels = [name if name == "wiring" else f"{name}\n{verdicts[name]}" for name in result.scores]
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.invert_yaxis()
    better = "right" if result.higher_is_better else "left"
    axes.set(xlabel=f"{result.metric.replace('_', ' ')}, better to the {better}", title=f"{result.task} on {result.connectome}")
    axes.grid(axis="x", linewidth=0.5, alpha=0.6)
    return picture


def save_page(result: Control, path: str | Path) -> Path:
    """Write one page of HTML with the table and the picture in it.

    Raises:
        OutputError: a place that cannot be written to.
    """
    import base64
    import io
    from html import escape

    picture = io.BytesIO()
    figure(result).savefig(picture, format="png", dpi=130)
    columns = ("against", "wiring", "other", "difference", "95 % interval", "effect size", "p, Holm", "verdict")
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{escape(cell)}</td>"
            for cell in (
                one.other, f"{one.mean:.4g}", f"{one.other_mean:.4g}", f"{one.difference:+.4g}",
                f"{one.lower:+.4g} to {one.upper:+.4g}", f"{one.effect_size:+.2f}", f"{one.p_adjusted:.3g}", one.verdict,
            )
        )
        + "</tr>"
        for one in result.contrasts
    )  # fmt: skip
    left_out = "".join(f"<li>{escape(name)}: {escape(reason)}</li>" for name, reason in result.not_applicable.items())
    title = escape(f"Does the wiring matter? {result.task} on {result.connectome}")
    page = (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title>"
        "<style>body{font:16px/1.5 system-ui;max-width:52rem;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse}"
        "td,th{padding:.25rem .7rem;border-bottom:1px solid #ccc;text-align:left}img{max-width:100%}</style>"
        f"<h1>{title}</h1><p>{result.draws} draws, {escape(result.metric)}, "
        f"{'higher' if result.higher_is_better else 'lower'} is better; {result.seconds:.0f} s.</p>"
        f"<img alt='scores of every candidate' src='data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}'>"
        f"<table><tr>{''.join(f'<th>{column}</th>' for column in columns)}</tr>{rows}</table>"
        + (f"<p>Not applicable:</p><ul>{left_out}</ul>" if left_out else "")
        + "</html>\n"
    )
    return atomic_write(path, page)
