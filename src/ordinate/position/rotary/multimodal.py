"""Multimodal rotary encoding: one frequency schedule over the head, its pairs given to time, height and width.

For text, where all axes agree, it is plain `Rotary`. Unlike the axial encodings it has one schedule over the
whole head, whichever axis a pair belongs to. Sources: Wang et al. 2024, arXiv 2409.12191 (Qwen2-VL); Bai et al. 2025, arXiv
2511.21631 (Qwen3-VL, interleaved).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from ordinate.arguments import check_choice
from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError
from ordinate.frequencies import Scaling, check_base, inverse_frequencies
from ordinate.position.axes import on_every_axis
from ordinate.position.rotary.axis_rotation import AxisFrequencies, AxisRotary, check_sections
from ordinate.position.rotary.rotation import Layout, PairRotation, check_head, check_layout

__all__ = ["Arrangement", "MultimodalRotary", "axis_of_pairs"]

Arrangement = Literal["contiguous", "interleaved", "alternating"]


def axis_of_pairs(sections: Sequence[int], arrangement: Arrangement = "contiguous") -> tuple[int, ...]:
    """The axis that each pair of channels belongs to, from the highest frequency to the lowest.

    - "contiguous": the first sections[0] pairs go to axis 0, the next to axis 1, ... (Qwen2-VL, GLM-4V).
    - "interleaved": 0, 1, 2, 0, 1, 2, ... while the sections last; what is left goes to axis 0 (Qwen3-VL).
    - "alternating": the axes but the first take turns, the lowest frequencies go to axis 0 (ERNIE 4.5-VL, whose config has
      the sections as height, width, time).

    Raises:
        ArgumentError: sections that the arrangement cannot place.

    >>> axis_of_pairs((4, 2, 2), "interleaved")
    (0, 1, 2, 0, 1, 2, 0, 0)
    """
    count, total = len(sections), sum(sections)
    if arrangement == "contiguous":
        return tuple(axis for axis, section in enumerate(sections) for _ in range(section))
    if arrangement == "interleaved":
        placed = [pair % count if pair < count * sections[pair % count] else 0 for pair in range(total)]
        fitting = tuple(placed.count(axis) for axis in range(count))
        if fitting != tuple(sections):
            raise ArgumentError(
                "sections",
                expected="an interleaving in which every section fits",
                got=f"{tuple(sections)}, of which {fitting} pairs find a place",
                hint=f"a model trained with it has sections {fitting} in truth: pass those",
            )
        return tuple(placed)
    check_choice("arrangement", arrangement, get_args(Arrangement), hint="mrope_interleaved in a config")
    if len(set(sections[1:])) > 1:
        raise ArgumentError(
            "sections",
            expected="equal sections after the first",
            got=tuple(sections),
            hint="give them in the order time, height, width",
        )
    turns = [1 + pair % (count - 1) for pair in range(total - sections[0])]
    return (*turns, *([0] * sections[0]))


class MultimodalRotary(AxisRotary):
    """Turns pair i by position_a(i) * base^(-2i / rotary_dim), where a(i) is the axis that the pair belongs to.

    Args:
        head_dim: channels D of a head.
        layout: which channels make a pair: "half" (Qwen) or "interleaved" (GLM-4V, ERNIE).
        sections: pairs for each axis (time, height, width); they sum to rotary_dim / 2 (mrope_section in configs).
        arrangement: which pairs are whose, see `axis_of_pairs`. It is about axes, not about channels: Qwen3-VL has
            arrangement "interleaved" with layout "half".
        rotary_dim: how many channels turn, even; by default all.
        base: of the frequency schedule, above 1.
        scaling: a record of `ordinate.position.frequencies` that does not depend on length, or None.

    Raises:
        ArgumentError: sections that do not sum, or that the arrangement cannot place; an unknown layout or arrangement.
        RefusedError: a scaling that depends on the row's length, which has no meaning with several axes.

    Source: Wang et al. 2024, arXiv 2409.12191, section 2.1, figure 3.

    >>> from ordinate.position import indices
    >>> rotary = MultimodalRotary(128, layout="half", sections=(16, 24, 24), base=1e6)
    >>> positions = indices.multimodal([3, (1, 2, 3), 2])
    >>> rotary.rotate(torch.randn(1, 2, 11, 128), positions).shape
    torch.Size([1, 2, 11, 128])
    """

    def __init__(
        self,
        head_dim: int,
        *,
        layout: Layout,
        sections: Sequence[int],
        arrangement: Arrangement = "contiguous",
        rotary_dim: int | None = None,
        base: float = 10000.0,
        scaling: Scaling | None = None,
    ) -> None:
        super().__init__()
        head_dim, turned = check_head(head_dim, rotary_dim)
        check_layout(layout)
        check_base(base)
        if scaling is not None and not isinstance(scaling, Scaling):
            raise ArgumentTypeError(
                "scaling",
                expected="a record of ordinate.position.frequencies, or None",
                got=type(scaling).__name__,
                hint="for example YaRN(4.0, 32768)",
            )
        if scaling is not None and scaling.depends_on_length:
            raise RefusedError(
                "scaling",
                expected="a scaling that is the same for every length",
                got=repr(scaling),
                hint="positions with axes have no length: take YaRN, Linear or Llama3",
            )
        self._head_dim, self._layout, self._rotary_dim = head_dim, layout, turned
        self._sections = check_sections(sections, turned // 2, exact=True)
        self._arrangement, self._base, self._scaling = arrangement, base, scaling
        owners, inv_freq = axis_of_pairs(self._sections, arrangement), inverse_frequencies(turned, base, scaling)
        factor = 1.0 if scaling is None else scaling.cos_sin_factor
        self._own = AxisFrequencies(owners, inv_freq, factor)

    # Settings are read-only: an edited one would silently disagree with what was computed from it.
    head_dim = property(lambda self: self._head_dim, doc="Channels D of a head.")
    layout = property(lambda self: self._layout, doc="Which channels make a pair.")
    sections = property(lambda self: self._sections, doc="Pairs of each axis.")
    axes = property(lambda self: len(self._sections), doc="Numbers in a position.")
    arrangement = property(lambda self: self._arrangement, doc="Which pairs are whose.")
    rotary_dim = property(lambda self: self._rotary_dim, doc="Channels that turn.")
    base = property(lambda self: self._base, doc="Base of the frequency schedule.")
    scaling = property(lambda self: self._scaling, doc="How the frequencies are scaled, or None.")

    def rotation(self, positions: Tensor, *, dtype: torch.dtype = torch.float32) -> PairRotation:
        """The rotation at positions [T, A] or [B, T, A], see `indices.multimodal`, or [T] for text; its tables made once.

        Text positions [B, T] go through `indices.on_every_axis`.
        """
        return super().rotation(self._with_axes(positions), dtype=dtype)

    def _check(self, name: str, x: Tensor, positions: Tensor) -> None:
        super()._check(name, x, self._with_axes(positions))

    def _with_axes(self, positions: Tensor) -> Tensor:
        text = isinstance(positions, Tensor) and positions.ndim == 1
        return on_every_axis(positions, self.axes) if text else positions

    def _passed(self) -> dict[str, Any]:
        return {"rotary_dim": None if self.rotary_dim == self.head_dim else self.rotary_dim}
