"""What a sweep consists of: the presets, and the cells that follow from one.

Nothing here imports torch. Steps are as many as the task takes to be learned by encodings that can; what does not come so far
is "not learned", which says nothing about its extrapolation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ordinate.arguments import check_integer, did_you_mean
from ordinate.errors import ArgumentError
from ordinate.sweep.cell import STUDIES, Cell

__all__ = ["DEFAULT", "FAMILIES", "FULL", "QUICK", "Preset"]

_EIGHT = ("none", "sinusoidal", "learned", "shaw", "alibi", "rope", "xpos", "kerple")
_ALL = (
    "none", "none-temperature", "sinusoidal", "learned", "shaw", "music", "t5", "alibi", "rope", "p-rope", "random-rope",
    "xpos", "kerple", "fire", "clipped-rope", "path-fox",
)  # fmt: skip
_EASY, _HARD = ("lookup", "k-back", "induction", "flip-flop"), ("copy", "reverse", "sort", "states")


@dataclass(frozen=True)
class Preset:
    """A sweep: every task with every encoding, length and seed.

    Args:
        name: for people.
        tasks, encodings: names.
        seeds: how many, from `first_seed` on.
        train_lengths: each is swept.
        factors: tests are at these multiples of the training length, the first 1.
        studies: which of `STUDIES`; the ones on a trained rotary model and on no encoding run on text alone.
        steps: by task; `usual_steps` for the others.
        extension_steps: of training where models are extended or probed.
        layers, dim, heads, batch_rows, learning_rates, tested_rows: as in `Cell`.
        first_seed: where to start counting.
    """

    name: str
    tasks: tuple[str, ...]
    encodings: tuple[str, ...] = _EIGHT
    seeds: int = 3
    train_lengths: tuple[int, ...] = (64,)
    factors: tuple[int, ...] = (1, 2, 4, 8)
    studies: tuple[str, ...] = ("lengths",)
    steps: dict[str, int] = field(default_factory=dict)
    usual_steps: int = 160
    extension_steps: int = 400
    layers: int = 2
    dim: int = 64
    heads: int = 4
    batch_rows: int = 16
    learning_rates: tuple[float, ...] = (3e-3,)
    tested_rows: int = 64
    first_seed: int = 0

    def cells(self, corpus_digest: str = "", sources: Mapping[str, str] | None = None) -> list[Cell]:
        """Every cell, in the order of the table: by study, task, length, encoding, seed.

        Args:
            corpus_digest: of the text, needed where text is among the tasks or studied.
            sources: digests of classes of your own, by the names of the encodings.

        Raises:
            ArgumentError: no tasks, encodings, seeds or studies; what `Cell` refuses.

        >>> len(QUICK.cells()), len({cell.key for cell in QUICK.cells()})
        (48, 48)
        """
        for name, what in (("tasks", self.tasks), ("encodings", self.encodings), ("studies", self.studies)):
            if not what:
                raise ArgumentError(name, expected="at least one", got="none")
            if len(set(what)) < len(what):
                raise ArgumentError(name, expected="each once", got=list(what))
        for study in self.studies:
            if study not in STUDIES:
                raise ArgumentError(
                    "study", expected=f"one of {', '.join(STUDIES)}", got=study, hint=did_you_mean(study, STUDIES)
                )
        check_integer("seeds", self.seeds, minimum=1, hint="3 show a spread")
        cells = []
        for study in self.studies:
            for task in self.tasks if study == "lengths" else ("text",):
                for length in self.train_lengths:
                    for encoding in self._encodings_of(study):
                        cells += [
                            self._cell(study, task, length, encoding, seed, corpus_digest, (sources or {}).get(encoding, ""))
                            for seed in range(self.first_seed, self.first_seed + self.seeds)
                        ]
        return cells

    @property
    def reads_text(self) -> bool:
        """Whether any cell needs the corpus."""
        return any(study != "lengths" for study in self.studies) or "text" in self.tasks

    def but(self, **changes: Any) -> Preset:
        """This preset with some fields replaced; None leaves a field as it is."""
        return dataclasses.replace(self, **{name: value for name, value in changes.items() if value is not None})

    def _encodings_of(self, study: str) -> Sequence[str]:
        return {"lengths": self.encodings, "extension": ("rope",), "probe": ("none",)}[study]

    def _cell(self, study: str, task: str, length: int, encoding: str, seed: int, digest: str, source: str) -> Cell:
        return Cell(
            task,
            encoding,
            seed,
            study=study,
            train_length=length,
            test_lengths=tuple(length * factor for factor in self.factors),
            layers=self.layers,
            dim=self.dim,
            heads=max(1, self.heads // 2) if study == "extension" else self.heads,  # wide heads, for a ramp over pairs
            steps=self.extension_steps if study != "lengths" else self.steps.get(task, self.usual_steps),
            batch_rows=self.batch_rows,
            learning_rates=self.learning_rates,
            tested_rows=self.tested_rows,
            corpus=digest if task == "text" else "",
            source=source,
        )


QUICK = Preset("quick", ("lookup", "k-back"))
"""Two tasks that are learned in seconds: does the content of the past, and does its place, carry past the training length."""

DEFAULT = Preset("default", ("lookup", "k-back", "text"), steps={"text": 240})
"""The same and text."""

FULL = Preset(
    "full",
    ("text", *_EASY, *_HARD),
    encodings=_ALL,
    seeds=5,
    train_lengths=(64, 128),
    studies=("lengths", "extension", "probe"),
    steps={"text": 4000, **dict.fromkeys(_EASY, 1000), **dict.fromkeys(_HARD, 3000)},
    extension_steps=4000,
    layers=4,
    dim=128,
    batch_rows=32,
    learning_rates=(1e-3, 3e-3, 6e-3),
    tested_rows=128,
)
"""Everything, on four layers; days on a laptop, so meant for `--shard` and clusters."""

FAMILIES: Mapping[str, Preset] = {
    "recent": Preset(
        "recent",
        ("flip-flop", "k-back", "lookup"),
        encodings=(
            *("none", "alibi", "rope", "clipped-rope", "grape", "path-integral"),
            *("forget-gates", "path", "path-fox", "selective-rotary", "repo"),
        ),
        train_lengths=(32,),
    ),
    "states": Preset(
        "states",
        ("states",),
        encodings=("none", "alibi", "rope", "forget-gates", "path", "path-fox"),
        train_lengths=(16,),
        usual_steps=300,
        batch_rows=64,
    ),
    "drop": Preset("drop", ("text",), studies=("extension",)),
}
"""Claims of 2025 and 2026 at sweep size: length generalisation of PaTH, FoX, GRAPE and clipped RoPE; state tracking; DroPE."""
