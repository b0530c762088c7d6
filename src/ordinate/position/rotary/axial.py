"""Axial rotary encodings: each axis of an image or a video turns pairs of channels of its own.

The families in use differ in the frequency schedule, in the order of the axes, and in what counts as a coordinate;
`AxialRotary.named` knows them by name. Sources: Wang et al. 2024, arXiv 2409.12191 (Qwen2-VL); Agrawal et al. 2024, arXiv
2410.07073 (Pixtral); Simeoni et al. 2025, arXiv 2508.10104 (DINOv3); Fang et al. 2023, arXiv 2303.11331 (EVA-02); Heo et al.
2024, arXiv 2403.13298 (RoPE-ViT).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from ordinate.arguments import check_choice, renamed_argument
from ordinate.errors import ArgumentError
from ordinate.frequencies import check_base, check_rotary_dim
from ordinate.position.axes import Coordinates, check_coordinates, grid
from ordinate.position.rotary.axis_rotation import AxisFrequencies, AxisRotary, check_sections
from ordinate.position.rotary.rotation import Layout, check_layout

__all__ = ["AXIAL_CONVENTIONS", "AxialRotary", "Schedule"]

Schedule = Literal["own", "dealt", "linear", "octaves"]

AXIAL_CONVENTIONS: dict[str, dict[str, Any]] = {
    "qwen2-vl": {"layout": "half"},
    "pixtral": {"layout": "half", "schedule": "dealt"},
    "dinov3": {"layout": "half", "base": 100.0, "turns": True, "coordinates": "centred"},
    "eva02": {"layout": "interleaved"},
    "rope-vit": {"layout": "interleaved", "base": 100.0, "order": (1, 0)},
    "llama4": {"layout": "interleaved", "order": (1, 0), "coordinates": "ordinal"},
    "flux": {"layout": "interleaved", "axes": 3, "sections": lambda pairs: (pairs // 8, 7 * pairs // 16, 7 * pairs // 16)},
    "wan": {"layout": "interleaved", "axes": 3, "sections": lambda pairs: (pairs - 2 * (pairs // 3), pairs // 3, pairs // 3)},
    "timm-pixel": {"layout": "interleaved", "schedule": "octaves", "resolution": 224.0, "coordinates": "corners"},
}


class AxialRotary(AxisRotary):
    """Turns the pairs of axis a by coordinate_a times the axis's frequencies; the score depends on the offsets alone.

    With n pairs for the axis, of P in all, the schedules (`schedule`) are, in radians per unit of the coordinate,

    - "own": base^(-i / n), a whole schedule for each axis;
    - "dealt": the head's one schedule base^(-i / P), dealt out in turn: axis a has i = a, a + A, ... (Pixtral);
    - "linear": pi times n equal steps from 1 to resolution / 2;
    - "octaves": pi times n equal ratios from 1 to resolution / 2.

    Args:
        head_dim: channels D of a head.
        layout: which channels make a pair: "half" or "interleaved".
        axes: 2 for images, 3 for video.
        sections: pairs for each axis, in the order of the positions; channels beyond 2 * sum(sections) pass as they are. By
            default all pairs in equal parts.
        base: of the schedules "own" and "dealt".
        schedule: of the frequencies, see above.
        resolution: of the schedules "linear" and "octaves".
        turns: frequencies in turns instead of radians per unit: 2 pi times the schedule (DINOv3).
        order: in which order the axes' pairs stand in the head; (1, 0) puts width before height.
        coordinates, reference: what `positions` makes of a grid, see `indices.grid`.

    Raises:
        ArgumentError: sections that do not fit, an unknown name, a resolution that is missing.

    Source: Su et al. 2021, arXiv 2104.09864, eqs. 14-16, for each axis; Heo et al. 2024, arXiv 2403.13298, section 3.1 (axial).

    >>> rotary = AxialRotary(64, layout="half")
    >>> x = torch.randn(1, 4, 6, 64)
    >>> rotary.rotate(x, rotary.positions(2, 3)).shape
    torch.Size([1, 4, 6, 64])
    """

    def __init__(
        self,
        head_dim: int,
        *,
        layout: Layout,
        axes: int = 2,
        sections: Sequence[int] | None = None,
        base: float = 10000.0,
        schedule: Schedule = "own",
        resolution: float | None = None,
        turns: bool = False,
        order: Sequence[int] | None = None,
        coordinates: Coordinates = "pixel",
        reference: Sequence[int] | None = None,
        **renamed: Any,
    ) -> None:
        super().__init__()
        schedule = renamed_argument("schedule", schedule, renamed, "ladder")
        check_rotary_dim("head_dim", head_dim)
        check_layout(layout)
        if axes not in (2, 3):
            raise ArgumentError("axes", expected="2 or 3", got=axes, hint="one axis is Rotary")
        check_base(base)
        check_choice("schedule", schedule, get_args(Schedule), hint="leave it out for 'own'")
        if (schedule in ("linear", "octaves")) != (resolution is not None):
            raise ArgumentError(
                "resolution",
                expected="a number for the schedules 'linear' and 'octaves', and None for the others",
                got=f"{resolution} with schedule={schedule!r}",
                hint="timm's max_res is 224",
            )
        if resolution is not None and not (math.isfinite(resolution) and resolution > 2):
            raise ArgumentError("resolution", expected="a finite number above 2", got=resolution, hint="timm's is 224")
        check_coordinates(coordinates)
        pairs = head_dim // 2
        if sections is None and pairs % axes:
            raise ArgumentError(
                "sections",
                expected=f"pairs for each axis, since {axes} axes do not share {pairs} pairs equally",
                got=None,
                hint=f"for example {(pairs // axes,) * axes}, which leaves {head_dim - 2 * axes * (pairs // axes)} channels",
            )
        shares = (pairs // axes,) * axes if sections is None else check_sections(sections, pairs, exact=False)
        if len(shares) != axes:
            raise ArgumentError("sections", expected=f"one number for each of {axes} axes", got=shares, hint="check axes")
        if schedule == "dealt" and len(set(shares)) > 1:
            raise ArgumentError("sections", expected="equal sections with schedule='dealt'", got=shares, hint="leave it out")
        if order is not None and sorted(order) != list(range(axes)):
            raise ArgumentError("order", expected=f"each of {list(range(axes))} once", got=tuple(order), hint="(1, 0), say")
        if reference is not None:
            grid(*reference, reference=reference, coordinates=coordinates)  # raises where the two do not go together
        self._head_dim, self._layout, self._axes, self._base, self._rule = head_dim, layout, axes, base, schedule
        self._resolution, self._turns, self._coordinates = resolution, turns, coordinates
        self._sections = shares
        self._equal_sections = sections is None
        self._order = None if order is None else tuple(order)
        self._reference = None if reference is None else tuple(reference)
        self._frequencies = tuple(
            tuple((2 * math.pi if turns else 1.0) * f for f in self._schedule(axis, share)) for axis, share in enumerate(shares)
        )
        owners = [axis for axis in (order or range(axes)) for _ in range(shares[axis])]
        radians = [frequency for axis in (order or range(axes)) for frequency in self._frequencies[axis]]
        self._own = AxisFrequencies(owners, radians)

    # Settings are read-only: an edited one would silently disagree with what was computed from it.
    head_dim = property(lambda self: self._head_dim, doc="Channels D of a head.")
    layout = property(lambda self: self._layout, doc="Which channels make a pair.")
    axes = property(lambda self: self._axes, doc="Numbers in a position.")
    sections = property(lambda self: self._sections, doc="Pairs of each axis, in the order of the positions.")
    base = property(lambda self: self._base, doc='Base of the schedules "own" and "dealt".')
    schedule = property(lambda self: self._rule, doc="Name of the frequency schedule.")
    resolution = property(lambda self: self._resolution, doc='Of the schedules "linear" and "octaves".')
    turns = property(lambda self: self._turns, doc="Whether frequencies are in turns instead of radians.")
    order = property(lambda self: self._order, doc="In which order the axes' pairs stand in the head.")
    coordinates = property(lambda self: self._coordinates, doc="What `positions` makes of a grid.")
    reference = property(lambda self: self._reference, doc="Size of the grid that the model was trained on.")

    @classmethod
    def named(cls, convention: str, head_dim: int, **changes: Any) -> AxialRotary:
        """The encoding as a published family has it, with any setting changed by name.

        Args:
            convention: a key of `AXIAL_CONVENTIONS`: "qwen2-vl", "pixtral", "dinov3", "eva02", "rope-vit", "llama4", "flux"
                (also Qwen-Image's; positions from `indices.text_and_image`), "wan" (positions from `indices.grid` of frames,
                height and width), "timm-pixel".
            head_dim: channels D of a head.
            changes: arguments of the class, for example reference=(16, 16) for EVA-02 at another resolution.

        Raises:
            ArgumentError: an unknown name.

        >>> AxialRotary.named("pixtral", 64)
        AxialRotary(64, layout='half', schedule='dealt')
        """
        check_choice("convention", convention, sorted(AXIAL_CONVENTIONS), hint="or give the settings themselves")
        settings = AXIAL_CONVENTIONS[convention] | changes
        if callable(settings.get("sections")):
            settings["sections"] = settings["sections"](head_dim // 2)
        return cls(head_dim, **settings)

    def frequencies(self) -> tuple[tuple[float, ...], ...]:
        """Radians per unit of the coordinate, for each axis in the order of the positions."""
        return self._frequencies

    def positions(self, *size: int, prefix: int = 0, device: torch.device | str | None = None) -> Tensor:
        """Positions [prefix + patches, A] of a grid in this encoding's own coordinates; see `indices.grid`.

        >>> AxialRotary.named("dinov3", 64).positions(1, 2).tolist()
        [[0.0, -0.5], [0.0, 0.5]]
        """
        return grid(*size, coordinates=self.coordinates, reference=self.reference, prefix=prefix, device=device)

    def _schedule(self, axis: int, pairs: int) -> list[float]:
        base, rule, resolution = self._base, self._rule, self._resolution or 0.0
        if rule == "own":
            return [float(base) ** (-pair / pairs) for pair in range(pairs)]
        if rule == "dealt":
            total = sum(self.sections)
            return [float(base) ** (-pair / total) for pair in range(axis, total, self.axes)]
        steps = [pair / max(pairs - 1, 1) for pair in range(pairs)]
        if rule == "linear":
            return [math.pi * (1 + (resolution / 2 - 1) * step) for step in steps]
        return [math.pi * (resolution / 2) ** step for step in steps]

    def _passed(self) -> dict[str, Any]:
        return {"sections": None if self._equal_sections else self.sections}
