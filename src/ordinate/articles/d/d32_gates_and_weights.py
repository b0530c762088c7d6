"""D32. The article: an accuracy takes more gates than an ordinary network takes weights, but a weight is dearer than a gate.

What varies is the network: ordinary ones with one small hidden layer, gates wired at random and trained, gates grown one by
one, all on the same bits of 8 by 8 digits. A weight's multiplier and adder are built of two-input gates, proven against whole
numbers, and mapped into tables of four inputs as any circuit is.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ordinate.articles.d.d19_ten_digits import Grown, grown
from ordinate.articles.d.logic_digits import digits_for, examples, network, one_thread
from ordinate.data import Digits
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.logic import Circuit, GrowthSettings, TrainingSettings, accuracy, train
from ordinate.logic.export.lut_mapping import map_luts

__all__ = ["CLAIM", "Unit", "gates_and_weights", "measure", "multiply_add"]

CLAIM = Claim(
    id="D32",
    title="Gates and weights",
    place="D333-334",
    statement=(
        "The gates that an accuracy needs tend to be more than the weights of an ordinary network; but a gate chooses one of "
        "16 functions of 2 inputs, and a weight in hardware needs a multiplier and an adder, dearer by orders of magnitude."
    ),
    remark="The article measures neither. Digits, networks, the widths of 4 and 8 bits and the bands are ours.",
    setup="none stated",
    setup_detail="8 by 8 digits; circuits in tables of four inputs",
    varies="the kind of network, and the bits of a weight",
    band="at least as many gates as weights at equal accuracy; a multiplier and adder of 8 bits at least ten tables",
    budget_seconds=20,
)

_HIDDEN = (2, 4, 8, 16)


@dataclass(frozen=True)
class Unit:
    """A multiplier and adder of some bits: its two-input gates, its tables of four inputs, and wrong results of those tried."""

    bits: int
    gates: int
    tables: int
    wrong: int


@one_thread()
def measure(inputs: Inputs) -> Measurement:
    """Claim D32 on scikit-learn's digits."""
    data = digits_for(inputs, validation=0.25)
    seed = inputs.seeds[0]
    settings = GrowthSettings(gates=240, copies=8, replacements=0, step=30, seed=seed).quick()
    return gates_and_weights(_nets(data, seed), _trained(data, seed), grown(data, settings), [_unit(4), _unit(8)], data.source)


def gates_and_weights(
    nets: Sequence[tuple[int, float]], trained: tuple[int, float], circuit: Grown, units: Sequence[Unit], source: str
) -> Measurement:
    """Claim D32 on measured networks.

    Args:
        nets: ordinary ones: weights and test accuracy, from small to large.
        trained: gates and test accuracy of a network that was wired at random.
        circuit: that was grown.
        units: multipliers with adders; the last is judged.
        source: the images.
    """
    ratio = {name: gates / _weights_for(nets, right) for name, (gates, right) in
             (("trained", trained), ("grown", (circuit.gates, circuit.test)))}  # fmt: skip
    dear = units[-1]
    checks = [
        Check.at_least("gates for each weight of an ordinary network as accurate, grown", ratio["grown"], 1),
        Check.at_least("the same, wired at random and trained", ratio["trained"], 1, role=Role.DETAIL_FIXED),
        Check.at_least(f"tables of a multiplier and adder of {dear.bits} bits", dear.tables, 10, role=Role.DETAIL_FIXED),
        Check.at_most("wrong products and sums of those tried", sum(one.wrong for one in units), 0, role=Role.CONTROL),
        Check.at_least("test accuracy of the largest ordinary network", nets[-1][1], 0.85, role=Role.CONTROL),
    ]
    widths = " and ".join(f"{one.tables:,} at {one.bits} bits" for one in units)
    return Measurement(
        checks=checks,
        key_figure=f"gates for a weight at equal accuracy: {ratio['trained']:.1f} wired at random, {ratio['grown']:.2f} grown; "
        f"tables of a multiplier and adder: {widths}",
        meaning={
            Verdict.CORRECTED: f"Wired at random and trained, {trained[0]:,} gates do what {_weights_for(nets, trained[1]):,} "
            f"weights do ({trained[1]:.1%}): more, as stated. Chosen one by one, {circuit.gates} gates reach "
            f"{circuit.test:.1%}, which takes {_weights_for(nets, circuit.test):,} weights or more: so it is the wiring by "
            f"chance that needs many gates, not the accuracy. A weight is the dearer unit either way, with {widths} tables for "
            "its multiplier and adder where a gate is at most one.",
            Verdict.REPRODUCED: f"At equal accuracy gates are more than weights, grown ({ratio['grown']:.1f}) or trained "
            f"({ratio['trained']:.1f}), and a multiplier with its adder takes {widths} tables.",
        },
        inputs=f"{source}; ordinary networks of one hidden layer on the same bits, the smallest that is as accurate counts; "
        "weights with biases",
        tables=[
            Table(
                "Test accuracy by size",
                ("network", "weights or gates", "accuracy"),
                [
                    *((f"ordinary, {hidden} hidden", *net) for hidden, net in zip(_HIDDEN, nets, strict=False)),
                    ("gates, wired at random", *trained),
                    ("gates, grown", circuit.gates, circuit.test),
                ],
            ),
            Table(
                "A weight in hardware: a product added to a sum of twice its bits",
                ("bits", "two-input gates", "tables of four inputs"),
                [(one.bits, one.gates, one.tables) for one in units],
            ),
        ],
        figures=[_picture(nets, trained, circuit)],
    )


