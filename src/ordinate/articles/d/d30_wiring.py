"""D30. The article: whether a real wiring differs from a random one, as a reservoir, is why anybody uses a connectome.

What varies is the wiring, and whether there is any: the connectome, nulls that keep its degrees, its edges or its graph, and
what needs no wiring (the input, a linear read-out of its past, a small trained network), on three tasks: memory, a chaotic
series, and the fly's turn to a target. Every candidate has the same data, seeds and search budget; differences are paired over
ten draws and corrected by Holm's method for all comparisons of the claim together. What is not distinguished is called not
different.

Quick, this is done on a small synthetic connectome, which says nothing of a brain; `--full --data DIR` takes the larval one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ordinate.articles.d.brain import Brain
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import GRID, INK, SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.reservoir import Connectome
from ordinate.reservoir.control import Contrast, Control, control, turn_task
from ordinate.reservoir.tasks.base import Size
from ordinate.reservoir.tasks.comparison import holm

__all__ = ["CLAIM", "compared", "measure", "picture", "wiring"]

CLAIM = Claim(
    id="D30",
    title="Does the wiring matter?",
    place="D89-93",
    statement=(
        "Whether reservoirs of random connections and of a real connectome differ in memory and accuracy is the main motive; "
        "so it can be tested whether evolution arrived at a wiring that is good for computing."
    ),
    remark=(
        "The article reports no result. Read as: on at least one of three tasks the wiring does better than any wiring with "
        "its degrees, after correction. Tasks, nulls and numbers are ours."
    ),
    setup="none stated",
    setup_detail="a small synthetic connectome; with --full and --data the larval one",
    varies="the wiring: connectome, nulls, none; the task: memory, Mackey-Glass 84 steps ahead, the turn to a target",
    band="paired over draws, Holm-corrected at .05 for all comparisons together",
    budget_seconds=30,
)

_KEEP_DEGREES = ("rewired", "modular")


def measure(inputs: Inputs) -> Measurement:
    """Claim D30 on the synthetic connectome, or with `full` on the larval one where its files are."""
    brain = Brain.from_inputs(inputs) if inputs.full else Brain(Connectome.synthetic(), "descending", real=False)
    return wiring(compared(brain, inputs.seeds[0], full=inputs.full), brain)


def compared(brain: Brain, seed: int, *, full: bool) -> list[Control]:
    """Ten draws of each task on a brain; not `full`, a short training and few of the other candidates."""
    size = Size() if full else Size(washout=50, train=150, validation=60, test=100)
    wirings = ("rewired", "modular", "shuffled", "mirrored", "random") if full else ("rewired", "random")
    results = [
        control(
            brain.connectome,
            task,
            seed=seed,
            size=size,
            wirings=wirings,
            baselines=("input", "past", "network") if full else ("past",),
        )
        for task in ("memory", "mackey-glass")
    ]
    turn = turn_task("sensory", brain.readout)
    return [
        *results,
        control(brain.connectome, turn, seed=seed, wirings=(*wirings, "kinds") if full else wirings, baselines=()),
    ]


def wiring(controls: Sequence[Control], brain: Brain) -> Measurement:
    """Claim D30 on any comparisons of a brain with "rewired" among them."""
    rows = _corrected(controls)
    better = [
        task.task
        for task in controls
        if all(one.verdict == "wiring better" for of, one in rows if of is task and one.other in _KEEP_DEGREES)
    ]
    count = {word: sum(one.verdict == word for _, one in rows) for word in ("wiring better", "wiring worse", "not different")}
    said = "; ".join(f"{_title(task)}: " + ", ".join(_words(one) for of, one in rows if of is task) for task in controls)
    memory = controls[0]
    checks = [
        Check.at_least(
            "tasks on which the wiring does better than any with its degrees, of 3",
            len(better),
            1,
            role=brain.role(Role.GENERALISATION),
        ),
        Check.at_least("draws of each candidate", min(task.draws for task in controls), 10, role=Role.CONTROL),
        Check.at_least("memory of the wiring, mean over draws", _mean(memory, "wiring"), 1.0, role=Role.CONTROL),
        Check.at_least("comparisons that come out different", len(rows) - count["not different"], 1, role=Role.CONTROL),
        *(
            Check.at_most(f"{_title(of)}: p that {one.other} does as well", one.p_adjusted, 0.05, role=Role.LIMIT)
            for of, one in rows
            if one.other in (*_KEEP_DEGREES, "past")
        ),
    ]
    fair = "; ".join(
        f"{_title(task)} {_mean(task, 'wiring'):.3g} against "
        + ", ".join(
            f"{one.other_mean:.3g} {one.other} ({one.verdict})" for of, one in rows if of is task and one.other in _KEEP_DEGREES
        )
        for task in controls
    )
    totals = ", ".join(f"{word} in {number}" for word, number in count.items())
    return Measurement(
        checks=checks,
        key_figure=brain.marked(f"{fair}; of {len(rows)} comparisons: {totals}"),
        meaning={
            Verdict.REPRODUCED: f"On {' and '.join(better)} this wiring does better than any that keeps its degrees. {said}.",
            Verdict.REFUTED: "On none of the three tasks does the wiring do better than every null that keeps its degrees. "
            f"{_above_degrees(rows)}{said}.",
            Verdict.NOT_TESTABLE: f"A drawn connectome says nothing of a brain. {said}.",
        },
        inputs=f"{brain.description}; {memory.draws} draws of data, input weights and null models; in all "
        f"{sum(task.seconds for task in controls):.0f} s",
        tables=[
            Table(
                "The wiring against each other candidate, Holm-corrected for all of them",
                ("task", "against", "wiring", "other", "difference", "95 % from", "to", "effect size", "p", "verdict"),
                [
                    (
                        f"{_title(of)}, {'higher' if of.higher_is_better else 'lower'} is better",
                        one.other,
                        one.mean,
                        one.other_mean,
                        one.difference,
                        one.lower,
                        one.upper,
                        one.effect_size,
                        one.p_adjusted,
                        one.verdict,
                    )
                    for of, one in rows
                ],
            )
        ],
        figures=[picture(controls)],
        untested=() if brain.real else (("the larval connectome", "run with --full --data DIR, DIR with larval-drosophila"),),
    )


def _above_degrees(rows: Sequence[tuple[Control, Contrast]]) -> str:
    """What degrees alone do not explain and degrees with kinds do, if there is such a task."""
    verdicts = {(of.task, one.other): one.verdict for of, one in rows}
    tasks = [_title(of) for of, one in rows if one.other == "rewired" and one.verdict == "wiring better"]
    kept = [
        task
        for task in tasks
        if all(verdicts.get((of.task, "modular")) == "not different" for of, _ in rows if _title(of) == task)
    ]
    if not kept:
        return ""
    return (
        f"For {' and '.join(kept)} it does better than rewiring that keeps the degrees, and is not different from one that "
        "also keeps how many edges run from each kind of neuron to each: as far as ten draws tell, which kind sends to which "
        "is enough. "
    )


def _corrected(controls: Sequence[Control]) -> list[tuple[Control, Contrast]]:
    """Every contrast with the p of Holm's correction over all tasks, not over its own alone."""
    rows = [(task, one) for task in controls for one in task.contrasts]
    adjusted = holm([one.p for _, one in rows])
    return [
        (task, replace(one, p_adjusted=p, verdict=one.verdict if p < 0.05 else "not different"))
        for (task, one), p in zip(rows, adjusted, strict=True)
    ]


