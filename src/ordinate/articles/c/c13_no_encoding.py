"""C13. The article: a causal mask leaks position, so a decoder without any encoding still knows where a token stands.

What varies is the mask, the layer, and whether the model is trained. A linear map is fitted from the stream to the position
on some sequences and scored on others. Without the mask it must find nothing, and in a model with sinusoids it must find the
position, or the probe itself would be at fault.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from statistics import fmean

from ordinate.articles.sweep_runs import mean_sd, small_cell
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.measurement import Check, Measurement, Role, Table, Verdict
from ordinate.sweep.figures import probe_figure
from ordinate.sweep.measure import task_of
from ordinate.sweep.probe import probe, probe_layers
from ordinate.sweep.training import new_model

__all__ = ["CLAIM", "measure", "no_encoding"]

CLAIM = Claim(
    id="C13",
    title="None at all: the mask leaks order",
    place="C232-236",
    statement=(
        "An explicit encoding is not always necessary: in a decoder the causal mask leaks the order, from which "
        "position rules may be learned."
    ),
    remark="The linear probe is ours.",
    setup="smaller",
    setup_detail="a model of two layers, trained for seconds",
    varies="the mask, the layer that is read, and whether the model is trained",
    band="held-out R² of a linear probe at least 0.1 with the mask, at most 0.03 without",
    seeds=2,
    budget_seconds=25,
)


def measure(inputs: Inputs) -> Measurement:
    """Claim C13 on a short training, or with --full on one ten times as long at 64 tokens."""
    runs, control = [], []
    steps = 600 if inputs.full else 60
    for seed in inputs.seeds:
        cell = small_cell("text", "none", seed, steps=steps, study="probe", tested_rows=64)
        if inputs.full:
            cell = dataclasses.replace(cell, train_length=64, test_lengths=(64,), heads=4)
        task = task_of(cell, None)
        runs.append(probe(cell, task)[0]["r2"])
        rows = [task.rows(count, cell.train_length, seed, split) for count, split in ((128, "validation"), (64, "test"))]
        control.append(probe_layers(new_model(dataclasses.replace(cell, encoding="sinusoidal"), task, causal=False), *rows)[0])
    return no_encoding(runs, control, inputs.seeds, steps)


def no_encoding(
    runs: Sequence[Mapping[str, Sequence[float]]], control: Sequence[float], seeds: Sequence[int], steps: int
) -> Measurement:
    """Claim C13 on any probes.

    Args:
        found: by seed, held-out R^2 by case ("mask, trained" and so on), each over the embedding and the layers.
        control: by seed, R^2 behind the embedding of an untrained model with sinusoids and without a mask.
        seeds: of the trainings.
        steps: of training, for the reader.
    """
    last = {case: [one[case][-1] for one in runs] for case in runs[0]}
    blind = [abs(value) for one in runs for case in ("no mask, untrained", "no mask, trained") for value in one[case]]
    embedded = [abs(one["mask, trained"][0]) for one in runs]
    checks = [
        Check.at_least(
            "held-out R² of the position behind the last layer, trained with the mask", fmean(last["mask, trained"]), 0.1
        ),
        Check.at_most("largest R² without the mask, any layer, sign dropped", max(blind), 0.03),
        Check.at_most("R² behind the embedding, where no token has seen another", max(embedded), 0.03, role=Role.CONTROL),
        Check.at_least("R² where sinusoids are added, without the mask", min(control), 0.5, role=Role.CONTROL),
        Check.at_least("R² with the mask before any training", fmean(last["mask, untrained"]), 0.1, role=Role.LIMIT),
    ]
    rows = [(case, *(mean_sd([one[case][layer] for one in runs]) for layer in range(len(runs[0][case])))) for case in runs[0]]
    layers = len(rows[0]) - 2
    figure = probe_figure([{"settings": {"study": "probe"}, "result": {"status": "scored", "r2": one}} for one in runs])
    assert figure is not None
    return Measurement(
        checks=checks,
        key_figure=f"R² {mean_sd(last['mask, trained'])} with the mask, {mean_sd(last['no mask, trained'])} without",
        meaning={
            Verdict.REPRODUCED: f"Without any encoding a linear map reads {fmean(last['mask, trained']):.0%} of the "
            "variance of the position out of the last layer on sequences it was not fitted on "
            f"({fmean(last['mask, untrained']):.0%} before any training), and nothing once the mask is gone: a token under "
            "the mask sees as many others as stand before it, and the mean over them is steadier the more there are. It is a "
            "rough sense of place, not an address: most of the variance stays unread.",
            Verdict.REFUTED: "The position cannot be read out of a model without encodings as the article says: see the "
            "checks.",
        },
        inputs=f"text of Python's standard library, 2 layers of 64 channels, {steps} steps of 16 rows; seeds "
        f"{', '.join(map(str, seeds))}",
        tables=[
            Table(
                "Held-out R² of the position by a linear probe, mean ± spread over seeds",
                ("model", "embedding", *(f"layer {number + 1}" for number in range(layers))),
                rows,
            )
        ],
        figures=[figure],
    )
