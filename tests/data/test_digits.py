"""Digits: the embedded ones, IDX files, and every way in which such files are wrong."""

from __future__ import annotations

import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ordinate.data import MNIST_MD5, Digits, digits, read_idx
from ordinate.errors import ArgumentError, DataError, MissingDataError
from tests.external import needs, required


def idx(array: np.ndarray) -> bytes:
    """By the format's own text: two zeros, type 8, axes, big-endian sizes, bytes."""
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small set of its own: 60 and 20 images of 6 by 5."""
    generator = np.random.default_rng(0)
    for part, count in (("train", 60), ("t10k", 20)):
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(idx(generator.integers(0, 256, (count, 6, 5))))
        with gzip.open(tmp_path / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(idx(np.arange(count) % 10))
    return tmp_path


def multiset(data: Digits) -> list[bytes]:
    parts = (data.train, data.validation, data.test)
    return sorted(
        image.tobytes() + bytes([label]) for part in parts for image, label in zip(part.images, part.labels, strict=True)
    )


def test_the_embedded_digits_are_scikit_learns_each_in_one_part() -> None:
    known = load_digits()
    expected = sorted(
        image.astype(np.uint8).tobytes() + bytes([label]) for image, label in zip(known.images, known.target, strict=True)
    )
    assert multiset(digits()) == expected


def test_the_same_seed_splits_alike_and_another_does_not() -> None:
    first, again, other = digits(seed=3), digits(seed=3), digits(seed=4)
    assert np.array_equal(first.validation.images, again.validation.images)
    assert not np.array_equal(first.validation.labels, other.validation.labels)


def test_every_class_is_in_every_part_in_proportion() -> None:
    data = digits(validation=0.2)
    for part, share in ((data.test, 0.25), (data.validation, 0.15), (data.train, 0.6)):
        counts = np.bincount(part.labels, minlength=10)
        assert len(part) == pytest.approx(1797 * share, rel=0.02)
        assert counts.min() > 0.08 * len(part)


def test_labels_are_places_among_the_chosen_classes() -> None:
    data = digits(classes=(7, 3))
    known = load_digits()
    sevens = {image.astype(np.uint8).tobytes() for image in known.images[known.target == 7]}
    assert all(
        (image.tobytes() in sevens) == (label == 0) for image, label in zip(data.test.images, data.test.labels, strict=True)
    )
    assert data.classes == (7, 3)


def test_bits_are_pixels_above_the_threshold_row_by_row() -> None:
    data = digits()
    assert data.threshold == 6.0
    assert np.array_equal(data.test.bits(6.0)[3], load_bits(data.test.images[3]))


def load_bits(image: np.ndarray) -> np.ndarray:
    return np.array([image[row, column] > 6 for row in range(8) for column in range(8)])


def test_idx_files_are_read_plain_and_gzipped(folder: Path) -> None:
    data = digits(folder, validation=0.1)
    assert (len(data.train), len(data.validation), len(data.test)) == (50, 10, 20)
    assert data.size == (6, 5)
    assert data.highest == 255
    assert data.threshold == 95.0
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (60, 6, 5)).astype(np.uint8)
    assert sorted(image.tobytes() for image in images) == sorted(
        image.tobytes() for part in (data.train, data.validation) for image in part.images
    )


@needs("mnist")
def test_mnist_is_known_by_its_hash() -> None:
    labels = read_idx(required("mnist"), "t10k-labels-idx1-ubyte", 1)
    assert labels[:5].tolist() == [7, 2, 1, 0, 4]
    assert hashlib.md5(idx(labels)).hexdigest() == MNIST_MD5["t10k-labels-idx1-ubyte"]


@needs("mnist")
def test_one_changed_label_of_mnist_is_found(tmp_path: Path) -> None:
    labels = read_idx(required("mnist"), "t10k-labels-idx1-ubyte", 1).copy()
    labels[17] = (labels[17] + 1) % 10
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx(labels))
    with pytest.raises(DataError, match=r"with MD5 27ae3e4e.*got MD5 .*; fetch it again"):
        read_idx(tmp_path, "t10k-labels-idx1-ubyte", 1)
    assert np.array_equal(read_idx(tmp_path, "t10k-labels-idx1-ubyte", 1, check=False), labels)


@needs("mnist")
def test_test_labels_under_the_name_of_training_labels_are_named_as_swapped(tmp_path: Path) -> None:
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes((required("mnist") / "t10k-labels-idx1-ubyte.gz").read_bytes())
    with pytest.raises(
        DataError, match=r"expected MNIST's train-labels-idx1-ubyte, got MNIST's t10k-labels-idx1-ubyte; .*swapped"
    ):
        read_idx(tmp_path, "train-labels-idx1-ubyte", 1)


def test_images_under_the_name_of_labels_are_named_as_swapped(folder: Path) -> None:
    (folder / "t10k-labels-idx1-ubyte.gz").unlink()
    (folder / "t10k-images-idx3-ubyte").rename(folder / "t10k-labels-idx1-ubyte")
    with pytest.raises(DataError, match=r"expected labels \(1 axes\), got images \(3 axes\); .*swapped"):
        read_idx(folder, "t10k-labels-idx1-ubyte", 1)


def test_a_missing_folder_or_file_is_named(folder: Path) -> None:
    with pytest.raises(MissingDataError, match=r"nowhere: expected a folder of IDX files"):
        digits(folder / "nowhere")
    (folder / "train-images-idx3-ubyte").unlink()
    with pytest.raises(
        MissingDataError, match=r"train-images-idx3-ubyte: expected an IDX file.*got a folder of t10k-images-idx3-ubyte"
    ):
        digits(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"an IDX file of unsigned bytes, got  at its start"),
        (b"\x89PNG" + bytes(30), r"got 89504e47 at its start"),
        (b"\0\0\x0d\x01" + bytes(30), r"an IDX file of unsigned bytes, got 00000d01"),
        (idx(np.arange(20) % 10)[:-3], r"28 bytes for its sizes \[20\], got 25"),
        (idx(np.arange(20) % 10) + b"\0", r"got 29"),
    ],
)
def test_damaged_idx_files_are_refused_with_what_is_wrong(folder: Path, content: bytes, message: str) -> None:
    (folder / "t10k-labels-idx1-ubyte").write_bytes(content)
    with pytest.raises(DataError, match=message):
        digits(folder)


def test_a_truncated_gzip_is_refused(folder: Path) -> None:
    path = folder / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(DataError, match="a whole gzip file"):
        digits(folder)


def test_labels_out_of_range_are_refused_with_the_image(folder: Path) -> None:
    labels = np.arange(20) % 10
    labels[11] = 12
    (folder / "t10k-labels-idx1-ubyte").write_bytes(idx(labels))
    with pytest.raises(DataError, match=r"labels from 0 to 9, got 12 at image 11"):
        digits(folder)


def test_numbers_of_images_and_labels_must_agree(folder: Path) -> None:
    (folder / "t10k-labels-idx1-ubyte").write_bytes(idx(np.arange(19) % 10))
    with pytest.raises(DataError, match=r"20 labels, one an image, got 19"):
        digits(folder)


def test_test_images_of_another_size_are_refused(folder: Path) -> None:
    (folder / "t10k-images-idx3-ubyte").write_bytes(idx(np.zeros((20, 5, 5))))
    with pytest.raises(DataError, match=r"test images of 6 by 5.*got 5 by 5"):
        digits(folder)


def test_an_empty_class_is_refused(folder: Path) -> None:
    (folder / "t10k-labels-idx1-ubyte").write_bytes(idx(np.arange(20) % 9))
    with pytest.raises(DataError, match=r"images of every class, got none of the digit 9"):
        digits(folder)
    assert digits(folder, classes=range(9), validation=0.1).classes == tuple(range(9))


@pytest.mark.parametrize("classes", [(0,), (0, 0), (0, 10), (-1, 2), ("0", "1"), ()])
def test_classes_must_be_two_different_digits_or_more(classes: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentError, match="at least two different digits from 0 to 9"):
        digits(classes=classes)


@pytest.mark.parametrize("share", [0.0, 0.6, -0.1, float("nan")])
def test_the_share_of_validation_is_checked(share: float) -> None:
    with pytest.raises(ArgumentError, match="validation"):
        digits(validation=share)
