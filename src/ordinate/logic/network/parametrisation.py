"""What is learned about a gate, and how it becomes the four coefficients of its relaxed form.

- `raw`: sixteen logits, the gate is their softmax mixture (Petersen et al. 2022, arXiv 2210.08277, equation 3).
- `light`: four logits, one for each corner of the truth table, each the probability of a 1 there (the input-wise
  parametrisation of Rüttgers et al. 2025, "Light Differentiable Logic Gate Networks", arXiv 2510.03250).
- `walsh`: the same four corners, in the Walsh-Hadamard basis: a constant, each input, and their parity.

A mode says what training sees. `soft`: the mixture. `hard`: the discrete gate forward, the gradient of the mixture backward
(straight through). `gumbel_soft` and `gumbel_hard`: the same with noise on the logits, so that gates are sampled (Jang et al.
2017, arXiv 1611.01144). In evaluation a gate is always discrete.

`GateBank` is what the dense and the convolutional layer share: learned gates with their parametrisation, mode and temperature.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ordinate.arguments import check_choice, check_number
from ordinate.logic.circuit.gates import COEFFICIENTS, CORNERS_TO_COEFFICIENTS

__all__ = [
    "INITIALISATIONS",
    "MODES",
    "PARAMETRISATIONS",
    "GateBank",
    "initial_parameters",
    "learned_coefficients",
    "tables_of",
]

PARAMETRISATIONS: dict[str, int] = {"raw": 16, "light": 4, "walsh": 4}
"""Parametrisations, each with its numbers a gate."""

MODES = ("soft", "hard", "gumbel_soft", "gumbel_hard")
INITIALISATIONS = ("residual", "random")

_FIRST_INPUT = 12
"""Truth table of "a": residual gates start by passing their first input on."""
WALSH = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]], dtype=np.float32)
"""[4, 4], symmetric: corner values from the amounts of constant, second input, first input, parity."""


def check_names(parametrisation: str, mode: str, initialisation: str) -> None:
    """Refuse unknown names.

    Raises:
        UnknownNameError: a name that is in none of the three tables.
    """
    for argument, value, known in (
        ("parametrisation", parametrisation, tuple(PARAMETRISATIONS)),
        ("mode", mode, MODES),
        ("initialisation", initialisation, INITIALISATIONS),
    ):
        check_choice(argument, value, known)


def initial_parameters(
    parametrisation: str, shape: tuple[int, ...], initialisation: str, certainty: float, seed: int
) -> Tensor:
    """Parameters of new gates, [*shape, 16 or 4].

    Args:
        parametrisation: one of `PARAMETRISATIONS`.
        shape: of the gates.
        initialisation: "residual" starts each gate as "a" with probability `certainty` (Petersen et al. 2024, arXiv
            2411.04732, section 3.3), plus a little noise; "random" draws every number from a standard normal.
        certainty: of the residual gate, above 0.5 and below 1: for raw the softmax weight of "a", for the others the
            probability that each corner is right.
        seed: of the draw.

    Raises:
        ArgumentError: a certainty out of its range.

    >>> tables_of(initial_parameters("light", (3,), "residual", 0.9, seed=0), "light").tolist()
    [12, 12, 12]
    """
    check_number("certainty", certainty, above=0.5, below=1)
    numbers = PARAMETRISATIONS[parametrisation]
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(*shape, numbers, generator=generator)
    if initialisation == "random":
        return noise
    if parametrisation == "raw":
        centre = torch.zeros(16)
        centre[_FIRST_INPUT] = float(np.log(certainty * 15 / (1 - certainty)))
    else:
        logit = float(np.log(certainty / (1 - certainty)))
        corners = torch.tensor([logit if _FIRST_INPUT >> corner & 1 else -logit for corner in range(4)])
        centre = corners if parametrisation == "light" else torch.from_numpy(WALSH) @ corners / 4
    return centre + 0.1 * noise


def _corner_logits(parameters: Tensor, parametrisation: str) -> Tensor:
    if parametrisation == "light":
        return parameters
    return parameters @ torch.from_numpy(WALSH).to(parameters)


def tables_of(parameters: Tensor, parametrisation: str) -> Tensor:
    """The discrete gate of each set of parameters, as truth tables.

    Args:
        parameters: [..., 16 or 4].
        parametrisation: one of `PARAMETRISATIONS`.

    Returns:
        int64 [...], 0 to 15: for raw the largest logit, else each corner by its sign.

    >>> tables_of(torch.tensor([[-1.0, 2.0, 2.0, -3.0]]), "light").tolist()
    [6]
    """
    if parametrisation == "raw":
        return parameters.argmax(-1)
    bits = (_corner_logits(parameters, parametrisation) > 0).to(torch.int64)
    return (bits << torch.arange(4, device=bits.device)).sum(-1)


def coefficients_of(tables: Tensor, dtype: torch.dtype) -> Tensor:
    """Coefficients [..., 4] of discrete gates."""
    return torch.from_numpy(COEFFICIENTS).to(device=tables.device, dtype=dtype)[tables]


def learned_coefficients(
    parameters: Tensor, parametrisation: str, mode: str, temperature: float, generator: torch.Generator | None = None
) -> Tensor:
    """The coefficients [..., 4] that training sees: a0 + a1 x + a2 y + a3 x y.

    Args:
        parameters: [..., 16 or 4].
        parametrisation: one of `PARAMETRISATIONS`.
        mode: one of `MODES`.
        temperature: divides the logits; low is near discrete.
        generator: of the Gumbel noise.

    >>> parameters = torch.tensor([[30.0, -30.0, -30.0, -30.0]])
    >>> learned_coefficients(parameters, "light", "soft", 1.0)
    tensor([[ 1., -1., -1.,  1.]])
    """
    logits = parameters if parametrisation == "raw" else _corner_logits(parameters, parametrisation)
    if mode.startswith("gumbel"):
        # the difference of two Gumbel draws is logistic: one draw a corner serves the two-way choice there
        uniform = torch.rand(logits.shape, generator=generator, dtype=logits.dtype, device=logits.device).clamp(1e-7, 1 - 1e-7)
        logits = logits + (-(-uniform.log()).log() if parametrisation == "raw" else uniform.logit())
    scaled = logits if temperature == 1.0 else logits / temperature
    if parametrisation == "raw":
        soft = torch.softmax(scaled, -1) @ torch.from_numpy(COEFFICIENTS).to(logits)
    else:
        soft = torch.sigmoid(scaled) @ torch.from_numpy(CORNERS_TO_COEFFICIENTS.T.copy()).to(logits)
    if not mode.endswith("hard"):
        return soft
    tables = tables_of(logits.detach(), "raw" if parametrisation == "raw" else "light")
    return coefficients_of(tables, soft.dtype) + (soft - soft.detach())


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
        check_number("temperature", temperature, above=0)
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
