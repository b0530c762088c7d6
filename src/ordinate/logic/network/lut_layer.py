"""Layers of look-up tables with 2 to 6 inputs, trained as gates are: every row of a table is the probability of a 1 there.

On inputs x in [0, 1] a table with rows p is the only function that is linear in every input and has the rows as its corners,

    z(x) = sum over rows r of p[r] * product over inputs j of (x[j] if bit j of r else 1 - x[j]),

the expectation of the table on independent bits. `light` learns a logit a row (Rüttgers et al. 2025, arXiv 2510.03250, for
gates; torchlogix does so for tables), `walsh` the same rows in the Walsh-Hadamard basis, `raw` a logit for each of the sixteen
gates of two inputs: four inputs have 2^16 functions and six 2^64, so it is refused for more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ordinate.arguments import check_choice, check_integer, check_number
from ordinate.errors import RefusedError
from ordinate.logic.network.layers import check_signals
from ordinate.logic.network.parametrisation import INITIALISATIONS, MODES
from ordinate.logic.network.wiring import LearnedWiring, given_wiring, random_reads

__all__ = ["LutDense"]


class LutDense(nn.Module):
    """Tables of k signals each; in evaluation they are discrete, so that bits in give bits out.

    Args:
        in_features: signals to read from.
        out_features: tables.
        k: inputs of a table, 2 to 6.
        wiring: "random", "learned", or an int64 tensor [k, out_features].
        candidates: of a learned wiring, signals that each input chooses among.
        parametrisation: "light" (2^k logits), "walsh" (2^k, in the Walsh basis) or, for k = 2, "raw" (16 logits).
        mode: "soft", "hard" (the discrete table forward, the slope of the relaxed one backward), or with Gumbel noise on the
            logits "gumbel_soft" and "gumbel_hard".
        initialisation: "residual" (each table starts by passing its first input on) or "random".
        certainty: of residual rows, above 0.5 and below 1.
        temperature: divides the logits.
        seed: of wiring and parameters.

    Raises:
        ArgumentError: sizes, k, certainty or temperature out of range; fewer signals than inputs; a wiring of another shape.
        UnknownNameError: an unknown name.
        RefusedError: "raw" for more than two inputs.

    >>> layer = LutDense(12, 5, k=4).eval()
    >>> x = torch.tensor([1.0, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0])
    >>> torch.equal(layer(x), x[layer.wiring[0]])  # residual
    True
    """

    fixed_wiring: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        k: int = 4,
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
        self.in_features = check_integer("in_features", in_features, minimum=2)
        self.out_features = check_integer("out_features", out_features, minimum=1)
        self.k = check_integer("k", k, minimum=2, maximum=6)
        check_choice("mode", mode, MODES)
        check_choice("initialisation", initialisation, INITIALISATIONS)
        check_choice("parametrisation", parametrisation, ("light", "walsh", "raw"))
        check_number("certainty", certainty, above=0.5, below=1)
        self.temperature = check_number("temperature", temperature, above=0)
        if parametrisation == "raw" and k > 2:
            raise RefusedError(
                "parametrisation",
                expected="'light' or 'walsh' for more than two inputs",
                got=f"'raw', a logit for each of 2^{2**k} functions",
            )
        self.parametrisation, self.mode = parametrisation, mode
        self.learned_wiring: LearnedWiring | None = None
        if isinstance(wiring, Tensor):
            self.register_buffer("fixed_wiring", given_wiring(wiring, in_features, out_features, inputs=k))
        elif check_choice("wiring", wiring, ("random", "learned")) == "learned":
            self.learned_wiring = LearnedWiring(
                in_features, out_features, inputs=k, candidates=candidates, hard=mode.endswith("hard"), seed=seed
            )
        else:
            self.register_buffer("fixed_wiring", random_reads(in_features, out_features, k, seed))
        self._settings = {
            "in_features": in_features,
            "out_features": out_features,
            "k": k,
            "wiring": wiring if isinstance(wiring, str) else "given",
            "candidates": candidates,
            "parametrisation": parametrisation,
            "mode": mode,
            "initialisation": initialisation,
            "certainty": certainty,
            "temperature": temperature,
            "seed": seed,
        }
        rows = torch.arange(1 << k)
        noise = torch.randn(
            out_features, 16 if parametrisation == "raw" else 1 << k, generator=torch.Generator().manual_seed(seed)
        )
        if initialisation == "random":
            self.weight = nn.Parameter(noise)
            return
        logit = float(np.log(certainty / (1 - certainty)))
        if parametrisation == "raw":
            centre = torch.zeros(16)
            centre[_RAW_FIRST] = float(np.log(certainty * 15 / (1 - certainty)))
        else:
            centre = (2.0 * (rows & 1) - 1) * logit
            if parametrisation == "walsh":
                centre = centre @ _hadamard(k) / (1 << k)
        self.weight = nn.Parameter(centre + 0.1 * noise)

    @property
    def wiring(self) -> Tensor:
        """The discrete wiring, int64 [k, out_features]; input j is bit j of the row."""
        return self.fixed_wiring if self.learned_wiring is None else self.learned_wiring.wiring()

    def settings(self) -> dict[str, Any]:
        """What makes a layer of the same shape again; wiring and parameters are in the state dict."""
        return dict(self._settings)

    def rows(self) -> Tensor:
        """The discrete tables, bool [out_features, 2^k]; row r has bit j of r as input j."""
        weight = self.weight.detach()
        if self.parametrisation == "raw":
            return (weight.argmax(-1, keepdim=True) >> torch.arange(4) & 1).bool()
        return self._logits(weight) > 0

    def tables(self) -> list[int]:
        """The discrete tables as numbers: bit r is row r."""
        return [sum(1 << place for place, bit in enumerate(row) if bit) for row in self.rows().tolist()]

    def _logits(self, weight: Tensor) -> Tensor:
        return weight @ _hadamard(self.k).to(weight) if self.parametrisation == "walsh" else weight

    def _learned_rows(self) -> Tensor:
        """The rows that training sees [out_features, 2^k]."""
        raw = self.parametrisation == "raw"
        logits = self.weight if raw else self._logits(self.weight)
        if self.mode.startswith("gumbel"):
            uniform = torch.rand_like(logits).clamp(1e-7, 1 - 1e-7)
            logits = logits + (-(-uniform.log()).log() if raw else uniform.logit())
        scaled = logits / self.temperature
        gates = (torch.arange(16).unsqueeze(1) >> torch.arange(4) & 1).to(logits)
        soft = torch.softmax(scaled, -1) @ gates if raw else torch.sigmoid(scaled)
        if not self.mode.endswith("hard"):
            return soft
        hard = gates[logits.argmax(-1)] if raw else (logits > 0).to(soft)
        return hard + (soft - soft.detach())

    def forward(self, x: Tensor) -> Tensor:
        """Signals (..., in_features) to (..., out_features). Raises ShapeError, ArgumentTypeError."""
        check_signals(x, self.in_features)
        signals = x.reshape(-1, self.in_features)
        if self.learned_wiring is not None and self.training:
            read = self.learned_wiring.mixed(signals.T.contiguous()).reshape(self.k, self.out_features, -1).movedim(-1, 1)
        else:
            read = signals[:, self.wiring].movedim(1, 0)  # [k, B, out]
        values = (self._learned_rows() if self.training else self.rows()).to(x.dtype)
        mixed = values.unsqueeze(0)  # [1 or B, out, rows]
        for place in range(self.k):  # the lowest bit first: rows of one bit less are left each time
            low, high = mixed[..., 0::2], mixed[..., 1::2]
            mixed = low + read[place].unsqueeze(-1) * (high - low)
        return mixed.squeeze(-1).reshape(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        """Sizes and the settings that differ from layer to layer."""
        return f"{self.in_features}, {self.out_features}, k={self.k}, wiring={self._settings['wiring']!r}, mode={self.mode!r}"


_RAW_FIRST = 0b1010
"""The table of two inputs that passes the first on, whose row number has that as its lowest bit."""


def _hadamard(k: int) -> Tensor:
    """[2^k, 2^k]: entry (r, s) is -1 to the number of bits that r and s share."""
    rows = torch.arange(1 << k)
    shared = sum(((rows[:, None] & rows) >> place & 1 for place in range(k)), torch.zeros(1, dtype=torch.int64))
    return (1 - 2 * (shared % 2)).float()
