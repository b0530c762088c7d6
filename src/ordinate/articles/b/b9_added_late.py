"""B9. The article: sinusoids can also be added to an existing model later.

What varies is when the sinusoids come: never, at the end without further training, at the end with some more steps, or from
the start. All models of a seed have the same weights at the start and the same batches.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import torch

from ordinate.articles.sweep_runs import mean_sd, small_cell, trained_on
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal
from ordinate.sweep.evaluation import score
from ordinate.sweep.training import fit

__all__ = ["CLAIM", "added_late", "measure"]

CLAIM = Claim(
    id="B9",
    title="Positions added to a trained model",
    place="B127-130",
    statement=(
        "The sinusoidal encoding does not depend on learned parameters, works apart from the rest of the model, and can be "
        "added to an existing model later."
    ),
    remark="With or without more training is not said: both are measured. Task, model and bands are ours.",
    setup="none stated",
    setup_detail="a decoder of two layers and 64 channels, 32 tokens, asked for the token four places ago",
    varies="when the sinusoids are added, and the steps after that",
    band="added without training, at most 2 points of accuracy lost; with training, at least 20 points over none",
    seeds=2,
    budget_seconds=20,
)

_STEPS, _MORE = 150, 100


def measure(inputs: Inputs) -> Measurement:
    """Claim B9 on short trainings, or with --full on ones five times as long."""
    scale = 5 if inputs.full else 1
    return added_late([_scores(seed, _STEPS * scale, _MORE * scale) for seed in inputs.seeds], _STEPS * scale, _MORE * scale)


def added_late(runs: Sequence[Mapping[str, Any]], steps: int, more: int) -> Measurement:
    """Claim B9 on any accuracies.

    Args:
        runs: for each seed the accuracy `without` positions, `added` to that model as it is, `tuned` after more steps,
            `longer` after the same steps without positions, and `start` with positions and all steps from the start.
        steps: before.
        more: after.
    """
    mean = {name: fmean(run[name] for run in runs) for name in ("without", "added", "tuned", "longer", "start")}
    checks = [
        Check.at_least("accuracy after adding, without training, less before", mean["added"] - mean["without"], -0.02),
        Check.at_least(
            "accuracy after more training with positions, less without",
            mean["tuned"] - mean["longer"],
            0.2,
            role=Role.DETAIL_FIXED,
        ),
        Check.at_least("accuracy with positions from the start", mean["start"], 0.8, role=Role.CONTROL),
        Check.at_least("added late and trained, less from the start", mean["tuned"] - mean["start"], -0.05, role=Role.LIMIT),
    ]
    spread = {name: mean_sd([run[name] for run in runs]) for name in mean}
    return Measurement(
        checks=checks,
        key_figure=f"accuracy {spread['without']} without, {spread['added']} just added, {spread['tuned']} after {more} steps; "
        f"from the start {spread['start']}",
        meaning={
            Verdict.CORRECTED: "Adding sinusoids changes every embedding that the trained weights were fitted to: as it "
            f"is, the model falls from {spread['without']} to {spread['added']}. With {more} more steps it learns to use them "
            f"and reaches {spread['tuned']}, where the same steps without positions reach {spread['longer']}; with positions "
            f"from the start it is {spread['start']}. So they can be added later, if the model is trained again.",
            Verdict.REPRODUCED: f"Adding sinusoids to the trained model costs nothing ({spread['without']}, then "
            f"{spread['added']}), and {more} more steps bring {spread['tuned']}.",
            Verdict.REFUTED: f"Adding sinusoids costs accuracy ({spread['without']}, then {spread['added']}), and {more} more "
            f"steps bring only {spread['tuned']}, against {spread['longer']} without positions.",
        },
        inputs=f"the token four places ago among 16 kinds, 32 tokens, {steps} steps of 16 rows and then {more} more",
        tables=[
            Table(
                "Accuracy, mean ± spread over the seeds",
                ("model", "accuracy"),
                [
                    ("without positions", spread["without"]),
                    ("sinusoids added, no more training", spread["added"]),
                    (f"sinusoids added, {more} more steps", spread["tuned"]),
                    (f"without positions, {more} more steps", spread["longer"]),
                    (f"sinusoids from the start, {steps + more} steps", spread["start"]),
                ],
            )
        ],
        figures=[_picture(runs[0], steps, more)],
    )


def _scores(seed: int, steps: int, more: int) -> dict[str, Any]:
    cell = small_cell("k-back", "none", seed, steps=steps)
    trained, task = trained_on(cell)
    rows, places = task.rows(64, cell.train_length, seed, "test"), torch.arange(cell.train_length)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        late, longer = copy.deepcopy(trained), copy.deepcopy(trained)
        result = {"without": score(late.model, task, rows, places).last}
        late.model.replace_encodings([Sinusoidal(cell.dim)])
        result["added"] = score(late.model, task, rows, places).last
        for name, one in (("tuned", late), ("longer", longer)):
            fit(one, cell, task, length=cell.train_length, steps=more, seed=seed + 50)
            result[name] = score(one.model, task, rows, places).last
    finally:
        torch.set_num_threads(threads)
    start, _ = trained_on(replace(cell, encoding="sinusoidal", steps=steps + more))
    result["start"] = score(start.model, task, rows, places).last
    return result | {"losses": {"sinusoids added late": late.losses, "without": longer.losses, "from the start": start.losses}}


def _picture(run: Mapping[str, Any], steps: int, more: int) -> Figure:
    with canvas(1, height=2.8, width=5.6) as (figure, axes):
        for (name, losses), series in zip(run["losses"].items(), SERIES, strict=False):
            smooth = [fmean(losses[max(0, at - 9) : at + 1]) for at in range(len(losses))]
            axes.plot(range(len(smooth)), smooth, label=name, **{**series, "marker": ""})
        axes.axvline(steps, color="#1b1c1e", linewidth=0.7, linestyle=":")
        axes.set(xlabel="step", ylabel="loss (nats)", title=f"Sinusoids from step {steps} on", ylim=(0, None))
        axes.grid(axis="y")
        axes.legend()
    return Figure(
        "losses",
        to_svg(figure),
        caption="Training loss, mean of the last ten steps. At the dotted line one model gets sinusoids and the learning rate "
        "starts anew.",
        alt=f"Without positions the loss stays high; added at step {steps} the loss jumps and then falls within {more} steps; "
        "from the start it falls early.",
    )
