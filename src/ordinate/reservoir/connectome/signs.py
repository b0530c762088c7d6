"""Who excites and who inhibits. Electron microscopy counts synapses; it does not say what they release.

So a sign is always an assumption, and each connectome from here says in its `assumptions` which one it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.arguments import check_number
from ordinate.errors import ArgumentError, RefusedError, ShapeError
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.connectome.transmitters import SIGNS, transmitter_signs
from ordinate.reservoir.seeds import generator_of

__all__ = ["by_transmitter", "dale", "known_signs", "positive", "random_signs"]


def positive(connectome: Connectome) -> Connectome:
    """Every synapse excites: `|W|`.

    >>> positive(Connectome([[0, -2], [1, 0]])).weights.toarray().tolist()
    [[0, 2], [1, 0]]
    """
    return _signed(connectome, abs(connectome.weights), "all synapses excite")


def dale(connectome: Connectome, inhibitory: float | str | Any, *, seed: int | None = None) -> Connectome:
    """Dale's principle: each neuron either excites or inhibits, whomever it synapses on.

    Args:
        connectome: whose absolute weights are taken.
        inhibitory: which neurons inhibit: a query ("LN | APL"), indices, or a fraction of all neurons, drawn from the seed.
        seed: for a fraction; the same seed gives the same neurons.

    Raises:
        ArgumentError: a fraction outside 0 .. 1 or without a seed, or a query that selects nobody.

    >>> dale(Connectome.synthetic(), 0.3, seed=0).assumptions[-1]
    '30 of 100 neurons, drawn from seed 0, inhibit and all others excite'
    """
    count = connectome.num_neurons
    if isinstance(inhibitory, int | float):
        check_number("inhibitory", inhibitory, minimum=0, maximum=1)
        if seed is None:
            raise ArgumentError("seed", expected="a seed, for neurons are drawn", got="none", hint="give seed=0")
        chosen = generator_of(seed).permutation(count)[: round(inhibitory * count)]
        what = f"{chosen.size:,} of {count:,} neurons, drawn from seed {seed}, inhibit and all others excite"
    else:
        chosen = connectome.select(inhibitory)
        named = f'"{inhibitory}"' if isinstance(inhibitory, str) else "by index"
        what = f"{chosen.size:,} neurons ({named}) inhibit and all others excite"
    sign = np.ones(count, dtype=np.int64)
    sign[chosen] = -1
    return _signed(connectome, _by_sender(abs(connectome.weights), sign), what)


def random_signs(connectome: Connectome, *, negative: float = 0.5, seed: int) -> Connectome:
    """A sign for each edge on its own, against Dale's principle, as echo-state networks have them.

    Args:
        connectome: whose absolute weights are taken.
        negative: the chance that an edge inhibits.
        seed: the same seed gives the same signs.

    Raises:
        ArgumentError: a chance outside 0 .. 1.

    >>> signed = random_signs(Connectome.synthetic(), seed=0)
    >>> bool((signed.weights.data < 0).any() and (signed.weights.data > 0).any())
    True
    """
    check_number("negative", negative, minimum=0, maximum=1)
    weights = _widened(abs(connectome.weights))
    drawn = generator_of(seed).random(weights.nnz) < negative
    return _signed(
        connectome,
        _with_data(weights, np.where(drawn, -weights.data, weights.data)),
        f"each edge inhibits with chance {negative:g}, drawn from seed {seed}",
    )


def known_signs(connectome: Connectome, signs: npt.ArrayLike) -> Connectome:
    """Signs that are known from elsewhere, such as predicted transmitters.

    Args:
        connectome: whose absolute weights are taken.
        signs: +1 or -1 for each presynaptic neuron, [N].

    Raises:
        ShapeError: not one a neuron.
        ArgumentError: anything but +1 and -1.

    >>> known_signs(Connectome([[0, 2], [1, 0]]), [1, -1]).weights.toarray().tolist()
    [[0, 2], [-1, 0]]
    """
    sign = np.asarray(signs)
    if sign.shape != (connectome.num_neurons,):
        raise ShapeError("signs", expected=f"[{connectome.num_neurons}]", got=str(list(sign.shape)), hint="one sign a neuron")
    if not np.isin(sign, (-1, 1)).all():
        raise ArgumentError("signs", expected="+1 and -1", got=str(sign[~np.isin(sign, (-1, 1))][0]))
    weights = _by_sender(abs(connectome.weights), sign.astype(np.int64))
    return _signed(connectome, weights, f"{int((sign < 0).sum()):,} neurons inhibit, by known signs")


def by_transmitter(connectome: Connectome, *, signs: Mapping[str, int] = SIGNS, others: str = "excite") -> Connectome:
    """Signs that follow from what each neuron releases, as labels `nt=...` say it.

    Args:
        connectome: whose absolute weights are taken.
        signs: +1 or -1 by transmitter; by default acetylcholine excites, GABA and glutamate inhibit.
        others: what neurons with another transmitter or none do: "excite", "inhibit" or "silent".

    Raises:
        RefusedError: a connectome without a single label `nt=...`.
        UnknownNameError: another word for `others`.

    >>> two = Connectome([[0, 2], [1, 0]], labels=[{"nt=gaba"}, {"nt=acetylcholine"}])
    >>> by_transmitter(two).weights.toarray().tolist()
    [[0, -2], [1, 0]]
    """
    names = [next((word[3:] for word in words if word.startswith("nt=")), "") for words in connectome.labels]
    if not any(names):
        raise RefusedError("connectome", expected="labels nt=..., which transmitters are read from", got="none")
    sign, sentence = transmitter_signs(names, signs=signs, others=others)
    return _signed(connectome, _by_sender(abs(connectome.weights), sign), sentence)


def __getattr__(name: str) -> Any:
    if name == "given":
        warnings.warn(
            "signs.given is now signs.known_signs; the old name goes with the next release", DeprecationWarning, stacklevel=2
        )
        return known_signs
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _signed(connectome: Connectome, weights: sparse.csr_array, what: str) -> Connectome:
    signed = connectome.with_weights(weights, name=f"{connectome.name}, signed")
    others = tuple(sentence for sentence in connectome.assumptions if "excite" not in sentence and "inhibit" not in sentence)
    return replace(signed, assumptions=(*others, what))


def _by_sender(weights: sparse.csr_array, sign: npt.NDArray[np.int64]) -> sparse.csr_array:
    wide = _widened(weights)
    return _with_data(wide, wide.data * np.repeat(sign, np.diff(wide.indptr)).astype(wide.dtype))


def _widened(weights: sparse.csr_array) -> sparse.csr_array:
    """Counts may be unsigned; signs need a dtype that has them."""
    return weights.astype(np.int64) if weights.dtype.kind == "u" else weights


def _with_data(weights: sparse.csr_array, data: Any) -> sparse.csr_array:
    return sparse.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)
