"""`LogicDense`: a layer of two-input gates, each reading two signals of the layer below."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentTypeError, ShapeError
from ordinate.logic.gate_bank import GateBank
from ordinate.logic.gate_function import relaxed_gates, signals_of
from ordinate.logic.learned_wiring import LearnedWiring
from ordinate.logic.wiring import make_wiring

__all__ = ["LogicDense", "check_signals"]


def check_signals(x: Tensor, features: int) -> None:
    """Refuse what is no floating tensor (..., features)."""
    if not isinstance(x, Tensor) or not x.is_floating_point():
        raise ArgumentTypeError(
            "x",
            expected="a floating tensor with values from 0 to 1",
            got=str(x.dtype) if isinstance(x, Tensor) else type(x).__name__,
            hint="pass bits as x.float()",
        )
    if x.ndim == 0 or x.shape[-1] != features:
        raise ShapeError("x", expected=f"shape (..., {features})", got=tuple(x.shape), hint="the layer was made for this width")


class LogicDense(nn.Module):
    """Gates z = a0 + a1 x + a2 y + a3 x y on two signals each; the coefficients are learned, the wiring is fixed or learned.

    In training the coefficients are those of the mode; in evaluation every gate is discrete, so that bits in give bits out.
    Inputs and outputs are (..., features). Where no compiled loops run (the extra `fast`, float32, a CPU), signals lie by rows
    inside, and the transposed view that a layer returns is what the next one reads without a copy.

    Args:
        in_features: signals to read from.
        out_features: gates.
        wiring: "random", "unique", "tree", "learned", or an int64 tensor [2, out_features].
        candidates: of a learned wiring, signals that each input chooses among.
        parametrisation: "raw" (16 logits), "light" (4 corners) or "walsh" (4 corners in the Walsh basis).
        mode: "soft", "hard", "gumbel_soft" or "gumbel_hard".
        initialisation: "residual" (each gate starts as its first input) or "random".
        certainty: of residual gates, above 0.5 and below 1.
        temperature: divides the logits of the gates.
        seed: of the wiring and of the initial parameters.

    Raises:
        ArgumentError: sizes, certainty or temperature out of range, a wiring of another shape.
        UnknownNameError: an unknown name.

    Source: Petersen et al. 2022, arXiv 2210.08277.

    >>> layer = LogicDense(4, 2, wiring="tree").eval()
    >>> layer(torch.tensor([1.0, 0.0, 0.0, 1.0]))  # residual gates pass their first input on
    tensor([1., 0.])
    """

    fixed_wiring: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        wiring: str | Tensor = "random",
        candidates: int = 8,
        parametrisation: str = "light",
        mode: str = "soft",
        initialisation: str = "residual",
        certainty: float = 0.9,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.learned_wiring: LearnedWiring | None = None
        if isinstance(wiring, str) and wiring == "learned":
            self.learned_wiring = LearnedWiring(
                in_features, out_features, candidates=candidates, hard=mode.endswith("hard"), seed=seed
            )
        else:
            self.register_buffer("fixed_wiring", make_wiring(wiring, in_features, out_features, seed))
        self.gates = GateBank(
            (out_features,),
            parametrisation=parametrisation,
            mode=mode,
            initialisation=initialisation,
            certainty=certainty,
            temperature=temperature,
            seed=seed,
        )
        self._wiring_name = wiring if isinstance(wiring, str) else "given"
        self._candidates = candidates

    @property
    def wiring(self) -> Tensor:
        """The discrete wiring, int64 [2, out_features]."""
        return self.fixed_wiring if self.learned_wiring is None else self.learned_wiring.wiring()

    def tables(self) -> Tensor:
        """The discrete gates, int64 [out_features] of truth tables."""
        return self.gates.tables()

    def settings(self) -> dict[str, Any]:
        """What makes a layer of the same shape again; wiring and parameters are in the state dict."""
        return {
            "in_features": self.in_features,
            "out_features": self.out_features,
            "wiring": self._wiring_name,
            "candidates": self._candidates,
            **self.gates.settings,
        }

    def forward(self, x: Tensor) -> Tensor:
        """Signals (..., in_features) to (..., out_features). Raises ShapeError, ArgumentTypeError."""
        check_signals(x, self.in_features)
        signals = signals_of(x.reshape(-1, self.in_features))
        coefficients = self.gates.coefficients().to(x.dtype)
        if self.learned_wiring is not None and self.training:
            signals = self.learned_wiring.mixed(signals)
            wiring = torch.arange(2 * self.out_features, device=x.device).reshape(2, -1)
        else:
            wiring = self.wiring
        return relaxed_gates(signals, coefficients, wiring).T.reshape(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        """Sizes and the settings that differ from layer to layer."""
        return f"{self.in_features}, {self.out_features}, wiring={self._wiring_name!r}, mode={self.gates.mode!r}"
