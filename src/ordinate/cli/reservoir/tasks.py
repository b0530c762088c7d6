"""`ordinate reservoir tasks`: a benchmark card of a connectome against its null models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ordinate.cli.options import AsJson, Figure, Listed
from ordinate.cli.reservoir.connectomes import Source, connectome_options

if TYPE_CHECKING:
    from ordinate.reservoir.tasks.card import Card

__all__ = ["tasks"]


@connectome_options
def tasks(
    source: Source,
    task: Annotated[list[str] | None, typer.Argument(metavar="TASK", help="Such as narma10, or all; see --list.")] = None,
    nulls: Annotated[str, typer.Option("--nulls", metavar="NAME,NAME,...", help="Null models, by comma.")] = "rewired,random",
    signs: Annotated[
        str, typer.Option("--signs", metavar="NAME,NAME,...", help='"positive", "half inhibitory", by comma.')
    ] = "positive,half inhibitory",
    normalisations: Annotated[
        str, typer.Option("--normalisation", metavar="NAME,NAME,...", help="spectral_radius, input, output, by comma.")
    ] = "spectral_radius,input",
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", help="How many, from --seed on.")] = 5,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The first seed.")] = 0,
    steps: Annotated[
        int, typer.Option("--steps", metavar="N", help="Training steps; validation and test follow in proportion.")
    ] = 1000,
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
    picture: Figure = None,
    as_json: AsJson = False,
    listed: Listed = False,
) -> None:
    """Score a connectome on tasks against its null models, tuned on validation, with intervals over seeds.

    Without TASK: memory, narma10 and mackey-glass. What the seeds do not tell apart is called not different.

    Exit 0, or 2 for wrong use.
    """
    from ordinate.cli.progress import bar
    from ordinate.errors import ArgumentError
    from ordinate.reservoir.tasks.base import Size
    from ordinate.reservoir.tasks.card import Plan, draw_card
    from ordinate.reservoir.tasks.registry import tasks as known

    if listed:
        _print_list(as_json)
        return
    for name, value, least in (("--seeds", seeds, 2), ("--seed", seed, 0), ("--steps", steps, 200)):
        if value < least:
            raise ArgumentError(name, expected=f"at least {least}", got=value)
    _check_picture(picture)
    chosen = tuple(known()) if task == ["all"] else tuple(task or ("memory", "narma10", "mackey-glass"))
    plan = Plan(
        tasks=chosen,
        nulls=_split(nulls),
        signs=_split(signs),
        normalisations=_split(normalisations),
        seeds=tuple(range(seed, seed + seeds)),
        size=Size(train=steps, validation=max(50, steps * 2 // 5), test=steps),
        dynamics=dynamics,
        stimulus=stimulus,
        readout=readout,
        most_read=most_read,
    )
    connectome = source.read()
    with bar("networks") as advance:
        card = draw_card(connectome, plan, progress=advance)
    if picture is not None:
        from ordinate.reservoir.tasks.card import save_chart

        save_chart(card, picture)
        typer.echo(f"figure: {picture}", err=True)
    if as_json:
        from ordinate.cli.tables import answer_json

        answer_json(card.to_dict())
    else:
        _print(card)


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _check_picture(picture: Path | None) -> None:
    """Before minutes of work, not after."""
    from ordinate.atomic_io import check_output, picture_kind

    if picture is None:
        return
    picture_kind(picture, name="--figure")
    check_output(picture, name="--figure")


def _print_list(as_json: bool) -> None:
    from ordinate.cli.tables import answer, answer_json, grid
    from ordinate.reservoir.tasks.registry import tasks as known

    rows = [
        {"name": one.name, "title": one.title, "metric": one.metric, "higher_is_better": one.higher_is_better}
        for one in known().values()
    ]
    if as_json:
        answer_json(rows)
        return
    table = grid("task", "what", "metric", "better")
    for row in rows:
        table.add_row(
            f"[bold]{row['name']}[/]", str(row["title"]), str(row["metric"]), "higher" if row["higher_is_better"] else "lower"
        )
    answer(table)


def _print(card: Card) -> None:
    from rich.markup import escape
    from rich.text import Text

    from ordinate.cli.tables import answer, grid
    from ordinate.reservoir.tasks.registry import task_named

    table = grid("task", "signs", "normalisation", "connectome", "null", "score", "differ.", "95 % interval", "")
    last = ""
    for one in card.comparisons:
        style = {"connectome better": "green", "connectome worse": "red"}.get(one.verdict, "dim")
        table.add_row(
            f"[bold]{one.task}[/]" if one.task != last else "",
            one.signs,
            one.normalisation,
            f"{one.connectome_mean:.3f}",
            one.null,
            f"{one.null_mean:.3f}",
            f"{one.difference:+.3f}",
            f"{one.lower:+.3f} {one.upper:+.3f}",
            f"[{style}]{one.verdict}[/]",
        )
        last = one.task
    metrics = "; ".join(
        f"{task_named(name).title}: {task_named(name).metric}, "
        f"{'higher' if task_named(name).higher_is_better else 'lower'} is better"
        for name in card.plan.tasks
    )
    heading = (
        f"[bold]{escape(card.connectome)}[/], {card.num_neurons:,} neurons, {card.num_edges:,} edges, "
        f"{len(card.plan.seeds)} seeds\n[dim]{escape(metrics)}[/]"
    )
    end = f"{card.num_different} of {len(card.comparisons)} comparisons differ, after Holm's correction at .05"
    edges = _at_an_end(card)
    if edges:
        end += f"; tuning ended at the largest gain tried in {edges}: more gain may help there"
    answer(Text.from_markup(heading), table, Text(end, style="dim"))


def _at_an_end(card: Card) -> str:
    """Where most seeds chose the largest gain."""
    largest = max(card.plan.gains)
    cells = [cell for cell, gains in card.gains.items() if gains.count(largest) > len(gains) / 2]
    return f"{len(cells)} of {len(card.gains)} cells" if cells else ""
