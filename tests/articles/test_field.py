"""The field's claims: RoPE's one half against a formula, and doctored numbers change the verdicts."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ordinate.articles.field import f1_one_half, f2_clipped, f3_dropped, f4_wiring, f5_cifar
from ordinate.data.published import read_published
from ordinate.lab.catalogue import choose, read_claims
from ordinate.lab.claim import Inputs
from ordinate.lab.measurement import Measurement, Verdict, judge
from ordinate.lab.runner import run_one
from ordinate.reservoir.control import Contrast, Control

pytestmark = pytest.mark.usefixtures("undrawn")


def verdict(measurement: Measurement) -> Verdict:
    return judge(measurement.checks)[0]


def test_f1_one_pair_fails_as_often_as_two_angles_say() -> None:
    """One slow pair, keys like their queries: the score is cos(w d) r, and no place within a quarter turn is out of order."""
    one = f1_one_half._failures(np.array([1e-9]), 2000, 0)
    assert one.order[0] == 0.0  # nothing turns
    fast = f1_one_half._failures(np.array([2.0]), 4000, 0)
    assert abs(fast.near[0] - 0.5) < 0.05
    assert abs(fast.order[-1] - 0.5) < 0.05


def f1(near: float = 0.5, order: float = 0.5, start: float = 0.1, step: float = 0.2) -> Measurement:
    def failures(last: float, turned: float, step: float) -> f1_one_half.Failures:
        count = len(f1_one_half._LENGTHS) - 1
        return f1_one_half.Failures([start] * count + [last], [start] * (count - 4) + [turned] * 4 + [order], step)

    return f1_one_half.one_half({1e4: failures(near, 0.5, step), 5e5: failures(near, 0.4, 0.1)}, 1)


def test_f1_failures_away_from_one_half_refute_it_and_ones_from_the_start_say_nothing() -> None:
    assert verdict(f1()) is Verdict.REPRODUCED
    assert verdict(f1(near=0.4)) is Verdict.REFUTED
    assert verdict(f1(order=0.3)) is Verdict.REFUTED
    assert verdict(f1(step=0.1)) is Verdict.REFUTED
    assert verdict(f1(start=0.45)) is Verdict.NOT_TESTABLE


def test_f2_says_what_clipping_saves_and_costs() -> None:
    def holds(far: float, here: float = 3.5) -> list[bool]:
        def row(at: float, end: float) -> dict[str, dict[str, float]]:
            return {"32": {"last": at, "cut": at}, "64": {"last": at, "cut": at}, "128": {"last": end, "cut": 3.5}}

        results = {"rope": [row(3.5, 4.0)] * 2, "clipped-rope": [row(here, far)] * 2}
        return [check.holds for check in f2_clipped.clipped(results, (0, 1), 100).checks]

    assert holds(3.8) == [True, True, True, False]
    assert holds(3.99) == [False, True, True, False]
    assert holds(3.4, here=3.6) == [True, False, True, True]


def test_f3_says_what_dropping_saves_and_costs() -> None:
    at = {"none": (4.0, 3.5), "YaRN": (3.7, 3.4), "dropped": (5.0, 3.5)}
    result: dict[str, Any] = {
        "extended": {"128": {name: {"zero_shot": zero, "fine_tuned": tuned} for name, (zero, tuned) in at.items()}},
        "truncated": {"128": 3.5},
        "at_train_length": 3.5,
        "dropped_at_train_length": 3.52,
        "fine_tuned_steps": 10,
    }

    def holds(dropped: float = 3.5, here: float = 3.52, none: float = 4.0) -> list[bool]:
        run = copy.deepcopy(result)
        run["extended"]["128"]["dropped"]["fine_tuned"], run["dropped_at_train_length"] = dropped, here
        run["extended"]["128"]["none"]["zero_shot"] = none
        return [check.holds for check in f3_dropped.dropped([run, run], (0, 1), 100).checks]

    assert holds() == [True, True, True, True]
    assert holds(dropped=3.69) == [False, True, True, False]
    assert holds(here=3.7) == [True, False, True, True]
    assert holds(none=3.55) == [True, True, False, True]


def test_f4_says_which_nulls_differ_and_judges_neither_paper() -> None:
    def measured(random: float, rewired: float, memory: float = 9.0) -> Measurement:
        def contrast(other: str, p: float) -> Contrast:
            return Contrast(other, memory, 8.0, 1.0, 0.5, 1.5, 1.0, p, p, "not different")

        scores = {"wiring": (memory, memory + 0.1), "random": (8.0, 8.1), "rewired": (8.0, 8.1)}
        contrasts = (contrast("random", random), contrast("rewired", rewired))
        compared = Control("a fly", "memory", "capacity", True, 10, scores, contrasts, {}, 1.0)
        return f4_wiring.wiring(compared, real=True)

    assert [check.holds for check in measured(0.01, 0.6).checks] == [True, True, True, True]
    assert [check.holds for check in measured(0.5, 0.02, memory=0.1).checks] == [False, False, False, True]
    assert "shows the degrees" in measured(0.01, 0.6).meaning[Verdict.NOT_TESTABLE]
    assert "more than degrees" in measured(0.01, 0.01).meaning[Verdict.NOT_TESTABLE]
    assert verdict(measured(0.01, 0.6)) is Verdict.NOT_TESTABLE


def colours(folder: Path, *, separable: bool, rows: int = 300) -> Path:
    """A folder of the shape of CIFAR-10's, in which the class is the colour, or nothing."""
    generator = np.random.default_rng(0)
    folder.mkdir()
    for name in ("data_batch_1.bin", "test_batch.bin"):
        labels = generator.permutation(np.arange(rows) % 10).astype(np.uint8)
        images = generator.integers(0, 256, (rows, 3, 1024))
        if separable:
            means = np.stack([labels % 3, labels // 3 % 3, labels // 9], 1)[..., None] * 100
            images = means + images // 8
        (folder / name).write_bytes(np.concatenate([labels[:, None], images.reshape(rows, -1)], 1).astype(np.uint8).tobytes())
    return folder


def test_f5_without_cifar_10_says_where_to_put_it(tmp_path: Path) -> None:
    (claim,) = choose(read_claims("ordinate.articles"), ["F5"])
    row = run_one(claim, Inputs(data=tmp_path)).row
    assert row["verdict"] == "not testable here"
    assert row["checks"] == []
    assert "cifar-10-batches-bin" in row["meaning"]
    assert "--data DIR" in row["meaning"]


@pytest.mark.slow
def test_f5_is_settled_by_what_reaches_the_figure_on_all_images_and_by_nothing_else(tmp_path: Path) -> None:
    folder = colours(tmp_path / "cifar-10-batches-bin", separable=True)
    known = read_published("cifar10", folder)
    few = f5_cifar.measure(Inputs(data=tmp_path))
    assert few.checks[0].value > 0.9
    assert few.checks[0].value == f5_cifar.colour_images(known).checks[0].value  # a seed, a result
    assert verdict(few) is Verdict.NOT_TESTABLE
    assert few.untested[0][0] == "all 60,000 images"
    assert verdict(f5_cifar.colour_images(replace(known, complete=True))) is Verdict.REPRODUCED
    noise = read_published("cifar10", colours(tmp_path / "noise", separable=False))
    guessed = f5_cifar.colour_images(replace(noise, complete=True))
    assert guessed.checks[0].value < 0.3
    assert verdict(guessed) is Verdict.NOT_TESTABLE
