"""The legend of axis letters, and the check that compares a tensor with it.

Every public shape in this package is written with these letters. Nothing here imports torch: a shape is a tuple.
"""

from __future__ import annotations

from typing import Any

from ordinate.errors import ArgumentTypeError, ShapeError

__all__ = ["LEGEND", "check_shape"]

LEGEND = {
    "B": "batch",
    "H": "query heads",
    "G": "key-value heads (H is a multiple of G)",
    "T": "tokens, or query tokens",
    "S": "key tokens",
    "D": "channels of a head, or of the embedding",
    "V": "channels of a value",
    "N": "units of a reservoir",
    "F": "features",
    "P": "rotated pairs of channels",
    "A": "axes of a position (height and width, say)",
}


def check_shape(name: str, tensor: Any, axes: str, **sizes: int) -> dict[str, int]:
    """Check `tensor.shape` against a pattern such as `"B H T D"` and return the size of each letter.

    Args:
        name: the argument's name, for the message.
        tensor: anything with a `shape`.
        axes: letters of `LEGEND` apart by spaces; a leading `...` stands for any number of axes; alternatives are
            apart by ` | `, the first that has the right number of axes is taken.
        sizes: required sizes by letter, for example `D=64`.

    Raises:
        ArgumentTypeError: `tensor` has no shape.
        ShapeError: wrong number of axes, or a size that differs.

    >>> import torch
    >>> check_shape("x", torch.zeros(2, 8, 16, 64), "B H T D", D=64)
    {'B': 2, 'H': 8, 'T': 16, 'D': 64}
    """
    shape = getattr(tensor, "shape", None)
    if shape is None:
        raise ArgumentTypeError(name, expected=f"a tensor [{axes}]", got=type(tensor).__name__)
    measured: dict[str, int] | None = None
    for pattern in axes.split(" | "):
        letters = pattern.split()
        if letters[0] == "...":
            letters = letters[1:]
            if len(shape) >= len(letters):
                measured = dict(zip(letters, shape[len(shape) - len(letters) :], strict=True))
                break
        elif len(shape) == len(letters):
            measured = dict(zip(letters, shape, strict=True))
            break
    if measured is None or any(measured[letter] != size for letter, size in sizes.items() if letter in measured):
        # formed only on failure: printing a symbolic size would pin it, and torch.compile would recompile for every length
        wanted = ", ".join(f"{letter}={size}" for letter, size in sizes.items())
        raise ShapeError(
            name,
            expected=f"a tensor [{axes}]" + (f" with {wanted}" if wanted else ""),
            got=f"shape {tuple(shape)}",
            hint=_legend(axes),
        )
    return measured


def _legend(axes: str) -> str:
    letters = dict.fromkeys(letter for letter in axes.split() if letter in LEGEND)
    return "the axes are " + ", ".join(f"{letter} {LEGEND[letter]}" for letter in letters)
