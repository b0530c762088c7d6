"""A connectome drives a fly with nothing scaled in between: both ways of normalising, both ways of reading the matrix.

`drive` scales its commands so that any brain that tells left from right steers. Here the mean activity of the output
cells of each side goes to the legs as it is, so that a brain whose output cells are nearly silent leaves the fly where
it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ordinate.arguments import check_number
from ordinate.errors import RefusedError
from ordinate.reservoir.body.drive import Brain, Drive, Schedule, drive
from ordinate.reservoir.body.kinematic import Body
from ordinate.reservoir.connectome.connectome import Connectome

__all__ = ["NORMALISATIONS", "STIMULATED", "Episode", "episodes"]

NORMALISATIONS = ("spectral_radius", "output")
"""One factor for all weights, or one for each neuron's outputs ("row normalisation")."""

STIMULATED = {"left": (1.0, 0.0), "right": (0.0, 1.0), "both": (1.0, 1.0)}


@dataclass(frozen=True)
class Episode:
    """What one stimulus did, in one reading of the connectome.

    Args:
        stimulus: the cells that sensed; side: "left", "right" or "both", the sides of them that were held at 1.
        normalisation: of `NORMALISATIONS`.
        backwards: whether signals ran from postsynaptic to presynaptic cells.
        left, right: mean activity of the output cells of each side at the end, which is the drive of the legs.
        turned_degrees: of the fly, to the left; walked_mm: its way.
        refused: why nothing could be driven, or "".
    """

    stimulus: str
    side: str
    normalisation: str
    backwards: bool
    left: float = 0.0
    right: float = 0.0
    turned_degrees: float = 0.0
    walked_mm: float = 0.0
    refused: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return asdict(self)


def episodes(
    connectome: Connectome,
    body: Callable[[], Body],
    *,
    stimuli: Sequence[str] = ("sensory",),
    readout: str = "descending",
    gain: float = 0.9,
    seconds: float = 2.0,
    axons: str = "same",
) -> tuple[Episode, ...]:
    """Every stimulus on the left, the right and both sides, by both normalisations, forwards and backwards.

    Args:
        connectome: with sides.
        body: makes one, at its start; it is closed afterwards.
        stimuli: which cells sense, queries without a side.
        readout: which cells command, a query without a side.
        gain: of the normalised weights; with "spectral_radius" it is the radius.
        seconds: of each walk.
        axons: as in `drive`.

    Raises:
        ArgumentError: settings out of range, or a query without cells on either side.

    >>> from ordinate.reservoir import KinematicFly
    >>> unscaled = episodes(Connectome.synthetic(), lambda: KinematicFly(0.05), seconds=0.5)
    >>> sorted({one.refused == "" for one in unscaled if not one.backwards})
    [True]
    """
    check_number("seconds", seconds, above=0)
    result = []
    for stimulus in stimuli:
        for normalisation in NORMALISATIONS:
            for backwards in (False, True):
                named = (normalisation, backwards)
                try:
                    brain = Brain(
                        connectome,
                        stimulus,
                        readout,
                        normalisation=normalisation,
                        gain=gain,
                        leak_rate=1.0,
                        backwards=backwards,
                    )
                except RefusedError as error:
                    result += [Episode(stimulus, side, *named, refused=str(error)) for side in STIMULATED]
                    continue
                for side, strengths in STIMULATED.items():
                    walker = body()
                    try:
                        walked: Drive = drive(
                            brain, walker, Schedule([(0.0, *strengths)]), seconds=seconds, axons=axons, scaled=False
                        )
                    finally:
                        walker.close()
                    left, right = (float(value) for value in walked.activity[-1])
                    result.append(Episode(stimulus, side, *named, left, right, walked.turned_degrees, walked.walked_mm))
    return tuple(result)
