"""Which way round a matrix is, proved from totals that were counted apart from it.

Reconstructions publish, beside the matrix, how many synapses each neuron makes and receives in all, to any partner. A matrix
holds only those among the neurons it lists, so what it says a neuron sends never exceeds what the neuron makes, and likewise
for receiving. Read the wrong way round, hundreds of rows break this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.errors import DataError

__all__ = ["Orientation", "prove_orientation"]


@dataclass(frozen=True)
class Orientation:
    """How a matrix stands to independent totals.

    Args:
        compared: neurons that have totals.
        row_excess: neurons whose row sum exceeds their total output: 0 where rows are presynaptic.
        column_excess: neurons whose column sum exceeds their total input.
        transposed_row_excess: neurons whose row sum exceeds their total input: 0 where the matrix is transposed.
        transposed_column_excess: neurons whose column sum exceeds their total output.
    """

    compared: int
    row_excess: int
    column_excess: int
    transposed_row_excess: int
    transposed_column_excess: int

    @property
    def fits(self) -> bool:
        """Whether no neuron contradicts rows being presynaptic."""
        return self.row_excess == self.column_excess == 0

    @property
    def fits_transposed(self) -> bool:
        """Whether no neuron contradicts rows being postsynaptic."""
        return self.transposed_row_excess == self.transposed_column_excess == 0

    @property
    def proved(self) -> bool:
        """Whether the totals allow this reading and rule out the other."""
        return self.fits and not self.fits_transposed


def prove_orientation(
    weights: Any, *, outputs: npt.ArrayLike, inputs: npt.ArrayLike, source: str = "weights", refuse: bool = True
) -> Orientation:
    """Show from independent totals that rows are presynaptic.

    Args:
        weights: [N, N], counts.
        outputs: all synapses each neuron makes, [N]; NaN where unknown.
        inputs: all synapses each neuron receives, [N]; NaN where unknown.
        source: the file, for messages.
        refuse: whether a matrix that does not fit raises.

    Raises:
        DataError: a transposed matrix, or totals that fit neither way, while `refuse`.

    >>> prove_orientation([[0, 5], [1, 0]], outputs=[6, 2], inputs=[1, 5]).proved
    True
    """
    matrix = sparse.csr_array(weights)
    makes, receives = np.asarray(outputs, dtype=float), np.asarray(inputs, dtype=float)
    known = ~(np.isnan(makes) | np.isnan(receives))
    sent = np.asarray(matrix.sum(axis=1)).ravel()[known]
    got = np.asarray(matrix.sum(axis=0)).ravel()[known]
    makes, receives = makes[known], receives[known]
    orientation = Orientation(
        compared=int(known.sum()),
        row_excess=int((sent > makes).sum()),
        column_excess=int((got > receives).sum()),
        transposed_row_excess=int((sent > receives).sum()),
        transposed_column_excess=int((got > makes).sum()),
    )
    if refuse and not orientation.fits:
        if orientation.fits_transposed:
            raise DataError(
                source,
                expected="rows that are presynaptic",
                got=f"a transposed matrix: {orientation.row_excess} row sums exceed the outputs counted, none do the other way",
                hint="transpose it, or fetch the file again",
            )
        raise DataError(
            source,
            expected="sums within the counted totals of inputs and outputs",
            got=f"{orientation.row_excess} row sums above outputs, {orientation.column_excess} column sums above inputs",
            hint="the matrix and the totals are of different neurons or versions: fetch them again",
        )
    return orientation
