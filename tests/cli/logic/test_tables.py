"""`ordinate logic grow, train, run --table`: a table becomes a circuit with its thresholds; wrong use is one line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.logic import Circuit, LogicNetwork


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


@pytest.mark.parametrize("spacing", ["quantile", "learned"])
def test_a_network_trained_on_a_table_and_its_circuit_answer_alike(spacing: str, tmp_path: Path) -> None:
    table, net, out = iris(tmp_path / "iris.csv"), tmp_path / "n.json", tmp_path / "c.json"
    options = ["--label", "species", "--widths", "60,30", "--epochs", "8", "--spacing", spacing, "--bits", "3"]
    code, answer, _ = run("train", "--table", str(table), "--out", str(net), "--circuit", str(out), "--json", *options)
    assert code == 0
    assert json.loads(answer)["test_accuracy"] > 0.8
    x, y = load_iris(return_X_y=True)
    scores = LogicNetwork.load(net)(torch.from_numpy(x)).numpy()
    circuit = Circuit.load(out)
    assert circuit.inputs is not None
    bits = x[:, circuit.inputs.feature] > circuit.inputs.threshold
    np.testing.assert_allclose(circuit.evaluate(bits), scores, rtol=1e-6)
    records = [json.loads(run("run", str(file), "--table", str(table), "--json")[1]) for file in (net, out)]
    assert records[0]["accuracy"] == records[1]["accuracy"] == (scores.argmax(1) == y).mean()
    assert records[0]["classes"] == ["setosa", "versicolor", "virginica"]


def test_predictions_for_rows_without_labels_in_columns_of_any_order(tmp_path: Path) -> None:
    table, out = iris(tmp_path / "iris.csv"), tmp_path / "c.json"
    run("grow", "--table", str(table), "--label", "species", "--gates", "12", "--out", str(out))
    rows = list(csv.reader(table.read_text().splitlines()))
    (tmp_path / "new.csv").write_text("\n".join(",".join(["7", *row[:4][::-1]]) for row in rows).replace("7,", "id,", 1) + "\n")
    answers = tmp_path / "p.csv"
    drawn = ["--figure", str(tmp_path / "c.svg")]
    code, text, _ = run("run", str(out), "--table", str(tmp_path / "new.csv"), "--out", str(answers), *drawn, "--json")
    assert (tmp_path / "c.svg").read_text().count("<path") > 20
    assert code == 0
    assert json.loads(text)["accuracy"] is None
    written = list(csv.DictReader(answers.read_text().splitlines()))
    labelled = json.loads(run("run", str(out), "--table", str(table), "--json")[1])
    right = [row["predicted"] == truth[4] for row, truth in zip(written, rows[1:], strict=True)]
    assert np.mean(right) == labelled["accuracy"] > 0.85
    best = max(("setosa", "versicolor", "virginica"), key=lambda name: float(written[0][f"score of {name}"]))
    assert best == written[0]["predicted"]


def test_missing_numbers_are_filled_as_the_training_rows_say_and_text_columns_become_bits(tmp_path: Path) -> None:
    lines = ["id,size,colour,kind"]
    lines += [
        f"r{n},{'' if n % 10 == 0 else n % 7},{'red' if n % 2 else 'blue'},{'odd' if n % 2 else 'even'}" for n in range(80)
    ]
    table, out = tmp_path / "t.csv", tmp_path / "c.json"
    table.write_text("\n".join(lines) + "\n")
    options = ["--label", "kind", "--drop", "id", "--categories", "colour", "--gates", "4", "--out", str(out), "--json"]
    code, _, error = run("grow", "--table", str(table), *options)
    assert (code, "column size: expected a number in every row, got 8 missing" in error) == (2, True)
    code, answer, _ = run("grow", "--table", str(table), *options, "--impute", "median")
    assert code == 0
    assert json.loads(answer)["test_accuracy"] == 1
    notes = Circuit.load(out).notes
    assert notes["features"] == ["size", "colour=blue", "colour=red"]
    assert notes["missing"]["size"] == 3.0
    (tmp_path / "one.csv").write_text("colour,size\nred,\ngreen,1\n")
    assert "got 1 missing" in run("run", str(out), "--table", str(tmp_path / "one.csv"))[2]
    code, answer, _ = run("run", str(out), "--table", str(tmp_path / "one.csv"), "--missing", "circuit", "--json")
    assert code == 0
    assert sum(json.loads(answer)["predicted"].values()) == 2


@pytest.mark.parametrize("source", ["images", "table"])
def test_a_network_of_tables_of_four_inputs(source: str, tmp_path: Path) -> None:
    table, net, out = iris(tmp_path / "iris.csv"), tmp_path / "n.json", tmp_path / "c.json"
    data = ["--table", str(table), "--label", "species"] if source == "table" else ["--classes", "3,5"]
    options = ["--gate-inputs", "4", "--widths", "60,30", "--epochs", "12", "--batch", "8", "--out", str(net)]
    options += ["--circuit", str(out)]
    code, answer, error = run("train", *data, *options, "--json")
    assert code == 0, error
    assert json.loads(answer)["test_accuracy"] > 0.7
    dense = [layer for layer in LogicNetwork.load(net) if type(layer).__name__ == "LutDense"]
    assert [(layer.k, layer.out_features) for layer in dense] == [(4, 60), (4, 30)]
    if source == "table":
        records = [json.loads(run("run", str(file), "--table", str(table), "--json")[1]) for file in (net, out)]
        assert records[0]["accuracy"] == records[1]["accuracy"] > 0.7
    code, _, error = run("train", *data, *options, "--parametrisation", "raw")
    assert (code, "'raw', a logit for each of 2^16 functions" in error) == (2, True)


def test_a_circuit_of_two_digits_is_run_on_these_digits(tmp_path: Path) -> None:
    net, out = tmp_path / "n.json", tmp_path / "c.json"
    options = ["--classes", "3,5", "--widths", "100,50", "--epochs", "2", "--out", str(net), "--circuit", str(out)]
    trained = json.loads(run("train", *options, "--json")[1])
    ran = json.loads(run("run", str(out), "--json")[1])
    assert (ran["classes"], ran["test_accuracy"]) == ([3, 5], trained["test_accuracy"])


@pytest.mark.parametrize("command", ["grow", "train"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,y\n", "expected rows and a column beside the label, got 0 rows"),
        ("y\nu\nv\n", "expected rows and a column beside the label, got 2 rows, 0 columns"),
        ("a,y\n1,u\n2,u\n", "--label: expected a column of at least two classes, got only u"),
        (
            "a,y\n1,u\n2,v\n",
            "--table: expected a class with rows to learn from, to validate and to test on, got 1 of u, 1 of v",
        ),
        ("a,y\n" + "1,u\n1,v\n" * 9, "--table: expected a column that varies in the rows to learn from, got constant"),
        ("a,y\n" + "red,u\n1,v\n" * 9, "column a: expected numbers, got 'red' in row 1; drop the column, or name it as one"),
    ],
)
def test_tables_that_nothing_can_be_learned_from(command: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    code, _, error = run(command, "--table", str(tmp_path / "t.csv"), "--label", "y", "--out", str(tmp_path / "o.json"))
    assert code == 2
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "o.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "p.csv"], "--out: expected --table beside it"),
        (["--table", "iris.csv", "--label", "petal_width_(cm)"], "labels that are integers or text, got fractions"),
        (["--table", "other.csv"], "columns: expected a column of other.csv, got sepal_length_(cm)"),
        (["--table", "iris.csv", "--data", "mnist"], "--data: expected none beside --table, it is for images, got mnist"),
        (["--table", "iris.csv", "--threshold", "3"], "--threshold: expected none beside --table"),
        (["--table", "iris.csv", "--missing", "circuit"], "the circuit has no such numbers"),
        (["--table", "classes.csv"], "--label: expected the classes setosa, versicolor, virginica, got rose"),
    ],
)
def test_wrong_use_of_run_is_one_line(
    options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = iris(tmp_path / "iris.csv")
    run("grow", "--table", "iris.csv", "--label", "species", "--gates", "3", "--replacements", "0", "--out", "c.json")
    (tmp_path / "other.csv").write_text("a,species\n1,setosa\n")
    (tmp_path / "classes.csv").write_text("\n".join([*table.read_text().split("\n")[:2]]).replace("setosa", "rose") + "\n")
    code, _, error = run("run", "c.json", *options)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "p.csv").exists()
