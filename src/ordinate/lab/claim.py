"""What a claim is before anybody measures it, and what its measurement is given.

A claim names its measurement as "module:function", so a table of claims can be read, listed and searched without torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordinate.data import WordVectors
    from ordinate.lab.measurement import Measurement

__all__ = ["Claim", "Inputs"]


@dataclass(frozen=True)
class Claim:
    """One sentence of an article that can be measured.

    Args:
        id: the article's letter and a number, "A1".
        title: a few words for tables.
        article: which article, in words.
        statement: what the article says, with its numbers.
        varies: what differs between the cases that are compared.
        band: how near the article's numbers a measurement must come.
        seeds: what the random parts are drawn from, unless the user gives another.
        budget_seconds: how long the measurement may take on two ordinary cores.
        measure: "module:function" of a function from `Inputs` to `Measurement`.
        full_only: too long for the everyday run; measured with `--full` or when asked for by name.
        words: what given word vectors must contain, so that a file without them is refused before any work.
    """

    id: str
    title: str
    article: str
    statement: str
    varies: str
    band: str
    seeds: tuple[int, ...]
    budget_seconds: float
    measure: str
    full_only: bool = False
    words: tuple[str, ...] = ()

    def measurement(self) -> Callable[[Inputs], Measurement]:
        """The function behind `measure`; this is where the heavy imports happen."""
        module, _, name = self.measure.partition(":")
        function: Callable[[Inputs], Measurement] = getattr(import_module(module), name)
        return function


@dataclass(frozen=True)
class Inputs:
    """What every measurement is given.

    Args:
        seeds: what to draw the random parts from.
        given_vectors: word vectors the user asked for, or None for those in the package.
        full: take the time for the larger version of the measurement.
        given_data: the folder of larger data that the user named, or None to look where `ordinate.data.data_folder` does.
    """

    seeds: tuple[int, ...] = (0,)
    given_vectors: WordVectors | None = None
    full: bool = False
    given_data: Path | None = None

    def data_folder(self, name: str) -> Path | None:
        """The folder `name` of larger data, or None; raises as `ordinate.data.data_folder`."""
        from ordinate.data import data_folder

        return data_folder(name, self.given_data)

    def for_claim(self, claim: Claim, seed: int | None) -> Inputs:
        """These inputs with the claim's own seeds, or as many from `seed` on."""
        seeds = claim.seeds if seed is None else tuple(range(seed, seed + len(claim.seeds)))
        return replace(self, seeds=seeds)
