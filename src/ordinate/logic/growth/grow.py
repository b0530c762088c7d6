"""Growing a circuit gate by gate: no relaxation, no wiring chosen beforehand, and what is trained is what runs.

Each round looks at what the circuit still gets wrong, scores every pair of its signals under every two-input function, builds
the best pairs and adds some of them, one after another, as votes and as new signals (`ordinate.logic.growth.scoring`); then
temperature and bias are fitted again. When the circuit has its number of gates, or validation no longer gains, all gates vote
again, the least useful ones that no other gate reads are cut, and others are grown in their place; what validation does not
confirm is undone. It is gradient boosting (Friedman 2001, Annals of Statistics 29(5)) whose weak learners are gates and whose
weights are votes of plus or minus one.

A checkpoint is a small JSON file of gates, votes, the generator's state and the rounds so far. Signals and scores are not in
it: they follow from the gates, to the bit, so that a growth that was interrupted ends with the same circuit.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ordinate.arguments import check_integer, check_number
from ordinate.atomic_io import atomic_write
from ordinate.errors import ArgumentError, DataError, ShapeError
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.files import read_json
from ordinate.logic.circuit.input_thresholds import InputThresholds
from ordinate.logic.growth.distortion import distorted
from ordinate.logic.growth.features import PooledKernels, learned_kernels
from ordinate.logic.growth.scoring import best_pairs, choose, costs_of_removal, revoted
from ordinate.logic.growth.state import GrowthState, Snapshot

__all__ = ["GrownCircuit", "GrowthRound", "GrowthRun", "GrowthSettings", "fingerprint", "grow", "load_growth", "save_growth"]


@dataclass(frozen=True)
class GrowthSettings:
    """How a circuit grows.

    Args:
        gates: two-input gates, at most, with those of convolution features; votes are counted by adders, which are not gates.
        votes_per_gate: classes that one gate may vote for or against. Each vote costs an adder in hardware, none in gates.
        step: gates a round; 0 takes a sixth of all, from 1 to 40. Larger steps take less time and gain less a gate.
        afresh: gates of a round after which all candidates are looked at again, 1 for always; in between, the best of them.
        rows: signals drawn each round as first inputs.
        columns: signals drawn each round as second inputs.
        pair_sample: examples on which pairs are scored.
        thinned: all pairs are scored on every so-many-th of these, and only the best of them on all; 1 scores all on all.
        choice_sample: examples on which the best pairs are built and chosen one after another.
        candidates: best pairs that are built.
        copies: distorted copies of each training image (`ordinate.logic.growth.distortion`), beside the image itself.
        strength: of their distortion.
        kernels: convolution features to grow on beside the pixels (`ordinate.logic.growth.features`), this many at every place;
            a feature that is read costs eleven gates.
        least_tau: the temperature never falls below; higher asks for larger margins.
        replacements: rounds in which the least useful gates are cut and others grown in their place.
        replaced_share: the share of gates that one such round cuts.
        patience: rounds without a better validation loss after which growth stops.
        seed: of all draws.

    Raises:
        ArgumentError: a number out of range.

    >>> GrowthSettings(gates=30).gates_a_round, GrowthSettings(gates=1000).gates_a_round
    (5, 40)
    """

    gates: int
    votes_per_gate: int = 3
    step: int = 0
    afresh: int = 1
    rows: int = 400
    columns: int = 1200
    pair_sample: int = 8192
    thinned: int = 1
    choice_sample: int = 16384
    candidates: int = 1500
    copies: int = 4
    strength: float = 0.5
    kernels: int = 0
    least_tau: float = 1.0
    replacements: int = 2
    replaced_share: float = 0.15
    patience: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        least = {
            "gates": 1,
            "votes_per_gate": 1,
            "step": 0,
            "afresh": 1,
            "rows": 2,
            "columns": 2,
            "pair_sample": 16,
            "thinned": 1,
            "choice_sample": 16,
            "candidates": 1,
            "copies": 0,
            "kernels": 0,
            "replacements": 0,
            "patience": 1,
        }
        for name, lowest in least.items():
            check_integer(name, getattr(self, name), minimum=lowest)
        for name, low, high in (("strength", 0, 3), ("least_tau", 1e-3, 1e6), ("replaced_share", 0.0, 0.5)):
            check_number(name, getattr(self, name), minimum=low, maximum=high)

    @property
    def gates_a_round(self) -> int:
        """The step that is taken: each reads a signal once, which keeps the gates of a round apart."""
        return self.step or max(1, min(40, self.gates // 6))

    @classmethod
    def usual(cls, gates: int, *, few_images: bool = False, **others: float) -> GrowthSettings:
        """What suits so many gates; `ordinate logic grow` takes it.

        Large circuits learn images by heart sooner and get more and stronger distortions; thirty gates cannot follow those.
        What the last of many thousand gates gain is little, and differs from chance only on more examples.

        Args:
            gates: two-input gates, at most.
            few_images: some hundred small images, such as the embedded digits: more copies of each, smaller samples.
            others: settings to take instead.

        Raises:
            ArgumentError: a number out of range.

        >>> GrowthSettings.usual(30).copies, GrowthSettings.usual(6000, seed=1).copies
        (4, 24)
        """
        large, huge = gates >= 500, gates >= 4000
        result = cls(
            gates,
            afresh=8 if large else 1,
            pair_sample=16384 if huge else 8192,
            thinned=4 if huge else 2 if large else 1,
            choice_sample=32768 if huge else 16384,
            copies=20 if few_images else 24 if huge else 8 if large else 4,
            strength=1.0 if large else 0.5,
            patience=60 if huge else 20,
        )
        return replace(result.quick() if few_images else result, **others)  # type: ignore[arg-type]

    def quick(self) -> GrowthSettings:
        """The same on smaller samples, for small images and tests."""
        return replace(self, pair_sample=2048, choice_sample=4096, candidates=600, rows=200, columns=400)


@dataclass(frozen=True)
class GrowthRound:
    """What is known after a round.

    Args:
        gates: grown so far.
        tau: the fitted temperature.
        train_loss: cross-entropy on the training sample, distorted copies included.
        validation_loss: on images that nothing is learned from.
        validation_accuracy: likewise.
        cpu_seconds: since the start, of this process.

    >>> GrowthRound(100, tau=2.5, train_loss=0.31, validation_loss=0.35, validation_accuracy=0.91, cpu_seconds=4.0).gates
    100
    """

    gates: int
    tau: float
    train_loss: float
    validation_loss: float
    validation_accuracy: float
    cpu_seconds: float


_SCHEMA, _VERSION = "ordinate.logic.growth", 1


def fingerprint(state: GrowthState) -> str:
    """A hash of the images and labels that a state grows on."""
    result = hashlib.sha256()
    for part in (state.train, state.validation):
        for signal in range(len(state.used_inputs)):
            result.update(part.signals.packed(signal).tobytes())
        result.update(part.labels.numpy().tobytes())
    return result.hexdigest()


def _snapshot_record(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "gates": [list(map(int, gate)) for gate in snapshot.gates],
        "votes": [votes.tolist() for votes in snapshot.votes],
        "tau": snapshot.tau,
        "bias": snapshot.bias.tolist(),
    }


def _snapshot(report: dict[str, Any]) -> Snapshot:
    return Snapshot(
        [(gate[0], gate[1], gate[2]) for gate in report["gates"]],
        [np.array(votes, np.int8) for votes in report["votes"]],
        float(report["tau"]),
        torch.tensor(report["bias"], dtype=torch.float64),
    )


def save_growth(path: Path, run: GrowthRun, mark: str) -> None:
    """Write all that a growth goes on from; the file is there whole or as it was before.

    Raises:
        OutputError: a place that cannot be written to.
    """
    record = {
        "schema": _SCHEMA,
        "version": _VERSION,
        "settings": asdict(run.settings),
        "data": mark,
        "state": _snapshot_record(run.state.snapshot()),
        "best_loss": run.best[0] if np.isfinite(run.best[0]) else None,
        "best": _snapshot_record(run.best[1]),
        "phase": run.phase,
        "replaced": run.replaced,
        "waited": run.waited,
        "generator": run.generator.bit_generator.state,
        "rounds": [asdict(report) for report in run.rounds],
    }
    atomic_write(path, json.dumps(record, allow_nan=False))


def load_growth(path: Path, run: GrowthRun, mark: str) -> None:
    """Put a run where the checkpoint left it.

    Raises:
        DataError: a damaged file, or one of other settings or other images.
    """
    try:
        record = read_json(path, "a checkpoint of growth")
        known = record["schema"] == _SCHEMA and record["version"] == _VERSION
        same_settings, same_data = record["settings"] == asdict(run.settings), record["data"] == mark
        state, best = _snapshot(record["state"]), _snapshot(record["best"])
        rounds = [GrowthRound(**report) for report in record["rounds"]]
        generator, loss = record["generator"], record["best_loss"]
        phase, replaced, waited = record["phase"], int(record["replaced"]), int(record["waited"])
        if phase not in ("grow", "revote", "cut", "done"):
            raise ValueError(f"phase {phase!r}")
    except DataError as error:
        raise DataError(error.argument, expected=error.expected, got=error.got, hint="remove it to start anew") from None
    except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
        raise DataError(
            str(path), expected="a checkpoint of growth", got=f"a file that is none ({error})", hint="remove it to start anew"
        ) from None
    for same, what in ((known, "schema and version"), (same_settings, "settings"), (same_data, "images")):
        if not same:
            raise DataError(
                str(path), expected=f"a checkpoint of the same {what}", got=f"other {what}", hint="remove it to start anew"
            )
    try:
        for snapshot in (best, state):
            _check_snapshot(snapshot, run.state)
            run.state.restore(snapshot)
        run.best = (float("inf") if loss is None else float(loss), best)
        run.rounds, run.phase, run.replaced, run.waited = rounds, phase, replaced, waited
        run.generator.bit_generator.state = generator
        run.seconds_before = float(rounds[-1].cpu_seconds) if rounds else 0.0
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, AttributeError) as error:
        raise DataError(
            str(path), expected="a checkpoint of growth", got=f"damaged content ({error})", hint="remove it to start anew"
        ) from None


def _check_snapshot(snapshot: Snapshot, state: GrowthState) -> None:
    """Raise ValueError for gates, votes or numbers that no growth of these images has."""
    inputs = len(state.used_inputs)
    for place, (table, first, second) in enumerate(snapshot.gates):
        if table not in range(16) or first not in range(inputs + place) or second not in range(inputs + place):
            raise ValueError(f"gate {place} is none")
    votes = [vote for vote in snapshot.votes if vote.shape == (state.num_classes,) and (np.abs(vote) <= 1).all()]
    if not len(votes) == len(snapshot.votes) == len(snapshot.gates) <= state.train.signals.capacity:
        raise ValueError("votes that do not belong to the gates")
    if not (np.isfinite(snapshot.tau) and snapshot.tau > 0 and snapshot.bias.shape == (state.num_classes,)):
        raise ValueError("a temperature or a bias that is none")


_REVOTED_ON = 24_000
_UNIFORM = 0.1
"""Share of the draw that does not look at residuals, so that no example weighs more than ten times the mean."""


class GrowthRun:
    """One growth from its start, or from a checkpoint, to its end.

    Args:
        state: to grow.
        settings: of the growth.
        checkpoint: a file to write after each round and to start from, or None.
        on_round: called after each round.
    """

    def __init__(
        self,
        state: GrowthState,
        settings: GrowthSettings,
        checkpoint: Path | None,
        on_round: Callable[[GrowthRound], None] | None,
    ) -> None:
        self.state, self.settings, self.checkpoint, self.on_round = state, settings, checkpoint, on_round
        # two classes differ by one number: a second vote would only double the first
        self.most_votes = min(settings.votes_per_gate, max(1, state.num_classes - 1))
        self.generator = np.random.default_rng(settings.seed)
        self.rounds: list[GrowthRound] = []
        self.best: tuple[float, Snapshot] = (float("inf"), state.snapshot())
        self.phase = "grow"  # what comes next
        self.replaced = 0
        self.waited = 0
        self.seconds_before = 0.0
        self.started = time.process_time()
        self._mark = "" if checkpoint is None else fingerprint(state)
        if checkpoint is not None and checkpoint.is_file():
            load_growth(checkpoint, self, self._mark)

    def to_the_end(self) -> None:
        """Every round that is left; the state is then that of the least validation loss."""
        while self.phase != "done":
            {"grow": self._grow, "revote": self._revote, "cut": self._cut}[self.phase]()
        self.state.restore(self.best[1])

    def _grow(self) -> None:
        if self._room() == 0 or self.waited >= self.settings.patience:
            self.phase = "revote"
            return
        grown = self._round()
        if not grown:
            self.phase = "revote"
        self._after(grown)

    def _room(self) -> int:
        """Gates that may still grow, whatever they read."""
        pooled = self.state.pooled
        each = 1 if pooled is None else 1 + 2 * pooled.gates_a_feature
        return max(0, self.settings.gates - self.state.num_gates) // each

    def _round(self) -> int:
        """Grow the gates of one round; how many there were."""
        settings, state = self.settings, self.state
        residuals = state.residuals()
        share = self._share(residuals)
        scored, weights = self._draw(share, settings.pair_sample)
        rows = self.generator.permutation(state.num_signals)[: settings.rows]
        columns = self.generator.permutation(state.num_signals)[: settings.columns]
        bits = state.train.signals.sampled
        result = best_pairs(
            rows,
            columns,
            torch.from_numpy(bits(rows, scored)).float(),
            torch.from_numpy(bits(columns, scored)).float(),
            torch.from_numpy(residuals[:, scored]) * weights,
            self.most_votes,
            settings.candidates,
            settings.thinned,
        )
        if not len(result.tables):
            return 0
        chosen_on, weights = self._draw(share, settings.choice_sample)
        rows_of = torch.from_numpy(chosen_on)
        places, votes, bias = choose(
            state.train.signals.gates(result, chosen_on),
            torch.from_numpy(result.first),
            torch.from_numpy(result.second),
            torch.from_numpy(state.train.scores)[:, rows_of],
            state.train.labels[rows_of],
            weights,
            state.tau,
            state.bias,
            self.most_votes,
            min(settings.gates_a_round, self._room()),
            settings.afresh,
        )
        for place, vote in zip(places, votes, strict=True):
            gate = (int(result.tables[place]), int(result.first[place]), int(result.second[place]))
            state.add(*gate, vote.to(torch.int8).numpy())
        state.bias = bias.double()
        return len(places)

    def _draw(self, share: np.ndarray, count: int) -> tuple[np.ndarray, torch.Tensor]:
        """Examples in proportion to `share`, in order, and the weights that make up for it."""
        edges = share.cumsum()
        drawn = np.searchsorted(edges, np.sort(self.generator.random(count)) * edges[-1]).clip(max=len(share) - 1)
        return drawn, torch.from_numpy((1 / (share[drawn] * len(share) * count)).astype(np.float32)).clone()

    def _sample(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Bits of all gates, votes, scores, labels and weights on training images drawn by their residuals."""
        state = self.state
        drawn, weights = self._draw(self._share(state.residuals()), _REVOTED_ON)
        rows = torch.from_numpy(drawn)
        gates = len(state.used_inputs) + np.arange(len(state.gates))
        return (
            torch.from_numpy(state.train.signals.sampled(gates, drawn)),
            torch.from_numpy(np.array(state.votes)).float(),
            torch.from_numpy(state.train.scores)[:, rows],
            state.train.labels[rows],
            weights,
        )

    @staticmethod
    def _share(residuals: np.ndarray) -> np.ndarray:
        """The share of draws that each example gets: mostly by how much is missing to its right answer."""
        missing = np.abs(residuals).sum(0, dtype=np.float64)
        return np.asarray((1 - _UNIFORM) * missing / missing.sum() + _UNIFORM / len(missing))

    def _revote(self) -> None:
        """All gates of the best state vote anew."""
        state = self.state
        state.restore(self.best[1])
        self.phase = "cut" if self.replaced < self.settings.replacements and state.gates else "done"
        if not state.gates:
            return
        bits, votes, scores, labels, weights = self._sample()
        seed = int(self.generator.integers(2**31))
        new, bias = revoted(bits, votes, scores, labels, weights, state.tau, state.bias, self.most_votes, seed)
        for gate, vote in enumerate(new.to(torch.int8).numpy()):
            state.set_votes(gate, vote)
        state.bias = bias.double()
        self._after(0)

    def _cut(self) -> None:
        """Take the least useful gates out of the best state, of those that no other gate reads."""
        state = self.state
        state.restore(self.best[1])
        costs = costs_of_removal(*self._sample(), state.tau, state.bias).numpy()
        costs[state.read_by_others()] = np.inf
        limit = self.settings.gates if state.pooled is None else len(state.gates)
        order = np.argsort(costs, kind="stable")[: int(self.settings.replaced_share * limit)]
        state.remove(sorted(order[np.isfinite(costs[order])].tolist()))
        state.calibrate(self.generator)
        self.phase, self.replaced, self.waited = "grow", self.replaced + 1, 0
        self._keep()

    def _after(self, grown: int) -> None:
        """Calibrate, validate, remember the best, tell, and write the checkpoint."""
        state = self.state
        state.calibrate(self.generator)
        loss, accuracy = state.validation.loss(state.tau, state.bias)
        full = self._room() == 0
        if loss < self.best[0]:
            self.best, self.waited = (loss, state.snapshot()), 0
        elif grown and (self.replaced == 0 or full):
            self.waited += 1
        seconds = self.seconds_before + time.process_time() - self.started
        report = GrowthRound(state.num_gates, state.tau, state.train_loss, loss, accuracy, seconds)
        self.rounds.append(report)
        self._keep()
        if self.on_round is not None:
            self.on_round(report)

    def _keep(self) -> None:
        if self.checkpoint is not None:
            save_growth(self.checkpoint, self, self._mark)


Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GrownCircuit:
    """What growth came to.

    Args:
        circuit: the circuit of the least validation loss.
        rounds: what was known after each round.

    >>> GrownCircuit(Circuit(2, [8], [0], [1], votes=[([2], [1])]), rounds=()).circuit.num_gates
    1
    """

    circuit: Circuit
    rounds: tuple[GrowthRound, ...]


