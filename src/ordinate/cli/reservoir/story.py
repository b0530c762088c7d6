"""`ordinate reservoir story`: what a connectome does with a fly when nothing is scaled in between."""

from __future__ import annotations

from typing import Annotated

import typer

from ordinate.cli.options import AsJson
from ordinate.cli.reservoir.connectomes import READOUT_HELP, STIMULUS_HELP, Source, connectome_options, default_readout

__all__ = ["story"]


@connectome_options
def story(
    source: Source,
    stimulus: Annotated[
        list[str] | None,
        typer.Option(
            "--stimulus", metavar="QUERY", help=f"{STIMULUS_HELP} May be repeated; by default all senses and the noses."
        ),
    ] = None,
    readout: Annotated[str | None, typer.Option(metavar="QUERY", help=READOUT_HELP)] = None,
    gain: Annotated[
        float, typer.Option(metavar="X", help="Of the normalised weights: the spectral radius, or a row's sum.")
    ] = 0.9,
    seconds: Annotated[float, typer.Option(metavar="SECONDS", help="Of each walk, in the fly's time.")] = 2.0,
    axons: Annotated[
        str, typer.Option(metavar="NAME", help="same or crossed: which side's legs an output cell drives.")
    ] = "same",
    body: Annotated[str, typer.Option(metavar="NAME", help="As of `ordinate reservoir drive`.")] = "kinematic",
    step: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds of one step of the body.")] = 0.05,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the synthetic connectome and of the legs' start.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Hold the senses of one side at 1 and send what the output cells do to the legs, unscaled: spectral radius and row
    normalisation, the matrix read forwards and backwards.

    Exit 0, or 2 for wrong use.
    """
    from ordinate.cli.progress import steps
    from ordinate.cli.reservoir.drive import body_named
    from ordinate.cli.tables import answer, answer_json, format_value, grid
    from ordinate.reservoir.body.story import episodes

    connectome = source.read(seed)
    if not stimulus:
        noses = connectome.select("sensory & olfactory", allow_empty=True).size
        stimulus = ["sensory", *(["sensory & olfactory"] if noses else [])]
    with steps("walking"):
        unscaled = episodes(
            connectome,
            lambda: body_named(body, step, seed),
            stimuli=stimulus,
            readout=default_readout(connectome) if readout is None else readout,
            gain=gain,
            seconds=seconds,
            axons=axons,
        )
    if as_json:
        answer_json(
            {"connectome": connectome.name, "synapses": connectome.num_synapses, "walks": [one.to_dict() for one in unscaled]}
        )
        return
    from rich.markup import escape
    from rich.text import Text

    table = grid("senses", "side", "normalised by", "read", "left drive", "right drive", "turned left, degrees", "walked, mm")
    for one in unscaled:
        numbers = (
            ("-", "-", "-", "-")
            if one.refused
            else (f"{one.left:.4f}", f"{one.right:.4f}", f"{one.turned_degrees:+.1f}", f"{one.walked_mm:.1f}")
        )
        way = "backwards" if one.backwards else "forwards"
        table.add_row(escape(one.stimulus), one.side, one.normalisation.replace("_", " "), way, *numbers)
    size = (
        f"{connectome.name}: {format_value(connectome.num_neurons)} neurons, {format_value(connectome.num_synapses)} synapses"
    )
    notes = [Text(reason, style="dim") for reason in dict.fromkeys(one.refused for one in unscaled if one.refused)]
    answer(Text(size, style="bold"), table, *notes)
