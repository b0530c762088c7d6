"""`ordinate logic run`: a circuit from its file on the test images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ordinate.cli.logic.options import DataFolder, OtherData

__all__ = ["run"]


def run(
    circuit: Annotated[Path, typer.Argument(metavar="CIRCUIT", help="A circuit in JSON.")],
    data: DataFolder = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="A pixel above it is a 1; else what the circuit carries.")
    ] = None,
    implementation: Annotated[str, typer.Option("--implementation", help="auto, numpy or numba.")] = "auto",
    picture: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="The circuit, and which pixels it reads.")
    ] = None,
    other_data: OtherData = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Read a circuit from its file and print its accuracy on the test images, and how fast it ran.

    Exit 0, or 2 for wrong use.
    """
    import time

    from ordinate.cli.logic.circuit_images import test_images
    from ordinate.cli.tables import answer_record
    from ordinate.logic.circuit.circuit import Circuit
    from ordinate.logic.circuit.runtime import BitParallel

    loaded = Circuit.load(circuit)
    images = test_images(loaded, data, threshold, check=not other_data)
    runtime = BitParallel(loaded, implementation)  # type: ignore[arg-type]
    runtime.predict(images.bits[:1])  # the program is made, and with numba compiled, before the clock runs
    started = time.perf_counter()
    predicted = runtime.predict(images.bits)
    seconds = time.perf_counter() - started
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
        record["picture"] = str(picture)
    answer_record(record, as_json)
