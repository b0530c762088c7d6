"""Where data that are too large for the package, or not ours to pass on, are looked for.

Nothing is downloaded. A claim without data runs on what is embedded, and says so.
"""

from __future__ import annotations

import os
from pathlib import Path

from ordinate.data.idx import contents
from ordinate.errors import MissingDataError

__all__ = ["DATA_VARIABLE", "data_folder"]

DATA_VARIABLE = "ORDINATE_DATA"
"""The environment variable that names the folder of all data."""


def data_folder(name: str, root: str | Path | None = None) -> Path | None:
    """The folder `name` of the data, or None where there is none.

    It is looked for in `root`, or else in the folder that the environment variable `ORDINATE_DATA` names, or else in `data` in
    the working directory.

    Args:
        name: such as "mnist" or "larval-drosophila".
        root: the folder of all data, which must then be there; None to look for it.

    Raises:
        MissingDataError: `root`, or the folder that the variable names, is no folder.

    >>> data_folder("a folder that nobody has") is None
    True
    """
    for place, argument in ((root, "data"), (os.environ.get(DATA_VARIABLE), DATA_VARIABLE)):
        if place is not None:
            if not Path(place).is_dir():
                raise MissingDataError(
                    argument, expected="a folder that holds folders of data", got=f"{place}, {contents(Path(place))}"
                )
            folder = Path(place) / name
            return folder if folder.is_dir() else None
    folder = Path("data") / name
    return folder if folder.is_dir() else None
