"""Inverse frequencies of rotary encodings and every scaling of them, in plain float64 arithmetic.

A scaling is a frozen record and a pure function of its settings and of the length of the row; nothing depends on what was
computed before. Nothing here imports torch, because the encodings of `ordinate.position` and the reader of configs, which must
start quickly, need the same numbers.

Sources: Su et al. 2021, arXiv 2104.09864 (RoPE); Chen et al. 2023, arXiv 2306.15595 (interpolation); bloc97 2023 (NTK-aware
and dynamic NTK); Peng et al. 2023, arXiv 2309.00071 (YaRN); Ding et al. 2024, arXiv 2402.13753 (LongRoPE); Llama team 2024,
arXiv 2407.21783 (Llama 3); Barbero et al. 2024, arXiv 2410.06205 (p-RoPE); Li et al. 2026, arXiv
2602.05258 (clipped RoPE).
"""

from ordinate.frequencies.by_parts import Llama3, YaRN
from ordinate.frequencies.interpolation import Clipped, DynamicNTK, Linear, NTKAware, Proportional, SteppedNTK
from ordinate.frequencies.longrope import LongRoPE
from ordinate.frequencies.scaling import Scaling
from ordinate.frequencies.schedule import check_base, check_rotary_dim, inverse_frequencies, needs_re_rotation

__all__ = [
    "SCALINGS",
    "Clipped",
    "DynamicNTK",
    "Linear",
    "Llama3",
    "LongRoPE",
    "NTKAware",
    "Proportional",
    "Scaling",
    "SteppedNTK",
    "YaRN",
    "check_base",
    "check_rotary_dim",
    "inverse_frequencies",
    "needs_re_rotation",
]

SCALINGS: dict[str, type[Scaling]] = {
    "linear": Linear,
    "ntk": NTKAware,
    "dynamic": DynamicNTK,
    "stepped-ntk": SteppedNTK,
    "yarn": YaRN,
    "longrope": LongRoPE,
    "llama3": Llama3,
    "proportional": Proportional,
    "clipped": Clipped,
}
