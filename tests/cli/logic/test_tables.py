"""`ordinate logic grow --table`: a table becomes a circuit with its thresholds, and wrong use is one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.logic import Circuit


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["logic", *arguments])
    return done.exit_code, done.stdout, done.stderr


def iris(path: Path) -> Path:
    data = load_iris()
    names = [name.replace(" ", "_") for name in data.feature_names]
    lines = [",".join([*names, "species"])]
    lines += [",".join([*map(str, row), data.target_names[kind]]) for row, kind in zip(data.data, data.target, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_is_grown_into_a_circuit(tmp_path: Path) -> None:
    table, out = iris(tmp_path / "iris.csv"), tmp_path / "c.json"
    code, answer, _ = run("grow", "--table", str(table), "--label", "species", "--gates", "12", "--out", str(out), "--json")
    assert code == 0
    record = json.loads(answer)
    circuit = Circuit.load(out)
    assert record["classes"] == list(circuit.labels) == ["setosa", "versicolor", "virginica"]
    assert record["test_rows"] == 30
    assert record["test_accuracy"] > 0.8
    x, y = load_iris(return_X_y=True)
    assert circuit.inputs is not None
    assert (circuit.predict(x[:, circuit.inputs.feature] > circuit.inputs.threshold) == y).mean() > 0.85
    assert circuit.notes["features"][0] == "sepal_length_(cm)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--label: expected the column of --table that holds the class"),
        (["--label", "colour"], "label: expected a column of iris.csv, got colour"),
        (["--label", "species", "--bits", "few"], "--bits: expected an integer from 1 to 1024, or auto, got few"),
        (["--label", "species", "--missing", "guess"], "missing: expected one of refuse, median, mean, zero"),
    ],
)
def test_wrong_use_is_one_line(options: list[str], message: str, tmp_path: Path) -> None:
    table = iris(tmp_path / "iris.csv")
    code, _, error = run("grow", "--table", str(table), "--out", str(tmp_path / "c.json"), *options)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "c.json").exists()
