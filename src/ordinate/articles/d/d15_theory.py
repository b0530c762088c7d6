"""D15. The article: recurrence is fixed and random, only the read-out is learned; a real wiring may differ from a random one.

What varies is the wiring: a connectome, the same with its partners redrawn (every neuron keeps their numbers), and edges
anywhere; each with all synapses excitatory or with half of the neurons inhibitory, and brought to gain 1 in different ways.
Everything else is the same within a seed, each wiring chooses its own gain and input scaling on a validation stretch, and
differences are paired over seeds with Holm's correction for the number of comparisons. What is not distinguished is called not
different. A network without synapses is the control: it must have no memory, and must be distinguished.

The chart of D15: the card of every task, signs and normalisation, seed by seed.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ordinate.articles.d.brain import Brain
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.reservoir import Connectome
from ordinate.reservoir.tasks.base import Size
from ordinate.reservoir.tasks.card import WIRINGS, Card, Plan, draw_card, draw_task
from ordinate.reservoir.tasks.comparison import Comparison, interval, paired
from ordinate.reservoir.tasks.registry import task_named

__all__ = ["CLAIM", "measure", "picture", "plan_for", "silenced", "theory"]

CLAIM = Claim(
    id="D15",
    title="Fixed random recurrence, and a real wiring",
    place="D36-41, D89-93",
    statement=(
        "In a reservoir the recurrence is random and fixed and only a linear read-out is learned, which costs far less "
        "than training an RNN; whether a real wiring differs from a random one in memory and accuracy is the question."
    ),
    remark="The article reports no result of its own here.",
    setup="none stated",
    setup_detail="with the larval connectome (--data), else a synthetic one",
    varies=(
        "the wiring (connectome, rewired, random, none), signs, normalisation, task and seed; gain and input scaling "
        "are tuned for each wiring"
    ),
    band=(
        "random recurrence: NARMA10 error at most .7 and a memory of at least 2 inputs; at least one comparison with "
        "random wiring that differs after correction"
    ),
    seeds=5,
    budget_seconds=30,
)


def plan_for(brain: Brain, seeds: tuple[int, ...], full: bool) -> Plan:
    """What is run: all of it on a small connectome; on the larval one a small part, or with `full` all of it and ten seeds."""
    if full:
        return Plan(seeds=tuple(range(seeds[0], seeds[0] + max(10, len(seeds)))))
    quick = Plan(seeds=seeds, gains=(0.9, 2.0, 4.0), ridges=(1e-6, 1e-2, 1.0), most_read=100)
    if not brain.real:
        return replace(quick, size=Size(train=600, validation=250, test=600))
    size = Size(washout=50, train=300, validation=100, test=200)
    return replace(quick, tasks=("memory", "narma10"), normalisations=("input",), size=size)


def silenced(connectome: Connectome, seed: int) -> Connectome:
    """The same neurons without a synapse."""
    return connectome.with_weights(np.zeros(connectome.weights.shape), name="no synapses")


def measure(inputs: Inputs) -> Measurement:
    """Claim D15 on the larval connectome where it is found, else on a synthetic one."""
    brain = Brain.from_inputs(inputs)
    return theory(brain, plan_for(brain, inputs.seeds, inputs.full))


def theory(
    brain: Brain,
    plan: Plan,
    *,
    wirings: Mapping[str, Callable[[Connectome, int], Connectome]] = WIRINGS,
    control: Callable[[Connectome, int], Connectome] = silenced,
) -> Measurement:
    """Claim D15 on any brain and wirings.

    Args:
        brain: the connectome that is compared.
        plan: memory, NARMA10 and the null "random" among it.
        wirings: as `draw_card` takes them.
        control: what makes a network without memory of the connectome.
    """
    card = draw_card(brain.connectome, plan, wirings=wirings)
    silent = _silent_memory(brain.connectome, plan, control)
    signs, by = plan.signs[0], "input" if "input" in plan.normalisations else plan.normalisations[0]
    p_memory = paired(card.scores["memory", signs, by, "random"], silent)[3]
    random = {task: _of(card, task, "random") for task in ("memory", "narma10")}
    against = {null: [one for one in card.comparisons if one.null == null] for null in plan.nulls}
    differ = {null: _differing(comparisons) for null, comparisons in against.items()}
    checks = [
        Check.at_most("NARMA10 error of random recurrence, only the read-out learned, best", min(random["narma10"]), 0.7),
        Check.at_least("memory capacity of random recurrence, only the read-out learned, least", min(random["memory"]), 2),
        Check.near("memory capacity without synapses", statistics.fmean(silent), 0.0, 0.3, role=Role.CONTROL),
        Check.at_most("p of random recurrence against no synapses, memory", p_memory, 0.05, role=Role.CONTROL),
        Check.at_least(
            f"comparisons with random wiring that come out different, of {len(against['random'])}",
            len(differ["random"]),
            1,
            role=brain.role(Role.GENERALISATION),
        ),
        *(
            Check.at_least(
                f"comparisons with {null} wiring that come out different, of {len(comparisons)}",
                len(differ[null]),
                1,
                role=Role.LIMIT,
            )
            for null, comparisons in against.items()
            if null != "random"
        ),
    ]
    said = "; ".join(f"against {null} wiring: {_counted(comparisons)}" for null, comparisons in against.items())
    return Measurement(
        checks=checks,
        key_figure=brain.marked(said),
        meaning={
            Verdict.REPRODUCED: "Training the read-out alone is enough: random recurrence brings the error of NARMA10 down to "
            f"{min(random['narma10']):.2f}, where 1 is guessing the mean, and tells {max(random['memory']):.0f} past inputs "
            f"where its gain suits it, against {abs(statistics.fmean(silent)):.1f} without synapses. "
            f"{_on_wiring(brain, against)} {_by_normalisation(card)}",
            Verdict.REFUTED: "Not different: on these tasks, signs and normalisations the seeds do not tell the connectome "
            "from random wiring, or a trained read-out of random recurrence does not solve the tasks. The intervals in the "
            "table say how large a difference could still hide.",
        },
        inputs=f"{brain.description}; tasks {', '.join(plan.tasks)}; {' and '.join(plan.signs)} synapses; gain 1 by "
        f"{' and '.join(name.replace('_', ' ') for name in plan.normalisations)}; {plan.size.train} steps to fit, "
        f"{plan.size.validation} to choose on, {plan.size.test} to score; gains "
        f"{', '.join(f'{gain:g}' for gain in plan.gains)}; seeds {', '.join(map(str, plan.seeds))}",
        tables=[_table(card), _gains(card)],
        figures=[picture(card)],
        untested=brain.untested,
    )


def _silent_memory(connectome: Connectome, plan: Plan, control: Callable[[Connectome, int], Connectome]) -> tuple[float, ...]:
    alone = replace(plan, tasks=("memory",), nulls=("random",), signs=plan.signs[:1], normalisations=("input",))
    alone = replace(alone, gains=plan.gains[:1])
    card = draw_card(connectome, alone, wirings={"connectome": control, "random": control})
    return card.scores["memory", alone.signs[0], "input", "connectome"]


def _of(card: Card, task: str, wiring: str) -> list[float]:
    return [statistics.fmean(values) for cell, values in card.scores.items() if (cell[0], cell[3]) == (task, wiring)]


def _differing(comparisons: list[Comparison]) -> list[Comparison]:
    return [one for one in comparisons if one.verdict != "not different"]


def _counted(comparisons: list[Comparison]) -> str:
    words = {
        word: sum(one.verdict == word for one in comparisons)
        for word in ("connectome better", "connectome worse", "not different")
    }
    counts = [f"{word.removeprefix('connectome ')} in {count}" for word, count in words.items() if count]
    return f"{', '.join(counts)} of {len(comparisons)}"


def _on_wiring(brain: Brain, against: Mapping[str, list[Comparison]]) -> str:
    subject = "The larval connectome" if brain.real else "The synthetic connectome, which is no brain,"
    counts = "; ".join(
        f"beside {null} wiring it is {_counted(comparisons)} comparisons" for null, comparisons in against.items()
    )
    return f"{subject} compared: {counts}, after correction for all of them."


def _by_normalisation(card: Card) -> str:
    """Whether the answer depends on signs or normalisation: the same task, better under one and worse under another."""
    turned = sorted(
        {
            task_named(task).title
            for task in card.plan.tasks
            for null in card.plan.nulls
            if {"connectome better", "connectome worse"}
            <= {one.verdict for one in card.comparisons if (one.task, one.null) == (task, null)}
        }
    )
    if not turned:
        return "Whether a wiring helps can depend on signs and on how gain is set, so a single setting says little."
    return (
        f"For {' and '.join(turned)} it is better under one choice of signs or normalisation and worse under another: neither "
        "is in the data, so no sentence of the form 'the brain is a better reservoir' is supported."
    )


def _table(card: Card) -> Table:
    rows = [
        (
            task_named(one.task).title,
            one.signs,
            one.normalisation.replace("_", " "),
            one.null,
            one.connectome_mean,
            one.null_mean,
            f"{one.difference:+.3f} ({one.lower:+.3f} to {one.upper:+.3f})",
            one.verdict,
        )
        for one in card.comparisons
    ]
    heads = (
        "task",
        "signs",
        "gain 1 by",
        "null",
        "connectome",
        "the null",
        "difference, 95 % interval",
        "after Holm's correction",
    )
    metrics = "; ".join(
        f"{task_named(name).title}: {task_named(name).metric}, "
        f"{'more' if task_named(name).higher_is_better else 'less'} is better"
        for name in card.plan.tasks
    )
    return Table(f"Test scores, mean over {len(card.plan.seeds)} seeds ({metrics})", heads, rows)


def _gains(card: Card) -> Table:
    """Scores with intervals, and whether tuning ended at an edge of what was tried."""
    largest = max(card.plan.gains)
    rows = []
    for (task, signs, by, wiring), values in card.scores.items():
        mean, lower, upper = interval(values)
        chosen = card.gains[task, signs, by, wiring]
        edge = f"{chosen.count(largest)} of {len(chosen)}"
        where = (task_named(task).title, signs, by.replace("_", " "), wiring)
        rows.append((*where, f"{mean:.3f} ({lower:.3f} to {upper:.3f})", f"{statistics.median(chosen):g}", edge))
    heads = (
        "task",
        "signs",
        "gain 1 by",
        "wiring",
        "score, 95 % interval",
        "median gain chosen",
        "largest gain tried was chosen",
    )
    return Table("Each wiring by itself", heads, rows)


def picture(card: Card) -> Figure:
    """The chart.

    Args:
        card: what was measured.
    """
    tasks = card.plan.tasks
    rows = len(card.plan.signs) * len(card.plan.normalisations)
    with canvas(len(tasks), height=1.5 + 0.72 * rows) as (figure, axes):
        panels = list(axes) if len(tasks) > 1 else [axes]
        for number, (panel, task) in enumerate(zip(panels, tasks, strict=True)):
            draw_task(panel, card, task, named_rows=number == 0)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    titles = ", ".join(task_named(task).title for task in tasks)
    return Figure(
        "card",
        to_svg(figure),
        caption=f"Test scores on {titles}: a mark for each seed, a bar for the 95 % interval of their mean. A star where a "
        "null differs from the connectome after Holm's correction; without one they are not different.",
        alt=f"{len(tasks)} panels, one a task. Rows are signs and normalisations; in each row lie the scores of the connectome "
        f"and of {' and '.join(card.plan.nulls)} wiring, near each other where no star stands.",
    )
