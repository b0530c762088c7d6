"""One cell of a sweep: every setting that its result depends on, and the name that follows from them.

Cells are plain records without torch, so a sweep of thousands can be listed, hashed and split among machines at once. Two
cells of equal settings have one name on every machine; any other setting, and any change of the recipe in this package, is
another name.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ordinate.arguments import check_integer, did_you_mean
from ordinate.errors import ArgumentError

__all__ = ["FORMAT", "STUDIES", "Cell", "check_lengths"]

FORMAT = "ordinate.sweep/1"
"""What a file of a result says it is; another number where settings or results mean something else."""

STUDIES = {
    "lengths": "train short, test long",
    "extension": "stretch a trained rotary model",
    "probe": "read the position out of a model without encodings",
}


@dataclass(frozen=True)
class Cell:
    """Settings of one training and what is measured on it.

    Args:
        task, encoding: names, see `tasks.TASKS` and `encodings.ENCODINGS`; an encoding may be "module:object".
        seed: of weights, batches and tested rows.
        study: one of `STUDIES`.
        train_length: tokens of a row in training.
        test_lengths: rising multiples of it, the first it itself.
        layers, dim, heads: of the decoder.
        steps, batch_rows: of training.
        learning_rates: peaks of the schedule; with several, the best on validation rows is kept.
        tested_rows: rows that every score is measured on.
        corpus: digest of the text, where the task is text.
        source: digest of the encoding's source, where it is a class of your own; "" where there is none to be read.

    Raises:
        ArgumentError: lengths that are no rising multiples, sizes below 1, heads that do not divide, an unknown study.

    >>> Cell("k-back", "rope", 0).key == Cell("k-back", "rope", 0).key != Cell("k-back", "rope", 1).key
    True
    """

    task: str
    encoding: str
    seed: int
    study: str = "lengths"
    train_length: int = 64
    test_lengths: tuple[int, ...] = (64, 128, 256, 512)
    layers: int = 2
    dim: int = 64
    heads: int = 4
    steps: int = 200
    batch_rows: int = 16
    learning_rates: tuple[float, ...] = (3e-3,)
    tested_rows: int = 64
    corpus: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "test_lengths", tuple(self.test_lengths))
        object.__setattr__(self, "learning_rates", tuple(self.learning_rates))
        if self.study not in STUDIES:
            hint = did_you_mean(self.study, STUDIES)
            raise ArgumentError("study", expected=f"one of {', '.join(STUDIES)}", got=self.study, hint=hint)
        for name in ("train_length", "layers", "dim", "heads", "steps", "batch_rows", "tested_rows"):
            check_integer(name, getattr(self, name), minimum=1)
        if self.dim % (2 * self.heads):
            raise ArgumentError("dim", expected=f"an even number of channels for each of {self.heads} heads", got=self.dim)
        if not self.learning_rates or not all(0 < rate < 1 for rate in self.learning_rates):
            raise ArgumentError("learning_rates", expected="rates above 0 and below 1", got=self.learning_rates)
        check_lengths(self.train_length, self.test_lengths)

    @property
    def key(self) -> str:
        """The name of the cell: 24 hexadecimal digits of the hash of its settings and of the format."""
        settings = json.dumps({"format": FORMAT, **self.to_dict()}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(settings.encode()).hexdigest()[:24]

    @property
    def reusable(self) -> bool:
        """Whether the name says all that the result depends on: not where a class of your own has no source to be read."""
        return ":" not in self.encoding or bool(self.source)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; `from_dict` takes it back. An empty `source` is left out."""
        settings = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return settings if self.source else {name: value for name, value in settings.items() if name != "source"}

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Cell:
        """The cell that `to_dict` described.

        Raises:
            ArgumentError: other fields.
        """
        names = {field.name for field in fields(cls)}
        if set(settings) | {"source"} != names:
            raise ArgumentError(
                "settings", expected=f"the fields {sorted(names)}", got=sorted(settings), hint="run the cell again"
            )
        return cls(**settings)


def check_lengths(train_length: int, test_lengths: tuple[int, ...]) -> None:
    """Raise unless tests are at rising multiples of the training length, itself first.

    Raises:
        ArgumentError: they are not.
    """
    rising = all(here < there for here, there in itertools.pairwise(test_lengths))
    if not test_lengths or test_lengths[0] != train_length or not rising or any(n % train_length for n in test_lengths):
        raise ArgumentError(
            "test_lengths",
            expected=f"rising multiples of the training length, {train_length} itself first",
            got=list(test_lengths),
            hint=f"for example {[train_length * factor for factor in (1, 2, 4, 8)]}",
        )
