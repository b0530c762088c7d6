"""What the commands that learn from images share: reading the options, and refusing wrong ones before any work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate.data import Digits
    from ordinate.logic import LogicNetwork
    from ordinate.logic.network.convolution_blocks import ConvolutionBlock

__all__ = ["blocks_of", "digits_of", "network_of", "widths_of"]


def digits_of(data: Path | None, classes: str | None, *, check: bool = True) -> Digits:
    """The digits of `--data` and `--classes`.

    Raises:
        ArgumentError: classes that are no list of digits.
        MissingDataError, DataError: as `ordinate.data.digits`.
    """
    from ordinate.data import digits
    from ordinate.errors import ArgumentError

    chosen = None
    if classes is not None:
        try:
            chosen = [int(digit) for digit in classes.split(",")]
        except ValueError:
            raise ArgumentError("--classes", expected="digits, as 0,1", got=classes) from None
    return digits(data, classes=chosen, check=check)


def blocks_of(
    kernels: str,
    *,
    receptive_field: str,
    depth: str,
    stride: str,
    padding: str,
    pooling: str,
    channels_read: str,
) -> list[ConvolutionBlock]:
    """Convolutions from lists such as 12,24, one number for all of them or one each; none where `--kernels` is 0.

    Raises:
        ArgumentError: what is no list of numbers, or has another length than `--kernels`.
    """
    from ordinate.errors import ArgumentError
    from ordinate.logic.network.convolution_blocks import ConvolutionBlock

    each = _numbers("--kernels", kernels)
    if each == [0]:
        return []
    columns = []
    for option, text in (
        ("--receptive-field", receptive_field),
        ("--depth", depth),
        ("--stride", stride),
        ("--padding", padding),
        ("--pooling", pooling),
        ("--channels-read", channels_read),
    ):
        numbers = _numbers(option, text)
        if len(numbers) not in (1, len(each)):
            raise ArgumentError(
                option,
                expected=f"one number, or one for each of {len(each)} convolutions",
                got=text,
            )
        columns.append(numbers if len(numbers) == len(each) else numbers * len(each))
    return [ConvolutionBlock(*row) for row in zip(each, *columns, strict=True)]


def _numbers(option: str, text: str) -> list[int]:
    from ordinate.errors import ArgumentError

    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise ArgumentError(option, expected="integers, as 12,24", got=text) from None


def widths_of(widths: str, num_classes: int) -> list[int]:
    """The layers of `--widths`. Raises ArgumentError for no numbers, or a last one that the classes cannot share."""
    from ordinate.errors import ArgumentError

    try:
        sizes = [int(width) for width in widths.split(",")]
    except ValueError:
        raise ArgumentError("--widths", expected="numbers of gates, as 4000,4000", got=widths) from None
    if min(sizes) < 1 or sizes[-1] % num_classes:
        raise ArgumentError("--widths", expected=f"a last width that {num_classes} classes share evenly", got=widths)
    return sizes


def network_of(
    known: Digits,
    threshold: float,
    widths: str,
    blocks: Sequence[ConvolutionBlock],
    *,
    k: int = 2,
    wiring: str,
    parametrisation: str,
    mode: str,
    tau: float | None,
    seed: int,
) -> LogicNetwork:
    """A network for these digits: a threshold a pixel, convolutions and poolings if asked for, dense layers, and counts.

    Raises:
        ArgumentError: widths that are no numbers, a last one that the classes cannot share, convolutions that do not fit.
        UnknownNameError: an unknown wiring, parametrisation or mode.
    """
    import math

    import torch
    from torch import nn

    from ordinate.logic import GroupSum, LogicDense, LogicNetwork, LutDense, Thresholds
    from ordinate.logic.network.convolution_blocks import convolution_layers

    num_classes = len(known.classes)
    sizes = widths_of(widths, num_classes)
    height, width = known.size
    layers: list[nn.Module] = [Thresholds(torch.full((height * width, 1), float(threshold)))]
    features = height * width
    if blocks:
        convolutions, shape = convolution_layers(
            blocks, known.size, seed=seed * 100 + 50, parametrisation=parametrisation, mode=mode
        )
        layers += [nn.Unflatten(-1, (1, height, width)), *convolutions, nn.Flatten(-3)]
        features = math.prod(shape)
    for place, size in enumerate(sizes):
        gates: dict[str, Any] = {"wiring": wiring, "parametrisation": parametrisation, "mode": mode, "seed": seed * 100 + place}
        layers.append(LogicDense(features, size, **gates) if k == 2 else LutDense(features, size, k=k, **gates))
        features = size
    layers.append(GroupSum(num_classes, tau=max(1.0, math.sqrt(features / num_classes) / 2.8) if tau is None else tau))
    return LogicNetwork(*layers)
