"""Sets that circuits are compared on, read in the form in which they are published, from a path; nothing is downloaded.

| name | what | published as |
|---|---|---|
| `jets-openml` | 830,000 jets of the LHC, 16 features, 5 classes | OpenML 42468, `hls4ml_lhc_jets_hlf`: ARFF, or CSV, Parquet |
| `jets-cernbox` | 986,806 jets, the same 16 quantities, other jets | HDF5, `processed-pythia82-lhc13-all-pt1-50k-...z` |
| `nid` | packets, normal or attack: UNSW-NB15 (Moustafa and Slay 2015) | `unsw_nb15_binarized.npz`, or two CSV files |
| `mit-bih` | heartbeats in AAMI's classes (Moody and Mark 2001), by patient | folder of `100.csv`, `100annotations.txt`, ... |
| `cifar10` | 60,000 colour images, 10 classes (Krizhevsky 2009) | folder of `data_batch_1.bin`, ..., `test_batch.bin` |

Both sets of jets are called JSC in papers; here each is refused under the other's name. Patients of MIT-BIH are divided as by
de Chazal et al. 2004 (10.1109/TBME.2004.827359): no patient is both learned from and tested on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice
from ordinate.data.idx import contents
from ordinate.data.tables import Table, read_table
from ordinate.errors import ArgumentError, DataError, MissingDataError, MissingExtraError
from ordinate.extras import install_command

__all__ = ["PUBLISHED", "Published", "read_published"]

_JETS: tuple[str, ...] = (
    "zlogz",
    "c1_b0_mmdt",
    "c1_b1_mmdt",
    "c1_b2_mmdt",
    "c2_b1_mmdt",
    "c2_b2_mmdt",
    "d2_b1_mmdt",
    "d2_b2_mmdt",
)
_JETS += ("d2_a1_b1_mmdt", "d2_a1_b2_mmdt", "m2_b1_mmdt", "m2_b2_mmdt", "n2_b1_mmdt", "n2_b2_mmdt", "mass_mmdt", "multiplicity")
_JET_ROWS = {"jets-openml": 830_000, "jets-cernbox": 986_806}

_LEARNED_FROM = (101, 106, 108, 109, 112, 114, 115, 116, 118, 119, 122, 124, 201, 203, 205, 207, 208, 209, 215, 220, 223, 230)
_TESTED_ON = (100, 103, 105, 111, 113, 117, 121, 123, 200, 202, 210, 212, 213, 214, 219, 221, 222, 228, 231, 232, 233, 234)
_BEATS = {"N": "NLRej", "S": "AaJS", "V": "VE", "F": "F", "Q": "/fQ"}
_BEFORE, _AFTER = 90, 110  # samples of 1/360 s around the annotated beat


@dataclass(frozen=True, eq=False)
class Published:
    """A published set.

    Args:
        name: one of `PUBLISHED`.
        train: rows to learn from.
        test: rows to test on, where the set comes with such, else None.
        groups: for each row to learn from the number of its patient, where rows of one must stay together, else None.
        complete: whether it has all its rows; None where that is not known.
    """

    name: str
    train: Table
    test: Table | None = None
    groups: npt.NDArray[np.int64] | None = None
    complete: bool | None = None


def read_published(name: str, path: str | Path) -> Published:
    """Read a set by its name.

    Args:
        name: one of `PUBLISHED`.
        path: its file or folder.

    Raises:
        UnknownNameError: another name.
        MissingDataError: no such file or folder, or a part of it missing.
        DataError: damaged, of another form, or the other set of jets.
        MissingExtraError: HDF5 without h5py, Parquet without pyarrow.
    """
    reader = PUBLISHED[check_choice("name", name, PUBLISHED)]
    if not Path(path).exists():
        raise MissingDataError(str(path), expected=f"the file or folder of {name}", got="nothing there")
    return reader(Path(path))


def _jets_openml(path: Path) -> Published:
    if path.suffix.lower() != ".arff":
        if path.suffix.lower() in (".h5", ".hdf5", ".z"):
            raise DataError(str(path), expected="the OpenML set", got="an HDF5 file", hint="that is jets-cernbox")
        try:
            table = read_table(path, "class")
        except ArgumentError:
            table = read_table(path, "jet_type")
        return _checked_jets("jets-openml", table.x, table.y, table.features, path)
    from scipy.io import arff

    try:
        rows, described = arff.loadarff(path)
    except (OSError, ValueError, NotImplementedError, arff.ArffError) as error:
        raise DataError(str(path), expected="an ARFF file", got=str(error).splitlines()[0]) from None
    names = described.names()
    if "class" not in names:
        raise DataError(str(path), expected="the attribute 'class'", got=", ".join(names)[:200])
    features = tuple(name for name in names if name != "class")
    x = np.stack([np.asarray(rows[name], np.float64) for name in features], 1) if features else np.zeros((len(rows), 0))
    return _checked_jets("jets-openml", x, np.char.decode(rows["class"].astype(np.bytes_)), features, path)


def _jets_cernbox(path: Path) -> Published:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError(
            "jets-cernbox", expected="h5py", got="none installed", hint=install_command("tables")
        ) from error
    try:
        with h5py.File(path) as file:
            rows = file["t_allpar_new"][()]
    except (OSError, KeyError) as error:
        hint = "ARFF, CSV and Parquet files are jets-openml"
        raise DataError(str(path), expected="HDF5 with 't_allpar_new'", got=str(error), hint=hint) from None
    named = rows.dtype.names or ()
    wanted = [f"j_{name}" for name in _JETS]
    classes = ("g", "q", "w", "z", "t")
    absent = [name for name in [*wanted, *(f"j_{one}" for one in classes)] if name not in named]
    if absent:
        raise DataError(str(path), expected=f"the column {absent[0]}", got=", ".join(named)[:200])
    chosen = np.stack([np.asarray(rows[f"j_{one}"], np.float64) for one in classes], 1)
    if not ((chosen == 0) | (chosen == 1)).all() or not (chosen.sum(1) == 1).all():
        raise DataError(str(path), expected="one class a jet", got=f"row {int((chosen.sum(1) != 1).argmax()) + 1} without")
    x = np.stack([rows[name] for name in wanted], 1)
    return _checked_jets("jets-cernbox", x, np.array(classes)[chosen.argmax(1)], wanted, path)


def _checked_jets(name: str, x: Any, y: Any, features: Any, path: Path) -> Published:
    other = next(one for one in _JET_ROWS if one != name)
    if tuple(one.removeprefix("j_") for one in features) != _JETS:
        raise DataError(str(path), expected=f"the 16 columns {', '.join(_JETS)}", got=", ".join(features)[:200])
    if len(x) == _JET_ROWS[other]:
        raise DataError(str(path), expected=f"{_JET_ROWS[name]:,} rows of {name}", got=f"{len(x):,}", hint=f"that is {other}")
    if not np.isfinite(x).all():
        raise DataError(
            str(path), expected="finite numbers", got=f"NaN or infinity in row {int((~np.isfinite(x)).any(1).argmax()) + 1}"
        )
    table = Table(x, np.asarray(y), _JETS, "class", f"{name}, {path.name}")
    return Published(name, table, complete=len(x) == _JET_ROWS[name])


def _nid(path: Path) -> Published:
    if path.is_dir():
        files = [path / f"UNSW_NB15_{part}-set.csv" for part in ("training", "testing")]
        for file in files:
            if not file.is_file():
                raise MissingDataError(str(file), expected="a file of UNSW-NB15", got=contents(path))
        options: dict[str, Any] = {"drop": ("id", "attack_cat"), "categories": ("proto", "service", "state")}
        train = read_table(files[0], "label", **options)
        columns = list(dict.fromkeys(name.partition("=")[0] for name in train.features))
        test = read_table(files[1], "label", categories=train.categories, columns=columns)
        return Published("nid", train, test)
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = [np.asarray(file[part]) for part in ("train", "test")]
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise DataError(str(path), expected="an npz file of 'train' and 'test'", got=str(error).splitlines()[0]) from None
    tables = []
    for part, rows in zip(("train", "test"), parts, strict=True):
        if rows.ndim != 2 or rows.shape[1] < 2 or not len(rows) or not ((rows == 0) | (rows == 1)).all():
            raise DataError(
                f"{path}, {part}", expected="rows of bits, the last the label", got=f"{rows.dtype} {list(rows.shape)}"
            )
        names = tuple(f"bit{place}" for place in range(rows.shape[1] - 1))
        tables.append(Table(rows[:, :-1].astype(np.uint8), rows[:, -1].astype(np.int64), names, "label", f"nid, {part}"))
    if tables[0].features != tables[1].features:
        raise DataError(str(path), expected="as many bits in 'test' as in 'train'", got=f"{[one.x.shape[1] for one in tables]}")
    return Published("nid", tables[0], tables[1])


def _mit_bih(path: Path) -> Published:
    if not path.is_dir():
        raise DataError(
            str(path),
            expected="a folder of 100.csv, 100annotations.txt and so on",
            got="a file",
            hint="files of beats without patients are plain tables: --table FILE --label COLUMN",
        )
    parts, groups = [], np.zeros(0, np.int64)
    for part, records in (("train", _LEARNED_FROM), ("test", _TESTED_ON)):
        known = [record for record in records if (path / f"{record}.csv").is_file()]
        if not known:
            raise MissingDataError(str(path), expected=f"records such as {records[0]}.csv to {part}", got=contents(path))
        beats = [_beats(path, record) for record in known]
        x, y = np.concatenate([one for one, _ in beats]), np.concatenate([one for _, one in beats])
        if part == "train":
            groups = np.repeat(known, [len(one) for one, _ in beats])
        names = (*(f"sample[{place}]" for place in range(-_BEFORE, _AFTER)), "interval_before", "interval_after")
        parts.append(Table(x, y, names, "beat", f"mit-bih, {len(known)} patients to {part}"))
    complete = len(list(path.glob("*annotations.txt"))) >= len(_LEARNED_FROM) + len(_TESTED_ON)
    return Published("mit-bih", parts[0], parts[1], groups, complete)


def _beats(folder: Path, record: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.str_]]:
    """Windows of the first lead around the beats of a patient, with the samples to the beats beside."""
    signal_file, notes = folder / f"{record}.csv", folder / f"{record}annotations.txt"
    if not notes.is_file():
        raise MissingDataError(str(notes), expected=f"the annotations of {signal_file.name}", got="no such file")
    try:
        signal = np.loadtxt(signal_file, delimiter=",", skiprows=1, usecols=1, dtype=np.int32, ndmin=1)
    except (ValueError, OSError) as error:
        raise DataError(
            str(signal_file), expected="a sample a line: number and leads", got=str(error).splitlines()[0]
        ) from None
    kind_of = {letter: kind for kind, letters in _BEATS.items() for letter in letters}
    places, kinds = [], []
    for number, line in enumerate(notes.read_text(encoding="utf-8", errors="replace").splitlines()[1:], 2):
        fields = line.split()
        if len(fields) < 3 or not fields[1].isdecimal():
            if fields:
                raise DataError(f"{notes}, line {number}", expected="time, sample, type", got=line.strip()[:60])
            continue
        if fields[2] in kind_of:  # the others annotate rhythm and noise
            places.append(int(fields[1]))
            kinds.append(kind_of[fields[2]])
    rows, labels = [], []
    for before, place, after, kind in zip(places, places[1:], places[2:], kinds[1:], strict=False):
        if place >= _BEFORE and place + _AFTER <= len(signal):
            rows.append([*signal[place - _BEFORE : place + _AFTER], place - before, after - place])
            labels.append(kind)
    if not rows:
        raise DataError(str(notes), expected="annotated beats within the signal", got="none")
    return np.array(rows, np.int32), np.array(labels)


def _cifar10(path: Path) -> Published:
    if not path.is_dir():
        raise DataError(str(path), expected="a folder of data_batch_1.bin, ..., test_batch.bin", got="a file")
    names = path / "batches.meta.txt"
    classes = names.read_text(encoding="utf-8").split() if names.is_file() else []
    if classes and len(classes) != 10:
        raise DataError(str(names), expected="ten names of classes", got=len(classes))
    batches = sorted(path.glob("data_batch_[1-5].bin"))
    tables = []
    columns = tuple(
        f"{colour}[{row},{column}]" for colour in ("red", "green", "blue") for row in range(32) for column in range(32)
    )
    for part, files in (("train", batches), ("test", [path / "test_batch.bin"])):
        if not files or not files[0].is_file():
            raise MissingDataError(str(path), expected=f"the {part} part of CIFAR-10's binary files", got=contents(path))
        octets = []
        for file in files:
            raw = np.fromfile(file, np.uint8)
            if not len(raw) or len(raw) % 3073:
                raise DataError(
                    str(file), expected="rows of 3,073 bytes: a label, then 32 by 32 red, green, blue", got=f"{len(raw):,}"
                )
            octets.append(raw.reshape(-1, 3073))
        rows = np.concatenate(octets)
        if rows[:, 0].max() > 9:
            raise DataError(str(path), expected="labels from 0 to 9", got=int(rows[:, 0].max()))
        y = np.array(classes)[rows[:, 0]] if classes else rows[:, 0].astype(np.int64)
        tables.append(Table(rows[:, 1:], y, columns, "class", f"cifar10, {part}"))
    return Published("cifar10", tables[0], tables[1], complete=[len(one) for one in tables] == [50_000, 10_000])


PUBLISHED: Mapping[str, Callable[[Path], Published]] = {
    "jets-openml": _jets_openml,
    "jets-cernbox": _jets_cernbox,
    "nid": _nid,
    "mit-bih": _mit_bih,
    "cifar10": _cifar10,
}
"""Readers by name."""
