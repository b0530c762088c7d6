"""Images of digits in three parts that never mix: training, validation, and a test part that is read once.

Embedded are scikit-learn's 1,797 images of 8 by 8 (the test part of the UCI set of Alpaydin and Kaynak 1998); a folder of IDX
files gives MNIST, or any set of the same format. Validation is split off from the training images, class by class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ordinate.data.idx import contents, read_idx
from ordinate.errors import ArgumentError, DataError, MissingDataError

__all__ = ["DigitSet", "Digits", "digits"]

_TESTED_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class DigitSet:
    """Images and what they show.

    Args:
        images: uint8 [N, height, width].
        labels: int64 [N], from 0 to the number of classes - 1: the place of the digit in `Digits.classes`.
    """

    images: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    def bits(self, threshold: float) -> npt.NDArray[np.bool_]:
        """Whether each pixel is above `threshold`: bool [N, height width]."""
        return (self.images > threshold).reshape(len(self), -1)

    def take(self, rows: npt.NDArray[np.int64]) -> DigitSet:
        """These images, in this order."""
        return DigitSet(self.images[rows], self.labels[rows])


@dataclass(frozen=True, eq=False)
class Digits:
    """Digits in three parts.

    Args:
        train: to learn from.
        validation: to stop and choose by.
        test: to be read once, at the end.
        classes: the digits that are distinguished; label k stands for classes[k].
        highest: the largest value of a pixel: 255, or 16 for the embedded images.
        source: where they come from, for messages and reports.
    """

    train: DigitSet
    validation: DigitSet
    test: DigitSet
    classes: tuple[int, ...]
    highest: int
    source: str

    @property
    def threshold(self) -> float:
        """The usual threshold between ink and paper: 95 of 255, in the same proportion for other ranges."""
        return 95.0 if self.highest == 255 else float(round(95 / 255 * self.highest))

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of an image."""
        return int(self.train.images.shape[1]), int(self.train.images.shape[2])

    def fewer(self, train: int, test: int | None = None) -> Digits:
        """At most the first `train` training images, a sixth as many for validation, and the first `test` of the test.

        >>> small = digits().fewer(120, 50)
        >>> len(small.train), len(small.validation), len(small.test)
        (120, 20, 50)
        """
        return replace(
            self,
            train=self.train.take(np.arange(min(train, len(self.train)))),
            validation=self.validation.take(np.arange(min(-(-train // 6), len(self.validation)))),
            test=self.test if test is None else self.test.take(np.arange(min(test, len(self.test)))),
        )


def digits(
    folder: str | Path | None = None,
    *,
    classes: Sequence[int] | None = None,
    validation: float = 1 / 12,
    seed: int = 0,
    check: bool = True,
) -> Digits:
    """Digits from the embedded images, or from a folder of IDX files.

    Args:
        folder: None for scikit-learn's 8 by 8 images, of which a quarter are the test part; else a folder with the IDX files
            `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, `t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`, plain
            or gzipped, whose `t10k` files are the test part.
        classes: the digits to distinguish, in the order of their labels; all ten by default.
        validation: the share of the training images, of each class, that is kept apart.
        seed: of the splits.
        check: compare files of MNIST's names and lengths with its MD5.

    Raises:
        ArgumentError: classes that are not at least two different digits, a share out of (0, 0.5].
        MissingDataError: no such folder, or a file missing.
        DataError: a file that is damaged, swapped or of another format; labels out of 0 to 9; numbers of images and labels that
            differ; a class without images.

    >>> both = digits(classes=(0, 1))
    >>> both.train.images.shape[1:], both.classes, sorted(set(both.test.labels.tolist()))
    ((8, 8), (0, 1), [0, 1])
    """
    chosen = tuple(range(10)) if classes is None else tuple(classes)
    if (
        len(chosen) < 2
        or len(set(chosen)) < len(chosen)
        or not all(isinstance(digit, int | np.integer) and 0 <= digit <= 9 for digit in chosen)
    ):
        raise ArgumentError(
            "classes",
            expected="at least two different digits from 0 to 9",
            got=chosen,
            hint="such as 0,1; leave out for all ten",
        )
    if not 0 < validation <= 0.5:
        raise ArgumentError("validation", expected="a share above 0, at most 0.5", got=validation, hint="1/12 is usual")
    generator = np.random.default_rng(seed)
    if folder is None:
        known, highest, source = _embedded(), 16, "scikit-learn's digits, 8 by 8"
        everything = _only(known, chosen, source)
        test, learned = _split(everything, _TESTED_SHARE, len(chosen), generator)
    else:
        where = Path(folder)
        if not where.is_dir():
            raise MissingDataError(str(where), expected="a folder of IDX files", got=contents(where), hint="check the path")
        highest, source = 255, f"IDX files of {where.name}"
        learned = _only(_pair(where, "train", check), chosen, f"train of {where}")
        test = _only(_pair(where, "t10k", check), chosen, f"t10k of {where}")
        if learned.images.shape[1:] != test.images.shape[1:]:
            raise DataError(
                str(where),
                expected=f"test images of {learned.images.shape[1]} by {learned.images.shape[2]}, as those to learn from",
                got=f"{test.images.shape[1]} by {test.images.shape[2]}",
                hint="the files come from different sets",
            )
    kept, train = _split(learned, validation, len(chosen), generator)
    return Digits(train, kept, test, tuple(int(digit) for digit in chosen), highest, source)


def _embedded() -> DigitSet:
    from sklearn.datasets import load_digits

    images, labels = load_digits().images, load_digits().target
    return DigitSet(images.astype(np.uint8), labels.astype(np.int64))


def _pair(folder: Path, part: str, check: bool) -> DigitSet:
    images = read_idx(folder, f"{part}-images-idx3-ubyte", 3, check=check)
    labels = read_idx(folder, f"{part}-labels-idx1-ubyte", 1, check=check).astype(np.int64)
    if len(images) != len(labels):
        raise DataError(
            str(folder / f"{part}-labels-idx1-ubyte"),
            expected=f"{len(images):,} labels, one an image",
            got=f"{len(labels):,}",
            hint="the two files belong to different sets",
        )
    if len(labels) and labels.max() > 9:
        place = int(np.argmax(labels > 9))
        raise DataError(
            str(folder / f"{part}-labels-idx1-ubyte"),
            expected="labels from 0 to 9",
            got=f"{labels[place]} at image {place}",
            hint="the file is damaged, or no set of digits",
        )
    return DigitSet(images, labels)


def _only(known: DigitSet, chosen: tuple[int, ...], source: str) -> DigitSet:
    """The images of the chosen digits, labelled by their place among them."""
    place = np.full(10, -1)
    place[list(chosen)] = np.arange(len(chosen))
    labels = place[known.labels]
    for label, digit in enumerate(chosen):
        if not (labels == label).any():
            raise DataError(
                source, expected="images of every class", got=f"none of the digit {digit}", hint="leave that class out"
            )
    rows = np.flatnonzero(labels >= 0)
    return DigitSet(known.images[rows], labels[rows])


def _split(known: DigitSet, share: float, classes: int, generator: np.random.Generator) -> tuple[DigitSet, DigitSet]:
    """A share of each class, and the rest; both in shuffled order."""
    parts: tuple[list[npt.NDArray[np.int64]], list[npt.NDArray[np.int64]]] = ([], [])
    for label in range(classes):
        rows = generator.permutation(np.flatnonzero(known.labels == label))
        first = max(1, round(share * len(rows)))
        if first >= len(rows):
            raise DataError(
                f"class {label}", expected="at least two images to split", got=len(rows), hint="give more images of it"
            )
        parts[0].append(rows[:first])
        parts[1].append(rows[first:])
    apart, rest = (generator.permutation(np.concatenate(part)) for part in parts)
    return known.take(apart), known.take(rest)
