"""Training by gradient descent: relaxed gates, Adam, and validation on the discrete network, which is the one that will run.

Each epoch ends in a checkpoint, if one is asked for: one safetensors file of parameters, best parameters, Adam's moments and
torch's generator. Examples come in an order that follows from seed and epoch alone, so that a run that continues from a
checkpoint is the same to the bit as one that was never interrupted. Sums over a batch are added up by several threads in an
order that depends on their number, so equal bits need an equal number of threads.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from ordinate.arguments import check_choice, check_integer, check_number
from ordinate.atomic_io import atomic_write
from ordinate.errors import ArgumentError, DataError, RefusedError
from ordinate.logic.network.network import LogicNetwork
from ordinate.safetensors_io import read_tensors, write_tensors

__all__ = ["SCHEDULES", "EpochReport", "Training", "TrainingSettings", "accuracy", "load_training", "save_training", "train"]

SCHEDULES = ("constant", "cosine", "linear")


@dataclass(frozen=True)
class TrainingSettings:
    """How a network is trained: Adam on cross-entropy.

    Args:
        epochs: passes over the training set, at most.
        batch_size: examples a step.
        learning_rate: the largest.
        schedule: "constant", "cosine" (down to 0 along half a cosine) or "linear" (down to 0).
        warmup_steps: steps over which the rate rises from 0.
        weight_decay: of the gates' logits (AdamW); pulls gates back to undecided.
        patience: epochs without a better validation accuracy after which training stops.
        seed: of the order of the examples, and of sampled gates.

    Raises:
        ArgumentError: a number out of range.
        UnknownNameError: another schedule.

    >>> settings = TrainingSettings(epochs=2, schedule="linear", warmup_steps=2, learning_rate=1.0)
    >>> [settings.rate(step, steps=10) for step in (0, 1, 6, 10)]
    [0.5, 1.0, 0.5, 0.0]
    """

    epochs: int = 20
    batch_size: int = 128
    learning_rate: float = 0.1
    schedule: str = "cosine"
    warmup_steps: int = 0
    weight_decay: float = 0.0
    patience: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch_size", 1), ("warmup_steps", 0), ("patience", 1)):
            check_integer(name, getattr(self, name), minimum=least)
        check_integer("seed", self.seed)
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("weight_decay", self.weight_decay, minimum=0, below=1)
        check_choice("schedule", self.schedule, SCHEDULES)

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of step `step` of `steps`."""
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        done = (step - self.warmup_steps) / max(1, steps - self.warmup_steps)
        shape = {"constant": 1.0, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}[self.schedule]
        return self.learning_rate * shape


@dataclass(frozen=True)
class EpochReport:
    """What is known after an epoch.

    Args:
        epoch: from 1 on.
        train_loss: mean over the epoch's steps.
        soft_accuracy: validation accuracy of the relaxed network.
        hard_accuracy: of the discrete one, which is what counts.
        learning_rate: of the last step.
        cpu_seconds: since the start, of this process.

    >>> EpochReport(1, train_loss=0.6, soft_accuracy=0.8, hard_accuracy=0.75, learning_rate=0.01, cpu_seconds=2.0).hard_accuracy
    0.75
    """

    epoch: int
    train_loss: float
    soft_accuracy: float
    hard_accuracy: float
    learning_rate: float
    cpu_seconds: float


_VERSION = "1"
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def save_training(
    path: Path,
    network: LogicNetwork,
    optimiser: torch.optim.Optimizer,
    best: dict[str, Tensor],
    reports: list[EpochReport],
    settings: TrainingSettings,
) -> None:
    """Write all that training goes on from; the file is there whole or as it was before.

    Raises:
        OutputError: a place that cannot be written to.
    """
    tensors = {f"now.{name}": value for name, value in network.state_dict().items()}
    tensors |= {f"best.{name}": value for name, value in best.items()}
    for number, state in optimiser.state_dict()["state"].items():
        tensors |= {f"adam.{number}.{moment}": torch.as_tensor(state[moment]) for moment in _MOMENTS}
    tensors["draws"] = torch.get_rng_state()
    metadata = {
        "ordinate_logic_training": _VERSION,
        "settings": json.dumps(asdict(settings)),
        "reports": json.dumps([asdict(report) for report in reports]),
    }
    own = {name: value.clone() for name, value in tensors.items()}  # the file refuses tensors that share memory
    atomic_write(path, lambda draft: write_tensors(draft, own, metadata))


