"""What a neuron releases, and whether that excites: the names that data sets use, and the signs that follow from them.

A sign is an assumption about receptors that no data set holds. The usual one for the fly: acetylcholine excites, GABA and
glutamate inhibit (Shiu et al. 2024, doi 10.1038/s41586-024-07763-9); for the rest somebody has to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice

__all__ = ["OTHERS", "SIGNS", "transmitter", "transmitter_signs"]

SIGNS: Mapping[str, int] = {"acetylcholine": 1, "gaba": -1, "glutamate": -1}
"""The usual signs."""

OTHERS = ("excite", "inhibit", "silent")
"""What neurons with another transmitter, or none, may be taken to do."""

_NAMES = {
    "ach": "acetylcholine",
    "glut": "glutamate",
    "glu": "glutamate",
    "da": "dopamine",
    "ser": "serotonin",
    "5ht": "serotonin",
    "5-ht": "serotonin",
    "oct": "octopamine",
    "oa": "octopamine",
    "his": "histamine",
    "tyr": "tyramine",
}
_NONE = {"", "nan", "none", "null", "unclear", "unknown", "na", "n/a"}


def transmitter(name: object) -> str:
    """The plain name of a transmitter, "" where none is known.

    >>> transmitter("ACH"), transmitter("GABA"), transmitter("unclear")
    ('acetylcholine', 'gaba', '')
    """
    word = str(name).strip().lower()
    return "" if word in _NONE else _NAMES.get(word, word)


def transmitter_signs(
    names: Iterable[str], *, signs: Mapping[str, int] = SIGNS, others: str = "excite"
) -> tuple[npt.NDArray[np.int64], str]:
    """A sign for each neuron, and the assumption in one sentence.

    Args:
        names: of transmitters, one a neuron, "" where unknown.
        signs: +1 or -1 by name.
        others: what all others do: "excite", "inhibit", or "silent" (their outputs count nothing).

    Raises:
        UnknownNameError: another word for `others`.

    >>> transmitter_signs(["acetylcholine", "gaba", ""])[0].tolist()
    [1, -1, 1]
    """
    check_choice("others", others, OTHERS)
    rest = {"excite": 1, "inhibit": -1, "silent": 0}[others]
    known = {transmitter(name): sign for name, sign in signs.items()}
    plain = [transmitter(name) for name in names]
    result = np.array([known.get(name, rest) for name in plain], dtype=np.int64)
    unknown = sum(name not in known for name in plain)
    words = ", ".join(f"{name} {'excites' if sign > 0 else 'inhibits'}" for name, sign in known.items())
    verb = {"excite": "are taken to excite", "inhibit": "are taken to inhibit", "silent": "are left without outputs"}[others]
    return result, f"signs follow transmitters: {words}; {unknown:,} neurons with another or none {verb}"
