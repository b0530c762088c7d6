"""Files are there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from ordinate.atomic_io import atomic_write, save_figure
from ordinate.errors import ArgumentError, OutputError


def test_a_file_is_written_with_its_folders_and_nothing_else(tmp_path: Path) -> None:
    path = atomic_write(tmp_path / "a" / "b.txt", lambda draft: draft.write_text("all of it"))
    assert path.read_text() == "all of it"
    assert [file.name for file in path.parent.iterdir()] == ["b.txt"]


def test_a_writer_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    def half(draft: Path) -> None:
        draft.write_text("half")
        raise KeyError

    (tmp_path / "old.txt").write_text("old")
    with pytest.raises(KeyError):
        atomic_write(tmp_path / "old.txt", half)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("old.txt", "old")]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="path: expected a file that can be written"):
        atomic_write(tmp_path / "file" / "b.txt", lambda draft: draft.write_text(""))


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_figure_is_written_by_the_end_of_its_name(tmp_path: Path, kind: str, start: bytes) -> None:
    figure = Figure()
    figure.subplots().plot([1, 2])
    assert save_figure(figure, tmp_path / f"it.{kind}").read_bytes().startswith(start)


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"path: expected a name that ends in .png, .svg or .pdf"):
        save_figure(Figure(), tmp_path / "it.gif")
