"""Images as bits of machine words: image i of a signal is bit i mod 64 of its word i div 64.

One bitwise operation on a word then works for 64 images. A batch of any size is padded with zeros to whole words, and the
padding is cut off again when words are read back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["WORD_BITS", "as_bits", "pack", "unpack"]

WORD_BITS = 64

Words = npt.NDArray[np.uint64]


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
            todo="give every input of the circuit, in its order",
        )
    if given.dtype == np.bool_:
        return given
    if given.dtype.kind not in "iuf" or not ((given == 0) | (given == 1)).all():
        wrong = given[~((given == 0) | (given == 1))] if given.dtype.kind in "iuf" else []
        raise ArgumentError(
            argument,
            expected="bits, 0 or 1",
            got=f"the value {wrong[0]}" if len(wrong) else f"values of {given.dtype}",
            todo="binarise them first: the circuit's thresholds do that, or compare them with a number",
        )
    return given.astype(np.bool_)


def pack(bits: npt.NDArray[np.bool_]) -> Words:
    """Bits [images, signals] as words [signals, ceil(images / 64)].

    >>> pack(np.array([[True, False], [True, True], [False, True]])).tolist()
    [[3], [6]]
    """
    images, signals = bits.shape
    words = -(-images // WORD_BITS)
    packed = np.zeros((signals, words * 8), np.uint8)
    # bits first and transpose after: an eighth of the bytes has to move
    packed[:, : -(-images // 8)] = np.packbits(bits, axis=0, bitorder="little").T
    return packed.view(np.dtype("<u8")).astype(np.uint64, copy=False)


def unpack(words: Words, images: int) -> npt.NDArray[np.bool_]:
    """Words [signals, W] as bits [images, signals]; what lies past the last image is cut off.

    >>> unpack(np.array([[3], [6]], np.uint64), 3).astype(int).tolist()
    [[1, 0], [1, 1], [0, 1]]
    """
    octets = np.ascontiguousarray(words.astype(np.dtype("<u8"), copy=False)).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little", count=images).T.astype(np.bool_)
