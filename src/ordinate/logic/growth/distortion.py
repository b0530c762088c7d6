"""More training images from those there are: small rotations, scalings, shears, shifts and bendings of each.

A circuit of some hundred gates already learns sixty thousand images by heart; images that differ a little from them keep it
from doing so (Simard, Steinkraus and Platt 2003, "Best practices for convolutional neural networks", ICDAR). Only training
images are ever distorted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from ordinate.errors import ArgumentError

__all__ = ["distorted"]

_ROTATION, _SCALE, _SHEAR, _SHIFT, _BENDING = 0.2, 0.12, 0.2, 0.107, 0.043
"""Largest angle (radians), scaling, shear; shift and spread of the bending in halves of the image's side."""
_AT_ONCE = 4096


def distorted(images: npt.NDArray[np.uint8], seed: int, strength: float = 1.0) -> npt.NDArray[np.uint8]:
    """One distorted copy of each image.

    Args:
        images: uint8 [N, height, width].
        seed: of all that is drawn.
        strength: 1 suits digits: up to 0.2 radians, 12 % of size, 1.5 pixels of 28, and bending by about half a pixel.

    Returns:
        uint8, of the same shape.

    Raises:
        ArgumentError: not three axes, or a strength out of [0, 3].

    >>> image = np.zeros((1, 9, 9), dtype=np.uint8)
    >>> image[0, 2:7, 4] = 255
    >>> bool((distorted(image, seed=0, strength=0.0) == image).all()), bool((distorted(image, seed=0) == image).all())
    (True, False)
    """
    if images.ndim != 3:
        raise ArgumentError("images", expected="[N, height, width]", got=images.shape, hint="give images, not rows of pixels")
    if not 0 <= strength <= 3:
        raise ArgumentError("strength", expected="0 to 3", got=strength)
    generator = torch.Generator().manual_seed(seed)
    out = np.empty_like(images)
    for start in range(0, len(images), _AT_ONCE):
        part = torch.from_numpy(images[start : start + _AT_ONCE].astype(np.float32)).unsqueeze(1)
        grid = _places(part, generator, strength)
        drawn = F.grid_sample(part, grid, align_corners=False).squeeze(1)
        out[start : start + _AT_ONCE] = drawn.round().clamp(0, 255).to(torch.uint8).numpy()
    return out


def _places(part: torch.Tensor, generator: torch.Generator, strength: float) -> torch.Tensor:
    """Where each pixel of the copy looks in the original, [N, height, width, 2]."""
    count = len(part)

    def within(largest: float) -> torch.Tensor:
        return (2 * torch.rand(count, generator=generator) - 1) * largest * strength

    angle, wide, high, shear = within(_ROTATION), 1 + within(_SCALE), 1 + within(_SCALE), within(_SHEAR)
    across, down = within(_SHIFT), within(_SHIFT)
    cos, sin = angle.cos(), angle.sin()
    rows = (torch.stack((cos * wide, (shear - sin) * high, across), 1), torch.stack((sin * wide, cos * high, down), 1))
    grid = F.affine_grid(torch.stack(rows, 1), list(part.shape), align_corners=False)
    bending = torch.randn(count, 2, 7, 7, generator=generator) * _BENDING * strength
    smooth = F.interpolate(bending, part.shape[-2:], mode="bicubic", align_corners=False)
    return grid + smooth.permute(0, 2, 3, 1)
