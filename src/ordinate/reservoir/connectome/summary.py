"""What a connectome holds, in numbers and in one picture: size, sides, kinds, gain, and who carries its leading mode.

The picture is plain matplotlib without a window, imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.errors import RefusedError
from ordinate.records import plain
from ordinate.reservoir.connectome.connectome import SIDES, Connectome
from ordinate.reservoir.connectome.spectrum import cyclic_components, in_range, leading_pair, spectral_radius

__all__ = ["LeadingMode", "Summary", "leading_mode", "summarise", "summary_figure"]


@dataclass(frozen=True, eq=False)
class LeadingMode:
    """Who carries the leading mode of a connectome: the pattern of activity that recurrence keeps longest.

    Args:
        eigenvalue: λ of `v W = λ v`.
        shares: of each neuron, `|v_i|^2 / sum |v|^2`, [N].
        by_kind: of each kind ("" for neurons without one), largest first.
        by_side: of left, right and unknown.
        num_carriers: how many neurons carry it, as a participation ratio `1 / sum shares^2`.
    """

    eigenvalue: complex
    shares: npt.NDArray[np.float64]
    by_kind: Mapping[str, float]
    by_side: Mapping[str, float]
    num_carriers: float

    @property
    def radius(self) -> float:
        """The spectral radius."""
        return abs(self.eigenvalue)


def leading_mode(connectome: Connectome) -> LeadingMode:
    """Report which neurons, kinds and sides carry the leading mode.

    Activity moves as `x W`, so the pattern that it settles into is the left eigenvector, `v W = λ v`; a neuron's share is its
    part of the squared length.

    Args:
        connectome: N neurons, with any weights.

    Raises:
        RefusedError: a connectome without cycles, which has no such mode.

    >>> mode = leading_mode(Connectome.synthetic())
    >>> mode.radius.__round__(3), next(iter(mode.by_kind))
    (23.191, 'interneuron')
    """
    matrix, exponent = in_range(sparse.csr_array(connectome.weights.T).astype(np.float64))
    if not cyclic_components(matrix):
        raise RefusedError(
            "connectome", expected="a matrix with a cycle", got="a nilpotent one, whose radius is 0", hint="look at its edges"
        )
    eigenvalue, vector = leading_pair(matrix, True)
    if exponent:
        eigenvalue = complex(np.ldexp(eigenvalue.real, exponent), np.ldexp(eigenvalue.imag, exponent))
    squared = np.abs(np.asarray(vector)) ** 2
    shares = squared / squared.sum()

    def grouped(words: npt.NDArray[np.str_]) -> dict[str, float]:
        distinct, member = np.unique(words, return_inverse=True)
        sums = dict(zip(distinct.tolist(), np.bincount(member, weights=shares).tolist(), strict=True))
        return dict(sorted(sums.items(), key=lambda pair: -pair[1]))

    return LeadingMode(eigenvalue, shares, grouped(connectome.kind), grouped(connectome.side), float(1 / (shares**2).sum()))


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
        record = {name: value for name, value in self.__dict__.items() if name != "leading"}
        leading = self.leading
        record["leading_mode"] = leading and {
            "eigenvalue": [leading.eigenvalue.real, leading.eigenvalue.imag],
            "num_carriers": leading.num_carriers,
            "by_kind": leading.by_kind,
            "by_side": leading.by_side,
        }
        return {name: plain(value) for name, value in record.items()}


def summarise(connectome: Connectome) -> Summary:
    """Count what a connectome holds, and solve for its leading mode.

    >>> summary = summarise(Connectome.synthetic())
    >>> summary.neurons, summary.pairs, summary.kinds["ascending"]
    (100, 50, {'left': 4, 'right': 4, 'unknown': 0})
    """
    weights = abs(connectome.weights.astype(np.float64))
    sent, received = np.asarray(weights.sum(axis=1)).ravel(), np.asarray(weights.sum(axis=0)).ravel()
    known = [np.flatnonzero(connectome.side == side) for side in ("left", "right")]
    between = np.array([[weights[one][:, other].sum() for other in known] for one in known])
    radius = spectral_radius(connectome.weights)
    distinct, kind_of, times = np.unique(connectome.kind, return_inverse=True, return_counts=True)
    by_side = np.stack([np.bincount(kind_of[connectome.side == side], minlength=distinct.size) for side in SIDES], axis=1)
    order = np.argsort(-times, kind="stable")
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
        kinds={str(distinct[at]): dict(zip(SIDES, by_side[at].tolist(), strict=True)) for at in order},
        synapses_crossing=float((between[0, 1] + between[1, 0]) / between.sum()) if between.sum() else float("nan"),
        spectral_radius=radius,
        leading=leading_mode(connectome) if radius else None,
        assumptions=connectome.assumptions,
    )


_MOST_KINDS = 18


def summary_figure(connectome: Connectome, summary: Summary) -> Any:
    """A figure of two panels.

    Left: synapses from each kind (rows, presynaptic) to each kind (columns, postsynaptic), on a logarithmic scale. Right: each
    kind's share of the neurons beside its share of the leading mode.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    kinds = list(summary.kinds)[:_MOST_KINDS]
    names = [kind or "(no kind)" for kind in kinds]
    weights = abs(connectome.weights.astype(np.float64))
    members = [np.flatnonzero(connectome.kind == kind) for kind in kinds]
    between = np.array([[weights[one][:, other].sum() for other in members] for one in members])
    figure = Figure(figsize=(11.5, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    visible = np.where(between > 0, between, np.nan)
    picture = left.imshow(visible, norm=LogNorm(vmin=1, vmax=max(2.0, float(between.max()))), cmap="viridis")
    left.set_xticks(range(len(kinds)), names, rotation=90, fontsize=8)
    left.set_yticks(range(len(kinds)), names, fontsize=8)
    left.set_xlabel("to (postsynaptic)")
    left.set_ylabel("from (presynaptic)")
    left.set_title(f"{summary.neurons:,} neurons, {summary.edges:,} edges, {summary.synapses:,.0f} synapses", fontsize=10)
    figure.colorbar(picture, ax=left, label="synapses", shrink=0.8)
    at = np.arange(len(kinds))
    share = np.array([one.size for one in members]) / summary.neurons
    right.barh(at - 0.2, share, height=0.38, color="#56b4e9", hatch="//", edgecolor="white", label="of the neurons")
    if summary.leading is not None:
        carried = [summary.leading.by_kind.get(kind, 0.0) for kind in kinds]
        right.barh(at + 0.2, carried, height=0.38, color="#d55e00", label="of the leading mode")
    right.set_yticks(at, names, fontsize=8)
    right.invert_yaxis()
    right.set_xlabel("share")
    right.set_title(f"spectral radius {summary.spectral_radius:.2f}", fontsize=10)
    right.legend(frameon=False, fontsize=8)
    return figure
