"""Where a token stands, read by a linear map out of a model without any encoding.

A causal mask makes the number of visible tokens differ from place to place, so the stream can come to tell where a token
stands; without the mask every token sees the same set and nothing can. The probe is ridge regression from the stream of a
layer to the position, fitted on some sequences and scored on others by R^2, so what it finds is in the stream and not in the
tokens.

Sources: Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466.
"""

from __future__ import annotations

from typing import Any

import torch
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from torch import Tensor

from ordinate.sweep.cell import Cell
from ordinate.sweep.model import SweepDecoder
from ordinate.sweep.tasks import Rows, Task
from ordinate.sweep.training import Trained, new_model, train

__all__ = ["held_out_r2", "probe", "probe_layers"]

_RIDGE = 1e-3  # per token, on standardised channels: enough where channels repeat each other, too little to bend a fit


def probe(cell: Cell, task: Task) -> tuple[dict[str, Any], Trained, float]:
    """Held-out R^2 of the position by layer: with and without the causal mask, trained and at initialisation.

    Returns:
        `r2` by case, each a list over the embedding and the layers, as plain JSON types; the training with the mask; seconds
        of both trainings.
    """
    fitted = task.rows(2 * cell.tested_rows, cell.train_length, cell.seed, "validation")
    held_out = task.rows(cell.tested_rows, cell.train_length, cell.seed, "test")
    r2: dict[str, list[float]] = {}
    seconds, first = 0.0, None
    for causal in (True, False):
        name = "mask" if causal else "no mask"
        r2[f"{name}, untrained"] = probe_layers(new_model(cell, task, causal=causal), fitted, held_out)
        trained = train(cell, task, cell.learning_rates[0], causal=causal)
        seconds += trained.seconds
        r2[f"{name}, trained"] = probe_layers(trained.model, fitted, held_out)
        first = first or trained
    assert first is not None
    return {"r2": r2}, first, seconds


@torch.no_grad()
def probe_layers(model: SweepDecoder, fitted: Rows, held_out: Rows) -> list[float]:
    """Held-out R^2 of the position behind the embedding and behind every layer."""
    length = fitted.tokens.shape[1]
    positions = torch.arange(length)
    seen, unseen = (model.streams(rows.tokens, positions) for rows in (fitted, held_out))
    wanted = positions.double().repeat(fitted.tokens.shape[0]), positions.double().repeat(held_out.tokens.shape[0])
    return [held_out_r2(one, wanted[0], other, wanted[1]) for one, other in zip(seen, unseen, strict=True)]


def held_out_r2(features: Tensor, target: Tensor, held_out_features: Tensor, held_out_target: Tensor) -> float:
    """R^2 of a ridge regression on sequences that it was not fitted on; 0 is the mean, and worse than the mean is negative.

    Args:
        features, target: [N, D] and [N], to fit.
        held_out_features, held_out_target: [M, D] and [M], to score.

    >>> x, unrelated = torch.arange(8.0)[:, None], torch.tensor([1.0, -1, -1, 1, 1, -1, -1, 1])
    >>> round(held_out_r2(x, 3 * x[:, 0] + 1, x, 3 * x[:, 0] + 1), 3), round(held_out_r2(x, unrelated, x, unrelated), 3)
    (1.0, 0.0)
    """
    x, unseen = features.double(), held_out_features.double()
    centre, scale = x.mean(0), x.std(0).clamp_min(1e-6 * float(x.std()) + 1e-12)
    ridge = Ridge(alpha=_RIDGE * len(x)).fit(((x - centre) / scale).numpy(), target.double().numpy())
    return float(r2_score(held_out_target.double().numpy(), ridge.predict(((unseen - centre) / scale).numpy())))
