"""D12. The article: the mushroom body dominates the spectral radius.

What varies is which cells are there. The leading mode, the pattern that recurrence keeps longest, is the left eigenvector
of the directed matrix of counts (activity moves as `x W`); a cell's share of it is its part of the squared length. If a
group of cells dominated the radius, it would carry the mode, and the radius would fall without it. Both are measured for
the mushroom body (Kenyon cells, its input, output, feedback and feed-forward neurons, as annotated) and for the local
neurons.

The chart of D12: who carries the leading mode, and what is left of the radius without some cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ordinate.articles.d.brain import Brain
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import GRID, INK, SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.reservoir import Connectome
from ordinate.reservoir.connectome.summary import leading_mode

__all__ = ["CLAIM", "GROUPS", "STAND_INS", "Group", "dominates", "measure", "picture"]

CLAIM = Claim(
    id="D12",
    title="Who dominates the radius",
    place="D130",
    statement="Parts with dense recurrent connections, such as the mushroom body, dominate the spectral radius.",
    remark='"Such as" has two readings, and both are measured: the mushroom body does, or some dense recurrent part does.',
    setup="same",
    setup_detail="with the larval connectome (--data), else a synthetic one",
    varies="which cells are there",
    band="at least half of the leading mode, and a radius at least a tenth smaller without them",
    budget_seconds=10,
)

GROUPS: Mapping[str, Sequence[str]] = {
    "mushroom body": ("KC", "MBIN", "MBON"),
    "mushroom body with feedback": ("KC", "MBIN", "MBON", "MB-FBN", "MB-FFN"),
    "local neurons": ("LN",),
}
"""Kinds of cell, as the annotations name them, by what they are together."""

STAND_INS: Mapping[str, Sequence[str]] = {"mushroom body": ("descending",), "local neurons": ("interneuron",)}
"""What is measured in their place on the synthetic connectome, which has neither."""


@dataclass(frozen=True)
class Group:
    """Some cells and the leading mode.

    Args:
        share: that they carry of it.
        radius_without: the spectral radius once they are taken out.
        cells: how many they are.
    """

    share: float
    radius_without: float
    cells: int


def measure(inputs: Inputs) -> Measurement:
    """Claim D12 on the larval connectome where it is found."""
    brain = Brain.from_inputs(inputs)
    groups = GROUPS if brain.real else STAND_INS
    return dominates(brain, groups)


def dominates(brain: Brain, groups: Mapping[str, Sequence[str]]) -> Measurement:
    """Claim D12 on any brain.

    Args:
        brain: whose counts are meant.
        groups: kinds of cell by name; "mushroom body" and "local neurons" must be among them.
    """
    mode = leading_mode(brain.connectome)
    result = {name: _group(brain.connectome, mode.by_kind, kinds) for name, kinds in groups.items()}
    body, local = result["mushroom body"], result["local neurons"]
    fall, fall_local = (1 - group.radius_without / mode.radius for group in (body, local))
    inside = np.isin(brain.connectome.kind, groups["local neurons"])
    denser = float(brain.connectome.weights[inside][:, inside].mean() / brain.connectome.weights.mean())
    symmetric = _by_a_symmetric_solver(brain.connectome)
    role = brain.role
    checks = [
        Check.at_least("share of the leading mode in the mushroom body, of 1", body.share, 0.5, role=role(Role.AS_STATED)),
        Check.at_least("fall of the radius without the mushroom body, of 1", fall, 0.1, role=role(Role.AS_STATED)),
        Check.at_least("share of the leading mode in the local neurons, of 1", local.share, 0.5, role=role(Role.DETAIL_FIXED)),
        Check.at_least("fall of the radius without the local neurons, of 1", fall_local, 0.1, role=role(Role.DETAIL_FIXED)),
        Check.at_least(
            "density of synapses among the local neurons, in densities of the brain", denser, 2, role=role(Role.DETAIL_FIXED)
        ),
        Check.at_most("share of the leading mode in Kenyon cells, of 1", mode.by_kind.get("KC", 0.0), 0.05, role=Role.LIMIT),
        Check.at_least(
            "error of a symmetric solver, of the true radius", abs(symmetric / mode.radius - 1), 0.1, role=Role.LIMIT
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=brain.marked(
            f"leading mode: {local.share:.0%} local neurons, {mode.by_kind.get('KC', 0.0):.1%} Kenyon cells; radius "
            f"{mode.radius:.2f}, {body.radius_without:.2f} without the mushroom body"
        ),
        meaning={
            Verdict.CORRECTED: "The mechanism is as described, the example is not. The spectral radius is "
            f"{mode.radius:.2f}, and {body.radius_without:.2f} without the {body.cells} cells of the mushroom body: it does "
            f"not depend on them. {local.share:.0%} of the leading mode lies in {local.cells} local neurons, most of them of "
            f"the antennal lobe, {mode.by_kind.get('KC', 0.0):.1%} in Kenyon cells; without the local neurons the radius "
            f"falls to {local.radius_without:.2f}. The mode is as if {mode.num_carriers:.0f} cells carried it evenly. What "
            f"dominates is a dense recurrent part, local neurons with {denser:.1f} times as many synapses among themselves "
            "as cells have on average. A solver for symmetric matrices, which reads one half of the matrix, would say "
            f"{symmetric:.0f}.",
            Verdict.NOT_TESTABLE: "The synthetic connectome has neither mushroom body nor antennal lobe; descending neurons "
            f"and interneurons stand in, to show the measurement: {body.share:.0%} and {local.share:.0%} of the leading mode.",
        },
        inputs=f"{brain.description}; counts of synapses as they are",
        tables=[
            Table(
                "Who carries the leading mode",
                ("kind of cell", "share", "cells"),
                [
                    (kind or "not annotated", share, int((brain.connectome.kind == kind).sum()))
                    for kind, share in list(mode.by_kind.items())[:10]
                ],
            ),
            Table(
                f"The radius without some cells; with all it is {mode.radius:.2f}",
                ("left out", "cells", "share of the mode", "radius"),
                [(name, group.cells, group.share, f"{group.radius_without:.2f}") for name, group in result.items()],
            ),
        ],
        figures=[picture(mode.by_kind, {name: group.radius_without for name, group in result.items()}, mode.radius)],
        untested=brain.untested,
    )


def _group(connectome: Connectome, by_kind: Mapping[str, float], kinds: Sequence[str]) -> Group:
    inside = np.isin(connectome.kind, kinds)
    without = connectome.restrict(np.flatnonzero(~inside)).spectral_radius()
    return Group(sum(by_kind.get(kind, 0.0) for kind in kinds), without, int(inside.sum()))


def _by_a_symmetric_solver(connectome: Connectome) -> float:
    """What `eigvalsh` would say of the directed matrix: it reads the lower half and takes the upper one for its mirror "
    "image."""
    from scipy import sparse
    from scipy.sparse import linalg

    counts = connectome.weights.astype(np.float64)
    read = sparse.tril(counts) + sparse.tril(counts, -1).T
    start = np.ones(connectome.num_neurons)
    return float(np.abs(linalg.eigsh(read.tocsr(), k=1, which="LM", v0=start, return_eigenvectors=False)).max())


