"""One training: fresh rows every step, AdamW with a warm-up and a linear fall, one thread, the same bits for the same cell."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ordinate.sweep.cell import Cell
from ordinate.sweep.encodings import Entry, Shape, entry, make
from ordinate.sweep.model import SweepDecoder
from ordinate.sweep.tasks import NOT_SCORED, Task

__all__ = ["Trained", "draw_positions", "fit", "loss_of", "new_model", "train"]

_WARM_UP = 0.1  # share of the steps
_CHUNK = 32  # steps whose rows are drawn at once


@dataclass
class Trained:
    """A model and how its training went.

    Args:
        model: in evaluation mode.
        row: of the table of encodings.
        learning_rate: the peak that was used.
        losses: of every step, in nats.
        seconds: spent in training steps.
        tokens: seen in them.
        diverged: the step at which the loss was no number any more, or ended above where it began; None if neither.
    """

    model: SweepDecoder
    row: Entry
    learning_rate: float
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    tokens: int = 0
    diverged: int | None = None


def shape_of(cell: Cell) -> Shape:
    """The sizes that an encoding is built for."""
    return Shape(cell.dim, cell.heads, cell.train_length, cell.test_lengths[-1])


def new_model(cell: Cell, task: Task, *, causal: bool = True, encoding: str | None = None) -> SweepDecoder:
    """The cell's decoder with fresh weights from its seed; those of the decoder do not depend on the encoding.

    Raises:
        RefusedError: an encoding that cannot be built for a row of tokens.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(cell.seed)
        model = SweepDecoder(task.vocabulary, dim=cell.dim, layers=cell.layers, heads=cell.heads, encodings=(), causal=causal)
        torch.manual_seed(cell.seed + 1_000_000)
        encodings = make(encoding or cell.encoding, shape_of(cell))
        if encoding is None and entry(cell.encoding).table == "positions":
            for table in encodings:
                _as_embeddings(table, cell.dim)
        model.replace_encodings(encodings)
    return model


def _as_embeddings(table: nn.Module, dim: int) -> None:
    """A learned table begins at the size of the embeddings it is added to, as in BERT and GPT-2, where both are 0.02."""
    for weight in table.parameters():
        nn.init.normal_(weight, std=1.0)


def train(cell: Cell, task: Task, learning_rate: float, *, causal: bool = True) -> Trained:
    """A fresh model trained at one learning rate."""
    trained = Trained(new_model(cell, task, causal=causal), entry(cell.encoding), learning_rate)
    fit(trained, cell, task, length=cell.train_length, steps=cell.steps, seed=cell.seed)
    return trained


def fit(trained: Trained, cell: Cell, task: Task, *, length: int, steps: int, seed: int, rows: int | None = None) -> None:
    """Train the model for some steps at `length`; losses, time and divergence are noted in `trained`."""
    model, rows = trained.model, rows or cell.batch_rows
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=trained.learning_rate, betas=(0.9, 0.99), weight_decay=0.0, fused=True)
    generator = torch.Generator().manual_seed(7_000_003 * seed + 17)
    warm = max(1, round(_WARM_UP * steps))
    losses: list[float] = []
    begun = time.perf_counter()
    for step in range(steps):
        if step % _CHUNK == 0:
            many = task.draw(rows * min(_CHUNK, steps - step), length, generator, "train")
        here = slice(step % _CHUNK * rows, (step % _CHUNK + 1) * rows)
        positions = draw_positions(trained.row, length, cell.test_lengths[-1], generator)
        rate = trained.learning_rate * min((step + 1) / warm, (steps - step) / max(1, steps - warm), 1.0)
        for group in optimiser.param_groups:
            group["lr"] = rate
        loss = loss_of(model, many.tokens[here], many.targets[here], positions)
        optimiser.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        losses.append(float(loss.detach()))
        if not (math.isfinite(losses[-1]) and math.isfinite(float(norm))):
            losses[-1] = math.nan  # weights stay the last finite ones
            break
        optimiser.step()
    trained.seconds += time.perf_counter() - begun
    trained.tokens += len(losses) * rows * length
    trained.losses += losses
    trained.diverged = _diverged(losses)
    model.eval()


def loss_of(model: Any, tokens: Tensor, targets: Tensor, positions: Tensor) -> Tensor:
    """Mean cross entropy of the targets that are asked, in nats; logits are formed for these alone."""
    batch = tokens.shape[0]
    asked = (targets.flatten() != NOT_SCORED).nonzero()[:, 0]
    stream = model.streams(tokens, positions)[-1]
    if len(asked) < batch * tokens.shape[1]:
        stream = stream.index_select(0, asked)
    return cross_entropy(model.head(model.norm(stream)), targets.flatten().index_select(0, asked))


def draw_positions(row: Entry, length: int, longest: int, generator: torch.Generator) -> Tensor:
    """0, 1, 2, ..., or for encodings at random positions a rising draw from those of the longest row.

    Source: Ruoss et al. 2023, arXiv 2305.16843, section 3.
    """
    if not row.random_positions or length >= longest:
        return torch.arange(length)
    return torch.randperm(longest, generator=generator)[:length].sort().values


def _diverged(losses: list[float]) -> int | None:
    for step, loss in enumerate(losses):
        if not math.isfinite(loss):
            return step
    tenth = max(1, len(losses) // 10)
    start, end = sum(losses[:tenth]) / tenth, sum(losses[-tenth:]) / tenth
    return len(losses) - 1 if end > 1.5 * start and end > start + 1 else None
