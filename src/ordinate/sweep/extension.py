"""A trained rotary model stretched past its training length, by four scalings or by dropping its positions, against a cut.

Each scaling is put in the place of the model's own at twice, four and eight times the training length: zero-shot, and after
a short fine-tune at the longer length. The scalings are interpolation, NTK, dynamic NTK and YaRN of `ordinate.frequencies`.
What they have to beat is truncation: the same targets with the context cut to what the model was trained on.

"dropped" is DroPE (Gelberg et al. 2025, arXiv 2512.12167): the rotation is taken out, and the model trained on for as many
steps at the length that it was trained at, not at the longer one that it is tested at.
"""

from __future__ import annotations

import copy
from typing import Any

from ordinate.frequencies import DynamicNTK, Linear, NTKAware, Scaling, YaRN
from ordinate.position import NoPosition, Rotary
from ordinate.sweep.beta_fast import beta_fast_warning, fitting_beta_fast
from ordinate.sweep.cell import Cell
from ordinate.sweep.evaluation import score
from ordinate.sweep.tasks import Task
from ordinate.sweep.training import Trained, fit

__all__ = ["FINE_TUNED_SHARE", "extend", "scalings"]

FINE_TUNED_SHARE = 0.1
"""Steps of the fine-tune, as a share of the training's."""


def scalings(factor: float, train_length: int) -> dict[str, Scaling | None]:
    """What is put in the place of no scaling, by name, for a context `factor` times the trained one.

    Dynamic NTK has one factor, 2, for every length, which is its point; the others fit this length. YaRN comes twice:
    with the paper's beta_fast of 32, meant for contexts of thousands of tokens, and with one that the trained context can show.

    >>> list(scalings(4.0, 64))
    ['none', 'interpolation', 'NTK', 'dynamic NTK', 'YaRN', 'YaRN, beta_fast 4']
    """
    fitting = fitting_beta_fast(train_length)
    return {
        "none": None,
        "interpolation": Linear(factor),
        "NTK": NTKAware(factor),
        "dynamic NTK": DynamicNTK(2.0, train_length),
        "YaRN": YaRN(factor, train_length),
        f"YaRN, beta_fast {fitting:g}": YaRN(factor, train_length, beta_fast=fitting),
    }


def extend(trained: Trained, cell: Cell, task: Task) -> dict[str, Any]:
    """Scores of a trained rotary model under every scaling, zero-shot and fine-tuned, as plain JSON types.

    Returns:
        `extended`: by length, a row a scaling with `zero_shot` and `fine_tuned`; `truncated`: by length, the same last targets
        with the context cut; `warnings`: what was said of a scaling.
    """
    extended: dict[str, dict[str, Any]] = {}
    truncated: dict[str, float] = {}
    warnings: list[str] = []
    fine = max(1, round(FINE_TUNED_SHARE * cell.steps))
    bare, recalibrated = _dropped(trained), _dropped(trained)
    fit(recalibrated, cell, task, length=cell.train_length, steps=fine, seed=cell.seed + 1, rows=cell.batch_rows)
    for length in cell.test_lengths[1:]:
        rows = task.rows(cell.tested_rows, length, cell.seed, "test")
        truncated[str(length)] = _last(trained, rows.cut(cell.train_length), task)
        extended[str(length)] = {}
        for name, scaling in scalings(length / cell.train_length, cell.train_length).items():
            warning = beta_fast_warning(scaling) if isinstance(scaling, YaRN) else None
            if warning and warning not in warnings:
                warnings.append(warning)
            stretched = _with_scaling(trained, scaling)
            zero_shot = _last(stretched, rows, task)
            per_step = max(1, cell.batch_rows * cell.train_length // length)  # as many tokens a step as in training
            fit(stretched, cell, task, length=length, steps=fine, seed=cell.seed + 1, rows=per_step)
            extended[str(length)][name] = {"zero_shot": zero_shot, "fine_tuned": _last(stretched, rows, task)}
        extended[str(length)]["dropped"] = {"zero_shot": _last(bare, rows, task), "fine_tuned": _last(recalibrated, rows, task)}
    here = task.rows(cell.tested_rows, cell.train_length, cell.seed, "test")
    return {
        "extended": extended,
        "truncated": truncated,
        "at_train_length": _last(trained, here, task),
        "dropped_at_train_length": _last(recalibrated, here, task),
        "fine_tuned_steps": fine,
        "warnings": warnings,
    }


def _with_scaling(trained: Trained, scaling: Scaling | None) -> Trained:
    """A copy of the model with another scaling in its rotary encodings, at a third of the learning rate."""
    model = copy.deepcopy(trained.model)
    model.replace_encodings(
        [
            Rotary(one.head_dim, layout=one.layout, base=one.base, scaling=scaling) if isinstance(one, Rotary) else one
            for one in model.encodings
        ]
    )
    return Trained(model, trained.row, trained.learning_rate / 3)


def _dropped(trained: Trained) -> Trained:
    """A copy of the model without its rotations, at a third of the learning rate."""
    model = copy.deepcopy(trained.model)
    model.replace_encodings([NoPosition() if isinstance(one, Rotary) else one for one in model.encodings])
    return Trained(model, trained.row, trained.learning_rate / 3)


def _last(trained: Trained, rows: Any, task: Task) -> float:
    import torch

    return score(trained.model, task, rows, torch.arange(rows.tokens.shape[1])).last
