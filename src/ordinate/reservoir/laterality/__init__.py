"""Left against right: does a stimulus on one side reach the output cells of the other?"""

from ordinate.reservoir.laterality.experiment import Laterality, NullComparison, Sweep, laterality, sweep
from ordinate.reservoir.laterality.measures import Carriers, Pairs, carriers, crossing_index, pairs, side_bias, two_by_two

__all__ = [
    "Carriers",
    "Laterality",
    "NullComparison",
    "Pairs",
    "Sweep",
    "carriers",
    "crossing_index",
    "laterality",
    "pairs",
    "side_bias",
    "sweep",
    "two_by_two",
]