def picture(by_kind: Mapping[str, float], without: Mapping[str, float], radius: float) -> Figure:
    """The chart.

    Args:
        by_kind: share of the leading mode by kind of cell, largest first.
        without: the radius without some cells, by their name.
        radius: with all.
    """
    groups_drawn = list(by_kind.items())[:8]
    with canvas(2, height=3.0, widths=(1.2, 1)) as (figure, (left, right)):
        left.barh(range(len(groups_drawn)), [share for _, share in groups_drawn], color=SERIES[0]["color"], height=0.7)
        left.set_yticks(range(len(groups_drawn)), [kind or "not annotated" for kind, _ in groups_drawn])
        left.set(title="Leading mode", xlabel="share of the squared length", xlim=(0, 1), ylim=(len(groups_drawn) - 0.4, -0.6))
        for place, (_, share) in enumerate(groups_drawn):
            left.annotate(f"{share:.1%}", (share, place), xytext=(4, 0), textcoords="offset points", va="center")
        names = list(without)
        right.barh(
            range(len(names)), list(without.values()), color=SERIES[1]["color"], hatch="//", edgecolor="white", height=0.6
        )
        right.axvline(radius, color=INK, linewidth=1.0, linestyle=":")
        right.set_yticks(range(len(names)), [f"without\n{name.replace(' with ', chr(10) + 'with ')}" for name in names])
        right.set(title="Spectral radius", xlabel="radius; dotted, with all cells", ylim=(len(names) - 0.4, -0.6))
        for axes in (left, right):
            axes.grid(axis="x", color=GRID)
    return Figure(
        "leading-mode",
        to_svg(figure),
        caption="Left, the share of each kind of cell in the leading mode of the directed matrix. Right, the spectral "
        "radius once some cells are taken out; dotted, the radius with all of them.",
        alt="Two panels of bars. Left, one kind of cell has by far the longest bar. Right, the bars without the mushroom "
        "body reach the dotted line, the one without local neurons stays far below it.",
    )
