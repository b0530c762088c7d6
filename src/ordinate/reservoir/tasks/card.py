"""The benchmark card: a connectome against its null models, on several tasks, signs and normalisations, with intervals.

What makes the comparison fair: each wiring is tuned by itself, over the same gains and input scalings, on a validation stretch;
seeds are paired; null models are drawn anew for each seed; and what the data do not tell apart is called not different. The
picture is plain matplotlib without a window, in Okabe and Ito's colours, each with its own marker.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice
from ordinate.atomic_io import picture_kind, save_figure
from ordinate.errors import ArgumentError, RefusedError, UnknownNameError
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.connectome.gain import NORMALISATIONS, normalise
from ordinate.reservoir.connectome.nulls import NULLS
from ordinate.reservoir.connectome.signs import dale, positive
from ordinate.reservoir.dynamics.input_weights import random_input_weights
from ordinate.reservoir.dynamics.interface import Dynamics
from ordinate.reservoir.dynamics.leaky import LeakyRate
from ordinate.reservoir.dynamics.reservoir import Reservoir
from ordinate.reservoir.dynamics.spiking import LeakyIntegrateAndFire
from ordinate.reservoir.tasks.base import RIDGES, Outcome, Setting, Size, Task, evaluate
from ordinate.reservoir.tasks.comparison import Comparison, holm, interval, paired, verdict
from ordinate.reservoir.tasks.free_run import FreeRunTask
from ordinate.reservoir.tasks.registry import task_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DYNAMICS", "SIGNS", "WIRINGS", "WIRING_MARKS", "Card", "Plan", "draw_card", "draw_task", "save_chart"]

Wiring = Callable[[Connectome, int], Connectome]

FloatArray = npt.NDArray[np.float64]

Cell = tuple[str, str, str, str]


def _wiring(name: str) -> Wiring:
    return lambda connectome, seed: NULLS[name](connectome, seed=seed)


WIRINGS: Mapping[str, Wiring] = {
    "connectome": lambda connectome, seed: connectome,
    **{name: _wiring(name) for name in ("rewired", "shuffled", "mirrored", "random")},
}
"""The connectome itself, and nulls that have another graph or other weights (`ordinate.reservoir.nulls`)."""

DYNAMICS: Mapping[str, Callable[[float, FloatArray], Dynamics]] = {
    "leaky": lambda leak_rate, bias: LeakyRate(leak_rate=leak_rate, bias=bias),
    "spiking": lambda leak_rate, bias: LeakyIntegrateAndFire(
        membrane_ms=2.0, synapse_ms=3.0, refractory_ms=0.0, bias=1.5 + bias
    ),
}
"""What units are, from the leak rate and biases [N] of a plan: rates of an echo-state network; or spiking neurons, driven past
their threshold and read by their traces, of a liquid-state machine, with constants of ours in place of the leak rate."""

SIGNS: Mapping[str, Wiring] = {
    "positive": lambda connectome, seed: positive(connectome),
    "half inhibitory": lambda connectome, seed: dale(connectome, 0.5, seed=seed),
}
"""All synapses excite, as counts say; or half of the neurons inhibit, which the data do not say: the same in each wiring."""


@dataclass(frozen=True)
class Plan:
    """What a card measures.

    Args:
        tasks: names of tasks.
        nulls: names of wirings that the connectome is compared with.
        signs: names of sign assignments.
        normalisations: measures of gain that are brought to 1 before the gains below.
        seeds: two or more; each draws data, input weights, biases, signs, read neurons and nulls.
        size: of the tasks.
        gains: that are chosen from, for each wiring by itself.
        input_scalings: that are chosen from, for each wiring by itself.
        ridges: that are chosen from.
        dynamics: of the units, of `DYNAMICS`: "leaky" or "spiking".
        leak_rate: of leaky units.
        bias: biases are uniform in (-bias, bias), the same in every wiring of a seed.
        stimulus: which neurons hear the input: a query; None means all.
        readout: which neurons may be read: a query; None means all.
        most_read: if there are more, so many of them are drawn, the same in every wiring of a seed.

    Raises:
        UnknownNameError: a task, null, sign or normalisation that there is not.
        ArgumentError: fewer than two seeds, an empty list, or a number outside its interval.

    >>> Plan(seeds=(0, 1)).num_networks
    24
    """

    tasks: tuple[str, ...] = ("memory", "narma10", "mackey-glass")
    nulls: tuple[str, ...] = ("rewired", "random")
    signs: tuple[str, ...] = ("positive", "half inhibitory")
    normalisations: tuple[str, ...] = ("spectral_radius", "input")
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    size: Size = field(default_factory=Size)
    gains: tuple[float, ...] = (0.5, 0.9, 2.0, 4.0, 8.0)
    input_scalings: tuple[float, ...] = (0.1, 1.0)
    ridges: tuple[float, ...] = RIDGES
    dynamics: str = "leaky"
    leak_rate: float = 1.0
    bias: float = 0.2
    stimulus: Any = None
    readout: Any = None
    most_read: int = 150

    def __post_init__(self) -> None:
        known = {"nulls": [name for name in WIRINGS if name != "connectome"], "signs": list(SIGNS)}
        known["normalisations"] = [name for name in NORMALISATIONS if name != "effective_radius"]
        for name in ("tasks", "nulls", "signs", "normalisations", "seeds", "gains", "input_scalings", "ridges"):
            values = getattr(self, name)
            if not values or len(set(values)) != len(values):
                raise ArgumentError(name, expected="one or more, each once", got=reprlib.repr(values))
            for one in values:
                if name in known and one not in known[name]:
                    raise UnknownNameError(name, expected=f"one of {', '.join(known[name])}", got=one)
        check_choice("dynamics", self.dynamics, DYNAMICS)
        for task in self.tasks:
            if isinstance(task_named(task), FreeRunTask) and self.dynamics != "leaky":
                raise RefusedError("tasks", expected="tasks without a free run for spiking units", got=task)
        if len(self.seeds) < 2:
            raise ArgumentError(
                "seeds", expected="two or more", got=self.seeds, hint="one seed has no interval; five are usual"
            )
        for name, fine, expected in (
            ("gains", all(0 < gain < np.inf for gain in self.gains), "numbers above 0"),
            ("input_scalings", all(0 < scaling < np.inf for scaling in self.input_scalings), "numbers above 0"),
            ("bias", 0 <= self.bias < np.inf, "a finite number of at least 0"),
            ("most_read", self.most_read >= 1, "at least 1"),
        ):
            if not fine:
                raise ArgumentError(name, expected=expected, got=getattr(self, name))

    @property
    def settings(self) -> list[Setting]:
        """Every gain with every input scaling."""
        return [Setting(gain, scaling) for gain, scaling in product(self.gains, self.input_scalings)]

    @property
    def num_networks(self) -> int:
        """How many networks a card builds, each run under all settings."""
        return len(self.seeds) * (1 + len(self.nulls)) * len(self.signs) * len(self.normalisations)


@dataclass(frozen=True)
class Card:
    """Scores and comparisons.

    Args:
        connectome: its name.
        num_neurons, num_edges: its size.
        plan: what was done.
        scores: for each (task, signs, normalisation, wiring) the test scores, one a seed.
        gains: for the same the gains that were chosen. Where many lie at an end of what was tried, the tuning was too narrow.
        comparisons: the connectome against each null, everywhere.
    """

    connectome: str
    num_neurons: int
    num_edges: int
    plan: Plan
    scores: Mapping[Cell, tuple[float, ...]]
    gains: Mapping[Cell, tuple[float, ...]]
    comparisons: tuple[Comparison, ...]

    @property
    def num_different(self) -> int:
        """How many comparisons came out different."""
        return sum(one.verdict != "not different" for one in self.comparisons)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        rows: list[dict[str, Any]] = []
        for (task, signs, normalisation, wiring), values in self.scores.items():
            mean, lower, upper = interval(values)
            where = {"task": task, "metric": task_named(task).metric, "signs": signs, "normalisation": normalisation}
            gains = list(self.gains[task, signs, normalisation, wiring])
            values_of = {"mean": mean, "lower": lower, "upper": upper, "scores": list(values), "gains": gains}
            rows.append({**where, "wiring": wiring, **values_of})
        return {
            "connectome": self.connectome,
            "neurons": self.num_neurons,
            "edges": self.num_edges,
            "plan": asdict(self.plan),
            "scores": rows,
            "comparisons": [one.to_dict() for one in self.comparisons],
            "different": self.num_different,
        }


def draw_card(
    connectome: Connectome,
    plan: Plan | None = None,
    *,
    wirings: Mapping[str, Wiring] = WIRINGS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Card:
    """Run every task on the connectome and on its nulls, and compare.

    Args:
        connectome: its absolute weights are taken, and signs assigned.
        plan: what is run; by default memory, NARMA10 and Mackey-Glass with five seeds.
        wirings: each wiring as a function of the connectome and a seed; "connectome" among them.
        progress: called with the networks done and their number.

    Raises:
        ArgumentError: a query that selects nobody.
        RefusedError: a matrix that cannot be normalised.
    """
    plan = Plan() if plan is None else plan
    chosen = [task_named(name) for name in plan.tasks]
    outcomes_of: dict[Cell, list[Outcome]] = {}
    done = 0
    for seed in plan.seeds:
        drawn = [(task, task.draw(plan.size, seed)) for task in chosen]
        read = read_neurons(connectome, plan, seed)
        for name in ("connectome", *plan.nulls):
            wired = wirings[name](connectome, stream(seed, 4))
            for signs, normalisation in product(plan.signs, plan.normalisations):
                scaled = normalise(SIGNS[signs](wired, stream(seed, 5)), normalisation, 1.0)
                for task, outcome in best_outcomes(scaled, drawn, plan, seed, read):
                    outcomes_of.setdefault((task.name, signs, normalisation, name), []).append(outcome)
                done += 1
                progress(done, plan.num_networks)
    scores = {cell: tuple(one.test for one in outcomes) for cell, outcomes in outcomes_of.items()}
    gains = {cell: tuple(one.setting.gain for one in outcomes if one.setting) for cell, outcomes in outcomes_of.items()}
    size = connectome.num_neurons, connectome.num_edges
    return Card(connectome.name, *size, plan, scores, gains, _compared(scores, plan))


def stream(seed: int, use: int) -> int:
    """A seed of its own for each use, so that the draws of one seed are independent of each other."""
    return int(np.random.SeedSequence([seed, use]).generate_state(1)[0])


def read_neurons(connectome: Connectome, plan: Plan, seed: int) -> npt.NDArray[np.int64]:
    allowed = np.arange(connectome.num_neurons) if plan.readout is None else connectome.select(plan.readout, argument="readout")
    if len(allowed) <= plan.most_read:
        return allowed
    return np.sort(np.random.default_rng(stream(seed, 1)).choice(allowed, plan.most_read, replace=False))


def best_outcomes(
    connectome: Connectome, drawn: list[tuple[Task, Any]], plan: Plan, seed: int, read: npt.NDArray[np.int64]
) -> list[tuple[Task, Outcome]]:
    """Each task's outcome at the setting that its validation stretch prefers; tasks of as many channels share a network."""
    best = []
    hearing = None if plan.stimulus is None else connectome.select(plan.stimulus, argument="stimulus")
    bias = plan.bias * np.random.default_rng(stream(seed, 2)).uniform(-1, 1, connectome.num_neurons)
    for channels in sorted({task.num_channels for task, _ in drawn}):
        weights = random_input_weights(connectome, channels, neurons=hearing, seed=stream(seed, 3))
        reservoir = Reservoir(connectome, input_weights=weights, dynamics=DYNAMICS[plan.dynamics](plan.leak_rate, bias))
        own = [(task, data) for task, data in drawn if task.num_channels == channels]
        outcomes = evaluate(own, reservoir, plan.size, plan.settings, ridges=plan.ridges, record=read)
        best += [(task, outcome) for (task, _), outcome in zip(own, outcomes, strict=True)]
    return best