def grow(
    train: tuple[Any, Any],
    validation: tuple[Any, Any],
    threshold: float | InputThresholds,
    settings: GrowthSettings,
    *,
    labels: Sequence[int | str] | None = None,
    checkpoint: str | Path | None = None,
    on_round: Callable[[GrowthRound], None] | None = None,
) -> GrownCircuit:
    """Grow a circuit that tells images apart.

    Args:
        train: images uint8 [N, height, width], or rows of numbers [N, features], and labels [N]: integers from 0 on, or text.
        validation: likewise; nothing is learned from it, it says when to stop.
        threshold: a number above it is a 1; or one or more thresholds for each feature.
        settings: how many gates, and how they are searched for. Distorted copies are made of images only.
        labels: what the classes are called; by default the integers or texts themselves, in order.
        checkpoint: a file that is written after each round; where it is there already, growth goes on from it and comes to the
            same circuit as if it had never stopped.
        on_round: called after each round.

    Raises:
        ArgumentError: fewer than two classes, a class without images, labels and images of other numbers, labels that are
            neither integers nor text, numbers that are not finite.
        ShapeError: validation images of another size.
        DataError: a checkpoint of other settings or data.

    >>> images = np.random.default_rng(0).integers(0, 256, (400, 4, 4)).astype(np.uint8)
    >>> labels = ((images[:, 0, 0] > 95) & (images[:, 3, 3] > 95)).astype(np.int64)
    >>> grown = grow((images[:300], labels[:300]), (images[300:], labels[300:]), 95, GrowthSettings(gates=1, copies=0))
    >>> grown.circuit.num_gates, grown.rounds[-1].validation_accuracy
    (1, 1.0)
    """
    (images, classes), (validation_images, validation_classes), names = _examples(train, validation, labels)
    features = math.prod(images.shape[1:])
    if not isinstance(threshold, InputThresholds):
        threshold = InputThresholds.uniform(features, check_number("threshold", threshold))
    state = GrowthState(
        _with_copies(images, classes, threshold, settings),
        (threshold.bits(validation_images.reshape(len(validation_images), -1)), validation_classes),
        len(names),
        settings.gates,
        settings.least_tau,
        _kernels(images, classes, threshold, settings),
    )
    run = GrowthRun(state, settings, None if checkpoint is None else Path(checkpoint), on_round)
    run.to_the_end()
    notes = {"grown": {"rounds": len(run.rounds), "seed": settings.seed, "votes_per_gate": settings.votes_per_gate}}
    circuit = state.to_circuit(threshold, names, notes)
    return GrownCircuit(circuit if state.pooled is None else circuit.simplify(sat=False), tuple(run.rounds))


