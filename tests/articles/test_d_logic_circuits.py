"""The claims about speed and size of circuits come out as foreseen, and doctored inputs change the verdict."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

from ordinate.articles.d import d20_speed, d21_chip
from ordinate.lab.measurement import Measurement, Verdict, judge
from ordinate.logic import Circuit
from ordinate.logic.export.lut_mapping import LutNetwork, map_luts
from tests.articles.drawn_circuits import layered

pytestmark = pytest.mark.usefixtures("undrawn")


def verdict(measurement: Measurement) -> Verdict:
    return judge(measurement.checks)[0]


# D20

SMALL = layered(60, 0, num_inputs=64)
IMAGES = np.random.default_rng(1).integers(0, 256, (8_192, 64)).astype(np.uint8)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, d20_speed.Way]:
    return d20_speed.ways(SMALL, tmp_path_factory.mktemp("speed"))


def test_d20_every_way_gives_the_plain_classes(result: dict[str, d20_speed.Way]) -> None:
    measured = d20_speed.speed(SMALL, result, 0.02, IMAGES, 0.9)
    assert all(check.holds for check in measured.checks if check.role == "control")
    assert {row[0] for row in measured.tables[0].rows} >= ({"C", "numpy"} if shutil.which("gcc") else {"numpy"})


def test_d20_a_slow_way_refutes(result: dict[str, d20_speed.Way]) -> None:
    fast = result["numpy"]
    slow = d20_speed.Way(lambda x: np.concatenate([fast.whole(x[k : k + 16]) for k in range(0, len(x), 16)]), lambda: 1)
    assert verdict(d20_speed.speed(SMALL, {"slow": slow}, 0.02, IMAGES, 0.9)) is Verdict.REFUTED


def test_d20_a_way_that_answers_wrongly_takes_the_word_away(result: dict[str, d20_speed.Way]) -> None:
    way = result["numpy"]
    wrong = d20_speed.Way(lambda x: (way.whole(x) + (np.arange(len(x)) == 7)) % 10, way.gates)
    assert verdict(d20_speed.speed(SMALL, {"wrong": wrong}, 0.02, IMAGES, 0.9)) is Verdict.NOT_TESTABLE


# D21


def sized(monkeypatch: pytest.MonkeyPatch, small: Circuit, large: Circuit, **options: Any) -> Measurement:
    """The claim for circuits of other sizes than the article's, as if the article had named these."""
    monkeypatch.setattr(d21_chip, "_ARTICLE_GATES", tuple(one.simplify(sat=False).num_gates for one in (small, large)))
    return d21_chip.chip(small, large, **options)


def test_d21_a_large_circuit_that_fits_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict(sized(monkeypatch, layered(300, 0), layered(400, 1))) is Verdict.REFUTED


def test_d21_circuits_of_another_size_tell_nothing() -> None:
    assert verdict(d21_chip.chip(layered(300, 0), layered(400, 1))) is Verdict.NOT_TESTABLE


def bloated(circuit: Circuit) -> LutNetwork:
    """The same, every table many times over."""
    network = map_luts(circuit)
    return LutNetwork(network.circuit, network.luts * 40)


def broken(circuit: Circuit) -> LutNetwork:
    """The last table turned over."""
    network = bloated(circuit)
    last = network.luts[-1]
    return LutNetwork(network.circuit, (*network.luts[:-1], type(last)(last.signal, last.reads, ~last.table & 0xFFFF)))


def test_d21_a_small_circuit_that_fills_the_chip_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = sized(monkeypatch, layered(300, 0), layered(300, 1), mapped=bloated)
    assert verdict(measured) is Verdict.REFUTED
    assert [check.holds for check in measured.checks] == [False, True, True, True, True]


def test_d21_a_mapping_that_changes_scores_takes_the_word_away(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict(sized(monkeypatch, layered(300, 0), layered(300, 1), mapped=broken)) is Verdict.NOT_TESTABLE
