"""`ordinate logic fpga`: a circuit placed and routed on a chip."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ordinate.cli.logic.options import DataFolder, OtherData
from ordinate.cli.logic.tables import LabelOption, MissingOption, SetOption, check_alone, circuit_rows
from ordinate.cli.options import AsJson

__all__ = ["fpga"]


def fpga(
    circuit: Annotated[Path, typer.Argument(metavar="CIRCUIT", help="A circuit in JSON.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for all files and reports.")],
    chip: Annotated[
        str,
        typer.Option(
            "--chip",
            metavar="NAME",
            help="lp384, lp1k, hx1k, up5k, lp8k, hx8k, ecp5-12k, -25k, -45k, -85k, gw1nr-9c, gw2ar-18c, ccgm1a1, or "
            "xc7a35t (files for Vivado).",
        ),
    ] = "up5k",
    data: DataFolder = None,
    table: Annotated[
        Path | None,
        typer.Option("--table", metavar="FILE", help="Rows to simulate, for a circuit of a table; in place of images."),
    ] = None,
    published: SetOption = None,
    label: LabelOption = None,
    missing: MissingOption = "refuse",
    dtype: Annotated[
        str | None,
        typer.Option(
            "--dtype",
            metavar="TYPE",
            help="Numbers that come in and are compared on the chip, as in emit: uint8, int16, fixed12.4, or fixed, the "
            "narrowest for the rows; bits leaves the comparing to others. Else fixed with --table, bits without.",
        ),
    ] = None,
    images: Annotated[
        int | None, typer.Option("--images", metavar="N", help="Test images or rows to simulate; else all.")
    ] = None,
    pins: Annotated[int | None, typer.Option("--pins", metavar="N", help="Bits a clock that the chip takes; else 8.")] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the placement.")] = 1,
    counting: Annotated[
        str,
        typer.Option(
            "--counting",
            metavar="NAME",
            help="Votes: by compressors or a tree, all at once; shifted, a few a clock; or auto.",
        ),
    ] = "auto",
    stages: Annotated[
        int | None,
        typer.Option("--stages", metavar="N", help="Registers between inputs and class, placed by depth; else one an adder."),
    ] = None,
    gate_levels: Annotated[
        int | None, typer.Option("--gate-levels", metavar="N", help="Before --stages: registers among the gates.", hidden=True)
    ] = None,
    soft_core: Annotated[
        bool,
        typer.Option("--soft-core", help="A RISC-V processor (PicoRV32) beside the circuit, whose firmware sends the images."),
    ] = False,
    other_data: OtherData = False,
    as_json: AsJson = False,
) -> None:
    """Synthesise, place and route a circuit, make its bitstream, simulate it on test images or rows, and prove its gates.

    Exit 0; 1 where a class differs in simulation or the proof fails; 2 for wrong use, missing tools, or what does not fit.
    """
    from ordinate.cli.logic.circuit_images import rows_to_simulate
    from ordinate.cli.logic.emit import number_form
    from ordinate.cli.progress import steps
    from ordinate.cli.tables import answer_record
    from ordinate.errors import ArgumentError, RefusedError
    from ordinate.logic.chip.fpga import build, random_rows
    from ordinate.logic.chip.soft_core import build_soft_core
    from ordinate.logic.circuit.circuit import Circuit

    if images is not None and images < 1:
        raise ArgumentError("--images", expected="at least 1", got=images)
    loaded = Circuit.load(circuit)
    if table is None:
        bits, numbers, rows = rows_to_simulate(loaded, data, check=not other_data)
    else:
        check_alone(data=data)
        numbers = circuit_rows(loaded, table, label, missing, published, everything=True)[0]
        bits, rows = numbers if loaded.inputs is None else loaded.inputs.bits(numbers), str(table)
    number, thresholds = None, None
    if loaded.inputs is not None and dtype != "bits" and (table is not None or dtype is not None):
        form = number_form(loaded, dtype or "fixed", numbers, True)
        number, thresholds, bits = form.number, form.moved.inputs, numbers
        if numbers is None:
            assert number is not None
            bits = random_rows(loaded, number, seed)
    if soft_core and pins is not None:
        raise RefusedError("--pins", expected="none beside --soft-core, which sends words of 32 bits", got=str(pins))
    asked: dict[str, Any] = {
        "chip": chip,
        "bits": bits[:images],
        "seed": seed,
        "counting": counting,
        "stages": stages,
        "gate_levels": gate_levels,
        "number": number,
        "thresholds": thresholds,
    }
    with steps("fpga") as say:
        if soft_core:
            together = build_soft_core(loaded, out, **asked, on_step=say)
            record, failed = together.to_dict(), together.wrong > 0
        else:
            report = build(loaded, out, **asked, pins=8 if pins is None else pins, on_step=say)
            record, failed = report.to_dict(), report.wrong > 0 or not report.proven
    answer_record({"rows": rows, **record}, as_json)
    if failed:
        raise typer.Exit(1)
