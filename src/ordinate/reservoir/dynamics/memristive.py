"""A network of memristors, wired as a connectome: voltages by Kirchhoff's current balance, conductances that remember.

As in conn2res (Suarez et al. 2024, doi 10.1038/s41467-024-44900-4): neurons are nodes of a circuit, every connected pair is
one memristor (which conducts both ways, so directions and counts play no part), input neurons are held at a voltage, others at
ground, and what is read out is the voltage of all nodes. The device is the metastable switch of Nugent and Molter 2014,
doi 10.1371/journal.pone.0085175: a bundle of switches, each of which turns on or off with a chance that its voltage sets.

conn2res inverts a dense matrix a step; here the sparse system is solved by conjugate gradients from the voltages before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy import sparse, special
from scipy.sparse import csgraph, linalg

from ordinate.arguments import check_number
from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.dynamics.interface import State
from ordinate.reservoir.seeds import generator_of

__all__ = ["Memristive"]

Array = npt.NDArray[Any]

_THERMAL_VOLTAGE = 1.380649e-23 * 298 / 1.602176634e-19  # k T / q at 298 K


@dataclass(frozen=True, eq=False)
class Memristive:
    """Metastable-switch memristors on every connected pair of neurons.

    A pair's `n` switches, `b` of them on, conduct `G = (b on + (n - b) off) / n`. In a step of h seconds under a voltage V
    from the first to the second neuron of a pair (the lower index first), a switch that is off turns on with chance
    `h/t / (1 + e^(-(V - a) / VT))`, one that is on turns off with chance `h/t / (1 + e^((V + b) / VT))`, VT = 25.7 mV.

    Args:
        ground: a query or indices of the neurons at ground, 0 V. Neurons that hear an input channel are held at its voltage.
        step_s: h, seconds.
        on_threshold_v: a, volts.
        off_threshold_v: b, volts.
        time_constant_s: t, seconds.
        switches: n, of a pair.
        on_s: conductance with all on, siemens.
        off_s: conductance with all off.
        switches_on: how many are on at first.
        spread: standard deviation of each of these six from pair to pair, relative; 0 makes all devices alike.
        seed: of the spread, drawn once, at the making of each state.
        stochastic: whether switches turn at random (a run then needs a seed) or by their expected number.

    Raises:
        ArgumentError: quantities that are not positive, a step longer than the time constant.

    Source: the model and its Ag-chalcogenide numbers: Nugent and Molter 2014, doi 10.1371/journal.pone.0085175, table 1.

    >>> from ordinate.reservoir import Connectome, Reservoir
    >>> divider = Connectome([[0, 1, 0], [0, 0, 1], [0, 0, 0]])  # input - node - ground
    >>> memristors = Memristive(ground=[2], spread=0.0)
    >>> Reservoir(divider, inputs=[[0]], dynamics=memristors).run([[0.1]]).round(3).tolist()
    [[0.10000000149011612, 0.05000000074505806, 0.0]]
    """

    ground: Any
    step_s: float = 1e-4
    on_threshold_v: float = 0.17
    off_threshold_v: float = 0.22
    time_constant_s: float = 0.32e-3
    switches: float = 10_000
    on_s: float = 0.87e-2
    off_s: float = 0.91e-3
    switches_on: float = 2_000
    spread: float = 0.1
    seed: int = 0
    stochastic: bool = False

    def __post_init__(self) -> None:
        for name in ("step_s", "time_constant_s", "switches", "on_s", "off_s"):
            check_number(name, getattr(self, name), above=0)
        if self.step_s > self.time_constant_s:
            raise ArgumentError(
                "step_s",
                expected=f"at most time_constant_s = {self.time_constant_s:g}",
                got=self.step_s,
                hint="take shorter steps",
            )
        check_number("switches_on", self.switches_on, minimum=0, maximum=self.switches)
        if not 0 <= self.spread < 0.3:
            raise ArgumentError("spread", expected="from 0 to .3, for devices must conduct", got=self.spread)

    def start(self, wiring: Any, shape: tuple[int, ...]) -> State:
        """No voltage. Hidden: of each pair its switches on, [..., P], and its six properties, [6, P] or [B, 6, P]."""
        pairs = _pairs(wiring.connectome)[0].size
        generator = generator_of(self.seed)
        mean = np.array([self.on_threshold_v, self.off_threshold_v, self.time_constant_s, self.switches, self.on_s, self.off_s])
        properties = mean[:, None] * (1 + self.spread * generator.standard_normal((6, pairs)))
        properties[2] = np.maximum(properties[2], self.step_s)  # a chance is at most 1
        on = np.minimum(self.switches_on * (1 + self.spread * generator.standard_normal(pairs)), properties[3])
        lead = shape[:-1]
        return State(
            np.zeros(shape, dtype=wiring.dtype),
            (np.broadcast_to(on, (*lead, pairs)), np.broadcast_to(properties, (*lead, 6, pairs))),
        )

    def step(self, wiring: Any, state: State, drive: Array, gain: Array, generator: np.random.Generator | None) -> State:
        """Solve for the voltages, then turn switches by them. There are no recurrent weights, so the gain must be 1."""
        if not np.all(np.asarray(gain) == 1):
            raise RefusedError(
                "gain", expected="1, for memristors have no weights", got=str(gain), hint="scale the inputs instead"
            )
        if self.stochastic and generator is None:
            raise ArgumentError(
                "seed", expected="a seed or generator, for switches turn at random", got="none", hint="give seed=0"
            )
        if wiring not in _CIRCUITS:
            _CIRCUITS[wiring] = _Circuit(wiring, self.ground)
        circuit = _CIRCUITS[wiring]
        if state.activity.ndim == 1:
            voltage, on = self._one(circuit, state.activity, state.hidden[0], state.hidden[1], drive, generator)
            return State(voltage.astype(wiring.dtype), (on, state.hidden[1]))
        every = [
            self._one(circuit, *one, generator)
            for one in zip(state.activity, state.hidden[0], state.hidden[1], drive, strict=True)
        ]
        voltages = np.stack([voltage for voltage, _ in every]).astype(wiring.dtype)
        return State(voltages, (np.stack([on for _, on in every]), state.hidden[1]))

    def _one(
        self,
        circuit: _Circuit,
        before: Array,
        on: Array,
        properties: Array,
        drive: Array,
        generator: np.random.Generator | None,
    ) -> tuple[Array, Array]:
        on_at, off_at, time_constant, switches, conducting, resting = properties
        conductance = (on * conducting + (switches - on) * resting) / switches
        voltage = circuit.solve(conductance, np.asarray(drive, dtype=np.float64), np.asarray(before, dtype=np.float64))
        across = voltage[circuit.one] - voltage[circuit.other]
        rate = self.step_s / time_constant
        turning_on = rate * special.expit((across - on_at) / _THERMAL_VOLTAGE)
        turning_off = rate * special.expit(-(across + off_at) / _THERMAL_VOLTAGE)
        if generator is None or not self.stochastic:
            return voltage, on + (switches - on) * turning_on - on * turning_off
        gained = generator.binomial(np.floor(switches - on).astype(np.int64), turning_on)
        lost = generator.binomial(np.floor(on).astype(np.int64), turning_off)
        return voltage, on + gained - lost


class _Circuit:
    """The nodes and pairs of a network: which have a fixed voltage, which float free."""

    def __init__(self, wiring: Any, ground: Any) -> None:
        connectome: Connectome = wiring.connectome
        self.one, self.other, member = _pairs(connectome)
        driven = np.flatnonzero((wiring.input_weights != 0).any(axis=0))
        grounded = connectome.select(ground, argument="ground")
        both = np.intersect1d(driven, grounded)
        if both.size:
            raise ArgumentError(
                "ground",
                expected="neurons that hear no input",
                got=f"{connectome.ids[both[0]]}, which does",
                hint="ground others",
            )
        fixed = np.zeros(connectome.num_neurons, dtype=bool)
        fixed[driven] = fixed[grounded] = True
        # what no wire joins to a node of fixed voltage has no voltage of its own: it stays at 0
        joined = np.isin(member, np.unique(member[fixed]))
        self.driven, self.count = driven, connectome.num_neurons
        self.free = np.flatnonzero(~fixed & joined)

    def solve(self, conductance: Array, drive: Array, before: Array) -> Array:
        """The voltages [N] at which no current is lost at a free node."""
        voltage = np.zeros(self.count)
        voltage[self.driven] = drive[self.driven]
        if not self.free.size:
            return voltage
        ends = np.concatenate([self.one, self.other]), np.concatenate([self.other, self.one])
        wires = sparse.csr_array(sparse.coo_array((np.tile(conductance, 2), ends), shape=(self.count, self.count)))
        total = np.asarray(wires.sum(axis=1)).ravel()[self.free]
        inward = (wires @ voltage)[self.free]
        matrix = sparse.diags_array(total) - wires[self.free][:, self.free]
        # Jacobi's preconditioner; the last voltages are a close first guess
        solved, failed = linalg.cg(
            matrix, inward, x0=before[self.free], rtol=1e-10, atol=1e-16, M=sparse.diags_array(1 / total), maxiter=10_000
        )
        if failed:
            raise RefusedError("state", expected="voltages that settle", got="a circuit that does not", hint="lower `spread`")
        voltage[self.free] = solved
        return voltage


# of each reservoir, which never changes; what it can be found out from again may be forgotten
_CIRCUITS: WeakKeyDictionary[Any, _Circuit] = WeakKeyDictionary()


def _pairs(connectome: Connectome) -> tuple[Array, Array, Array]:
    """Lower and higher neuron of each connected pair, and the connected component of each neuron."""
    joined = sparse.coo_array(sparse.triu((connectome.weights != 0) + (connectome.weights != 0).T, k=1))
    _, member = csgraph.connected_components(connectome.weights, directed=False)
    return joined.row.astype(np.int64), joined.col.astype(np.int64), member
