"""Training: what it learns, that it stops, resumes to the same bits, and what it refuses."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from ordinate.data import digits
from ordinate.errors import ArgumentError, ArgumentTypeError, DataError, RefusedError, UnknownNameError
from ordinate.logic import GroupSum, LogicDense, LogicNetwork, TrainingSettings, accuracy, train

Examples = tuple[Tensor, Tensor]


def parity(rows: int, seed: int) -> Examples:
    """The label is x0 xor x1; six more bits say nothing."""
    x = torch.randint(0, 2, (rows, 8), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)
    return x, (x[:, 0] ^ x[:, 1]).long()


def network(mode: str = "soft", seed: int = 0) -> LogicNetwork:
    return LogicNetwork(
        LogicDense(8, 32, mode=mode, initialisation="random", wiring="random" if seed else "tree", seed=seed),
        GroupSum(2, tau=2.0),
    )


@pytest.mark.parametrize("mode", ["soft", "hard", "gumbel_soft", "gumbel_hard"])
def test_parity_is_learned_by_the_discrete_network(mode: str) -> None:
    settings = TrainingSettings(epochs=25, batch_size=64, patience=25)
    done = train(network(mode), parity(512, 0), parity(128, 1), settings)
    assert accuracy(done.network, parity(256, 2)) == (1.0 if mode in ("soft", "hard") else pytest.approx(1.0, abs=0.04))


def test_digits_are_classified_far_above_chance() -> None:
    data = digits()

    def examples(part) -> Examples:
        return torch.from_numpy(part.bits(data.threshold)), torch.from_numpy(part.labels)

    net = LogicNetwork(LogicDense(64, 300, seed=1), LogicDense(300, 300, seed=2), GroupSum(10, tau=3.0))
    done = train(net, examples(data.train), examples(data.validation), TrainingSettings(epochs=20, learning_rate=0.3))
    assert accuracy(done.network, examples(data.test)) > 0.8


def test_the_best_epoch_by_the_discrete_network_is_what_is_kept() -> None:
    done = train(network(seed=3), parity(256, 0), parity(100, 1), TrainingSettings(epochs=8, learning_rate=0.5))
    best = max(report.hard_accuracy for report in done.epochs)
    assert done.epochs[done.best_epoch - 1].hard_accuracy == best == accuracy(done.network, parity(100, 1))


def test_validation_that_does_not_gain_stops_it() -> None:
    x, y = parity(200, 0)
    shuffled = y[torch.randperm(200, generator=torch.Generator().manual_seed(0))]
    done = train(network(), (x, shuffled), parity(50, 1), TrainingSettings(epochs=200, patience=4))
    assert len(done.epochs) == done.best_epoch + 4


@pytest.mark.parametrize("mode", ["soft", "gumbel_hard"])
def test_a_run_that_was_interrupted_ends_in_the_same_bits(mode: str, tmp_path: Path) -> None:
    settings = TrainingSettings(epochs=6, batch_size=50, patience=6, warmup_steps=3)
    whole = train(network(mode), parity(300, 0), parity(60, 1), settings)

    def interrupt(report) -> None:
        if report.epoch == 3:
            raise KeyboardInterrupt

    place = tmp_path / "run.safetensors"
    with pytest.raises(KeyboardInterrupt):
        train(network(mode), parity(300, 0), parity(60, 1), settings, checkpoint=place, on_epoch=interrupt)
    told = []
    resumed = train(network(mode), parity(300, 0), parity(60, 1), settings, checkpoint=place, on_epoch=told.append)
    assert [report.epoch for report in told] == [4, 5, 6]
    assert [report.train_loss for report in resumed.epochs] == [report.train_loss for report in whole.epochs]
    ours, theirs = resumed.network.state_dict(), whole.network.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert list(tmp_path.iterdir()) == [place]


def test_the_same_seed_trains_to_the_same_bits_and_another_does_not() -> None:
    def weights(seed: int) -> Tensor:
        net = network()
        train(net, parity(200, 0), parity(50, 1), TrainingSettings(epochs=2, seed=seed))
        return net[0].gates.weight.detach()

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_schedules_are_their_formulas() -> None:
    cosine = TrainingSettings(schedule="cosine", learning_rate=0.4)
    assert [cosine.rate(step, 100) for step in (0, 25, 50, 100)] == pytest.approx(
        [0.4, 0.2 * (1 + math.cos(math.pi / 4)), 0.2, 0.0]
    )
    assert TrainingSettings(schedule="constant", learning_rate=0.4).rate(77, 100) == 0.4
    warm = TrainingSettings(schedule="linear", learning_rate=1.0, warmup_steps=10)
    assert [warm.rate(step, 110) for step in (0, 4, 9, 10, 60, 110)] == pytest.approx([0.1, 0.5, 1.0, 1.0, 0.5, 0.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "epochs: expected an integer of at least 1, got 0"),
        ({"batch_size": 2.5}, "batch_size"),
        ({"learning_rate": 0.0}, "learning_rate: expected a finite number above 0"),
        ({"weight_decay": 1.0}, "weight_decay: expected a finite number of at least 0 and below 1"),
        ({"patience": 0}, "patience"),
    ],
)
def test_settings_are_checked(change: dict, message: str) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match=message):
        TrainingSettings(**change)


def test_an_unknown_schedule_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="one of constant, cosine, linear, got 'step'"):
        TrainingSettings(schedule="step")


@pytest.mark.parametrize(
    ("train_labels", "message"),
    [
        (torch.zeros(10, dtype=torch.int64), "examples of every class, got none of class 1"),
        (torch.arange(10) % 3, "labels from 0 to 1, got 0 to 2"),
        (torch.arange(10) % 2 - 1, "labels from 0 to 1, got -1 to 0"),
        (torch.zeros(9, dtype=torch.int64), "a label for each input, and inputs, got 10 and 9"),
    ],
)
def test_labels_out_of_range_and_empty_classes_are_refused(train_labels: Tensor, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        train(network(), (parity(10, 0)[0], train_labels), parity(10, 1))


def test_a_checkpoint_of_other_settings_or_networks_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "run.safetensors"
    train(network(), parity(40, 0), parity(20, 1), TrainingSettings(epochs=1), checkpoint=place)
    with pytest.raises(DataError, match="a checkpoint of these settings"):
        train(network(), parity(40, 0), parity(20, 1), TrainingSettings(epochs=2), checkpoint=place)
    other = LogicNetwork(LogicDense(8, 16), GroupSum(2))
    with pytest.raises(DataError, match="a checkpoint of this network"):
        train(other, parity(40, 0), parity(20, 1), TrainingSettings(epochs=1), checkpoint=place)
    place.write_bytes(b"nothing")
    with pytest.raises(DataError, match="a complete safetensors file"):
        train(network(), parity(40, 0), parity(20, 1), TrainingSettings(epochs=1), checkpoint=place)


def test_a_loss_that_is_not_finite_is_refused() -> None:
    net = network()
    with torch.no_grad():
        net[0].gates.weight.fill_(float("nan"))
    with pytest.raises(RefusedError, match="a finite number, got nan"):
        train(net, parity(40, 0), parity(20, 1))
