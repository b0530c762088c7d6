"""D13. The article: stimulating the right senses drives the left descending neurons more (weights normalised by row).

What varies is the direction in which signals run through the matrix. Its rows are presynaptic, so activity moves as `x W`;
a network that computes `W x` lets it run from postsynaptic to presynaptic cells. The article does not say which it does, so
both are run: all sensory neurons of one side held at 1, each row of counts normalised to 1, tanh without leak, 20 steps, the
mean over the DN-VNC neurons of each side. Then the result the right way round is compared with null models and other settings,
and the body senses (`ascending`), which do cross, are measured in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ordinate.articles.d.brain import Brain
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import GRID, INK, SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.reservoir import Laterality, laterality
from ordinate.reservoir.laterality.experiment import Sweep, sweep

__all__ = ["CLAIM", "Size", "both_directions", "crossing", "measure", "over_settings"]

CLAIM = Claim(
    id="D13",
    title="Senses drive the other side",
    place="D132-140",
    statement=(
        "With row normalisation, stimulating the left senses drives left and right DN-VNC neurons about alike; "
        "stimulating the right senses drives the left ones clearly more."
    ),
    remark=(
        "The article prints no numbers and does not say in which direction it reads the matrix, so both are measured. "
        "All figures are ours."
    ),
    setup="same",
    setup_detail="with the larval connectome (--data), else a synthetic one",
    varies="the direction in which signals run, null models, gain, duration, threshold, normalisation, and which senses",
    band="right senses: left neurons at least a tenth above the right ones; left senses: within a tenth of each other",
    budget_seconds=30,
)

_STEPS, _SHORT = 20, 5
_ALIKE, _CLEARLY = 0.1, 1.1  # the article has words only: alike, clearly more
_NORMALISATIONS = ("output", "input", "spectral_radius")
_GAINS = {"output": (0.5, 1.0, 1.5), "input": (0.5, 1.0, 1.5), "spectral_radius": (0.5, 0.9, 1.5)}


@dataclass(frozen=True)
class Size:
    """How much is drawn and swept.

    Args:
        nulls: draws of each null model.
        thresholds: least synapses of an edge.
        steps: durations.
    """

    nulls: dict[str, int]
    thresholds: Sequence[float] = (1, 3)
    steps: Sequence[int] = (3, 5, 10, 20)


QUICK = Size({"rewired": 4, "relabelled": 6, "shuffled": 4, "mirrored": 1})
FULL = Size(
    {"rewired": 40, "relabelled": 40, "shuffled": 40, "random": 40, "mirrored": 1},
    thresholds=(1, 2, 3, 5),
    steps=(2, 3, 4, 5, 7, 10, 15, 20),
)


def measure(inputs: Inputs) -> Measurement:
    """Claim D13 on the larval connectome where it is found; with --full 40 draws of each null model and more settings."""
    return crossing(Brain.from_inputs(inputs), FULL if inputs.full else QUICK, seed=inputs.seeds[0])


def crossing(brain: Brain, size: Size = QUICK, *, seed: int = 0) -> Measurement:
    """Claim D13 on any brain.

    Args:
        brain: whose senses, body senses and output cells are meant.
        size: of the null models and the sweep.
        seed: of the null models.
    """
    ahead = laterality(brain.connectome, "sensory", brain.readout, steps=_STEPS)
    back = _backwards(brain)
    early, body = (
        laterality(brain.connectome, senses, brain.readout, steps=_SHORT, nulls=size.nulls, seed=seed)
        for senses in ("sensory", "ascending")
    )
    swept = {senses: _swept(brain, senses, size) for senses in ("sensory", "ascending")}
    crossed = {senses: float(np.mean([(one.index > 0).mean() for one in several])) for senses, several in swept.items()}
    role = brain.role
    checks = [
        Check.at_least(
            "right senses: left over right descending neurons, pre to post",
            _left_over_right(ahead, 1),
            _CLEARLY,
            role=role(Role.AS_STATED),
        ),
        Check.near(
            "left senses: left over right descending neurons, pre to post",
            _left_over_right(ahead, 0),
            1,
            _ALIKE,
            role=role(Role.AS_STATED),
        ),
        Check.at_least("share of settings in which the senses cross", crossed["sensory"], 0.5, role=role(Role.GENERALISATION)),
        *(
            check
            for result in (back,)
            if result is not None
            for check in (
                Check.at_least(
                    "right senses: left over right, post to pre", _left_over_right(result, 1), _CLEARLY, role=Role.LIMIT
                ),
                Check.near(
                    "left senses: left over right, post to pre", _left_over_right(result, 0), 1, _ALIKE, role=Role.LIMIT
                ),
            )
        ),
        Check.near("crossing index of the ascending senses after 5 steps", body.index, 0.4, 0.05, role=Role.LIMIT),
        Check.at_least("share of settings in which the ascending senses cross", crossed["ascending"], 0.9, role=Role.LIMIT),
        Check.at_most(f"senses, {early.nulls[0].name} networks: z", early.nulls[0].z, -3, role=Role.LIMIT),
        Check.at_least(f"ascending senses, {body.nulls[0].name} networks: z", body.nulls[0].z, 3, role=Role.LIMIT),
    ]
    return Measurement(
        checks=checks,
        key_figure=brain.marked(
            f"index of the senses {early.index:+.2f} after 5 steps and {ahead.index:+.2f} after 20, pre to post; "
            + ("" if back is None else f"{back.index:+.2f} post to pre; ")
            + f"of the ascending senses {body.index:+.2f}"
        ),
        meaning=_meaning(ahead, back, early, body, crossed),
        inputs=f"{brain.description}; one side's cells held at 1, tanh, read at {brain.readout}; null models drawn "
        f"from seed {seed}",
        tables=[_directions(ahead, back, early, body), _nulls(early, body), _cells(ahead, back, early, body)],
        figures=[both_directions(ahead, back, body), over_settings(swept)],
        untested=brain.untested,
    )


def _backwards(brain: Brain) -> Laterality | None:
    if not brain.senses_receive:
        return None
    return laterality(brain.connectome, "sensory", brain.readout, steps=_STEPS, backwards=True)


def _swept(brain: Brain, senses: str, size: Size) -> list[Sweep]:
    """One sweep a normalisation, for each has gains of its own."""
    return [
        sweep(
            brain.connectome,
            senses,
            brain.readout,
            normalisations=(way,),
            gains=_GAINS[way],
            thresholds=size.thresholds,
            steps=size.steps,
        )
        for way in _NORMALISATIONS
    ]


def _left_over_right(result: Laterality, stimulated: int) -> float:
    """Activity of the left descending neurons over that of the right ones, when the senses of side 0 or 1 are stimulated."""
    return float(result.table[stimulated, 0] / result.table[stimulated, 1])


def _meaning(
    ahead: Laterality, back: Laterality | None, early: Laterality, body: Laterality, crossed: dict[str, float]
) -> dict[Verdict, str]:
    meanings = {
        Verdict.NOT_TESTABLE: "The article's numbers belong to the larval connectome. The synthetic one is built with "
        "senses that "
        f"stay on their side and body senses that cross, and so it is measured: {early.index:+.2f} and {body.index:+.2f}.",
    }
    if back is not None and back.carriers is not None:
        meanings[Verdict.REFUTED] = (
            "The article's observation depends on the direction in which the matrix is read, which it does not say. With rows "
            "as presynaptic cells, as in the published data, there is no crossing. What it describes appears when signals run "
            "from postsynaptic to presynaptic cells, and that it was done so is inference: left and right descending neurons "
            f"{back.table[0, 0]:.4f} and {back.table[0, 1]:.4f} for the left senses, {back.table[1, 0]:.4f} and "
            f"{back.table[1, 1]:.4f} for the right ones. The right way round the senses are ipsilateral: after 20 steps "
            f"{ahead.table[1, 0]:.4f} and {ahead.table[1, 1]:.4f} for the right senses, after 5, before loops mix the sides, "
            f"an index of {early.index:+.2f}, {abs(early.nulls[0].z):.0f} standard deviations from rewired networks; they "
            f"cross in {crossed['sensory']:.0%} of the settings tried. The backward result rests on few cells: "
            f"{back.carriers.half} of {sum(back.read)} make half of it. A true crossing is in the data all the same: the body "
            f"senses (`ascending`) drive the other side with an index of {body.index:+.2f} after 5 steps, z = "
            f"{body.nulls[0].z:+.0f}, in {crossed['ascending']:.0%} of the settings."
        )
    return meanings


def _directions(ahead: Laterality, back: Laterality | None, early: Laterality, body: Laterality) -> Table:
    rows: list[tuple[str | float, ...]] = [
        (name, result.settings["steps"], *result.table.ravel().tolist(), result.index, result.side_bias)
        for name, result in (
            ("senses, post to pre", back),
            ("senses, pre to post", ahead),
            ("senses, pre to post", early),
            ("ascending, pre to post", body),
        )
        if result is not None
    ]
    sides = ("left to left", "left to right", "right to left", "right to right")
    columns = ("cells and direction", "steps", *sides, "index", "side bias")
    return Table("Mean activity of descending neurons, from the side stimulated to the side read", columns, rows)


def _nulls(early: Laterality, body: Laterality) -> Table:
    rows: list[tuple[str | float, ...]] = [
        (name, one.name, one.draws, result.index, one.mean, f"{one.z:+.1f}" if np.isfinite(one.z) else "one draw")
        for name, result in (("senses", early), ("ascending", body))
        for one in result.nulls
    ]
    return Table("Against null models, after 5 steps", ("cells", "null model", "draws", "index", "mean of draws", "z"), rows)


def _cells(ahead: Laterality, back: Laterality | None, early: Laterality, body: Laterality) -> Table:
    rows: list[tuple[str | float, ...]] = []
    for name, result in (
        ("senses, post to pre, 20 steps", back),
        ("senses, 20 steps", ahead),
        ("senses, 5 steps", early),
        ("ascending, 5 steps", body),
    ):
        if result is None or result.pairs is None or result.carriers is None:
            continue
        pairs, few = result.pairs, result.carriers
        crossing = f"{pairs.crossing} of {pairs.count}"
        cells = (crossing, pairs.effect_size, f"{pairs.wilcoxon_p:.1e}", few.half, few.most, few.index_without)
        rows.append((name, *cells))
    columns = (
        "cells",
        "pairs that cross",
        "effect in pairs",
        "Wilcoxon p",
        "cells that make half",
        "nine tenths",
        "index without",
    )
    return Table("Homologous pairs, and how few cells carry the difference", columns, rows)


def both_directions(ahead: Laterality, back: Laterality | None, body: Laterality) -> Figure:
    """Tables as bars, backwards and pre to post.

    Args:
        ahead: the senses, pre to post.
        back: the senses, backwards; None where nothing arrives.
        body: the ascending senses, pre to post.
    """
    panels_drawn = [
        (name, one) for name, one in (("Post to pre", back), ("Pre to post", ahead), ("Ascending", body)) if one is not None
    ]
    with canvas(len(panels_drawn), height=3.2) as (figure, panels):
        for axes, (name, one) in zip(panels, panels_drawn, strict=True):
            for side, (read, shift) in enumerate((("left", -0.19), ("right", 0.19))):
                bars = axes.bar(
                    np.arange(2) + shift,
                    one.table[:, side],
                    width=0.34,
                    color=SERIES[side]["color"],
                    hatch=("", "//")[side],
                    edgecolor="white",
                    linewidth=0.6,
                    label=f"{read} neurons",
                )
                axes.bar_label(bars, fmt="%.4f", fontsize=6.5, padding=2)
            axes.set_xticks([0, 1], ["left\nstimulated", "right\nstimulated"])
            axes.set_title(f"{name}, {one.settings['steps']} steps\nindex {one.index:+.3f}")
            axes.margins(y=0.24)
        panels[0].set_ylabel("mean activity")
        panels[0].legend(loc="upper left", fontsize=7)
    return Figure(
        "directions",
        to_svg(figure),
        caption="Mean activity of the descending neurons of each side when either side is stimulated. Backwards, signals "
        "run from postsynaptic to presynaptic cells, which gives the article's numbers; pre to post is the way synapses "
        "work. Right, the body senses. The axes differ in scale.",
        alt="Three panels of paired bars. Backwards, the right senses raise the left neurons more. Pre to post, each side "
        "raises its own neurons a little more. Ascending, each side raises the other side's neurons more than twice as much.",
    )


def over_settings(swept: Mapping[str, Sequence[Sweep]]) -> Figure:
    """The index over durations, a line for each gain and threshold, a panel for each normalisation.

    Args:
        swept: sweeps by the cells stimulated, one for each normalisation.
    """
    columns = max(len(several) for several in swept.values())
    with canvas(columns, len(swept), height=2.3 * len(swept)) as (figure, panels):
        grid = np.asarray(panels).reshape(len(swept), columns)
        for row, (senses, several) in zip(grid, swept.items(), strict=True):
            for axes, one in zip(row, several, strict=True):
                axes.axhline(0, color=INK, linewidth=0.7, linestyle=":")
                for b, threshold in enumerate(one.thresholds):
                    for c, gain in enumerate(one.gains):
                        axes.plot(
                            one.steps,
                            one.index[0, 0, b, c],
                            **{**SERIES[c], "markersize": 3, "linewidth": 1.0},
                            alpha=1.0 if b == 0 else 0.45,
                            label=f"gain {gain:g}" if b == 0 and threshold == one.thresholds[0] else None,
                        )
                axes.set(title=f"{senses}, {one.normalisations[0].replace('_', ' ')}", ylim=(-0.85, 0.95))
                axes.grid(color=GRID)
                axes.label_outer()
            row[0].set_ylabel("crossing index")
        for axes in grid[-1]:
            axes.set_xlabel("steps")
        for axes in grid[0]:
            axes.legend(fontsize=6.5, loc="upper right")
    return Figure(
        "settings",
        to_svg(figure),
        caption="The crossing index over durations, a line for each gain and, paler, for edges of more synapses. Above 0 "
        "the other side answers more.",
        alt="Two rows of panels. In the upper row, of the senses, all lines run below zero and rise towards it with the "
        "steps; in the lower row, of the ascending senses, they run above zero and fall towards it.",
    )
