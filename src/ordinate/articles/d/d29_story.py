"""D29. The article's fly, from beginning to end: senses, connectome, descending neurons, legs, with nothing scaled in between.

What varies is how the counts are normalised and in which direction the matrix is read. The activity of the DN-VNC
neurons of each side is sent to the legs as it is, as the article sends it. D11 and D13 measure the two findings in the
network; here the fly walks. The light body stands for the simulator (D14); `ordinate reservoir drive --body
neuromechfly --unscaled` films the same in MuJoCo with a tracking camera, and `ordinate reservoir story` prints this
claim's table for any connectome.
"""

from __future__ import annotations

import math

from ordinate.articles.d.brain import Brain
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import GRID, SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.reservoir.body.drive import Brain as DrivingBrain
from ordinate.reservoir.body.drive import Schedule, drive
from ordinate.reservoir.body.kinematic import KinematicFly
from ordinate.reservoir.body.story import Episode, episodes

__all__ = ["CLAIM", "measure", "picture", "unscaled"]

CLAIM = Claim(
    id="D29",
    title="The whole story of the fly",
    place="D107, D117, D124-137",
    statement=(
        "2952 neurons and about 548,000 synapses between the senses and a fly's legs: with a spectral radius of 0.9 the DN-VNC "
        "neurons are nearly silent and the sides of a stimulus make no difference; with row normalisation stimulating the "
        "right senses drives the left DN-VNC neurons clearly more, and stimulating the left ones both about alike."
    ),
    remark=(
        "The matrix that was published with the paper has 352,611 synapses; why the article has more is not known. It prints "
        "no activity and does not say in which direction it reads the matrix. All bands and other figures are ours."
    ),
    setup="smaller",
    setup_detail="the larval connectome (--data), else a synthetic one; a light body in place of the simulator",
    varies="normalisation, direction of reading, the side of the stimulus, all senses or the noses",
    band="nearly silent: a drive of at most .02, a turn of at most 2 degrees in 2 s; clearly more, and alike: a tenth",
    budget_seconds=15,
)

_SILENT, _STILL_DEGREES, _ALIKE, _CLEARLY = 0.02, 2.0, 0.1, 1.1

Walks = dict[tuple[str, str, bool, str], Episode]


def measure(inputs: Inputs) -> Measurement:
    """Claim D29 with the light body, on the larval connectome where it is found."""
    return unscaled(Brain.from_inputs(inputs))


