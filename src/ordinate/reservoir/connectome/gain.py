"""How strong the recurrence is: connectomes scaled to a gain.

Scaling multiplies the weights that are there; edges that are absent stay absent.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ordinate.arguments import check_choice, check_number
from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.connectome.spectrum import in_range, leading_eigenvalue

__all__ = ["NORMALISATIONS", "normalise"]

NORMALISATIONS = ("spectral_radius", "output", "input", "effective_radius")


def normalise(connectome: Connectome, by: str, value: float, *, leak_rate: float | None = None) -> Connectome:
    """Scale the weights so that a chosen measure of gain is `value`.

    Args:
        connectome: whose weights are scaled; signs stay as they are.
        by: "spectral_radius": the largest absolute eigenvalue of W. "output": for each neuron, the sum of the absolute weights
            it sends (rows). "input": for each neuron, the sum of those it receives (columns). "effective_radius": the largest
            absolute eigenvalue of `(1 - a) I + a W`, which is what leaky units iterate near rest.
        value: the measure afterwards, positive. Neurons that send (or receive) nothing keep doing so.
        leak_rate: a, for "effective_radius" only.

    Raises:
        UnknownNameError: another `by`.
        ArgumentError: a value that is not positive, or a leak rate missing or superfluous.
        RefusedError: a radius asked of a nilpotent matrix, or an effective radius that no factor reaches.

    Source: effective radius: Jaeger et al. 2007, doi 10.1016/j.neunet.2007.04.016, section 2.

    >>> round(normalise(Connectome.synthetic(), "spectral_radius", 0.9).spectral_radius(), 6)
    0.9
    """
    check_choice("by", by, NORMALISATIONS)
    check_number("value", value, above=0)
    if (leak_rate is not None) != (by == "effective_radius"):
        raise ArgumentError(
            "leak_rate", expected='one, for "effective_radius" and nothing else', got=leak_rate, hint="give it or leave it out"
        )
    name = f"{connectome.name}, {by.replace('_', ' ')} {value:g}"
    if by in ("spectral_radius", "effective_radius"):
        factor = value / _radius(connectome) if leak_rate is None else _effective_factor(connectome, value, leak_rate)
        return connectome.with_weights(_finite(connectome.weights * factor), name=name)
    axis = 1 if by == "output" else 0
    weights, exponent = in_range(connectome.weights.astype(np.float64))
    if not exponent:
        weights = connectome.weights
    sums = np.asarray(abs(weights.astype(np.float64)).sum(axis=axis)).ravel()
    with np.errstate(over="ignore"):
        factors = sparse.diags_array(np.divide(value, sums, out=np.zeros_like(sums), where=sums > 0))
    return connectome.with_weights(_finite(factors @ weights if axis else weights @ factors), name=name)


def _finite(weights: sparse.csr_array) -> sparse.csr_array:
    if not np.isfinite(weights.data).all():
        raise RefusedError("value", expected="weights that float64 can represent", got="infinity")
    return weights


def _radius(connectome: Connectome) -> float:
    radius = connectome.spectral_radius()
    if radius == 0:
        raise RefusedError(
            "connectome",
            expected="a matrix with a cycle",
            got="a nilpotent one: its spectral radius is 0, and no factor changes that",
            hint='normalise by "output" or "input"',
        )
    return radius


def _effective_factor(connectome: Connectome, value: float, leak_rate: float) -> float:
    """The factor s of W at which `(1 - a) I + a s W` has the radius asked for.

    The radius is the largest of |1 - a + a s λ| over the eigenvalues λ, a convex function of s. Solving for the λ that leads
    now, and looking again who leads then, is Newton's method on it, and ends after a few rounds.
    """
    check_number("leak_rate", leak_rate, above=0, maximum=1)
    kept = 1 - leak_rate
    if value <= kept:
        raise RefusedError(
            "value",
            expected=f"an effective radius above 1 - leak_rate = {kept:g}, which the leak alone has",
            got=f"{value:g}",
            hint="take a larger value or a larger leak rate",
        )
    radius = _radius(connectome)
    identity = sparse.eye_array(connectome.num_neurons, format="csr")
    factor = (value + kept) / (leak_rate * radius)  # where even an eigenvalue against the leak has arrived
    for _ in range(50):
        leading = leading_eigenvalue(kept * identity + leak_rate * factor * connectome.weights)
        if abs(abs(leading) - value) <= 1e-9 * value:
            break
        own = (leading - kept) / factor  # a λ of W
        # |kept + s own| = value, the larger root
        square, half, rest = abs(own) ** 2, kept * own.real, kept**2 - value**2
        factor = float((-half + np.sqrt(half**2 - square * rest)) / square)
    return factor
