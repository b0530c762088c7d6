"""Circuits in JSON come back as they were, and a file that is no circuit is refused with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import DataError, MissingDataError, OutputError
from ordinate.logic import Circuit, InputThresholds
from tests.logic.circuits import random_circuit, some_inputs


def test_everything_comes_back(tmp_path: Path) -> None:
    thresholds = InputThresholds(5, [4, 3, 2, 1, 0, 0, 1, 2], [0.1, 95, 3, 4, 5, 6, 7, 1 / 3])
    given = random_circuit(5, thresholds=thresholds, tau=1 / 3)
    given = Circuit(
        8,
        given.tables,
        given.inputs_a,
        given.inputs_b,
        given.votes,
        given.bias,
        given.tau,
        thresholds,
        [3, 5, 8, 9],
        {"x": "ü"},
    )
    given.save(tmp_path / "circuit.json")
    back = Circuit.load(tmp_path / "circuit.json")
    for name in ("tables", "inputs_a", "inputs_b", "bias"):
        assert np.array_equal(getattr(back, name), getattr(given, name))
    for mine, theirs in zip(back.votes, given.votes, strict=True):
        assert np.array_equal(mine.signals, theirs.signals)
        assert np.array_equal(mine.weights, theirs.weights)
    assert (back.tau, back.labels, back.notes, back.num_inputs) == (1 / 3, (3, 5, 8, 9), {"x": "ü"}, 8)
    assert back.inputs is not None
    assert back.inputs.num_features == 5
    assert np.array_equal(back.inputs.threshold, thresholds.threshold)
    assert np.array_equal(back.inputs.feature, thresholds.feature)
    bits = some_inputs(5, 30, 8)
    assert np.array_equal(back.evaluate(bits), given.evaluate(bits))
    assert [path.name for path in tmp_path.iterdir()] == ["circuit.json"]  # no draft is left


def document(tmp_path: Path) -> dict:
    random_circuit(1).save(tmp_path / "good.json")
    return json.loads((tmp_path / "good.json").read_text())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "x"}, "expected a circuit .format 'ordinate.logic.circuit'., got x"),
        ({"version": 2}, "expected version 1, got 2"),
        ({"tau": None}, "tau: expected a finite number above 0"),
        ({"tau": -1}, "tau: expected a finite number above 0, got -1"),
        ({"num_inputs": 8.5}, "num_inputs: expected an integer from 1 to 2147483647, got float 8.5"),
        (
            {"nodes": {"table": [8], "a": [8], "b": [0]}, "votes": [{"signal": [0], "weight": [1]}] * 4},
            "no cycle, got .*8 reads 8",
        ),
        ({"nodes": {"table": [8], "a": [0]}}, "the field 'b' missing"),
        ({"nodes": {"table": [8.5], "a": [0], "b": [1]}}, "tables: expected integers"),
        ({"votes": [{"signal": [10**6], "weight": [1]}] * 4}, "expected signals from 0 to 67, got 1000000"),
        ({"gates": []}, "expected only known fields, got 'gates'"),
    ],
)
def test_a_file_that_is_no_circuit_is_refused_with_the_reason(tmp_path: Path, change: dict, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({**document(tmp_path), **change}))
    with pytest.raises(DataError, match=message) as caught:
        Circuit.load(path)
    assert str(path) in str(caught.value) or "num_inputs" in str(caught.value)


def test_a_field_that_is_missing_is_named(tmp_path: Path) -> None:
    whole = document(tmp_path)
    for name in set(whole) - {"format", "version"}:
        path = tmp_path / "bad.json"
        path.write_text(json.dumps({key: value for key, value in whole.items() if key != name}))
        with pytest.raises(DataError, match=f"expected the field '{name}', got none"):
            Circuit.load(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"format": NaN}', "\x00"])
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(DataError):
        Circuit.load(tmp_path / "bad.json")


def test_no_file_and_no_place_are_errors(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="expected a circuit in a file, got no such file"):
        Circuit.load(tmp_path / "none.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="expected a file that can be written"):
        random_circuit(1).save(tmp_path / "file" / "circuit.json")
