"""Images as bits of machine words: image i of a signal is bit i mod 64 of its word i div 64.

One bitwise operation on a word then works for 64 images. A batch of any size is padded with zeros to whole words, and the
padding is cut off again when words are read back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ordinate.logic.input_thresholds import InputThresholds

__all__ = ["WORD_BITS", "as_bits", "least_bytes", "pack", "unpack"]

WORD_BITS = 64

Words = npt.NDArray[np.uint64]
_LITTLE = np.dtype("<u8")
_TRANSPOSE = tuple(
    (np.uint64(shift), np.uint64(mask))
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))
)


def as_bits(bits: Any, num_inputs: int, argument: str = "bits") -> npt.NDArray[np.bool_]:
    """The bits as booleans [..., num_inputs], from booleans, integers or floats that are all 0 or 1.

    Args:
        bits: an array or tensor [..., num_inputs].
        num_inputs: how many the last axis must have.
        argument: what an error calls them.

    Raises:
        ShapeError: another number of inputs.
        ArgumentError: a value that is neither 0 nor 1.

    >>> as_bits([[0, 1, 1.0]], 3)
    array([[False,  True,  True]])
    """
    from ordinate.errors import ArgumentError, ShapeError

    given = np.asarray(bits)
    if given.ndim == 0 or given.shape[-1] != num_inputs:
        raise ShapeError(
            argument,
            expected=f"[..., {num_inputs}], one bit an input",
            got=f"shape {list(given.shape)}",
            hint="give every input of the circuit, in its order",
        )
    if given.dtype == np.bool_:
        return given
    if given.dtype.kind not in "iuf" or not ((given == 0) | (given == 1)).all():
        wrong = given[~((given == 0) | (given == 1))] if given.dtype.kind in "iuf" else []
        raise ArgumentError(
            argument,
            expected="bits, 0 or 1",
            got=f"the value {wrong[0]}" if len(wrong) else f"values of {given.dtype}",
            hint="binarise them first: the circuit's thresholds do that, or compare them with a number",
        )
    return given.astype(np.bool_)


def least_bytes(thresholds: InputThresholds) -> npt.NDArray[np.int64]:
    """For each bit [bits] the least byte above its threshold; 256 where no byte is: x > t exactly if x >= floor(t) + 1.

    >>> from ordinate.logic import InputThresholds
    >>> least_bytes(InputThresholds(1, [0, 0, 0], [-3, 94.5, 255])).tolist()
    [0, 95, 256]
    """
    return np.clip(np.floor(thresholds.threshold) + 1, 0, 256).astype(np.int64)


def pack(bits: npt.NDArray[np.bool_]) -> Words:
    """Bits [images, signals] as words [signals, ceil(images / 64)].

    >>> pack(np.array([[True, False], [True, True], [False, True]])).tolist()
    [[3], [6]]
    """
    images, signals = bits.shape
    words, octets = -(-images // WORD_BITS), -(-signals // 8)
    rows = np.zeros((8 * words, 8, octets), np.uint8)
    rows.reshape(64 * words, octets)[:images] = np.packbits(bits, axis=1, bitorder="little")
    # eight images by eight signals in 64 bits, where rows and columns of bits change places: Warren 2013, Hacker's Delight 7-3
    square = np.ascontiguousarray(rows.transpose(2, 0, 1)).view(_LITTLE)[..., 0]
    for shift, mask in _TRANSPOSE:
        change = square >> shift
        change ^= square
        change &= mask
        square ^= change
        change <<= shift
        square ^= change
    signal_major = np.ascontiguousarray(square.view(np.uint8).reshape(octets, 8 * words, 8).transpose(0, 2, 1))
    return signal_major.reshape(8 * octets, 8 * words)[:signals].view(_LITTLE).astype(np.uint64, copy=False)


def unpack(words: Words, images: int) -> npt.NDArray[np.bool_]:
    """Words [signals, W] as bits [images, signals]; what lies past the last image is cut off.

    >>> unpack(np.array([[3], [6]], np.uint64), 3).astype(int).tolist()
    [[1, 0], [1, 1], [0, 1]]
    """
    octets = np.ascontiguousarray(words.astype(_LITTLE, copy=False)).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little", count=images).T.astype(np.bool_)
