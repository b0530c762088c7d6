"""Tables are read in four formats alike; what is missing, text or ragged is refused by its column and row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ordinate.data.tables import read_table
from ordinate.errors import ArgumentError, DataError, MissingDataError, OrdinateError

X = np.array([[1, 2.5], [-3, 0.125], [7, 1e-3]])
Y = ["jet", "b", "jet"]


def written(folder: Path, suffix: str) -> Path:
    path = folder / f"t{suffix}"
    rows = [["mass", "eta", "kind"], *([*map(str, row), label] for row, label in zip(X.tolist(), Y, strict=True))]
    if suffix == ".npz":
        np.savez(path, x=X, kind=np.array(Y))
    elif suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"mass": X[:, 0], "eta": X[:, 1], "kind": Y}), path)
    else:
        path.write_text("".join(("," if suffix == ".csv" else "\t").join(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".parquet", ".npz"])
def test_every_format_gives_the_same_rows(suffix: str, tmp_path: Path) -> None:
    table = read_table(written(tmp_path, suffix), "kind")
    assert np.array_equal(table.x, X)
    assert table.y.tolist() == Y
    assert table.features == (("x[0]", "x[1]") if suffix == ".npz" else ("mass", "eta"))


def test_integers_stay_integers_and_columns_may_be_dropped(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,a,b,y\nr1,1,2,0\nr2,3,4,1\n")
    table = read_table(tmp_path / "t.csv", "y", drop=["id"])
    assert table.x.dtype == np.int32
    assert (table.x.tolist(), table.y.tolist()) == ([[1, 2], [3, 4]], [0, 1])


@pytest.mark.parametrize(("missing", "value"), [("median", 2.0), ("mean", 3.0), ("zero", 0.0)])
def test_missing_numbers_are_refused_by_name_or_filled_as_asked(missing: str, value: float, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,y\n1,1,u\n?,1,u\n2,1,v\n6,1,v\n")
    with pytest.raises(DataError, match="column a: expected a number in every row, got 1 missing, the first in row 2"):
        read_table(tmp_path / "t.csv", "y")
    assert read_table(tmp_path / "t.csv", "y", missing=missing).x[1, 0] == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got an empty file"),
        ("a,y\n", "got 0 rows"),
        ("y\n1\n", "0 columns"),
        ("1,2\n3,4\n", "expected names of columns in the first line, got numbers"),
        ("a,a,y\n1,2,3\n", "a different name for each column"),
        ("a,y\n1\n", "row 2: expected 2 fields"),
        ("a,y\nred,1\n", "column a: expected numbers, got 'red' in row 1"),
        ("a,y\ninf,1\n", "column a: expected finite numbers"),
        ("a,y\n1,\n", "expected a label in every row, got none in row 1"),
        ("a,y\n1,0.5\n", "labels that are integers or text, got fractions"),
        ("a,y\n\udcff,1\n", "a table in UTF-8"),
    ],
)
def test_what_is_no_table_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / "t.csv", "y")


def test_names_that_are_not_there(tmp_path: Path) -> None:
    path = written(tmp_path, ".csv")
    with pytest.raises(ArgumentError, match=r'label: expected a column of t.csv, got kid; did you mean "kind"'):
        read_table(path, "kid")
    with pytest.raises(MissingDataError, match="no such file"):
        read_table(tmp_path / "none.csv", "kind")
    with pytest.raises(ArgumentError, match=r"ends in .csv"):
        read_table(path.rename(tmp_path / "t.xls"), "kind")
    (tmp_path / "bad.npz").write_bytes(b"PK")
    with pytest.raises(OrdinateError, match="npz"):
        read_table(tmp_path / "bad.npz", "kind")


def test_integers_that_floating_point_does_not_hold_are_refused_and_labels_keep_every_digit(tmp_path: Path) -> None:
    exact, rounded = 2**53 + 2, 2**53 + 3
    file = tmp_path / "wide.csv"
    file.write_text(f"x,y\n1,{rounded}\n{exact},{2**53 + 5}\n")
    table = read_table(file, "y")
    assert table.x[:, 0].tolist() == [1, exact]
    assert table.y.tolist() == [rounded, 2**53 + 5]
    file.write_text(f"x,y\n1,0\n{rounded},1\n")
    with pytest.raises(DataError, match=f"column x: expected numbers that 64 bits .* got {rounded} in row 2"):
        read_table(file, "y")
