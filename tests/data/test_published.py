"""Published sets are read in their own forms, here from synthetic files of the same shape; damaged ones are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.data import published
from ordinate.data.published import read_published
from ordinate.errors import DataError, MissingDataError, UnknownNameError
from ordinate.logic import Circuit

MOMENTS = ["c1_b0", "c1_b1", "c1_b2", "c2_b1", "c2_b2", "d2_b1", "d2_b2", "d2_a1_b1", "d2_a1_b2", "m2_b1", "m2_b2", "n2_b1"]
JETS = ["zlogz", *(f"{name}_mmdt" for name in [*MOMENTS, "n2_b2", "mass"]), "multiplicity"]
KINDS = np.array(["g", "q", "t", "w", "z"])
X = np.random.default_rng(0).normal(size=(200, 16)).round(3)
Y = KINDS[np.clip(X[:, 0] * 1.5 + 2.5, 0, 4).astype(int)]


def openml(folder: Path) -> Path:
    head = ["@RELATION jets", *(f"@ATTRIBUTE {name} REAL" for name in JETS), "@ATTRIBUTE class {g,q,w,z,t}", "@DATA"]
    (folder / "jets.arff").write_text("\n".join([*head, *(",".join([*map(str, x), y]) for x, y in zip(X, Y, strict=True))]))
    return folder / "jets.arff"


def cernbox(folder: Path) -> Path:
    h5py = pytest.importorskip("h5py")
    kind = [("index", "i8"), *((f"j_{name}", "f4") for name in JETS), *((f"j_{one}", "i8") for one in "gqtwz")]
    rows = np.zeros(len(X), kind)
    for place, name in enumerate(JETS):
        rows[f"j_{name}"] = X[:, place]
    for one in "gqtwz":
        rows[f"j_{one}"] = one == Y
    with h5py.File(folder / "jets_truth.z", "w") as file:
        file["t_allpar_new"] = rows
    return folder / "jets_truth.z"


def packets(folder: Path) -> Path:
    rows = np.random.default_rng(1).integers(0, 2, (120, 594)).astype(np.uint8)
    rows[:, -1] = rows[:, 3] | rows[:, 7]
    np.savez(folder / "unsw_nb15_binarized.npz", train=rows[:80], test=rows[80:])
    return folder / "unsw_nb15_binarized.npz"


def raw_packets(folder: Path) -> Path:
    for part, protocols in (("training", "tcp udp arp"), ("testing", "tcp udp igmp")):
        lines = ["id,dur,proto,service,state,spkts,attack_cat,label"]
        for number in range(60):
            label = number % 3 == 0
            protocol = protocols.split()[number % 3]
            lines.append(f"{number},{number / 7},{protocol},-,FIN,{number % 5},{'DoS' if label else 'Normal'},{int(label)}")
        (folder / f"UNSW_NB15_{part}-set.csv").write_text("\n".join(lines) + "\n")
    return folder


def hearts(folder: Path, records: tuple[int, ...] = (101, 106, 108, 100, 103)) -> Path:
    """Four beats a patient: normal, ventricular, normal, ventricular, with a wave of its own; then noise and rhythm notes."""
    for record in records:
        signal = np.full(3000, 1000 + record)
        lines = ["    Time   Sample #  Type  Sub Chan  Num\tAux", "    0:00.050       18     +    0    0    0\t(N"]
        for place in range(300, 2700, 200):
            kind = "V" if (place - 300) % 400 else "N"
            signal[place - 5 : place + 5] += 200 if kind == "V" else 50
            lines.append(f"    0:00.{place}     {place}     {kind}    0    0    0")
        (folder / f"{record}annotations.txt").write_text("\n".join([*lines, "    0:08.0     2800     ~    0    0    0"]) + "\n")
        rows = [f"{place},{value},{value - 9}" for place, value in enumerate(signal)]
        (folder / f"{record}.csv").write_text("\n".join(["'sample #','MLII','V5'", *rows]) + "\n")
    return folder


def images(folder: Path) -> Path:
    for name, count in (("data_batch_1", 60), ("data_batch_2", 40), ("test_batch", 30)):
        rows = np.random.default_rng(count).integers(0, 256, (count, 3073)).astype(np.uint8)
        rows[:, 0] = np.arange(count) % 10
        rows[:, 1025 : 1025 + 64] = 25 * rows[:, :1]  # the top of the green channel says the class
        (folder / f"{name}.bin").write_bytes(rows.tobytes())
    names = "airplane automobile bird cat deer dog frog horse ship truck"
    (folder / "batches.meta.txt").write_text(names.replace(" ", "\n") + "\n")
    return folder


def test_both_sets_of_jets_are_read_and_never_taken_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (
        read_published(name, make(tmp_path)) for name, make in (("jets-openml", openml), ("jets-cernbox", cernbox))
    )
    for one in (first, second):
        np.testing.assert_allclose(one.train.x, X, rtol=1e-6)
        assert one.train.y.tolist() == Y.tolist()
        assert one.train.features == tuple(JETS)
        assert (one.test, one.complete) == (None, False)
    with pytest.raises(DataError, match="that is jets-cernbox"):
        read_published("jets-openml", tmp_path / "jets_truth.z")
    with pytest.raises(DataError, match=r"HDF5 with 't_allpar_new'.*are jets-openml"):
        read_published("jets-cernbox", tmp_path / "jets.arff")
    monkeypatch.setitem(published._JET_ROWS, "jets-cernbox", 200)
    with pytest.raises(DataError, match="expected 830,000 rows of jets-openml, got 200; that is jets-cernbox"):
        read_published("jets-openml", tmp_path / "jets.arff")


def test_packets_as_bits_and_as_they_were_recorded(tmp_path: Path) -> None:
    known = read_published("nid", packets(tmp_path))
    assert (known.train.x.shape, len(known.test)) == ((80, 593), 40)  # type: ignore[arg-type]
    raw = read_published("nid", raw_packets(tmp_path))
    assert raw.train.features == ("dur", "proto=arp", "proto=tcp", "proto=udp", "service=-", "state=FIN", "spkts")
    assert raw.test is not None
    assert raw.test.features == raw.train.features
    assert raw.test.x[2].tolist() == [2 / 7, 0, 0, 0, 1, 1, 2]  # igmp was never seen
    assert raw.train.y.sum() == 20


def test_patients_are_not_divided_between_learning_and_testing(tmp_path: Path) -> None:
    known = read_published("mit-bih", hearts(tmp_path))
    assert known.test is not None
    assert known.groups is not None
    assert (len(known.train), len(known.test)) == (30, 20)  # twelve beats, without the first and the last
    assert (known.train.x.shape[1], known.train.features[-1]) == (202, "interval_after")
    assert np.unique(known.groups).tolist() == [101, 106, 108]
    assert (known.train.x[:, 0] - 1000 == known.groups).all()  # the base line that each patient was given
    assert (known.train.x[:, -1] == 200).all()
    assert set(known.train.y) == {"N", "V"}
    assert (known.train.x[known.train.y == "V", 90] - known.train.x[known.train.y == "V", 0] == 200).all()


def test_colour_images_come_with_their_channels_apart(tmp_path: Path) -> None:
    known = read_published("cifar10", images(tmp_path))
    assert known.test is not None
    assert (known.train.x.shape, known.train.x.dtype, len(known.test)) == ((100, 3072), np.uint8, 30)
    assert known.train.features[1024] == "green[0,0]"
    assert known.train.y[7] == "horse"
    assert (known.train.x[:, 1024] == 25 * (np.arange(100) % 60 % 10)).all()


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("name", "make", "least"),
    [("jets-openml", openml, 0.3), ("nid", packets, 0.9), ("mit-bih", hearts, 0.9), ("cifar10", images, 0.3)],
)
def test_a_circuit_is_grown_on_a_set_by_name_and_run_on_its_test_rows(name, make, least: float, tmp_path: Path) -> None:
    place, out = str(make(tmp_path)), str(tmp_path / "c.json")

    def command(*arguments: str) -> dict:
        done = CliRunner().invoke(app, ["logic", *arguments, "--table", place, "--set", name, "--json"])
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    grown = command("grow", "--gates", "24", "--bits", "3", "--replacements", "0", "--out", out)
    assert grown["test_accuracy"] > least
    assert Circuit.load(out).notes["set"] == name
    if name != "jets-openml":  # which comes in one part
        assert command("run", out)["accuracy"] == grown["test_accuracy"]


@pytest.mark.parametrize(
    ("name", "make", "damage", "message"),
    [
        ("cifar10", images, lambda f: (f / "test_batch.bin").write_bytes(b"123"), "rows of 3,073 bytes"),
        ("cifar10", images, lambda f: (f / "test_batch.bin").unlink(), "the test part"),
        ("mit-bih", hearts, lambda f: (f / "106annotations.txt").unlink(), "the annotations of 106.csv"),
        ("mit-bih", hearts, lambda f: (f / "106annotations.txt").write_text("head\nx y z\n"), "line 2: expected time"),
        ("mit-bih", hearts, lambda f: (f / "106.csv").write_text("head\n1,a\n"), "expected a sample a line"),
        ("mit-bih", hearts, lambda f: [(f / f"{n}.csv").unlink() for n in (100, 103)], "records such as 100.csv to test"),
        ("nid", raw_packets, lambda f: (f / "UNSW_NB15_testing-set.csv").unlink(), "a file of UNSW-NB15"),
    ],
)
def test_what_is_damaged_or_missing_is_named(name, make, damage, message: str, tmp_path: Path) -> None:
    make(tmp_path)
    damage(tmp_path)
    with pytest.raises((DataError, MissingDataError), match=message):
        read_published(name, tmp_path)


def test_a_name_or_a_place_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r'did you mean "cifar10"'):
        read_published("cifar", tmp_path)
    with pytest.raises(MissingDataError, match="the file or folder of nid"):
        read_published("nid", tmp_path / "none")
