"""Temperatures that depend on the position: queries far into a row are scaled up, so that attention over many keys stays sharp.

They act on queries alone, so they have the methods of `RotatesQueriesAndKeys` and stand beside a rotation in `attend`:
`encoding=[Rotary(...), SteppedTemperature(...)]`. Length is 1-based here: a query at position p sees at most p + 1 keys.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ordinate.errors import ArgumentError
from ordinate.frequencies.scaling import check_context, check_positive
from ordinate.position.base import QueryKeyEncoding
from ordinate.position.indices import check_positions
from ordinate.position.rotary.rotation import working_dtype
from ordinate.shapes import check_shape

__all__ = ["LogTemperature", "SteppedTemperature"]


class _Temperature(QueryKeyEncoding):
    """Queries times a factor of their position; keys as they are. The factor is formed in float64."""

    def factors(self, positions: Tensor) -> Tensor:
        raise NotImplementedError

    def rotate_query(self, query: Tensor, positions: Tensor) -> Tensor:
        """query [B, H, T, D] times the factor of its position [T] or [B, T]; worked in float32 or wider, dtype kept."""
        check_shape("query", query, "B H T D")
        check_positions("positions", positions, length=query.shape[2], batch=query.shape[0])
        wide = working_dtype(query)
        factors = self.factors(positions).to(wide).unsqueeze(-1)
        if positions.ndim == 2:
            factors = factors.unsqueeze(1)
        return (query.to(wide) * factors).to(query.dtype)

    def rotate_key(self, key: Tensor, positions: Tensor) -> Tensor:
        """key [B, G, S, D] as it is."""
        return key


class SteppedTemperature(_Temperature):
    """Queries grow by the logarithm of the number of whole steps behind them: 1 + strength * ln(1 + floor((p + ahead) / step)).

    Args:
        step_tokens: positions of one step, up to which nothing changes (floor_scale 8192 in Llama 4, the original context in
            Ministral 3).
        strength: factor on the logarithm (attn_scale 0.1 in Llama 4, llama_4_scaling_beta in Ministral 3).
        ahead: what is added to the position first: 1 in Llama 4, 0 in Ministral 3.

    Raises:
        ArgumentError: a step below 1, a strength that is not positive, an `ahead` other than 0 and 1.

    Source: Meta 2025, `models/llama4/model.py` of llama-models (attn_temperature_tuning), after Nakanishi 2025,
    arXiv 2501.19399; Mistral AI 2025, Ministral 3.

    >>> SteppedTemperature(8192, 0.1).factors(torch.tensor([0, 8190, 8191, 24575]))
    tensor([1.0000, 1.0000, 1.0693, 1.1386], dtype=torch.float64)
    """

    def __init__(self, step_tokens: int, strength: float, *, ahead: int = 1) -> None:
        super().__init__()
        check_context("step_tokens", step_tokens)
        check_positive("strength", strength)
        if ahead not in (0, 1) or isinstance(ahead, bool):
            raise ArgumentError("ahead", expected="0 or 1", got=ahead, hint="Llama 4 counts from 1, Ministral 3 from 0")
        self._step_tokens, self._strength, self._ahead = step_tokens, strength, ahead

    step_tokens = property(lambda self: self._step_tokens, doc="Positions of one step.")
    strength = property(lambda self: self._strength, doc="Factor on the logarithm.")
    ahead = property(lambda self: self._ahead, doc="What is added to the position first.")

    def factors(self, positions: Tensor) -> Tensor:
        """The factor of each position, float64, shaped like `positions`. Positions below 0 have the factor 1."""
        steps = ((positions.to(torch.float64) + self.ahead) / self.step_tokens).floor().clamp_min(0)
        return 1 + self.strength * torch.log1p(steps)


class LogTemperature(_Temperature):
    """Queries grow with the logarithm of the row: ln(p + 1) / ln(trained_context), and 1 within the trained context.

    Args:
        trained_context: tokens of the rows the model was trained on, more than 1.

    Raises:
        ArgumentError: a context of 1 or less.

    Source: Su 2021 ("logn attention"); Chiang and Cholak 2022, arXiv 2202.12172, section 5.3; `use_logn_attn` of the first
    Qwen (Qwen team 2023, arXiv 2309.16609, section 2.5).

    >>> LogTemperature(2048).factors(torch.tensor([0, 2047, 4095]))
    tensor([1.0000, 1.0000, 1.0909], dtype=torch.float64)
    """

    def __init__(self, trained_context: int) -> None:
        super().__init__()
        check_context("trained_context", trained_context)
        if trained_context == 1:
            raise ArgumentError("trained_context", expected="more than 1 token", got=1, hint="its logarithm divides")
        self._trained_context = trained_context

    trained_context = property(lambda self: self._trained_context, doc="Tokens of the rows the model was trained on.")

    def factors(self, positions: Tensor) -> Tensor:
        """The factor of each position, float64, shaped like `positions`."""
        seen = (positions.to(torch.float64) + 1).clamp_min(self.trained_context)
        return seen.log() / math.log(self.trained_context)
