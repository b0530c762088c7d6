"""`ordinate logic train`: a network of relaxed gates trained by gradient descent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinate.cli.logic.options import Classes, DataFolder, OtherData
from ordinate.cli.logic.tables import (
    BitsOption,
    CategoriesOption,
    DropOption,
    LabelOption,
    MissingOption,
    SetOption,
    TableOption,
    TableParts,
    TestOption,
    best_codes,
    check_alone,
    table_parts,
    table_record,
)
from ordinate.cli.options import AsJson

if TYPE_CHECKING:
    from ordinate.data import Digits
    from ordinate.logic import Circuit, EpochReport, InputThresholds, LogicNetwork, Training, TrainingSettings

__all__ = ["train"]


def train(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the network goes: FILE.json and its tensors.")],
    data: DataFolder = None,
    classes: Classes = None,
    widths: Annotated[
        str | None,
        typer.Option(
            "--widths",
            metavar="N,N,...",
            help="Gates of each dense layer, such as 4000,4000; else 2000,2000, of tables 500,500.",
        ),
    ] = None,
    kernels: Annotated[
        str, typer.Option("--kernels", metavar="N,N,...", help="Trees of each convolution in front, as 12,24; 0 for none.")
    ] = "0",
    receptive_field: Annotated[
        str | None,
        typer.Option(
            "--receptive-field", metavar="N,N,...", help="Of the convolutions, one side or one each; else 5, of small images 3."
        ),
    ] = None,
    depth: Annotated[
        str, typer.Option("--depth", metavar="N,N,...", help="Levels of gates of their trees, one number or one each.")
    ] = "3",
    stride: Annotated[
        str, typer.Option("--stride", metavar="N,N,...", help="From place to place, one number or one each.")
    ] = "1",
    padding: Annotated[
        str, typer.Option("--padding", metavar="N,N,...", help="Zeros around what they read, one number or one each.")
    ] = "0",
    pooling: Annotated[
        str,
        typer.Option(
            "--pooling", metavar="N,N,...", help="Side of the windows OR is taken of, one number or one each; 1 for none."
        ),
    ] = "2",
    channels_read: Annotated[
        str,
        typer.Option("--channels-read", metavar="N,N,...", help="Channels a kernel reads, one number or one each; 0 for all."),
    ] = "0",
    gate_inputs: Annotated[
        int,
        typer.Option(
            "--gate-inputs", metavar="N", help="Inputs of a gate of the dense layers, 2 to 6; past 2 they are look-up tables."
        ),
    ] = 2,
    wiring: Annotated[str, typer.Option("--wiring", metavar="NAME", help="random, unique, tree or learned.")] = "random",
    parametrisation: Annotated[str, typer.Option("--parametrisation", metavar="NAME", help="raw, light or walsh.")] = "light",
    mode: Annotated[str, typer.Option("--mode", metavar="NAME", help="soft, hard, gumbel_soft or gumbel_hard.")] = "soft",
    tau: Annotated[
        float | None, typer.Option("--tau", metavar="X", help="Temperature of the counts; else by the last width.")
    ] = None,
    epochs: Annotated[int, typer.Option("--epochs", metavar="N", help="Passes over the training images, at most.")] = 30,
    iterations: Annotated[
        int | None, typer.Option("--iterations", metavar="N", help="Steps instead of epochs, to a whole number of passes.")
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option("--batch", metavar="N", help="Examples a step; else 128, of small tables a sixteenth of the rows."),
    ] = None,
    rate: Annotated[float, typer.Option("--rate", metavar="X", help="Largest learning rate.")] = 0.1,
    schedule: Annotated[str, typer.Option("--schedule", metavar="NAME", help="constant, cosine or linear.")] = "cosine",
    patience: Annotated[
        int, typer.Option("--patience", metavar="N", help="Epochs without gain in validation, then it stops.")
    ] = 10,
    threshold: Annotated[
        float | None, typer.Option("--threshold", metavar="X", help="A pixel above it is a 1; else 95 of 255.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of wiring, parameters and order.")] = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="FILE", help="Written each epoch; where it is there, training goes on."),
    ] = None,
    circuit: Annotated[
        Path | None, typer.Option("--circuit", metavar="FILE", help="Also write the discrete network as a circuit.")
    ] = None,
    other_data: OtherData = False,
    table: TableOption = None,
    published: SetOption = None,
    label: LabelOption = None,
    test_table: TestOption = None,
    missing: MissingOption = "refuse",
    drop: DropOption = None,
    categories: CategoriesOption = None,
    bits: BitsOption = "4",
    spacing: Annotated[
        str,
        typer.Option("--spacing", metavar="NAME", help="Thresholds of a table: quantile, uniform, or learned with the gates."),
    ] = "quantile",
    as_json: AsJson = False,
) -> None:
    """Train a logic-gate network on digits or on a table, and read the test accuracy of its discrete form once.

    Exit 0, or 2 for wrong use.
    """
    from ordinate.atomic_io import check_output
    from ordinate.cli.logic.images import blocks_of, digits_of, network_of
    from ordinate.cli.progress import bar
    from ordinate.cli.tables import answer_record
    from ordinate.logic import TrainingSettings
    from ordinate.logic import train as trained

    check_output(out, name="--out")
    if circuit is not None:
        check_output(circuit, name="--circuit")
    settings = TrainingSettings(
        epochs=epochs,
        batch_size=128 if batch is None else batch,
        learning_rate=rate,
        schedule=schedule,
        patience=patience,
        seed=seed,
    )
    if table is not None:
        check_alone(data=data, classes=classes, threshold=threshold, kernels=None if kernels == "0" else kernels)
        parts = table_parts(table, label, test_table, missing, seed, published=published, drop=drop, categories=categories)
        if batch is None:
            settings = replace(settings, batch_size=max(1, min(128, len(parts.train[1]) // 16)))
        if iterations is not None:
            settings = _passes(settings, iterations, len(parts.train[1]))
        learned = {
            "k": gate_inputs,
            "tau": tau,
            "seed": seed,
            "wiring": wiring,
            "parametrisation": parametrisation,
            "mode": mode,
        }
        answer_record(_trained_on_table(parts, out, circuit, widths, settings, checkpoint, bits, spacing, learned), as_json)
        return
    known = digits_of(data, classes, check=not other_data)
    if iterations is not None:
        settings = _passes(settings, iterations, len(known.train))
    level = known.threshold if threshold is None else threshold
    blocks = blocks_of(
        kernels,
        receptive_field=receptive_field or ("5" if known.size[0] > 16 else "3"),
        depth=depth,
        stride=stride,
        padding=padding,
        pooling=pooling,
        channels_read=channels_read,
    )
    network = network_of(
        known,
        level,
        widths or "2000,2000",
        blocks,
        k=gate_inputs,
        wiring=wiring,
        parametrisation=parametrisation,
        mode=mode,
        tau=tau,
        seed=seed,
    )
    from torch import from_numpy

    def examples(part: Any) -> Any:
        return from_numpy(part.images.reshape(len(part), -1)), from_numpy(part.labels)

    with bar("epochs") as advance:
        done = trained(
            network,
            examples(known.train),
            examples(known.validation),
            settings,
            checkpoint=checkpoint,
            on_epoch=lambda report: advance(report.epoch, settings.epochs, _progress(report)),
        )
    network.notes = {"labels": list(known.classes)}
    network.save(out)
    answer = _record(done, known, examples(known.test), out, settings.batch_size)
    if circuit is not None:
        answer |= _save_circuit(network, circuit)
    answer_record(answer, as_json)


def _trained_on_table(
    parts: TableParts,
    out: Path,
    circuit: Path | None,
    widths: str | None,
    settings: TrainingSettings,
    checkpoint: Path | None,
    bits: str,
    spacing: str,
    options: dict[str, Any],
) -> dict[str, Any]:
    from ordinate.cli.logic.images import widths_of
    from ordinate.cli.progress import bar
    from ordinate.errors import RefusedError
    from ordinate.logic import Circuit
    from ordinate.logic.classifier import train_on_table

    if checkpoint is not None and bits == "auto":
        raise RefusedError("--checkpoint", expected="a number of --bits beside it", got="auto")
    classes = len(parts.labels)
    sizes = widths_of(widths or f"500,{max(1, 500 // classes) * classes}", classes)
    with bar("epochs") as advance:

        def learn(codes: InputThresholds) -> tuple[Circuit, Training]:
            done = train_on_table(
                parts.train,
                parts.validation,
                codes,
                sizes,
                classes,
                settings,
                learned=spacing == "learned",
                checkpoint=checkpoint,
                on_epoch=lambda report: advance(report.epoch, settings.epochs, _progress(report)),
                **options,
            )
            done.network.notes = {"labels": list(parts.labels), **parts.notes}
            return Circuit.from_network(done.network), done

        best, done, used = best_codes(parts, bits, spacing, learn, ("quantile", "uniform", "learned"))
    done.network.save(out)
    if circuit is not None:
        best.save(circuit)
    return {
        "network": str(out),
        **({} if circuit is None else {"circuit": str(circuit)}),
        **table_record(best, parts, used),
        "epochs": len(done.epochs),
        "best_epoch": done.best_epoch,
        "cpu_seconds": round(done.epochs[-1].cpu_seconds, 1),
    }


def _passes(settings: TrainingSettings, iterations: int, examples: int) -> TrainingSettings:
    """As many epochs as come nearest to so many steps, run to the end."""
    from ordinate.arguments import check_integer

    check_integer("--iterations", iterations, minimum=1)
    epochs = max(1, round(iterations * settings.batch_size / examples))
    return replace(settings, epochs=epochs, patience=epochs)


def _save_circuit(network: LogicNetwork, path: Path) -> dict[str, Any]:
    from ordinate.logic import Circuit

    circuit = Circuit.from_network(network)
    circuit.save(path)
    return {"circuit": str(path), "gates_after_simplification": circuit.simplify(sat=False).num_gates}


def _record(done: Training, known: Digits, test: Any, out: Path, batch: int) -> dict[str, Any]:
    from ordinate.logic import accuracy
    from ordinate.logic.network.convolution_blocks import gates_at_every_place

    best = done.epochs[done.best_epoch - 1]
    return {
        "network": str(out),
        "data": known.source,
        "classes": list(known.classes),
        "gates": done.network.num_gates,
        "gates_at_every_place": gates_at_every_place(done.network, test[0][0].float()),
        "epochs": len(done.epochs),
        "iterations": len(done.epochs) * -(-len(known.train) // batch),
        "best_epoch": done.best_epoch,
        "validation_accuracy_soft": best.soft_accuracy,
        "validation_accuracy": best.hard_accuracy,
        "test_accuracy": accuracy(done.network, test),
        "test_images": len(known.test),
        "cpu_seconds": round(done.epochs[-1].cpu_seconds, 1),
    }


def _progress(report: EpochReport) -> str:
    return f"loss {report.train_loss:.3f}, validation {report.hard_accuracy:.2%} (relaxed {report.soft_accuracy:.2%})"