def _mean(task: Control, name: str) -> float:
    return sum(task.scores[name]) / len(task.scores[name])


def _title(task: Control) -> str:
    return {"turn": "nearest to the target, mm", "memory": "memory capacity", "mackey-glass": "Mackey-Glass error"}.get(
        task.task, task.task
    )


def _words(one: Contrast) -> str:
    return f"{one.mean:.3g} against {one.other_mean:.3g} {one.other} ({one.verdict})"


def picture(controls: Sequence[Control]) -> Figure:
    """Every draw of every candidate, a panel a task."""
    most = max(len(task.scores) for task in controls)
    with canvas(len(controls), height=1.1 + 0.3 * most, width=9.6) as (figure, axes):
        for panel, task in zip(axes, controls, strict=True):
            for row, (name, values) in enumerate(task.scores.items()):
                colour = INK if name == "wiring" else SERIES[0]["color"]
                panel.plot(values, [row] * len(values), linestyle="none", marker="o", markersize=3, alpha=0.6, color=colour)
                panel.plot([_mean(task, name)], [row], marker="|", markersize=14, color=colour)
            panel.set_yticks(range(len(task.scores)), list(task.scores))
            panel.set(xlabel=_title(task), ylim=(len(task.scores) - 0.5, -0.5))
            panel.grid(axis="x", color=GRID)
    return Figure(
        "wiring",
        to_svg(figure),
        caption=f"{controls[0].connectome}: a mark for each draw, a bar at the mean; the wiring in the first row, below it "
        "what has other wiring or none. Memory: more is better; the other two: less.",
        alt=" ".join(
            f"{_title(task)}: " + ", ".join(f"{name} {_mean(task, name):.3g}" for name in task.scores) + "."
            for task in controls
        ),
    )
