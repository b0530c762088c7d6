"""`ordinate logic emit`: a circuit as C, Verilog, BLIF or AIGER."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinate.cli.logic.tables import LabelOption, SetOption, check_alone, circuit_rows
from ordinate.cli.options import AsJson

if TYPE_CHECKING:
    from ordinate.logic import Circuit, FixedPoint

__all__ = ["Form", "emit", "number_form"]

_BIT_ORDER = "NAME_block: image i of a block is bit i % 64 of 64-bit lane i / 64, bit 0 the lowest"


def emit(
    circuit: Annotated[Path, typer.Argument(metavar="CIRCUIT", help="A circuit in JSON.")],
    c: Annotated[
        Path | None,
        typer.Option("--c", metavar="FILE", help="C99, one file, with a test program; its header beside it, FILE.h."),
    ] = None,
    verilog: Annotated[Path | None, typer.Option("--verilog", metavar="FILE", help="A Verilog module.")] = None,
    blif: Annotated[Path | None, typer.Option("--blif", metavar="FILE", help="BLIF, for yosys and ABC.")] = None,
    luts: Annotated[
        int | None, typer.Option("--luts", metavar="N", help="BLIF of the voting gates as look-up tables of up to N inputs.")
    ] = None,
    aiger: Annotated[Path | None, typer.Option("--aiger", metavar="FILE", help="Binary AIGER, for ABC.")] = None,
    bench: Annotated[
        Path | None,
        typer.Option(
            "--bench", metavar="DIR", help="A Verilog test bench with the test images of --data, or the rows of --table."
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Images for --bench; else the embedded 8x8 digits.")
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Of the C functions and the module.")] = "circuit",
    pipelined: Annotated[bool, typer.Option("--pipelined", help="Verilog with registers in counting and comparing.")] = False,
    stages: Annotated[
        int | None,
        typer.Option("--stages", metavar="N", help="Verilog with N registers on every path, placed by depth."),
    ] = None,
    thresholds: Annotated[bool, typer.Option("--thresholds", help="Verilog takes numbers and compares them itself.")] = False,
    dtype: Annotated[
        str | None,
        typer.Option(
            "--dtype",
            metavar="TYPE",
            help="Numbers that come in: uint8, int8, ... int32, float32, float64; fixed12.4 or ufixed12.4 (12 bits, 4 of them "
            "behind the point); or fixed, the narrowest for the rows of --table. Else what the thresholds are for.",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option("--table", metavar="FILE", help="Rows that must fall on their sides of all thresholds in that type."),
    ] = None,
    published: SetOption = None,
    label: LabelOption = None,
    missing: Annotated[
        str, typer.Option("--missing", "--impute", metavar="NAME", help="Missing numbers of --table, as in run.")
    ] = "refuse",
    rows: Annotated[
        Path | None, typer.Option("--rows", metavar="FILE", help="The rows of --table in that type, for the C program's input.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a circuit in other languages.

    Exit 0, or 2 for wrong use.
    """
    import shlex

    from ordinate.atomic_io import atomic_write
    from ordinate.cli.tables import answer_record
    from ordinate.errors import ArgumentError, RefusedError
    from ordinate.logic.circuit.circuit import Circuit
    from ordinate.logic.export.blif_aiger import aiger as as_aiger
    from ordinate.logic.export.blif_aiger import blif as as_blif
    from ordinate.logic.export.blif_aiger import lut_blif
    from ordinate.logic.export.c import c_header, c_memory, c_source
    from ordinate.logic.export.lut_mapping import map_luts
    from ordinate.logic.export.verilog import verilog_module

    if not any((c, verilog, blif, aiger, bench, rows)):
        raise ArgumentError("--c, --verilog, --blif, --aiger, --bench, --rows", expected="at least one", got="none")
    if bench is not None and thresholds:
        raise RefusedError("--bench", expected="a module of bits", got="--thresholds")
    if (pipelined or stages is not None) and verilog is None and bench is None:
        option = "--pipelined" if pipelined else "--stages"
        raise RefusedError(option, expected="--verilog or --bench beside it", got="none")
    if pipelined and stages is not None:
        raise RefusedError("--stages", expected="no --pipelined beside it", got=str(stages))
    if luts is not None and blif is None:
        raise RefusedError("--luts", expected="--blif beside it", got="none")
    loaded = Circuit.load(circuit)
    if table is not None:
        check_alone(data=data)
    numbers = None if table is None else circuit_rows(loaded, table, label, missing, published, everything=True)[0]
    if rows is not None and numbers is None:
        raise RefusedError("--rows", expected="--table beside it", got="none")
    form = number_form(loaded, dtype, numbers, verilog is not None and thresholds)
    taken = form.circuit
    record: dict[str, Any] = {"circuit": str(circuit), "gates": loaded.num_gates}
    drafts: list[tuple[str, Path, Any]] = []
    if c is not None:
        drafts.append(("c", c, c_source(taken, name, dtype=form.dtype, file=shlex.quote(c.name))))
        drafts.append(("header", c.with_suffix(".h"), c_header(taken, name, dtype=form.dtype)))
    if verilog is not None:
        number = form.number if thresholds else None
        module = verilog_module(form.moved, name, pipelined=pipelined, stages=stages, thresholds=thresholds, number=number)
        drafts.append(("verilog", verilog, module.source))
        if module.latency:
            record |= {"latency_clocks": module.latency, "register_bits": module.register_bits}
        if stages is not None:
            record["stage_levels"] = round(module.levels, 1)
    if blif is not None:
        if luts is None:
            drafts.append(("blif", blif, as_blif(loaded, name)))
        else:
            tables = map_luts(loaded, luts).to_luts()
            record["tables"] = tables.num_tables
            drafts.append(("blif", blif, lut_blif(tables, name)))
    if aiger is not None:
        drafts.append(("aiger", aiger, as_aiger(loaded)))
    if rows is not None:
        drafts.append(("rows", rows, form.encoded(numbers).tobytes()))
    for what, path, text in drafts:
        atomic_write(path, text, name=f"--{what}")
        record[what] = str(path)
    if bench is not None:
        _write_bench(loaded, bench, name, data, numbers, pipelined=pipelined, stages=stages)
        record["bench"] = str(bench)
    if loaded.inputs is not None:
        record["numbers"] = form.described
    if numbers is not None and loaded.inputs is not None:
        record |= {"rows_on_their_side": len(numbers), "thresholds_moved": form.thresholds_moved}
    if c is not None:
        record |= {**c_memory(taken, form.dtype), "bit_order": _BIT_ORDER.replace("NAME", name)}
    answer_record(record, as_json)


