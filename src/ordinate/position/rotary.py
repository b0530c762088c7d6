"""Rotary position embedding: queries and keys turned so that their product depends on the distance.

The module holds settings, never tables: no cast, meta device or reload can spoil the angles, and a change of settings is a new
module. Source: Su et al. 2021, arXiv 2104.09864.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.frequencies import DynamicNTK, LongRoPE, Scaling, check_base, check_rotary_dim, inverse_frequencies
from ordinate.position.indices import check_positions
from ordinate.position.rotation import Layout, angle_tables, check_layout, rotate_pairs
from ordinate.shapes import check_shape

__all__ = ["Rotary"]


class Rotary(nn.Module):
    """Turns the pair i of every head by position * base^(-2i / rotary_dim).

    (a, b) -> (a cos - b sin, a sin + b cos). The score of a query at m and a key at n then depends on m - n alone.

    Args:
        head_dim: channels D of a head.
        layout: "half" pairs (i, i + rotary_dim/2), "interleaved" pairs (2i, 2i + 1). A checkpoint fixes it, and the wrong one
            is silent, so there is no default.
        rotary_dim: how many channels turn, even; the rest pass. By default all of them.
        base: of the ladder of frequencies, above 1 (rope_theta in most configs).
        scaling: a record of `ordinate.position.frequencies`, or None.

    Raises:
        ArgumentError: odd or too large rotary_dim, unknown layout, base of 1 or less.

    Source: Su et al. 2021, arXiv 2104.09864, eqs. 14-16 and 34.

    >>> rotary = Rotary(8, layout="half")
    >>> x = torch.arange(1.0, 9.0).reshape(1, 1, 1, 8)
    >>> rotary.rotate(x, torch.tensor([3])).squeeze()
    tensor([-1.6956,  0.1376,  2.7887,  3.9760, -4.8088,  6.3231,  7.0868,  8.0120])
    """

    def __init__(
        self,
        head_dim: int,
        *,
        layout: Layout,
        rotary_dim: int | None = None,
        base: float = 10000.0,
        scaling: Scaling | None = None,
    ) -> None:
        super().__init__()
        if isinstance(head_dim, bool) or not isinstance(head_dim, int):
            raise ArgumentTypeError(
                "head_dim", expected="an int", got=type(head_dim).__name__, todo="pass the channels of a head"
            )
        check_layout(layout)
        check_rotary_dim("head_dim" if rotary_dim is None else "rotary_dim", head_dim if rotary_dim is None else rotary_dim)
        if rotary_dim is not None and rotary_dim > head_dim:
            raise ArgumentError(
                "rotary_dim", expected=f"at most head_dim ({head_dim})", got=rotary_dim, todo="a head has no more channels"
            )
        check_base(base)
        if scaling is not None and not isinstance(scaling, Scaling):
            raise ArgumentTypeError(
                "scaling",
                expected="a record of ordinate.position.frequencies, or None",
                got=type(scaling).__name__,
                todo="for example Linear(4.0)",
            )
        self._head_dim, self._layout, self._rotary_dim = head_dim, layout, rotary_dim or head_dim
        self._base, self._scaling = base, scaling
        self._frequencies = inverse_frequencies(self._rotary_dim, base, scaling)  # also proves that the scaling fits

    # Settings are read-only: an edited base or scaling would silently disagree with what was computed from it.
    head_dim = property(lambda self: self._head_dim, doc="Channels D of a head.")
    layout = property(lambda self: self._layout, doc="Which channels make a pair.")
    rotary_dim = property(lambda self: self._rotary_dim, doc="Channels that turn.")
    base = property(lambda self: self._base, doc="Base of the ladder of frequencies.")
    scaling = property(lambda self: self._scaling, doc="How the frequencies are scaled, or None.")

    def inverse_frequencies(self, length: int | None = None) -> Tensor:
        """Radians per position of each pair, float64 [P], for a row of `length` tokens (None: within the trained context)."""
        return torch.tensor(inverse_frequencies(self.rotary_dim, self.base, self.scaling, length), dtype=torch.float64)

    def tables(
        self, positions: Tensor, *, length: int | Tensor | None = None, dtype: torch.dtype = torch.float32
    ) -> tuple[Tensor, Tensor]:
        """cos and sin for positions [T] or [B, T], each [T, P] or [B, T, P], P = rotary_dim / 2.

        Args:
            positions: integers, or float32/float64.
            length: tokens of the row (or of each row, [B]), for scalings that depend on it. By default the row's last
                position plus one, where the row starts at 0.
            dtype: of the tables.

        Raises:
            RefusedError: a length-dependent scaling, positions that do not start at 0 and reach past the trained context, and
                no `length`: the keys cached so far were turned by other frequencies.
        """
        check_positions("positions", positions)
        factor = 1.0 if self.scaling is None else self.scaling.cos_sin_factor
        return angle_tables(positions, self._frequencies_for(positions, length), factor=factor, dtype=dtype)

    def rotate(self, x: Tensor, positions: Tensor, *, length: int | Tensor | None = None) -> Tensor:
        """x [B, H, T, D] turned at positions [T] or [B, T]; same shape and dtype, worked in float32 or wider.

        Args:
            x: queries or keys, before their product.
            positions: integers, or float32/float64.
            length: as in `tables`.

        Raises:
            ShapeError: another head_dim, or positions that fit neither tokens nor batch.
            RefusedError: as in `tables`.
        """
        sizes = check_shape("x", x, "B H T D", D=self.head_dim)
        check_positions("positions", positions, length=sizes["T"], batch=sizes["B"])
        cos, sin = self.tables(positions, length=length, dtype=torch.promote_types(x.dtype, torch.float32))
        return rotate_pairs(x, cos, sin, layout=self.layout)

    def _frequencies_for(self, positions: Tensor, length: int | Tensor | None) -> Tensor:
        """Inverse frequencies [P], or [B, P] where a length-dependent scaling treats rows apart."""
        fixed = torch.tensor(self._frequencies, dtype=torch.float64, device=positions.device)
        if self.scaling is None or not self.scaling.depends_on_length or positions.shape[-1] == 0:
            return fixed
        lengths = self._row_lengths(positions, length)
        if isinstance(self.scaling, DynamicNTK):
            reached = lengths.clamp_min(self.scaling.original_context).to(torch.float64)
            stretch = self.scaling.factor * reached / self.scaling.original_context - (self.scaling.factor - 1)
            exponents = torch.arange(self.rotary_dim // 2, dtype=torch.float64, device=positions.device)
            # base' ^ (-2i/d) with base' = base * stretch^(d/(d-2))
            return fixed * stretch.unsqueeze(-1) ** (-2 * exponents / max(self.rotary_dim - 2, 1))
        assert isinstance(self.scaling, LongRoPE)
        beyond = inverse_frequencies(self.rotary_dim, self.base, self.scaling, self.scaling.original_context + 1)
        long = torch.tensor(beyond, dtype=torch.float64, device=positions.device)
        return torch.where((lengths > self.scaling.original_context).unsqueeze(-1), long, fixed)

    def _row_lengths(self, positions: Tensor, length: int | Tensor | None) -> Tensor:
        """Length of each row, [] or [B]: as given, or read off a row that starts at 0."""
        if length is not None:
            given = torch.as_tensor(length, device=positions.device)
            if given.ndim and tuple(given.shape) != positions.shape[:-1]:
                raise ShapeError(
                    "length", expected="one number, or one a row [B]", got=f"shape {tuple(given.shape)}", todo="match positions"
                )
            return given
        reached = positions.amax(-1) + 1
        trained = self.scaling.original_context
        if not torch.compiler.is_compiling() and bool(((positions.amin(-1) > 0) & (reached > trained)).any()):
            raise RefusedError(
                "length",
                expected=f"the row's total length, since {self.scaling!r} changes frequencies past {trained} tokens",
                got="positions that start past 0 (a decode step or a chunk)",
                todo="fix one length for prefill and decode and pass it to both; keys cached at another length do not compare",
            )
        return reached

    def __repr__(self) -> str:
        shown = [str(self.head_dim), f"layout={self.layout!r}"]
        if self.rotary_dim != self.head_dim:
            shown.append(f"rotary_dim={self.rotary_dim}")
        if self.base != 10000.0:
            shown.append(f"base={self.base!r}")
        if self.scaling is not None:
            shown.append(f"scaling={self.scaling!r}")
        return f"Rotary({', '.join(shown)})"