def load_training(
    path: Path, network: LogicNetwork, optimiser: torch.optim.Optimizer, settings: TrainingSettings
) -> tuple[list[EpochReport], dict[str, Tensor]]:
    """Put network, optimiser and torch's draws where the checkpoint left them; the reports so far and the best parameters.

    Raises:
        DataError: a damaged file, or one of other settings or of another network.
    """
    tensors, metadata = read_tensors(path)
    if metadata.get("ordinate_logic_training") != _VERSION:
        raise DataError(str(path), expected="a checkpoint of training", got="another file", hint="remove it to start anew")
    try:
        settings_before, reports = json.loads(metadata["settings"]), json.loads(metadata["reports"])
        done = [EpochReport(**report) for report in reports]
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(
            str(path), expected="a checkpoint of training", got=f"damaged content ({error})", hint="remove it to start anew"
        ) from None
    if settings_before != asdict(settings):
        raise DataError(
            str(path),
            expected=f"a checkpoint of these settings {asdict(settings)}",
            got=metadata["settings"],
            hint="remove it to start anew, or train with its settings",
        )

    def of(prefix: str) -> dict[str, Tensor]:
        return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}

    best = of("best.")
    try:
        network.load_state_dict(best)  # both must fit, before anything is trained on
        network.load_state_dict(of("now."))
        state = optimiser.state_dict()
        numbers = sorted({int(name.split(".")[1]) for name in tensors if name.startswith("adam.")})
        state["state"] = {number: {moment: tensors[f"adam.{number}.{moment}"] for moment in _MOMENTS} for number in numbers}
        optimiser.load_state_dict(state)
        torch.set_rng_state(tensors["draws"])
    except (RuntimeError, KeyError, ValueError, TypeError, IndexError) as error:
        raise DataError(
            str(path), expected="a checkpoint of this network", got=str(error).splitlines()[0], hint="remove it to start anew"
        ) from None
    return done, best


Examples = tuple[Tensor, Tensor]
_EVALUATED_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Training:
    """What training came to.

    Args:
        network: in evaluation, with the parameters of the best epoch.
        epochs: what was known after each.
        best_epoch: the one of the best discrete validation accuracy, of equals the first.

    >>> from ordinate.logic import GroupSum, LogicDense
    >>> examples = (torch.eye(2), torch.tensor([0, 1]))
    >>> network = LogicNetwork(LogicDense(2, 2, wiring=torch.tensor([[0, 1], [1, 0]])), GroupSum(2))
    >>> trained = train(network, examples, examples, TrainingSettings(epochs=2))
    >>> trained.best_epoch, len(trained.epochs)
    (1, 2)
    """

    network: LogicNetwork
    epochs: tuple[EpochReport, ...]
    best_epoch: int


@torch.no_grad()
def accuracy(network: LogicNetwork, examples: Examples, *, soft: bool = False) -> float:
    """The share of examples classified right, by the discrete network or by the relaxed one.

    Args:
        network: of any mode; it is left in the mode it was in.
        examples: inputs [N, ...] of any number type, labels int64 [N].
        soft: the relaxed network, as training sees it.

    >>> from ordinate.logic import GroupSum, LogicDense
    >>> network = LogicNetwork(LogicDense(2, 2, wiring=torch.tensor([[0, 1], [1, 0]])), GroupSum(2))
    >>> accuracy(network, (torch.eye(2), torch.tensor([0, 1])))
    1.0
    """
    before = network.training
    network.train(soft)
    inputs, labels = examples
    right = 0
    for x, y in zip(inputs.split(_EVALUATED_AT_ONCE), labels.split(_EVALUATED_AT_ONCE), strict=True):
        right += int((network(x.float()).argmax(-1) == y).sum())
    network.train(before)
    return right / len(labels)


