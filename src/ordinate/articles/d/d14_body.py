"""D14. The article: two numbers, left and right, steer a fly in a physics simulator.

What varies is the pair of numbers. First they are given: more on the right, more on the left, equal. Then the brain gives
them: a stimulus on one side of its senses, in a closed loop with a body that walks by formula (`KinematicFly`), whose
coefficients were fitted to the simulator. Where flygym is installed, the given pairs drive NeuroMechFly on six legs in
MuJoCo too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ordinate.articles.d.brain import Brain
from ordinate.errors import RefusedError
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import GRID, INK, SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.reservoir.body.drive import Brain as DrivingBrain
from ordinate.reservoir.body.drive import Drive, Schedule, Target, drive
from ordinate.reservoir.body.figures import draw_path
from ordinate.reservoir.body.kinematic import Body, KinematicFly, Pose
from ordinate.reservoir.body.neuromechfly import INSTALL, installed_generation

__all__ = ["CLAIM", "PAIRS", "Walks", "measure", "paths", "photograph", "steers", "walks"]

CLAIM = Claim(
    id="D14",
    title="Two numbers steer a fly",
    place="D117",
    statement=(
        "The activities of the left and the right DN-VNC neurons, as two numbers, steer a simulated fly through its "
        "turning controller."
    ),
    setup="same",
    setup_detail="with flygym installed; the light body, whose formula was fitted to it, cannot test the claim",
    varies="the two numbers, given or from the connectome; the body",
    band="at least 25 degrees to either side in half a second; our band",
    budget_seconds=60,
)

PAIRS: Mapping[str, tuple[float, float]] = {"more right": (0.4, 1.2), "more left": (1.2, 0.4), "equal": (1.0, 1.0)}
"""Drives (left, right) that are given."""

_STEP_SECONDS, _STEPS = 0.05, 10


@dataclass(frozen=True)
class Walks:
    """What one body did under each of the given pairs.

    Args:
        body: its name.
        poses: of each pair, the start first.
        picture: of the body, rows by columns by three colours; None without one.
    """

    body: str
    poses: Mapping[str, Sequence[Pose]]
    picture: Any = None

    def turned(self, pair: str) -> float:
        """Degrees to the left."""
        return math.degrees(self.poses[pair][-1].heading_radians)

    def walked(self, pair: str) -> float:
        """Millimetres from the start."""
        return math.hypot(self.poses[pair][-1].x_mm, self.poses[pair][-1].y_mm)

    @property
    def crooked(self) -> float:
        """Turn under equal drives, in turns under unequal ones; legs start in mid-stride, so none walks quite straight."""
        apart = abs(self.turned("more right") - self.turned("more left")) / 2
        equal = abs(self.turned("equal"))
        return equal / apart if apart else math.inf if equal else 0.0


def measure(inputs: Inputs) -> Measurement:
    """Claim D14 with the light body, and with NeuroMechFly where flygym is installed."""
    brain = Brain.from_inputs(inputs)
    return steers(brain, lambda: KinematicFly(_STEP_SECONDS), _simulated(inputs.seeds[0]))


def steers(brain: Brain, body: Callable[[], Body], simulated: Walks | None) -> Measurement:
    """Claim D14 with any body.

    Args:
        brain: that steers it in the closed loop.
        body: makes one with a step of 0.05 s.
        simulated: what the simulator's fly did, or None where there is none.
    """
    light = walks("light body", body())
    looped = _looped(brain, body)
    every = [light] if simulated is None else [light, simulated]
    apart = abs(looped["left"].turned_degrees - looped["right"].turned_degrees)
    checks = [
        *_checks(light, weighed=False),
        *(() if simulated is None else _checks(simulated, weighed=True)),
        Check.at_least("brain, light body: turn for stimuli on either side, apart, degrees", apart, 45, role=Role.LIMIT),
        Check.at_most(
            "brain, light body: turn for a stimulus on both sides, degrees",
            abs(looped["both"].turned_degrees),
            10,
            role=Role.LIMIT,
        ),
    ]
    last = every[-1]
    sides = "turns away" if looped["left"].turned_degrees < 0 else "turns towards it"
    return Measurement(
        checks=checks,
        key_figure=f"{last.body}, half a second: {last.turned('more right'):+.0f} degrees under {PAIRS['more right']}, "
        f"{last.turned('more left'):+.0f} under {PAIRS['more left']}, {last.turned('equal'):+.0f} under {PAIRS['equal']}",
        meaning={
            Verdict.REPRODUCED: "Two numbers are enough. Legs that are driven harder on one side turn the fly to the other, "
            f"equal numbers carry it ahead. With {brain.connectome.name} between senses and legs, a stimulus on the left "
            f"{'raises the left' if not looped['crosses'] else 'raises the right'} output cells more, and if their axons "
            f"stay on their side the fly {sides}; with crossed axons it does the opposite. Which of the two a larva does, "
            "the connectome does not say, for the data end at the brain. How hard it turns is a scale that was chosen, not "
            "measured.",
            Verdict.NOT_TESTABLE: "Without the simulator nothing physical was measured. The light body turns by a "
            "formula whose "
            f"coefficients were fitted to it: {light.turned('more right'):+.0f} degrees under {PAIRS['more right']} in half a "
            "second. It serves to close the loop between brain and body quickly, not to test whether two numbers steer a fly.",
        },
        inputs=f"{brain.description}; {', '.join(one.body for one in every)}; output cells {brain.readout}",
        tables=[_table(every)],
        figures=[paths({one.body: one.poses for one in every}, looped["towards"], looped["away"]), *_photographs(simulated)],
        untested=()
        if simulated is not None
        else (
            ("NeuroMechFly in MuJoCo", f"flygym is not installed: {INSTALL}; the light body's coefficients were fitted to it"),
        ),
    )


def walks(name: str, body: Body) -> Walks:
    """A body under each of the given pairs, for half a second from its start."""
    result = {}
    for pair, command in PAIRS.items():
        result[pair] = [body.reset(), *(body.step(command) for _ in range(_STEPS))]
    return Walks(name, result)


def _simulated(seed: int) -> Walks | None:
    if installed_generation() is None:
        return None
    from ordinate.reservoir.body.camera import Film
    from ordinate.reservoir.body.neuromechfly import NeuroMechFly

    with NeuroMechFly(_STEP_SECONDS, seed=seed) as fly:
        result = walks(f"NeuroMechFly ({fly.generation})", fly)
        try:
            film = Film(fly, pictures_per_second=1, playback_speed=1.0)
            fly.step(PAIRS["more right"])
            film.close()
        except RefusedError:  # nothing to draw with: the numbers stand without a picture
            return result
        return Walks(result.body, result.poses, film.pictures[-1])


def _looped(brain: Brain, body: Callable[[], Body]) -> dict[str, Any]:
    steering = DrivingBrain(brain.connectome, "sensory", brain.readout)
    stimuli = {"left": (1.0, 0.0), "right": (0.0, 1.0), "both": (0.5, 0.5)}
    result: dict[str, Any] = {
        name: drive(steering, body(), Schedule([(0.0, *strengths)]), seconds=1.0) for name, strengths in stimuli.items()
    }
    target = Target(20.0, 15.0)
    ways: list[Drive] = [drive(steering, body(), target, seconds=5.0, axons=axons) for axons in ("same", "crossed")]
    ways.sort(key=lambda one: one.closest_mm if one.closest_mm is not None else math.inf)
    return {**result, "towards": ways[0], "away": ways[1], "crosses": steering.crosses}


def _checks(one: Walks, *, weighed: bool) -> list[Check]:
    """What a body did. The light body carries no weight: it turns by a formula, which a check of it would only repeat."""
    stated, control = (Role.AS_STATED, Role.CONTROL) if weighed else (Role.LIMIT, Role.LIMIT)
    return [
        Check.at_least(f"{one.body}: turn to the left under more right, degrees", one.turned("more right"), 25, role=stated),
        Check.at_least(f"{one.body}: turn to the right under more left, degrees", -one.turned("more left"), 25, role=stated),
        Check.at_most(f"{one.body}: turn under equal drives, as a share of the others", one.crooked, 0.5, role=control),
        Check.at_least(f"{one.body}: way under equal drives, mm", one.walked("equal"), 3, role=control),
    ]


def _table(every: Sequence[Walks]) -> Table:
    rows: list[tuple[str | float, ...]] = [
        (one.body, *PAIRS[pair], one.turned(pair), one.walked(pair)) for one in every for pair in PAIRS
    ]
    return Table(
        f"After {_STEPS * _STEP_SECONDS:g} s",
        ("body", "left drive", "right drive", "turned left, degrees", "from the start, mm"),
        rows,
    )


def _photographs(simulated: Walks | None) -> list[Figure]:
    return [] if simulated is None or simulated.picture is None else [photograph(simulated.picture, simulated.body)]


def paths(by_body: Mapping[str, Mapping[str, Sequence[Pose]]], towards: Drive, away: Drive) -> Figure:
    """Paths from above.

    Args:
        by_body: poses by body and by pair of drives.
        towards: a drive to a target by the brain.
        away: the same with the other axons.
    """
    with canvas(2, height=3.9, widths=(1, 1.2)) as (figure, (left, right)):
        for body, (name, pairs) in enumerate(by_body.items()):
            for (pair, poses), series in zip(pairs.items(), SERIES, strict=False):
                left.plot(
                    [pose.x_mm for pose in poses],
                    [pose.y_mm for pose in poses],
                    color=series["color"],
                    marker=series["marker"],
                    markersize=3,
                    linestyle=("-", (0, (1, 1.5)))[body],
                    label=f"{pair}, {name}" if len(by_body) > 1 else pair,
                )
        left.plot(0, 0, marker="o", color=INK, markersize=5)
        left.set(title="Given drives, half a second", xlabel="ahead, mm", ylabel="to the left, mm")
        left.set_aspect("equal", adjustable="datalim")
        left.grid(color=GRID)
        figure.legend(handles=left.get_legend_handles_labels()[0], loc="outside lower left", ncols=3, fontsize=7)
        for driven, series in ((towards, SERIES[2]), (away, SERIES[3])):
            draw_path(
                right, driven, label=f"axons {driven.settings['axons']}", color=series["color"], linestyle=series["linestyle"]
            )
        right.set_title("Driven by the brain, star: what it senses")
        right.legend()
    return Figure(
        "paths",
        to_svg(figure),
        caption="Left, half a second under given drives, seen from above. Right, the light body steered by the connectome in a "
        "closed loop, with output axons on their own side and crossed; arrows show where it looks, a second apart.",
        alt="Two maps. Left, one path bends left, one right, one runs straight. Right, one path bends to the star and ends "
        "there, the other turns its back on it.",
    )


def photograph(picture: Any, body: str) -> Figure:
    """A picture from the simulator.

    Args:
        picture: rows by columns by three colours.
        body: whose.
    """
    with canvas(height=3.4, width=4.6) as (figure, axes):
        axes.imshow(picture)
        axes.set_axis_off()
        axes.set_title(body)
    return Figure(
        "simulator",
        to_svg(figure),
        caption="The fly in the physics simulator. `ordinate reservoir drive --body neuromechfly` films it.",
        alt="A fruit fly on six legs, on a floor of grey squares.",
    )