@dataclass(frozen=True)
class Form:
    """How numbers come into what is emitted.

    Args:
        circuit: with thresholds for the numbers as they come, such as integers in steps of a power of two.
        moved: with thresholds in the unit of the table, moved between its rows where the form asks for it.
        dtype: type of the numbers in C.
        number: the same as integers, or None for floating numbers.
        described: in words.
        thresholds_moved: how many.
    """

    circuit: Circuit
    moved: Circuit
    dtype: str | None
    number: FixedPoint | None
    described: str
    thresholds_moved: int = 0

    def encoded(self, x: Any) -> Any:
        """Rows [N, features] in the type that the C program reads."""
        import numpy as np

        kind = np.dtype(self.dtype or "uint8").newbyteorder("<")
        return (x if self.number is None else self.number.encode(x)).astype(kind)


def number_form(circuit: Circuit, dtype: str | None, rows: Any, for_verilog: bool) -> Form:
    """The form of `--dtype`, checked on the rows of `--table`.

    Raises:
        ArgumentError: no such form.
        RefusedError: rows that the form cannot keep on their sides; a floating type for Verilog; a circuit of bits.
    """
    import re

    import numpy as np

    from ordinate.arguments import did_you_mean
    from ordinate.errors import ArgumentError, RefusedError
    from ordinate.logic.circuit.input_thresholds import DTYPES, FixedPoint

    inputs = circuit.inputs
    if inputs is None:
        if dtype is not None:
            raise RefusedError("--dtype", expected="a circuit that carries thresholds", got="one of bits")
        return Form(circuit, circuit, None, None, "bits")
    fixed = re.fullmatch(r"(u?)fixed(\d+)\.(-?\d+)", dtype or "")
    kind, number, moved = dtype or inputs.emitted_dtype(), None, inputs
    if dtype == "fixed":
        if rows is None:
            raise RefusedError("--dtype fixed", expected="--table with the rows that it is to hold", got="none")
        number, moved = FixedPoint.fitting(inputs, rows)
    elif fixed:
        number = FixedPoint(int(fixed[2]), int(fixed[3]), not fixed[1])
    elif kind not in DTYPES:
        expected = f"{', '.join(DTYPES)}, fixed, or such as fixed12.4 and ufixed12.4"
        raise ArgumentError("--dtype", expected=expected, got=dtype, hint=did_you_mean(dtype, DTYPES))
    elif not kind.startswith("float"):
        number = FixedPoint.of_dtype(kind)
    elif for_verilog:
        raise RefusedError(
            "--dtype", expected="integers or fixed point for Verilog", got=kind, hint="--dtype fixed with --table chooses"
        )
    if rows is not None and dtype != "fixed":
        rounded = rows.astype(kind) if number is None else number.encode(rows) / 2.0**number.fraction_bits
        try:
            moved = inputs.moved_for(rows, rounded)
        except RefusedError as error:
            hint = "--dtype fixed chooses the narrowest that does; float64 always does"
            expected = "a type that keeps every row on its side of every threshold"
            raise RefusedError("--dtype", expected=expected, got=f"{kind}, which rounds to {error.got}", hint=hint) from None
    changed = int((moved.threshold != inputs.threshold).sum())
    own = replace(circuit, inputs=moved)
    if number is None:
        form = Form(own, own, kind, None, kind, changed)
    else:
        whole = number.integers(moved)
        words = (
            f"{whole.dtype}, {'' if number.signed else 'un'}signed {number.bits} bits, of them {number.fraction_bits} fraction"
        )
        form = Form(replace(circuit, inputs=whole), own, whole.dtype, number, words, changed)
    if rows is not None:  # as a program reads them
        assert form.circuit.inputs is not None
        if not np.array_equal(form.circuit.inputs.bits(form.encoded(rows)), inputs.bits(rows)):
            expected = "a type that keeps every row on its side of every threshold"
            raise RefusedError("--dtype", expected=expected, got=form.described)
    return form


def _write_bench(
    circuit: Circuit, bench: Path, name: str, data: Path | None, rows: Any, *, pipelined: bool, stages: int | None
) -> None:
    from ordinate.atomic_io import atomic_write
    from ordinate.errors import OutputError
    from ordinate.logic.export.verilog import verilog_module
    from ordinate.logic.export.verilog_bench import expected_file, parallel_bench, vector_file

    if rows is None:
        from ordinate.cli.logic.circuit_images import rows_to_simulate

        bits = rows_to_simulate(circuit, data, check=False)[0]
    else:
        from ordinate.logic.circuit.arrays import as_bits

        bits = as_bits(rows, circuit.num_inputs, "--table") if circuit.inputs is None else circuit.inputs.bits(rows)
    try:
        bench.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError("--bench", expected="a folder to write to", got=str(bench), hint=str(error)) from None
    module = verilog_module(circuit, name, pipelined=pipelined, stages=stages)
    atomic_write(bench / f"{name}.v", module.source)
    atomic_write(bench / f"{name}_bench.v", parallel_bench(circuit, name, len(bits), latency=module.latency))
    atomic_write(bench / "vectors.hex", vector_file(bits))
    atomic_write(bench / "expected.hex", expected_file(circuit.predict(bits)))
