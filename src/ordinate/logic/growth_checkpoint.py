"""Growth that was broken off and goes on: a small JSON file of gates, votes, the generator's state and the rounds so far.

Signals and scores are not kept: they follow from the gates, to the bit.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ordinate.atomic_io import atomic_write
from ordinate.errors import DataError
from ordinate.logic.growth_settings import GrowthRound
from ordinate.logic.growth_state import GrowthState, Snapshot

if TYPE_CHECKING:
    from ordinate.logic.growth_run import GrowthRun

__all__ = ["fingerprint", "load_growth", "save_growth"]

_SCHEMA, _VERSION = "ordinate.logic.growth", 1


def fingerprint(state: GrowthState) -> str:
    """A hash of the images and labels that a state grows on."""
    found = hashlib.sha256()
    for part in (state.train, state.validation):
        for signal in range(len(state.used_inputs)):
            found.update(part.signals.packed(signal).tobytes())
        found.update(part.labels.numpy().tobytes())
    return found.hexdigest()


def _told(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "gates": [list(map(int, gate)) for gate in snapshot.gates],
        "votes": [votes.tolist() for votes in snapshot.votes],
        "tau": snapshot.tau,
        "bias": snapshot.bias.tolist(),
    }


def _snapshot(told: dict[str, Any]) -> Snapshot:
    return Snapshot(
        [(gate[0], gate[1], gate[2]) for gate in told["gates"]],
        [np.array(votes, np.int8) for votes in told["votes"]],
        float(told["tau"]),
        torch.tensor(told["bias"], dtype=torch.float64),
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
        "state": _told(run.state.snapshot()),
        "best_loss": run.best[0] if np.isfinite(run.best[0]) else None,
        "best": _told(run.best[1]),
        "phase": run.phase,
        "replaced": run.replaced,
        "waited": run.waited,
        "generator": run.generator.bit_generator.state,
        "rounds": [asdict(told) for told in run.rounds],
    }
    atomic_write(path, json.dumps(record, allow_nan=False))


def load_growth(path: Path, run: GrowthRun, mark: str) -> None:
    """Put a run where the checkpoint left it.

    Raises:
        DataError: a damaged file, or one of other settings or other images.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        known = record["schema"] == _SCHEMA and record["version"] == _VERSION
        same_settings, same_data = record["settings"] == asdict(run.settings), record["data"] == mark
        state, best = _snapshot(record["state"]), _snapshot(record["best"])
        rounds = [GrowthRound(**told) for told in record["rounds"]]
        generator, loss = record["generator"], record["best_loss"]
        phase, replaced, waited = str(record["phase"]), int(record["replaced"]), int(record["waited"])
    except (OSError, ValueError, KeyError, TypeError, IndexError) as problem:
        raise DataError(
            str(path), expected="a checkpoint of growth", got=f"a file that is none ({problem})", hint="remove it to start anew"
        ) from None
    for same, what in ((known, "schema and version"), (same_settings, "settings"), (same_data, "images")):
        if not same:
            raise DataError(
                str(path), expected=f"a checkpoint of the same {what}", got=f"other {what}", hint="remove it to start anew"
            )
    run.state.restore(state)
    run.best = (float("inf") if loss is None else float(loss), best)
    run.rounds, run.phase, run.replaced, run.waited = rounds, phase, replaced, waited
    run.generator.bit_generator.state = generator
    run.seconds_before = rounds[-1].cpu_seconds if rounds else 0.0
