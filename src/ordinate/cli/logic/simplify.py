"""`ordinate logic simplify`: a smaller circuit with the same scores, and the proof that they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ordinate.cli.logic.options import check_solver
from ordinate.cli.options import AsJson

__all__ = ["simplify"]


def simplify(
    circuit: Annotated[Path, typer.Argument(metavar="CIRCUIT", help="A circuit in JSON.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the smaller circuit goes (JSON).")],
    sat: Annotated[bool, typer.Option("--sat/--no-sat", help="Merge what a SAT solver proves equal.")] = True,
    prove: Annotated[bool, typer.Option("--prove/--no-prove", help="Prove the result equal to the circuit given.")] = True,
    as_json: AsJson = False,
) -> None:
    """Simplify a circuit until nothing gets smaller, and prove that it computes the same scores on every input.

    Exit 0; 1 where the proof did not come to an end; 2 for wrong use.
    """
    from ordinate.atomic_io import check_output
    from ordinate.cli.progress import steps
    from ordinate.cli.tables import answer, answer_json, grid
    from ordinate.logic.circuit.circuit import Circuit
    from ordinate.logic.export.lut_mapping import map_luts
    from ordinate.logic.simplify import simplify as passes
    from ordinate.logic.simplify.equivalence import EXHAUSTIVE_INPUTS, Equivalence, equivalent

    check_output(out, name="--out")
    original = Circuit.load(circuit)
    if sat:
        check_solver("--sat", "--no-sat")
    if prove and original.num_inputs > EXHAUSTIVE_INPUTS:
        check_solver("--prove", "--no-prove")
    with steps("simplify") as say:
        simplified = passes(original, sat=sat, on_pass=lambda name, gates: say(f"{name}: {gates:,} gates"))
        say("mapping to tables of four and six inputs")
        luts, wide = (len(map_luts(simplified.circuit, inputs).luts) for inputs in (4, 6))
        say("proof")
        proof = equivalent(original, simplified.circuit, conflicts=1_000_000) if prove else Equivalence(None, "not asked for")
    simplified.circuit.save(out)
    record = {
        "circuit": str(out),
        "gates_before": original.num_gates,
        "gates": simplified.circuit.num_gates,
        "inverters_before": original.num_inverters,
        "constants_before": original.num_constants,
        "votes_before": original.num_votes,
        "votes": simplified.circuit.num_votes,
        "lut4": luts,
        "lut6": wide,
        "proven": proof.equal,
        "how": proof.how,
        "steps": [{"pass": name, "gates": gates} for name, gates in simplified.steps],
    }
    if as_json:
        answer_json(record)
    else:
        table = grid("pass", "gates left")
        for name, gates in simplified.steps:
            table.add_row(name, f"{gates:,}")
        answer(table, f"{luts:,} LUT4s or {wide:,} LUT6s; {'proven equal' if proof.equal else 'not proven'}: {proof.how}")
    if prove and not proof.equal:
        raise typer.Exit(1)
