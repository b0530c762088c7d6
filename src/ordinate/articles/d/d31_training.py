"""D31. The article: only a linear read-out is learned, so a reservoir costs far less to train than a recurrent network.

What varies is what is trained, on the same series (NARMA10) and the same number of units: the read-out of a random recurrent
network of rates, the read-out of a spiking one (a liquid-state machine, which the article names beside the echo-state network),
or all weights of a recurrent network by gradient descent through time. What it costs is processor time, and floating-point
operations counted from the shapes; what it gains is the error on fresh steps.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.reservoir import Reservoir, normalise
from ordinate.reservoir.datasets import narma10
from ordinate.reservoir.dynamics.input_weights import random_input_weights
from ordinate.reservoir.readout.estimators import random_connectome
from ordinate.reservoir.readout.metrics import nrmse_by_std
from ordinate.reservoir.readout.ridge import RidgeReadout
from ordinate.reservoir.tasks.card import DYNAMICS

__all__ = ["CLAIM", "Trained", "measure", "training"]

CLAIM = Claim(
    id="D31",
    title="What training the read-out alone saves",
    place="D28-33, D36-41",
    statement=(
        "In a liquid-state machine and in an echo-state network the input lives on; the recurrent connections are random and "
        "fixed, only a linear read-out is learned, so that learning costs far less than in an ordinary RNN."
    ),
    remark="The article says how much smaller nowhere; ten times is our band for far smaller, in time and in operations.",
    setup="none stated",
    setup_detail="NARMA10; as many units in each network; the RNN in truncated pieces of 50 steps by Adam",
    varies="what is trained: a read-out of rates, a read-out of spikes, every weight of a recurrent network",
    band="far smaller: at most a tenth, when the recurrent network has come to the read-out's error or to its last epoch",
    budget_seconds=20,
)

_WASHOUT, _PIECE = 50, 50
_FAR_SMALLER = 10

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trained:
    """What a way of training came to.

    Args:
        name: of the way.
        learned: numbers that were learned.
        seconds: of processor time.
        operations: multiplications and additions, counted from shapes.
        error: on fresh steps, over the target's standard deviation.
        errors: of the recurrent network after each epoch, empty for a read-out.
    """

    name: str
    learned: int
    seconds: float
    operations: float
    error: float
    errors: tuple[float, ...] = ()


def measure(inputs: Inputs) -> Measurement:
    """Claim D31 at 100 units, with `full` at 300 on a series twice as long."""
    units, steps, epochs = (300, 2000, 60) if inputs.full else (100, 1000, 20)
    return training(_trained(units, steps, epochs, inputs.seeds[0]), units, steps)


def _trained(units: int, steps: int, epochs: int, seed: int) -> list[Trained]:
    series = [narma10(steps, 2 * seed), narma10(steps, 2 * seed + 1)]
    data = [(4 * one.inputs - 1, one.targets) for one in series]
    readouts = [_readout(name, units, data, seed) for name in ("leaky", "spiking")]
    return [*readouts, _recurrent(units, data, epochs, seed, readouts[0].error)]


def _readout(dynamics: str, units: int, data: list[tuple[FloatArray, FloatArray]], seed: int) -> Trained:
    generator = np.random.default_rng(seed)
    brain = normalise(random_connectome(units, 0.1, generator), "spectral_radius", 0.9)
    bias = 0.3 * generator.uniform(-1, 1, units)
    weights = random_input_weights(brain, 1, seed=seed) * (0.3 if dynamics == "leaky" else 3.0)
    network = Reservoir(brain, input_weights=weights, dynamics=DYNAMICS[dynamics](1.0, bias), impl="scipy")
    (x, y), (fresh, wanted) = data
    started = time.process_time()
    readout = RidgeReadout(1e-6 if dynamics == "leaky" else 1.0).partial_fit(network.run(x)[_WASHOUT:], y[_WASHOUT:])
    readout.solve()
    seconds = time.process_time() - started
    error = nrmse_by_std(wanted[_WASHOUT:], readout.predict(network.run(fresh)[_WASHOUT:]))
    operations = len(x) * 2 * (brain.num_edges + units) + len(x) * 2 * units**2 + units**3 / 3
    name = "read-out of rates" if dynamics == "leaky" else "read-out of spikes"
    return Trained(name, units + 1, seconds, operations, error)


def _recurrent(units: int, data: list[tuple[FloatArray, FloatArray]], epochs: int, seed: int, goal: float) -> Trained:
    """All weights by Adam through pieces of time, until the goal on fresh steps or the last epoch."""
    torch.manual_seed(seed)
    network, read = nn.RNN(1, units, batch_first=True), nn.Linear(units, 1)
    parameters = [*network.parameters(), *read.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=3e-3)
    (x, y), (fresh, wanted) = [[torch.tensor(part, dtype=torch.float32)[None] for part in pair] for pair in data]
    middle, spread = y.mean(), y.std()
    seconds, errors = 0.0, []
    for _ in range(epochs):
        started, state = time.process_time(), None
        for start in range(0, x.shape[1], _PIECE):
            piece = slice(start, start + _PIECE)
            states, state = network(x[:, piece], state)
            loss = (read(states) - (y[:, piece] - middle) / spread).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            state = state.detach()
        seconds += time.process_time() - started
        with torch.no_grad():
            predicted = read(network(fresh)[0]) * spread + middle
        errors.append(nrmse_by_std(wanted[0, _WASHOUT:].numpy(), predicted[0, _WASHOUT:].numpy()))
        if errors[-1] <= goal:
            break
    learned = sum(one.numel() for one in parameters)
    # a forward pass and two backward, of as many operations each
    operations = len(errors) * 3 * x.shape[1] * 2 * (units**2 + 2 * units)
    return Trained("every weight", learned, seconds, operations, errors[-1], tuple(errors))


def training(ways: list[Trained], units: int, steps: int) -> Measurement:
    """Claim D31 on any three ways: a read-out of rates, of spikes, and every weight."""
    rates, spikes, every = ways
    reached = every.error <= rates.error
    checks = [
        Check.at_least("times the processor time of the read-out of rates", every.seconds / rates.seconds, _FAR_SMALLER),
        Check.at_least("times its operations", every.operations / rates.operations, _FAR_SMALLER, role=Role.GENERALISATION),
        Check.at_most("error of the read-out of rates, guessing the mean is 1", rates.error, 0.7, role=Role.CONTROL),
        Check.at_most("error of the read-out of spikes", spikes.error, 0.98, role=Role.GENERALISATION),
        Check.at_most("error of the recurrent network at its end", every.error, 0.98, role=Role.CONTROL),
        Check.at_least(
            "times the processor time of the read-out of spikes", every.seconds / spikes.seconds, 1, role=Role.LIMIT
        ),
    ]
    end = "came to that error" if reached else f"was still at {every.error:.2f}"
    said = (
        f"Fitting {rates.learned} numbers took {rates.seconds * 1000:.0f} ms for an error of {rates.error:.2f}; learning "
        f"{every.learned:,} by gradient descent {end} after {len(every.errors)} epochs and {every.seconds:.1f} s"
    )
    return Measurement(
        checks=checks,
        key_figure=f"{every.seconds / rates.seconds:.0f} times the time, {every.operations / rates.operations:.0f} times the "
        f"operations; errors {rates.error:.2f} (rates), {spikes.error:.2f} (spikes), {every.error:.2f} (every weight)",
        meaning={
            Verdict.REPRODUCED: f"{said}. A liquid of spiking neurons is read out in the same way, with an error of "
            f"{spikes.error:.2f}: an echo it keeps, but a fainter one.",
            Verdict.REFUTED: f"{said}: not ten times as much, or spikes keep no echo (error {spikes.error:.2f}).",
        },
        inputs=f"NARMA10, {steps:,} steps to fit and as many fresh ones, {units} units, one thread of this machine",
        tables=[
            Table(
                "Three ways to train",
                ("what is trained", "numbers learned", "seconds", "operations", "error"),
                [(one.name, one.learned, one.seconds, one.operations, one.error) for one in ways],
            )
        ],
        figures=[_picture(rates, spikes, every)],
    )


def _picture(rates: Trained, spikes: Trained, every: Trained) -> Figure:
    with canvas(height=2.8) as (figure, axes):
        epochs = np.arange(1, len(every.errors) + 1)
        axes.plot(epochs * every.seconds / len(epochs), every.errors, label=every.name, **SERIES[0])
        for one, series in ((rates, SERIES[1]), (spikes, SERIES[2])):
            axes.plot([one.seconds], [one.error], linestyle="none", marker=series["marker"], color=series["color"],
                      markersize=9, label=one.name)  # fmt: skip
        axes.set(xscale="log", xlabel="processor time of training, seconds", ylabel="error on fresh steps", ylim=(0, None))
        axes.grid()
        axes.legend()
    return Figure(
        "training",
        to_svg(figure),
        caption="A read-out is one mark: it is solved for at once. The recurrent network's error falls epoch by epoch.",
        alt=f"The read-out of rates lies at {rates.seconds:.3f} s and {rates.error:.2f}; the recurrent network's line ends at "
        f"{every.seconds:.1f} s and {every.error:.2f}.",
    )
