"""`ordinate logic grow`: a circuit grown gate by gate from images."""

from __future__ import annotations

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
    SpacingOption,
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
    from ordinate.logic import Circuit, GrowthRound, InputThresholds

__all__ = ["grow"]


def grow(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the circuit goes (JSON).")],
    data: DataFolder = None,
    classes: Classes = None,
    gates: Annotated[int, typer.Option("--gates", metavar="N", help="Two-input gates, at most.")] = 1000,
    votes: Annotated[
        int, typer.Option("--votes", metavar="N", help="Classes a gate may vote on; votes are counted, not gates.")
    ] = 3,
    threshold: Annotated[
        float | None, typer.Option("--threshold", metavar="X", help="A pixel above it is a 1; else 95 of 255.")
    ] = None,
    copies: Annotated[
        int | None, typer.Option("--copies", metavar="N", help="Distorted copies of each training image.")
    ] = None,
    features: Annotated[
        int,
        typer.Option("--features", metavar="N", help="Kernels of convolution features to grow on; worth it past 10,000 gates."),
    ] = 0,
    replacements: Annotated[
        int, typer.Option("--replacements", metavar="N", help="Times that weak gates are cut and others grown.")
    ] = 2,
    fine_tune: Annotated[
        int, typer.Option("--fine-tune", metavar="N", help="Epochs of gradient descent on the grown gates.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of all draws; the same seed gives the same circuit.")] = 0,
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", metavar="FILE", help="Written each round; where it is there, growth goes on.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Accuracy against gates, and which pixels are used.")
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
    spacing: SpacingOption = "quantile",
    as_json: AsJson = False,
) -> None:
    """Grow a circuit of two-input gates from images of digits or from a table, and read its test accuracy once.

    Exit 0, or 2 for wrong use.
    """
    from ordinate.arguments import check_integer
    from ordinate.atomic_io import check_output
    from ordinate.cli.logic.images import digits_of
    from ordinate.cli.progress import bar
    from ordinate.cli.tables import answer_record
    from ordinate.logic import GrowthSettings
    from ordinate.logic import grow as grown_from

    check_output(out, name="--out")
    check_integer("--features", features, minimum=0)
    if table is not None:
        check_alone(data=data, classes=classes, threshold=threshold, copies=copies, features=features or None, figure=picture)
        parts = table_parts(table, label, test_table, missing, seed, published=published, drop=drop, categories=categories)
        answer_record(_grown_on_table(parts, out, gates, votes, replacements, seed, checkpoint, bits, spacing), as_json)
        return
    asked = {"votes_per_gate": votes, "replacements": replacements, "seed": seed, "kernels": features}
    settings = GrowthSettings.usual(gates, few_images=data is None, **asked | ({} if copies is None else {"copies": copies}))
    known = digits_of(data, classes, check=not other_data)
    level = known.threshold if threshold is None else threshold
    with bar("gates") as advance:
        grown = grown_from(
            (known.train.images, known.train.labels),
            (known.validation.images, known.validation.labels),
            level,
            settings,
            labels=known.classes,
            checkpoint=checkpoint,
            on_round=lambda report: advance(report.gates, gates, _progress(report)),
        )
    circuit = _tuned(grown.circuit, known, level, fine_tune) if fine_tune else grown.circuit
    circuit.save(out)
    answer = _record(circuit, known, level, grown.rounds, out)
    if picture is not None:
        from ordinate.logic.circuit.figures import save_growth_picture

        curve = [(report.gates, report.validation_accuracy) for report in grown.rounds]
        save_growth_picture(grown.circuit, curve, known.size, picture)
        answer["figure"] = str(picture)
    answer_record(answer, as_json)


def _grown_on_table(
    parts: TableParts,
    out: Path,
    gates: int,
    votes: int,
    replacements: int,
    seed: int,
    checkpoint: Path | None,
    bits: str,
    spacing: str,
) -> dict[str, Any]:
    from ordinate.cli.progress import bar
    from ordinate.errors import RefusedError
    from ordinate.logic import grow as grown_from
    from ordinate.logic.classifier import table_growth

    if checkpoint is not None and bits == "auto":
        raise RefusedError("--checkpoint", expected="a number of --bits beside it", got="auto")
    rows = len(parts.train[1])
    with bar("gates") as advance:

        def learn(codes: InputThresholds) -> tuple[Circuit, Any]:
            grown = grown_from(
                parts.train,
                parts.validation,
                codes,
                table_growth(gates, len(codes.feature), rows, votes_per_gate=votes, replacements=replacements, seed=seed),
                labels=parts.labels,
                checkpoint=checkpoint,
                on_round=lambda report: advance(report.gates, gates, _progress(report)),
            )
            return grown.circuit, grown.rounds

        circuit, rounds, used = best_codes(parts, bits, spacing, learn)
    circuit.save(out)
    return {"circuit": str(out), **table_record(circuit, parts, used), "rounds": len(rounds)}


def _tuned(circuit: Circuit, known: Digits, threshold: float, epochs: int) -> Circuit:
    from torch import from_numpy

    from ordinate.logic import TrainingSettings, fine_tuned

    def examples(part: Any) -> Any:
        return from_numpy(part.bits(threshold)), from_numpy(part.labels)

    settings = TrainingSettings(epochs=epochs, learning_rate=0.02, batch_size=256)
    return fine_tuned(circuit, examples(known.train), examples(known.validation), settings)


def _record(circuit: Circuit, known: Digits, threshold: float, rounds: tuple[GrowthRound, ...], out: Path) -> dict[str, Any]:
    def accuracy(part: Any) -> float:
        return float((circuit.predict(part.bits(threshold)) == part.labels).mean())

    return {
        "circuit": str(out),
        "data": known.source,
        "classes": list(known.classes),
        "gates": circuit.num_gates,
        "votes": circuit.num_votes,
        "tau": circuit.tau,
        "validation_accuracy": accuracy(known.validation),
        "test_accuracy": accuracy(known.test),
        "test_images": len(known.test),
        "threshold": threshold,
        "rounds": len(rounds),
        "cpu_seconds": round(rounds[-1].cpu_seconds, 1) if rounds else 0.0,
    }


def _progress(report: GrowthRound) -> str:
    return f"validation {report.validation_accuracy:.2%}, loss {report.validation_loss:.4f}"
