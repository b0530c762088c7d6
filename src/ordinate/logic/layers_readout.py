"""`GroupSum`: from gates to scores of classes, by counting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentError, ShapeError

__all__ = ["GroupSum"]


class GroupSum(nn.Module):
    """Scores of classes: each class counts an equal share of the signals, score = count / tau + beta.

    Args:
        num_classes: classes; the signals of class k are those from k n / num_classes on.
        tau: temperature of the counts; large counts need a large one, or the softmax saturates.
        beta: added to each score, one number or one a class.

    Raises:
        ArgumentError: no class, a tau that is not positive, betas of another number.

    Source: Petersen et al. 2022, arXiv 2210.08277, section 3.2.

    >>> GroupSum(2, tau=2.0, beta=0.5)(torch.tensor([1.0, 1.0, 0.0, 1.0]))
    tensor([1.5000, 1.0000])
    """

    beta: Tensor

    def __init__(self, num_classes: int, tau: float = 1.0, beta: float | Sequence[float] = 0.0) -> None:
        super().__init__()
        if not isinstance(num_classes, int) or isinstance(num_classes, bool) or num_classes < 1:
            raise ArgumentError("num_classes", expected="a positive integer", got=num_classes, hint="one a class")
        if not (tau > 0 and math.isfinite(tau)):
            raise ArgumentError("tau", expected="a finite number above 0", got=tau, hint="1.0 leaves counts as they are")
        betas = torch.tensor(beta, dtype=torch.float64)
        if betas.ndim > 1 or (betas.ndim == 1 and len(betas) != num_classes) or not torch.isfinite(betas).all():
            raise ArgumentError(
                "beta", expected=f"a finite number, or {num_classes} of them", got=beta, hint="give one a class"
            )
        self.num_classes, self.tau = num_classes, float(tau)
        self.register_buffer("beta", betas.float().expand(num_classes).clone())

    def settings(self) -> dict[str, Any]:
        """What makes the layer again."""
        return {"num_classes": self.num_classes, "tau": self.tau, "beta": self.beta.tolist()}

    def forward(self, x: Tensor) -> Tensor:
        """Signals (..., F) to scores (..., num_classes).

        Raises:
            ShapeError: a number of signals that the classes cannot share evenly.
        """
        if x.ndim == 0 or x.shape[-1] % self.num_classes or not x.shape[-1]:
            raise ShapeError(
                "x",
                expected=f"shape (..., F) with F a multiple of {self.num_classes} classes",
                got=tuple(x.shape),
                hint="make the last layer's out_features a multiple of the number of classes",
            )
        counts = x.reshape(*x.shape[:-1], self.num_classes, -1).sum(-1)
        return counts / self.tau + self.beta.to(x.dtype)

    def extra_repr(self) -> str:
        """Classes and temperature."""
        return f"{self.num_classes}, tau={self.tau:g}"
