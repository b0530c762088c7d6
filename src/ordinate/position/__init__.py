"""Position encodings: each one class, exact in float64 angles, a function of positions that the caller gives."""

from ordinate.position import frequencies, indices
from ordinate.position.absolute import LearnedTable, NoPosition, Sinusoidal
from ordinate.position.alibi import ALiBi, alibi_slopes
from ordinate.position.buckets import T5Bias
from ordinate.position.catalogue import ENCODINGS, build
from ordinate.position.fire import FIRE
from ordinate.position.kernels import Kerple, Sandwich
from ordinate.position.rotary import Rotary
from ordinate.position.rotation import rotate_pairs

__all__ = [
    "ENCODINGS",
    "FIRE",
    "ALiBi",
    "Kerple",
    "LearnedTable",
    "NoPosition",
    "Rotary",
    "Sandwich",
    "Sinusoidal",
    "T5Bias",
    "alibi_slopes",
    "build",
    "frequencies",
    "indices",
    "rotate_pairs",
]
