"""Encodings that add a vector to each token: sinusoids, a learned table, and none at all.

They share one method, `encode(positions)`. Sources: Vaswani et al. 2017, arXiv 1706.03762,
section 3.5; Gehring et al. 2017, arXiv 1705.03122, section 3.1; the halved layout is tensor2tensor's `get_timing_signal_1d`.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer, renamed_argument
from ordinate.errors import ArgumentError, PositionRangeError
from ordinate.frequencies import check_base
from ordinate.position.additive.resampling import Interpolation, resample
from ordinate.position.base import AddedEncoding, PositionEncoding, values_at_hand
from ordinate.position.indices import check_positions

__all__ = ["LearnedTable", "NoPosition", "Sinusoidal"]


class NoPosition(PositionEncoding):
    """No encoding: queries and keys pass as they are. A causal mask still leaks order.

    Source: Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466.

    >>> NoPosition()
    NoPosition()
    """

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """x itself, whatever the positions."""
        return x

    def rotate_both(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """query and key themselves."""
        return query, key

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """x itself, whatever the positions."""
        return x


class Sinusoidal(AddedEncoding):
    """Sines and cosines of geometrically spaced frequencies.

    PE(pos, 2i) = sin(pos w_i), PE(pos, 2i+1) = cos(pos w_i). Two frequency schedules are in use:

    - "vaswani": w_i = base^(-2i / dim);
    - "tensor2tensor": w_i = base^(-i / (n - 1)) with n = dim // 2 sines, so that the last is exactly 1 / base.

    Angles are formed in float64 and rounded once. There is no table to outgrow: any position works, negative or fractional too.

    Args:
        dim: channels D. An odd width ends with a sine (layout "interleaved", or "half" with the schedule "vaswani"), or
            with a zero (schedule "tensor2tensor", as there).
        layout: "interleaved" alternates sine and cosine, "half" puts all sines before all cosines.
        base: of the frequency schedule, above 1.
        schedule: of the frequencies, by default "vaswani" for "interleaved" and "tensor2tensor" for "half", as each was
            published. Marian and its kin have layout "half" with schedule "vaswani".

    Raises:
        ArgumentError: a dim below 1, an unknown layout or schedule, a base of 1 or less.

    Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.5; tensor2tensor, `get_timing_signal_1d`.

    >>> Sinusoidal(4).encode(torch.tensor([0, 1]))
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """

    def __init__(
        self,
        dim: int,
        *,
        layout: Literal["interleaved", "half"] = "interleaved",
        base: float = 10000.0,
        schedule: Literal["vaswani", "tensor2tensor"] | None = None,
        **renamed: Any,
    ) -> None:
        super().__init__()
        schedule = renamed_argument("schedule", schedule, renamed, "ladder")
        check_integer("dim", dim, minimum=1)
        check_base(base)
        if layout not in ("interleaved", "half"):
            raise ArgumentError("layout", expected="'interleaved' or 'half'", got=layout, hint="Vaswani 2017 is interleaved")
        if schedule not in (None, "vaswani", "tensor2tensor"):
            raise ArgumentError("schedule", expected="'vaswani' or 'tensor2tensor'", got=schedule, hint="leave it out")
        self.dim, self.layout, self.base = dim, layout, base
        self.schedule = schedule or ("vaswani" if layout == "interleaved" else "tensor2tensor")

    def frequencies(self) -> tuple[float, ...]:
        """Radians per position of each sine; the last of an odd width may have no cosine."""
        if self.schedule == "tensor2tensor":
            count = self.dim // 2
            return tuple(float(self.base) ** (-index / max(count - 1, 1)) for index in range(count))
        return tuple(float(self.base) ** (-2 * index / self.dim) for index in range((self.dim + 1) // 2))

    def encode(self, positions: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
        """Vectors [T, D] or [B, T, D] for positions [T] or [B, T].

        Args:
            positions: integers, or float32/float64 where time is continuous.
            dtype: of the result; by default torch's default dtype. Pass that of the embeddings they are added to.

        Raises:
            ArgumentTypeError: positions in half precision.
            ShapeError: positions with another number of axes.
        """
        check_positions("positions", positions)
        frequencies = torch.tensor(self.frequencies(), dtype=torch.float64, device=positions.device)
        angles = positions.to(torch.float64).unsqueeze(-1) * frequencies
        sines, cosines = angles.sin(), angles[..., : self.dim // 2].cos()
        if self.layout == "half":
            parts = [sines, cosines]
        else:
            paired = torch.stack((sines[..., : self.dim // 2], cosines), dim=-1).flatten(-2)
            parts = [paired, sines[..., self.dim // 2 :]]
        channels = torch.cat(parts, dim=-1)
        if channels.shape[-1] < self.dim:  # tensor2tensor fills an odd width with a zero
            channels = nn.functional.pad(channels, (0, self.dim - channels.shape[-1]))
        return channels.to(dtype or torch.get_default_dtype())

    def _passed(self) -> dict[str, Any]:
        return {"schedule": None if (self.schedule == "vaswani") == (self.layout == "interleaved") else self.schedule}


class LearnedTable(AddedEncoding):
    """One learned vector a position: PE(pos) = weight[pos + row_offset].

    The table ends: position `num_positions` is an error, never a wrap or a clamp. Where rows are padded, positions come from
    `indices.from_mask`.

    Args:
        num_positions: positions the table can represent, 0 to num_positions - 1.
        dim: channels D.
        row_offset: rows in front that no position uses (2 in OPT, padding_idx + 1 in RoBERTa).

    Raises:
        ArgumentError: a size below 1, a negative offset.

    Source: Gehring et al. 2017, arXiv 1705.03122, section 3.1; Devlin et al. 2018, arXiv 1810.04805.

    >>> LearnedTable(2048, 64).encode(torch.arange(3)).shape
    torch.Size([3, 64])
    """

    def __init__(self, num_positions: int, dim: int, *, row_offset: int = 0) -> None:
        super().__init__()
        check_integer("num_positions", num_positions, minimum=1)
        check_integer("dim", dim, minimum=1)
        check_integer("row_offset", row_offset, minimum=0)
        self.num_positions, self.dim, self.row_offset = num_positions, dim, row_offset
        self.weight = nn.Parameter(torch.empty(num_positions + row_offset, dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table anew from N(0, 0.02^2), as BERT and GPT-2 do."""
        nn.init.normal_(self.weight, std=0.02)

    def encode(self, positions: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
        """Rows [T, D] or [B, T, D] for integer positions [T] or [B, T], in `dtype`, by default that of the table.

        Raises:
            PositionRangeError: a negative position, or one past the table's end (looked at in eager mode; compiled code
                leaves it to the index check of the device).
            ArgumentTypeError: positions that are not integers.
        """
        check_positions("positions", positions, continuous=False)
        if positions.numel() and values_at_hand(positions):
            lowest, highest = (int(end) for end in positions.aminmax())
            if lowest < 0:
                raise PositionRangeError(
                    "positions",
                    expected="positions of 0 or more",
                    got=lowest,
                    hint="a row of the table is no distance: shift them",
                )
            if highest >= self.num_positions:
                raise PositionRangeError(
                    "positions",
                    expected=f"positions below num_positions ({self.num_positions})",
                    got=highest,
                    hint="shorten the input, or use an encoding without a table (Sinusoidal, Rotary, ALiBi)",
                )
        rows = nn.functional.embedding(positions.long() + self.row_offset, self.weight)
        return rows if dtype is None else rows.to(dtype)

    def resized(self, num_positions: int, *, mode: Interpolation = "linear", antialias: bool = False) -> LearnedTable:
        """A new table for another number of positions, by interpolation; the rows in front stay.

        Position i of the result lies at (i + 1/2) n / m - 1/2 of the old table, for n old and m new positions.

        Args:
            num_positions: of the new table.
            mode: "linear" or "cubic".
            antialias: widen the kernel where the table shrinks, as timm does.

        Raises:
            ArgumentError: a size below 1, an unknown mode.

        Source: Dosovitskiy et al. 2020, arXiv 2010.11929, section 3.2, for one axis.

        >>> LearnedTable(512, 64).resized(1024)
        LearnedTable(1024, 64)
        """
        table = LearnedTable(num_positions, self.dim, row_offset=self.row_offset).to(self.weight)
        front, rows = self.weight.detach()[: self.row_offset], self.weight.detach()[self.row_offset :]
        with torch.no_grad():
            table.weight.copy_(torch.cat((front, resample(rows, [num_positions], mode=mode, antialias=antialias))))
        return table
