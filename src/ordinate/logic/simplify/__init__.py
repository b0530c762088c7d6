"""Smaller circuits with the same scores, and the proof that they are the same.

`passes` are the single steps and their repetition, `sat_sweeping` merges what a SAT solver proves equal, `equivalence` compares
two circuits on every input. All work on the netlist of `ordinate.logic.circuit.netlist`.
"""

from __future__ import annotations

from ordinate.logic.simplify.equivalence import Equivalence, equivalent
from ordinate.logic.simplify.passes import (
    PASSES,
    Simplified,
    absorb,
    dead_code_elimination,
    fold,
    sat_sweeping,
    simplify,
    structural_hashing,
)

__all__ = [
    "PASSES",
    "Equivalence",
    "Simplified",
    "absorb",
    "dead_code_elimination",
    "equivalent",
    "fold",
    "sat_sweeping",
    "simplify",
    "structural_hashing",
]
