"""Which connectome a command runs on: the file that was named, or the synthetic one; and which cells it means by default."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ordinate.reservoir.connectome.connectome import Connectome

__all__ = [
    "DATA_HELP",
    "OUTPUT_WORDS",
    "READOUT_HELP",
    "STIMULUS_HELP",
    "Count",
    "Duplicates",
    "Kinds",
    "MinSynapses",
    "Neurons",
    "Post",
    "Pre",
    "Signed",
    "default_readout",
    "given_connectome",
]

DATA_HELP = (
    "Larval Drosophila's Supplementary-Data-S1 (zip or folder), C. elegans in a `cect` wheel or JSON, a folder of FlyWire or "
    "of the male fly as published, or a table of edges (csv, tsv, parquet, feather, npz, graphml). Without it a "
    "small synthetic connectome."
)
STIMULUS_HELP = 'Which cells sense, without a side: words joined by & | ! such as "sensory & olfactory".'
OUTPUT_WORDS = ("descending", "DN-VNC", "motor")
READOUT_HELP = f"Which cells command, without a side; by default the first of {', '.join(OUTPUT_WORDS)} that cells are called."

_TABLE = "Beside a table of edges: "
Neurons = Annotated[
    Path | None,
    typer.Option("--neurons", metavar="FILE", help=f"{_TABLE}a table of neurons with columns id, side, mate, kind, labels."),
]
Pre = Annotated[str | None, typer.Option("--pre", metavar="COLUMN", help=f"{_TABLE}the column of presynaptic ids.")]
Post = Annotated[str | None, typer.Option("--post", metavar="COLUMN", help=f"{_TABLE}the column of postsynaptic ids.")]
Count = Annotated[str | None, typer.Option("--count", metavar="COLUMN", help=f"{_TABLE}the column of synapse counts.")]
Duplicates = Annotated[
    str | None, typer.Option("--duplicates", metavar="HOW", help="A pair listed twice: sum adds the counts, error refuses.")
]
MinSynapses = Annotated[
    float | None, typer.Option("--min-synapses", metavar="N", help="Leave out pairs with fewer; of published files and tables.")
]
Kinds = Annotated[str | None, typer.Option("--kinds", metavar="COLUMN", help="The column that says what kind a neuron is.")]
Signed = Annotated[
    bool, typer.Option("--signed", help="Accept signed counts of a table; for the fly, signs follow transmitters.")
]


def given_connectome(data: Path | None, seed: int = 0, **reading: Any) -> Connectome:
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

    if data is not None and (table_kind(data) or data.suffix.lower() in (".npz", ".graphml")):
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
