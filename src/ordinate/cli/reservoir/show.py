"""`ordinate reservoir show`: what a connectome file holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinate.cli.options import AsJson, Figure
from ordinate.cli.reservoir.connectomes import Source, connectome_options

if TYPE_CHECKING:
    from ordinate.reservoir.connectome.connectome import Connectome
    from ordinate.reservoir.connectome.orientation import Orientation
    from ordinate.reservoir.connectome.summary import Summary

__all__ = ["show"]


@connectome_options
def show(
    source: Source,
    select: Annotated[
        str | None, typer.Option("--select", metavar="QUERY", help='Only these cells: such as "sensory & left", "!KC".')
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the synthetic connectome.")] = 0,
    out: Figure = None,
    as_json: AsJson = False,
) -> None:
    """Show neurons, edges, synapses, sides, kinds, spectral radius, who carries the leading mode, and which way edges run.

    Exit 0, or 2 for wrong use.
    """
    from ordinate.reservoir.connectome.summary import summarise

    if out is not None:
        from ordinate.atomic_io import picture_kind

        picture_kind(out, name="--figure")
    connectome = source.read(seed)
    orientation = _orientation(connectome, source.data)
    if select is not None:
        connectome = connectome.restrict(connectome.select(select, argument="select"))
    summary = summarise(connectome)
    if out is not None:
        from ordinate.atomic_io import save_figure
        from ordinate.reservoir.connectome.summary import summary_figure

        typer.echo(f"figure: {save_figure(summary_figure(connectome, summary), out, name='--figure')}", err=True)
    if as_json:
        from ordinate.cli.tables import answer_json

        answer_json({**summary.to_dict(), "orientation": None if orientation is None else _as_record(orientation)})
    else:
        _print(summary, orientation)


def _orientation(connectome: Connectome, data: Path | None) -> Orientation | None:
    """Only the larval supplement counts inputs and outputs apart from its matrix."""
    from ordinate.reservoir.connectome.larval import larval_orientation

    return larval_orientation(data) if data is not None and connectome.name == "larval Drosophila" else None


def _as_record(orientation: Orientation) -> dict[str, Any]:
    return {**orientation.__dict__, "proved": orientation.proved}


def _crossing(share: float) -> str:
    return "no synapses between known sides" if share != share else f"{share:.1%}"  # NaN is not equal to itself


def _print(summary: Summary, orientation: Orientation | None) -> None:
    from rich.markup import escape
    from rich.text import Text

    from ordinate.cli.tables import answer, format_value, grid

    facts = grid("what", "how many")
    for name, value in (
        ("neurons", summary.neurons),
        ("edges", summary.edges),
        ("synapses", summary.synapses),
        ("self-loops", summary.self_loops),
        ("neurons without outputs, without inputs", f"{format_value(summary.no_outputs)}, {format_value(summary.no_inputs)}"),
        ("left, right, unknown", ", ".join(format_value(count) for count in summary.sides.values())),
        ("homologous pairs", summary.pairs),
        ("synapses that cross, of those between known sides", _crossing(summary.synapses_crossing)),
        ("spectral radius", f"{summary.spectral_radius:.2f}"),
        ("neurons that carry the leading mode", "none" if not summary.leading else f"{summary.leading.num_carriers:.1f}"),
    ):
        facts.add_row(name, escape(format_value(value)))
    kinds = grid("kind", "left", "right", "unknown", "of the leading mode")
    carried = summary.leading.by_kind if summary.leading else {}
    for kind, sides in summary.kinds.items():
        kinds.add_row(
            escape(kind) or "(none)", *(format_value(count) for count in sides.values()), f"{carried.get(kind, 0):.1%}"
        )
    if orientation is None:
        proof = "which way edges run: rows are taken as presynaptic; nothing in the file proves it"
    else:
        proof = (
            f"which way edges run: rows are presynaptic, {'proved' if orientation.proved else 'not proved'} at "
            f"{orientation.compared:,} neurons. Row sums above counted outputs: {orientation.row_excess}, column sums above "
            f"counted inputs: {orientation.column_excess}; read transposed they would be "
            f"{orientation.transposed_row_excess:,} and {orientation.transposed_column_excess:,}"
        )
    assumed = [Text(f"assumed: {sentence}", style="dim") for sentence in summary.assumptions]
    answer(Text(summary.name, style="bold"), facts, kinds, Text(proof), *assumed)
