"""Which connectome a command runs on: the file that was named, or the synthetic one; and which cells it means by default."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate.reservoir.connectome import Connectome

__all__ = ["DATA_HELP", "READOUT_HELP", "STIMULUS_HELP", "default_readout", "given_connectome"]

DATA_HELP = (
    "Larval Drosophila's Supplementary-Data-S1 (zip or folder), C. elegans in a `cect` wheel or JSON, or a table of edges "
    "(csv, parquet). Without it a small synthetic connectome."
)
STIMULUS_HELP = 'Which cells sense, without a side: words joined by & | ! such as "sensory & olfactory".'
READOUT_HELP = "Which cells command, without a side; by default `descending`, or `DN-VNC` where no cell is called so."


def given_connectome(data: Path | None, seed: int = 0) -> Connectome:
    """The connectome of a file, by its kind, or the synthetic one.

    Raises:
        MissingDataError: no such file.
        DataError: a file that is damaged or of no known kind.
    """
    from ordinate.reservoir.connectome import Connectome

    if data is None:
        return Connectome.synthetic(seed)
    made: Any = Connectome
    kinds = {".whl": "c_elegans", ".json": "c_elegans", ".csv": "from_edges", ".parquet": "from_edges"}
    loaded: Connectome = getattr(made, kinds.get(data.suffix.lower(), "larval_drosophila"))(data)
    return loaded


def default_readout(connectome: Connectome) -> str:
    """The word for output cells that this connectome has."""
    return "descending" if (connectome.kind == "descending").any() else "DN-VNC"
