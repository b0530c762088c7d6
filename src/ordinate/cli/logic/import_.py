"""`ordinate logic import`: a network or a circuit that another program made, as a circuit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinate.cli.logic.options import check_solver
from ordinate.cli.options import AsJson

if TYPE_CHECKING:
    from ordinate.logic import Circuit

__all__ = ["import_"]

_KINDS = {".blif": "blif", ".aag": "aiger", ".aig": "aiger"}


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="BLIF, AIGER, or a state dict of torchlogix, difflogic or torch-dwn (.pt, .safetensors)."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the circuit goes (JSON).")],
    classes: Annotated[
        int | None,
        typer.Option("--classes", metavar="N", help="Classes that the outputs share; a state dict does not say it."),
    ] = None,
    tau: Annotated[float, typer.Option("--tau", metavar="X", help="Temperature of the sums.")] = 1.0,
    beta: Annotated[
        float, typer.Option("--beta", metavar="X", help="Added to the sums before they are divided, as torchlogix does.")
    ] = 0.0,
    inputs: Annotated[
        int | None, typer.Option("--inputs", metavar="N", help="Bits that come in; else as many as are read.")
    ] = None,
    parametrisation: Annotated[
        str | None,
        typer.Option(
            "--parametrisation", metavar="NAME", help="Of torchlogix's tables: light or warp; raw gates say it themselves."
        ),
    ] = None,
    prove: Annotated[bool, typer.Option("--prove/--no-prove", help="Prove that the gates compute what the tables say.")] = True,
    as_json: AsJson = False,
) -> None:
    """Read a circuit of another program, in two-input gates, and say what was lost or assumed on the way.

    Exit 0; 1 where the proof did not come to an end; 2 for wrong use, or for parts that have no meaning in gates.
    """
    from ordinate.atomic_io import check_output
    from ordinate.cli.progress import steps
    from ordinate.cli.tables import answer_record
    from ordinate.errors import ArgumentError
    from ordinate.logic.export.lut_mapping import map_luts
    from ordinate.logic.simplify.equivalence import EXHAUSTIVE_INPUTS, equivalent

    check_output(out, name="--out")
    kind = _KINDS.get(file.suffix.lower(), "state dict")
    with steps("import") as say:
        say(str(file))
        if kind != "state dict":
            circuit, record = _file(file, kind, classes, tau)
        else:
            from ordinate.logic.readers.networks import from_state_dict, read_state_dict

            state = read_state_dict(file)
            if classes is None:
                raise ArgumentError("--classes", expected="how many classes the outputs vote for", got="none")
            read = from_state_dict(
                state, classes=classes, tau=tau, beta=beta, num_inputs=inputs, parametrisation=parametrisation
            )
            circuit = read.circuit
            if prove and circuit.num_inputs > EXHAUSTIVE_INPUTS:
                check_solver("--prove", "--no-prove")
            record = {
                "read_from": read.library,
                "layers": list(read.layers),
                "tables": read.luts.num_tables,
                "inputs_a_table": read.luts.k,
                **{f"lost_{name}": text for name, text in read.lost.items()},
            }
            if prove:
                say("proof")
                proof = equivalent(circuit, read.luts.to_circuit(by_rows=True), conflicts=1_000_000)
                record |= {"proven": proof.equal, "how": proof.how}
        say("LUT4 mapping")
        luts = len(map_luts(circuit).luts)
    circuit.save(out)
    answer_record(
        {
            "circuit": str(out),
            **record,
            "inputs": circuit.num_inputs,
            "thresholds": 0 if circuit.inputs is None else len(circuit.inputs.threshold),
            "classes": circuit.num_classes,
            "gates": circuit.num_gates,
            "votes": circuit.num_votes,
            "lut4": luts,
        },
        as_json,
    )
    if not record.get("proven", True):
        raise typer.Exit(1)


def _file(path: Path, kind: str, classes: int | None, tau: float) -> tuple[Circuit, dict[str, Any]]:
    from ordinate.logic.readers.blif_aiger import read_aiger, read_blif

    circuit = (read_blif if kind == "blif" else read_aiger)(path, classes=classes, tau=tau)
    return circuit, dict(circuit.notes)
