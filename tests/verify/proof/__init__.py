"""The proof that the verifier works: every known fault caught and rightly named, every correct variant passed.

Three lists are checked: the library's own faults, in changing layouts, directions and orders of axes; faults written once
more, independently, as they stand in the field's code; and correct code in the field's shapes.
"""

from tests.verify.proof.run import Row, prove, prove_sizes, table_of

__all__ = ["Row", "prove", "prove_sizes", "table_of"]
