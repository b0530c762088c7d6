"""Frequencies of rows whose lengths stand in a tensor, for the scalings that depend on length.

`ordinate.frequencies` answers for one length, in plain numbers. A batch has a length a row, and a compiled graph has lengths
that are not known yet, so the same rules stand here on tensors; a test holds the two together.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.frequencies import DynamicNTK, LongRoPE, Scaling, SteppedNTK
from ordinate.position.base import values_at_hand

__all__ = ["row_frequencies", "row_lengths"]


def row_frequencies(scaling: Scaling, lengths: Tensor, within: Tensor, beyond: Tensor, base: float) -> Tensor:
    """Radians per position of each pair, float64 [P] for lengths [], [B, P] for lengths [B].

    Args:
        scaling: a record that depends on length.
        lengths: tokens of each row, int64 [] or [B].
        within, beyond: float64 [P], the frequencies for a row of the trained context, and of one token more.
        base: of the frequency schedule, for scalings that are not of this package.
    """
    if isinstance(scaling, LongRoPE):
        return torch.where((lengths > scaling.original_context).unsqueeze(-1), beyond, within)
    rotary_dim = 2 * within.shape[-1]
    if isinstance(scaling, DynamicNTK | SteppedNTK):
        ratio = lengths.clamp_min(scaling.original_context).to(torch.float64) / scaling.original_context
        if isinstance(scaling, DynamicNTK):
            stretch = scaling.factor * ratio - (scaling.factor - 1)
        else:
            stretch = 2 ** (torch.ceil(torch.log2(ratio)) + 1) - 1
        pairs = torch.arange(rotary_dim // 2, dtype=torch.float64, device=lengths.device)
        # base' ^ (-2i/d) where base' = base * stretch^(d/(d-2))
        return within * stretch.unsqueeze(-1) ** (-2 * pairs / max(rotary_dim - 2, 1))
    if torch.compiler.is_compiling():
        raise RefusedError(
            "scaling",
            expected="a scaling of this package where a graph is captured",
            got=type(scaling).__name__,
            hint="rotate in eager mode, or make the tables outside the graph",
        )
    rows = [scaling.inverse_frequencies(rotary_dim, base, int(length)) for length in lengths.reshape(-1).tolist()]
    return torch.tensor(rows, dtype=torch.float64, device=lengths.device).reshape(*lengths.shape, -1)


def row_lengths(scaling: Scaling, positions: Tensor, length: int | Tensor | None) -> Tensor:
    """Tokens of each row, int64 [] or [B]: as lengths, or read off rows that start at 0.

    Raises:
        RefusedError: rows that start past 0 and pass the trained context, and no `length`: keys cached so far were turned by
            other frequencies (looked at in eager mode).
        ArgumentError, ArgumentTypeError, ShapeError: a `length` that is no count of tokens, or does not fit the rows.
    """
    if length is not None:
        return _as_lengths("length", length, positions)
    reached = positions.amax(-1).long() + 1  # widened first: 255 + 1 is 0 in uint8
    trained = getattr(scaling, "original_context", 0)
    if torch.compiler.is_compiling() or positions.numel() == 0:
        return reached
    if not values_at_hand(positions):
        raise RefusedError(
            "length",
            expected=f"the row's total length, since {scaling!r} changes frequencies past {trained} tokens",
            got="positions whose values cannot be looked at (the meta device, or vmap)",
        )
    if bool(((positions.amin(-1) > 0) & (reached > trained)).any()):
        raise RefusedError(
            "length",
            expected=f"the row's total length, since {scaling!r} changes frequencies past {trained} tokens",
            got="positions that start past 0 (a decode step or a chunk)",
            hint="fix one length for prefill and decode and pass it to both; keys cached at another length do not compare",
        )
    return reached


def _as_lengths(name: str, length: int | Tensor, positions: Tensor) -> Tensor:
    if isinstance(length, bool) or not isinstance(length, int | Tensor | torch.SymInt):
        raise ArgumentTypeError(
            name, expected="an int, or integers [B]", got=type(length).__name__, hint="count the row's tokens"
        )
    if isinstance(length, Tensor) and (length.is_floating_point() or length.is_complex() or length.dtype is torch.bool):
        raise ArgumentTypeError(
            name, expected="integers", got=str(length.dtype), hint="count the row's tokens, or call .long()"
        )
    lengths = torch.as_tensor(length, device=positions.device).long()
    if lengths.ndim and tuple(lengths.shape) != positions.shape[:-1]:
        raise ShapeError(
            name, expected="one number, or one a row [B]", got=f"shape {tuple(lengths.shape)}", hint="match positions [B, T]"
        )
    if values_at_hand(lengths) and bool((lengths < 1).any()):
        raise ArgumentError(name, expected="1 token or more", got=lengths.tolist(), hint="count the row's tokens")
    return lengths
