"""`ordinate logic emit`: a circuit as C, Verilog, BLIF or AIGER."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["emit"]


def emit(
    circuit: Annotated[Path, typer.Argument(metavar="CIRCUIT", help="A circuit in JSON.")],
    c: Annotated[Path | None, typer.Option("--c", metavar="FILE", help="C99, one file, with a test program.")] = None,
    verilog: Annotated[Path | None, typer.Option("--verilog", metavar="FILE", help="A Verilog module.")] = None,
    blif: Annotated[Path | None, typer.Option("--blif", metavar="FILE", help="BLIF, for yosys and ABC.")] = None,
    aiger: Annotated[Path | None, typer.Option("--aiger", metavar="FILE", help="Binary AIGER, for ABC.")] = None,
    bench: Annotated[
        Path | None, typer.Option("--bench", metavar="DIR", help="A Verilog test bench with the test images of --data.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Images for --bench; else the embedded 8x8 digits.")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Of the C functions and the module.")] = "circuit",
    pipelined: Annotated[bool, typer.Option("--pipelined", help="Verilog with registers in counting and comparing.")] = False,
    thresholds: Annotated[
        bool, typer.Option("--thresholds", help="Verilog takes 8-bit numbers and compares them itself.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Write a circuit in other languages.

    Exit 0, or 2 for wrong use.
    """
    from ordinate.atomic_io import atomic_write
    from ordinate.cli.tables import answer_record
    from ordinate.errors import ArgumentError, OutputError, RefusedError
    from ordinate.logic.circuit.circuit import Circuit
    from ordinate.logic.export.blif_aiger import aiger as as_aiger
    from ordinate.logic.export.blif_aiger import blif as as_blif

    if not any((c, verilog, blif, aiger, bench)):
        raise ArgumentError("--c, --verilog, --blif, --aiger, --bench", expected="at least one", got="none")
    if bench is not None and thresholds:
        raise RefusedError("--bench", expected="a module of bits", got="--thresholds")
    loaded = Circuit.load(circuit)
    written = {}
    for what, path, make in (
        ("c", c, lambda: loaded.to_c(name)),
        ("verilog", verilog, lambda: loaded.to_verilog(name, pipelined=pipelined, thresholds=thresholds)),
        ("blif", blif, lambda: as_blif(loaded, name)),
        ("aiger", aiger, lambda: as_aiger(loaded)),
    ):
        if path is not None:
            atomic_write(path, make())
            written[what] = str(path)
    if bench is not None:
        from ordinate.cli.logic.circuit_images import test_images
        from ordinate.logic.export.verilog_bench import expected_file, parallel_bench, vector_file

        images = test_images(loaded, data, None, check=False)
        try:
            bench.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError("--bench", expected="a folder to write to", got=str(bench), hint=str(error)) from None
        atomic_write(bench / f"{name}.v", loaded.to_verilog(name, pipelined=pipelined))
        atomic_write(bench / f"{name}_bench.v", parallel_bench(loaded, name, len(images.bits), pipelined=pipelined))
        atomic_write(bench / "vectors.hex", vector_file(images.bits))
        atomic_write(bench / "expected.hex", expected_file(loaded.predict(images.bits)))
        written["bench"] = str(bench)
    answer_record({"circuit": str(circuit), "gates": loaded.num_gates, **written}, as_json)
