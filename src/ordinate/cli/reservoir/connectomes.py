"""Which connectome a command runs on: the file that was named, or the synthetic one; and which cells it means by default."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ordinate.reservoir.connectome.connectome import Connectome

__all__ = ["READOUT_HELP", "STIMULUS_HELP", "Source", "connectome_options", "default_readout"]

DATA_HELP = (
    "Larval Drosophila's Supplementary-Data-S1 (zip or folder), C. elegans in a `cect` wheel or JSON, a folder of FlyWire or "
    "of the male fly as published, a table of edges (csv, tsv, parquet, feather, graphml), or a matrix (npz, npy, csv). "
    "Without it a small synthetic connectome."
)
STIMULUS_HELP = 'Which cells sense, without a side: words joined by & | ! such as "sensory & olfactory".'
OUTPUT_WORDS = ("descending", "DN-VNC", "motor")
READOUT_HELP = f"Which cells command, without a side; by default the first of {', '.join(OUTPUT_WORDS)} that cells are called."

_TABLE = "Beside a table of edges: "


def _options(
    data: Annotated[Path | None, typer.Option("--data", metavar="FILE", help=DATA_HELP)] = None,
    neurons: Annotated[
        Path | None,
        typer.Option(
            "--neurons", metavar="FILE", help=f"{_TABLE}a table of neurons with columns id, side, mate, kind, labels."
        ),
    ] = None,
    pre: Annotated[str | None, typer.Option("--pre", metavar="COLUMN", help=f"{_TABLE}the column of presynaptic ids.")] = None,
    post: Annotated[
        str | None, typer.Option("--post", metavar="COLUMN", help=f"{_TABLE}the column of postsynaptic ids.")
    ] = None,
    count: Annotated[
        str | None, typer.Option("--count", metavar="COLUMN", help=f"{_TABLE}the column of synapse counts.")
    ] = None,
    duplicates: Annotated[
        str | None,
        typer.Option("--duplicates", metavar="NAME", help="A pair listed twice: sum adds the counts, error refuses."),
    ] = None,
    min_synapses: Annotated[
        float | None,
        typer.Option("--min-synapses", metavar="N", help="Leave out pairs with fewer; of published files and tables."),
    ] = None,
    kinds: Annotated[
        str | None, typer.Option("--kinds", metavar="COLUMN", help="The column that says what kind a neuron is.")
    ] = None,
    signed: Annotated[
        bool, typer.Option("--signed", help="Accept signed counts of a table; for the fly, signs follow transmitters.")
    ] = False,
) -> None:
    """The options that name a connectome, spelt once."""


@dataclass(frozen=True)
class Source:
    """The connectome that the options of a command name: a file or folder and how it is read; the synthetic one without."""

    data: Path | None
    reading: dict[str, Any]

    def read(self, seed: int = 0) -> Connectome:
        """Read it, or make the synthetic one of that seed and say so."""
        if self.data is None and not any(self.reading.values()):
            typer.echo("no --data: a small synthetic connectome, not a brain", err=True)
        return _read(self.data, seed, **self.reading)


def connectome_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that name a connectome; it takes them as one argument, `source`."""
    own, shared = inspect.signature(command, eval_str=True), inspect.signature(_options, eval_str=True).parameters
    parameters = [
        one for name, parameter in own.parameters.items() for one in (shared.values() if name == "source" else (parameter,))
    ]

    @functools.wraps(command)
    def wrapper(**values: Any) -> None:
        reading = {name: values.pop(name) for name in shared}
        command(source=Source(reading.pop("data"), reading), **values)

    vars(wrapper)["__signature__"] = own.replace(parameters=parameters)
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapper


def _read(data: Path | None, seed: int = 0, **reading: Any) -> Connectome:
    """The connectome of a file, by its kind, or the synthetic one.

    Args:
        data: the file or folder, or None.
        seed: of the synthetic connectome.
        reading: how tables are read: `neurons`, `pre`, `post`, `count`, `duplicates`, `min_synapses`, `kinds`, `signed`; None
            and False leave the reader's own.

    Raises:
        ArgumentError: an option of tables beside another kind of file.
        MissingDataError: no such file.
        DataError: a file that is damaged or of no known kind.
    """
    from ordinate.errors import ArgumentError
    from ordinate.reservoir.connectome.connectome import Connectome
    from ordinate.reservoir.connectome.streaming import table_kind

    chosen = {name: value for name, value in reading.items() if value not in (None, False)}

    def refuse(names: set[str], expected: str) -> None:
        wrong = next((name for name in chosen if name in names), None)
        if wrong is not None:
            option = f"--{wrong.replace('_', '-')}"
            raise ArgumentError(option, expected=expected, got=str(data or "none"), hint="other files say it themselves")

    if data is not None and (table_kind(data) or data.suffix.lower() in (".npz", ".npy", ".graphml")):
        return Connectome.from_edges(data, **chosen)
    refuse({"neurons", "pre", "post", "count"}, "a table of edges as --data")
    if data is not None and data.is_dir():
        if any(data.glob("connectome-weights-*.feather")):
            return Connectome.male_cns(data, **chosen)
        if any(
            True
            for pattern in ("connections*.csv*", "*connections*.feather", "*onnectivity*.parquet")
            for _ in data.glob(pattern)
        ):
            return Connectome.flywire(data, **chosen)
    refuse(set(chosen), "a table of edges or a published fly as --data")
    if data is None:
        return Connectome.synthetic(seed)
    suffix = data.suffix.lower()
    return Connectome.c_elegans(data) if suffix in (".whl", ".json") else Connectome.larval_drosophila(data)


def default_readout(connectome: Connectome) -> str:
    """The word for output cells that this connectome has."""
    return next((word for word in OUTPUT_WORDS if (connectome.kind == word).any()), OUTPUT_WORDS[0])
