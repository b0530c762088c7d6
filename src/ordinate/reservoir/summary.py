"""What a connectome holds, in numbers: size, sides, kinds, gain, and who carries its leading mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinate.reservoir.connectome import SIDES, Connectome
from ordinate.reservoir.spectrum import LeadingMode, leading_mode, spectral_radius

__all__ = ["Summary", "summarise"]


@dataclass(frozen=True, eq=False)
class Summary:
    """What a connectome holds.

    Args:
        name: of the connectome.
        neurons: N.
        edges: ordered pairs with a weight.
        synapses: the sum of all weights.
        self_loops: edges from a neuron to itself.
        no_outputs: neurons that send to nobody.
        no_inputs: neurons that nobody sends to.
        sides: neurons of each side.
        pairs: homologous pairs.
        kinds: for each kind, "" for those without one, its neurons on each side.
        synapses_crossing: the share of synapses between neurons of known sides that go to the other side; NaN without sides.
        spectral_radius: the largest absolute eigenvalue of the directed matrix.
        leading: who carries the leading mode; None for a matrix without cycles.
        assumptions: what the data do not say.
    """

    name: str
    neurons: int
    edges: int
    synapses: float
    self_loops: int
    no_outputs: int
    no_inputs: int
    sides: Mapping[str, int]
    pairs: int
    kinds: Mapping[str, Mapping[str, int]]
    synapses_crossing: float
    spectral_radius: float
    leading: LeadingMode | None
    assumptions: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        told = {name: value for name, value in self.__dict__.items() if name != "leading"}
        crossing = self.synapses_crossing
        told["synapses_crossing"] = None if np.isnan(crossing) else crossing
        told["assumptions"] = list(self.assumptions)
        told["leading_mode"] = None
        if self.leading is not None:
            eigenvalue = self.leading.eigenvalue
            told["leading_mode"] = {
                "eigenvalue": [eigenvalue.real, eigenvalue.imag],
                "num_carriers": self.leading.num_carriers,
                "by_kind": dict(self.leading.by_kind),
                "by_side": dict(self.leading.by_side),
            }
        return told


def summarise(connectome: Connectome) -> Summary:
    """Count what a connectome holds, and solve for its leading mode.

    >>> told = summarise(Connectome.synthetic())
    >>> told.neurons, told.pairs, told.kinds["ascending"]
    (100, 50, {'left': 4, 'right': 4, 'unknown': 0})
    """
    weights = abs(connectome.weights.astype(np.float64))
    sent, received = np.asarray(weights.sum(axis=1)).ravel(), np.asarray(weights.sum(axis=0)).ravel()
    known = [np.flatnonzero(connectome.side == side) for side in ("left", "right")]
    between = np.array([[weights[one][:, other].sum() for other in known] for one in known])
    radius = spectral_radius(connectome.weights)
    kinds = sorted(set(connectome.kind.tolist()), key=lambda kind: (-int((connectome.kind == kind).sum()), kind))
    return Summary(
        name=connectome.name,
        neurons=connectome.num_neurons,
        edges=connectome.num_edges,
        synapses=connectome.num_synapses,
        self_loops=int((weights.diagonal() > 0).sum()),
        no_outputs=int((sent == 0).sum()),
        no_inputs=int((received == 0).sum()),
        sides={side: int((connectome.side == side).sum()) for side in SIDES},
        pairs=int((connectome.mate >= 0).sum()) // 2,
        kinds={
            kind: {side: int(((connectome.kind == kind) & (connectome.side == side)).sum()) for side in SIDES} for kind in kinds
        },
        synapses_crossing=float((between[0, 1] + between[1, 0]) / between.sum()) if between.sum() else float("nan"),
        spectral_radius=radius,
        leading=leading_mode(connectome) if radius else None,
        assumptions=connectome.assumptions,
    )
