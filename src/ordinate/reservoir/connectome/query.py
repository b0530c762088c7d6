"""Which neurons a few words mean: `"sensory & olfactory & left"`.

Words are matched whole. In published annotations "olfactory" also stands inside "olfactory 2nd_order PN", which are projection
neurons, so a match of parts of words would quietly stimulate the wrong cells.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, ArgumentTypeError, UnknownNameError

__all__ = ["Annotated", "matching", "words_of"]

Mask = npt.NDArray[np.bool_]


class Annotated(Protocol):
    """The annotations that a query looks at: those of `Connectome`."""

    @property
    def name(self) -> str:
        """For messages."""

    @property
    def num_neurons(self) -> int:
        """Neurons N."""

    @property
    def ids(self) -> npt.NDArray[Any]:
        """What neurons are called in the data, [N]."""

    @property
    def side(self) -> npt.NDArray[np.str_]:
        """ "left", "right" or "unknown", [N]."""

    @property
    def kind(self) -> npt.NDArray[np.str_]:
        """Cell types, [N]."""

    @property
    def labels(self) -> tuple[frozenset[str], ...]:
        """Further words, one set a neuron."""


_LEXEME = re.compile(r"""\s*(?:(?P<sign>[&|!()])|"(?P<quoted>[^"]*)"|(?P<word>[^&|!()"]+))""")


def words_of(connectome: Annotated, index: int) -> frozenset[str]:
    """Every word that a query may name one neuron by: its side, its kind, its labels."""
    words = connectome.labels[index] | {str(connectome.side[index]), str(connectome.kind[index])}
    return frozenset(words - {""})


def matching(
    query: str | Iterable[Any], connectome: Annotated, *, allow_empty: bool = False, argument: str = "query"
) -> npt.NDArray[np.int64]:
    """The sorted indices of the neurons that a query names; see `Connectome.select`."""
    if isinstance(query, str):
        indices = np.flatnonzero(_Reader(query, connectome, allow_empty, argument).whole())
    else:
        indices = _checked_indices(query, connectome.num_neurons, argument)
    if indices.size == 0 and not allow_empty:
        raise ArgumentError(
            argument, expected=f"at least one neuron of {connectome.name}", got=f"none for {query!r}", hint="loosen the query"
        )
    return indices


def _checked_indices(indices: Iterable[Any], count: int, argument: str) -> npt.NDArray[np.int64]:
    try:
        raw = np.asarray(indices if isinstance(indices, np.ndarray) else list(indices))
    except (TypeError, ValueError) as problem:
        expected = f"a query, a mask [{count}], or indices from 0 to {count - 1}"
        raise ArgumentTypeError(argument, expected=expected, got=str(problem)) from None
    if raw.dtype == np.bool_ and raw.shape == (count,):
        return np.flatnonzero(raw)
    if raw.size == 0:
        return np.zeros(0, dtype=np.int64)
    if raw.ndim != 1 or raw.dtype.kind not in "iu" or raw.min() < 0 or raw.max() >= count:
        raise ArgumentError(
            argument,
            expected=f"a query, a mask [{count}], or indices from 0 to {count - 1}",
            got=repr(indices)[:60],
        )
    return np.unique(raw).astype(np.int64)


def _kinds(connectome: Annotated) -> str:
    kinds = sorted(set(connectome.kind.tolist()) - {""})
    return f"its kinds are {_some(kinds)}" if kinds else "it says no kinds: name their column, or pick cells by id=NAME"


def _some(words: list[str], most: int = 12) -> str:
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more or "none"


class _Reader:
    """Recursive descent: `|` binds loosest, then `&`, then `!`."""

    def __init__(self, query: str, connectome: Annotated, unknown_allowed: bool, argument: str) -> None:
        self.query, self.connectome, self.unknown_allowed, self.argument = query, connectome, unknown_allowed, argument
        self.lexemes: list[tuple[str, bool]] = []
        at = 0
        while query[at:].strip():
            match = _LEXEME.match(query, at)
            if match is None:
                raise self._unreadable(f"{query[at:]!r}")
            sign, quoted, word = match["sign"], match["quoted"], match["word"]
            text = sign or (quoted if quoted is not None else word.strip())
            if text:
                self.lexemes.append((text, sign is not None))
            at = match.end()

    def _unreadable(self, what: str) -> ArgumentError:
        return ArgumentError(
            self.argument,
            expected="words joined by & | ! and parentheses",
            got=f"{what} in {self.query!r}",
            hint='write it such as "sensory & olfactory & left"; quote words that hold an operator',
        )

    def _next(self) -> tuple[str, bool] | None:
        return self.lexemes[0] if self.lexemes else None

    def _takes(self, sign: str) -> bool:
        if self._next() == (sign, True):
            self.lexemes.pop(0)
            return True
        return False

    def whole(self) -> Mask:
        mask = self._either()
        if self.lexemes:
            raise self._unreadable(f"a stray {self.lexemes[0][0]!r}")
        return mask

    def _either(self) -> Mask:
        mask = self._both()
        while self._takes("|"):
            mask = mask | self._both()
        return mask

    def _both(self) -> Mask:
        mask = self._one()
        while self._takes("&"):
            mask = mask & self._one()
        return mask

    def _one(self) -> Mask:
        if self._takes("!"):
            return ~self._one()
        if self._takes("("):
            mask = self._either()
            if not self._takes(")"):
                raise self._unreadable("a parenthesis that is not closed")
            return mask
        lexeme = self._next()
        if lexeme is None or lexeme[1]:
            raise self._unreadable("no word" if lexeme is None else f"a stray {lexeme[0]!r}")
        return self._word(self.lexemes.pop(0)[0])

    def _word(self, word: str) -> Mask:
        connectome = self.connectome
        column, _, value = word.partition("=")
        if column.strip().lower() in ("side", "somaside") and value:
            word = {"l": "left", "r": "right"}.get(value.strip().lower(), value.strip().lower())
        elif column == "kind" and value:
            return np.asarray(connectome.kind == value.strip())
        elif column == "id" and value and (named := connectome.ids.astype(str) == value.strip()).any():
            return np.asarray(named)
        mask = (
            (connectome.side == word)
            | (connectome.kind == word)
            | np.array([word in labels for labels in connectome.labels], dtype=bool)
        )
        if not mask.any() and not self.unknown_allowed and word not in ("left", "right", "unknown"):
            known = sorted(set(connectome.kind) | set(connectome.side) | set().union(*connectome.labels) - {""})
            near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
            raise UnknownNameError(
                self.argument,
                expected=f"a word that some neuron of {connectome.name} carries",
                got=word,
                hint=f'did you mean "{near[0]}"?' if near else _kinds(connectome),
            )
        return np.asarray(mask)