def _kernels(
    images: npt.NDArray[Any], classes: Labels, thresholds: InputThresholds, settings: GrowthSettings
) -> PooledKernels | None:
    """The convolution features that are asked for, learned from the images themselves."""
    if not settings.kernels:
        return None
    pixels = math.prod(images.shape[1:])
    if images.ndim != 3 or not np.array_equal(thresholds.feature, np.arange(pixels)):
        raise ArgumentError(
            "kernels", expected="0, or images [N, height, width] of one threshold a pixel", got=settings.kernels
        )
    bits = thresholds.bits(images.reshape(len(images), -1)).reshape(images.shape)
    return learned_kernels(bits, classes, settings.kernels, seed=settings.seed)


def _numbers(name: str, images: Any) -> npt.NDArray[Any]:
    """Images [N, height, width] or rows [N, features] as an array of finite numbers."""
    array = np.asarray(images)
    if array.ndim and not len(array):
        raise ArgumentError(name, expected="a label for each image, and images", got="none")
    if array.dtype.kind not in "buif" or array.ndim not in (2, 3) or not array.size:
        raise ArgumentError(
            name,
            expected="images [N, height, width] or rows of numbers [N, features]",
            got=f"{array.dtype} {list(array.shape)}",
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ArgumentError(name, expected="finite numbers", got="NaN or infinity")
    return array


def _integers_or_text(name: str, labels: Any) -> npt.NDArray[Any]:
    """Labels [N] or [N, 1] as integers or text."""
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ArgumentError(name, expected="labels [N]", got=f"shape {list(array.shape)}")
    if array.dtype.kind == "O" and all(isinstance(label, str) for label in array.tolist()):
        array = array.astype(str)
    if (
        array.dtype.kind == "f"
        and np.isfinite(array).all()
        and (array == np.floor(array)).all()
        and (np.abs(array) < 2**53).all()
    ):
        array = array.astype(np.int64)
    if array.dtype.kind not in "biuU":
        example = array.tolist()[0] if array.size else array.dtype
        raise ArgumentError(name, expected="labels that are integers or text", got=f"{array.dtype} such as {example!r}")
    return array if array.dtype.kind == "U" else array.astype(np.int64)


def _examples(
    train: tuple[Any, Any], validation: tuple[Any, Any], labels: Sequence[int | str] | None
) -> tuple[tuple[npt.NDArray[Any], Labels], tuple[npt.NDArray[Any], Labels], tuple[int | str, ...]]:
    """Both sets as arrays, with the numbers of their classes, and what the classes are called."""
    arrays = []
    for name, (images, y_of_set) in (("train", train), ("validation", validation)):
        pair = _numbers(name, images), _integers_or_text(f"{name} labels", y_of_set)
        if len(pair[0]) != len(pair[1]):
            raise ArgumentError(name, expected="a label for each image, and images", got=f"{len(pair[0])} and {len(pair[1])}")
        arrays.append(pair)
    (x, y), (x_validation, y_validation) = arrays
    if x.shape[1:] != x_validation.shape[1:]:
        raise ShapeError("validation", expected=f"images of {x.shape[1:]}, as those to learn from", got=x_validation.shape[1:])
    if y.dtype.kind != y_validation.dtype.kind:
        raise ArgumentError("validation", expected="labels of the same kind as in train", got=f"{y_validation.dtype}")
    if y.dtype.kind == "U":
        texts = np.unique(y)
        if not np.isin(y_validation, texts).all():
            unknown = y_validation[~np.isin(y_validation, texts)][0]
            raise ArgumentError("validation", expected=f"labels of train: {', '.join(texts)}", got=str(unknown))
        names: tuple[int | str, ...] = tuple(str(text) for text in texts)
        y, y_validation = np.searchsorted(texts, y), np.searchsorted(texts, y_validation)
    else:
        for name, numbers in (("train", y), ("validation", y_validation)):
            if numbers.min() < 0:
                raise ArgumentError(name, expected="labels from 0 on", got=int(numbers.min()))
        if y.max() >= 2**16:
            raise ArgumentError("train", expected="labels that number the classes from 0", got=int(y.max()))
        names = tuple(range(int(y.max()) + 1))
    counts = np.bincount(y)
    if len(counts) < 2:
        raise ArgumentError("train", expected="at least two classes", got="one")
    if not counts.all():
        raise ArgumentError("train", expected="images of every class", got=f"none of class {int(counts.argmin())}")
    if y_validation.max() >= len(counts):
        raise ArgumentError("validation", expected=f"labels below {len(counts)}", got=int(y_validation.max()))
    if labels is not None and len(labels) != len(counts):
        raise ArgumentError("labels", expected=f"{len(counts)}, one a class", got=len(labels))
    return (x, y), (x_validation, y_validation), names if labels is None else tuple(labels)


def _with_copies(
    images: npt.NDArray[Any], labels: Labels, thresholds: InputThresholds, settings: GrowthSettings
) -> tuple[npt.NDArray[np.bool_], Labels]:
    """The images' bits, and those of their distorted copies."""
    copies = settings.copies if images.ndim == 3 else 0
    parts = [thresholds.bits(images.reshape(len(images), -1))]
    for copy in range(copies):
        copied = distorted(images, seed=settings.seed * 1000 + copy, strength=settings.strength)
        parts.append(thresholds.bits(copied.reshape(len(images), -1)))
    return np.concatenate(parts), np.tile(labels, copies + 1)
