"""Golden vectors: what every encoding gives for a few positions, and what makes positions, in a form that any language reads.

`docs/golden.md` describes the format; `examples/golden/` reads it in C and in plain Python.
"""

from ordinate.verify.golden.cases import CASES, Case
from ordinate.verify.golden.positions import POSITION_CASES, POSITION_SCHEMA, PositionCase, position_vectors
from ordinate.verify.golden.vectors import SCHEMA, vectors

__all__ = ["CASES", "POSITION_CASES", "POSITION_SCHEMA", "SCHEMA", "Case", "PositionCase", "position_vectors", "vectors"]
