"""`ordinate reservoir laterality`: does a connectome cross?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinate.cli.options import AsJson, Figure
from ordinate.cli.reservoir.connectomes import READOUT_HELP, STIMULUS_HELP, Source, connectome_options, default_readout

if TYPE_CHECKING:
    from ordinate.reservoir.connectome.connectome import Connectome
    from ordinate.reservoir.laterality.experiment import Laterality

__all__ = ["laterality"]

_SEVERAL = "; several, separated by commas, make a sweep."


@connectome_options
def laterality(
    source: Source,
    stimulus: Annotated[str, typer.Option(metavar="QUERY", help=STIMULUS_HELP)] = "sensory",
    readout: Annotated[str | None, typer.Option(metavar="QUERY", help=READOUT_HELP)] = None,
    steps: Annotated[str, typer.Option(metavar="N,N,...", help="Steps until the output cells are read" + _SEVERAL)] = "5",
    gain: Annotated[str, typer.Option(metavar="X,X,...", help="Factor of the normalised weights" + _SEVERAL)] = "1",
    normalisation: Annotated[
        str,
        typer.Option(metavar="NAME,NAME,...", help="Of the weights, to 1: output, input, spectral_radius or none" + _SEVERAL),
    ] = "output",
    threshold: Annotated[str, typer.Option(metavar="X,X,...", help="Least synapses that an edge must have" + _SEVERAL)] = "1",
    activation: Annotated[str, typer.Option(metavar="NAME", help="Of the neurons: tanh, relu, identity and so on.")] = "tanh",
    leak: Annotated[float, typer.Option(metavar="X", help="Leak rate of the neurons, in (0, 1].")] = 1.0,
    amplitude: Annotated[float, typer.Option(metavar="X", help="What stimulated cells receive.")] = 1.0,
    pulse: Annotated[bool, typer.Option("--pulse", help="Stimulate at the first step only, not at all of them.")] = False,
    backwards: Annotated[
        bool, typer.Option("--backwards", help="Let signals run from postsynaptic to presynaptic cells, as no brain does.")
    ] = False,
    draws: Annotated[int, typer.Option("--draws", metavar="N", min=0, help="Of each null model; 0 for none.")] = 20,
    nulls: Annotated[
        list[str] | None,
        typer.Option(
            "--nulls",
            metavar="NAME,NAME,...",
            help="Null models, by comma: rewired, shuffled, relabelled, mirrored, random (by default all that apply), modular.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the null models, and of the synthetic connectome.")] = 0,
    out: Figure = None,
    as_json: AsJson = False,
) -> None:
    """Stimulate the senses of one side and then of the other, read the output cells of both, compare with chance.

    The table has a row for each side stimulated and a column for each side read. The index is above 0 where the other side
    answers more. z-scores say by how many standard deviations it differs from null models of the same connectome.

    Exit 0, or 2 for wrong use.
    """

    if out is not None:
        from ordinate.atomic_io import picture_kind

        picture_kind(out, name="--figure")  # before anybody waits for what cannot be drawn
    settings = {
        "steps": _numbers("--steps", steps, int),
        "gains": _numbers("--gain", gain, float),
        "normalisations": tuple(normalisation.split(",")),
        "thresholds": _numbers("--threshold", threshold, float),
    }
    connectome = source.read(seed)
    cells = (stimulus, default_readout(connectome) if readout is None else readout)
    dynamics = {
        "activation": activation,
        "leak_rate": leak,
        "amplitude": amplitude,
        "sustained": not pulse,
        "backwards": backwards,
        "nulls": _nulls(connectome, nulls, draws),
        "seed": seed,
    }
    if all(len(values) == 1 for values in settings.values()):
        _one(connectome, cells, settings, dynamics, out, as_json)
    else:
        _sweep(connectome, cells, settings, dynamics, out, as_json)


def _numbers(option: str, text: str, kind: Callable[[str], Any]) -> tuple[Any, ...]:
    from ordinate.errors import ArgumentError

    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise ArgumentError(option, expected=f"{what} separated by commas", got=text, hint="such as 5,10,20") from None


def _nulls(connectome: Connectome, chosen: Sequence[str] | None, draws: int) -> dict[str, int]:
    """So many draws of each; one of the mirrored connectome, for chance has no part in it."""
    from ordinate.reservoir.connectome.nulls import NULLS

    if chosen is None:
        paired = bool((connectome.mate >= 0).any())
        chosen = [name for name in NULLS if name != "modular" and (paired or name not in ("relabelled", "mirrored"))]
    else:
        chosen = [name.strip() for names in chosen for name in names.split(",")]
    return {name: 1 if name == "mirrored" else draws for name in chosen} if draws else {}


def _one(
    connectome: Connectome,
    cells: tuple[str, str],
    settings: dict[str, Any],
    dynamics: dict[str, Any],
    out: Path | None,
    as_json: bool,
) -> None:
    from ordinate.atomic_io import save_figure
    from ordinate.cli.progress import bar
    from ordinate.cli.tables import answer_json
    from ordinate.reservoir.laterality.experiment import laterality as measured
    from ordinate.reservoir.laterality.figures import laterality_figure

    singular = {"steps": "steps", "gains": "gain", "normalisations": "normalisation", "thresholds": "threshold"}
    with bar("networks") as progress:
        result = measured(
            connectome,
            cells[0],
            cells[1],
            **{singular[name]: values[0] for name, values in settings.items()},
            **dynamics,
            progress=progress,
        )
    if out is not None:
        typer.echo(f"figure: {save_figure(laterality_figure(result), out, name='--figure')}", err=True)
    if as_json:
        answer_json(result.to_dict())
    else:
        _print_one(result)


def _print_one(result: Laterality) -> None:
    from rich.markup import escape
    from rich.text import Text

    from ordinate.cli.tables import answer, grid

    table = grid(f"mean activity after {result.settings['steps']} steps", "left read", "right read")
    for name, row in zip(("left stimulated", "right stimulated"), result.table, strict=True):
        table.add_row(f"{name}", *(f"{value:.4f}" for value in row))
    numbers = grid("what", "number", "in words")
    where = "the other side answers more" if result.crosses else "the own side answers more"
    numbers.add_row("index", f"{result.index:+.3f}", where)
    numbers.add_row("side bias", f"{result.side_bias:+.3f}", "above 0: the right answers more, whatever is stimulated")
    if result.pairs is not None:
        pairs = result.pairs
        detail = f"effect {pairs.effect_size:+.2f}, Wilcoxon p {pairs.wilcoxon_p:.1e}"
        numbers.add_row("homologous pairs", f"{pairs.crossing} of {pairs.count} cross", detail)
    if result.carriers is not None:
        without = result.carriers.index_without
        rest = "nothing is left" if without != without else f"the index is {without:+.3f}"
        detail = f"nine tenths: {result.carriers.most}; without the first {rest}"
        numbers.add_row("cells that make half of it", f"{result.carriers.half} of {sum(result.read)}", detail)
    nulls = grid("null model", "draws", "index, mean ± sd", "z", "p", "side bias z")
    for one in result.nulls:
        spread = "" if one.standard_deviation != one.standard_deviation else f" ± {one.standard_deviation:.3f}"
        nulls.add_row(
            escape(one.name),
            str(one.draws),
            f"{_number(one.mean, '+.3f')}{spread}",
            _number(one.z, "+.1f"),
            _number(one.p, ".3f"),
            _number(one.side_bias_z, "+.1f"),
        )
    heading = f"[bold]{escape(result.stimulus)}[/] to [bold]{escape(result.readout)}[/] in {escape(result.connectome)}"
    sizes = (
        f"[dim]{result.stimulated[0]} and {result.stimulated[1]} cells stimulated, {result.read[0]} and {result.read[1]} read; "
    )
    answer(
        Text.from_markup(heading),
        Text.from_markup(
            f"{sizes}{escape(str(result.settings['normalisation']))}, gain {result.settings['gain']:g}, "
            f"signals run {result.settings['direction']}[/]"
        ),
        table,
        numbers,
        *([nulls] if result.nulls else []),
    )


def _number(value: float, form: str) -> str:
    return "" if value != value else format(value, form)  # NaN: one draw has no spread, and nobody's answers have no index


def _sweep(
    connectome: Connectome,
    cells: tuple[str, str],
    settings: dict[str, Any],
    dynamics: dict[str, Any],
    out: Path | None,
    as_json: bool,
) -> None:
    from ordinate.atomic_io import save_figure
    from ordinate.cli.progress import bar
    from ordinate.cli.tables import answer, answer_json, grid
    from ordinate.reservoir.laterality.experiment import sweep
    from ordinate.reservoir.laterality.figures import sweep_figure

    with bar("networks") as progress:
        swept = sweep(connectome, cells[0], cells[1], **settings, **dynamics, progress=progress)
    if out is not None:
        typer.echo(f"figure: {save_figure(sweep_figure(swept), out, name='--figure')}", err=True)
    rows = swept.to_rows()
    if as_json:
        answer_json({"connectome": connectome.name, "stimulus": cells[0], "readout": cells[1], "settings": rows})
        return
    table = grid(
        "normalisation", "threshold", "gain", "steps", "index", "side bias", *(f"z {name}" for name in swept.null_names)
    )
    for row in rows:
        indices = ["" if value is None else f"{value:+.3f}" for value in (row["index"], row["side_bias"])]
        scores = ["" if value is None else f"{value:+.1f}" for value in row["z_scores"].values()]
        setting = (row["normalisation"], f"{row['threshold']:g}", f"{row['gain']:g}", str(row["steps"]))
        table.add_row(*setting, *indices, *scores)
    answer(table)
