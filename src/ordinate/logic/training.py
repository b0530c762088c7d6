"""Training by gradient descent: relaxed gates, Adam, and validation on the discrete network, which is the one that will run.

Each epoch ends in a checkpoint, if one is asked for. Examples come in an order that follows from seed and epoch alone, so that
a run which goes on from a checkpoint is the same to the bit as one that was never interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ordinate.errors import ArgumentError, RefusedError
from ordinate.logic.network import LogicNetwork
from ordinate.logic.training_checkpoint import load_training, save_training
from ordinate.logic.training_settings import EpochReport, TrainingSettings

__all__ = ["Training", "accuracy", "train"]

Examples = tuple[Tensor, Tensor]
_EVALUATED_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Training:
    """What training came to.

    Args:
        network: in evaluation, with the parameters of the best epoch.
        epochs: what was known after each.
        best_epoch: the one of the best discrete validation accuracy, of equals the first.
    """

    network: LogicNetwork
    epochs: tuple[EpochReport, ...]
    best_epoch: int


@torch.no_grad()
def accuracy(network: LogicNetwork, examples: Examples, *, soft: bool = False) -> float:
    """The share of examples that are told right, by the discrete network or by the relaxed one.

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
            raise ArgumentError(
                name, expected="a label for each input, and inputs", got=f"{len(inputs)} and {len(labels)}", hint="pair them"
            )
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
        raise ArgumentError(
            "train", expected="examples of every class", got=f"none of class {missing[0]}", hint="leave that class out"
        )