def multiply_add(bits: int) -> Circuit:
    """c + a b for numbers a and b of `bits` bits and c of twice as many, whose bits come in that order, least first.

    Class k is bit k of the result, without the carry out of it.
    """
    tables: list[int] = []
    reads: list[tuple[int, int]] = []

    def gate(table: int, a: int, b: int) -> int:
        tables.append(table)
        reads.append((a, b))
        return 4 * bits + len(tables) - 1

    total = list(range(2 * bits, 4 * bits))
    for place in range(bits):
        carry = None
        for column in range(place, 2 * bits):
            ones = [gate(8, column - place, bits + place)] if column - place < bits else []
            ones += [] if carry is None else [carry]
            if not ones:
                break
            half, carry = gate(6, total[column], ones[0]), gate(8, total[column], ones[0])
            if len(ones) == 2:
                carry = gate(14, carry, gate(8, half, ones[1]))
                half = gate(6, half, ones[1])
            total[column] = half
    votes = [([signal], [1]) for signal in total]
    return Circuit(4 * bits, tables, [a for a, _ in reads], [b for _, b in reads], votes=votes)


def _unit(bits: int) -> Unit:
    circuit = multiply_add(bits).simplify(sat=False)
    drawn = np.random.default_rng(bits).integers(0, 2, (5_000, 4 * bits))
    powers = 1 << np.arange(2 * bits)
    a, b, c = (part @ powers[: part.shape[1]] for part in np.split(drawn, [bits, 2 * bits], axis=1))
    result = (circuit.count(drawn.astype(bool)) + circuit.bias).astype(np.int64) @ powers
    wrong = int((result != (c + a * b) % (1 << 2 * bits)).sum())
    return Unit(bits, circuit.num_gates, len(map_luts(circuit).luts), wrong)


def _weights_for(nets: Sequence[tuple[int, float]], right: float) -> int:
    """Weights of the smallest ordinary network that is as accurate; of the largest where none is."""
    return next((weights for weights, reached in nets if reached >= right), nets[-1][0])


def _nets(data: Digits, seed: int) -> list[tuple[int, float]]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    (x, y), (z, wanted) = ((part.bits(data.threshold), part.labels) for part in (data.train, data.test))
    result = []
    for hidden in _HIDDEN:
        net = MLPClassifier((hidden,), solver="lbfgs", alpha=1.0, max_iter=300, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # 300 steps are what is compared
            net.fit(x, y)
        weights = sum(part.size for part in (*net.coefs_, *net.intercepts_))
        result.append((weights, float((net.predict(z) == wanted).mean())))
    return result


def _trained(data: Digits, seed: int) -> tuple[int, float]:
    parts = [examples(part, data.threshold) for part in (data.train, data.validation, data.test)]
    net = network(parts[0][0].shape[1], 2_000, 2, 10, seed)
    train(net, parts[0], parts[1], TrainingSettings(epochs=8, batch_size=64, learning_rate=0.2, seed=seed))
    return Circuit.from_network(net).simplify(sat=False).num_gates, accuracy(net, parts[2])


def _picture(nets: Sequence[tuple[int, float]], trained: tuple[int, float], circuit: Grown) -> Figure:
    with canvas(height=2.9, width=5.6) as (figure, axes):
        axes.plot(*zip(*nets, strict=True), label="ordinary network, weights", **SERIES[0])
        axes.plot(*zip(*circuit.rounds, strict=True), label="grown, gates (validation)", **{**SERIES[1], "marker": ""})
        axes.plot(*trained, label="wired at random, gates", **{**SERIES[2], "linestyle": "none", "markersize": 8})
        axes.set(xscale="log", xlabel="weights or gates", ylabel="accuracy", title="What an accuracy takes")
        axes.grid(axis="y")
        axes.legend()
    return Figure(
        "units",
        to_svg(figure),
        caption="Accuracy on 8 by 8 digits by the number of weights of an ordinary network, and by the number of gates.",
        alt="Over a logarithmic axis the grown circuit's line lies left of the ordinary networks', the mark of gates wired at "
        "random right of both.",
    )
