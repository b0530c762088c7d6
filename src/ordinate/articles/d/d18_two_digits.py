"""D18. The article: 0 against 1 of MNIST with 973 gates, 99.27 %.

What varies is how the gates come about: 973 gates of random wiring trained by gradient descent, as the article has it, or at
most thirty that are grown one by one. The test images are read once by each. On the embedded 8 by 8 digits the same is
measured with a band that their 90 test images allow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ordinate.articles.d.logic_digits import EMBEDDED_ONLY, digits_for, examples, network, one_thread
from ordinate.data import Digits
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.logic import Circuit, GrowthSettings, TrainingSettings, accuracy, grow, train

__all__ = ["CLAIM", "Found", "grown_circuit", "measure", "trained_accuracy", "two_digits"]

CLAIM = Claim(
    id="D18",
    title="Two digits",
    place="D310-317",
    statement=(
        "0 against 1 of MNIST: 600 iterations, kernel 4, hidden layer 100: 973 gates after simplification and 99.27 % "
        "as a discrete circuit."
    ),
    setup="other data",
    setup_detail="8 by 8 digits; MNIST with --full",
    varies="whether gates are wired at random and trained, or grown one by one",
    band="at least 99.27 % less .3 on MNIST; on 8 by 8 digits less 1.5 of the 90 test images",
    budget_seconds=15,
)

_ARTICLE_GATES, _ARTICLE = 973, 0.9927


@dataclass(frozen=True, eq=False)
class Found:
    """A circuit of some gates and its test accuracy.

    Args:
        gates: two-input gates.
        accuracy: on the test images.
        used: for the picture, how often each pixel is read, [height, width]; None for a trained network.
    """

    gates: int
    accuracy: float
    used: npt.NDArray[np.int64] | None = None


@one_thread()
def measure(inputs: Inputs) -> Measurement:
    """Claim D18 on the digits 0 and 1 of 8 by 8, or with --full of MNIST."""
    data = digits_for(inputs, classes=(0, 1))
    trained = Found(*trained_accuracy(data, inputs.seeds[0], epochs=4 if inputs.full else 6))
    return two_digits(trained, grown_circuit(data, 30, inputs.seeds[0]), data.source, len(data.test))


def trained_accuracy(data: Digits, seed: int, epochs: int) -> tuple[int, float]:
    """Gates and test accuracy of a network of two layers, random wiring."""
    net = network(data.size[0] * data.size[1], _ARTICLE_GATES, 2, len(data.classes), seed, mode="hard")
    parts = [examples(part, data.threshold) for part in (data.train, data.validation, data.test)]
    train(net, parts[0], parts[1], TrainingSettings(epochs=epochs, batch_size=64, learning_rate=0.2, seed=seed))
    return net.num_gates, accuracy(net, parts[2])


def grown_circuit(data: Digits, gates: int, seed: int) -> Found:
    """A circuit of at most so many gates, and its test accuracy."""
    settings = GrowthSettings(gates=gates, copies=4, seed=seed)
    if data.size[0] < 16:
        settings = settings.quick()
    train_part, validation = ((part.images, part.labels) for part in (data.train, data.validation))
    circuit = grow(train_part, validation, data.threshold, settings).circuit
    right = float((circuit.predict(data.test.bits(data.threshold)) == data.test.labels).mean())
    return Found(circuit.num_gates, right, _used(circuit, data.size))


def _used(circuit: Circuit, size: tuple[int, int]) -> npt.NDArray[np.int64]:
    reads = np.concatenate((circuit.inputs_a, circuit.inputs_b))
    return np.bincount(reads[reads < circuit.num_inputs], minlength=circuit.num_inputs).reshape(size)


def two_digits(trained: Found, grown: Found, source: str, tested: int) -> Measurement:
    """Claim D18 on measured accuracies.

    Args:
        trained: the network of the article's size.
        grown: the circuit that was grown.
        source: the images.
        tested: how many of them.
    """
    few = tested < 1000
    band = 1.5 / tested if few else 0.003  # one image in ninety is more than the article's last digits
    lowest = (0.96 if few else 0.998) if grown.used is not None else 1.0
    checks = [
        Check.at_least(f"test accuracy of {trained.gates} gates, trained", trained.accuracy, _ARTICLE - band),
        Check.at_most("gates of that network", trained.gates, _ARTICLE_GATES),
        Check.at_least("test accuracy of at most 30 gates, grown", grown.accuracy, lowest, role=Role.LIMIT),
        Check.at_most("gates that were grown", grown.gates, 30, role=Role.LIMIT),
        Check.at_least("test images", tested, 50, role=Role.CONTROL),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"{trained.accuracy:.2%} with {trained.gates} gates trained, {grown.accuracy:.2%} with {grown.gates} grown",
        meaning={
            Verdict.REPRODUCED: f"The article's size is enough: {trained.gates} gates reach {trained.accuracy:.2%} here. It is "
            f"also far more than is needed. Chosen one by one, by what is still wrong, {grown.gates} gates reach "
            f"{grown.accuracy:.2%}: random wiring spends most of its gates on pixels that say nothing about the question. "
            "Gates that read well-placed pairs of pixels, such as ink in the middle and none beside it, settle it.",
        },
        inputs=f"{source}, digits 0 and 1; {tested:,} test images, read once",
        tables=[
            Table(
                "Gates and test accuracy",
                ("circuit", "gates", "accuracy"),
                [
                    ("the article", _ARTICLE_GATES, _ARTICLE),
                    ("random wiring, trained", trained.gates, trained.accuracy),
                    ("grown", grown.gates, grown.accuracy),
                ],
            )
        ],
        figures=[] if grown.used is None else [_picture(grown.used)],
        untested=[("the article's 99.27 % on MNIST itself", f"needs {EMBEDDED_ONLY}")] if few else [],
    )


def _picture(used: npt.NDArray[np.int64]) -> Figure:
    with canvas(height=3.2, width=3.4) as (figure, axes):
        heat_map(axes, used, label="gates that read the pixel")
        axes.set(xticks=[], yticks=[], title="Pixels of the grown circuit")
        svg = to_svg(figure)
    return Figure(
        "pixels",
        svg,
        caption="How many of the grown gates read each pixel.",
        alt="A map of the image: most pixels are read by no gate, a few in the middle and around it by one or more.",
    )
