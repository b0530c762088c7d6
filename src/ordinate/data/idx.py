"""IDX files, the format of MNIST: a magic number, the sizes, then bytes; plain or gzipped.

The magic number is two zero bytes, the type (8 for unsigned bytes) and the number of axes; each size is a big-endian 32-bit
integer (LeCun, Cortes and Burges, http://yann.lecun.com/exdb/mnist/).
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ordinate.errors import DataError, MissingDataError

__all__ = ["MNIST_MD5", "contents", "read_idx"]

MNIST_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
"""MD5 of MNIST's four files, unzipped."""

_MNIST_BYTES = {
    "train-images-idx3-ubyte": 47_040_016,
    "train-labels-idx1-ubyte": 60_008,
    "t10k-images-idx3-ubyte": 7_840_016,
    "t10k-labels-idx1-ubyte": 10_008,
}


def read_idx(folder: Path, name: str, axes: int, *, check: bool = True) -> npt.NDArray[np.uint8]:
    """The array of one file, found as `name` or `name.gz`.

    Args:
        folder: where the file lies.
        name: such as "train-images-idx3-ubyte".
        axes: 3 for images, 1 for labels.
        check: compare a file that has the name and the length of one of MNIST's with its MD5, so that no damaged pixel passes;
            a file of another length is another data set.

    Returns:
        uint8, with as many axes.

    Raises:
        MissingDataError: no such file.
        DataError: damaged, swapped with another, or of another format.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "labels").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 3]))
    ...     read_idx(Path(folder), "labels", axes=1)
    array([7, 3], dtype=uint8)
    """
    path = next((file for file in (folder / name, folder / f"{name}.gz") if file.is_file()), None)
    if path is None:
        raise MissingDataError(
            str(folder / name), expected="an IDX file, plain or .gz", got=contents(folder), hint="put MNIST's four files there"
        )
    content = _content(path)
    header = 4 + 4 * axes
    if len(content) < header or content[:3] != b"\0\0\x08":
        raise DataError(str(path), expected="an IDX file of unsigned bytes", got=f"{content[:4].hex()} at its start")
    if content[3] != axes:
        kinds = {1: "labels", 3: "images"}
        raise DataError(
            str(path),
            expected=f"{kinds.get(axes, 'an array')} ({axes} axes)",
            got=f"{kinds.get(content[3], 'an array')} ({content[3]} axes)",
            hint="the files of images and labels are swapped; give each its own name",
        )
    sizes = np.frombuffer(content, ">u4", axes, 4).astype(np.int64)
    if len(content) != header + int(sizes.prod()):
        raise DataError(
            str(path),
            expected=f"{header + int(sizes.prod()):,} bytes for its sizes {sizes.tolist()}",
            got=f"{len(content):,}",
        )
    if check:
        _compare_with_mnist(path, name, content)
    return np.frombuffer(content, np.uint8, offset=header).reshape(sizes)


def contents(folder: Path) -> str:
    """What lies in a folder, for a message about what does not.

    >>> contents(Path("a folder that nobody has"))
    'no such folder'
    """
    if not folder.is_dir():
        return "a file" if folder.exists() else "no such folder"
    names = sorted(path.name for path in folder.iterdir())
    listed = ", ".join(names[:6])
    return f"a folder of {listed}{f' and {len(names) - 6} more' if len(names) > 6 else ''}" if names else "an empty folder"


def _content(path: Path) -> bytes:
    try:
        if path.suffix != ".gz":
            return path.read_bytes()
        with gzip.open(path) as file:
            return file.read()
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        raise DataError(str(path), expected="a whole gzip file", got=str(problem)) from None
    except OSError as problem:
        raise DataError(str(path), expected="a readable file", got=str(problem), hint="change its rights") from None


def _compare_with_mnist(path: Path, name: str, content: bytes) -> None:
    if name not in MNIST_MD5 or len(content) not in _MNIST_BYTES.values():
        return
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    swapped = next((other for other, known in MNIST_MD5.items() if known == digest and other != name), None)
    if swapped is not None:
        raise DataError(
            str(path),
            expected=f"MNIST's {name}",
            got=f"MNIST's {swapped}",
            hint="the files are swapped; give each its own name",
        )
    if digest != MNIST_MD5[name] and len(content) == _MNIST_BYTES[name]:
        raise DataError(
            str(path),
            expected=f"MNIST's {name} with MD5 {MNIST_MD5[name]}",
            got=f"MD5 {digest}",
            hint="fetch it again; if it is another data set of the same size, say so (check=False, --other-data)",
        )