def train(
    network: LogicNetwork,
    train: Examples,
    validation: Examples,
    settings: TrainingSettings | None = None,
    *,
    checkpoint: str | Path | None = None,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> Training:
    """Train a network in place.

    Args:
        network: ends in scores of classes.
        train: inputs [N, ...] of any number type (bits may be bool or uint8), labels int64 [N].
        validation: likewise; it stops training and chooses the epoch.
        settings: epochs, batch, rates.
        checkpoint: a safetensors file that is written after each epoch; where it is there already, training goes on from it.
            An interrupt (Ctrl-C) loses the epoch that was under way, no more.
        on_epoch: called after each epoch.

    Raises:
        ArgumentError: inputs and labels of other numbers, none of them, or labels that the network has no score for.
        RefusedError: a loss that is not finite.
        DataError: a checkpoint of other settings or of another network.

    >>> from ordinate.logic import GroupSum, LogicDense
    >>> x = torch.rand(256, 4, generator=torch.Generator().manual_seed(0)) > 0.5
    >>> examples = (x, (x[:, 0] ^ x[:, 1]).long())
    >>> network = LogicNetwork(LogicDense(4, 12, wiring="tree", initialisation="random", seed=1), GroupSum(2))
    >>> train(network, examples, examples, TrainingSettings(epochs=30, learning_rate=0.1)).epochs[-1].hard_accuracy
    1.0
    """
    settings = settings or TrainingSettings()
    _check(network, train, validation)
    optimiser = torch.optim.AdamW(network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    torch.manual_seed(settings.seed)  # of sampled gates; the order of examples has generators of its own
    reports: list[EpochReport] = []
    best = {name: value.clone() for name, value in network.state_dict().items()}
    place = None if checkpoint is None else Path(checkpoint)
    if place is not None and place.is_file():
        reports, best = load_training(place, network, optimiser, settings)
    started = time.process_time() - (reports[-1].cpu_seconds if reports else 0.0)
    while len(reports) < settings.epochs and len(reports) - _best_epoch(reports) < settings.patience:
        loss, rate = _epoch(network, optimiser, train, settings, len(reports))
        soft, hard = accuracy(network, validation, soft=True), accuracy(network, validation)
        reports.append(EpochReport(len(reports) + 1, loss, soft, hard, rate, time.process_time() - started))
        if _best_epoch(reports) == len(reports):
            best = {name: value.clone() for name, value in network.state_dict().items()}
        if place is not None:
            save_training(place, network, optimiser, best, reports, settings)
        if on_epoch is not None:
            on_epoch(reports[-1])
    network.load_state_dict(best)
    return Training(network.eval(), tuple(reports), _best_epoch(reports))


def _best_epoch(reports: list[EpochReport]) -> int:
    return max(range(len(reports)), key=lambda place: (reports[place].hard_accuracy, -place)) + 1 if reports else 0


def _epoch(
    network: LogicNetwork, optimiser: torch.optim.Optimizer, examples: Examples, settings: TrainingSettings, epoch: int
) -> tuple[float, float]:
    """One pass; the mean loss and the last rate."""
    inputs, labels = examples
    network.train()
    generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + epoch)
    order = torch.randperm(len(labels), generator=generator)
    batches = order.split(settings.batch_size)
    total, rate = 0.0, 0.0
    for place, rows in enumerate(batches):
        rate = settings.rate(epoch * len(batches) + place, settings.epochs * len(batches))
        for group in optimiser.param_groups:
            group["lr"] = rate
        loss = torch.nn.functional.cross_entropy(network(inputs[rows].float()), labels[rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total += float(loss.detach()) * len(rows)
    if not total < float("inf"):
        raise RefusedError("loss", expected="a finite number", got=total, hint="take a smaller learning rate or a larger tau")
    return total / len(labels), rate


def _check(network: LogicNetwork, train: Examples, validation: Examples) -> None:
    for name, (inputs, labels) in (("train", train), ("validation", validation)):
        if len(inputs) != len(labels) or not len(labels):
            raise ArgumentError(name, expected="a label for each input, and inputs", got=f"{len(inputs)} and {len(labels)}")
    with torch.no_grad():
        classes = network(train[0][:1].float()).shape[-1]
    for name, (_, labels) in (("train", train), ("validation", validation)):
        if int(labels.min()) < 0 or int(labels.max()) >= classes:
            raise ArgumentError(
                name,
                expected=f"labels from 0 to {classes - 1}",
                got=f"{int(labels.min())} to {int(labels.max())}",
                hint="number the classes from 0, or let GroupSum have more",
            )
    missing = sorted(set(range(classes)) - set(train[1].unique().tolist()))
    if missing:
        raise ArgumentError("train", expected="examples of every class", got=f"none of class {missing[0]}")
