"""`ordinate reservoir drive`: a connectome steers a fly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinate.cli.options import AsJson
from ordinate.cli.reservoir.connectomes import READOUT_HELP, STIMULUS_HELP, Source, connectome_options, default_readout

if TYPE_CHECKING:
    from ordinate.reservoir.body.drive import Drive, Senses
    from ordinate.reservoir.body.kinematic import Body

__all__ = ["body_named", "drive"]

BODIES = ("kinematic", "refitted", "neuromechfly")


@connectome_options
def drive(
    source: Source,
    stimulus: Annotated[str, typer.Option(metavar="QUERY", help=STIMULUS_HELP)] = "sensory",
    readout: Annotated[str | None, typer.Option(metavar="QUERY", help=READOUT_HELP)] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y",
            help="A point in mm, ahead and to the left of the start, that each side senses by where it lies. By default 20,20.",
        ),
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help='Instead: what is sensed from each second on, "SECONDS:LEFT,RIGHT ...", such as "0:1,0 2:0,1".'
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long, in the fly's time; less if the target is reached.")
    ] = 5.0,
    axons: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="same or crossed: which side's legs an output cell drives. The data do not say. With "
            "`same`, a brain that answers on the side of a stimulus turns the fly away from it.",
        ),
    ] = "same",
    level: Annotated[float, typer.Option(metavar="X", help="Drive of the legs when nothing is to one side, 0 to 1.5.")] = 0.8,
    steering: Annotated[float, typer.Option(metavar="X", help="Share by which a one-sided stimulus changes the drive.")] = 0.8,
    normalisation: Annotated[
        str, typer.Option(metavar="NAME", help="Of the weights, to 1: output, input, spectral_radius or none.")
    ] = "output",
    gain: Annotated[float, typer.Option(metavar="X", help="Factor of the normalised weights.")] = 0.9,
    backwards: Annotated[
        bool, typer.Option("--backwards", help="Let signals run from postsynaptic to presynaptic cells, as no brain does.")
    ] = False,
    unscaled: Annotated[
        bool,
        typer.Option(
            "--unscaled", help="Send the output cells' activity to the legs as it is, without --level and --steering."
        ),
    ] = False,
    leak: Annotated[float, typer.Option(metavar="X", help="Leak rate of the neurons, in (0, 1].")] = 0.5,
    updates: Annotated[int, typer.Option(metavar="N", help="Steps of the network for each step of the body.")] = 2,
    step: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds of one step of the body.")] = 0.01,
    body: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="kinematic: 154.5 (right - left) deg/s and 13.1 mean - 1.3 |difference| mm/s; refitted: "
            "the same with the coefficients of bench/body.py; neuromechfly: six legs in MuJoCo, with the extra `fly`.",
        ),
    ] = "kinematic",
    window: Annotated[bool, typer.Option("--window", help="With neuromechfly: watch it live in MuJoCo's window.")] = False,
    slow: Annotated[
        float,
        typer.Option("--playback", metavar="X", help="With neuromechfly: speed of the film; 0.2 is five times slower."),
    ] = 0.2,
    picture: Annotated[str, typer.Option("--format", metavar="NAME", help="Of the plots: png, svg, or both.")] = "both",
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for plots, numbers and film.")] = Path("drive"),
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the synthetic connectome and of the legs' start.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Let a connectome steer a fly: what is on either side stimulates its senses, its output cells drive the legs.

    Writes path and traces as pictures and drive.json to DIR; with `--body neuromechfly` also drive.mp4 and fly.png. Which way
    the fly turns, and when, is the connectome's own; how hard is scaled to its answers to one-sided stimuli.

    Exit 0, or 2 for wrong use.
    """
    from ordinate.cli.progress import bar
    from ordinate.errors import ArgumentError
    from ordinate.reservoir.body.drive import Brain
    from ordinate.reservoir.body.drive import drive as run
    from ordinate.reservoir.body.figures import save_figures

    if window and body != "neuromechfly":
        raise ArgumentError("--window", expected="a body with legs to look at", got=body, hint="add --body neuromechfly")
    if picture not in ("png", "svg", "both"):
        raise ArgumentError("--format", expected="png, svg or both", got=picture)
    senses = _senses(target, schedule)
    connectome = source.read(seed)
    brain = Brain(
        connectome,
        stimulus,
        default_readout(connectome) if readout is None else readout,
        normalisation=normalisation,
        gain=gain,
        leak_rate=leak,
        updates=updates,
        backwards=backwards,
    )
    walker = body_named(body, step, seed)
    film = _film(walker, slow, window) if body == "neuromechfly" else None
    try:
        with bar("walking") as progress:
            driven = run(
                brain,
                walker,
                senses,
                seconds=seconds,
                level=level,
                steering=steering,
                axons=axons,
                scaled=not unscaled,
                progress=progress,
            )
        suffixes = ("png", "svg") if picture == "both" else (picture,)
        written = [*save_figures(driven, out, suffixes), _write_numbers(driven, out)]
        if film is not None:
            written += [film.save(out / "drive.mp4"), film.save_picture(out / "fly.png")]
    finally:
        walker.close()
    _answer(driven, written, as_json)


