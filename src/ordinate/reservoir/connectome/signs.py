"""Who excites and who inhibits. Electron microscopy counts synapses; it does not say what they release.

So a sign is always an assumption, and each connectome made here writes into its `assumptions` which one it was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.errors import ArgumentError, ShapeError
from ordinate.reservoir.connectome.connectome import Connectome

__all__ = ["dale", "given", "positive", "random_signs"]


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
        if not 0 <= inhibitory <= 1:
            raise ArgumentError("inhibitory", expected="a fraction between 0 and 1", got=inhibitory, hint="choose another")
        if seed is None:
            raise ArgumentError("seed", expected="a seed, for neurons are drawn", got="none", hint="give seed=0")
        chosen = np.random.default_rng(seed).permutation(count)[: round(inhibitory * count)]
        what = f"{chosen.size:,} of {count:,} neurons, drawn from seed {seed}, inhibit and all others excite"
    else:
        chosen = connectome.select(inhibitory)
        named = f'"{inhibitory}"' if isinstance(inhibitory, str) else "those given"
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

    >>> made = random_signs(Connectome.synthetic(), seed=0)
    >>> bool((made.weights.data < 0).any() and (made.weights.data > 0).any())
    True
    """
    if not 0 <= negative <= 1:
        raise ArgumentError("negative", expected="a chance between 0 and 1", got=negative, hint="choose another")
    weights = _widened(abs(connectome.weights))
    drawn = np.random.default_rng(seed).random(weights.nnz) < negative
    return _signed(
        connectome,
        _with_data(weights, np.where(drawn, -weights.data, weights.data)),
        f"each edge inhibits with chance {negative:g}, drawn from seed {seed}",
    )


def given(connectome: Connectome, signs: npt.ArrayLike) -> Connectome:
    """Signs that are known from elsewhere, such as predicted transmitters.

    Args:
        connectome: whose absolute weights are taken.
        signs: +1 or -1 for each presynaptic neuron, [N].

    Raises:
        ShapeError: not one a neuron.
        ArgumentError: anything but +1 and -1.

    >>> given(Connectome([[0, 2], [1, 0]]), [1, -1]).weights.toarray().tolist()
    [[0, 2], [-1, 0]]
    """
    told = np.asarray(signs)
    if told.shape != (connectome.num_neurons,):
        raise ShapeError("signs", expected=f"[{connectome.num_neurons}]", got=str(list(told.shape)), hint="one sign a neuron")
    if not np.isin(told, (-1, 1)).all():
        raise ArgumentError("signs", expected="+1 and -1", got=str(told[~np.isin(told, (-1, 1))][0]), hint="decide each")
    weights = _by_sender(abs(connectome.weights), told.astype(np.int64))
    return _signed(connectome, weights, f"{int((told < 0).sum()):,} neurons inhibit, as given")


def _signed(connectome: Connectome, weights: sparse.csr_array, what: str) -> Connectome:
    made = connectome.with_weights(weights, name=f"{connectome.name}, signed")
    others = tuple(told for told in connectome.assumptions if "excite" not in told and "inhibit" not in told)
    return replace(made, assumptions=(*others, what))


def _by_sender(weights: sparse.csr_array, sign: npt.NDArray[np.int64]) -> sparse.csr_array:
    wide = _widened(weights)
    return _with_data(wide, wide.data * np.repeat(sign, np.diff(wide.indptr)).astype(wide.dtype))


def _widened(weights: sparse.csr_array) -> sparse.csr_array:
    """Counts may be unsigned; signs need a dtype that has them."""
    return weights.astype(np.int64) if weights.dtype.kind == "u" else weights


def _with_data(weights: sparse.csr_array, data: Any) -> sparse.csr_array:
    return sparse.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)
