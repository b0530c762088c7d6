"""D11. The article: with a spectral radius of .9 the descending neurons are nearly silent, left and right make no difference.

What varies is how the synapse counts are scaled: by one factor for all, so that the spectral radius is .9, or neuron by
neuron, so that the synapses which each one sends add to .9. One strong cycle sets the radius (D12), and one factor that
tames it makes every other path weak. The article passes the activity on as it is, so a difference of left and right is read in
activity; read relative to the activity, as a contrast, it is shown beside.

The article prints no numbers. Our protocol: all sensory neurons of one side held at 1, tanh without leak, 20 steps,
the mean over the DN-VNC neurons of both sides and over both stimuli, signals running from presynaptic to postsynaptic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ordinate.articles.d.brain import Brain
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import GRID, INK, SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.reservoir.laterality.experiment import Laterality, laterality

__all__ = ["CLAIM", "Scaling", "measure", "picture", "radius"]

CLAIM = Claim(
    id="D11",
    title="A spectral radius of .9",
    place="D126-130",
    statement=(
        "With the spectral radius normalised to 0.9 the DN-VNC neurons are almost silent, and left and right stimuli "
        "make no meaningful difference."
    ),
    remark=(
        "The article prints no numbers. The factor and both readings of difference (in activity, and relative to it) are ours."
    ),
    setup="same",
    setup_detail="with the larval connectome (--data), else a synthetic one",
    varies="how counts are scaled: one factor for all, or one for each neuron",
    band="activity at least 10 times smaller than with row normalisation; left less right at least 3 times smaller",
    budget_seconds=20,
)

_GAIN, _STEPS = 0.9, 20


@dataclass(frozen=True)
class Scaling:
    """What the two ways of scaling give, in one direction.

    Args:
        together: laterality with one factor for all.
        apart: laterality with a factor for each neuron.
    """

    together: Laterality
    apart: Laterality

    @property
    def fall(self) -> float:
        """How many times smaller activity is with one factor for all."""
        return float(self.apart.table.mean() / self.together.table.mean())

    @property
    def difference(self) -> float:
        """How many times smaller left less right is with one factor for all, for the stimulus where it shrinks less."""
        apart, together = (abs(one.table[:, 0] - one.table[:, 1]) for one in (self.apart, self.together))
        return float((apart / together).min())

    @property
    def contrast(self) -> float:
        """Contrast of left and right with one factor, as a multiple of that with a factor for each neuron."""
        return abs(self.together.index) / abs(self.apart.index)


def measure(inputs: Inputs) -> Measurement:
    """Claim D11 on the larval connectome where it is found."""
    return radius(Brain.from_inputs(inputs), seed=inputs.seeds[0])


def radius(brain: Brain, *, seed: int = 0, together: str = "spectral_radius") -> Measurement:
    """Claim D11 on any brain.

    Args:
        brain: whose senses and output cells are meant.
        seed: of the control, which gives the output cells sides by chance.
        together: the normalisation that is compared with that by output.
    """
    ways = {
        name: Scaling(*(_scaled(brain, way, backwards=backwards) for way in (together, "output")))
        for name, backwards in (("pre to post", False), ("post to pre", True))
        if brain.senses_receive or not backwards
    }
    right = ways["pre to post"]
    by_chance = _by_chance(right.together, np.random.default_rng(seed))
    role = brain.role
    checks = [
        Check.at_least("times that activity falls with the radius at .9", right.fall, 10, role=role(Role.AS_STATED)),
        Check.at_least(
            "times that left less right falls, in activity, least of both stimuli",
            right.difference,
            3,
            role=role(Role.AS_STATED),
        ),
        Check.at_least(
            "contrast relative to the activity at radius .9, in contrasts of per-neuron scaling",
            right.contrast,
            1,
            role=Role.LIMIT,
        ),
        Check.at_most(
            "contrast when output cells get their sides by chance, as a share of the true one",
            by_chance / abs(right.together.index),
            0.5,
            role=role(Role.CONTROL),
        ),
        Check.at_least(
            "pairs of output cells that tell left from right at radius .9, of 1",
            _telling(right.together),
            0.7,
            role=Role.LIMIT,
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=brain.marked(
            f"activity {right.fall:.0f} times and left less right {right.difference:.1f} times smaller at radius .9"
        ),
        meaning={
            Verdict.REPRODUCED: f"The descending neurons are {right.fall:.0f} times quieter when one factor brings "
            "the spectral radius to .9 than when each neuron's synapses add to .9 (mean activity "
            f"{right.together.table.mean():.4f} against {right.apart.table.mean():.4f}), and the difference of left and "
            f"right falls {right.difference:.1f} times or more: a body that gets the activity as it is gets nearly nothing. "
            f"Relative to the activity the difference is larger, not smaller: the index is {right.together.index:+.3f} "
            f"against {right.apart.index:+.3f}, for without saturation and long loops what arrives came by short paths, and "
            "those keep to their side. So the signal is buried in scale, not lost: a read-out that may scale its inputs has "
            "it.",
            Verdict.NOT_TESTABLE: "The article's numbers belong to the larval connectome. On the synthetic one the same "
            f"measurement runs: activity falls {right.fall:.1f} times and contrast is {right.contrast:.1f} times as large.",
        },
        inputs=f"{brain.description}; sensory neurons of one side held at 1, tanh, {_STEPS} steps, read at {brain.readout}",
        tables=[_table(ways)],
        figures=[picture({"radius .9": right.together, "per neuron": right.apart})],
        untested=brain.untested,
    )


def _scaled(brain: Brain, normalisation: str, *, backwards: bool) -> Laterality:
    return laterality(
        brain.connectome, "sensory", brain.readout, steps=_STEPS, normalisation=normalisation, gain=_GAIN, backwards=backwards
    )


def _by_chance(result: Laterality, generator: np.random.Generator) -> float:
    """Mean contrast over draws of a side for every output cell."""
    from ordinate.reservoir.laterality.measures import crossing_index, two_by_two

    drawn = [generator.permutation(result.is_right) for _ in range(200)]
    return float(np.mean([abs(crossing_index(two_by_two(result.activity, sides))) for sides in drawn]))


def _telling(result: Laterality) -> float:
    if result.pairs is None:
        return float("nan")
    with_the_index = result.pairs.crossing if result.index > 0 else result.pairs.count - result.pairs.crossing
    return with_the_index / result.pairs.count


def _table(ways: dict[str, Scaling]) -> Table:
    rows: list[tuple[str | float, ...]] = []
    for direction, scaling in ways.items():
        for name, one in (("one factor, radius .9", scaling.together), ("each neuron's output .9", scaling.apart)):
            effect = one.pairs.effect_size if one.pairs is not None else float("nan")
            rows.append((direction, name, *one.table.ravel().tolist(), one.index, effect))
    columns = (
        "signals run",
        "scaled",
        "left to left",
        "left to right",
        "right to left",
        "right to right",
        "index",
        "effect in pairs",
    )
    return Table("Mean activity of output cells, from the side stimulated to the side read", columns, rows)


def picture(result: Mapping[str, Laterality]) -> Figure:
    """The chart.

    Args:
        found: laterality by the name of the scaling; activity must not be 0 everywhere.
    """
    with canvas(2, height=3.3) as (figure, panels):
        for axes, (name, one), series in zip(panels, result.items(), SERIES, strict=False):
            size = np.abs(one.activity)
            own = np.where(one.is_right, size[1], size[0])
            other = np.where(one.is_right, size[0], size[1])
            largest = float(max(own.max(), other.max()))
            axes.plot([0, largest], [0, largest], color=INK, linewidth=0.7, linestyle=":")
            axes.plot(own, other, linestyle="none", marker=series["marker"], color=series["color"], markersize=4, alpha=0.6)
            axes.set(
                title=f"{name}: mean {size.mean():.4f}, index {one.index:+.3f}",
                xlabel="answer to the own side",
                ylabel="answer to the other side",
                xlim=(0, 1.05 * largest),
                ylim=(0, 1.05 * largest),
            )
            axes.grid(color=GRID)
    return Figure(
        "scaling",
        to_svg(figure),
        caption="One mark an output cell: its activity when its own side is stimulated and when the other one is. On the "
        "dotted line both are alike. The axes of the panels differ in scale.",
        alt="Two scatter plots. In the left one, with axes many times shorter, the marks lie farther from the diagonal, "
        "most of them below it; in the right one they hug it.",
    )
