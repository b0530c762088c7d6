"""What a claim is before anybody measures it, and what its measurement gets.

A claim is one Python file: a record `CLAIM = Claim(...)` that says what is claimed and where, and a function `measure` from
`Inputs` to `Measurement`. The record consists of literals only, so that `catalogue.py` can read it without running the file:
listing claims never waits for torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ordinate.arguments import check_choice

if TYPE_CHECKING:
    from ordinate.data import WordVectors
    from ordinate.lab.measurement import Measurement

__all__ = ["SETUPS", "Claim", "Inputs"]

SETUPS = ("same", "smaller", "other data", "none stated")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement that can be measured.

    Args:
        id: letters and a number, "A1".
        title: a few words for tables.
        statement: what the source says, with the source's own numbers and no others.
        varies: what differs between the cases that are compared.
        band: how near the source's numbers a measurement must come.
        budget_seconds: how long the measurement may take on two ordinary cores.
        place: where the source says it, such as the lines of an article.
        remark: what is ours: how the statement is read, and numbers of ours that the check needs.
        setup: how near the everyday measurement is to the source's own: "same" data and size, "smaller", "other data", or
            "none stated" where the source describes no experiment.
        setup_detail: what differs, and what brings it nearer.
        seeds: how many random draws; they are 0, 1, ... unless the user counts from another.
        full_only: too long for the everyday run; measured with `--full` or when asked for by name.
        shares: a name that claims have in common which use the same trained models: they are measured in one process.
        words: the words that word vectors must contain, so that a file without them is refused before any work.
        article: the source in words; the catalogue fills it in.
        origin: the module or the path of the file with `measure`; the catalogue fills it in.

    >>> claim = Claim(id="X1", title="Sums", statement="1 + 1 = 2", varies="nothing", band="exact", budget_seconds=1)
    >>> claim.setup
    'none stated'
    """

    id: str
    title: str
    statement: str
    varies: str
    band: str
    budget_seconds: float
    place: str = ""
    remark: str = ""
    setup: str = "none stated"
    setup_detail: str = ""
    seeds: int = 1
    full_only: bool = False
    shares: str = ""
    words: str = ""
    article: str = ""
    origin: str = ""

    def __post_init__(self) -> None:
        check_choice("setup", self.setup, SETUPS)

    def measurement(self) -> Callable[[Inputs], Measurement]:
        """The function `measure` of the claim's file; this is where the heavy imports happen."""
        module = _module_of_file(Path(self.origin)) if self.origin.endswith(".py") else import_module(self.origin)
        function: Callable[[Inputs], Measurement] = module.measure
        return function


def _module_of_file(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Inputs:
    """What every measurement gets.

    Args:
        seeds: what to draw the random parts from.
        vectors: the user's word vectors, or None for those in the package.
        full: take the time for the larger version of the measurement.
        data: the user's folder of larger data, or None to look where `ordinate.data.data_folder` does.
    """

    seeds: tuple[int, ...] = (0,)
    vectors: WordVectors | None = None
    full: bool = False
    data: Path | None = None

    def data_folder(self, name: str) -> Path | None:
        """The folder `name` of larger data, or None; raises as `ordinate.data.data_folder`."""
        from ordinate.data import data_folder

        return data_folder(name, self.data)

    def for_claim(self, claim: Claim, seed: int | None) -> Inputs:
        """These inputs with as many seeds as the claim draws, from `seed` on (from 0 without one)."""
        first = seed or 0
        return replace(self, seeds=tuple(range(first, first + claim.seeds)))
