"""D22. The article names limits: gradients vanish with depth, and the softmax over gates has a temperature that matters.

What varies at twelve layers is how gates begin (at random, or passing their first input on) and how they are parametrised; what
is measured is the norm of the gradient at the first layer over that at the last, before any training. Then one small network is
trained on one batch at several temperatures of the softmax over its sixteen gates. The gap is measured in D17.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from ordinate.articles.d.logic_digits import digits_for, examples, network, one_thread
from ordinate.data import Digits
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.logic import LogicDense
from ordinate.logic.network.parametrisation import INITIALISATIONS, PARAMETRISATIONS

__all__ = ["CLAIM", "Norms", "Softmax", "depth", "gradient_norms", "measure", "softmax_at"]

CLAIM = Claim(
    id="D22",
    title="Depth, temperature, gap",
    place="D263-269",
    statement=(
        "Gradients vanish through many layers of relaxed gates; the temperature of the softmax matters: too low and "
        "numbers are unstable, too high and the gradient is weak; a gap between relaxed and discrete may remain."
    ),
    remark="Unstable numbers are read as gradients that are far larger for some gates and exactly 0 in float32 for others.",
    setup="none stated",
    varies="how gates begin and are parametrised, at 12 layers; the temperature of the softmax over gates",
    band="under a thousandth of the last layer's gradient at the first; at 100 a twentieth of the gradient, at 0.01 ten times",
    seeds=3,
    budget_seconds=15,
)

_DEPTH, _WIDTH, _BATCH = 12, 500, 256

_TEMPERATURES = (0.01, 0.1, 1.0, 10.0, 100.0)
_STEPS = 40

Norms = Mapping[tuple[str, str], Sequence[Sequence[float]]]


@one_thread()
def measure(inputs: Inputs) -> Measurement:
    """Claim D22 on 8 by 8 digits, or with --full on MNIST."""
    data = digits_for(inputs)
    norms = {
        (parametrisation, initialisation): [
            gradient_norms(data, parametrisation, initialisation, seed) for seed in inputs.seeds
        ]
        for parametrisation in PARAMETRISATIONS
        for initialisation in INITIALISATIONS
    }
    return depth(norms, {heat: softmax_at(data, heat, inputs.seeds[0]) for heat in _TEMPERATURES}, data.source)


def gradient_norms(data: Digits, parametrisation: str, initialisation: str, seed: int) -> list[float]:
    """The norm of the gradient of each layer's parameters, first layer first, of an untrained network."""
    settings = {"parametrisation": parametrisation, "initialisation": initialisation}
    net = network(data.size[0] * data.size[1], _DEPTH * _WIDTH, _DEPTH, 10, seed, **settings).train()
    x, y = (part[:_BATCH] for part in examples(data.train, data.threshold))
    torch.nn.functional.cross_entropy(net(x.float()), y).backward()
    return [float(layer.gates.weight.grad.norm()) for layer in net if isinstance(layer, LogicDense)]  # type: ignore[union-attr]


@dataclass(frozen=True)
class Softmax:
    """One batch trained at one temperature of the softmax over gates.

    Args:
        gradient: norm of the whole gradient before the first step.
        silent: share of gates whose gradient is exactly 0 in float32 at the last step.
        losses: before each step.
    """

    gradient: float
    silent: float
    losses: Sequence[float]


def softmax_at(data: Digits, temperature: float, seed: int) -> Softmax:
    """Two layers of 400 raw gates, begun at random, trained on one batch by Adam."""
    settings = {"parametrisation": "raw", "initialisation": "random", "temperature": temperature}
    net = network(data.size[0] * data.size[1], 800, 2, 10, seed, **settings).train()
    x, y = (part[:_BATCH] for part in examples(data.train, data.threshold))
    optimiser = torch.optim.Adam(net.parameters(), lr=0.2)
    norms, losses, silent = [], [], 0.0
    for _ in range(_STEPS):
        loss = torch.nn.functional.cross_entropy(net(x.float()), y)
        optimiser.zero_grad()
        loss.backward()
        gradients = torch.cat([gates.grad for gates in net.parameters() if gates.grad is not None])
        norms.append(float(gradients.norm()))
        silent = float((gradients.abs().amax(-1) == 0).float().mean())
        losses.append(loss.item())
        optimiser.step()
    return Softmax(norms[0], silent, losses)


