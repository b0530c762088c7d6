"""D21. The article: 973 gates might share an iCE40 UltraPlus with a soft processor, 12,207 gates do not fit.

What varies is the number of gates, of circuits that were trained. The chip, an up5k, has 5,280 logic cells of one four-input
table each. The gates are simplified and mapped into such tables here, without other tools; with --full, the smaller circuit is
also placed and routed by yosys and nextpnr-ice40 with its counting, comparing and input, and simulated by iverilog.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ordinate.articles.d.logic_digits import digits_for, one_thread
from ordinate.articles.d.trained_gates import trained_circuit
from ordinate.errors import MissingExtraError
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.logic import Circuit
from ordinate.logic.chip.chips import CHIPS
from ordinate.logic.chip.fpga import FpgaReport, build
from ordinate.logic.export.lut_mapping import LutNetwork, map_luts

__all__ = ["CLAIM", "chip", "measure"]

CLAIM = Claim(
    id="D21",
    title="On a small chip",
    place="D323-327",
    statement=(
        "973 gates might share a Lattice iCE40 UltraPlus (2,800 to 5,280 LUTs) with a soft core such as PicoRV32; "
        "12,207 gates do not fit."
    ),
    setup="other data",
    setup_detail="circuits of about so many gates, trained on 8 by 8 digits; no processor is placed beside them",
    varies="the number of gates",
    band="at least 1,000 of 5,280 cells left; more than 5,280 needed",
    budget_seconds=15,
)

LOGIC_CELLS = CHIPS["up5k"].logic_cells
_ARTICLE_GATES = (973, 12_207)
_PROCESSOR = 1_000  # cells that must be left; SERV, the smallest RISC-V core, takes a few hundred
_CHECKED = 2_000


@one_thread()
def measure(inputs: Inputs) -> Measurement:
    """Claim D21 by mapping, or with --full by placing and routing too; networks are as large as leaves the article's gates."""
    data = digits_for(replace(inputs, full=False))
    small, large = (trained_circuit(gates, data, inputs.seeds[0])[0] for gates in (2_040, 23_000))
    if not inputs.full:
        return chip(small, large)
    with tempfile.TemporaryDirectory() as folder:
        try:
            return chip(small, large, placed=build(small.simplify(), Path(folder)))
        except MissingExtraError as missing:
            return chip(small, large, missing=str(missing))


def chip(
    small: Circuit,
    large: Circuit,
    *,
    mapped: Callable[[Circuit], LutNetwork] = map_luts,
    placed: FpgaReport | None = None,
    missing: str = "asked for with --full",
) -> Measurement:
    """Claim D21 for any two circuits.

    Args:
        small: the one that shares the chip.
        large: the one that does not fit.
        mapped: maps a circuit into four-input tables.
        placed: of the small circuit, where tools were asked for and found.
        missing: why it was not placed.
    """
    luts, simplified, wrong = [], [], 0
    for circuit in (small, large):
        network = mapped(circuit.simplify(sat=False))
        luts.append(len(network.luts))
        simplified.append(network.circuit.num_gates)
        again = network.to_circuit()
        bits = np.random.default_rng(0).random((_CHECKED, circuit.num_inputs)) < 0.4
        wrong += int((again.count(bits) + again.bias != circuit.count(bits) + circuit.bias).any(-1).sum())
    checks = [
        Check.at_least(f"cells left beside the tables of {simplified[0]:,} gates", LOGIC_CELLS - luts[0], _PROCESSOR),
        Check.at_least(f"tables of {simplified[1]:,} gates, of {LOGIC_CELLS:,}", luts[1], LOGIC_CELLS + 1),
        *(
            Check.near(f"gates of the {name} circuit after simplification", left, gates, gates / 10, role=Role.CONTROL)
            for name, left, gates in zip(("small", "large"), simplified, _ARTICLE_GATES, strict=True)
        ),
        Check.at_most(f"images of {_CHECKED:,} whose scores the mapping changes", wrong, 0, role=Role.CONTROL),
    ]
    if placed is not None:
        checks += [
            Check.at_least("cells left after placing and routing", LOGIC_CELLS - (placed.logic_cells or 0), _PROCESSOR),
            Check.at_least("clock after routing", placed.max_mhz or 0, 12, unit="MHz", role=Role.GENERALISATION),
            Check.at_most(f"wrong classes of {placed.netlist_simulated:,} in simulation", placed.wrong, 0, role=Role.CONTROL),
        ]
    routed = (
        f"; placed and routed {placed.logic_cells:,} cells at {placed.max_mhz or 0:.0f} MHz, "
        f"{(placed.images_per_second or 0) / 1e3:.0f} thousand images a second"
        if placed is not None
        else ""
    )
    return Measurement(
        checks=checks,
        key_figure=f"{simplified[0]:,} gates: {luts[0]:,} of {LOGIC_CELLS:,} tables; "
        f"{simplified[1]:,} gates: {luts[1]:,}{routed}",
        meaning={
            Verdict.REPRODUCED: f"A table of four inputs takes {simplified[0] / max(1, luts[0]):.2f} two-input gates of a "
            f"trained network on average, so {simplified[0]:,} gates leave {LOGIC_CELLS - luts[0]:,} cells and "
            f"{simplified[1]:,} need {luts[1]:,}. Beside the gates a chip needs cells to count the votes, to compare the "
            "classes and to take the image in through few pins; only placing and routing counts them all, and a small circuit "
            "still leaves room for a small processor. A large one fails on its gates alone.",
        },
        inputs=f"two layers of gates trained on 8 by 8 digits enlarged to 28 by 28, {small.num_gates:,} and "
        f"{large.num_gates:,}; an up5k has {LOGIC_CELLS:,} logic cells",
        tables=[
            Table(
                "Four-input tables",
                ("gates", "gates after simplifying", "tables", "of the chip, %"),
                [
                    (circuit.num_gates, left, count, 100 * count / LOGIC_CELLS)
                    for circuit, left, count in zip((small, large), simplified, luts, strict=True)
                ],
            )
        ],
        figures=[_picture(simplified, luts)],
        untested=[] if placed is not None else [("placing and routing", missing)],
    )


def _picture(gates: list[int], luts: list[int]) -> Figure:
    with canvas(height=1.9) as (figure, axes):
        axes.barh([f"{count:,} gates" for count in gates], luts, 0.5, color=SERIES[0]["color"])
        axes.axvline(LOGIC_CELLS, color="#1b1c1e", linewidth=0.9, linestyle=":")
        axes.set(title="Tables needed for the gates alone", xlabel=f"four-input tables; dotted, the chip's {LOGIC_CELLS:,}")
        axes.invert_yaxis()
        axes.grid(axis="x")
    return Figure(
        "tables",
        to_svg(figure),
        caption="Four-input tables that the gates need; dotted, how many the chip has.",
        alt="Two horizontal bars: the smaller circuit ends far left of the dotted line, the larger far right of it.",
    )
