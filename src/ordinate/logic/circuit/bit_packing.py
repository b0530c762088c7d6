"""Bit packing: image i of a signal is bit i mod 64 of its word i div 64.

One bitwise operation on a word then works for 64 images. A batch of any size is padded with zeros to a multiple of 64, and the
padding is cut off again when words are unpacked.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["WORD_BITS", "pack", "unpack"]

WORD_BITS = 64

Words = npt.NDArray[np.uint64]
_LITTLE = np.dtype("<u8")
_TRANSPOSE = tuple(
    (np.uint64(shift), np.uint64(mask))
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))
)


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
    """Words [signals, W] as bits [images, signals]; the padding past the last image is cut off.

    >>> unpack(np.array([[3], [6]], np.uint64), 3).astype(int).tolist()
    [[1, 0], [1, 1], [0, 1]]
    """
    octets = np.ascontiguousarray(words.astype(_LITTLE, copy=False)).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little", count=images).T.astype(np.bool_)
