"""Which connectome a command runs on: the file that was named, or the synthetic one; and which cells it means by default."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordinate.reservoir.connectome.connectome import Connectome

__all__ = ["DATA_HELP", "NEURONS_HELP", "OUTPUT_WORDS", "READOUT_HELP", "STIMULUS_HELP", "default_readout", "given_connectome"]

DATA_HELP = (
    "Larval Drosophila's Supplementary-Data-S1 (zip or folder), C. elegans in a `cect` wheel or JSON, or a table of edges "
    "(csv, parquet). Without it a small synthetic connectome."
)
STIMULUS_HELP = 'Which cells sense, without a side: words joined by & | ! such as "sensory & olfactory".'
OUTPUT_WORDS = ("descending", "DN-VNC", "motor")
READOUT_HELP = f"Which cells command, without a side; by default the first of {', '.join(OUTPUT_WORDS)} that cells are called."
NEURONS_HELP = "Beside a table of edges: a table of neurons with columns id, side, mate, kind, labels."


def given_connectome(data: Path | None, seed: int = 0, neurons: Path | None = None) -> Connectome:
    """The connectome of a file, by its kind, or the synthetic one.

    Args:
        data: the file, or None.
        seed: of the synthetic connectome.
        neurons: what is known of each neuron, beside a table of edges.

    Raises:
        ArgumentError: a table of neurons beside anything but a table of edges.
        MissingDataError: no such file.
        DataError: a file that is damaged or of no known kind.
    """
    from ordinate.errors import ArgumentError
    from ordinate.reservoir.connectome.connectome import Connectome

    kinds = [] if data is None else [kind.lower() for kind in data.suffixes]
    edges = ".parquet" in kinds[-1:] or ".csv" in kinds[-2:]
    if neurons is not None and not edges:
        raise ArgumentError(
            "--neurons", expected="a table of edges as --data", got=str(data or "none"), hint="other files say it themselves"
        )
    if data is None:
        return Connectome.synthetic(seed)
    if edges:
        return Connectome.from_edges(data, neurons=neurons)
    return Connectome.c_elegans(data) if kinds[-1:] in ([".whl"], [".json"]) else Connectome.larval_drosophila(data)


def default_readout(connectome: Connectome) -> str:
    """The word for output cells that this connectome has."""
    return next((word for word in OUTPUT_WORDS if (connectome.kind == word).any()), OUTPUT_WORDS[0])
