"""This package's own encodings, asked in the same way: the row that has to be clean."""

from __future__ import annotations

from collections.abc import Callable

from ordinate.frequencies import Llama3, YaRN
from ordinate.position import ALiBi, Rotary, Sinusoidal, T5Bias
from ordinate.verify.bias import check_bias
from ordinate.verify.embedding import check_embedding
from ordinate.verify.rotary import check_rotary
from ordinate.verify.verdict import Verdict

__all__ = ["OURS"]

YARN, LLAMA3 = YaRN(4.0, 4096), Llama3(8.0, 1.0, 4.0, 8192)

OURS: list[tuple[str, str, Callable[[], Verdict]]] = [
    ("ordinate", "Rotary, half", lambda: check_rotary(Rotary(64, layout="half"), layout="half", angles="float64")),
    ("ordinate", "Rotary, interleaved", lambda: check_rotary(Rotary(64, layout="interleaved"), angles="float64")),
    ("ordinate", "Rotary, YaRN", lambda: check_rotary(Rotary(64, layout="half", scaling=YARN), scaling=YARN)),
    ("ordinate", "Rotary, Llama 3", lambda: check_rotary(Rotary(64, layout="half", scaling=LLAMA3), scaling=LLAMA3)),
    ("ordinate", "Rotary, partial", lambda: check_rotary(Rotary(64, layout="half", rotary_dim=16), rotary_dim=16)),
    ("ordinate", "ALiBi, 12 heads", lambda: check_bias(ALiBi(12), num_heads=12)),
    ("ordinate", "T5Bias", lambda: check_bias(T5Bias(8), rule="t5", causal=False)),
    ("ordinate", "T5Bias.buckets", lambda: check_bias(T5Bias(8).buckets, rule="t5")),
    ("ordinate", "Sinusoidal", lambda: check_embedding(Sinusoidal(64))),
]
