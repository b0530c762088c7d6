"""`ordinate logic run`: a circuit or a network from its file on the test images or on a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinate.cli.logic.options import DataFolder, OtherData
from ordinate.cli.logic.tables import LabelOption, SetOption, check_alone, circuit_rows
from ordinate.cli.options import AsJson

if TYPE_CHECKING:
    from ordinate.logic import BitParallel, Circuit

__all__ = ["run"]


def run(
    circuit: Annotated[Path, typer.Argument(metavar="CIRCUIT", help="A circuit in JSON, or a saved network.")],
    data: DataFolder = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", metavar="X", help="A pixel above it is a 1; else what the circuit carries.")
    ] = None,
    implementation: Annotated[str, typer.Option("--implementation", metavar="NAME", help="auto, numpy or numba.")] = "auto",
    picture: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="The circuit, and which pixels it reads.")
    ] = None,
    other_data: OtherData = False,
    table: Annotated[
        Path | None, typer.Option("--table", metavar="FILE", help="Rows of a table: .csv, .tsv, .parquet or .npz.")
    ] = None,
    published: SetOption = None,
    label: LabelOption = None,
    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            "--impute",
            metavar="NAME",
            help="Missing numbers: refuse, circuit (as it learned), median, mean or zero.",
        ),
    ] = "refuse",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="A class and the scores for each row of --table, in CSV.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read a circuit from its file and print its accuracy on the test images or on a table, and how fast it ran.

    Exit 0, or 2 for wrong use.
    """
    from ordinate.atomic_io import check_output
    from ordinate.cli.logic.circuit_images import test_images
    from ordinate.cli.tables import answer_record
    from ordinate.errors import RefusedError
    from ordinate.logic.circuit.runtime import BitParallel

    if table is None and (out is not None or label is not None):
        raise RefusedError("--out" if out is not None else "--label", expected="--table beside it", got="none")
    loaded = _circuit(circuit)
    runtime = BitParallel(loaded, implementation)  # type: ignore[arg-type]
    if table is not None:
        check_alone(data=data, threshold=threshold)
        if out is not None:
            check_output(out, name="--out")
        record = {"circuit": str(circuit), **_on_table(runtime, table, label, missing, out, published)}
        if picture is not None:
            from ordinate.logic.circuit.figures import save_circuit_picture

            save_circuit_picture(loaded, picture)
            record["picture"] = str(picture)
        answer_record(record, as_json)
        return
    images = test_images(loaded, data, threshold, check=not other_data)
    predicted, seconds = _timed(runtime, images.bits)
    record = {
        "circuit": str(circuit),
        "data": images.source,
        "classes": list(loaded.labels),
        "gates": loaded.num_gates,
        "votes": loaded.num_votes,
        "tau": loaded.tau,
        "test_accuracy": float((predicted == images.labels).mean()),
        "test_images": len(images.labels),
        "threshold": images.threshold,
        "implementation": runtime.implementation,
        "images_per_second": round(len(predicted) / seconds),
    }
    if picture is not None:
        from ordinate.logic.circuit.figures import save_circuit_picture

        save_circuit_picture(loaded, picture, size=images.size)
        record["figure"] = str(picture)
    answer_record(record, as_json)


def _circuit(path: Path) -> Circuit:
    """The circuit of a file, or of a network's file."""
    from ordinate.logic import Circuit, LogicNetwork
    from ordinate.logic.circuit.files import read_json

    document = read_json(path, "a circuit")
    if isinstance(document, dict) and document.get("schema") == "ordinate.logic.network":
        return Circuit.from_network(LogicNetwork.load(path))
    return Circuit.load(path)


def _timed(runtime: BitParallel, bits: Any) -> tuple[Any, float]:
    import time

    runtime.predict(bits[:1])  # the program is made, and with numba compiled, before the clock runs
    started = time.perf_counter()
    predicted = runtime.predict(bits)
    return predicted, time.perf_counter() - started


def _on_table(
    runtime: BitParallel, table: Path, label: str | None, missing: str, out: Path | None, published: str | None
) -> dict[str, Any]:
    from ordinate.logic.circuit.arrays import as_bits

    circuit = runtime.circuit
    x, numbers = circuit_rows(circuit, table, label, missing, published)
    bits = as_bits(x, circuit.num_inputs, "--table") if circuit.inputs is None else circuit.inputs.bits(x)
    predicted, seconds = _timed(runtime, bits)
    record = {
        "data": str(table),
        "rows": len(x),
        "classes": list(circuit.labels),
        "gates": circuit.num_gates,
        "votes": circuit.num_votes,
        "accuracy": None if numbers is None else float((predicted == numbers).mean()),
        "predicted": {str(name): int((predicted == place).sum()) for place, name in enumerate(circuit.labels)},
        "implementation": runtime.implementation,
        "rows_per_second": round(len(predicted) / seconds),
    }
    if out is not None:
        _write_predictions(circuit, predicted, circuit.evaluate(bits), out)
        record["out"] = str(out)
    return record


def _write_predictions(circuit: Circuit, predicted: Any, scores: Any, out: Path) -> None:
    import csv
    import io

    from ordinate.atomic_io import atomic_write

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["predicted", *(f"score of {name}" for name in circuit.labels)])
    writer.writerows([circuit.labels[one], *row] for one, row in zip(predicted.tolist(), scores.tolist(), strict=True))
    atomic_write(out, text.getvalue(), name="--out")
