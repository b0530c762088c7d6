"""Position encodings: each one class, exact in float64 angles, a function of positions that the caller gives."""

from ordinate.position import frequencies, indices
from ordinate.position.absolute import LearnedTable, NoPosition, Sinusoidal
from ordinate.position.catalogue import ENCODINGS, build
from ordinate.position.distance_bias import ALiBi, alibi_slopes
from ordinate.position.rotary import Rotary
from ordinate.position.rotation import rotate_pairs

__all__ = [
    "ENCODINGS",
    "ALiBi",
    "LearnedTable",
    "NoPosition",
    "Rotary",
    "Sinusoidal",
    "alibi_slopes",
    "build",
    "frequencies",
    "indices",
    "rotate_pairs",
]