def _senses(target: str | None, schedule: str | None) -> Senses:
    from ordinate.errors import ArgumentError
    from ordinate.reservoir.body.drive import Schedule, Target

    if target is not None and schedule is not None:
        raise ArgumentError("--target", expected="a target or a schedule", got="both")
    if schedule is not None:
        return Schedule.from_text(schedule)
    try:
        x, y = (float(part) for part in ("20,20" if target is None else target).split(","))
    except ValueError:
        raise ArgumentError("--target", expected="two numbers X,Y in mm", got=str(target), hint="such as 20,20") from None
    return Target(x, y)


def body_named(kind: str, step: float, seed: int) -> Body:
    """The body that the option --body names, with steps of so many seconds."""
    from ordinate.arguments import check_choice
    from ordinate.reservoir.body.kinematic import KinematicFly

    check_choice("--body", kind, BODIES)
    if kind == "neuromechfly":
        from ordinate.reservoir.body.neuromechfly import NeuroMechFly

        return NeuroMechFly(step, seed=seed)
    return KinematicFly(step) if kind == "kinematic" else KinematicFly.refitted(step)


def _film(walker: Any, playback_speed: float, window: bool) -> Any:
    from ordinate.reservoir.body.camera import Film, Window

    if window:
        Window(walker, playback_speed=playback_speed)
    return Film(walker, playback_speed=playback_speed)


def _write_numbers(driven: Drive, out: Path) -> Path:
    import json

    from ordinate.atomic_io import atomic_write

    text = json.dumps(driven.to_dict(traces=True), allow_nan=False) + "\n"
    return atomic_write(out / "drive.json", lambda draft: draft.write_text(text, encoding="utf-8"))


def _answer(driven: Drive, written: list[Path], as_json: bool) -> None:
    from rich.markup import escape

    from ordinate.cli.tables import answer, answer_json, grid

    result = driven.to_dict()
    result["files"] = [str(path) for path in written]
    if as_json:
        answer_json(result)
        return
    table = grid("what", "number")
    end = result["end"]
    rows = [
        ("connectome", result["settings"]["connectome"]),
        ("brain", "crosses" if result["settings"]["brain_crosses"] else "does not cross"),
        (
            "signals",
            "backwards, post to pre" if result["settings"]["backwards"] else "pre to post",
        ),
        ("axons", result["settings"]["axons"]),
        ("walked", f"{result['walked_mm']:.1f} mm in {result['seconds']:.2f} s"),
        (
            "turned",
            f"{abs(result['turned_degrees']):.0f} degrees to the {'left' if result['turned_degrees'] >= 0 else 'right'}",
        ),
        ("end", f"{end['x_mm']:.1f} mm ahead, {abs(end['y_mm']):.1f} mm to the {'left' if end['y_mm'] >= 0 else 'right'}"),
        *([] if result["closest_mm"] is None else [("nearest to the target", f"{result['closest_mm']:.1f} mm")]),
        ("files", ", ".join(result["files"])),
    ]
    for name, value in rows:
        table.add_row(name, escape(value))
    answer(table)
