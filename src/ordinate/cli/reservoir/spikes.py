"""`ordinate reservoir spikes`: drive some neurons, silence others, and see who fires."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from ordinate.cli.options import AsJson, Figure
from ordinate.cli.reservoir.connectomes import Source, connectome_options

if TYPE_CHECKING:
    from ordinate.reservoir.dynamics import Spikes

__all__ = ["spikes"]


@connectome_options
def spikes(
    source: Source,
    activate: Annotated[
        list[str] | None,
        typer.Option(
            "--activate",
            metavar="QUERY",
            help='Neurons that get Poisson events, such as "sensory & left"; =HZ behind it gives them a rate. May be repeated.',
        ),
    ] = None,
    silence: Annotated[
        list[str] | None,
        typer.Option("--silence", metavar="QUERY", help="Neurons whose spikes reach nobody. May be repeated."),
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", metavar="SECONDS", help="Simulated time of a trial.")] = 1.0,
    trials: Annotated[int, typer.Option("--trials", metavar="N", min=1, help="Runs with events of their own.")] = 1,
    rate: Annotated[float, typer.Option("--rate", metavar="X", help="Of the Poisson events, in Hz.")] = 150.0,
    weight: Annotated[float, typer.Option("--weight", metavar="X", help="What one synapse adds to g, in mV.")] = 0.275,
    dtype: Annotated[str, typer.Option("--dtype", metavar="TYPE", help="float32 or float64.")] = "float64",
    impl: Annotated[
        str, typer.Option("--impl", metavar="NAME", help="events (compiled), clock (every neuron, every step), or auto.")
    ] = "auto",
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the events of the first trial.")] = 0,
    figure: Figure = None,
    as_json: AsJson = False,
) -> None:
    """Run a connectome as leaky integrate-and-fire neurons with the constants of Shiu et al. 2024, and print who fires.

    Weights are signed counts of synapses: with --signed the fly's signs follow its transmitters; without signs every synapse
    excites.

    Exit 0, or 2 for wrong use.
    """
    from ordinate.atomic_io import picture_kind, save_figure
    from ordinate.cli.progress import bar
    from ordinate.cli.tables import answer_json
    from ordinate.reservoir.dynamics import ShiuLIF, raster_figure, simulate_spikes

    if figure is not None:
        picture_kind(figure, name="--figure")
    connectome = source.read(seed)
    if connectome.num_edges and connectome.weights.data.min() > 0:
        typer.echo("no signs: every synapse excites", err=True)
    if not activate:
        typer.echo("nobody is activated: --activate QUERY drives neurons, such as --activate sensory", err=True)
    driven = dict(_rate(text, rate) for text in activate or ())
    model = ShiuLIF(weight=weight)
    runs: list[Spikes] = []
    with bar("steps") as progress:
        for trial in range(trials):
            label = "" if trials == 1 else f"trial {trial + 1} of {trials}"
            runs.append(
                simulate_spikes(
                    connectome,
                    driven,
                    silence=" | ".join(f"({query})" for query in silence) if silence else (),
                    seconds=seconds,
                    rate=rate,
                    model=model,
                    seed=seed + trial,
                    dtype=dtype,
                    impl=impl,
                    progress=lambda done, total, label=label: progress(done, total, label),  # type: ignore[misc]
                )
            )
    if figure is not None:
        typer.echo(f"picture: {save_figure(raster_figure(runs[0]), figure, name='--figure')}", err=True)
    record = _record(runs)
    if as_json:
        answer_json(record)
    else:
        _print(record)


def _rate(text: str, rate: float) -> tuple[str, float]:
    query, sign, number = text.rpartition("=")
    try:
        hz = float(number)
    except ValueError:
        return text, rate  # "superclass=descending" has no rate behind it
    if not sign or re.search(r"(^|[\s&|!(])id$", query.strip()):
        return text, rate  # nor has "id=720575940605301438"
    return query, hz


def _record(runs: list[Spikes]) -> dict[str, object]:
    """The first run's numbers, with means over trials where there are several."""
    import numpy as np

    record = {**runs[0].to_dict(), "trials": len(runs)}
    if len(runs) > 1:
        record["spikes"] = float(np.mean([run.neuron.size for run in runs]))
        record["neurons_that_fired"] = float(np.mean([(run.rates > 0).sum() for run in runs]))
        record["kinds"] = runs[0].rates_by_kind(*runs[1:])
    return record


def _print(record: dict[str, object], most: int = 30) -> None:
    from rich.markup import escape
    from rich.text import Text

    from ordinate.cli.tables import answer, grid

    rows: list[dict[str, object]] = record["kinds"]  # type: ignore[assignment]
    table = grid("kind", "neurons", "fired", "mean rate", "highest")
    for row in rows[:most]:
        spread = f" ± {row['mean_hz_sd']:.2f}" if "mean_hz_sd" in row else ""
        table.add_row(
            escape(str(row["kind"])),
            f"{row['neurons']:,}",
            f"{row['fired']:,.4g}",
            f"{row['mean_hz']:.2f}{spread} Hz",
            f"{row['highest_hz']:.1f} Hz",
        )
    heading = (
        f"[bold]{escape(str(record['connectome']))}[/]: {record['neurons']:,} neurons, {record['edges']:,} edges; "
        f"{record['activated']:,} activated, {record['silenced']:,} silenced"
    )
    trials = f" a trial, {record['trials']} trials" if record["trials"] != 1 else ""
    total = (
        f"{record['spikes']:,.10g} spikes of {record['neurons_that_fired']:,.10g} neurons in {record['seconds']:g} s{trials}"
    )
    notes = [Text(f"{len(rows) - most} more kinds: --json", style="dim")] if len(rows) > most else []
    assumed = [Text(f"assumed: {line}", style="dim") for line in record["assumptions"]]  # type: ignore[attr-defined]
    answer(Text.from_markup(heading), Text(total), *([table] if rows else []), *notes, *assumed)
