"""A connectome in one picture: synapses between kinds, and who carries the leading mode. Plain matplotlib without a window."""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinate.reservoir.connectome import Connectome
from ordinate.reservoir.summary import Summary

__all__ = ["summary_figure"]

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
    shown = np.where(between > 0, between, np.nan)
    picture = left.imshow(shown, norm=LogNorm(vmin=1, vmax=max(2.0, float(between.max()))), cmap="viridis")
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
