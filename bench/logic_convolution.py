"""A convolutional network of logic gates beside a dense one of as many, on MNIST: what each gets right, and what it costs.

Gates are those of the circuit: every kernel at every place, the ORs of the pooling as well; and once more after simplification.
Both networks have the same inputs (pixel above 95), the same images and distorted copies in the same order, the same number of
epochs, and settings chosen by validation accuracy (docs/logic.md says among which). Validation is split off from
the training images and chooses the epoch; each network reads the test images once, after its training, and its circuits must
answer as it does on every one of them. CPU seconds are the process's own; run it with OMP_NUM_THREADS=1.

    python bench/logic_convolution.py             # two seeds of each
    python bench/logic_convolution.py --quick     # one seed, a slice of the images, few epochs
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ordinate.data import Digits, DigitSet, data_folder, digits
from ordinate.lab.machine import machine
from ordinate.logic import Circuit, GroupSum, LogicDense, LogicNetwork, Thresholds, TrainingSettings, accuracy, train
from ordinate.logic.growth.distortion import distorted
from ordinate.logic.network.convolution_blocks import ConvolutionBlock, convolution_layers, gates_at_every_place
from ordinate.logic.simplify import simplify

CLASSES = 10

GATES: dict[str, Any] = {"parametrisation": "walsh", "mode": "soft"}
RATE = 0.1
COPIES, STRENGTH = 3, 0.5  # distorted copies of each training image
NETWORKS: dict[str, dict[str, Any]] = {
    "convolutional": {
        "blocks": [ConvolutionBlock(8, receptive_field=5, depth=2, pooling=2)],
        "widths": [17_000, 12_500, 9_000, 4_200],
        "tau": 10.0,
    },
    "dense": {"blocks": [], "widths": [20_000, 16_000, 12_000, 8_000, 4_000], "tau": 10.0},
}


def network(name: str, known: Digits, seed: int) -> LogicNetwork:
    """One of `NETWORKS`, untrained."""
    settings = NETWORKS[name]
    height, width = known.size
    layers: list[nn.Module] = [Thresholds(torch.full((height * width, 1), known.threshold))]
    features = height * width
    if settings["blocks"]:
        convolutions, shape = convolution_layers(settings["blocks"], known.size, seed=1000 * seed + 500, **GATES)
        layers += [nn.Unflatten(-1, (1, height, width)), *convolutions, nn.Flatten(-3)]
        features = int(np.prod(shape))
    for place, size in enumerate(settings["widths"]):
        layers.append(LogicDense(features, size, seed=1000 * seed + place, **GATES))
        features = size
    return LogicNetwork(*layers, GroupSum(CLASSES, tau=settings["tau"]))


def examples(part: DigitSet) -> tuple[Tensor, Tensor]:
    """Pixels and labels."""
    return torch.from_numpy(part.images.reshape(len(part), -1)), torch.from_numpy(part.labels)


def with_copies(part: DigitSet, seed: int) -> DigitSet:
    """The images and their distorted copies."""
    parts = [part.images, *(distorted(part.images, seed=1000 * seed + copy, strength=STRENGTH) for copy in range(COPIES))]
    return DigitSet(np.concatenate(parts), np.tile(part.labels, 1 + COPIES))


def measure(name: str, known: Digits, seed: int, epochs: int, out: Path | None) -> dict[str, Any]:
    """Train one network, read the test images, and hold its circuit against it."""
    made = network(name, known, seed)
    began = time.perf_counter()
    done = train(
        made,
        examples(with_copies(known.train, seed)),
        examples(known.validation),
        TrainingSettings(epochs=epochs, learning_rate=RATE, patience=epochs, seed=seed),
        on_epoch=lambda report: print(
            f"{name}, seed {seed}, epoch {report.epoch} of {epochs}: loss {report.train_loss:.4f}, "
            f"validation {report.hard_accuracy:.2%} (relaxed {report.soft_accuracy:.2%}), {report.cpu_seconds:.0f} CPU s",
            file=sys.stderr,
        ),
    )
    if out is not None:
        made.save(out / f"{name}_{seed}.json")
    images = examples(known.test)[0]
    circuit = Circuit.from_network(made)
    assert circuit.inputs is not None
    bits = circuit.inputs.bits(images.numpy())
    smaller = simplify(circuit, sat=False).circuit
    answers = torch.cat([made.predict(part.float()) for part in images.split(1000)]).numpy()
    best = done.epochs[done.best_epoch - 1]
    return {
        "network": name,
        "seed": seed,
        "gates": gates_at_every_place(made, images[0].float()),
        "simplified_gates": smaller.num_gates,
        "learned_gates": made.num_gates,
        "best_epoch": done.best_epoch,
        "validation_accuracy": best.hard_accuracy,
        "validation_accuracy_relaxed": best.soft_accuracy,
        "test_accuracy": accuracy(made, examples(known.test)),
        "circuits_agree": all(bool((one.predict(bits) == answers).all()) for one in (circuit, smaller)),
        "train_seconds": done.epochs[-1].cpu_seconds,
        "wall_seconds": time.perf_counter() - began,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_folder("mnist"), help="folder of MNIST's IDX files")
    parser.add_argument("--tau", type=float, help="temperature of the counts, instead of each network's own")
    parser.add_argument("--quick", action="store_true", help="one seed, 10,000 training images, one epoch")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--networks", choices=NETWORKS, nargs="+", default=list(NETWORKS))
    parser.add_argument("--epochs", type=int, default=4, help="passes over the training images and their copies")
    parser.add_argument("--out", type=Path, help="folder that the trained networks are kept in")
    told = parser.parse_args()
    if told.data is None:
        parser.error("--data: no folder of MNIST's IDX files was found; name one")
    known = digits(told.data)
    for settings in NETWORKS.values():
        settings["tau"] = told.tau or settings["tau"]
    seeds, epochs = (told.seeds[:1], 1) if told.quick else (told.seeds, told.epochs)
    known = known.fewer(10_000) if told.quick else known
    torch.set_num_threads(1)
    print(f"{'network':14}{'seed':>5}{'gates':>9}{'simplified':>12}{'validation':>12}{'test':>9}{'circuits':>10}{'CPU min':>9}")
    rows = []
    for seed in seeds:
        for name in told.networks:
            row = measure(name, known, seed, epochs, told.out)
            rows.append(row)
            print(
                f"{name:14}{seed:5}{row['gates']:9,}{row['simplified_gates']:12,}{row['validation_accuracy']:12.2%}"
                f"{row['test_accuracy']:9.2%}{'agree' if row['circuits_agree'] else 'DIFFER':>10}"
                f"{row['train_seconds'] / 60:9.1f}",
                flush=True,
            )
    tests = {name: [row["test_accuracy"] for row in rows if row["network"] == name] for name in told.networks}
    answer = {
        "mean_test_accuracy": {name: statistics.mean(found) for name, found in tests.items()},
        "deviation_of_test_accuracy": {
            name: statistics.stdev(found) if len(found) > 1 else None for name, found in tests.items()
        },
        "rows": rows,
        "epochs": epochs,
        "training_images": len(known.train),
        "copies_of_each": COPIES,
        "machine": machine(),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
