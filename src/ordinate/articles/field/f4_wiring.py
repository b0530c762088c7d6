"""F4. Two papers on the fly's wiring: better than other graphs (Jin et al. 2026), or not under fair nulls (Dhiman 2026).

What varies is the graph: the connectome, random edges of the same number (a weak null), and a rewiring that keeps every degree
(a fair one). Here the graph is a reservoir, not a trained network: a read-out of its memory is all that is fitted, so neither
paper's experiment is repeated; the question that divides them, what a null must keep, is the same.
"""

from __future__ import annotations

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import canvas, rows_of_marks, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.reservoir import Connectome
from ordinate.reservoir.control import Control, control
from ordinate.reservoir.tasks.base import Size

__all__ = ["CLAIM", "measure", "wiring"]

CLAIM = Claim(
    id="F4",
    title="Fly wiring against fair nulls",
    place="Dhiman 2026, arXiv 2604.04033, abstract; Jin et al. 2026, arXiv 2602.17997, abstract",
    statement=(
        "Of networks constrained by a connectome one paper says that advantages over weak random nulls largely disappear under "
        "nulls that keep the degrees; another, that its connectome learns with better sample efficiency than other graphs."
    ),
    remark="Read as: against random edges the wiring differs, against a degree-preserving rewiring it does not.",
    setup="other data",
    setup_detail="a fixed reservoir's memory, on the larval brain where its files are, else on a synthetic connectome",
    varies="the graph: connectome, random edges, degree-preserving rewiring; five draws each, ten with --full",
    band="paired over draws, Holm-corrected at .05",
    budget_seconds=30,
)

_SIZE = Size(washout=50, train=300, validation=100, test=200)


def measure(inputs: Inputs) -> Measurement:
    """Claim F4 on the synthetic connectome, or on the larval one where its files are."""
    folder = inputs.data_folder("larval-drosophila")
    connectome = Connectome.synthetic() if folder is None else Connectome.larval_drosophila(folder)
    draws = 10 if inputs.full else 5
    wirings = ("random", "rewired")
    compared = control(
        connectome, "memory", draws=draws, few=True, seed=inputs.seeds[0], wirings=wirings, baselines=(), size=_SIZE
    )
    return wiring(compared, real=folder is not None)


def wiring(compared: Control, *, real: bool) -> Measurement:
    """Claim F4 on any comparison with "random" and "rewired"; its checks carry no weight, as the papers train networks."""
    contrast = {one.other: one for one in compared.contrasts}
    stated = Role.LIMIT  # the papers train networks; a reservoir is fixed
    spread = max(compared.scores["wiring"]) - min(compared.scores["wiring"])
    checks = [
        Check.at_most("p that random edges do as well, Holm-corrected", contrast["random"].p_adjusted, 0.05, role=stated),
        Check.at_least("p that a rewiring does as well, Holm-corrected", contrast["rewired"].p_adjusted, 0.05, role=stated),
        Check.at_least("memory of the wiring, mean over draws", contrast["random"].mean, 1.0, role=Role.CONTROL),
        Check.at_least("spread of the wiring's scores over draws", spread, 1e-6, role=Role.CONTROL),
    ]
    said = "; ".join(
        f"{name}: {one.mean:.2f} against {one.other_mean:.2f}, p {one.p_adjusted:.2g}, {one.verdict}"
        for name, one in contrast.items()
    )
    return Measurement(
        checks=checks,
        key_figure=("" if real else "on the synthetic connectome, no brain: ") + said,
        meaning={
            Verdict.NOT_TESTABLE: "Both papers train networks in simulators that are not here; neither is judged. As a fixed "
            f"reservoir the {'larval' if real else 'synthetic'} wiring compares like this: {said}. "
            + (
                "What differs from a rewiring with all its degrees is more than degrees; whether a trained network gains "
                "from it is another question."
                if contrast["rewired"].p_adjusted < 0.05
                else "What a random graph lacks, a rewiring with the same degrees has: the weak null shows the degrees."
            )
            + ("" if real else " And a drawn connectome says nothing of a fly: `--data DIR` measures the larval brain."),
        },
        inputs=f"{compared.connectome}; memory capacity of a read-out of at most 100 neurons, {compared.draws} draws of input "
        "weights, data and null models",
        tables=[
            Table(
                "The wiring against others",
                ("against", "wiring", "other", "difference", "95 % from", "to", "p, Holm", "verdict"),
                [
                    (name, one.mean, one.other_mean, one.difference, one.lower, one.upper, one.p_adjusted, one.verdict)
                    for name, one in contrast.items()
                ],
            )
        ],
        figures=[_picture(compared)],
        untested=() if real else (("the larval brain", "run with --data DIR that holds larval-drosophila"),),
    )


def _picture(compared: Control) -> Figure:
    with canvas(1, height=2.2, width=5.4) as (figure, axes):
        rows_of_marks(axes, compared.scores, "memory capacity")
    return Figure(
        "memory",
        to_svg(figure),
        caption=f"Memory of {compared.connectome} and of two kinds of null models, a mark a draw.",
        alt="; ".join(f"{name}: " + ", ".join(f"{value:.2f}" for value in values) for name, values in compared.scores.items()),
    )
