"""Checkpoints of training: one safetensors file of parameters, best parameters, Adam's moments and torch's generator."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from ordinate.atomic_io import atomic_write
from ordinate.errors import DataError
from ordinate.logic.network import LogicNetwork
from ordinate.logic.training_settings import EpochReport, TrainingSettings
from ordinate.safetensors_io import read_tensors, write_tensors

__all__ = ["load_training", "save_training"]

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
    told = {
        "ordinate_logic_training": _VERSION,
        "settings": json.dumps(asdict(settings)),
        "reports": json.dumps([asdict(report) for report in reports]),
    }
    own = {name: value.clone() for name, value in tensors.items()}  # the file refuses tensors that share memory
    atomic_write(path, lambda draft: write_tensors(draft, own, told))


def load_training(
    path: Path, network: LogicNetwork, optimiser: torch.optim.Optimizer, settings: TrainingSettings
) -> tuple[list[EpochReport], dict[str, Tensor]]:
    """Put network, optimiser and torch's draws where the checkpoint left them; the reports so far and the best parameters.

    Raises:
        DataError: a damaged file, or one of other settings or of another network.
    """
    tensors, told = read_tensors(path)
    if told.get("ordinate_logic_training") != _VERSION:
        raise DataError(str(path), expected="a checkpoint of training", got="another file", hint="remove it to start anew")
    if json.loads(told["settings"]) != asdict(settings):
        raise DataError(
            str(path),
            expected=f"a checkpoint of these settings {asdict(settings)}",
            got=told["settings"],
            hint="remove it to start anew, or train with its settings",
        )

    def of(prefix: str) -> dict[str, Tensor]:
        return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}

    try:
        network.load_state_dict(of("now."))
        state = optimiser.state_dict()
        numbers = sorted({int(name.split(".")[1]) for name in tensors if name.startswith("adam.")})
        state["state"] = {number: {moment: tensors[f"adam.{number}.{moment}"] for moment in _MOMENTS} for number in numbers}
        optimiser.load_state_dict(state)
    except (RuntimeError, KeyError, ValueError) as problem:
        raise DataError(
            str(path), expected="a checkpoint of this network", got=str(problem).splitlines()[0], hint="remove it to start anew"
        ) from None
    torch.set_rng_state(tensors["draws"])
    return [EpochReport(**report) for report in json.loads(told["reports"])], of("best.")