def unscaled(brain: Brain, *, row: str = "output") -> Measurement:
    """Claim D29 on any brain.

    Args:
        brain: whose senses and output cells are meant.
        row: the normalisation that is taken for that by rows.
    """
    noses = "sensory & olfactory"
    stimuli = ["sensory", *([noses] if brain.connectome.select(noses, allow_empty=True).size else [])]

    every = episodes(brain.connectome, lambda: KinematicFly(0.05), stimuli=stimuli, readout=brain.readout, seconds=2.0)
    walks = {(one.stimulus, one.normalisation, one.backwards, one.side): one for one in every}
    steering = DrivingBrain(brain.connectome, "sensory", brain.readout, normalisation=row, leak_rate=1.0)
    scaled = drive(steering, KinematicFly(0.05), Schedule([(0.0, 1.0, 0.0)]), seconds=2.0)
    radius = [walks["sensory", "spectral_radius", False, side] for side in ("left", "right")]
    rows = [walks["sensory", row, False, side] for side in ("left", "right")]
    back = [walks["sensory", row, True, side] for side in ("left", "right")]
    role = brain.role
    checks = [
        Check.near("neurons", brain.connectome.num_neurons, 2952, 0.5, role=role(Role.AS_STATED)),
        Check.near("synapses of the published matrix", brain.connectome.num_synapses, 548_000, 500, role=Role.LIMIT),
        Check.at_most("radius .9: largest drive of a side", _largest(radius), _SILENT, role=role(Role.AS_STATED)),
        Check.at_most("radius .9: largest turn, degrees", _turn(radius), _STILL_DEGREES, role=role(Role.AS_STATED)),
        Check.at_least(
            "row normalisation: times the drive at radius .9", _largest(rows) / _largest(radius), 10, role=role(Role.AS_STATED)
        ),
        Check.at_least("rows, right senses: left over right", _ratio(rows[1]), _CLEARLY, role=role(Role.AS_STATED)),
        Check.near("rows, left senses: left over right", _ratio(rows[0]), 1, _ALIKE, role=role(Role.AS_STATED)),
        Check.at_least("rows: largest turn, unscaled, degrees", _turn(rows), _STILL_DEGREES, role=Role.LIMIT),
        *(
            []
            if back[0].refused
            else [
                Check.at_least("rows, backwards, right senses: left over right", _ratio(back[1]), _CLEARLY, role=Role.LIMIT),
                Check.near("rows, backwards, left senses: left over right", _ratio(back[0]), 1, _ALIKE, role=Role.LIMIT),
                Check.at_most("rows, backwards: largest turn, unscaled, degrees", _turn(back), _STILL_DEGREES, role=Role.LIMIT),
            ]
        ),
        Check.at_least(
            "the same brain with scaled commands, left senses: turn, degrees",
            abs(scaled.turned_degrees),
            20,
            role=role(Role.CONTROL),
        ),
    ]
    backwards = (
        "nothing runs backwards from these senses"
        if back[0].refused
        else f"read backwards, {_ratio(back[1]):.2f} and {_ratio(back[0]):.2f}, at drives of {_largest(back):.3f}"
    )
    words = (
        f"Left over right DN-VNC activity is {_ratio(rows[1]):.2f} for right senses and {_ratio(rows[0]):.2f} for left ones; "
        f"{backwards}."
    )
    return Measurement(
        checks=checks,
        key_figure=brain.marked(
            f"drive at radius .9 at most {_largest(radius):.3f}, by rows {_largest(rows):.2f}; right senses, left over right: "
            f"{_ratio(rows[1]):.2f} forwards" + ("" if back[0].refused else f", {_ratio(back[1]):.2f} backwards")
        ),
        meaning={
            Verdict.REPRODUCED: f"As stated. {words}",
            Verdict.REFUTED: "The first half is as stated: one factor for all leaves the fly where it stands, rows let the "
            f"signal through. {words} The crossing that the article reports is not there when signals run from presynaptic to "
            "postsynaptic neurons, as they do in a brain. Unscaled, the fly turns by "
            f"{_turn(rows):.0f} degrees in two seconds at most: it walks more than it turns.",
            Verdict.NOT_TESTABLE: f"A drawn connectome says nothing of the larva. {words}",
        },
        inputs=f"{brain.description}, {brain.connectome.num_synapses:,.0f} synapses; one side's cells held at 1 for two "
        f"seconds, tanh without leak, gain .9, output cells {brain.readout}, legs on their own side; light body",
        tables=[_table(walks)],
        figures=[picture(walks)],
        untested=brain.untested,
    )


def _ratio(one: Episode) -> float:
    return one.left / one.right if one.right else math.inf if one.left else math.nan


def _largest(several: list[Episode]) -> float:
    return max(max(one.left, one.right) for one in several)


def _turn(several: list[Episode]) -> float:
    return max(abs(one.turned_degrees) for one in several)


def _table(walks: Walks) -> Table:
    rows: list[tuple[str | float, ...]] = [
        (
            one.stimulus, one.side, one.normalisation.replace("_", " "), "backwards" if one.backwards else "forwards", one.left,
            one.right, one.turned_degrees, one.walked_mm,
        )
        for one in walks.values() if not one.refused
    ]  # fmt: skip
    return Table(
        "Two seconds, unscaled",
        ("senses", "side", "normalised by", "matrix read", "left drive", "right drive", "turned left, degrees", "walked, mm"),
        rows,
    )


def picture(walks: Walks) -> Figure:
    """The drive of either side, by stimulus, normalisation and direction, on a logarithmic scale.

    Args:
        walks: by senses, normalisation, direction and side.
    """
    cases = [key for key, one in walks.items() if key[0] == "sensory" and key[3] != "both" and not one.refused]
    names = {"spectral_radius": "radius .9", "output": "rows"}
    with canvas(height=3.6) as (figure, axes):
        for end, series in zip(("left", "right"), SERIES, strict=False):
            axes.plot(
                [max(getattr(walks[key], end), 1e-6) for key in cases], range(len(cases)), linestyle="none", markersize=8,
                marker=series["marker"], color=series["color"], label=f"{end} DN-VNC",
            )  # fmt: skip
        labels = [f"{names[key[1]]}, {'backwards' if key[2] else 'forwards'}, {key[3]} senses" for key in cases]
        axes.set_yticks(range(len(cases)), labels)
        axes.invert_yaxis()
        axes.set(xscale="log", xlabel="drive of the legs, unscaled")
        axes.grid(color=GRID)
        axes.legend()
    return Figure(
        "drives",
        to_svg(figure),
        caption="What the legs of either side are driven by when the senses of one side are held at 1 for two seconds.",
        alt="Pairs of marks, a row for each stimulus: near nothing at radius .9, some tenths with rows, little backwards.",
    )
