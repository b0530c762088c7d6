"""D17. The article: the accuracies of the relaxed and of the discrete network differ by under .1 %.

What varies is the depth, and what training sees: relaxed gates, or discrete ones with the gradient of the relaxed (straight
through). Same data, wiring, width and steps. Both accuracies are read on the test images, once, with the parameters of the last
epoch, so that no choice of epoch favours one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ordinate.articles.d.logic_digits import EMBEDDED_ONLY, digits_for, examples, network, one_thread
from ordinate.data import Digits
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.logic import LogicNetwork, TrainingSettings, accuracy, train

__all__ = ["CLAIM", "Accuracies", "Size", "discretising", "measure", "trained"]

CLAIM = Claim(
    id="D17",
    title="Making a network discrete",
    place="D228-233, D267",
    statement=(
        "The paper reports that the accuracies of the relaxed and of the discrete network differ by less than 0.1 %; "
        "the gap may remain in some settings."
    ),
    setup="other data",
    setup_detail="8 by 8 digits with 450 test images, which cannot resolve 0.1 %; MNIST with --full",
    varies="the depth, and what training sees: relaxed gates or discrete ones",
    band="less than 0.1 % at every depth",
    budget_seconds=30,
)


_BAND = 0.001


@dataclass(frozen=True)
class Size:
    """Depths, gates a layer, epochs."""

    depths: tuple[int, ...] = (1, 2, 4)
    width: int = 300
    epochs: int = 7


@dataclass(frozen=True)
class Accuracies:
    """Of the relaxed and of the discrete network."""

    soft: float
    hard: float

    @property
    def gap(self) -> float:
        """How far they are apart."""
        return abs(self.soft - self.hard)


@one_thread()
def measure(inputs: Inputs) -> Measurement:
    """Claim D17 on 8 by 8 digits, or with --full on MNIST in wider layers."""
    size = Size(depths=(1, 2, 4, 6), width=2000, epochs=6) if inputs.full else Size()
    data = digits_for(inputs)
    result = {mode: [trained(data, size, depth, mode, inputs.seeds[0]) for depth in size.depths] for mode in ("soft", "hard")}
    return discretising(size.depths, result["soft"], result["hard"], data.source, len(data.test))


def trained(data: Digits, size: Size, depth: int, mode: str, seed: int) -> Accuracies:
    """One network, trained to its last epoch."""
    net = network(data.size[0] * data.size[1], size.width * depth, depth, 10, seed, mode=mode)
    settings = TrainingSettings(epochs=size.epochs, batch_size=64, learning_rate=0.2, patience=size.epochs, seed=seed)
    last: dict[str, LogicNetwork] = {}
    parts = [examples(part, data.threshold) for part in (data.train, data.validation, data.test)]

    def keep(report: object) -> None:
        last["state"] = {name: value.clone() for name, value in net.state_dict().items()}  # type: ignore[assignment]

    train(net, parts[0], parts[1], settings, on_epoch=keep)
    net.load_state_dict(last["state"])  # type: ignore[arg-type]
    return Accuracies(accuracy(net, parts[2], soft=True), accuracy(net, parts[2]))


def discretising(
    depths: Sequence[int], relaxed: Sequence[Accuracies], straight: Sequence[Accuracies], source: str, tested: int
) -> Measurement:
    """Claim D17 on measured accuracies.

    Args:
        depths: layers of gates.
        relaxed: trained on relaxed gates, one a depth.
        straight: trained on discrete gates with the gradient of the relaxed.
        source: the images.
        tested: how many.
    """
    enough = tested * _BAND >= 10  # ten images are what the band comes to on MNIST's test images
    stated, fixed = (Role.AS_STATED, Role.DETAIL_FIXED) if enough else (Role.LIMIT, Role.LIMIT)
    checks = [
        *(
            Check.at_most(f"gap at depth {depth}", one.gap, _BAND, role=stated)
            for depth, one in zip(depths, relaxed, strict=True)
        ),
        *(
            Check.at_most(f"gap at depth {depth}, trained straight through", one.gap, _BAND, role=fixed)
            for depth, one in zip(depths, straight, strict=True)
        ),
        Check.at_least("least accuracy of a relaxed network", min(one.soft for one in relaxed), 0.6, role=Role.CONTROL),
        *(
            Check.at_least(f"discrete accuracy at depth {depth}, trained straight through", one.hard, 0.6, role=Role.LIMIT)
            for depth, one in zip(depths, straight, strict=True)
        ),
    ]
    widest = max(relaxed, key=lambda one: one.gap)
    gaps = ", ".join(f"{100 * one.gap:.2f}" for one in relaxed)
    return Measurement(
        checks=checks,
        key_figure=f"gap of {gaps} points at depths {', '.join(map(str, depths))}; 0 by construction straight through",
        meaning={
            Verdict.NOT_TESTABLE: f"One of {tested:,} test images is {1 / tested:.1%}: these cannot tell a gap of less than "
            f"0.1 % from one of 0.2 %. What is seen after this much training are gaps of {gaps} points at depths "
            f"{', '.join(map(str, depths))}, so gates are not yet decided. Where training sees the discrete gates forward "
            "and only borrows the gradient of the relaxed ones, nothing is left to discretise and the gap is zero.",
            Verdict.CORRECTED: f"After this much training relaxed gates are not yet decided: the widest gap is "
            f"{100 * widest.gap:.1f} points. Under .1 % is what very long training ends in, not what discretising costs as "
            "such. Where training sees the discrete gates forward and only borrows the gradient of the relaxed ones, there "
            "is nothing left to discretise and the gap is zero; a circuit that is grown has none either.",
            Verdict.REPRODUCED: "At these depths and this length of training gates are decided, and discretising costs nothing "
            "that these test images can show.",
        },
        inputs=f"{source}; {tested:,} test images; depths {', '.join(map(str, depths))}",
        tables=[
            Table(
                "Accuracy on the test images",
                ("depth", "relaxed", "made discrete", "gap, points", "straight through"),
                [
                    (depth, one.soft, one.hard, 100 * one.gap, other.hard)
                    for depth, one, other in zip(depths, relaxed, straight, strict=True)
                ],
            )
        ],
        figures=[_picture(depths, relaxed, straight)],
        untested=[] if "8 by 8" not in source else [("the gap to .1 % on many test images", f"needs {EMBEDDED_ONLY}")],
    )


def _picture(depths: Sequence[int], relaxed: Sequence[Accuracies], straight: Sequence[Accuracies]) -> Figure:
    with canvas(height=2.9, width=5.2) as (figure, axes):
        lines = (
            ("relaxed", [one.soft for one in relaxed]),
            ("the same, made discrete", [one.hard for one in relaxed]),
            ("trained straight through", [one.hard for one in straight]),
        )
        for (label, values), series in zip(lines, SERIES, strict=False):
            axes.plot(depths, values, label=label, **series)
        axes.set(xlabel="layers of gates", ylabel="test accuracy", xticks=list(depths))
        axes.grid(axis="y")
        axes.legend()
    return Figure(
        "gap",
        to_svg(figure),
        caption="Test accuracy by depth: relaxed, made discrete, and trained on discrete gates from the start.",
        alt="Three lines over the number of layers: the relaxed network, below it the same network made discrete, and one that "
        "was trained straight through.",
    )
