"""Text is read in one order, split by file, and named by its digest."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from ordinate.errors import DataError, MissingDataError
from ordinate.sweep.corpus import SPLITS, _read, read_corpus


def folder_of(path: Path, files: int) -> Path:
    for number in range(files):
        (path / f"{number:02}.txt").write_bytes(f"<{number:02}>".encode() * 50)
    return path


def test_the_standard_library_is_there_and_holds_python() -> None:
    corpus = read_corpus()
    assert b"def " in corpus.train.numpy().tobytes()[:100_000]
    assert (Path(sysconfig.get_path("stdlib")) / "os.py").read_bytes() in b"".join(
        corpus.split(name).numpy().tobytes() for name in SPLITS
    )


def test_no_file_of_a_folder_is_in_two_splits(tmp_path: Path) -> None:
    corpus = read_corpus(folder_of(tmp_path, 40))
    texts = {name: corpus.split(name).numpy().tobytes() for name in SPLITS}
    for number in range(40):
        holding = [name for name, text in texts.items() if f"<{number:02}>".encode() in text]
        assert len(holding) == 1, number
    assert sum(len(text) for text in texts.values()) >= 40 * 200


def test_a_file_is_cut_at_eight_and_nine_tenths(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_bytes(bytes(range(100)))
    corpus = read_corpus(tmp_path / "one.txt")
    assert corpus.train.tolist() == list(range(80))
    assert corpus.validation.tolist() == list(range(80, 90))
    assert corpus.test.tolist() == list(range(90, 100))


def test_a_folder_of_few_files_is_read_as_one(tmp_path: Path) -> None:
    corpus = read_corpus(folder_of(tmp_path, 3))
    assert len(corpus.train) + len(corpus.validation) + len(corpus.test) == 3 * 200 + 2


def test_hidden_files_are_not_read(tmp_path: Path) -> None:
    folder_of(tmp_path, 12)
    before = read_corpus(tmp_path).digest
    (tmp_path / ".secret").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path)
    other = tmp_path / ".git"
    other.mkdir()
    (other / "config").write_text("x")
    _read.cache_clear()
    assert read_corpus(tmp_path).digest == before


def test_another_text_has_another_digest(tmp_path: Path) -> None:
    one, other = tmp_path / "a", tmp_path / "b"
    one.write_bytes(b"x" * 100)
    other.write_bytes(b"x" * 99 + b"y")
    assert read_corpus(one).digest != read_corpus(other).digest


def test_what_is_not_there_or_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"--corpus: expected a file or a folder, got .*none; check the path"):
        read_corpus(tmp_path / "none")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(DataError, match="0 bytes in all"):
        read_corpus(tmp_path / "empty")
