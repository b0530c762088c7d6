"""Rotary position embedding: queries and keys turned so that their product depends on the distance.

The module holds settings, never tables: no cast, meta device or reload can spoil the angles, and a change of settings is a new
module. Source: Su et al. 2021, arXiv 2104.09864.

A batch has a length a row, and a compiled graph has lengths that are not known yet, so the scalings that depend on length stand
here on tensors too (`row_frequencies`); `ordinate.frequencies` answers for one length, in plain numbers, and a test holds the
two together.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.frequencies import (
    DynamicNTK,
    LongRoPE,
    Scaling,
    SteppedNTK,
    check_base,
    inverse_frequencies,
    needs_re_rotation,
)
from ordinate.position.base import values_at_hand
from ordinate.position.indices import check_positions
from ordinate.position.rotary.rotation import (
    Layout,
    PairRotation,
    RotaryEncoding,
    RotatedChannels,
    angle_tables,
    check_both_in_place,
    check_head,
    check_layout,
    check_out,
    check_rotated_channels,
    common_dtype,
    spread_frequencies,
    turn_both,
    working_dtype,
)
from ordinate.shapes import check_shape

__all__ = ["Rotary", "row_frequencies", "row_lengths"]


class Rotary(RotaryEncoding):
    """Turns the pair i of every head by position * base^(-2i / rotary_dim).

    (a, b) -> (a cos - b sin, a sin + b cos). The score of a query at m and a key at n then depends on m - n alone.

    Args:
        head_dim: channels D of a head.
        layout: "half" pairs (i, i + rotary_dim/2), "interleaved" pairs (2i, 2i + 1). A checkpoint fixes it, and the wrong one
            is silent, so there is no default.
        rotary_dim: how many channels turn, even; the rest pass. By default all of them. Where the exponents keep the whole
            head's denominator (Gemma 4), leave this out and scale with `Proportional`.
        base: of the frequency schedule, above 1 (rope_theta in most configs).
        scaling: a record of `ordinate.position.frequencies`, or None.
        rotated_channels: where fewer turn than there are, the "first" of the head, or the "last" (DeepSeek-V2 and V3).

    Raises:
        ArgumentError: odd or too large rotary_dim, unknown layout, base of 1 or less.
        ArgumentTypeError: a head_dim that is not an int, a scaling that is not a record.

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
        rotated_channels: RotatedChannels = "first",
    ) -> None:
        super().__init__()
        self._head_dim, self._rotary_dim = check_head(head_dim, rotary_dim)
        check_layout(layout)
        check_base(base)
        check_rotated_channels(rotated_channels)
        self._layout, self._base, self._scaling, self._rotated_channels = layout, base, scaling, rotated_channels
        self._start = 0 if rotated_channels == "first" else self._head_dim - self._rotary_dim
        self._inv_freq = inverse_frequencies(self._rotary_dim, base, scaling)  # also proves that the scaling fits
        self._beyond = self._inv_freq
        if isinstance(scaling, LongRoPE):
            self._beyond = inverse_frequencies(self._rotary_dim, base, scaling, scaling.original_context + 1)
        self._on_device: dict[torch.device, tuple[Tensor, Tensor]] = {}
        self._warned = False

    # Settings are read-only: an edited base or scaling would silently disagree with what was computed from it.
    head_dim = property(lambda self: self._head_dim, doc="Channels D of a head.")
    layout = property(lambda self: self._layout, doc="Which channels make a pair.")
    rotary_dim = property(lambda self: self._rotary_dim, doc="Channels that turn.")
    base = property(lambda self: self._base, doc="Base of the frequency schedule.")
    scaling = property(lambda self: self._scaling, doc="How the frequencies are scaled, or None.")
    rotated_channels = property(lambda self: self._rotated_channels, doc="Whether the first or the last channels turn.")

    def inverse_frequencies(self, length: int | None = None) -> Tensor:
        """Radians per position of each pair, float64 [P], for a row of `length` tokens (None: within the trained context)."""
        return torch.tensor(inverse_frequencies(self.rotary_dim, self.base, self.scaling, length), dtype=torch.float64)

    def rotation(
        self, positions: Tensor, *, dtype: torch.dtype = torch.float32, length: int | Tensor | None = None
    ) -> PairRotation:
        """The rotation at positions [T] or [B, T], its tables made once for queries, keys and all layers.

        Args:
            positions: integers, or float32/float64.
            dtype: of the work: float32, or float64 for inputs in float64.
            length: as in `tables`.

        Raises:
            RefusedError: as in `tables`.

        >>> turn = Rotary(8, layout="half").rotation(torch.arange(5))
        >>> [turn(torch.randn(1, heads, 5, 8)).shape[1] for heads in (4, 2)]
        [4, 2]
        """
        check_positions("positions", positions)
        return self._turn(positions, dtype, length)

    def tables(
        self, positions: Tensor, *, length: int | Tensor | None = None, dtype: torch.dtype = torch.float32
    ) -> tuple[Tensor, Tensor]:
        """cos and sin for positions [T] or [B, T], each [T, P] or [B, T, P], P = rotary_dim / 2.

        Made once for queries, keys and all layers, they go to `ordinate.position.rotate_pairs`.

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
        return angle_tables(positions, self._radians(positions, length), factor=self._factor, dtype=dtype)

    def rotate(self, x: Tensor, positions: Tensor, *, length: int | Tensor | None = None, out: Tensor | None = None) -> Tensor:
        """x [B, H, T, D] turned at positions [T] or [B, T]; same shape and dtype, worked in float32 or wider.

        Args:
            x: queries or keys, before their product.
            positions: integers, or float32/float64.
            length: as in `tables`.
            out: where the result goes: memory like that of `x`, or `x` itself to turn it in place.

        Raises:
            ShapeError: another head_dim, or positions that fit neither tokens nor batch.
            RefusedError: as in `tables`; an `out` where a gradient is wanted, or whose elements share memory, among
                themselves or with `x`.
        """
        self._check("x", x, positions)
        if out is not None:
            check_out(out, x)
        return self._turn(positions, working_dtype(x), length)(x, out)

    def rotate_both(
        self, query: Tensor, key: Tensor, positions: Tensor, *, length: int | Tensor | None = None, in_place: bool = False
    ) -> tuple[Tensor, Tensor]:
        """query [B, H, T, D] and key [B, G, T, D] of the same tokens, turned with one making of the tables.

        The same as `rotate(query, positions), rotate(key, positions)`, quicker.

        Args:
            query, key: before their product.
            positions: [T] or [B, T].
            length: as in `tables`.
            in_place: turn both where they are.

        Raises:
            ShapeError, RefusedError: as in `rotate`; in place, a query and a key that share memory.

        >>> rotary, q, k = Rotary(8, layout="half"), torch.randn(1, 4, 3, 8), torch.randn(1, 2, 3, 8)
        >>> [x.shape[1] for x in rotary.rotate_both(q, k, torch.arange(3))]
        [4, 2]
        """
        self._check("query", query, positions)
        self._check("key", key, positions)
        if in_place:
            check_both_in_place(query, key)
        return turn_both(self._turn(positions, common_dtype(query, key), length), query, key, in_place)

    def forward(self, x: Tensor, positions: Tensor, *, length: int | Tensor | None = None) -> Tensor:
        """x [B, H, T, D] turned at positions [T] or [B, T]: `rotate`."""
        return self.rotate(x, positions, length=length)

    def re_rotate(
        self,
        keys: Tensor,
        from_positions: Tensor,
        to_positions: Tensor,
        *,
        from_length: int | Tensor | None = None,
        to_length: int | Tensor | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """Keys that were rotated at `from_positions`, as if they had been rotated at `to_positions`.

        One turn by the difference of the two angles, formed in float64: a cache whose tokens move (a window that slides, a
        prompt that is cut, a prefix that is shared) is corrected without its unrotated keys. Where a scaling depends on the
        length, the two lengths may differ: keys of a short row are made comparable with queries of a longer one.

        Args:
            keys: [B, G, S, D], rotated by this encoding (factor on cos and sin included).
            from_positions, to_positions: [S] or [B, S].
            from_length, to_length: tokens of the row then and now, as in `tables`.
            out: as in `rotate`; `keys` itself corrects a cache in place.

        Raises:
            ShapeError, RefusedError: as in `rotate`.

        >>> rotary, keys, steps = Rotary(8, layout="half"), torch.randn(1, 2, 5, 8), torch.arange(5)
        >>> moved = rotary.re_rotate(rotary.rotate(keys, steps + 100), steps + 100, steps)
        >>> torch.allclose(moved, rotary.rotate(keys, steps), atol=1e-5)
        True
        """
        self._check("keys", keys, from_positions)
        self._check("keys", keys, to_positions)
        wide = working_dtype(keys)
        if out is not None:
            check_out(out, keys)
        angles = self._angles(to_positions, to_length) - self._angles(from_positions, from_length)
        turn = PairRotation(angles.cos().to(wide), angles.sin().to(wide), layout=self._layout, start=self._start)
        return turn(keys, out)

    def needs_re_rotation(self, from_length: int, to_length: int) -> bool:
        """Whether keys cached in a row of `from_length` tokens must be re-rotated for queries of a row of `to_length`.

        >>> from ordinate.position.frequencies import DynamicNTK
        >>> Rotary(8, layout="half", scaling=DynamicNTK(2.0, 2048)).needs_re_rotation(2048, 2049)
        True
        """
        return needs_re_rotation(from_length, to_length, rotary_dim=self.rotary_dim, base=self.base, scaling=self.scaling)

    def _turn(self, positions: Tensor, dtype: torch.dtype, length: int | Tensor | None) -> PairRotation:
        if self._depends_on_length:
            inv_freq, spread = self._radians(positions, length), None
        else:
            inv_freq, spread = self._on(positions)
        return PairRotation.at(
            positions,
            inv_freq,
            layout=self._layout,
            start=self._start,
            factor=self._factor,
            dtype=dtype,
            spread=spread,
        )

    @property
    def _factor(self) -> float:
        return 1.0 if self._scaling is None else self._scaling.cos_sin_factor

    @property
    def _depends_on_length(self) -> bool:
        return self._scaling is not None and self._scaling.depends_on_length

    def _check(self, name: str, x: Tensor, positions: Tensor) -> None:
        if isinstance(x, Tensor) and isinstance(positions, Tensor) and positions.dtype is torch.int64 and x.ndim == 4:
            batch, _, tokens, channels = x.shape
            if channels == self._head_dim and tuple(positions.shape) in ((tokens,), (batch, tokens), (1, tokens)):
                return
        check_shape(name, x, "B H T D", D=self._head_dim)
        check_positions("positions", positions, length=x.shape[2], batch=x.shape[0])

    def _angles(self, positions: Tensor, length: int | Tensor | None) -> Tensor:
        radians = self._radians(positions, length)
        rows = radians if radians.ndim == 1 else radians.unsqueeze(-2)
        return positions.to(torch.float64).unsqueeze(-1) * rows

    def _radians(self, positions: Tensor, length: int | Tensor | None) -> Tensor:
        """Inverse frequencies [P], or [B, P] where a length-dependent scaling treats rows apart."""
        if self._scaling is None or not self._scaling.depends_on_length or positions.shape[-1] == 0:
            return self._on(positions)[0]
        lengths = row_lengths(self._scaling, positions, length)
        self._warn_past_claim(lengths)
        beyond = torch.tensor(self._beyond, dtype=torch.float64, device=positions.device)
        return row_frequencies(self._scaling, lengths, self._on(positions)[0], beyond, self._base)

    def _on(self, positions: Tensor) -> tuple[Tensor, Tensor | None]:
        """The frequencies, float64 [P] on the device of `positions`, and, in eager mode, what `spread_frequencies` gives."""
        if torch.compiler.is_compiling() or type(positions) is not Tensor:
            inv_freq = torch.tensor(self._inv_freq, dtype=torch.float64, device=positions.device)
            return inv_freq, None
        if positions.device not in self._on_device:
            with torch.inference_mode(False):  # what inference mode makes could never meet a gradient
                inv_freq = torch.tensor(self._inv_freq, dtype=torch.float64, device=positions.device)
                self._on_device[positions.device] = inv_freq, spread_frequencies(inv_freq, self._layout)
        return self._on_device[positions.device]

    def _warn_past_claim(self, lengths: Tensor) -> None:
        if self._warned or not isinstance(self._scaling, LongRoPE) or not lengths.numel() or not values_at_hand(lengths):
            return
        longest = int(lengths.max())
        if longest > self._scaling.claimed_context:
            self._warned = True
            warnings.warn(
                f"a row of {longest} tokens passes the {self._scaling.claimed_context} that this LongRoPE was searched for; "
                "its factors say nothing there (warned once for this module)",
                stacklevel=4,
            )

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied: the settings; what was computed on some device is computed again."""
        return {**self.__dict__, "_on_device": {}}

    def _passed(self) -> dict[str, Any]:
        return {"rotary_dim": None if self.rotary_dim == self.head_dim else self.rotary_dim}


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
