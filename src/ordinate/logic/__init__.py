"""Networks of logic gates: trained by relaxation or grown, turned into circuits, proven, run, and put on a chip."""

from ordinate.logic.circuit import Circuit, Votes
from ordinate.logic.input_thresholds import InputThresholds

__all__ = ["Circuit", "InputThresholds", "Votes"]
