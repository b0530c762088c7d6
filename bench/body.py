"""The kinematic fly's coefficients, fitted again to the simulator: yaw rate and speed over a grid of drives.

NeuroMechFly (the extra `fly`) walks under constant drives (left, right); after a quarter of a second to find its gait, nine
strides of 1/12 s are measured. Yaw rate is the turn over that time. Speed is the length of the arc that joins its ends, so the
thorax's swing within a stride does not count as way. Fitted by least squares: yaw = a (right - left) and
speed = b mean - c |right - left|, with standard errors by resampling drives. The given coefficients, those of `KinematicFly`,
are held against the same data. `--every-step` times the controller asked at every physics step beside every tenth.
Run: python bench/body.py
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import asdict, dataclass

import numpy as np

from ordinate.errors import MissingExtraError
from ordinate.lab.machine import machine, versions
from ordinate.reservoir.body.kinematic import KinematicFly
from ordinate.reservoir.body.neuromechfly import NeuroMechFly

WARM_UP_SECONDS, MEASURED_SECONDS, STEP_SECONDS = 0.25, 0.75, 0.05


@dataclass(frozen=True)
class Walk:
    """What one constant drive did."""

    left: float
    right: float
    seed: int
    yaw_degrees_per_second: float
    speed_mm_per_second: float
    cpu_seconds_per_second: float


def walk(fly: NeuroMechFly, left: float, right: float, warm_up: float = WARM_UP_SECONDS) -> Walk:
    """One drive, held, from the start."""
    fly.reset()
    start = time.process_time()
    for _ in range(round(warm_up / STEP_SECONDS)):
        fly.step((left, right))
    first = fly.pose
    for _ in range(round(MEASURED_SECONDS / STEP_SECONDS)):
        fly.step((left, right))
    last, spent = fly.pose, time.process_time() - start
    turn = last.heading_radians - first.heading_radians
    chord = math.hypot(last.x_mm - first.x_mm, last.y_mm - first.y_mm)
    arc = chord / (math.sin(turn / 2) / (turn / 2) if turn else 1.0)
    return Walk(
        left,
        right,
        fly.seed,
        math.degrees(turn) / MEASURED_SECONDS,
        arc / MEASURED_SECONDS,
        spent / (warm_up + MEASURED_SECONDS),
    )


def fit(walks: list[Walk]) -> np.ndarray:
    """a, b and c of the formulas above."""
    left, right, yaw, speed = np.array([[w.left, w.right, w.yaw_degrees_per_second, w.speed_mm_per_second] for w in walks]).T
    (a,) = np.linalg.lstsq((right - left)[:, None], yaw, rcond=None)[0]
    b, c = np.linalg.lstsq(np.stack([(left + right) / 2, -np.abs(right - left)], axis=1), speed, rcond=None)[0]
    return np.array([a, b, c])


def standard_errors(walks: list[Walk], times: int = 400) -> np.ndarray:
    """Of the fit, by drawing drives with replacement."""
    generator = np.random.default_rng(0)
    draws = [fit([walks[place] for place in generator.integers(len(walks), size=len(walks))]) for _ in range(times)]
    return np.std(draws, axis=0)


def unexplained(walks: list[Walk], fly: KinematicFly) -> dict[str, float]:
    """Root mean square of what a kinematic fly gets wrong."""
    yaw = [w.yaw_degrees_per_second - math.degrees(fly.yaw_rate((w.left, w.right))) for w in walks]
    speed = [w.speed_mm_per_second - fly.speed((w.left, w.right)) for w in walks]
    return {name: math.sqrt(float(np.mean(np.square(values)))) for name, values in (("yaw", yaw), ("speed", speed))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drives", type=float, nargs="+", default=[0.2, 0.4, 0.6, 0.8, 1.0, 1.2], help="of each side")
    parser.add_argument("--seeds", type=int, default=1, help="starting phases of the legs")
    parser.add_argument("--warm-up", type=float, default=WARM_UP_SECONDS, help="seconds before anything is measured")
    parser.add_argument("--generation", help="flygym-2, flygym-gymnasium or flygym-1")
    parser.add_argument("--every-step", action="store_true", help="also time the controller at every physics step")
    given = parser.parse_args()
    pairs = [(left, right) for left in given.drives for right in given.drives]
    print(f"NeuroMechFly under {len(pairs)} drives, {given.seeds} seed(s)\n  {machine()}\n  {versions()}")
    print(f"  {'left':>6}{'right':>6}{'seed':>6}{'yaw deg/s':>12}{'speed mm/s':>12}{'CPU s/s':>9}")
    walks = []
    for seed in range(given.seeds):
        try:
            fly = NeuroMechFly(STEP_SECONDS, seed=seed, generation=given.generation)
        except MissingExtraError as problem:
            raise SystemExit(str(problem)) from None
        for left, right in pairs:
            one = walk(fly, left, right, given.warm_up)
            walks.append(one)
            print(
                f"  {left:6.2f}{right:6.2f}{seed:6d}{one.yaw_degrees_per_second:12.1f}{one.speed_mm_per_second:12.2f}"
                f"{one.cpu_seconds_per_second:9.2f}",
                flush=True,
            )
    result: dict[str, object] = {"bench": "body", "generation": given.generation, "walks": [asdict(w) for w in walks]}
    near, far = ([w for w in walks if (abs(w.left - w.right) < 0.25) == small] for small in (True, False))
    subsets = (("all drives", walks), ("differences up to 0.2", near), ("differences above 0.2", far))
    for name, chosen in subsets:
        if len({(w.left, w.right) for w in chosen}) < 3:
            continue
        found, errors = fit(chosen), standard_errors(chosen)
        own = KinematicFly(yaw_degrees_per_second=found[0], speed_mm_per_second=found[1], slowing_mm_per_second=found[2])
        left_over = {"fitted": unexplained(chosen, own), "given": unexplained(chosen, KinematicFly())}
        print(
            f"\n{name}: yaw = {found[0]:.1f} ± {errors[0]:.1f} (right - left) deg/s; "
            f"speed = {found[1]:.2f} ± {errors[1]:.2f} mean - {found[2]:.2f} ± {errors[2]:.2f} |right - left| mm/s"
        )
        print("  given: yaw = 154.5 (right - left); speed = 13.1 mean - 1.3 |right - left|")
        for way, error in left_over.items():
            print(f"  root mean square error, {way}: yaw {error['yaw']:.1f} deg/s, speed {error['speed']:.2f} mm/s")
        result[name] = {"fit": found.tolist(), "standard_errors": errors.tolist(), "rms": left_over}
    cost = float(np.median([w.cpu_seconds_per_second for w in walks]))
    result["cpu_seconds_per_second"] = cost
    print(f"\nCPU seconds a simulated second: {cost:.1f}")
    if given.every_step:
        often, tenth = (
            walk(NeuroMechFly(STEP_SECONDS, generation=given.generation, physics_steps=steps), 0.8, 1.0) for steps in (1, 10)
        )
        result["every_step"] = {"every": asdict(often), "tenth": asdict(tenth)}
        print(
            f"controller at every physics step: {often.cpu_seconds_per_second:.1f} CPU s/s, yaw "
            f"{often.yaw_degrees_per_second:.1f} deg/s, speed {often.speed_mm_per_second:.2f} mm/s; at every tenth: "
            f"{tenth.cpu_seconds_per_second:.1f}, {tenth.yaw_degrees_per_second:.1f}, {tenth.speed_mm_per_second:.2f}"
        )
    print()
    print(json.dumps(result | {"machine": machine(), "versions": versions()}))


if __name__ == "__main__":
    main()
