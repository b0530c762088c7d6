"""`ordinate logic grow` and `train`: what they print and write, that they go on, and wrong use in one line."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.data import digits
from ordinate.logic import Circuit, GrowthSettings, LogicConv2d, LogicNetwork, OrPooling2d, grow
from ordinate.logic.circuit.figures import pixel_uses

runner = CliRunner()


def run(*arguments: str) -> tuple[int, str, str]:
    done = runner.invoke(app, ["logic", *arguments])
    return done.exit_code, done.stdout, done.stderr


def test_grow_prints_gates_and_the_accuracy_that_the_file_has(tmp_path: Path) -> None:
    out, picture = tmp_path / "circuit.json", tmp_path / "growth.svg"
    code, stdout, _ = run(
        "grow", "--classes", "0,1", "--gates", "8", "--replacements", "0", "--copies", "2",
        "--out", str(out), "--figure", str(picture), "--json",
    )  # fmt: skip
    assert code == 0
    told = json.loads(stdout)
    circuit, data = Circuit.load(out), digits(classes=(0, 1))
    right = (circuit.predict(data.test.bits(data.threshold)) == data.test.labels).mean()
    assert told["gates"] == circuit.num_gates <= 8
    assert told["test_accuracy"] == pytest.approx(right)
    assert told["test_accuracy"] > 0.9
    assert told["test_images"] == len(data.test)
    assert told["votes"] == circuit.num_votes
    assert "<svg" in picture.read_text()


def test_grow_on_features_counts_their_gates(tmp_path: Path) -> None:
    out = tmp_path / "circuit.json"
    code, stdout, _ = run(
        "grow", "--classes", "0,1", "--gates", "60", "--features", "2", "--replacements", "0", "--copies", "0",
        "--out", str(out), "--json",
    )  # fmt: skip
    assert code == 0
    told = json.loads(stdout)
    assert told["gates"] == Circuit.load(out).num_gates <= 60
    assert told["gates"] > told["votes"]  # gates of features do not vote


def test_grow_goes_on_from_its_checkpoint_to_the_same_circuit(tmp_path: Path) -> None:
    options = ["--classes", "3,8", "--gates", "6", "--replacements", "0", "--copies", "1", "--seed", "5"]
    run("grow", *options, "--out", str(tmp_path / "whole.json"))
    place = tmp_path / "growth.ckpt"
    run("grow", *options, "--out", str(tmp_path / "first.json"), "--checkpoint", str(place))
    code, _, _ = run("grow", *options, "--out", str(tmp_path / "again.json"), "--checkpoint", str(place))
    assert code == 0
    whole, again = (Circuit.load(tmp_path / name) for name in ("whole.json", "again.json"))
    assert np.array_equal(whole.inputs_a, again.inputs_a)
    assert np.array_equal(whole.bias, again.bias)


def test_train_writes_a_network_and_its_circuit_with_the_same_answers(tmp_path: Path) -> None:
    out, circuit_file = tmp_path / "net.json", tmp_path / "circuit.json"
    code, stdout, _ = run(
        "train", "--classes", "0,1", "--widths", "60,40", "--epochs", "4", "--mode", "hard",
        "--out", str(out), "--circuit", str(circuit_file), "--json",
    )  # fmt: skip
    assert code == 0
    told = json.loads(stdout)
    data = digits(classes=(0, 1))
    images = data.test.images.reshape(len(data.test), -1)
    from torch import from_numpy

    found = LogicNetwork.load(out).predict(from_numpy(images).float()).numpy()
    assert told["gates"] == 100
    assert told["epochs"] == 4
    assert told["iterations"] == 4 * -(-len(data.train) // 128)
    assert told["gates_after_simplification"] <= 100
    assert told["test_accuracy"] == pytest.approx((found == data.test.labels).mean())
    circuit = Circuit.load(circuit_file)
    assert circuit.inputs is not None
    assert np.array_equal(circuit.predict(circuit.inputs.bits(images)), found)


def test_steps_become_the_nearest_whole_number_of_passes(tmp_path: Path) -> None:
    images = len(digits(classes=(0, 1)).train)
    for asked, passes in ((1, 1), (3 * images // 50, 3)):
        code, stdout, _ = run(
            "train", "--classes", "0,1", "--widths", "20", "--iterations", str(asked), "--batch", "50", "--patience", "1",
            "--out", str(tmp_path / "net.json"), "--json",
        )  # fmt: skip
        assert code == 0
        assert json.loads(stdout)["epochs"] == passes
    assert run("train", "--iterations", "0", "--out", str(tmp_path / "net.json"))[0] == 2


def test_train_puts_convolutions_in_front_and_their_circuit_has_the_same_answers(tmp_path: Path) -> None:
    out, circuit_file = tmp_path / "net.json", tmp_path / "circuit.json"
    code, stdout, _ = run(
        "train", "--classes", "0,1", "--kernels", "4,8", "--depth", "2,3", "--padding", "1", "--pooling", "2,1",
        "--channels-read", "2", "--widths", "60,40", "--epochs", "12", "--batch", "16", "--rate", "0.2", "--out", str(out),
        "--circuit", str(circuit_file), "--json",
    )  # fmt: skip
    assert code == 0
    told = json.loads(stdout)
    network = LogicNetwork.load(out)
    convolutions = [layer for layer in network if isinstance(layer, LogicConv2d)]
    assert [(layer.out_channels, layer.depth, layer.padding) for layer in convolutions] == [(4, 2, 1), (8, 3, 1)]
    assert convolutions[1].channels_read == 2
    assert sum(isinstance(layer, OrPooling2d) for layer in network) == 1
    assert told["gates"] == 4 * 3 + 8 * 7 + 100
    assert told["gates_at_every_place"] == 64 * 4 * 3 + 16 * 4 * 3 + 16 * 8 * 7 + 100
    data = digits(classes=(0, 1))
    circuit = Circuit.load(circuit_file)
    assert circuit.inputs is not None
    right = circuit.predict(circuit.inputs.bits(data.test.images.reshape(len(data.test), -1))) == data.test.labels
    assert told["test_accuracy"] == pytest.approx(right.mean())
    assert told["test_accuracy"] > 0.8


def test_one_number_of_kernels_is_one_convolution_with_its_pooling(tmp_path: Path) -> None:
    code, _, _ = run("train", "--classes", "0,1", "--kernels", "5", "--widths", "40", "--epochs", "1", "--out",
                     str(tmp_path / "net.json"))  # fmt: skip
    assert code == 0
    network = LogicNetwork.load(tmp_path / "net.json")
    kinds = [type(layer).__name__ for layer in network]
    assert kinds == ["Thresholds", "Unflatten", "LogicConv2d", "OrPooling2d", "Flatten", "LogicDense", "GroupSum"]
    assert network[2].receptive_field == 3  # 5 on images above 16 pixels


def idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The embedded zeros and ones as IDX files of 0 to 255."""
    data = digits(classes=(0, 1))
    for part, known in (("train", data.train), ("t10k", data.test)):
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(idx(np.minimum(known.images.astype(int) * 16, 255)))
        with gzip.open(tmp_path / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(idx(known.labels))
    return tmp_path


def test_grow_takes_a_folder_of_idx_files(folder: Path) -> None:
    code, stdout, _ = run(
        "grow", "--data", str(folder), "--classes", "0,1", "--gates", "5", "--replacements", "0", "--copies", "0",
        "--out", str(folder / "c.json"), "--json",
    )  # fmt: skip
    assert code == 0
    assert json.loads(stdout)["test_accuracy"] > 0.9


WRONG = [
    (["grow", "--data", "nowhere"], "nowhere: expected a folder of IDX files, got no such folder"),
    (["grow", "--classes", "0,x"], "--classes: expected digits, as 0,1, got 0,x"),
    (["grow", "--classes", "0"], "classes: expected at least two different digits from 0 to 9"),
    (["grow", "--classes", "0,12"], "classes: expected at least two different digits from 0 to 9"),
    (["grow", "--gates", "0"], "gates: expected an integer of at least 1, got 0"),
    (["grow", "--votes", "0"], "--votes: expected an integer of at least 1, got 0"),
    (["train", "--widths", "10,x"], "--widths: expected numbers of gates"),
    (["train", "--widths", "2000,1995"], "--widths: expected a last width that 10 classes share evenly"),
    (["train", "--kernels", "4,x"], "--kernels: expected integers, as 12,24, got 4,x"),
    (["train", "--kernels", "4,0"], "out_channels: expected an integer of at least 1, got 0"),
    (["train", "--kernels", "4,8", "--depth", "2,2,2"], "--depth: expected one number, or one for each of 2 convolutions"),
    (["train", "--kernels", "4", "--pooling", "two"], "--pooling: expected integers"),
    (
        ["train", "--kernels", "4,8,8", "--pooling", "2,1,1"],
        "expected an image of at least 3 by 3 with its padding, got 1 by 1",
    ),
    (
        ["train", "--kernels", "4,8", "--pooling", "2,4"],
        "pooling: expected a window within the 1 by 1 that convolution 2 gives",
    ),
    (
        ["train", "--kernels", "4", "--receptive-field", "9"],
        "expected an image of at least 9 by 9 with its padding, got 8 by 8",
    ),
    (["train", "--mode", "firm"], "mode: expected one of soft, hard, gumbel_soft, gumbel_hard, got 'firm'"),
    (["train", "--wiring", "ring"], "wiring: expected one of random, unique, tree, learned"),
    (["train", "--tau", "0"], "tau: expected a finite number above 0"),
    (["train", "--schedule", "steps"], "schedule: expected one of constant, cosine, linear"),
    (["train", "--rate", "-1"], "learning_rate: expected a finite number above 0"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_wrong_use_is_one_line_on_standard_error_and_exit_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    code, stdout, stderr = run(*arguments, "--out", str(tmp_path / "out.json"))
    assert code == 2
    assert stdout == ""
    assert message in stderr
    assert len(stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["grow", "train"])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(command: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, stderr = run(command, "--out", str(tmp_path / "file" / "out.json"))
    assert code == 2
    assert "--out: expected a file that can be written" in stderr


def test_the_files_of_two_parts_swapped_are_refused(folder: Path) -> None:
    images, labels = folder / "train-images-idx3-ubyte", folder / "train-labels-idx1-ubyte"
    images.rename(labels)
    code, _, stderr = run("grow", "--data", str(folder), "--out", str(folder / "c.json"))
    assert code == 2
    assert "expected an IDX file, plain or .gz, got a folder of" in stderr
    (folder / "train-labels-idx1-ubyte.gz").rename(folder / "train-images-idx3-ubyte.gz")
    code, _, stderr = run("grow", "--data", str(folder), "--out", str(folder / "c.json"))
    assert code == 2
    assert "swapped" in stderr


def test_pixels_in_use_are_counted() -> None:
    data = digits(classes=(0, 1))
    parts = [(part.images, part.labels) for part in (data.train, data.validation)]
    circuit = grow(*parts, data.threshold, GrowthSettings(gates=5, copies=0, replacements=0).quick()).circuit
    use = pixel_uses(circuit)
    for pixel in range(64):
        assert use[pixel] == sum(circuit.inputs_a == pixel) + sum(circuit.inputs_b == pixel)