def _compared(scores: Mapping[Cell, tuple[float, ...]], plan: Plan) -> tuple[Comparison, ...]:
    cells = list(product(plan.tasks, plan.signs, plan.normalisations, plan.nulls))
    rows = []
    for task, signs, normalisation, null in cells:
        own, other = scores[task, signs, normalisation, "connectome"], scores[task, signs, normalisation, null]
        rows.append((own, other, paired(own, other)))
    adjusted = holm([difference[3] for _, _, difference in rows])
    return tuple(
        Comparison(
            *cell,
            connectome_mean=float(np.mean(own)),
            null_mean=float(np.mean(other)),
            difference=mean,
            lower=lower,
            upper=upper,
            p=p,
            p_adjusted=after,
            verdict=verdict(mean, after, task_named(cell[0]).higher_is_better),
        )
        for cell, (own, other, (mean, lower, upper, p)), after in zip(cells, rows, adjusted, strict=True)
    )


WIRING_MARKS = {
    "connectome": ("#d55e00", "o"),
    "rewired": ("#0072b2", "s"),
    "shuffled": ("#cc79a7", "D"),
    "mirrored": ("#e69f00", "v"),
    "random": ("#009e73", "^"),
}
"""Colour and marker of each wiring."""


def draw_task(axes: Axes, card: Card, task: str, *, named_rows: bool = True) -> None:
    """Scores of one task: a row for each signs and normalisation, in it a line for each wiring; a star where it differs.

    Args:
        axes: of matplotlib.
        card: what was measured.
        task: one of the card's.
        named_rows: write what the rows are.
    """
    plan = card.plan
    rows = list(product(plan.signs, plan.normalisations))
    wirings = ("connectome", *plan.nulls)
    verdicts = {(one.signs, one.normalisation, one.null): one.verdict for one in card.comparisons if one.task == task}
    for row, (signs, normalisation) in enumerate(rows):
        for number, wiring in enumerate(wirings):
            height = row + (number - (len(wirings) - 1) / 2) * 0.24
            colour, marker = WIRING_MARKS[wiring]
            values = card.scores[task, signs, normalisation, wiring]
            mean, lower, upper = interval(values)
            axes.plot(values, [height] * len(values), linestyle="none", marker=marker, color=colour, markersize=3.5, alpha=0.55)
            axes.plot([lower, upper], [height, height], color=colour, linewidth=1.4)
            axes.plot([mean], [height], marker="|", markersize=9, color=colour, label=wiring if row == 0 else None)
            if verdicts.get((signs, normalisation, wiring), "not different") != "not different":
                axes.annotate("*", (max(upper, *values), height), xytext=(4, -4), textcoords="offset points", color=colour)
    metric = task_named(task).metric.replace("_", " ")
    better = "right" if task_named(task).higher_is_better else "left"
    axes.set(title=task_named(task).title, xlabel=f"{metric}, better to the {better}", ylim=(len(rows) - 0.5, -0.5))
    axes.margins(x=0.08)
    labels = [f"{signs},\n{normalisation.replace('_', ' ')}" for signs, normalisation in rows]
    axes.set_yticks(range(len(rows)), labels if named_rows else [""] * len(rows))
    axes.grid(axis="x", linewidth=0.5, alpha=0.6)


def save_chart(card: Card, path: Path) -> None:
    """Write the picture of a card as .png, .svg or .pdf.

    Args:
        card: what was measured.
        path: where to; the suffix says in what format.

    Raises:
        ArgumentError: another suffix.
        OutputError: a place that cannot be written to.
    """
    from matplotlib.figure import Figure

    picture_kind(path)  # before anything is drawn
    tasks = card.plan.tasks
    rows = len(card.plan.signs) * len(card.plan.normalisations)
    figure = Figure(figsize=(1.6 + 2.9 * len(tasks), 1.6 + 0.75 * rows), layout="constrained")
    panels: Any = figure.subplots(1, len(tasks), squeeze=False)[0]
    for number, (axes, task) in enumerate(zip(panels, tasks, strict=True)):
        draw_task(axes, card, task, named_rows=number == 0)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle(f"{card.connectome}; * differs after Holm's correction", fontsize=9)
    save_figure(figure, path)