def depth(norms: Norms, softmaxes: Mapping[float, Softmax], source: str) -> Measurement:
    """Claim D22 on measured norms and accuracies.

    Args:
        norms: by parametrisation and initialisation, for each seed the norm of each layer's gradient, first layer first.
        softmaxes: trainings by the temperature of the softmax over gates; .01, 1 and 100 are among them.
        source: the images.
    """
    kept = {key: statistics.median(layers[0] / layers[-1] for layers in seeds) for key, seeds in norms.items()}
    low, even, high = (softmaxes[heat] for heat in (0.01, 1.0, 100.0))
    last = min(layers[-1] for seeds in norms.values() for layers in seeds)
    checks = [
        Check.at_most(
            "share of the gradient that reaches layer 1 of 12, raw gates begun at random", kept["raw", "random"], 1e-3
        ),
        Check.at_most("gradient at softmax temperature 100, in gradients at 1", high.gradient / even.gradient, 0.05),
        Check.at_least("gradient at softmax temperature 0.01, in gradients at 1", low.gradient / even.gradient, 10),
        Check.at_least("share of gates whose gradient is exactly 0 at temperature 0.01, of 1", low.silent, 0.1),
        Check.at_least("loss at temperature 0.01 above that at 1, after training", low.losses[-1] - even.losses[-1], 0.5),
        Check.at_most(
            "share of gates whose gradient is exactly 0 at temperature 1, of 1", even.silent, 0.01, role=Role.CONTROL
        ),
        Check.at_least("fall of the loss at temperature 1", even.losses[0] - even.losses[-1], 1, role=Role.CONTROL),
        *(
            Check.at_most(f"the same share, {name} gates begun at random", kept[name, "random"], 0.05, role=Role.LIMIT)
            for name in PARAMETRISATIONS
            if name != "raw"
        ),
        *(
            Check.at_least(f"the same share, {name} gates begun as residual", kept[name, "residual"], 0.05, role=Role.LIMIT)
            for name in PARAMETRISATIONS
        ),
        Check.at_least(
            "gradient of the last layer, least of all",
            last,
            1e-6,
            role=Role.CONTROL,
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"of the gradient {kept['raw', 'random']:.0e} reaches the first of 12 layers when gates begin at random, "
        f"{kept['raw', 'residual']:.2f} when they begin as residual",
        meaning={
            Verdict.REPRODUCED: "A mixture of all sixteen gates is near a constant: each layer shrinks what passes, and "
            f"twelve of them leave {kept['raw', 'random']:.0e} of the gradient. Gates that begin by passing their first "
            f"input on leave {kept['raw', 'residual']:.2f}. So the limit is one of the beginning, not of gates. The "
            f"parametrisation matters less: begun at random, four corners leave {kept['light', 'random']:.0e}, in the Walsh "
            f"basis {kept['walsh', 'random']:.0e}. The temperature of the softmax over gates has both effects that are "
            f"named. At 100 the gradient is {high.gradient / even.gradient:.0e} of that at 1, and nothing is learned. At .01 "
            f"it is {low.gradient / even.gradient:.0f} times as large, while {low.silent:.0%} of the gates get a gradient of "
            f"exactly 0 in float32: the loss stays at {low.losses[-1]:.1f}, where it falls to {even.losses[-1]:.1f} at 1.",
        },
        inputs=f"{source}; 12 layers of {_WIDTH} gates, one batch of {_BATCH}; temperatures on two layers of 400, one batch",
        tables=[
            Table(
                "Gradient of the first layer over that of the last, median of the seeds",
                ("parametrisation", *INITIALISATIONS),
                [(name, *(kept[name, begun] for begun in INITIALISATIONS)) for name in PARAMETRISATIONS],
            ),
            Table(
                f"One batch trained for {_STEPS} steps, by the temperature of the softmax over gates",
                ("temperature", "gradient before", "gates without gradient, %", "loss before", "loss after"),
                [(heat, one.gradient, 100 * one.silent, one.losses[0], one.losses[-1]) for heat, one in softmaxes.items()],
            ),
        ],
        figures=[_picture(norms, softmaxes)],
    )


def _picture(norms: Norms, softmaxes: Mapping[float, Softmax]) -> Figure:
    with canvas(2, height=3.3, widths=(1.2, 1)) as (figure, (left, right)):
        for (name, begun), series in zip(norms, SERIES, strict=False):
            middle = [statistics.median(layers) for layers in zip(*norms[name, begun], strict=True)]
            left.plot(range(1, len(middle) + 1), middle, label=f"{name}, {begun}", **series)
        left.set(yscale="log", xlabel="layer", ylabel="norm of the gradient", title="Before training, 12 layers")
        left.legend(fontsize=7)
        left.grid(axis="y")
        for (heat, one), series in zip(softmaxes.items(), SERIES, strict=False):
            right.plot(one.losses, label=f"{heat:g}", color=series["color"], linestyle=series["linestyle"], linewidth=1.5)
        right.set(xlabel="step", ylabel="loss of the batch", title="By temperature of the softmax")
        right.legend(loc="upper right", ncols=2, fontsize=7)
        right.grid(axis="y")
    return Figure(
        "depth",
        to_svg(figure),
        caption="Left, the norm of the gradient by layer in an untrained network of twelve layers. Right, the loss of "
        "one batch while two layers are trained on it, by the temperature of the softmax over gates.",
        alt="Left, on a logarithmic scale, lines of gates begun at random fall by many powers of ten towards the first layer, "
        "lines of residual gates stay level. Right, the loss falls fast at temperatures .1 and 1, slowly at 10, hardly at 100, "
        "and stops falling early at .01.",
    )
