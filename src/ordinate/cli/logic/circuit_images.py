"""The test images that a circuit from a file is for: its labels, its thresholds, its size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate.logic.circuit.circuit import Circuit

__all__ = ["CircuitImages", "rows_to_simulate", "test_images"]


@dataclass(frozen=True)
class CircuitImages:
    """Test images as a circuit takes them.

    Args:
        bits: bool [n, num_inputs].
        numbers: the pixels that they come from [n, pixels].
        labels: int64 [n], the number of the class.
        threshold: what pixels were compared with, or None where the circuit carries several.
        size: height and width of an image.
        source: in words.
    """

    bits: Any
    numbers: Any
    labels: Any
    threshold: float | None
    size: tuple[int, int]
    source: str


def test_images(circuit: Circuit, data: Path | None, threshold: float | None, *, check: bool) -> CircuitImages:
    """The test part of the data, of the circuit's classes only.

    Raises:
        ArgumentError: images of another size than the circuit's.
        DataError, MissingDataError: see `ordinate.data.digits`.
    """
    import numpy as np

    from ordinate.data.digits import digits
    from ordinate.errors import ArgumentError

    labels = [label for label in circuit.labels if isinstance(label, int)]
    if len(labels) < circuit.num_classes:
        raise ArgumentError("CIRCUIT", expected="a circuit whose labels are digits", got=", ".join(map(str, circuit.labels)))
    known = digits(data, classes=labels, check=check)
    pixels = known.size[0] * known.size[1]
    inputs = circuit.inputs
    wanted = circuit.num_inputs if inputs is None or threshold is not None else inputs.num_features
    if pixels != wanted:
        raise ArgumentError(
            "--data",
            expected=f"images of {wanted} pixels, as the circuit was made for",
            got=f"{known.size[0]} by {known.size[1]} ({known.source})",
            hint="pass the data it was trained on",
        )
    level: float | None
    if inputs is None or threshold is not None:
        level = known.threshold if threshold is None else threshold
        bits = known.test.bits(level)
    else:
        bits = inputs.bits(known.test.images.reshape(len(known.test), -1))
        levels = np.unique(inputs.threshold)
        level = float(levels[0]) if len(levels) == 1 else None
    return CircuitImages(
        bits, known.test.images.reshape(len(known.test), -1), known.test.labels, level, known.size, known.source
    )


def rows_to_simulate(circuit: Circuit, data: Path | None, *, check: bool) -> tuple[Any, Any, str]:
    """Bits [n, num_inputs], the pixels that they come from or None, and in words what they are.

    The test images; random bits for a circuit that is for no images we know, such as one that was read from BLIF, unless
    `--data` names some. Raises as `test_images`.
    """
    import numpy as np

    from ordinate.errors import ArgumentError

    try:
        tested = test_images(circuit, data, None, check=check)
    except ArgumentError:
        if data is not None:
            raise
        return np.random.default_rng(0).random((256, circuit.num_inputs)) < 0.5, None, "256 random rows"
    return tested.bits, tested.numbers, f"test images, {tested.source}"
