"""Biases by a closed function of the distance: the two kernels of KERPLE, learned, and Sandwich's sum of cosines, fixed.

Both decay about logarithmically, which is what lets a model run past the length it was trained at. Sources: Chi et al. 2022,
arXiv 2205.09921 (KERPLE); Chi et al. 2022, arXiv 2212.10356 (Sandwich).
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, ShapeError
from ordinate.frequencies import check_base, check_rotary_dim, inverse_frequencies
from ordinate.position.bias.distance import DistanceBias, ScoreMod, pair_distance

__all__ = ["Kerple", "Sandwich"]


class Kerple(DistanceBias):
    """A learned conditionally positive definite kernel of the distance, two numbers a head.

    - "log": bias(i, j) = -r1 log(1 + r2 |i - j|), r1 > 0, r2 > 0;
    - "power": bias(i, j) = -r1 |i - j|^r2, r1 > 0, 0 < r2 < 2 (r2 = 1 is ALiBi with a learned slope).

    The constraints hold by construction, at any value of the parameters: r = softplus(raw), and r2 = 2 sigmoid(raw) for the
    power. (The authors' code clamps the parameters in place in every forward pass.) `coefficients` tells r1 and r2,
    `set_coefficients` takes those of a published checkpoint.

    Args:
        num_heads: query heads H.
        kernel: "log", the better one in the paper, or "power".

    Raises:
        ArgumentError: no heads, or an unknown kernel.

    Source: Chi et al. 2022, arXiv 2205.09921, the "log" and "power" variants.

    >>> kerple = Kerple(1)
    >>> kerple.set_coefficients(torch.tensor([2.0]), torch.tensor([1.0]))
    >>> kerple.bias(torch.tensor([3]), torch.tensor([0, 2, 3])).squeeze().tolist()
    [-2.7725887298583984, -1.3862943649291992, -0.0]
    """

    def __init__(self, num_heads: int, *, kernel: Literal["log", "power"] = "log") -> None:
        super().__init__()
        check_integer("num_heads", num_heads, minimum=1)
        if kernel not in ("log", "power"):
            raise ArgumentError("kernel", expected="'log' or 'power'", got=kernel, hint="the paper prefers 'log'")
        self.num_heads, self.kernel = num_heads, kernel
        self.raw_r1 = nn.Parameter(torch.empty(num_heads))
        self.raw_r2 = nn.Parameter(torch.empty(num_heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw r1 and r2 as the authors do: "log" r1 in (0, 2) and r2 in (0, 1), "power" r1 in (0, 1) and r2 in (0, 2)."""
        high_r1, high_r2 = (2.0, 1.0) if self.kernel == "log" else (1.0, 2.0)
        floor = 0.01  # the authors' clamp
        drawn = [torch.empty_like(self.raw_r1).uniform_(floor, high - floor) for high in (high_r1, high_r2)]
        self._store(*drawn)

    def coefficients(self) -> tuple[Tensor, Tensor]:
        """r1 and r2, each [H], float32 or wider, within the paper's constraints."""
        wide = torch.promote_types(self.raw_r1.dtype, torch.float32)
        raw_r1, raw_r2 = self.raw_r1.to(wide), self.raw_r2.to(wide)
        softplus = nn.functional.softplus
        return softplus(raw_r1), softplus(raw_r2) if self.kernel == "log" else 2 * raw_r2.sigmoid()

    def set_coefficients(self, r1: Tensor, r2: Tensor) -> None:
        """Make r1 and r2 [H] the coefficients: `bias_p` and `bias_a` of a published "log", `bias_a` and `bias_p` of a "power".

        Raises:
            ShapeError: not one number a head.
            ArgumentError: a number outside the constraints.
        """
        for name, parameter in (("r1", r1), ("r2", r2)):
            if tuple(parameter.shape) != (self.num_heads,):
                raise ShapeError(
                    name, expected=f"[{self.num_heads}], one a head", got=f"shape {tuple(parameter.shape)}", hint="flatten it"
                )
            limit = 2.0 if (self.kernel, name) == ("power", "r2") else math.inf
            if not bool(((parameter > 0) & (parameter < limit)).all()):
                raise ArgumentError(
                    name, expected=f"numbers above 0 and below {limit}", got=parameter.tolist(), hint="outside it is no kernel"
                )
        self._store(r1, r2)

    def _store(self, r1: Tensor, r2: Tensor) -> None:
        """The inverse of `coefficients`, in float64."""
        r1, r2 = r1.double(), r2.double()
        inverse_softplus = r1 + (-torch.expm1(-r1)).log(), r2 + (-torch.expm1(-r2)).log()
        with torch.no_grad():
            self.raw_r1.copy_(inverse_softplus[0])
            self.raw_r2.copy_(inverse_softplus[1] if self.kernel == "log" else (r2 / 2).logit())

    def of_distance(self, distance: Tensor) -> Tensor:
        """[H, *]: the kernel at the absolute distance."""
        r1, r2 = (r.view(-1, *(1,) * distance.ndim) for r in self.coefficients())
        away = distance.abs().to(r1.dtype)
        if self.kernel == "log":
            return -r1 * torch.log1p(r2 * away)
        apart = away > 0  # at 0 the second derivative of the power would be 0 times log 0
        return -r1 * torch.where(apart, torch.where(apart, away, 1.0) ** r2, 0.0)

    def score_mod(self, query_positions: Tensor, key_positions: Tensor) -> ScoreMod:
        """The same bias for `flex_attention`, formed from the distance of each pair: no table."""
        (r1, r2), distance_of = self.coefficients(), pair_distance(query_positions, key_positions)

        def log(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return score - r1[head] * torch.log(1 + r2[head] * distance_of(batch, query, key).abs())

        def power(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return score - r1[head] * distance_of(batch, query, key).abs().to(r1.dtype) ** r2[head]

        return log if self.kernel == "log" else power


class Sandwich(DistanceBias):
    """The product of two sinusoids, which is a sum of cosines of the distance, in place of embeddings; nothing is learned.

    bias(i, j) = 1 / c_h  sum over k < dim / 2 of cos((i - j) base^(-2 k / dim)), with c_h = 8 h / H, h = 1..H.

    The largest value, dim / (2 c_h) at distance 0, is the number of cosines over the head's compression.

    Args:
        num_heads: query heads H.
        dim: the width of the sinusoids, even; the paper's hyperparameter d-bar. It need not be the model's width.
        base: of the frequency schedule, above 1.

    Raises:
        ArgumentError: no heads, an odd or non-positive dim, a base of 1 or less.

    Source: Chi et al. 2022, arXiv 2212.10356, section 5 and the listing in the appendix.

    >>> Sandwich(8, dim=4).bias(torch.tensor([0]), torch.tensor([0]))[:2].flatten().tolist()
    [2.0, 1.0]
    """

    def __init__(self, num_heads: int, *, dim: int = 128, base: float = 10000.0) -> None:
        super().__init__()
        check_integer("num_heads", num_heads, minimum=1)
        check_rotary_dim("dim", dim)
        check_base(base)
        self.num_heads, self.dim, self.base = num_heads, dim, base
        self._frequencies = inverse_frequencies(dim, base)

    def of_distance(self, distance: Tensor) -> Tensor:
        """[H, *], float32: summed in float64 one cosine after the other, so that memory is that of the result."""
        away, total = distance.to(torch.float64), torch.zeros_like(distance, dtype=torch.float64)
        for frequency in self._frequencies:
            total = total + (away * frequency).cos()
        compression = torch.arange(1, self.num_heads + 1, dtype=torch.float64, device=distance.device) * 8 / self.num_heads
        return (total / compression.view(-1, *(1,) * distance.ndim)).to(torch.float32)

    def score_mod(self, query_positions: Tensor, key_positions: Tensor) -> ScoreMod:
        """The same bias for `flex_attention`: a table of one number for each distance that occurs, linear in the tokens.

        Looks at the positions to learn the farthest distance, so it is called in eager mode.
        """
        distance_of = pair_distance(query_positions, key_positions)
        ends = [query_positions.max() - key_positions.min(), key_positions.max() - query_positions.min()]
        table = self.of_distance(torch.arange(max(int(end) for end in ends) + 1, device=query_positions.device)).contiguous()
        return lambda score, batch, head, query, key: score + table[head, distance_of(batch, query, key).abs()]
