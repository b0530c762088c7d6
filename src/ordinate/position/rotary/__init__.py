"""Rotary encodings: queries and keys turned by angles that depend on their positions."""

from ordinate.position.rotary.axial import AXIAL_CONVENTIONS, AxialRotary
from ordinate.position.rotary.by_head import MultiHeadRotary
from ordinate.position.rotary.layouts import convert_layout, layout_order
from ordinate.position.rotary.learned import LearnedRotary
from ordinate.position.rotary.mixed_axes import MixedRotary
from ordinate.position.rotary.multimodal import MultimodalRotary
from ordinate.position.rotary.pope import PoPE
from ordinate.position.rotary.rotation import PairRotation, angle_tables, rotate_pairs
from ordinate.position.rotary.single_axis import Rotary
from ordinate.position.rotary.xpos import XPos

__all__ = [
    "AXIAL_CONVENTIONS",
    "AxialRotary",
    "LearnedRotary",
    "MixedRotary",
    "MultiHeadRotary",
    "MultimodalRotary",
    "PairRotation",
    "PoPE",
    "Rotary",
    "XPos",
    "angle_tables",
    "convert_layout",
    "layout_order",
    "rotate_pairs",
]
