"""`ordinate reservoir control`: does the wiring matter?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ordinate.cli.options import AsJson
from ordinate.cli.reservoir.connectomes import Source, connectome_options

if TYPE_CHECKING:
    from ordinate.reservoir.control import Control

__all__ = ["control"]


@connectome_options
def control(
    source: Source,
    task: Annotated[str, typer.Argument(metavar="TASK", help="turn, or one of `ordinate reservoir tasks --list`.")] = "memory",
    draws: Annotated[
        int, typer.Option("--draws", metavar="N", help="Draws of data, input weights and null models; at least 10.")
    ] = 10,
    few: Annotated[bool, typer.Option("--few", help="Allow fewer than ten draws.")] = False,
    wirings: Annotated[
        str, typer.Option("--nulls", metavar="NAME,NAME,...", help="Null models, by comma; modular is one more.")
    ] = "rewired,shuffled,kinds,mirrored,random",
    baselines: Annotated[
        str, typer.Option("--baselines", metavar="NAME,NAME,...", help="What needs no wiring, by comma: input, past, network.")
    ] = "input,past,network",
    signs: Annotated[str, typer.Option("--signs", metavar="NAME", help='"positive" or "half inhibitory".')] = "positive",
    normalisation: Annotated[
        str, typer.Option("--normalisation", metavar="NAME", help="spectral_radius, input or output.")
    ] = "input",
    dynamics: Annotated[
        str, typer.Option("--dynamics", metavar="NAME", help="leaky (rates), or spiking (a liquid-state machine).")
    ] = "leaky",
    stimulus: Annotated[
        str | None, typer.Option("--stimulus", metavar="QUERY", help="Neurons that hear the input; default all.")
    ] = None,
    readout: Annotated[
        str | None, typer.Option("--readout", metavar="QUERY", help="Neurons that may be read; default all.")
    ] = None,
    most_read: Annotated[
        int, typer.Option("--most-read", metavar="N", help="At most so many of them, drawn by each seed.")
    ] = 100,
    steps: Annotated[
        int, typer.Option("--steps", metavar="N", min=100, help="Training steps; the other stretches in proportion.")
    ] = 1000,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Of the first draw, and of the synthetic connectome.")
    ] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write a page of HTML with table and picture.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score a task on a connectome, on null models of it, and without any wiring, and say what differs.

    Same data, seeds and search budget for each; paired over draws, after Holm's correction. What does not differ is called not
    different.

    Exit 0, or 2 for wrong use.
    """
    from ordinate.cli.progress import bar
    from ordinate.reservoir.control import control as run
    from ordinate.reservoir.control import save_page
    from ordinate.reservoir.tasks.base import Size

    connectome = source.read(seed)
    with bar("candidates") as progress:
        result = run(
            connectome,
            task,
            draws=draws,
            seed=seed,
            wirings=_split(wirings),
            baselines=_split(baselines),
            size=Size(train=steps, validation=max(50, steps * 2 // 5), test=steps),
            signs=signs,
            normalisation=normalisation,
            dynamics=dynamics,
            stimulus=stimulus,
            readout=readout,
            most_read=most_read,
            few=few,
            progress=progress,
        )
    if out is not None:
        typer.echo(f"page: {save_page(result, out)}", err=True)
    if as_json:
        from ordinate.cli.tables import answer_json
        from ordinate.records import plain

        answer_json({name: plain(value) for name, value in result.to_dict().items()})
    else:
        _print(result)


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _print(result: Control) -> None:
    from rich.markup import escape
    from rich.text import Text

    from ordinate.cli.tables import answer, grid

    table = grid("against", "wiring", "other", "difference", "95 % interval", "effect size", "p, Holm", "")
    for one in result.contrasts:
        style = {"wiring better": "green", "wiring worse": "red"}.get(one.verdict, "dim")
        table.add_row(
            escape(one.other),
            f"{one.mean:.3f}",
            f"{one.other_mean:.3f}",
            f"{one.difference:+.3f}",
            f"{one.lower:+.3f} {one.upper:+.3f}",
            f"{one.effect_size:+.2f}",
            f"{one.p_adjusted:.2g}",
            f"[{style}]{one.verdict}[/]",
        )
    better = "higher" if result.higher_is_better else "lower"
    heading = f"[bold]{escape(result.task)}[/] on [bold]{escape(result.connectome)}[/], {result.draws} draws"
    notes = [Text(f"not applicable: {name}, for {reason}", style="dim") for name, reason in result.not_applicable.items()]
    cost = Text(f"{result.metric}, {better} is better; {result.seconds:.1f} s in all", style="dim")
    answer(Text.from_markup(heading), table, *notes, cost)
