"""From numbers to bits: each feature is held against one or more thresholds, fixed or learned (a thermometer code)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentError, ShapeError

__all__ = ["Thresholds"]


class Thresholds(nn.Module):
    """Bits x > t: feature f held against its thresholds, feature by feature.

    Args:
        values: thresholds [F, T]; feature f gives the bits f T to f T + T - 1.
        learned: train the thresholds: forward the bit, backward the slope of sigmoid((x - t) / temperature).
        temperature: of that slope, in units of the features.

    Raises:
        ArgumentError: thresholds that are not [F, T] or not finite, a temperature that is not positive.

    >>> Thresholds(torch.tensor([[0.2, 0.8], [0.5, 0.5]]))(torch.tensor([0.5, 0.9]))
    tensor([1., 0., 1., 1.])
    """

    values: Tensor

    def __init__(self, values: Tensor, *, learned: bool = False, temperature: float = 0.1) -> None:
        super().__init__()
        values = torch.as_tensor(values, dtype=torch.float32)
        if values.ndim != 2 or not values.numel() or not torch.isfinite(values).all():
            raise ArgumentError(
                "values", expected="finite thresholds [features, thresholds]", got=tuple(values.shape), hint="one row a feature"
            )
        if not temperature > 0:
            raise ArgumentError("temperature", expected="above 0", got=temperature, hint="about the spread of a feature / 10")
        self.learned, self.temperature = learned, temperature
        if learned:
            self.values = nn.Parameter(values.clone())
        else:
            self.register_buffer("values", values.clone())

    @classmethod
    def quantiles(cls, data: Tensor, count: int, *, learned: bool = False, temperature: float = 0.1) -> Thresholds:
        """Thresholds at evenly spaced quantiles of each feature of `data` [N, F], which must be training data only.

        >>> Thresholds.quantiles(torch.arange(5.0).unsqueeze(1), 3).values
        tensor([[1., 2., 3.]])
        """
        if data.ndim != 2 or not len(data):
            raise ArgumentError("data", expected="rows of features [N, F]", got=tuple(data.shape), hint="pass training data")
        if count < 1:
            raise ArgumentError("count", expected="at least 1", got=count, hint="ask for one threshold or more")
        levels = torch.linspace(0, 1, count + 2, dtype=torch.float32)[1:-1]
        return cls(torch.quantile(data.float(), levels, dim=0).T, learned=learned, temperature=temperature)

    @classmethod
    def uniform(
        cls, features: int, count: int, *, low: float = 0.0, high: float = 1.0, learned: bool = False, temperature: float = 0.1
    ) -> Thresholds:
        """The same evenly spaced thresholds between `low` and `high` for every feature.

        >>> Thresholds.uniform(2, 1).values
        tensor([[0.5000],
                [0.5000]])
        """
        levels = torch.linspace(low, high, count + 2)[1:-1]
        return cls(levels.expand(features, -1), learned=learned, temperature=temperature)

    @property
    def in_features(self) -> int:
        """Features."""
        return int(self.values.shape[0])

    @property
    def out_features(self) -> int:
        """Bits."""
        return int(self.values.numel())

    def settings(self) -> dict[str, Any]:
        """What makes a layer of the same shape again."""
        return {"values": list(self.values.shape), "learned": self.learned, "temperature": self.temperature}

    def forward(self, x: Tensor) -> Tensor:
        """Features (..., F) to bits (..., F T), as floats.

        Raises:
            ShapeError: another number of features.
        """
        if x.ndim == 0 or x.shape[-1] != self.in_features:
            raise ShapeError("x", expected=f"shape (..., {self.in_features})", got=tuple(x.shape), hint="one column a feature")
        distance = x.unsqueeze(-1).to(self.values.dtype) - self.values
        bits = (distance > 0).to(self.values.dtype)
        if self.learned and self.training:
            slope = torch.sigmoid(distance / self.temperature)
            bits = bits + (slope - slope.detach())
        return bits.flatten(-2)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"{self.in_features} features, {self.values.shape[1]} thresholds, learned={self.learned}"
