"""What the dense and the convolutional layer share: a bank of learned gates with its parametrisation, mode and temperature."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentError
from ordinate.logic.parametrisation import (
    WALSH,
    check_names,
    coefficients_of,
    initial_parameters,
    learned_coefficients,
    tables_of,
)

__all__ = ["GateBank"]


class GateBank(nn.Module):
    """Learned gates of any shape.

    Args:
        shape: of the gates, such as (out_features,).
        parametrisation: "raw", "light" or "walsh".
        mode: "soft", "hard", "gumbel_soft" or "gumbel_hard", what training sees.
        initialisation: "residual" or "random".
        certainty: of residual gates.
        temperature: of the mixture.
        seed: of the initial parameters.

    Raises:
        UnknownNameError: an unknown name.
        ArgumentError: a certainty or a temperature out of range.

    >>> GateBank((5,), seed=1).tables().tolist()
    [12, 12, 12, 12, 12]
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        *,
        parametrisation: str = "light",
        mode: str = "soft",
        initialisation: str = "residual",
        certainty: float = 0.9,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        check_names(parametrisation, mode, initialisation)
        if not temperature > 0:
            raise ArgumentError("temperature", expected="above 0", got=temperature, hint="1.0 is usual")
        self.parametrisation, self.mode, self.temperature = parametrisation, mode, temperature
        self.settings: dict[str, Any] = {
            "parametrisation": parametrisation,
            "mode": mode,
            "initialisation": initialisation,
            "certainty": certainty,
            "temperature": temperature,
            "seed": seed,
        }
        self.weight = nn.Parameter(initial_parameters(parametrisation, shape, initialisation, certainty, seed))

    def tables(self) -> Tensor:
        """The discrete gates as truth tables, int64 of the bank's shape."""
        return tables_of(self.weight.detach(), self.parametrisation)

    @torch.no_grad()
    def set_tables(self, tables: Tensor, certainty: float = 0.9) -> None:
        """Make every gate the given one, with the probability `certainty` of each corner (for raw: of the gate)."""
        logit = float(torch.tensor(certainty).logit())
        if self.parametrisation == "raw":
            self.weight.zero_().scatter_(-1, tables.unsqueeze(-1), logit + float(torch.tensor(15.0).log()))
            return
        bits = tables.unsqueeze(-1) >> torch.arange(4) & 1
        corners = (2 * bits - 1).to(self.weight) * logit
        if self.parametrisation == "walsh":
            corners = corners @ torch.from_numpy(WALSH).to(corners) / 4
        self.weight.copy_(corners)

    def coefficients(self) -> Tensor:
        """Coefficients [..., 4]: of the mixture in training, of the discrete gates in evaluation."""
        if not self.training:
            return coefficients_of(self.tables(), self.weight.dtype)
        return learned_coefficients(self.weight, self.parametrisation, self.mode, self.temperature)
